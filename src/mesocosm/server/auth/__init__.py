"""Who asks, and the rules of what they may see: accounts, sign-ins, tokens, `access_rules.py`, `redaction.py`."""
