"""`python3 -m pfq`, the same as the `pfq` command."""

import sys

from pfq.cli import main

sys.exit(main())
