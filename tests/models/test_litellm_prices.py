"""The table of prices is updated from LiteLLM's."""

from typing import Any

import msgspec
import pytest

from mesocosm.core.failure import UnknownName
from mesocosm.models.litellm_prices import TABLE, litellm_table, price_of, text_of, updated
from mesocosm.models.prices import Price

TODAY = "2026-02-03"
OLD = {"openai/a": Price(1.0, 2.0, "2026-01-01", cached=0.5), "groq/gone": Price(1.0, 1.0, "2026-01-01")}


def entry(**more: Any) -> dict[str, Any]:
    return {"input_cost_per_token": 1e-06, "output_cost_per_token": 3e-06, **more}


def test_prices_are_in_dollars_per_million_tokens() -> None:
    theirs = entry(
        cache_read_input_token_cost=1.25e-07,
        cache_creation_input_token_cost=1.1e-06,
        cache_creation_input_token_cost_above_1hr=2e-06,
    )
    assert price_of(theirs, TODAY) == Price(1.0, 3.0, TODAY, cached=0.125, written=1.1, written_hour=2.0)


def test_a_longer_prompt_costs_what_the_first_length_says() -> None:
    theirs = entry(
        input_cost_per_token_above_512k_tokens=9e-06,
        input_cost_per_token_above_200k_tokens=2e-06,
        input_cost_per_token_above_200k_tokens_batches=5e-06,
        output_cost_per_token_above_200k_tokens=6e-06,
    )
    assert price_of(theirs, TODAY) == Price(1.0, 3.0, TODAY, long_over=200_000, long_input=2.0, long_output=6.0)


def test_what_is_not_sold_by_tokens_has_no_price() -> None:
    assert price_of({"output_cost_per_image": 0.04}, TODAY) is None


def test_changes_are_told_and_dated_and_an_unknown_entry_stays_as_it_is() -> None:
    table, lines = updated(OLD, {"a": entry(), "together_ai/b": entry()}, ["together/b"], TODAY)
    assert table == {
        "openai/a": Price(1.0, 3.0, TODAY),
        "groq/gone": OLD["groq/gone"],
        "together/b": Price(1.0, 3.0, TODAY),
    }
    assert lines == [
        "openai/a: output 2 -> 3",
        "openai/a: cached 0.5 -> null",
        "groq/gone: not in LiteLLM's table, so as on 2026-01-01",
        'together/b: new, "input": 1, "output": 3, "as_of": "2026-02-03"',
    ]


def test_a_model_without_a_price_cannot_be_added() -> None:
    with pytest.raises(UnknownName, match=r"no price of 'openai/b'; did you mean 'bb'"):
        updated(OLD, {"a": entry(), "bb": entry()}, ["openai/b"], TODAY)


def test_the_shipped_table_is_written_as_it_stands() -> None:
    shipped = TABLE.read_text()
    assert text_of(msgspec.json.decode(shipped, type=dict[str, Price])) == shipped


def test_the_table_of_the_installed_litellm_can_be_read() -> None:
    assert isinstance(price_of(litellm_table()["gpt-4o"], TODAY), Price)
