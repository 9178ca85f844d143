"""The gym's reward: one point for each new pair of a program and the first byte of its instruction's data."""

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

REACHABLE = 236
"""Number of reachable pairs; the score is the reward divided by it."""
CATALOGUE = 364
"""Number of pairs: the highest possible reward."""
_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_PROGRAM = ("programId", "program_id", "program")
_BYTE = ("discriminator", "first_byte", "instruction_byte")
_ORIGIN = ("origin", "source", "phase", "kind")
_TEMPLATES = frozenset({"template", "templates", "deterministic", "bootstrap"})

Pair = tuple[str, int]


class Unusable(ValueError):
    """A transaction that cannot be read; the message says why."""


@dataclass(frozen=True, slots=True)
class Reward:
    """Points of a run: those from templates, and those that the model earned beyond them."""

    template: int
    model: int

    @property
    def total(self) -> int:
        """All points."""
        return self.template + self.model

    @property
    def score(self) -> float:
        """The share of the reachable pairs, at most one."""
        return min(self.total / REACHABLE, 1.0)


def rewarded(transactions: Iterable[Any]) -> Reward:
    """Return the points of transactions in order. Raises Unusable for one that cannot be read.

    A pair counts once, for its first occurrence; failed transactions earn nothing.
    """
    seen: set[Pair] = set()
    points = {True: 0, False: 0}
    for number, transaction in enumerate(transactions, 1):
        if not isinstance(transaction, Mapping):
            raise Unusable(f"transaction {number} is not an object")
        if failed(transaction):
            continue
        for pair in pairs(transaction, f"transaction {number}"):
            points[from_template(transaction)] += pair not in seen
            seen.add(pair)
    return Reward(points[True], points[False])


def failed(transaction: Mapping[str, Any]) -> bool:
    """Return whether a transaction failed."""
    meta = transaction.get("meta")
    error = transaction.get("err", transaction.get("error")) or (meta.get("err") if isinstance(meta, Mapping) else None)
    return bool(error) or transaction.get("success") is False


def from_template(transaction: Mapping[str, Any]) -> bool:
    """Return whether a transaction comes from the gym's authors and not from the model."""
    return any(str(transaction.get(name, "")).lower() in _TEMPLATES for name in _ORIGIN)


def pairs(transaction: Mapping[str, Any], place: str) -> Iterator[Pair]:
    """Yield the pairs of a transaction; an instruction without data has none. Raises Unusable."""
    message = transaction.get("message")
    if not isinstance(message, Mapping):
        inner = transaction.get("transaction")
        message = inner.get("message") if isinstance(inner, Mapping) else None
    holder = transaction if "instructions" in transaction else message
    instructions = holder.get("instructions") if isinstance(holder, Mapping) else None
    if not isinstance(instructions, list):
        raise Unusable(f"{place} has no list of instructions")
    keys = holder.get("accountKeys", []) if isinstance(holder, Mapping) else []
    for index, instruction in enumerate(instructions):
        where = f"instruction {index} of {place}"
        if not isinstance(instruction, Mapping):
            raise Unusable(f"{where} is not an object")
        byte = first_byte(instruction, where)
        if byte is not None:
            yield _program(instruction, keys, where), byte


def _program(instruction: Mapping[str, Any], keys: Any, where: str) -> str:
    named = next((instruction[name] for name in _PROGRAM if isinstance(instruction.get(name), str)), "")
    place = instruction.get("programIdIndex")
    if not named and isinstance(place, int) and isinstance(keys, list) and 0 <= place < len(keys):
        key = keys[place]
        named = str(key.get("pubkey", "")) if isinstance(key, Mapping) else str(key)
    if not named:
        raise Unusable(f"{where} names no program")
    return named


def first_byte(instruction: Mapping[str, Any], where: str) -> int | None:
    """Return the first byte of an instruction's data, or None if it has no data. Raises Unusable.

    Data is a list of numbers, a string in base58 (as validators return it), or a pair of string and encoding.
    """
    given = next((instruction[name] for name in _BYTE if instruction.get(name) is not None), None)
    if given is not None:
        return _byte(given, where)
    data = instruction.get("data")
    if data in (None, "", []):
        return None
    encoding = instruction.get("encoding", "base58")
    if isinstance(data, list) and len(data) == 2 and isinstance(data[0], str) and isinstance(data[1], str):
        data, encoding = data
    if isinstance(data, list):
        return _byte(data[0], where)
    if not isinstance(data, str):
        raise Unusable(f"the data of {where} is neither a list nor a text")
    try:
        raw = _decoded(data, str(encoding))
    except (ValueError, binascii.Error) as error:
        raise Unusable(f"the data of {where} is not {encoding}") from error
    return raw[0] if raw else None


def _byte(value: Any, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 255:
        raise Unusable(f"the first byte of {where} is {value!r:.40}, which is not a byte")
    return value


def _decoded(text: str, encoding: str) -> bytes:
    if encoding == "hex":
        return bytes.fromhex(text.removeprefix("0x"))
    if encoding == "base64":
        return base64.b64decode(text, validate=True)
    if encoding == "base58":
        return base58(text)
    raise ValueError(encoding)


def base58(text: str) -> bytes:
    """Decode a base58 string. Raises ValueError."""
    if len(text) > 4096:
        raise ValueError("too long for a transaction")
    number = 0
    for letter in text:
        number = number * 58 + _BASE58.index(letter)
    zeros = len(text) - len(text.lstrip("1"))
    return b"\0" * zeros + number.to_bytes((number.bit_length() + 7) // 8)
