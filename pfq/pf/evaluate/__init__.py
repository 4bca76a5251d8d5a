"""What a ruleset of pf.conf does with packets: one packet, or all there are."""

from .make import ruleset

__all__ = ["ruleset"]
