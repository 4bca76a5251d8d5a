#!/bin/sh
# pfq: gateway tux (linux-6.1), site mixed site
# link dsl: no packet is filtered; the model asks for no inbound policy
# A card's TSO, GSO and GRO make packets of up to 64 kB, which a slow line takes long to send. On the inside interface,
# `ethtool -K INTERFACE tso off gso off gro off` keeps that wait short; pfq does not change cards by itself.
#
# pfq.sh [start | stop | check | status]
#   start   puts this configuration in force, or leaves everything as it was; does nothing if it is in force already
#   stop    takes away everything that start made, and nothing else
#   check   says whether this machine can take the configuration; touches nothing
#   status  says whether the configuration is in force, and shows its queues
# Exit status: 0 done, 1 not done, 2 wrong use. It tries everything in a network namespace of its own before it touches anything.
# PFQ_STATE names the folder for what stop needs to know (/run/pfq).

config=c9c8e432e74ec37b
interfaces='ppp0 eth0'
roots='ppp0=htb ifb-dsl=htb eth0=htb ifb-fibre=htb'
arriving='ppp0 eth0'
ifbs='ifb-dsl ifb-fibre'
queue_lengths=''
settings='net/ipv4/ip_forward=1'
tables='inet ip'

# What the kernel must have: module, option, and a tc command that works only with it.
pieces() {
    cat <<'PFQ_PIECES'
sch_htb CONFIG_NET_SCH_HTB qdisc replace dev pfq-probe root htb
sch_cake CONFIG_NET_SCH_CAKE qdisc replace dev pfq-probe root cake
sch_fifo CONFIG_NET_SCHED qdisc replace dev pfq-probe root pfifo limit 10
sch_fq_codel CONFIG_NET_SCH_FQ_CODEL qdisc replace dev pfq-probe root fq_codel
ifb CONFIG_IFB 
sch_ingress CONFIG_NET_SCH_INGRESS qdisc replace dev pfq-probe handle ffff: ingress
cls_matchall CONFIG_NET_CLS_MATCHALL filter add dev pfq-probe parent ffff: protocol all prio 1 matchall classid 1:1
act_ctinfo CONFIG_NET_ACT_CTINFO actions add action ctinfo cpmark index 65521
cls_bpf CONFIG_NET_CLS_BPF filter add dev pfq-probe parent ffff: protocol all prio 3 bpf bytecode '1,6 0 0 0'
act_mirred CONFIG_NET_ACT_MIRRED actions add action mirred egress redirect dev pfq-probe index 65521
act_skbedit CONFIG_NET_ACT_SKBEDIT actions add action skbedit mark 0 index 65521
PFQ_PIECES
}

