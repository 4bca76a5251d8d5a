# shellcheck shell=sh disable=SC2154 # a part of check, which has $here, $system, $work
# pf on OpenBSD and FreeBSD: made-up interfaces, the real pfctl.
#
# The interfaces of a ruleset are made, so that the machine's own, by which it is reached, are never shaped or filtered. A name that
# cannot be had here is replaced in a copy of the ruleset, and the line that reports the gateway says so.

pf_conf=${PF_CONF:-/etc/pf.conf}

begin() {
    # pf itself may be a module; its queueing disciplines never are (altq(4)).
    [ "$system" = freebsd ] && kldload -n pf >/dev/null 2>&1
    if pfctl -s info 2>/dev/null | grep -q '^Status: Enabled'; then
        echo on >pf_was
    else
        echo off >pf_was
    fi
}

# Loads what the machine starts with; where pf was off, a ruleset without queues or rules, and off again.
restore() {
    if [ "$(cat "$work/pf_was")" = on ] && [ -r "$pf_conf" ]; then
        pfctl -q -f "$pf_conf" >/dev/null 2>&1
    else
        echo pass | pfctl -q -f - >/dev/null 2>&1
    fi
    [ "$(cat "$work/pf_was")" = on ] || pfctl -q -d >/dev/null 2>&1
    if [ -f "$work/made" ]; then
        while read -r made; do
            ifconfig "$made" destroy >/dev/null 2>&1
        done <"$work/made"
        rm -f "$work/made"
    fi
}

exists() {
    ifconfig "$1" >/dev/null 2>&1
}

# Makes an interface named $1, or $1's kind with number $2, and puts its name into $real.
make_named() {
    real=$1
    exists "$real" && real=${1%%[0-9]*}$2
    ifconfig "$real" create >said 2>&1 || return 1
    echo "$real" >>made
}

# Only cloned interfaces can be made, and none can be renamed: vether(4) stands for a card.
make_openbsd() {
    case $2 in
    pppoe | ppp | tun | vlan) make_named "$1" "$3" ;;
    *) make_named "vether$3" "$3" ;;
    esac
}

# An end of an epair(4) stands for a card, a tun(4) for ng(4), under the name in the ruleset unless that is taken.
make_freebsd() {
    case $2 in
    tun | vlan)
        make_named "$1" "$3"
        return
        ;;
    ng)
        real=tun$3
        ifconfig "$real" create >said 2>&1 || return 1
        ;;
    *)
        real=epair${3}a
        ifconfig "epair$3" create >said 2>&1 || return 1
        ;;
    esac
    if ! exists "$1" && ifconfig "$real" name "$1" >said 2>&1; then
        real=$1
    fi
    echo "$real" >>made
}

# Makes the plan's interfaces, each with an address of the benchmarking range (RFC 2544), which no machine has a route to.
# Puts OLD=NEW for those with another name into $map.
make_interfaces() {
    map=
    number=90
    while read -r word interface kind <&4; do
        [ "$word" = interface ] || continue
        number=$((number + 1))
        "make_$system" "$interface" "$kind" "$number" || return 1
        case $kind in
        ethernet | vlan) ifconfig "$real" inet "198.18.$number.1/24" up >/dev/null 2>&1 ;;
        *) ifconfig "$real" inet "198.18.$number.1" "198.18.$number.2" up >/dev/null 2>&1 ;;
        esac
        if [ "$real" != "$interface" ]; then
            map="$map $interface=$real"
            echo "$interface is $real here" >>remarks
        fi
    done 4<plan
}

load() {
    watch
    if ! make_interfaces; then
        failed said "interface $interface"
        return
    fi
    rm -rf files
    mkdir files
    for file in "$(dirname "$1")"/*; do
        awk -v map="$map" -f "$here/rename.awk" "$file" >"files/$(basename "$file")"
    done
    cd files || return
    pfctl -nf pf.conf >../said 2>&1
    code=$?
    [ "$code" -ne 0 ] || pfctl -f pf.conf >>../said 2>&1
    loaded=$?
    cd ..
    if [ "$code" -ne 0 ]; then
        failed said "pfctl -nf"
    elif grep -q 'No ALTQ support' said; then
        echo "this kernel has no ALTQ, see vagrant/README.md" >wrong
    elif [ "$loaded" -ne 0 ]; then
        failed said "pfctl -f"
    else
        [ -s said ] && echo "pfctl says: $(words said)" >>remarks
        # ALTQ runs only while pf does.
        [ "$(cat pf_was)" = on ] || pfctl -q -e >/dev/null 2>&1
        if pfctl -gvsq >queues 2>said; then
            awk -f "$here/pf.awk" queues >facts
            compare 1 "$map"
        else
            failed said "pfctl -gvsq"
        fi
    fi
}
