"""Prices of tokens. An unknown price is None, never 0."""

import os
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import msgspec

from mesocosm.core.failure import InvalidInput, Problem, UsageError
from mesocosm.core.foreign import read_json
from mesocosm.core.model import ModelName

OVERRIDE = "MESOCOSM_PRICES"
_SNAPSHOT = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{8})$")


Dollars = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
"""USD per million tokens. Negative prices are rejected because they would refund budgets."""


class Price(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """USD per million tokens on the day `as_of` (ISO date).

    `cached` is for prompt tokens read from the provider's cache, `written` for those written to it, `written_hour` for
    those that it keeps for an hour (None: as `input`). For a prompt longer than `long_over` tokens, all tokens of the
    call are charged at the prices that start with `long_`.
    """

    input: Dollars
    output: Dollars
    as_of: str
    cached: Dollars | None = None
    long_over: Annotated[int, msgspec.Meta(ge=0)] | None = None
    long_input: Dollars = 0.0
    long_output: Dollars = 0.0
    long_cached: Dollars | None = None
    written: Dollars | None = None
    written_hour: Dollars | None = None
    long_written: Dollars | None = None
    long_written_hour: Dollars | None = None

    @property
    def free(self) -> bool:
        """Whether both input and output cost nothing."""
        return self.input == self.output == 0.0

    def cost(self, prompt: int, completion: int, cached: int = 0, written: int = 0, written_hour: int = 0) -> float:
        """Return USD for one call; `cached`, `written` and `written_hour` are separate parts of `prompt`."""
        if self.free:
            return 0.0
        into, out = self.input, self.output
        others = (self.cached, self.written, self.written_hour)
        if self.long_over is not None and prompt > self.long_over:
            into, out = self.long_input, self.long_output
            others = (self.long_cached, self.long_written, self.long_written_hour)
        paid = completion * out
        for tokens, dollars in zip((cached, written, written_hour), others, strict=True):
            part = min(tokens, prompt)
            prompt -= part
            paid += part * (into if dollars is None else dollars)
        return (paid + prompt * into) / 1e6


FREE = Price(0.0, 0.0, as_of="")
"""Models on this machine cost nothing per token."""

_Table = dict[str, Price]


@cache
def _shipped() -> _Table:
    return read_json(files(__package__).joinpath("prices.json").read_bytes(), _Table, large=True)


@cache
def _override(path: str) -> _Table:
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"the price file {path} (from {OVERRIDE}) cannot be read: {error.strerror}") from error
    try:
        return read_json(data, _Table, large=True)
    except msgspec.DecodeError as error:
        fix = 'write {"provider/model": {"input": 2.5, "output": 10, "as_of": "2026-01-31"}}, USD per million tokens'
        raise InvalidInput(f"price file {path} (from {OVERRIDE})", [Problem("", str(error), fix)]) from error


_assigned: _Table = {}


def assign_prices(prices: Mapping[str, Price]) -> None:
    """Set the price of models by their name as in ModelName, whose model may end in `*`; replaces earlier ones.

    This is for processes that ask models for others, where the operator says what a model costs.
    """
    global _assigned  # noqa: PLW0603 -- one table, replaced at once: a thread may be reading it
    _assigned = dict(prices)


def _assigned_price(name: ModelName) -> Price | None:
    text = str(name)
    for pattern, found in _assigned.items():
        head, star, tail = pattern.partition("*")
        if text == pattern or (star and text.startswith(head) and text.endswith(tail)):
            return found
    return None


def price(name: ModelName, *, local: bool = False, elsewhere: bool = False) -> Price | None:
    """Return the price of a model, or None if it is unknown.

    What `assign_prices` set takes precedence, then the file named by MESOCOSM_PRICES. Otherwise a `local` model is
    free, one that is served `elsewhere` than at the provider's public address has no known price, and the rest is
    looked up in the shipped table. A dated snapshot (`-2025-04-14`, `-20250414`) costs the same as its model unless it
    has its own entry. Raises UsageError if the override cannot be used.
    """
    if (own := _assigned_price(name)) is not None:
        return own
    provider = "gemini" if name.provider == "google" else name.provider
    full = name.model if provider == "litellm" else f"{provider}/{name.model}"
    keys = (full, _SNAPSHOT.sub("", full))
    path = os.environ.get(OVERRIDE, "")
    if path:
        found = _find(_override(path), keys)
        if found is not None:
            return found
    if local:
        return FREE
    return None if elsewhere else _find(_shipped(), keys)


def _find(table: _Table, keys: tuple[str, ...]) -> Price | None:
    return next((table[key] for key in keys if key in table), None)
