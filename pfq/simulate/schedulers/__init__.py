"""Queueing disciplines as the kernels have them, one a file, each with its source named.

A queue (the place where packets of a class wait) has `enqueue(now, packet) -> bool`, `dequeue(now)`, `peek(now)`, `count` and `drops`.
A discipline (what chooses among classes) has `enqueue(now, packet) -> bool`, `dequeue(now)` and `wake(now)`: the next time at which
`dequeue` can have something to give although it gave nothing now, None if only an arrival can change that.
"""
