"""Choose the rows of a dataset to run: by index, the first ones, all, or a seeded random share."""

import hashlib
import heapq
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from mesocosm.core.failure import UsageError

__all__ = ["DEFAULT_SAMPLE", "Chosen", "choose"]

DEFAULT_SAMPLE = 0.1
_SPAN = re.compile(r"(\d{1,18})(?:\s*-\s*(\d{1,18}))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The ascending indices of the chosen rows, from 0; `description` describes the choice in words.

    `seed` is the seed of a random choice, else None.
    """

    indices: Sequence[int]
    description: str
    seed: int | None = None


def choose(
    total: int,
    rows: str = "",
    *,
    limit: int | None = None,
    everything: bool = False,
    sample: float | None = None,
    seed: int | None = None,
    offset: int = 0,
    digest: str = "",
) -> Chosen:
    """Return the rows to run, out of `total`. The first of these parameters that is set decides.

    `rows` lists indices from 0: "3,7,10-20", with inclusive ranges. `everything`, or a `limit` of 0 or less: all rows.
    `limit`: this many from the start. `sample`: a random share; without any parameter, a tenth. A share is rounded half
    up to at least one row. `offset` skips rows at the start, except with `rows`.

    Whether a row is drawn depends only on its index, the seed and the share, so a larger share contains the smaller
    one. The default seed is derived from the dataset's `digest`: the same data gives the same rows. Raises UsageError
    for unknown indices, and for shares outside of 0 to 1.
    """
    if total < 1:
        raise UsageError("the dataset has no rows to choose from")
    if rows.strip():
        places = _named(rows, total)
        return Chosen(places, _share(places, total) + f" by their places from 0 ({_short(rows)})")
    if not 0 <= offset < total:
        raise UsageError(f"an offset of {offset:,} leaves none of the {_rows(total)}; the last is {total - 1:,}")
    if everything or (limit is not None and limit <= 0):
        return _in_order(total, offset, total)
    if limit is not None:
        return _in_order(total, offset, limit)
    return _drawn(total, offset, DEFAULT_SAMPLE if sample is None else sample, seed, digest)


def _named(rows: str, total: int) -> list[int]:
    places: set[int] = set()
    for word in (word.strip() for word in rows.split(",")):
        span = _SPAN.fullmatch(word)
        if span is None:
            raise UsageError(
                f"rows {rows!r}: {word!r} is neither a row nor a range; write places from 0, like 3,7,10-20"
            )
        first = int(span[1])
        last = int(span[2]) if span[2] else first
        if last < first:
            raise UsageError(f"rows {rows!r}: the range {word} runs backwards; write {last}-{first}")
        if last >= total:
            raise UsageError(f"rows {rows!r}: there is no row {last}; the {_rows(total)} are 0 to {total - 1}")
        places.update(range(first, last + 1))
    return sorted(places)


def _in_order(total: int, offset: int, most: int) -> Chosen:
    places = range(offset, min(total, offset + most))
    if len(places) == total:
        return Chosen(places, f"all {_rows(total)}")
    if not offset:
        return Chosen(places, f"the first {len(places):,} of {_rows(total)}")
    return Chosen(places, f"{_share(places, total)}, from place {offset:,} on")


def _drawn(total: int, offset: int, share: float, seed: int | None, digest: str) -> Chosen:
    if not 0 < share <= 1:
        raise UsageError(f"a sample of {share!r} is not a share; write a number above 0 up to 1, like 0.25")
    known = total - offset
    count = max(1, int((Decimal(repr(share)) * known).to_integral_value(ROUND_HALF_UP)))
    if count == known:
        return _in_order(total, offset, total)
    chance = _seed(digest) if seed is None else seed
    places = _draw(range(offset, total), count, chance)
    behind = f", from place {offset:,} on" if offset else ""
    return Chosen(places, f"{_share(places, total)}{behind}, drawn at random with seed {chance}", chance)


def _seed(digest: str) -> int:
    return int.from_bytes(hashlib.blake2b(digest.encode(), digest_size=4).digest())


def _draw(places: Sequence[int], count: int, seed: int) -> list[int]:
    """Return the `count` indices with the smallest hashes."""
    start = hashlib.blake2b(b"%d:" % seed, digest_size=8)

    def rank(place: int) -> tuple[bytes, int]:
        own = start.copy()
        own.update(b"%d" % place)
        return own.digest(), place

    return sorted(heapq.nsmallest(count, places, key=rank))


def _share(places: Sequence[int], total: int) -> str:
    return f"{len(places):,} of {_rows(total)}"


def _rows(total: int) -> str:
    return f"{total:,} row{'s' * (total != 1)}"


def _short(rows: str) -> str:
    text = ",".join(word.strip() for word in rows.split(","))
    return text if len(text) <= 60 else text[:57] + "…"
