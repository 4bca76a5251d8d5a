"""How hypothesis runs everywhere: the same examples each time, and no limit on the time of one, which a busy machine would break.

`--hypothesis-profile=exploring` tries new ones.
"""

from hypothesis import settings

settings.register_profile("pfq", deadline=None, derandomize=True)
settings.register_profile("exploring", deadline=None, derandomize=False, max_examples=1000)
settings.load_profile("pfq")