queues() {
    cat <<'PFQ_QUEUES'
qdisc add dev ppp0 root handle 1: stab linklayer atm overhead 40 htb default 50
# out to link dsl: computed rate 1976000 bit/s: 98.8 % of 2 Mbit/s of line
# burst 247 bytes: 1 ms at this rate; a packet goes on credit
class add dev ppp0 parent 1: classid 1:1 htb rate 1976000bit ceil 1976000bit burst 247b cburst 247b quantum 1643
# express: 645500 bit/s, 609 ACKs/s of 106 bytes = 516.432 kbit/s, and a quarter more
class add dev ppp0 parent 1:1 classid 1:10 htb rate 645500bit ceil 1976000bit burst 1643b cburst 247b prio 0 quantum 1643
# express: an ACK that a later one has overtaken here is dropped; memory for 583 packets: 250 ms at 1.976 Mbit/s, packets of 106 bytes
qdisc add dev ppp0 parent 1:10 handle 10: cake unlimited besteffort flows nonat nowash ack-filter-aggressive no-split-gso raw rtt 199560us memlimit 596992b
# voice: 197600 bit/s, 10 % of 1.976 Mbit/s
class add dev ppp0 parent 1:1 classid 1:20 htb rate 197600bit ceil 1976000bit burst 1643b cburst 247b prio 1 quantum 1643
# voice: 250 ms at 1.976 Mbit/s, packets of 1643 bytes
qdisc add dev ppp0 parent 1:20 handle 20: pfifo limit 38
# dns: 197600 bit/s, 10 % of 1.976 Mbit/s
class add dev ppp0 parent 1:1 classid 1:30 htb rate 197600bit ceil 1976000bit burst 1643b cburst 247b prio 2 quantum 1643
# dns: 250 ms at 1.976 Mbit/s, packets of 1643 bytes
qdisc add dev ppp0 parent 1:30 handle 30: pfifo limit 38
# web: 701400 bit/s, 3 of 4 parts of 935.3 kbit/s that the guarantees leave
class add dev ppp0 parent 1:1 classid 1:40 htb rate 701400bit ceil 1976000bit burst 1643b cburst 247b prio 3 quantum 4929
# web: 250 ms at 1.976 Mbit/s, packets of 1643 bytes
qdisc add dev ppp0 parent 1:40 handle 40: pfifo limit 38
# rest: 233800 bit/s, 1 of 4 parts of 935.3 kbit/s that the guarantees leave
class add dev ppp0 parent 1:1 classid 1:50 htb rate 233800bit ceil 1976000bit burst 1643b cburst 247b prio 3 quantum 1643
# rest: 1000 ms at 1.976 Mbit/s, packets of 1643 bytes
qdisc add dev ppp0 parent 1:50 handle 50: fq_codel limit 151 target 9978us interval 104978us noecn
qdisc add dev ifb-dsl root handle 1: stab linklayer atm overhead 40 htb default 50
# arriving from link dsl: computed rate 15550000 bit/s: 97.2 % of 16 Mbit/s of line
# burst 1943 bytes: 1 ms at this rate; a packet goes on credit
class add dev ifb-dsl parent 1: classid 1:1 htb rate 15550000bit ceil 15550000bit burst 1943b cburst 1943b quantum 1643
# express: 1555000 bit/s, 10 % of 15.55 Mbit/s
class add dev ifb-dsl parent 1:1 classid 1:10 htb rate 1555000bit ceil 15550000bit burst 1643b cburst 1943b prio 0 quantum 1643
# express: at most 1000 packets
qdisc add dev ifb-dsl parent 1:10 handle 10: pfifo limit 1000
# voice: 1555000 bit/s, 10 % of 15.55 Mbit/s
class add dev ifb-dsl parent 1:1 classid 1:20 htb rate 1555000bit ceil 15550000bit burst 1643b cburst 1943b prio 1 quantum 1643
# voice: 250 ms at 15.55 Mbit/s, packets of 1643 bytes
qdisc add dev ifb-dsl parent 1:20 handle 20: pfifo limit 296
# dns: 1555000 bit/s, 10 % of 15.55 Mbit/s
class add dev ifb-dsl parent 1:1 classid 1:30 htb rate 1555000bit ceil 15550000bit burst 1643b cburst 1943b prio 2 quantum 1643
# dns: 250 ms at 15.55 Mbit/s, packets of 1643 bytes
qdisc add dev ifb-dsl parent 1:30 handle 30: pfifo limit 296
# web: 8163000 bit/s, 3 of 4 parts of 10.885 Mbit/s that the guarantees leave
class add dev ifb-dsl parent 1:1 classid 1:40 htb rate 8163000bit ceil 15550000bit burst 1643b cburst 1943b prio 3 quantum 4929
# web: 250 ms at 15.55 Mbit/s, packets of 1643 bytes
qdisc add dev ifb-dsl parent 1:40 handle 40: pfifo limit 296
# rest: 2721000 bit/s, 1 of 4 parts of 10.885 Mbit/s that the guarantees leave
class add dev ifb-dsl parent 1:1 classid 1:50 htb rate 2721000bit ceil 15550000bit burst 1643b cburst 1943b prio 3 quantum 1643
# rest: 1000 ms at 15.55 Mbit/s, packets of 1643 bytes
qdisc add dev ifb-dsl parent 1:50 handle 50: fq_codel limit 1184 target 5000us interval 100000us ecn
# arriving from link dsl: the flow's class from conntrack, then to ifb-dsl
qdisc add dev ppp0 handle ffff: ingress
filter add dev ppp0 parent ffff: protocol all prio 1 matchall action ctinfo cpmark 0x00ff0000 continue
filter add dev ppp0 parent ffff: protocol all prio 3 matchall action mirred egress redirect dev ifb-dsl
# mark, rules and express test in one program; the mark goes, as it came
filter add dev ifb-dsl parent 1: protocol all prio 1 handle 1 bpf bytecode '342,0 0 0 0,2 0 0 0,2 0 0 1,2 0 0 3,2 0 0 5,2 0 0 6,2 0 0 2,2 0 0 4,2 0 0 8,2 0 0 9,2 0 0 10,2 0 0 11,2 0 0 12,2 0 0 13,32 0 0 4294963200,21 1 0 2048,21 19 243 34525,0 0 0 4,2 0 0 6,48 0 0 4293918721,84 0 0 255,2 0 0 5,40 0 0 4293918722,84 0 0 65535,2 0 0 4,40 0 0 4293918726,84 0 0 8191,2 0 0 3,48 0 0 4293918729,84 0 0 255,2 0 0 1,48 0 0 4293918720,84 0 0 15,100 0 0 2,2 0 0 2,5 0 0 224,0 0 0 6,2 0 0 6,40 0 0 4293918720,116 0 0 4,84 0 0 255,2 0 0 5,40 0 0 4293918724,21 2 0 0,4 0 0 40,2 0 0 4,48 0 0 4293918726,2 0 0 1,1 0 0 40,96 0 0 1,21 24 0 0,21 23 0 43,21 22 0 60,21 1 0 44,21 10 204 51,72 0 0 4293918722,84 0 0 65528,2 0 0 3,80 0 0 4293918720,2 0 0 1,135 0 0 0,4 0 0 8,7 0 0 0,96 0 0 3,21 19 194 0,80 0 0 4293918721,4 0 0 2,100 0 0 2,2 0 0 7,80 0 0 4293918720,2 0 0 1,96 0 0 7,12 0 0 0,7 0 0 0,5 0 0 9,80 0 0 4293918721,4 0 0 1,100 0 0 3,2 0 0 7,80 0 0 4293918720,2 0 0 1,96 0 0 7,12 0 0 0,7 0 0 0,96 0 0 1,21 24 0 0,21 23 0 43,21 22 0 60,21 1 0 44,21 10 169 51,72 0 0 4293918722,84 0 0 65528,2 0 0 3,80 0 0 4293918720,2 0 0 1,135 0 0 0,4 0 0 8,7 0 0 0,96 0 0 3,21 19 159 0,80 0 0 4293918721,4 0 0 2,100 0 0 2,2 0 0 7,80 0 0 4293918720,2 0 0 1,96 0 0 7,12 0 0 0,7 0 0 0,5 0 0 9,80 0 0 4293918721,4 0 0 1,100 0 0 3,2 0 0 7,80 0 0 4293918720,2 0 0 1,96 0 0 7,12 0 0 0,7 0 0 0,96 0 0 1,21 24 0 0,21 23 0 43,21 22 0 60,21 1 0 44,21 10 134 51,72 0 0 4293918722,84 0 0 65528,2 0 0 3,80 0 0 4293918720,2 0 0 1,135 0 0 0,4 0 0 8,7 0 0 0,96 0 0 3,21 19 124 0,80 0 0 4293918721,4 0 0 2,100 0 0 2,2 0 0 7,80 0 0 4293918720,2 0 0 1,96 0 0 7,12 0 0 0,7 0 0 0,5 0 0 9,80 0 0 4293918721,4 0 0 1,100 0 0 3,2 0 0 7,80 0 0 4293918720,2 0 0 1,96 0 0 7,12 0 0 0,7 0 0 0,96 0 0 1,21 24 0 0,21 23 0 43,21 22 0 60,21 1 0 44,21 10 99 51,72 0 0 4293918722,84 0 0 65528,2 0 0 3,80 0 0 4293918720,2 0 0 1,135 0 0 0,4 0 0 8,7 0 0 0,96 0 0 3,21 19 89 0,80 0 0 4293918721,4 0 0 2,100 0 0 2,2 0 0 7,80 0 0 4293918720,2 0 0 1,96 0 0 7,12 0 0 0,7 0 0 0,5 0 0 9,80 0 0 4293918721,4 0 0 1,100 0 0 3,2 0 0 7,80 0 0 4293918720,2 0 0 1,96 0 0 7,12 0 0 0,7 0 0 0,96 0 0 1,21 24 0 0,21 23 0 43,21 22 0 60,21 1 0 44,21 10 64 51,72 0 0 4293918722,84 0 0 65528,2 0 0 3,80 0 0 4293918720,2 0 0 1,135 0 0 0,4 0 0 8,7 0 0 0,96 0 0 3,21 19 54 0,80 0 0 4293918721,4 0 0 2,100 0 0 2,2 0 0 7,80 0 0 4293918720,2 0 0 1,96 0 0 7,12 0 0 0,7 0 0 0,5 0 0 9,80 0 0 4293918721,4 0 0 1,100 0 0 3,2 0 0 7,80 0 0 4293918720,2 0 0 1,96 0 0 7,12 0 0 0,7 0 0 0,96 0 0 1,21 24 0 0,21 23 0 43,21 22 0 60,21 1 0 44,21 10 29 51,72 0 0 4293918722,84 0 0 65528,2 0 0 3,80 0 0 4293918720,2 0 0 1,135 0 0 0,4 0 0 8,7 0 0 0,96 0 0 3,21 19 19 0,80 0 0 4293918721,4 0 0 2,100 0 0 2,2 0 0 7,80 0 0 4293918720,2 0 0 1,96 0 0 7,12 0 0 0,7 0 0 0,5 0 0 9,80 0 0 4293918721,4 0 0 1,100 0 0 3,2 0 0 7,80 0 0 4293918720,2 0 0 1,96 0 0 7,12 0 0 0,7 0 0 0,3 0 0 2,32 0 0 4294963220,84 0 0 16711680,21 50 0 5046272,21 46 0 5242880,21 46 0 5832704,21 51 0 14286848,21 48 0 15073280,96 0 0 3,21 0 6 0,96 0 0 1,21 0 4 6,97 0 0 2,80 0 0 4293918733,84 0 0 18,21 0 42 2,96 0 0 3,21 0 15 0,96 0 0 1,21 1 0 6,21 0 12 17,100 0 0 16,2 0 0 7,97 0 0 2,72 0 0 4293918720,97 0 0 7,12 0 0 0,2 0 0 13,97 0 0 2,72 0 0 4293918722,97 0 0 7,12 0 0 0,2 0 0 12,96 0 0 12,21 17 0 1119172,37 1 0 1134112,53 15 0 1124112,96 0 0 6,21 6 0 0,21 2 0 4,96 0 0 1,21 2 3 58,96 0 0 1,21 0 1 1,5 0 0 9,96 0 0 12,21 7 0 393269,21 8 0 393296,21 7 0 393659,21 4 0 1114165,5 0 0 7,6 0 0 65552,0 0 0 65568,5 0 0 6,0 0 0 65584,5 0 0 4,0 0 0 65600,5 0 0 2,0 0 0 65616,5 0 0 0,2 0 0 0,96 0 0 6,21 17 0 0,96 0 0 5,69 17 0 16,96 0 0 1,21 0 13 6,96 0 0 3,21 0 11 0,97 0 0 2,80 0 0 4293918733,69 0 8 16,80 0 0 4293918732,84 0 0 240,116 0 0 2,12 0 0 0,7 0 0 0,96 0 0 4,28 0 0 0,21 2 0 0,96 0 0 0,22 0 0 0,6 0 0 65552' action skbedit mark 0
qdisc add dev eth0 root handle 1: stab linklayer ethernet mtu 2048 tsize 2048 mpu 84 overhead 24 htb default 50
# out to link fibre: computed rate 49400000 bit/s: 98.8 % of 50 Mbit/s of line
# burst 6175 bytes: 1 ms at this rate; a packet goes on credit
class add dev eth0 parent 1: classid 1:1 htb rate 49400000bit ceil 49400000bit burst 6175b cburst 6175b quantum 1538
# express: 18280000 bit/s, 20319 ACKs/s of 90 bytes = 14629.68 kbit/s, and a quarter more
class add dev eth0 parent 1:1 classid 1:10 htb rate 18280000bit ceil 49400000bit burst 1600b cburst 6175b prio 0 quantum 1538
# express: an ACK that a later one has overtaken here is dropped; memory for 1000 packets: at most 1000 packets
qdisc add dev eth0 parent 1:10 handle 10: cake unlimited besteffort flows nonat nowash ack-filter-aggressive no-split-gso raw rtt 100000us memlimit 1024000b
# voice: 4940000 bit/s, 10 % of 49.4 Mbit/s
class add dev eth0 parent 1:1 classid 1:20 htb rate 4940000bit ceil 49400000bit burst 1600b cburst 6175b prio 1 quantum 1538
# voice: at most 1000 packets
qdisc add dev eth0 parent 1:20 handle 20: pfifo limit 1000
# dns: 4940000 bit/s, 10 % of 49.4 Mbit/s
class add dev eth0 parent 1:1 classid 1:30 htb rate 4940000bit ceil 49400000bit burst 1600b cburst 6175b prio 2 quantum 1538
# dns: at most 1000 packets
qdisc add dev eth0 parent 1:30 handle 30: pfifo limit 1000
# web: 15930000 bit/s, 3 of 4 parts of 21.24 Mbit/s that the guarantees leave
class add dev eth0 parent 1:1 classid 1:40 htb rate 15930000bit ceil 49400000bit burst 1600b cburst 6175b prio 3 quantum 4614
# web: at most 1000 packets
qdisc add dev eth0 parent 1:40 handle 40: pfifo limit 1000
# rest: 5310000 bit/s, 1 of 4 parts of 21.24 Mbit/s that the guarantees leave
class add dev eth0 parent 1:1 classid 1:50 htb rate 5310000bit ceil 49400000bit burst 1600b cburst 6175b prio 3 quantum 1538
# rest: 1000 ms at 49.4 Mbit/s, packets of 1538 bytes
qdisc add dev eth0 parent 1:50 handle 50: fq_codel limit 4015 target 5000us interval 100000us noecn
qdisc add dev ifb-fibre root handle 1: stab linklayer ethernet mtu 2048 tsize 2048 mpu 84 overhead 24 htb default 50
# arriving from link fibre: computed rate 486000000 bit/s: 97.2 % of 500 Mbit/s of line
# burst 60750 bytes: 1 ms at this rate; a packet goes on credit
class add dev ifb-fibre parent 1: classid 1:1 htb rate 486000000bit ceil 486000000bit burst 60750b cburst 60750b quantum 1538
# express: 48600000 bit/s, 10 % of 486 Mbit/s
class add dev ifb-fibre parent 1:1 classid 1:10 htb rate 48600000bit ceil 486000000bit burst 1600b cburst 60750b prio 0 quantum 1538
# express: at most 1000 packets
qdisc add dev ifb-fibre parent 1:10 handle 10: pfifo limit 1000
# voice: 48600000 bit/s, 10 % of 486 Mbit/s
class add dev ifb-fibre parent 1:1 classid 1:20 htb rate 48600000bit ceil 486000000bit burst 1600b cburst 60750b prio 1 quantum 1538
# voice: at most 1000 packets
qdisc add dev ifb-fibre parent 1:20 handle 20: pfifo limit 1000
# dns: 48600000 bit/s, 10 % of 486 Mbit/s
class add dev ifb-fibre parent 1:1 classid 1:30 htb rate 48600000bit ceil 486000000bit burst 1600b cburst 60750b prio 2 quantum 1538
# dns: at most 1000 packets
qdisc add dev ifb-fibre parent 1:30 handle 30: pfifo limit 1000
# web: 255100000 bit/s, 3 of 4 parts of 340.2 Mbit/s that the guarantees leave
class add dev ifb-fibre parent 1:1 classid 1:40 htb rate 255100000bit ceil 486000000bit burst 1600b cburst 60750b prio 3 quantum 4613
# web: at most 1000 packets
qdisc add dev ifb-fibre parent 1:40 handle 40: pfifo limit 1000
# rest: 85050000 bit/s, 1 of 4 parts of 340.2 Mbit/s that the guarantees leave
class add dev ifb-fibre parent 1:1 classid 1:50 htb rate 85050000bit ceil 486000000bit burst 1600b cburst 60750b prio 3 quantum 1538
# rest: at most 10000 packets
qdisc add dev ifb-fibre parent 1:50 handle 50: fq_codel limit 10000 target 5000us interval 100000us ecn
# arriving from link fibre: the flow's class from conntrack, then to ifb-fibre
qdisc add dev eth0 handle ffff: ingress
filter add dev eth0 parent ffff: protocol all prio 1 matchall action ctinfo cpmark 0xff000000 continue
filter add dev eth0 parent ffff: protocol all prio 3 matchall action mirred egress redirect dev ifb-fibre
# mark, rules and express test in one program; the mark goes, as it came
filter add dev ifb-fibre parent 1: protocol all prio 1 handle 1 bpf bytecode '342,0 0 0 0,2 0 0 0,2 0 0 1,2 0 0 3,2 0 0 5,2 0 0 6,2 0 0 2,2 0 0 4,2 0 0 8,2 0 0 9,2 0 0 10,2 0 0 11,2 0 0 12,2 0 0 13,32 0 0 4294963200,21 1 0 2048,21 19 243 34525,0 0 0 4,2 0 0 6,48 0 0 4293918721,84 0 0 255,2 0 0 5,40 0 0 4293918722,84 0 0 65535,2 0 0 4,40 0 0 4293918726,84 0 0 8191,2 0 0 3,48 0 0 4293918729,84 0 0 255,2 0 0 1,48 0 0 4293918720,84 0 0 15,100 0 0 2,2 0 0 2,5 0 0 224,0 0 0 6,2 0 0 6,40 0 0 4293918720,116 0 0 4,84 0 0 255,2 0 0 5,40 0 0 4293918724,21 2 0 0,4 0 0 40,2 0 0 4,48 0 0 4293918726,2 0 0 1,1 0 0 40,96 0 0 1,21 24 0 0,21 23 0 43,21 22 0 60,21 1 0 44,21 10 204 51,72 0 0 4293918722,84 0 0 65528,2 0 0 3,80 0 0 4293918720,2 0 0 1,135 0 0 0,4 0 0 8,7 0 0 0,96 0 0 3,21 19 194 0,80 0 0 4293918721,4 0 0 2,100 0 0 2,2 0 0 7,80 0 0 4293918720,2 0 0 1,96 0 0 7,12 0 0 0,7 0 0 0,5 0 0 9,80 0 0 4293918721,4 0 0 1,100 0 0 3,2 0 0 7,80 0 0 4293918720,2 0 0 1,96 0 0 7,12 0 0 0,7 0 0 0,96 0 0 1,21 24 0 0,21 23 0 43,21 22 0 60,21 1 0 44,21 10 169 51,72 0 0 4293918722,84 0 0 65528,2 0 0 3,80 0 0 4293918720,2 0 0 1,135 0 0 0,4 0 0 8,7 0 0 0,96 0 0 3,21 19 159 0,80 0 0 4293918721,4 0 0 2,100 0 0 2,2 0 0 7,80 0 0 4293918720,2 0 0 1,96 0 0 7,12 0 0 0,7 0 0 0,5 0 0 9,80 0 0 4293918721,4 0 0 1,100 0 0 3,2 0 0 7,80 0 0 4293918720,2 0 0 1,96 0 0 7,12 0 0 0,7 0 0 0,96 0 0 1,21 24 0 0,21 23 0 43,21 22 0 60,21 1 0 44,21 10 134 51,72 0 0 4293918722,84 0 0 65528,2 0 0 3,80 0 0 4293918720,2 0 0 1,135 0 0 0,4 0 0 8,7 0 0 0,96 0 0 3,21 19 124 0,80 0 0 4293918721,4 0 0 2,100 0 0 2,2 0 0 7,80 0 0 4293918720,2 0 0 1,96 0 0 7,12 0 0 0,7 0 0 0,5 0 0 9,80 0 0 4293918721,4 0 0 1,100 0 0 3,2 0 0 7,80 0 0 4293918720,2 0 0 1,96 0 0 7,12 0 0 0,7 0 0 0,96 0 0 1,21 24 0 0,21 23 0 43,21 22 0 60,21 1 0 44,21 10 99 51,72 0 0 4293918722,84 0 0 65528,2 0 0 3,80 0 0 4293918720,2 0 0 1,135 0 0 0,4 0 0 8,7 0 0 0,96 0 0 3,21 19 89 0,80 0 0 4293918721,4 0 0 2,100 0 0 2,2 0 0 7,80 0 0 4293918720,2 0 0 1,96 0 0 7,12 0 0 0,7 0 0 0,5 0 0 9,80 0 0 4293918721,4 0 0 1,100 0 0 3,2 0 0 7,80 0 0 4293918720,2 0 0 1,96 0 0 7,12 0 0 0,7 0 0 0,96 0 0 1,21 24 0 0,21 23 0 43,21 22 0 60,21 1 0 44,21 10 64 51,72 0 0 4293918722,84 0 0 65528,2 0 0 3,80 0 0 4293918720,2 0 0 1,135 0 0 0,4 0 0 8,7 0 0 0,96 0 0 3,21 19 54 0,80 0 0 4293918721,4 0 0 2,100 0 0 2,2 0 0 7,80 0 0 4293918720,2 0 0 1,96 0 0 7,12 0 0 0,7 0 0 0,5 0 0 9,80 0 0 4293918721,4 0 0 1,100 0 0 3,2 0 0 7,80 0 0 4293918720,2 0 0 1,96 0 0 7,12 0 0 0,7 0 0 0,96 0 0 1,21 24 0 0,21 23 0 43,21 22 0 60,21 1 0 44,21 10 29 51,72 0 0 4293918722,84 0 0 65528,2 0 0 3,80 0 0 4293918720,2 0 0 1,135 0 0 0,4 0 0 8,7 0 0 0,96 0 0 3,21 19 19 0,80 0 0 4293918721,4 0 0 2,100 0 0 2,2 0 0 7,80 0 0 4293918720,2 0 0 1,96 0 0 7,12 0 0 0,7 0 0 0,5 0 0 9,80 0 0 4293918721,4 0 0 1,100 0 0 3,2 0 0 7,80 0 0 4293918720,2 0 0 1,96 0 0 7,12 0 0 0,7 0 0 0,3 0 0 2,32 0 0 4294963220,84 0 0 4278190080,21 52 0 1006632960,21 53 0 1962934272,21 46 0 2986344448,21 47 0 3053453312,21 43 0 3690987520,96 0 0 3,21 0 6 0,96 0 0 1,21 0 4 6,97 0 0 2,80 0 0 4293918733,84 0 0 18,21 0 42 2,96 0 0 3,21 0 15 0,96 0 0 1,21 1 0 6,21 0 12 17,100 0 0 16,2 0 0 7,97 0 0 2,72 0 0 4293918720,97 0 0 7,12 0 0 0,2 0 0 13,97 0 0 2,72 0 0 4293918722,97 0 0 7,12 0 0 0,2 0 0 12,96 0 0 12,21 17 0 1119172,37 1 0 1134112,53 15 0 1124112,96 0 0 6,21 6 0 0,21 2 0 4,96 0 0 1,21 2 3 58,96 0 0 1,21 0 1 1,5 0 0 9,96 0 0 12,21 7 0 393269,21 8 0 393296,21 7 0 393659,21 4 0 1114165,5 0 0 7,6 0 0 65552,0 0 0 65568,5 0 0 6,0 0 0 65584,5 0 0 4,0 0 0 65600,5 0 0 2,0 0 0 65616,5 0 0 0,2 0 0 0,96 0 0 6,21 17 0 0,96 0 0 5,69 17 0 16,96 0 0 1,21 0 13 6,96 0 0 3,21 0 11 0,97 0 0 2,80 0 0 4293918733,69 0 8 16,80 0 0 4293918732,84 0 0 240,116 0 0 2,12 0 0 0,7 0 0 0,96 0 0 4,28 0 0 0,21 2 0 0,96 0 0 0,22 0 0 0,6 0 0 65552' action skbedit mark 0
PFQ_QUEUES
}

