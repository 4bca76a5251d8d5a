"""Converting a pf.conf with ALTQ, `nat` rules and `scrub` rules to the pf.conf of OpenBSD 5.5 and later."""
