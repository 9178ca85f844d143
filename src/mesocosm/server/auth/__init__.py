"""Accounts, sessions, tokens, and what each caller may see and do."""