rules() {
    cat <<'PFQ_RULES'
table inet pfq
delete table inet pfq
table ip pfq
delete table ip pfq

table inet pfq {
	chain config_c9c8e432e74ec37b {
	}

	chain dsl/is/voice {
		ct mark set (ct mark & 0xff00ffff) | 0x00590000
	}

	chain dsl/is/dns {
		ct mark set (ct mark & 0xff00ffff) | 0x004d0000
	}

	chain dsl/is/web {
		ct mark set (ct mark & 0xff00ffff) | 0x00e60000
	}

	chain dsl/is/rest {
		ct mark set (ct mark & 0xff00ffff) | 0x00da0000
	}

	chain dsl/opened/inside {
		ct state new tcp flags & (syn | ack) != syn goto dsl/is/rest
		udp dport 5060 goto dsl/is/voice
		udp dport 10000-20000 goto dsl/is/voice
		meta nfproto . meta l4proto { ipv4 . icmp, ipv6 . ipv6-icmp } goto dsl/is/dns
		udp dport 53 goto dsl/is/dns
		tcp dport 53 goto dsl/is/dns
		tcp dport 80 goto dsl/is/web
		tcp dport 443 goto dsl/is/web
		goto dsl/is/rest
	}

	chain dsl/opened/outside {
		ct state new tcp flags & (syn | ack) != syn goto dsl/is/rest
		udp dport 5060 goto dsl/is/voice
		udp dport 10000-20000 goto dsl/is/voice
		meta nfproto . meta l4proto { ipv4 . icmp, ipv6 . ipv6-icmp } goto dsl/is/dns
		udp dport 53 goto dsl/is/dns
		tcp dport 53 goto dsl/is/dns
		tcp dport 80 goto dsl/is/web
		tcp dport 443 goto dsl/is/web
		goto dsl/is/rest
	}

	chain dsl/test/up {
		meta nfproto ipv4 @nh,8,8 & 0x10 == 0x10 goto dsl/up/express
		meta nfproto ipv6 @nh,0,16 & 0x0100 == 0x0100 goto dsl/up/express
		meta nfproto ipv4 ip frag-off & 0x1fff != 0 return
		meta nfproto ipv6 frag frag-off != 0 return
		tcp flags & ack == ack jump dsl/empty/up
	}

	chain dsl/empty/up {
		@ih,0,8 >= 0 return
		goto dsl/up/express
	}

	chain dsl/up/express {
		meta priority set 1:10 accept
	}

	chain dsl/up/voice {
		jump dsl/test/up
		meta priority set 1:20 accept
	}

	chain dsl/up/dns {
		jump dsl/test/up
		meta priority set 1:30 accept
	}

	chain dsl/up/web {
		jump dsl/test/up
		meta priority set 1:40 accept
	}

	chain dsl/up/rest {
		jump dsl/test/up
		meta priority set 1:50 accept
	}

	chain dsl/up {
		ct mark & 0x00ff0000 vmap { 0x00500000 : goto dsl/up/express, 0x00590000 : goto dsl/up/voice, 0x004d0000 : goto dsl/up/dns, 0x00e60000 : goto dsl/up/web, 0x00da0000 : goto dsl/up/rest }
		ct direction original jump dsl/opened/inside
		ct mark & 0x00ff0000 vmap { 0x00500000 : goto dsl/up/express, 0x00590000 : goto dsl/up/voice, 0x004d0000 : goto dsl/up/dns, 0x00e60000 : goto dsl/up/web, 0x00da0000 : goto dsl/up/rest }
		goto dsl/up/rest
	}

	chain dsl/mss/clamp {
		# MTU 1448 less 40 bytes of IPv4 and TCP header; never raised, only lowered
		meta nfproto ipv4 tcp option maxseg size > 1408 tcp option maxseg size set 1408
		meta nfproto ipv6 tcp option maxseg size > 1388 tcp option maxseg size set 1388
	}

	chain dsl/in {
		ct mark & 0x00ff0000 { 0x00500000, 0x00590000, 0x004d0000, 0x00e60000, 0x00da0000 } return
		ct direction original jump dsl/opened/outside
	}

	chain fibre/is/voice {
		ct mark set (ct mark & 0x00ffffff) | 0xb2000000
	}

	chain fibre/is/dns {
		ct mark set (ct mark & 0x00ffffff) | 0xb6000000
	}

	chain fibre/is/web {
		ct mark set (ct mark & 0x00ffffff) | 0x3c000000
	}

	chain fibre/is/rest {
		ct mark set (ct mark & 0x00ffffff) | 0x75000000
	}

	chain fibre/opened/inside {
		ct state new tcp flags & (syn | ack) != syn goto fibre/is/rest
		udp dport 5060 goto fibre/is/voice
		udp dport 10000-20000 goto fibre/is/voice
		meta nfproto . meta l4proto { ipv4 . icmp, ipv6 . ipv6-icmp } goto fibre/is/dns
		udp dport 53 goto fibre/is/dns
		tcp dport 53 goto fibre/is/dns
		tcp dport 80 goto fibre/is/web
		tcp dport 443 goto fibre/is/web
		goto fibre/is/rest
	}

	chain fibre/opened/outside {
		ct state new tcp flags & (syn | ack) != syn goto fibre/is/rest
		udp dport 5060 goto fibre/is/voice
		udp dport 10000-20000 goto fibre/is/voice
		meta nfproto . meta l4proto { ipv4 . icmp, ipv6 . ipv6-icmp } goto fibre/is/dns
		udp dport 53 goto fibre/is/dns
		tcp dport 53 goto fibre/is/dns
		tcp dport 80 goto fibre/is/web
		tcp dport 443 goto fibre/is/web
		goto fibre/is/rest
	}

	chain fibre/test/up {
		meta nfproto ipv4 @nh,8,8 & 0x10 == 0x10 goto fibre/up/express
		meta nfproto ipv6 @nh,0,16 & 0x0100 == 0x0100 goto fibre/up/express
		meta nfproto ipv4 ip frag-off & 0x1fff != 0 return
		meta nfproto ipv6 frag frag-off != 0 return
		tcp flags & ack == ack jump fibre/empty/up
	}

	chain fibre/empty/up {
		@ih,0,8 >= 0 return
		goto fibre/up/express
	}

	chain fibre/up/express {
		meta priority set 1:10 accept
	}

	chain fibre/up/voice {
		jump fibre/test/up
		meta priority set 1:20 accept
	}

	chain fibre/up/dns {
		jump fibre/test/up
		meta priority set 1:30 accept
	}

	chain fibre/up/web {
		jump fibre/test/up
		meta priority set 1:40 accept
	}

	chain fibre/up/rest {
		jump fibre/test/up
		meta priority set 1:50 accept
	}

	chain fibre/up {
		ct mark & 0xff000000 vmap { 0xdc000000 : goto fibre/up/express, 0xb2000000 : goto fibre/up/voice, 0xb6000000 : goto fibre/up/dns, 0x3c000000 : goto fibre/up/web, 0x75000000 : goto fibre/up/rest }
		ct direction original jump fibre/opened/inside
		ct mark & 0xff000000 vmap { 0xdc000000 : goto fibre/up/express, 0xb2000000 : goto fibre/up/voice, 0xb6000000 : goto fibre/up/dns, 0x3c000000 : goto fibre/up/web, 0x75000000 : goto fibre/up/rest }
		goto fibre/up/rest
	}

	chain fibre/in {
		ct mark & 0xff000000 { 0xdc000000, 0xb2000000, 0xb6000000, 0x3c000000, 0x75000000 } return
		ct direction original jump fibre/opened/outside
	}

	chain fibre/filter/in {
		ct state established,related accept
		# what path MTU discovery and neighbours need
		meta nfproto ipv4 icmp type destination-unreachable icmp code frag-needed accept
		meta nfproto ipv6 icmpv6 type { packet-too-big, nd-neighbor-solicit, nd-neighbor-advert, nd-router-advert } accept
		# the operator's way in
		tcp dport 22 accept
		tcp dport 443 accept
		drop
	}

	chain postrouting {
		type filter hook postrouting priority -150; policy accept;
		oifname "ppp0" tcp flags & (syn | rst) == syn jump dsl/mss/clamp
		oifname "ppp0" jump dsl/up
		oifname "eth0" jump fibre/up
	}

	chain forward {
		type filter hook forward priority -150; policy accept;
		iifname "ppp0" jump dsl/in
		iifname "eth0" jump fibre/in
	}

	chain input {
		type filter hook input priority -150; policy accept;
		iifname "ppp0" jump dsl/in
		iifname "eth0" jump fibre/in
	}

	chain prerouting {
		type filter hook prerouting priority -150; policy accept;
		iifname "ppp0" tcp flags & (syn | rst) == syn jump dsl/mss/clamp
	}

	chain filter_forward {
		type filter hook forward priority 0; policy accept;
		iifname "eth0" jump fibre/filter/in
	}

	chain filter_input {
		type filter hook input priority 0; policy accept;
		iifname "eth0" jump fibre/filter/in
	}
}

table ip pfq {

	chain prerouting {
		type nat hook prerouting priority -100; policy accept;
	}

	chain postrouting {
		type nat hook postrouting priority 100; policy accept;
		oifname "ppp0" ip saddr 192.168.6.0/24 ip daddr != 192.168.6.0/24 masquerade
		oifname "eth0" ip saddr 192.168.6.0/24 ip daddr != 192.168.6.0/24 masquerade
	}
}
PFQ_RULES
}

