"""Secrets never reach the record: values known from the environment, and what looks like a credential."""

import json
import os
import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, TypeVar

import msgspec

from mesocosm.core.secret import is_secret

MARK = "[redacted]"

_SHORTEST = 8
"""Shorter values are words; hiding them would blank ordinary text."""

_SHAPES = (
    rb"sk-[A-Za-z0-9_\-]{20,}",
    rb"gh[pousr]_[A-Za-z0-9]{30,}",
    rb"github_pat_[A-Za-z0-9_]{30,}",
    rb"gsk_[A-Za-z0-9]{20,}",
    rb"hf_[A-Za-z0-9]{30,}",
    rb"AKIA[0-9A-Z]{16}",
    rb"AIza[0-9A-Za-z_\-]{35}",
    rb"xox[abprs]-[A-Za-z0-9\-]{10,}",
    rb"eyJ[A-Za-z0-9_\-]{10,}\.eyJ[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]{10,}",
    rb"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----",
)

T = TypeVar("T")


def secret_values(environment: Mapping[str, str]) -> set[str]:
    """Return the values of variables that look like credentials."""
    return {value for name, value in environment.items() if len(value) >= _SHORTEST and is_secret(name, value)}


class Redactor:
    """Replaces secrets in encoded JSON and in values; the same object serves a whole run."""

    def __init__(self, secrets: Iterable[str] | None = None) -> None:
        values = secret_values(os.environ) if secrets is None else set(secrets)
        self._secrets = {_bytes(spelling) for value in values if value for spelling in _spellings(value)}

    # Each is compiled where it is needed: that takes longer than to redact a short text.
    @cached_property
    def _in_text(self) -> re.Pattern[bytes]:
        return _pattern(self._secrets)

    @cached_property
    def _in_json(self) -> re.Pattern[bytes]:
        return _pattern({_escaped(value) for value in self._secrets})

    def json(self, data: bytes) -> bytes:
        """Return JSON lines with every secret in their strings replaced; the same object when there is none."""
        if self._in_json.search(data) is None:
            return data
        # Replacing bytes could cut an escape in two, so lines with a hit are taken apart; that is rare.
        return b"\n".join(self._line(line) for line in data.split(b"\n"))

    def text(self, text: str) -> str:
        """Return `text` with every secret replaced."""
        data = _bytes(text)
        if self._in_text.search(data) is None:
            return text
        return self._in_text.sub(self._replace, data).decode("utf-8", "replace")

    def _line(self, line: bytes) -> bytes:
        if self._in_json.search(line) is None:
            return line
        return msgspec.json.encode(self._walk(msgspec.json.decode(line)))

    def _walk(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self._walk(item) for item in value]
        if isinstance(value, dict):
            return {self.text(key): self._walk(item) for key, item in value.items()}
        return value

    def value(self, value: T, kind: Any = Any) -> T:
        """Return a JSON value (or a struct of type `kind`) with every secret inside replaced."""
        data = msgspec.json.encode(value)
        clean = self.json(data)
        return value if clean is data else msgspec.json.decode(clean, type=kind)

    def _replace(self, match: re.Match[bytes]) -> bytes:
        found = match[0]
        before = match.string[match.start() - 1 : match.start()]
        if found not in self._secrets and before.isalnum():
            return found
        return MARK.encode()


def _spellings(value: str) -> set[str]:
    """Return a secret as it is and as texts quote it: in JSON that is text itself, in what Python prints of objects."""
    return {value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], repr(value)[1:-1]}


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _escaped(raw: bytes) -> bytes:
    return msgspec.json.encode(raw.decode("utf-8", "replace"))[1:-1]


def _pattern(spellings: Iterable[bytes]) -> re.Pattern[bytes]:
    exact = [re.escape(spelling) for spelling in sorted(spellings, key=len, reverse=True)]
    return re.compile(b"|".join([*exact, *_SHAPES]), re.DOTALL)
