# Writes a pf.conf with other interface names: awk -v map='em0=vether90 em1=vether91' -f rename.awk pf.conf

BEGIN {
    count = split(map, pairs, " ")
    for (i = 1; i <= count; i++) {
        split(pairs[i], pair, "=")
        here[pair[1]] = pair[2]
    }
}

{
    rest = $0
    line = ""
    # Whole words only: `em0` also stands inside `root_em0`, which is a queue.
    while (match(rest, /[A-Za-z0-9_][A-Za-z0-9_.-]*/)) {
        word = substr(rest, RSTART, RLENGTH)
        line = line substr(rest, 1, RSTART - 1) (word in here ? here[word] : word)
        rest = substr(rest, RSTART + RLENGTH)
    }
    print line rest
}