set -u
umask 077
LC_ALL=C
export LC_ALL
PATH=$PATH:/usr/sbin:/sbin:/usr/bin:/bin
me=$0

say() { printf 'pfq: %s\n' "$*" >&2; }

wrong() {
    say "$*"
    exit 1
}

# State: `made` lists what is in force, one thing a line, in the order in which it was made, the script that made it (a copy) first;
# `making` is the list of a start that has not ended, and becomes `made` by one rename. Every network namespace has its own.
find_state() {
    state=${PFQ_REHEARSAL:-}
    [ -z "$state" ] || return 0
    space=$(readlink /proc/self/ns/net 2>/dev/null) || space=
    space=${space#*:?}
    state=${PFQ_STATE:-/run/pfq}/${space%?}
}

need_root() {
    [ "$(id -u)" = 0 ] || wrong "only root can do this (user id $(id -u))"
}

need_tools() {
    missing=
    for tool in ip tc nft; do
        command -v "$tool" >/dev/null 2>&1 || missing="$missing $tool"
    done
    [ -z "$missing" ] || wrong "not installed:$missing (iproute2 has ip and tc, nftables has nft)"
}

lock() {
    mkdir -p "$state" || wrong "cannot write $state"
    tries=0
    until mkdir "$state/lock" 2>/dev/null; do
        holder=$(cat "$state/lock/pid" 2>/dev/null) || holder=
        if [ -n "$holder" ] && ! kill -0 "$holder" 2>/dev/null; then
            rm -rf "$state/lock"
            continue
        fi
        tries=$((tries + 1))
        [ "$tries" -lt 30 ] || wrong "another run holds $state/lock (process ${holder:-unknown})"
        sleep 1
    done
    printf '%s\n' "$$" >"$state/lock/pid"
    trap 'rm -rf "$state/lock"' EXIT
}

# in_lines PATTERN TEXT
in_lines() { printf '%s\n' "$2" | grep -q "$1"; }

has_interface() { ip link show dev "$1" >/dev/null 2>&1; }

# queue_length INTERFACE: its length; ip names none where it is 0.
queue_length() {
    link=$(ip link show dev "$1" 2>/dev/null) || return 1
    link=$(printf '%s\n' "$link" | sed -n 's/.* qlen \([0-9]*\).*/\1/p')
    printf '%s\n' "${link:-0}"
}

# has_root INTERFACE KIND: whether our own discipline is at the root.
has_root() { tc qdisc show dev "$1" 2>/dev/null | grep -q "^qdisc $2 1: root"; }

has_ingress() { tc qdisc show dev "$1" 2>/dev/null | grep -q "^qdisc ingress ffff:"; }

# has_table FAMILY: 0 there, 1 not there, 2 unknown.
has_table() {
    listed=$(nft list tables 2>/dev/null) || return 2
    in_lines "^table $1 pfq\$" "$listed"
}

# undo FILE [KINDS]: takes away what the file lists, last first; only things of these kinds, if some are named.
# A thing that somebody has changed or taken away since is left as it is; one that cannot be looked at is not done.
undo() {
    undone=0
    sed '1!G;h;$!d' "$1" >"$state/undoing" || return 1
    while read -r kind name value ours; do
        case " ${2:-$kind} " in *" $kind "*) ;; *) continue ;; esac
        case $kind in
        root | arriving)
            if ! shown=$(tc qdisc show dev "$name" 2>/dev/null); then
                ! has_interface "$name" || undone=1
            elif [ "$kind" = arriving ]; then
                ! in_lines "^qdisc ingress ffff:" "$shown" || tc qdisc del dev "$name" ingress || undone=1
            else
                ! in_lines "^qdisc $value 1: root" "$shown" || tc qdisc del dev "$name" root || undone=1
            fi
            ;;
        ifb) if has_interface "$name"; then ip link del dev "$name" || undone=1; fi ;;
        table)
            has_table "$name"
            case $? in
            0) nft delete table "$name" pfq || undone=1 ;;
            2) undone=1 ;;
            esac
            ;;
        queue_length)
            if ! now=$(queue_length "$name"); then
                ! has_interface "$name" || undone=1
            elif [ "$now" = "$ours" ]; then
                ip link set dev "$name" txqueuelen "$value" || undone=1
            fi
            ;;
        setting)
            if [ "$(cat "/proc/sys/$name" 2>/dev/null)" = "$ours" ]; then printf '%s\n' "$value" >"/proc/sys/$name" || undone=1; fi
            ;;
        esac
    done <"$state/undoing"
    rm -f "$state/undoing"
    return "$undone"
}

