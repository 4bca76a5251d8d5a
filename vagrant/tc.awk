# Reads what linux.sh notes down of every interface (`device NAME`, then what tc shows), and prints a line a class:
# INTERFACE CLASSID KEY=RATE~TOLERANCE ...   An ifb's classes are printed for the interface `ifb`: each link has one of its own.
#
# tc cuts a rate down to a whole number of its unit, and the kernel keeps bytes a second (iproute2 tc_util.c).

function rate(word,   number, unit, factor) {
    number = word
    sub(/[A-Za-z]*$/, "", number)
    unit = substr(word, length(number) + 1)
    factor = unit ~ /^K/ ? 1000 : unit ~ /^M/ ? 1000000 : unit ~ /^G/ ? 1000000000 : 1
    return sprintf("%.0f~%.0f", number * factor, (factor > 1 ? factor : 0) + 8)
}

$1 == "device" { interface = $3 == "ifb" ? "ifb" : $2; next }
$1 == "ruleset" { interface = ""; next }
interface == "" { next }

$1 == "class" && $2 ~ /^(htb|hfsc|cbq|prio)$/ {
    figures = ""
    for (i = 4; i < NF; i++) {
        if ($i ~ /^(rate|ceil)$/) figures = figures " " $i "=" rate($(i + 1))
        # hfsc: `rt m1 0bit d 0us m2 22Kbit`; `sc` stands for rt and ls at once.
        if ($i ~ /^(rt|ls|ul|sc)$/) curve = $i
        if ($i == "m2" && curve == "sc") figures = figures " rt=" rate($(i + 1)) " ls=" rate($(i + 1))
        else if ($i == "m2") figures = figures " " curve "=" rate($(i + 1))
    }
    print interface, $3 figures
    next
}

$1 == "qdisc" && $2 == "cake" {
    for (i = 4; i < NF; i++) if ($i == "bandwidth" && $(i + 1) ~ /bit$/) print interface, $3, "bandwidth=" rate($(i + 1))
    next
}

/police/ {
    for (i = 1; i < NF; i++) if ($i == "rate") print interface, "police", "police=" rate($(i + 1))
}
