"""The model as written: what a user says about lines, gateways and who goes first."""
