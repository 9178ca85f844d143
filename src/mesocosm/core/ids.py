"""Sortable ids, canonical JSON and digests."""

import hashlib
import math
import os
import threading
import time
from typing import Any

import msgspec

DIGEST_HEX = 32
"""Digests keep 128 bits of SHA-256: no collision before some 10^19 items, at half the index size."""

APPLICATION_ID = int.from_bytes(b"meso")
"""The `application_id` of our SQLite files, which identifies them regardless of their name."""

POOL = 512
"""Ids per read of system randomness; one read per id would take a tenth of the time of an episode."""

_lock = threading.Lock()
_last = 0
_pool = bytearray()
# A forked child must not repeat the randomness that its parent will use.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.clear)


def new_id() -> str:
    """Return a UUIDv7 (RFC 9562, method 3): ids made later in this process sort later, ties included."""
    global _last  # noqa: PLW0603
    with _lock:
        now = time.time_ns()
        stamp = (now // 1_000_000) << 12 | (now % 1_000_000) * 4096 // 1_000_000
        _last = stamp = max(stamp, _last + 1)
        if not _pool:
            _pool.extend(os.urandom(8 * POOL))
        chance = bytes(_pool[-8:])
        del _pool[-8:]
    tail = int.from_bytes(chance) & 0x3FFF_FFFF_FFFF_FFFF
    number = (stamp >> 12) << 80 | 0x7 << 76 | (stamp & 0xFFF) << 64 | 0b10 << 62 | tail
    text = f"{number:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def _plain(value: Any) -> Any:
    """Return JSON builtins with equal numbers written equally (1.0 as 1, as in RFC 8785)."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{value!r} has no JSON form, so it cannot be part of an identity")
        return int(value) if value.is_integer() else value
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def canonical_json(value: Any) -> bytes:
    """Return the canonical JSON of `value`: keys sorted, no spaces, integral floats as integers, UTF-8.

    Accept everything that msgspec can encode (structs, dataclasses, dates, bytes as base64). Raise ValueError for NaN
    and infinities, and TypeError for objects without a JSON form.
    """
    return msgspec.json.encode(_plain(msgspec.to_builtins(value, str_keys=True)), order="sorted")


def digest(value: Any) -> str:
    """Return 32 hex digits that are equal if and only if the canonical JSON is. Raise as `canonical_json`."""
    return digest_bytes(canonical_json(value))


def digest_bytes(data: bytes) -> str:
    """Return the digest of raw bytes (32 hex digits)."""
    return hashlib.sha256(data).hexdigest()[:DIGEST_HEX]
