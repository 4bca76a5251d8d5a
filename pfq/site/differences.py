"""What some system cannot do as the model says. A model may accept a difference by its name; otherwise it is an error."""

# Name: what differs when it is accepted. Sources: PF-FACTS (OpenBSD 4.4 pf.c pf_test6, FreeBSD 12.1 pf.c), nft measurements.
DIFFERENCES = {
    "ipv6-express": "IPv6 packets are never upgraded to the express class: this pf looks for empty ACKs and low delay in IPv4 only",
    "exact-low-delay": "only packets whose ToS byte is exactly 0x10 are upgraded for low delay: this pf does not look for the bit",
    "ipv6-dscp": "conditions on dscp never hold for IPv6: this pf sees no traffic class there",
    "ipv6-extension-express": "empty ACKs behind IPv6 extension headers are not upgraded: this kernel has no inner-header match (5.16)",
    "fifo": "a class that asks for fair sharing is one first-in first-out queue: this system has no fair queue for it",
    "fair-by-flow": "a class that asks for sharing by address shares by flow: this system's fair queue knows flows only",
    "starved-control": "ARP and PPPoE discovery wait in the lowest class of a strict order, as the model's `unclassified` asks",
    "soft-order": "the order of the classes is kept within limits, not strictly: this scheduler gives a class ahead only a part of the line",
}