note() { printf '%s\n' "$*" >>"$state/making"; }

# before KIND NAME NOW: the value from before the first start, if the present one is still ours.
before() {
    [ ! -f "$state/made" ] || while read -r kind name value ours; do
        if [ "$kind $name" = "$1 $2" ] && [ "$ours" = "$3" ]; then
            printf '%s\n' "$value"
            return
        fi
    done <"$state/made"
    printf '%s\n' "$3"
}

is_in_force() {
    [ -f "$state/made" ] && [ ! -f "$state/making" ] || return 1
    nft list chain inet pfq "config_$config" >/dev/null 2>&1 || return 1
    for pair in $roots; do
        has_root "${pair%=*}" "${pair#*=}" || return 1
    done
    for name in $arriving; do
        has_ingress "$name" || return 1
    done
    for pair in $queue_lengths; do
        [ "$(queue_length "${pair%=*}")" = "${pair#*=}" ] || return 1
    done
    for pair in $settings; do
        [ "$(cat "/proc/sys/${pair%=*}")" = "${pair#*=}" ] || return 1
    done
}

is_ours() { [ -f "$state/made" ] && grep -q "^$1 $2\( \|\$\)" "$state/made"; }

# Everything that stands in the way, all of it, before anything is touched.
look() {
    faults=0
    for name in $interfaces; do
        real=$(ip -o link show dev "$name" 2>/dev/null | sed -n 's/^[0-9]*: \([^:@]*\)[:@].*/\1/p')
        if [ -z "$real" ]; then
            say "there is no interface $name"
            faults=1
        elif [ "$real" != "$name" ]; then
            say "$name is another name of the interface $real, which packet rules do not know: write $real in the model"
            faults=1
        elif ! ip link show dev "$name" up 2>/dev/null | grep -q .; then
            say "the interface $name is down: ip link set dev $name up"
            faults=1
        fi
    done
    for pair in $roots; do
        name=${pair%=*}
        is_ours root "$name" && continue
        foreign=$(tc qdisc show dev "$name" 2>/dev/null | grep ' root ' | grep -v '^qdisc [a-z_]* 0: ') || continue
        say "$name has queues of somebody else's: $foreign (tc qdisc del dev $name root takes them away)"
        faults=1
    done
    for name in $arriving; do
        is_ours arriving "$name" && continue
        foreign=$(tc qdisc show dev "$name" 2>/dev/null | grep '^qdisc \(ingress\|clsact\) ') || continue
        say "$name has filters on arrival of somebody else's: $foreign (tc qdisc del dev $name ingress takes them away)"
        faults=1
    done
    for name in $ifbs; do
        is_ours ifb "$name" && continue
        ip link show dev "$name" >/dev/null 2>&1 || continue
        say "there is an interface $name already, and it is not pfq's (ip link del dev $name takes it away)"
        faults=1
    done
    # In any family: what an older version left would go on working on packets.
    for name in $(nft list tables 2>/dev/null | sed -n 's/^table \([a-z0-9]*\) pfq$/\1/p'); do
        is_ours table "$name" && continue
        say "there is a table $name pfq already, and no state of it in $state (nft delete table $name pfq takes it away)"
        faults=1
    done
    # By themselves these modules would bring interfaces of their own.
    modprobe dummy numdummies=0 2>/dev/null || :
    [ -z "$ifbs" ] || modprobe ifb numifbs=0 2>/dev/null || :
    if command -v unshare >/dev/null 2>&1 && unshare -n true 2>/dev/null; then
        PFQ_REHEARSAL=$state unshare -n sh "$me" rehearse || faults=1
    else
        rules | nft -c -f - || faults=1
    fi
    return "$faults"
}

