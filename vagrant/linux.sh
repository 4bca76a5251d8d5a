# shellcheck shell=sh disable=SC2154 # a part of check, which has $here, $work
# Linux: everything happens in a network namespace of its own, where every interface name is free and the machine's own are not.

space=pfq-check

inside() {
    ip netns exec "$space" "$@"
}

begin() {
    # One that a killed run has left.
    ip netns del "$space" >/dev/null 2>&1
}

restore() {
    ip netns del "$space" >/dev/null 2>&1
}

# A pair of veth stands for a card, and where there is no tun, for a line.
make_card() {
    inside ip link add "$interface" type veth peer name "peer$number" >said 2>&1
}

make_interfaces() {
    number=90
    while read -r word interface kind <&4; do
        [ "$word" = interface ] || continue
        number=$((number + 1))
        case $kind,$interface in
        vlan,*.*) inside ip link add link "${interface%%.*}" name "$interface" type vlan id "${interface#*.}" >said 2>&1 || return 1 ;;
        tun,* | ppp,*)
            if ! inside ip tuntap add dev "$interface" mode tun >said 2>&1; then
                make_card || return 1
                echo "$interface is a veth here" >>remarks
            fi
            ;;
        *) make_card || return 1 ;;
        esac
        inside ip address add "198.18.$number.1/24" dev "$interface" >/dev/null 2>&1
        inside ip link set "$interface" up >said 2>&1 || return 1
    done 4<plan
}

# The names of the interfaces; options for ip link show may follow.
interfaces() {
    inside ip -o link show "$@" | awk -F': ' '{ sub(/@.*/, "", $2); print $2 }'
}

# All that a gateway's script can change, without counters and numbers that the kernel gives out anew each time.
note() {
    {
        interfaces type ifb >ifbs 2>/dev/null
        interfaces >devices
        while read -r device <&5; do
            kind=
            grep -q -x -F "$device" ifbs && kind=ifb
            echo "device $device $kind"
            inside tc qdisc show dev "$device"
            inside tc class show dev "$device"
            inside tc filter show dev "$device"
            inside tc filter show dev "$device" ingress
        done 5<devices
        echo "ruleset"
        inside nft list ruleset
    } 2>/dev/null | sed -e 's/refcnt [0-9]*//' -e 's/police 0x[0-9a-f]*/police/' -e 's/index [0-9]*//' \
        -e 's/packets [0-9]* bytes [0-9]*//' >"$1"
}

# cbq left Linux with 6.3, and distributions before that.
lacks_cbq() {
    grep -q '^tree [^ ]* [^ ]* cbq ' plan || return 1
    probe=$(awk '$1 == "interface" { print $2; exit }' plan)
    if inside tc qdisc add dev "$probe" root handle 1: cbq bandwidth 10mbit avpkt 1000 >said 2>&1; then
        inside tc qdisc del dev "$probe" root
        return 1
    fi
}

# Runs the gateway's script with $1, and puts it into `wrong` if it fails. What it remembers stays here, not in /run.
script() {
    PFQ_STATE=$work/state inside sh ./pfq.sh "$1" >said 2>&1 && return 0
    failed said "pfq.sh $1"
    return 1
}

load() {
    if ! ip netns add "$space" >said 2>&1; then
        failed said "ip netns add"
        return
    fi
    inside ip link set lo up
    if ! make_interfaces; then
        failed said "interface $interface"
        return
    fi
    if lacks_cbq; then
        echo "this kernel has no cbq" >missing
        return
    fi
    cp "$1" pfq.sh
    rm -rf state
    note before
    script start || return
    note once
    script start || return
    note twice
    cmp -s once twice || echo "a second start changes something: $(difference once twice)" >>wrong
    awk -f "$here/tc.awk" twice >facts
    compare 0 ""
    script stop || return
    note after
    cmp -s before after || echo "stop leaves something changed: $(difference before after)" >>wrong
}

# The first line that differs.
difference() {
    diff "$1" "$2" | grep '^[<>]' | head -n 1
}
