"""Prices: known ones are exact, unknown ones are unknown."""

import datetime
from importlib.resources import files
from pathlib import Path

import msgspec
import pytest

from mesocosm.core.failure import InvalidInput, UsageError
from mesocosm.core.model import ModelName
from mesocosm.models.prices import FREE, Price, price

GPT = ModelName.parse("openai/gpt-4o")


def test_every_shipped_entry_is_complete_and_dated() -> None:
    table = msgspec.json.decode(files("mesocosm.models").joinpath("prices.json").read_bytes(), type=dict[str, Price])
    assert len(table) > 30
    for name, entry in table.items():
        assert ModelName.parse(name)
        assert entry.output >= entry.input > 0
        assert entry.cached is None or 0 < entry.cached < entry.input
        assert entry.long_over is None or entry.long_input > entry.input
        assert datetime.date.fromisoformat(entry.as_of) >= datetime.date(2026, 1, 1)


@pytest.mark.parametrize(
    "name", ["anthropic/claude-sonnet-4-6", "openai/gpt-4o", "gemini/gemini-3.1-flash-lite", "google/gemini-2.5-flash"]
)
def test_the_models_of_the_full_bench_have_a_price(name: str) -> None:
    assert price(ModelName.parse(name)) is not None


def test_litellm_names_are_looked_up_without_the_prefix() -> None:
    assert price(ModelName.parse("litellm/openai/gpt-4o")) == price(GPT) is not None


@pytest.mark.parametrize("name", ["openai/gpt-4o-2024-08-06", "openai/gpt-4o"])
def test_a_snapshot_costs_what_its_model_costs(name: str) -> None:
    assert price(ModelName.parse(name)) == price(GPT)


def test_a_snapshot_with_its_own_entry_costs_that() -> None:
    assert price(ModelName.parse("openai/gpt-4o-2024-05-13")) != price(GPT)


def test_an_unknown_price_is_none() -> None:
    assert price(ModelName.parse("openai/some-model")) is None
    assert price(ModelName.parse("vllm/gpt-4o")) is None


def test_what_is_local_is_free_and_what_is_elsewhere_unknown() -> None:
    assert price(GPT, local=True) is FREE
    assert price(GPT, elsewhere=True) is None


def test_cost_counts_cached_tokens_apart() -> None:
    entry = Price(2.0, 10.0, "2026-01-01", cached=0.5)
    assert entry.cost(1_000_000, 0) == 2.0
    assert entry.cost(1_000_000, 100_000, 400_000) == pytest.approx(0.6 * 2 + 0.4 * 0.5 + 0.1 * 10)
    assert Price(2.0, 10.0, "2026-01-01").cost(1_000_000, 0, 1_000_000) == 2.0
    assert entry.cost(10, 0, 99) == pytest.approx(10 * 0.5 / 1e6)


def test_long_prompts_are_charged_whole_at_their_own_price() -> None:
    entry = Price(1.0, 10.0, "2026-01-01", cached=0.1, long_over=200_000, long_input=2.0, long_output=15.0)
    assert entry.cost(200_000, 0) == pytest.approx(0.2)
    assert entry.cost(300_000, 100_000) == pytest.approx(0.6 + 1.5)


def override(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    path = folder / "prices.json"
    path.write_text(text)
    monkeypatch.setenv("MESOCOSM_PRICES", str(path))


def test_a_file_of_ones_own_goes_before_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    override(tmp_path, monkeypatch, '{"openai/gpt-4o": {"input": 1, "output": 1, "as_of": "2026-01-01"}}')
    own = Price(1, 1, "2026-01-01")
    assert price(GPT) == price(GPT, local=True) == price(GPT, elsewhere=True) == own
    assert price(ModelName.parse("openai/gpt-4o-mini")) is not None


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"openai/x": {"input": 1}}',
        '{"openai/x": {"input": "1", "output": 1, "as_of": "x"}}',
        '{"openai/x": {"input": 1, "output": 1, "as_of": "x", "ouput": 1}}',
    ],
)
def test_a_broken_file_is_named_with_its_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    override(tmp_path, monkeypatch, text)
    with pytest.raises(InvalidInput, match=r"prices\.json \(from MESOCOSM_PRICES\)"):
        price(GPT)


def test_a_missing_file_is_a_usage_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MESOCOSM_PRICES", str(tmp_path / "none.json"))
    with pytest.raises(UsageError, match="MESOCOSM_PRICES"):
        price(GPT)


@pytest.mark.parametrize(
    "text",
    [
        '{"input": -1, "output": 1, "as_of": ""}',
        '{"input": 1e300, "output": 1, "as_of": ""}',
        '{"input": NaN, "output": 1, "as_of": ""}',
        '{"input": 1, "output": 1e999, "as_of": ""}',
        '{"input": 1, "output": 1, "as_of": "", "long_over": -5}',
        '{"input": 1, "output": ' + "[" * 5_000 + "]" * 5_000 + "}",
    ],
)
def test_a_price_that_no_model_can_have_is_refused(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "prices.json"
    place.write_text(f'{{"openai/gpt-4o": {text}}}')
    monkeypatch.setenv("MESOCOSM_PRICES", str(place))
    with pytest.raises(InvalidInput, match="price file"):
        price(GPT)