# In a network namespace of its own: everything as it will be done.
rehearse() {
    faults=0
    stand_in pfq-probe || {
        say "no interface to try on can be made (dummy, ifb, veth): nothing is tried beforehand"
        return 0
    }
    tc qdisc add dev pfq-probe handle ffff: ingress 2>/dev/null
    pieces >"$state/pieces"
    while read -r module option probe; do
        case $module in
        ifb) ip link add pfq-ifb type ifb 2>/dev/null && continue ;;
        *) printf '%s\n' "$probe" | tc -batch - >/dev/null 2>&1 && continue ;;
        esac
        say "this kernel lacks the module $module ($option)"
        faults=1
    done <"$state/pieces"
    rm -f "$state/pieces"
    [ "$faults" = 0 ] || return 1
    for name in $interfaces $ifbs; do
        stand_in "$name" || return 0
    done
    build_queues || faults=1
    rules | nft -f - || {
        say "nftables does not take the rules: the lines above say which (CONFIG_NF_TABLES, CONFIG_NFT_CT, CONFIG_NFT_NAT, CONFIG_NFT_MASQ)"
        faults=1
    }
    return "$faults"
}

stand_in() {
    for type in dummy ifb "veth peer name pfq-peer$((peers = ${peers:-0} + 1))"; do
        # shellcheck disable=SC2086 # the type is several words
        ip link add "$1" type $type 2>/dev/null && return 0
    done
    return 1
}

