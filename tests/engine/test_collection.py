"""Garbage collection while a run works."""

import gc

import pytest

from mesocosm.engine.executors.local import COLLECTION_THRESHOLD, rare_collection


def test_collections_are_rarer_inside_and_as_before_after() -> None:
    before = gc.get_threshold()
    with rare_collection():
        assert gc.get_threshold() == COLLECTION_THRESHOLD
    assert gc.get_threshold() == before


def test_an_error_inside_changes_nothing_for_the_rest_of_the_program() -> None:
    before = gc.get_threshold()
    with pytest.raises(ValueError, match="inside"), rare_collection():
        raise ValueError("inside")
    assert gc.get_threshold() == before


@pytest.mark.parametrize("chosen", [(0, 10, 10), (50_000, 10, 10)])
def test_a_program_that_collects_even_less_is_left_alone(chosen: tuple[int, int, int]) -> None:
    before = gc.get_threshold()
    gc.set_threshold(*chosen)
    try:
        with rare_collection():
            assert gc.get_threshold() == chosen
    finally:
        gc.set_threshold(*before)
