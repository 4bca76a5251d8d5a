# Prints every difference between the plan and what is loaded, a line each.
#
#   awk -v named=1 -v map='em0=vether90' -f compare.awk stage=facts FACTS stage=plan EXPECTED
#
# FACTS is what pf.awk or tc.awk prints; EXPECTED a gateway's part of rulesets/NAME/expected. named: queues are known by their names
# (pf), otherwise each must find a class of its own with its rates (tc). map: interfaces that have another name here.

BEGIN {
    count = split(map, pairs, " ")
    for (i = 1; i <= count; i++) {
        split(pairs[i], pair, "=")
        here[pair[1]] = pair[2]
    }
}

# Whether the fact of this number has one of the rates that `figure` allows.
function has(number, figure,   choices, choice, wanted, i, j, found, value) {
    split(figure, choices, "|")
    for (i in choices) {
        split(choices[i], wanted, "=")
        for (j = 3; j <= size[number]; j++) {
            split(word[number, j], found, "=")
            if (found[1] != wanted[1]) continue
            split(found[2], value, "~")
            if (value[1] - wanted[2] <= value[2] && wanted[2] - value[1] <= value[2]) return 1
        }
    }
    return 0
}

function priority(number,   j, found, value) {
    for (j = 3; j <= size[number]; j++) {
        split(word[number, j], found, "=")
        if (found[1] == "priority") split(found[2], value, "~")
    }
    return value[1] + 0
}

function shown(number,   j, text, value) {
    for (j = 3; j <= size[number]; j++) {
        value = word[number, j]
        sub(/~.*/, "", value)
        if (value !~ /^priority=/) text = text " " value
    }
    return text == "" ? " none" : text
}

stage == "facts" {
    facts++
    size[facts] = NF
    for (i = 1; i <= NF; i++) word[facts, i] = $i
    next
}

$1 == "tree" {
    # Names here only where arriving packets are queued: on an ifb of the script's own.
    interface = $3 == "ingress" ? "ifb" : $2 in here ? here[$2] : $2
    label = $2 " " $3
    last_rank = -1
    for (i = 5; i <= NF; i++) {
        found = 0
        for (n = 1; n <= facts; n++) if (word[n, 1] == interface && has(n, $i)) found = 1
        if (!found) print label ": no " $4 " with " $i
    }
    next
}

$1 == "queue" {
    best = 0
    lacking = ""
    for (n = 1; n <= facts; n++) {
        if (word[n, 1] != interface || used[n] || (named && word[n, 2] != $2)) continue
        missing = ""
        for (i = 3; i <= NF; i++) if ($i !~ /^rank=/ && !has(n, $i)) missing = missing " " $i
        if (missing == "" || named) {
            best = n
            lacking = missing
            break
        }
    }
    if (!best && named) print label ": no queue " $2
    else if (!best) print label ": no class for " $2 " with" substr($0, length($1 " " $2) + 1)
    else if (lacking != "") print label " " $2 ":" lacking " wanted, found" shown(best)
    if (!best) next
    used[best] = 1
    for (i = 3; i <= NF; i++) {
        if ($i !~ /^rank=/) continue
        rank = substr($i, 6) + 0
        if (last_rank >= 0 && rank > last_rank && priority(best) >= last_priority)
            print label " " $2 ": priority " priority(best) " is not below that of " last_name ", " last_priority
        last_rank = rank
        last_priority = priority(best)
        last_name = $2
    }
}
