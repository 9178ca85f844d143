"""Tokens and money add up, and an unknown price stays unknown."""

import pytest

from mesocosm.core.usage import NOTHING, Usage


def test_every_part_adds_up() -> None:
    total = Usage(10, 5, 4, 2, 0.5, 1) + Usage(1, 2, 3, 4, 0.25, 2)
    assert total == Usage(11, 7, 7, 6, 0.75, 3)
    assert total.total == 18


@pytest.mark.parametrize("known", [Usage(cost_usd=0.5), NOTHING])
def test_an_unknown_price_stays_unknown_whatever_is_added(known: Usage) -> None:
    unknown = Usage(10, 5, cost_usd=None)
    assert (unknown + known).cost_usd is None
    assert (known + unknown).cost_usd is None
    assert (unknown + unknown + known).cost_usd is None


def test_nothing_changes_nothing() -> None:
    some = Usage(1, 2, 3, 4, 0.5, 6)
    assert some + NOTHING == NOTHING + some == some


def test_cached_and_hidden_tokens_are_parts_not_additions() -> None:
    assert Usage(prompt=100, completion=50, cached=80, reasoning=40).total == 150
