"""Documents and numbers from outside."""

from __future__ import annotations

import math

import msgspec
import pytest

from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.core.foreign import DEEPEST, LARGEST, MOST, finite, read_json, whole


class Note(msgspec.Struct):
    """A document with a field that takes anything; the others are skipped."""

    text: str = ""
    extra: object = None


def nested(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


@pytest.mark.parametrize("levels", [DEEPEST + 1, 900, 3_000, 50_000])
@pytest.mark.parametrize("form", [b"%b", b'{"text": "a", "extra": %b}', b'{"text": "a", "ignored": {"b": %b}}'])
def test_what_is_nested_too_deeply_is_no_document(levels: int, form: bytes) -> None:
    with pytest.raises(msgspec.DecodeError, match="deeper than"):
        read_json(form % nested(levels))


@pytest.mark.parametrize("levels", [900, 3_000])
def test_a_field_that_takes_anything_is_bounded_too(levels: int) -> None:
    with pytest.raises(msgspec.DecodeError, match="deeper"):
        read_json(b'{"extra": %b}' % nested(levels), Note)


def test_what_is_wide_is_read() -> None:
    assert read_json(b"[" + b"[],{}," * 10_000 + b"1]")[-1] == 1
    assert read_json(nested(DEEPEST)) is not None


def test_brackets_inside_texts_are_no_levels() -> None:
    assert read_json(b'"' + b"[" * 5_000 + b'"') == "[" * 5_000


def test_broken_characters_are_no_document_either() -> None:
    with pytest.raises(msgspec.DecodeError):
        read_json(b'"\xff"')


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        math.inf,
        -math.inf,
        10**400,
        1e101,
        True,
        None,
        [],
        "nan",
        "inf",
        "-Infinity",
        "1e999",
        "1_000",
        "١٢",
        "0x10",
        "9" * 5_000,
        "",
    ],
)
def test_what_is_no_usable_number_is_none(value: object) -> None:
    assert finite(value) is None
    assert whole(value) is None


@pytest.mark.parametrize(
    ("value", "number"), [(1, 1.0), (-2.5, -2.5), ("3", 3.0), (" 4.5 ", 4.5), (".5", 0.5), (LARGEST, LARGEST)]
)
def test_a_number_is_a_float(value: object, number: float) -> None:
    assert finite(value) == number


def test_a_count_is_whole_and_not_negative() -> None:
    assert [whole(value) for value in (3, 3.9, "3", -1, MOST, MOST + 1)] == [3, 3, 3, None, MOST, None]


@pytest.mark.parametrize("asked", [math.nan, math.inf, -1.0])
def test_a_failure_never_asks_for_a_wait_without_end(asked: float) -> None:
    assert EpisodeError(Cause.RATE_LIMITED, "busy", retry_after=asked).retry_after is None


@pytest.mark.parametrize("part", [b"[],", b'{"a":1},', b'{"a":1,"b":2},', b"1,", b'"a",'])
def test_a_document_of_more_parts_than_anybody_needs_is_refused_before_it_is_read(part: bytes) -> None:
    document = b"[" + part * 2_000_001 + b"1]"
    with pytest.raises(msgspec.DecodeError, match="too large"):
        read_json(document)


def test_a_file_that_somebody_named_may_have_as_many() -> None:
    assert len(read_json(b"[" + b"[]," * 100_001 + b"1]", large=True)) == 100_002
