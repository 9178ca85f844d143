"""Ids, canonical JSON and digests."""

import math
import multiprocessing
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesocosm.core.ids import canonical_json, digest, new_id

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def test_an_id_is_a_uuid_of_version_seven() -> None:
    assert uuid.UUID(new_id()).version == 7
    assert uuid.UUID(new_id()).variant == uuid.RFC_4122


def test_ids_made_later_sort_later() -> None:
    ids = [new_id() for _ in range(5000)]
    assert ids == sorted(ids)
    assert len(set(ids)) == len(ids)


def test_equal_values_have_one_spelling_whatever_the_order_of_keys() -> None:
    assert canonical_json({"b": 1, "a": [1.0, True]}) == canonical_json({"a": [1, True], "b": 1.0})


def test_true_and_one_stay_different() -> None:
    assert digest(True) != digest(1)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_without_a_json_form_cannot_be_part_of_an_identity(value: float) -> None:
    with pytest.raises(ValueError, match="no JSON form"):
        canonical_json({"x": value})


@given(json_values)
def test_any_json_value_has_a_digest_that_does_not_change(value: object) -> None:
    assert digest(value) == digest(value)
    assert len(digest(value)) == 32


def test_a_forked_process_makes_ids_of_its_own() -> None:
    new_id()
    context = multiprocessing.get_context("fork")
    there, here = context.Pipe()
    child = context.Process(target=lambda: there.send([new_id()[19:] for _ in range(20)]))
    child.start()
    ids = {new_id()[19:] for _ in range(20)}
    assert ids.isdisjoint(here.recv())
    child.join()
