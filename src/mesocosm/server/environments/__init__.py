"""Submitted environments: submit, retry, delete, and what their owners see of them."""
