"""Values that environments return, as JSON."""

import base64
import dataclasses
import datetime
import decimal
import enum
import json
import math
import pathlib
import uuid
from collections import OrderedDict, deque, namedtuple
from typing import Any

import numpy as np
import pydantic
import pytest

from bench_common.env_sdk.server import _info_payload, _jsonable_payload, _reward_payload
from mesocosm.environments.payload import PayloadError, encode


@dataclasses.dataclass
class Ship:
    name: str
    cargo: tuple[int, ...]


class Port(pydantic.BaseModel):
    berths: set[int]


class Plain:
    def __init__(self) -> None:
        self.depth = 3
        self._secret = "hidden"


class Tide(enum.Enum):
    HIGH = "high"


Pair = namedtuple("Pair", "left right")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        ("Grüße 🌊", "Grüße 🌊"),
        (2**80, 2**80),
        ((1, (2, 3)), [1, [2, 3]]),
        ({3, 1, 2}, [1, 2, 3]),
        (frozenset({"b", "a"}), ["a", "b"]),
        (
            {2: "int", 1.5: "float", None: "none", True: "bool"},
            {"2": "int", "1.5": "float", "null": "none", "true": "bool"},
        ),
        ({(0, 1): "wall"}, {"(0, 1)": "wall"}),
        (Ship("Ada", (1, 2)), {"name": "Ada", "cargo": [1, 2]}),
        (Port(berths={2, 1}), {"berths": [1, 2]}),
        (Plain(), {"depth": 3}),
        (Tide.HIGH, "high"),
        (Pair(1, 2), [1, 2]),
        (deque([1, 2]), [1, 2]),
        (range(3), [0, 1, 2]),
        (OrderedDict(a=1), {"a": 1}),
        ({"a": 1}.keys(), ["a"]),
        (b"\x89PNG", base64.b64encode(b"\x89PNG").decode()),
        ({"picture": bytearray(b"abc")}, {"picture": "YWJj"}),
        (decimal.Decimal("1.5"), 1.5),
        (datetime.datetime(2025, 1, 2, 3, 4, tzinfo=datetime.UTC), "2025-01-02T03:04:00+00:00"),
        (datetime.timedelta(minutes=2), 120.0),
        (pathlib.PurePosixPath("a/b"), "a/b"),
        (uuid.UUID(int=7), "00000000-0000-0000-0000-000000000007"),
        (np.int64(3), 3),
        (np.array([[1.0, 2.0]]), [[1.0, 2.0]]),
        ({"flag": np.array([1.0])[0] > 0}, {"flag": True}),
    ],
)
def test_a_value_becomes_plain_json(value: Any, expected: Any) -> None:
    assert _jsonable_payload(value) == expected


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, np.float32("nan"), decimal.Decimal("NaN")])
def test_a_number_that_json_does_not_know_becomes_null(value: Any) -> None:
    text = encode({"reading": value, "others": [1.5, value]})
    assert json.loads(text, parse_constant=pytest.fail) == {"reading": None, "others": [1.5, None]}


def test_an_iterator_keeps_its_items_when_a_later_value_needs_the_slow_way() -> None:
    assert _jsonable_payload([iter("ab"), math.nan]) == [["a", "b"], None]


def test_lone_surrogates_are_replaced_and_pairs_joined() -> None:
    assert _jsonable_payload({"cut \ud83c": "\ud83c\udf0a"}) == {"cut \ufffd": "🌊"}


@pytest.mark.parametrize("value", [Ship, len, 3j, math])
def test_a_value_without_json_form_is_named_with_its_place(value: Any) -> None:
    with pytest.raises(PayloadError, match=r"value\.deck\[1\] is .*no JSON form"):
        encode({"deck": [0, value]})


def test_a_value_that_contains_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(PayloadError, match="contains itself"):
        encode(loop)


def test_the_keys_of_an_info_become_text() -> None:
    assert _info_payload({1: (2,), None: b"abc", "nested": {3: math.inf}}) == {
        "1": [2],
        "None": "YWJj",
        "nested": {"3": None},
    }


def test_a_missing_info_is_empty() -> None:
    assert _info_payload(None) == {}


def test_an_info_that_is_no_dict_is_refused_by_what_it_is() -> None:
    with pytest.raises(PayloadError, match=r"info must be a dict, not list \['won'\]"):
        _info_payload(["won"])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("reward", "number"), [(1, 1.0), (True, 1.0), ("0.25", 0.25), (np.float32(0.5), 0.5), (decimal.Decimal(2), 2.0)]
)
def test_a_reward_is_whatever_float_understands(reward: Any, number: float) -> None:
    assert _reward_payload(reward) == number


@pytest.mark.parametrize("reward", [None, "much", [1], math.nan, math.inf, 10**400])
def test_a_reward_that_is_no_finite_number_is_refused(reward: Any) -> None:
    with pytest.raises(PayloadError, match="reward must be a"):
        _reward_payload(reward)