build_queues() {
    queues >"$state/queues" || return 1
    told=$(tc -batch "$state/queues" 2>&1) || {
        say "tc: $told"
        line=$(printf '%s\n' "$told" | sed -n 's/^Command failed .*:\([0-9][0-9]*\)$/\1/p' | sed 1q)
        [ -z "$line" ] || say "refused: tc $(sed -n "${line}p" "$state/queues" | cut -c 1-200)"
        rm -f "$state/queues"
        return 1
    }
    rm -f "$state/queues"
}

# Each thing is noted before it is made. The packet rules come last, in one transaction.
build() {
    # Not over itself: the copy may be what runs.
    cat "$me" >"$state/copy" && mv "$state/copy" "$state/script-$config" || return 1
    printf '%s\n' "script script-$config" >"$state/making" || return 1
    leftovers >>"$state/making" || return 1
    [ ! -f "$state/made" ] || undo "$state/made" "root arriving ifb" || return 1
    for pair in $queue_lengths; do
        name=${pair%=*}
        now=$(queue_length "$name") || return 1
        note queue_length "$name" "$(before queue_length "$name" "$now")" "${pair#*=}"
        ip link set dev "$name" txqueuelen "${pair#*=}" || return 1
    done
    for name in $ifbs; do
        note ifb "$name"
        ip link add "$name" type ifb && ip link set dev "$name" up || return 1
    done
    for pair in $roots; do
        note root "${pair%=*}" "${pair#*=}"
    done
    for name in $arriving; do
        note arriving "$name"
    done
    build_queues || return 1
    for name in $tables; do
        note table "$name"
    done
    { old_tables && rules; } >"$state/rules" || return 1
    nft -f "$state/rules"
    loaded=$?
    rm -f "$state/rules"
    [ "$loaded" = 0 ] || return 1
    for pair in $settings; do
        name=${pair%=*}
        now=$(cat "/proc/sys/$name") || return 1
        note setting "$name" "$(before setting "$name" "$now")" "${pair#*=}"
        [ "$now" = "${pair#*=}" ] || printf '%s\n' "${pair#*=}" >"/proc/sys/$name" || return 1
    done
    leftovers >"$state/left" && mv "$state/making" "$state/made" || return 1
    # From here on the new configuration is in force, whatever happens.
    undo "$state/left"
    rm -f "$state/left"
    for name in "$state"/script-*; do
        [ "$name" = "$state/script-$config" ] || rm -f "$name"
    done
    return 0
}

