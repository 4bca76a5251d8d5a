"""The same packet, the same class, on every system: `pfq explain` shows it for a packet, `pfq verify` proves it for all."""
