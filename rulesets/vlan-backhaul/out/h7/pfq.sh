#!/bin/sh
# pfq: gateway h7 (linux-6.1), site VLAN backhaul
# link backhaul: no packet is filtered; the model asks for no inbound policy
# link transit: no packet is filtered; the model asks for no inbound policy
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

config=3cd9097b21592e73
interfaces='eth0.2417 eth1'
roots='eth0.2417=htb eth1=htb'
arriving=''
ifbs=''
queue_lengths='eth0.2417=1000'
settings='net/ipv4/ip_forward=1'
tables='inet ip'

# What the kernel must have: module, option, and a tc command that works only with it.
pieces() {
    cat <<'PFQ_PIECES'
sch_htb CONFIG_NET_SCH_HTB qdisc replace dev pfq-probe root htb
sch_prio CONFIG_NET_SCH_PRIO qdisc replace dev pfq-probe root prio
sch_cake CONFIG_NET_SCH_CAKE qdisc replace dev pfq-probe root cake
sch_fq_codel CONFIG_NET_SCH_FQ_CODEL qdisc replace dev pfq-probe root fq_codel
cls_flow CONFIG_NET_CLS_FLOW filter add dev pfq-probe parent ffff: protocol all prio 4 handle 1 flow hash keys dst divisor 16
PFQ_PIECES
}

queues() {
    cat <<'PFQ_QUEUES'
qdisc add dev eth0.2417 root handle 1: stab linklayer ethernet mtu 2048 tsize 2048 mpu 88 overhead 28 htb default 1
# out to link backhaul: the model's rate 100000000 bit/s: as the model says; computed it would be 98.8 Mbit/s (98.8 % of 100 Mbit/s of line)
# burst 12500 bytes: 1 ms at this rate; a packet goes on credit
class add dev eth0.2417 parent 1: classid 1:1 htb rate 100000000bit ceil 100000000bit burst 12500b cburst 12500b quantum 1542
# a band for each class, in their order
qdisc add dev eth0.2417 parent 1:1 handle 2: prio bands 2 priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
# express: an ACK that a later one has overtaken here is dropped; memory for 1000 packets: at most 1000 packets
qdisc add dev eth0.2417 parent 2:1 handle 10: cake unlimited besteffort flows nonat nowash ack-filter-aggressive no-split-gso raw rtt 100000us memlimit 1024000b
# subscribers: 1000 ms at 100 Mbit/s, packets of 1542 bytes
qdisc add dev eth0.2417 parent 2:2 handle 20: fq_codel limit 8107 target 5000us interval 100000us noecn
# subscribers: a queue for each destination address
filter add dev eth0.2417 parent 20: protocol all prio 1 handle 1 flow hash keys dst divisor 1024
qdisc add dev eth1 root handle 1: stab linklayer ethernet mtu 2048 tsize 2048 mpu 84 overhead 24 htb default 1
# out to link transit: computed rate 988000000 bit/s: 98.8 % of 1 Gbit/s of line
# burst 123500 bytes: 1 ms at this rate; a packet goes on credit
class add dev eth1 parent 1: classid 1:1 htb rate 988000000bit ceil 988000000bit burst 123500b cburst 123500b quantum 1538
# a band for each class, in their order
qdisc add dev eth1 parent 1:1 handle 2: prio bands 2 priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
# all: at most 10000 packets
qdisc add dev eth1 parent 2:1 handle 10: fq_codel limit 10000 target 5000us interval 100000us noecn
PFQ_QUEUES
}

rules() {
    cat <<'PFQ_RULES'
table inet pfq
delete table inet pfq
table ip pfq
delete table ip pfq

table inet pfq {
	chain config_3cd9097b21592e73 {
	}

	chain backhaul/is/subscribers {
		ct mark set (ct mark & 0xff00ffff) | 0x00030000
	}

	chain backhaul/opened/inside {
		goto backhaul/is/subscribers
	}

	chain backhaul/opened/outside {
		goto backhaul/is/subscribers
	}

	chain backhaul/test/up {
		meta nfproto ipv4 @nh,8,8 & 0x10 == 0x10 goto backhaul/up/express
		meta nfproto ipv6 @nh,0,16 & 0x0100 == 0x0100 goto backhaul/up/express
		meta nfproto ipv4 ip frag-off & 0x1fff != 0 return
		meta nfproto ipv6 frag frag-off != 0 return
		tcp flags & ack == ack jump backhaul/empty/up
	}

	chain backhaul/empty/up {
		@ih,0,8 >= 0 return
		goto backhaul/up/express
	}

	chain backhaul/up/express {
		meta priority set 2:1 accept
	}

	chain backhaul/up/subscribers {
		jump backhaul/test/up
		meta priority set 2:2 accept
	}

	chain backhaul/up {
		ct mark & 0x00ff0000 vmap { 0x00940000 : goto backhaul/up/express, 0x00030000 : goto backhaul/up/subscribers }
		ct direction original jump backhaul/opened/inside
		ct mark & 0x00ff0000 vmap { 0x00940000 : goto backhaul/up/express, 0x00030000 : goto backhaul/up/subscribers }
		goto backhaul/up/subscribers
	}

	chain backhaul/in {
		ct mark & 0x00ff0000 { 0x00940000, 0x00030000 } return
		ct direction original jump backhaul/opened/outside
	}

	chain transit/is/all {
		ct mark set (ct mark & 0x00ffffff) | 0x37000000
	}

	chain transit/opened/inside {
		goto transit/is/all
	}

	chain transit/opened/outside {
		goto transit/is/all
	}

	chain transit/up/all {
		meta priority set 2:1 accept
	}

	chain transit/up {
		ct mark & 0xff000000 vmap { 0x37000000 : goto transit/up/all }
		ct direction original jump transit/opened/inside
		ct mark & 0xff000000 vmap { 0x37000000 : goto transit/up/all }
		goto transit/up/all
	}

	chain transit/in {
		ct mark & 0xff000000 { 0x37000000 } return
		ct direction original jump transit/opened/outside
	}

	chain postrouting {
		type filter hook postrouting priority -150; policy accept;
		oifname "eth0.2417" jump backhaul/up
		oifname "eth1" jump transit/up
	}

	chain forward {
		type filter hook forward priority -150; policy accept;
		iifname "eth0.2417" jump backhaul/in
		iifname "eth1" jump transit/in
	}

	chain input {
		type filter hook input priority -150; policy accept;
		iifname "eth0.2417" jump backhaul/in
		iifname "eth1" jump transit/in
	}
}

table ip pfq {

	chain prerouting {
		type nat hook prerouting priority -100; policy accept;
		iifname "eth1" dnat to ip daddr map { 198.51.100.2 : 10.24.17.2, 198.51.100.3 : 10.24.17.3, 198.51.100.4 : 10.24.17.4 }
	}

	chain postrouting {
		type nat hook postrouting priority 100; policy accept;
		oifname "eth1" snat to ip saddr map { 10.24.17.2 : 198.51.100.2, 10.24.17.3 : 198.51.100.3, 10.24.17.4 : 198.51.100.4 }
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