# Values that the configuration in force changed and this one does not.
leftovers() {
    [ ! -f "$state/made" ] || while read -r kind name value ours; do
        case $kind in queue_length | setting) ;; *) continue ;; esac
        case " $queue_lengths $settings " in *" $name="*) continue ;; esac
        printf '%s\n' "$kind $name $value $ours"
    done <"$state/made"
}

# Tables of the old configuration that the new one has not, taken away in the same transaction.
old_tables() {
    [ -f "$state/made" ] || return 0
    while read -r kind name value; do
        case "$kind $tables " in
        table*" $name "*) ;;
        table*)
            has_table "$name"
            case $? in
            0) printf 'delete table %s pfq\n' "$name" ;;
            2) return 1 ;;
            esac
            ;;
        esac
    done <"$state/made"
}

# After a start that failed or was killed: what it made goes, what was in force before comes back.
put_back() {
    if [ -f "$state/making" ] && ! undo "$state/making"; then
        say "not everything could be taken away again: see $state/making"
        return 1
    fi
    rm -f "$state/making"
    if [ -f "$state/made" ]; then
        former=$state/$(sed -n 's/^script //p' "$state/made")
        if told=$(PFQ_LOCKED=1 sh "$former" start 2>&1); then
            say "the former configuration is in force again"
        else
            say "the former configuration could not be put back: $told"
            say "to try again: sh $former start"
            return 1
        fi
    else
        say "everything is as it was before"
    fi
}

recover() {
    [ -f "$state/making" ] || return 0
    say "an earlier start was cut off half-way"
    put_back
}

start() {
    need_root
    need_tools
    find_state
    [ -r "$me" ] || wrong "run this from a file: it must be able to read itself"
    if [ -z "${PFQ_LOCKED:-}" ]; then
        lock
        recover || exit 1
    fi
    if is_in_force; then
        say "this configuration ($config) is in force already; nothing changed"
        return 0
    fi
    if [ -z "${PFQ_LOCKED:-}" ]; then
        look || wrong "nothing was touched"
    fi
    # Built in a process of its own: whatever ends that one, this one puts things back, and the other way round it runs to its end.
    trap '' HUP INT TERM
    (build)
    status=$?
    if [ "$status" = 0 ]; then
        say "this configuration ($config) is in force"
        return 0
    fi
    say "the start failed (status $status)"
    # What was killed may have left a tool at work.
    [ "$status" -lt 128 ] || sleep 1
    [ -n "${PFQ_LOCKED:-}" ] || put_back
    exit 1
}

stop() {
    need_root
    need_tools
    find_state
    if [ ! -f "$state/made" ] && [ ! -f "$state/making" ]; then
        say "nothing of pfq's is in force"
        return 0
    fi
    lock
    trap '' HUP INT TERM
    left=0
    for list in making made; do
        [ ! -f "$state/$list" ] || { undo "$state/$list" && rm -f "$state/$list"; } || left=1
    done
    [ "$left" = 0 ] || wrong "something could not be taken away: see $state"
    rm -f "$state"/script-*
    # What a killed start may have left.
    for name in copy left pieces queues rules undoing; do
        rm -f "$state/$name"
    done
    rm -rf "$state/lock"
    rmdir "$state" 2>/dev/null
    say "stopped"
}

check() {
    need_root
    need_tools
    find_state
    lock
    look || exit 1
    say "this machine can take the configuration"
}

status() {
    need_root
    need_tools
    find_state
    is_in_force || wrong "this configuration ($config) is not in force"
    printf 'configuration %s is in force\n' "$config"
    for pair in $roots; do
        printf '\n%s\n' "${pair%=*}"
        tc -s class show dev "${pair%=*}"
        tc -s qdisc show dev "${pair%=*}"
    done
}

[ $# -le 1 ] || {
    say "usage: pfq.sh [start | stop | check | status]"
    exit 2
}
case ${1:-start} in
start) start ;;
stop) stop ;;
check) check ;;
status) status ;;
rehearse)
    find_state
    rehearse
    ;;
*)
    say "usage: pfq.sh [start | stop | check | status]"
    exit 2
    ;;
esac
