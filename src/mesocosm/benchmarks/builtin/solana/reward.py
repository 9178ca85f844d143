"""The reward: one point for each instruction of the programs that the gym has, if a transaction with it succeeded.

The gym itself gives a point for each new pair of a program and the first byte of its data. Of its 364 pairs 256 are of
the memo program, which has one instruction and takes any text: whoever sends 128 memos has more than half of the 236
points that can be reached. Here a pair counts only if the program has such an instruction, and a memo is one.
"""

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

GYM_PAIRS = 364
"""Number of pairs by the gym's own rule: its highest possible reward."""
MEMO = "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr"
_WIDE = 4
"""Bytes of the number of an instruction in programs that write it as a 32-bit little-endian number."""


@dataclass(frozen=True, slots=True)
class InstructionNumbers:
    """The numbers of a program's instructions: from `first` to `last`, each of `width` bytes."""

    last: int
    first: int = 0
    width: int = 1


PROGRAMS = {
    "11111111111111111111111111111111": InstructionNumbers(12, width=_WIDE),
    "Stake11111111111111111111111111111111111111": InstructionNumbers(17, width=_WIDE),
    "AddressLookupTab1e1111111111111111111111111": InstructionNumbers(4, width=_WIDE),
    "ComputeBudget111111111111111111111111111111": InstructionNumbers(4, first=1),
    "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA": InstructionNumbers(24),
    "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb": InstructionNumbers(44),
    "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL": InstructionNumbers(2),
}
"""Programs whose instructions begin with their number, as their sources list them."""
INSTRUCTIONS = 1 + sum(known.last - known.first + 1 for known in PROGRAMS.values())
"""Number of instructions of all programs, with the memo's; the score is the reward divided by it."""
_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_PROGRAM = ("programId", "program_id", "program")
_BYTE = ("discriminator", "first_byte", "instruction_byte")
_ORIGIN = ("origin", "source", "phase", "kind")
_FAILED = frozenset({"failed", "failure", "error", "err"})
_TEMPLATES = frozenset({"template", "templates", "deterministic", "bootstrap"})

Pair = tuple[str, int]


class Unusable(ValueError):
    """A transaction that cannot be read; the message says why."""


@dataclass(frozen=True, slots=True)
class Reward:
    """Points of a run: those from templates, and those that the model earned beyond them.

    `gym` is the reward by the gym's rule, which counts first bytes of any data; `unknown` of them are no instructions.
    """

    template: int
    model: int
    gym: int = 0
    unknown: int = 0

    @property
    def total(self) -> int:
        """All points."""
        return self.template + self.model

    @property
    def score(self) -> float:
        """The share of the instructions."""
        return self.total / INSTRUCTIONS

    @property
    def explanation(self) -> str:
        """Which pairs earned nothing; empty if all did."""
        told = (
            f"{self.unknown} pairs earn nothing: no program of the gym has such an instruction, or it was a memo again"
        )
        return told if self.unknown else ""


def rewarded(transactions: Iterable[Any]) -> Reward:
    """Return the points of transactions in order. Raises Unusable for one that cannot be read.

    An instruction counts once, for its first occurrence; failed transactions earn nothing.
    """
    seen: set[Pair] = set()
    raw: set[Pair] = set()
    points = {True: 0, False: 0}
    for number, transaction in enumerate(transactions, 1):
        if not isinstance(transaction, Mapping):
            raise Unusable(f"transaction {number} is not an object")
        if failed(transaction):
            continue
        for program, data in instructions(transaction, f"transaction {number}"):
            raw.add((program, data[0]))
            known = instruction_of(program, data)
            if known is not None and known not in seen:
                points[from_template(transaction)] += 1
                seen.add(known)
    return Reward(points[True], points[False], len(raw), len(raw) - len(seen))


