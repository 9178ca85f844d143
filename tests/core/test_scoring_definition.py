"""Scoring definitions: rules, paths, and the metrics that come out."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mesocosm.core.failure import Problem
from mesocosm.core.score import Metric
from mesocosm.core.scoring import AGGREGATIONS, ScoringConfig, read_scoring
from mesocosm.core.vow import RewardSpec

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(max_size=8), children, max_size=4),
    max_leaves=12,
)
REWARD = RewardSpec.model_validate({"type": "scalar", "range": {"low": -1, "high": 1}})


def metric(name: str, **changes: Any) -> dict[str, Any]:
    return {"name": name, "type": "episode_reward", "aggregation": "mean"} | changes


def scoring(*metrics: object, **changes: Any) -> dict[str, Any]:
    return {"primary_metric": "return", "metrics": list(metrics) or [metric("return")]} | changes


def read(raw: object) -> ScoringConfig:
    found, problems = read_scoring(raw)
    assert found is not None, problems
    return found


def errors(raw: object) -> dict[str, Problem]:
    found, problems = read_scoring(raw)
    broken = {problem.path: problem for problem in problems if problem.severity == "error"}
    assert (found is None) == bool(broken)
    return broken


def warnings(raw: object) -> dict[str, Problem]:
    return {problem.path: problem for problem in read_scoring(raw)[1] if problem.severity == "warning"}


def test_defaults() -> None:
    found = read(scoring())
    assert found.higher_is_better
    assert found.metrics[0].pass_threshold == 0.0
    assert found.metrics[0].field is None


@pytest.mark.parametrize("key", ["primary_metric", "metrics"])
def test_required_keys(key: str) -> None:
    raw = scoring()
    del raw[key]
    assert list(errors(raw)) == [f"scoring.{key}"]


def test_the_primary_metric_must_be_one_of_the_metrics() -> None:
    problem = errors(scoring(metric("docked_rate"), primary_metric="docked-rat"))["scoring.primary_metric"]
    assert problem.fix == "did you mean 'docked_rate'?"
    far = errors(scoring(metric("docked_rate"), metric("hull"), primary_metric="zzz"))["scoring.primary_metric"]
    assert far.fix == "choose one of docked_rate, hull"


def test_there_must_be_a_metric() -> None:
    assert list(errors({"primary_metric": "a", "metrics": []})) == ["scoring.metrics"]


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("average", "mean"),
        ("success_rate", "pass_rate"),
        ("pass-rate", "pass_rate"),
        ("meen", "mean"),
        ("total", "sum"),
    ],
)
def test_a_wrong_aggregation_suggests_the_meant_one(wrong: str, right: str) -> None:
    problem = errors(scoring(metric("return", aggregation=wrong)))["scoring.metrics[0].aggregation"]
    assert problem.fix == f"did you mean {right!r}?"


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_each_aggregation_is_known(aggregation: str) -> None:
    assert read(scoring(metric("return", aggregation=aggregation))).metrics[0].aggregation == aggregation


def test_a_metric_needs_a_name() -> None:
    assert list(errors(scoring(metric(" ")))) == ["scoring.metrics[0].name"]


@pytest.mark.parametrize("field", [None, "", " "])
def test_a_terminal_field_metric_needs_its_field(field: object) -> None:
    assert list(errors(scoring(metric("return", type="terminal_field", field=field)))) == ["scoring.metrics[0].field"]


def test_types_are_checked_everywhere_at_once() -> None:
    raw = scoring(
        metric("return", type="reward"),
        metric("b", aggregation=4, pass_threshold="high"),
        {"type": "terminal_field"},
        "c",
        higher_is_better="upwards",
    )
    assert set(errors(raw)) == {
        "scoring.metrics[0].type",
        "scoring.metrics[1].aggregation",
        "scoring.metrics[1].pass_threshold",
        "scoring.metrics[2].name",
        "scoring.metrics[2].aggregation",
        "scoring.metrics[2].field",
        "scoring.metrics[3]",
        "scoring.higher_is_better",
    }


def test_a_name_given_twice_is_a_warning_and_the_last_one_counts() -> None:
    raw = scoring(metric("return"), metric("return", aggregation="max"))
    assert list(warnings(raw)) == ["scoring.metrics[1].name"]
    assert [made.aggregation for made in read(raw).metrics_for_core(REWARD)] == ["max"]
    found = read(raw).metric("return")
    assert found is not None
    assert found.aggregation == "max"


@pytest.mark.parametrize("kind", ["trajectory_judge", "human_judge"])
def test_judged_metrics_are_accepted_with_a_warning(kind: str) -> None:
    raw = scoring(metric("return", type=kind))
    assert list(warnings(raw)) == ["scoring.metrics[0].type"]
    assert read(raw).metrics[0].judged


def test_unknown_keys_are_warnings_and_a_description_is_not() -> None:
    raw = scoring(metric("return", description="sum", threshold=3), primary="return")
    found = warnings(raw)
    assert found["scoring.primary"].fix == "did you mean `primary_metric`?"
    assert found["scoring.metrics[0].threshold"].fix == "did you mean `pass_threshold`?"
    assert len(found) == 2


@pytest.mark.parametrize("raw", [None, [], "x", 1])
def test_scoring_must_be_an_object(raw: object) -> None:
    assert list(errors(raw)) == ["scoring"]


@settings(deadline=None)
@given(JSON, st.sampled_from(["", "metrics", "primary_metric", "name", "type", "aggregation", "field"]))
def test_any_json_gives_problems_and_no_exception(junk: object, key: str) -> None:
    raw: object = junk
    if key in ("metrics", "primary_metric"):
        raw = scoring(**{key: junk})
    elif key:
        raw = scoring(metric("return") | {key: junk})
    found, problems = read_scoring(raw)
    assert (found is None) == any(problem.severity == "error" for problem in problems)
    if found is not None:
        found.metrics_for_core(REWARD)


def test_metrics_for_the_engine() -> None:
    raw = scoring(
        metric("docked_rate", type="terminal_field", field="docked", aggregation="pass_rate", pass_threshold=0.5),
        metric("minutes", type="terminal_field", field="minutes", aggregation="median"),
        metric("return"),
        primary_metric="docked_rate",
    )
    assert read(raw).metrics_for_core(REWARD) == (
        Metric("docked_rate", "docked_rate", "pass_rate", threshold=0.5, low=0.0, high=1.0, primary=True),
        Metric("minutes", "minutes", "median", directed=False),
        Metric("return", "return", "mean", low=-1.0, high=1.0),
    )


def test_the_direction_belongs_to_the_primary_value_alone() -> None:
    errors_made = {"type": "terminal_field", "field": "errors"}
    raw = scoring(
        metric("errors", **errors_made),
        metric("worst_errors", aggregation="max", **errors_made),
        metric("return"),
        primary_metric="errors",
        higher_is_better=False,
    )
    assert [made.higher_is_better for made in read(raw).metrics_for_core(REWARD)] == [False, False, True]


def test_a_definition_survives_the_way_through_json() -> None:
    found = read(scoring(metric("return", judge_config={"a": 1})))
    assert read(found.model_dump(mode="json")) == found
    assert read(found) == found


def test_a_metric_may_declare_its_own_direction() -> None:
    raw = scoring(
        metric("docked_rate", type="terminal_field", field="docked", aggregation="pass_rate"),
        metric("minutes", type="terminal_field", field="minutes", aggregation="mean", higher_is_better=False),
        primary_metric="docked_rate",
    )
    _, minutes = read(raw).metrics_for_core(REWARD)
    assert (minutes.higher_is_better, minutes.directed) == (False, True)
