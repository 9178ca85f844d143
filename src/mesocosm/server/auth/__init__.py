"""Who asks, and the rules of what they may see: accounts, sign-ins, tokens, `rules.py`, `redaction.py`."""
