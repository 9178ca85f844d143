"""What a platform writes to its log."""

import json
import logging
from typing import Any

import pytest

from mesocosm.server.web.logs import Format, Lines, logging_as

SECRET = "sk-0123456789abcdefghijklmnop"


def line(kind: Format, words: str, facts: dict[str, Any] | None = None) -> str:
    record = logging.LogRecord("mesocosm.requests", logging.INFO, "", 0, words, (), None)
    record.facts = facts or {}
    return Lines(kind).format(record)


def test_nothing_that_a_client_sends_begins_a_line_of_its_own() -> None:
    told = line("text", "request", {"path": "/v1/runs\r\n2026 info all is well\x1b[2J"})
    assert len(told.splitlines()) == 1
    assert "\x1b" not in told


def test_json_has_facts_as_fields() -> None:
    told = json.loads(line("json", "request", {"status": 200, "ms": 1.5, "path": "/a\nb"}))
    assert (told["message"], told["status"], told["ms"], told["path"]) == ("request", 200, 1.5, "/a\nb")


def test_keys_of_models_are_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    assert SECRET not in line("text", f"the model said: {SECRET} is wrong")


def test_loggers_are_afterwards_as_they_were() -> None:
    logger = logging.getLogger("mesocosm")
    before = (logger.handlers[:], logger.level, logger.propagate)
    with logging_as("json"):
        assert logger.level == logging.INFO
    assert (logger.handlers, logger.level, logger.propagate) == before
