# mypy: ignore-errors
# ruff: noqa: ANN001, ANN201
"""Reads the answer out of what the model said."""

import re


def answer_of(messages):
    for message in reversed(messages):
        if message["role"] == "assistant" and message.get("content"):
            found = re.search(r"ANSWER:\s*(-?\d+)", message["content"])
            return int(found.group(1)) if found else None
    return None
