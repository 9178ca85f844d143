"""In which of their settings runs differ."""

from typing import Any

from mesocosm.core.model import ModelSettings
from mesocosm.core.run import AgentSettings, BenchmarkRef, Limits, Run, RunSpec, Selection
from mesocosm.engine.comparison.differences import DEPTH, LONGEST, MOST, differences


def spec(**given: Any) -> RunSpec:
    settings = ModelSettings(given.pop("model", "ollama/llama"), **given.pop("settings", {}))
    return RunSpec(BenchmarkRef("environment", given.pop("source", "words")), settings, **given)


def run(**given: Any) -> Run:
    fields: dict[str, Any] = {
        "id": "a",
        "signature": "s",
        "benchmark": "words",
        "benchmark_title": "Words",
        "benchmark_version": "1",
        "benchmark_digest": "content",
        "kind": "environment",
        "model": "ollama/llama",
        "agent": "loop",
        "spec": spec(),
    }
    return Run(**(fields | given))


def unequal(**given: Any) -> dict[str, tuple[Any, ...]]:
    a = run(provenance={"mesocosm": "1", "command": ["run"], "worked_s": 1.0})
    fields: dict[str, Any] = {"id": "b", "provenance": {"mesocosm": "1", "command": ["again"], "worked_s": 2.0}}
    b = run(**(fields | given))
    return {item.field: item.values for item in differences([a, b])}


def test_what_says_nothing_of_the_outcome_is_no_difference() -> None:
    other = spec(source="/elsewhere/words", name="second", tags=("x",))
    assert unequal(spec=other, name="second", tags=("x",), created_at=5.0, attempt=3) == {}


def test_a_default_and_the_same_value_given_do_not_differ() -> None:
    assert unequal(spec=spec(settings={"temperature": 0.0}, limits=Limits(retries=4))) == {}


def test_settings_that_differ_are_named_with_both_values() -> None:
    other = spec(
        settings={"temperature": 0.7, "extra": {"think": {"budget": 5}}},
        agent=AgentSettings("loop", {"memory": 3}),
        selection=Selection(seeds=(1, 2), trials=2),
        limits=Limits(episode_steps=9),
    )
    found = unequal(spec=other, model="ollama/other", benchmark_version="2", provenance={"mesocosm": "2"})
    assert found == {
        "benchmark.version": ("1", "2"),
        "model": ("ollama/llama", "ollama/other"),
        "model.temperature": (0.0, 0.7),
        "model.extra.think.budget": (None, 5),
        "agent.options.memory": (None, 3),
        "selection.seeds": (None, [1, 2]),
        "selection.trials": (1, 2),
        "limits.episode_steps": (None, 9),
        "provenance.mesocosm": ("1", "2"),
    }


def test_three_runs_have_three_values() -> None:
    runs = [run(spec=spec(settings={"temperature": t})) for t in (0.0, 1.0, 0.0)]
    assert [(item.field, item.values) for item in differences(runs)] == [("model.temperature", (0.0, 1.0, 0.0))]


def test_long_values_are_shortened_for_looking_at() -> None:
    other = spec(settings={"extra": {"prompt": "x" * 10_000_000}}, selection=Selection(seeds=tuple(range(100_000))))
    found = unequal(spec=other)
    assert found["model.extra.prompt"][1] == "x" * LONGEST + "… (10,000,000 characters)"
    seeds = found["selection.seeds"][1]
    assert seeds[:2] == [0, 1]
    assert seeds[-1] == "… (100,000 values)"
    assert len(seeds) == 21


def test_hostile_names_stay_text() -> None:
    name = "<script>alert(1)</script>\x1b[31m"
    assert unequal(spec=spec(settings={"extra": {name: name}})) == {f"model.extra.{name}": (None, name)}


def test_what_lies_too_deep_is_one_value() -> None:
    deep: dict[str, Any] = {"end": 1}
    for _ in range(DEPTH + 100):
        deep = {"x": deep}
    (field,) = unequal(spec=spec(settings={"extra": deep}))
    assert field.count(".x") <= DEPTH


def test_the_list_of_differences_ends() -> None:
    assert len(unequal(spec=spec(settings={"extra": {f"k{n}": n for n in range(MOST + 100)}}))) == MOST
