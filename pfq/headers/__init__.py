"""The header space: sets of packets, and what a ruleset does with each of them.

A ruleset is evaluated once, over conditions. With the algebra `Exactly` a condition is true or false, because there is one packet
(`pfq explain`); with `Diagrams` it is a set of packets, and the evaluation is a proof over all of them (`pfq verify`).
"""
