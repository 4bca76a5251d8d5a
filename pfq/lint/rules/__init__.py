"""The rules, one a file. `pfq.lint.registry` says which module has which code."""
