"""pfq: one link model, compiled to pf.conf and to tc + nftables."""

__version__ = "0.1.0"
