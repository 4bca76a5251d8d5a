# Reads what `pfctl -gvsq` prints, and prints a line a queue: INTERFACE NAME KEY=RATE~TOLERANCE ...
#
# OpenBSD 5.5 and later prints exact rates (`1500K`, `101430`), and with -g the queue's interface below each queue (pfctl_queue.c,
# pfctl_parser.c print_bwspec). ALTQ prints at most two decimals of the largest unit (pfctl_altq.c rate2str: `1.45Mb`), and with -g
# the rate of the interface as `ifbandwidth` (pfctl_qstats.c). A queue that is INACTIVE waits for its interface: it is not there.

function rate(word,   number, unit) {
    number = word
    sub(/[A-Za-z]*$/, "", number)
    unit = substr(word, length(number) + 1)
    factor = unit ~ /^K/ ? 1000 : unit ~ /^M/ ? 1000000 : unit ~ /^G/ ? 1000000000 : 1
    tolerance = unit ~ /b$/ && factor > 1 ? factor / 100 : 0
    return sprintf("%.0f~%.0f", number * factor, tolerance)
}

function is_rate(word) {
    return word ~ /^[0-9]+(\.[0-9]+)?[KMG]?b?$/
}

function flush() {
    if (name != "") print interface, name, figures
    name = ""
}

$1 == "INACTIVE" { flush(); next }

$1 == "queue" {
    flush()
    sub(/\{.*/, "")
    gsub(/[(),]/, " ")
    name = $2
    figures = "priority=1~0"
    for (i = 3; i <= NF; i++) {
        if ($i == "on") { interface = $(++i); continue }
        if ($i == "priority") { figures = figures " priority=" $(++i) "~0"; continue }
        if ($i !~ /^(bandwidth|min|max|realtime|linkshare|upperlimit)$/ || !is_rate($(i + 1))) continue
        key = $i
        # A curve of two pieces: `realtime 20Kb 20 5Kb` in ALTQ, `bandwidth 5K burst 20K for 20ms` on OpenBSD. The long run counts.
        if ($(i + 2) ~ /^[0-9]+$/ && is_rate($(i + 3))) i += 2
        figures = figures " " key "=" rate($(++i))
    }
    next
}

/ifname=/ {
    interface = $0
    sub(/^.*ifname=/, "", interface)
    sub(/[] ].*$/, "", interface)
    if (match($0, /ifbandwidth=[0-9.]+[KMG]?b/)) figures = figures " interface=" rate(substr($0, RSTART + 12, RLENGTH - 12))
}

END { flush() }