def instruction_of(program: str, data: bytes) -> Pair | None:
    """Return the program and the number of its instruction that these data are, or None if they are none."""
    if program == MEMO:
        return program, 0
    known = PROGRAMS.get(program)
    if known is None or not known.first <= data[0] <= known.last:
        return None
    whole = len(data) >= known.width and not any(data[1 : known.width])
    return (program, data[0]) if whole else None


def failed(transaction: Mapping[str, Any]) -> bool:
    """Return whether a transaction failed."""
    meta = transaction.get("meta")
    for said in (transaction, meta if isinstance(meta, Mapping) else {}):
        status = said.get("status")
        wrong = "Err" in status if isinstance(status, Mapping) else str(status).lower() in _FAILED
        if wrong or any(said.get(name) for name in ("err", "error")) or said.get("success", True) is not True:
            return True
    return False


def from_template(transaction: Mapping[str, Any]) -> bool:
    """Return whether a transaction comes from the gym's authors and not from the model."""
    return any(str(transaction.get(name, "")).lower() in _TEMPLATES for name in _ORIGIN)


def instructions(transaction: Mapping[str, Any], place: str) -> Iterator[tuple[str, bytes]]:
    """Yield program and data of the instructions of a transaction that have data. Raises Unusable."""
    message = transaction.get("message")
    if not isinstance(message, Mapping):
        inner = transaction.get("transaction")
        message = inner.get("message") if isinstance(inner, Mapping) else None
    holder = transaction if "instructions" in transaction else message
    listed = holder.get("instructions") if isinstance(holder, Mapping) else None
    if not isinstance(listed, list):
        raise Unusable(f"{place} has no list of instructions")
    keys = holder.get("accountKeys", []) if isinstance(holder, Mapping) else []
    for index, instruction in enumerate(listed):
        where = f"instruction {index} of {place}"
        if not isinstance(instruction, Mapping):
            raise Unusable(f"{where} is not an object")
        data = data_of(instruction, where)
        if data:
            yield _program(instruction, keys, where), data


def _program(instruction: Mapping[str, Any], keys: Any, where: str) -> str:
    named = next((instruction[name] for name in _PROGRAM if isinstance(instruction.get(name), str)), "")
    place = instruction.get("programIdIndex")
    indexed = ""
    if isinstance(place, int) and isinstance(keys, list) and 0 <= place < len(keys):
        key = keys[place]
        indexed = str(key.get("pubkey", "")) if isinstance(key, Mapping) else str(key)
    if not (named or indexed):
        raise Unusable(f"{where} names no program")
    if named and indexed and named != indexed:
        raise Unusable(f"{where} names two programs, {named:.50} and {indexed:.50}")
    return named or indexed


def data_of(instruction: Mapping[str, Any], where: str) -> bytes:
    """Return an instruction's data, or its number if that is all a log has; empty without either. Raises Unusable.

    Data is a list of numbers, a string in base58 (as validators return it), or a pair of string and encoding.
    """
    data = _data(instruction, where)
    given = next((instruction[name] for name in _BYTE if instruction.get(name) is not None), None)
    if given is None:
        return data
    if data and data[0] != _byte(given, where):
        raise Unusable(f"{where} claims the first byte {given!r:.40}, and its data begin with {data[0]}")
    return data or _byte(given, where).to_bytes(_WIDE, "little")


def _data(instruction: Mapping[str, Any], where: str) -> bytes:
    data = instruction.get("data")
    if data in (None, "", []):
        return b""
    encoding = instruction.get("encoding", "base58")
    if isinstance(data, list) and len(data) == 2 and isinstance(data[0], str) and isinstance(data[1], str):
        data, encoding = data
    if isinstance(data, list):
        return bytes(_byte(value, where) for value in data)
    if not isinstance(data, str):
        raise Unusable(f"the data of {where} is neither a list nor a text")
    try:
        return _decoded(data, str(encoding))
    except (ValueError, binascii.Error) as error:
        raise Unusable(f"the data of {where} is not {encoding}") from error


def _byte(value: Any, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 255:
        raise Unusable(f"the data of {where} have {value!r:.40}, which is not a byte")
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
