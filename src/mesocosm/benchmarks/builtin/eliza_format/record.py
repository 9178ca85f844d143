"""Test records: a question with its expected answer, generated or from a file."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from mesocosm.benchmarks.builtin.eliza_format.bucket import BUCKETS
from mesocosm.benchmarks.dataset import read_rows
from mesocosm.core.failure import InvalidInput, Problem


class ExpectedReply(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a reply must contain: all of `contains` and none of `excludes`, as whole words."""

    contains: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()


class FormatRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One record of a test file.

    `expected` has for `should_respond` the field `action`, for `message_handler` the list `actions`, for `reply` the
    lists `contains` and `excludes`, for `claude_distill` the fields of the record. With a `reference`, the answer must
    repeat it in its field `ref`, which ties the answer to this question.
    """

    bucket: Literal["should_respond", "message_handler", "reply", "claude_distill"]
    prompt: str
    expected: dict[str, Any]
    id: str = ""
    reference: str = ""


@dataclass(frozen=True, slots=True)
class FormatRecords:
    """The records of a file by bucket, and the digest of its bytes."""

    by_bucket: Mapping[str, Sequence[FormatRecord]]
    content: str


def read_records(file: Path) -> FormatRecords:
    """Return the records of a JSONL file. Raises UsageError, or InvalidInput that lists every unusable record."""
    rows = read_rows("eliza-format", file, None)
    problems: list[Problem] = []
    found: dict[str, list[FormatRecord]] = {name: [] for name in BUCKETS}
    for number, row in enumerate(rows.rows, 1):
        try:
            record = msgspec.convert(row, FormatRecord)
            problem = next(_faults(record), "")
        except msgspec.ValidationError as error:
            problem = str(error)
        if problem:
            problems.append(Problem(f"record {number}", problem))
            continue
        name = record.id or f"{record.bucket}_{len(found[record.bucket])}"
        found[record.bucket].append(msgspec.structs.replace(record, id=name))
    if problems:
        raise InvalidInput(str(file), problems)
    return FormatRecords(found, rows.content)


def _faults(record: FormatRecord) -> Iterator[str]:
    """Yield the problems that make a record's expectations impossible to meet."""
    expected = record.expected
    if record.bucket == "reply":
        try:
            reply = msgspec.convert(expected, ExpectedReply)
        except msgspec.ValidationError as error:
            yield f"expected: {error}"
            return
        if not reply.contains:
            yield "expected.contains is empty, so every reply would be right"
        return
    wanted = BUCKETS[record.bucket].judged
    if set(expected) != {field.name for field in wanted}:
        yield f"expected must have exactly the fields {', '.join(field.name for field in wanted)}"
        return
    yield from (fault for field in wanted if (fault := field.fault(expected[field.name])))
