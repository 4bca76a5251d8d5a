"""What a ruleset of pf.conf does with packets: one packet, or all there are."""

from .make import ruleset
from .printed import printed

__all__ = ["printed", "ruleset"]
