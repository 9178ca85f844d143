"""Authentication and access rules: accounts, sign-ins, tokens, `access_rules.py`, `redaction.py`."""
