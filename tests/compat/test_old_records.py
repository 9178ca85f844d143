"""Metrics, exports, traces, settings and catalogues under their old names."""

import json
import logging
import math
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bench_common.config import settings
from bench_common.core.errors import BenchError
from bench_common.core.run import AgentConfig, Episode, EpisodeStatus, Run, RunConfig, TraceEvent
from bench_common.core.scoring import MetricDef, ScoringConfig
from bench_common.eval.metrics import compute_metric, compute_scores
from bench_common.export import build_replay_turns, build_run_export_dict
from bench_common.model_catalog import ALLOWED_MODELS, EXTRA_MODEL_ALIASES, FULL_BENCH_MODELS, MODEL_LABELS
from bench_common.storage.trace_store import TraceStore
from bench_common.techniques import TECHNIQUE_REGISTRY
from bench_common.techniques.base import Technique
from mesocosm.core.failure import UsageError
from mesocosm.interop.replayed import read_replay

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def episode(reward: float = 0.0, status: str = "completed", **info: Any) -> Episode:
    return Episode(id="e", run_id="r", status=EpisodeStatus(status), total_reward=reward, terminal_info=info)


def metric(**given: Any) -> MetricDef:
    return MetricDef.model_validate(
        {"name": "m", "type": "terminal_field", "field": "x", "aggregation": "mean", **given}
    )


@pytest.mark.parametrize(
    ("value", "counts"),
    [(True, 1.0), (False, 0.0), (2, 2.0), ("0.5", 0.5), ("True", 1.0), ("yes", 1.0), (" no ", 0.0), ("false", 0.0)],
)
def test_values_are_cast(value: Any, counts: float) -> None:
    assert compute_metric(metric(), [episode(x=value)]) == counts


@pytest.mark.parametrize("value", [None, "many", [], {}, math.nan, "inf"])
def test_a_value_that_cannot_be_used_leaves_the_metric(value: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert compute_metric(metric(), [episode(x=value), episode(), episode(x=3)]) == 3.0
    assert "2 of 3 have no usable value" in caplog.text


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ({"aggregation": "mean"}, 2.5),
        ({"aggregation": "median"}, 2.0),
        ({"aggregation": "max"}, 6.0),
        ({"aggregation": "min"}, 0.0),
        ({"aggregation": "sum"}, 10.0),
        ({"aggregation": "pass_rate"}, 0.75),
        ({"aggregation": "pass_rate", "pass_threshold": 2.0}, 0.25),
    ],
)
def test_values_are_aggregated(given: dict[str, Any], value: float) -> None:
    assert compute_metric(metric(**given), [episode(x=x) for x in (0, 2, 2, 6)]) == value


def test_only_scoreable_episodes_count_and_nothing_gives_zero() -> None:
    rewards = MetricDef(name="m", type="episode_reward", aggregation="mean")
    statuses = {"completed": 1.0, "truncated": 2.0, "timeout": 3.0, "failed": 90.0, "cancelled": 90.0, "running": 90.0}
    assert compute_metric(rewards, [episode(reward, status) for status, reward in statuses.items()]) == 2.0
    assert compute_metric(rewards, [episode(90.0, "failed")]) == 0.0
    assert compute_metric(MetricDef(name="j", type="human_judge", aggregation="mean"), [episode(1.0)]) == 0.0


def test_of_two_metrics_of_one_name_the_last_counts() -> None:
    metrics = [metric(), MetricDef(name="r", type="episode_reward", aggregation="sum"), metric(aggregation="max")]
    scoring = ScoringConfig(primary_metric="m", metrics=metrics)
    assert compute_scores(scoring, [episode(1.0, x=1), episode(2.0, x=3)]) == {"m": 3.0, "r": 3.0}


def event(step: int, kind: str, second: int = 0, **payload: Any) -> TraceEvent:
    return TraceEvent.model_validate(
        {
            "episode_id": "e",
            "step": step,
            "timestamp": NOON + timedelta(seconds=second),
            "event_type": kind,
            "payload": payload,
        }
    )


TRACE = [
    event(0, "episode_start", seed=4),
    event(0, "observation", 1, phase="start", data={"pier": 0}),
    event(1, "observation", 2, phase="before_agent", data={"pier": 0, "message": "fog"}, system_prompt="Sail!"),
    event(1, "model_call", 3, text=" North, then. ", model="m"),
    event(1, "action", 4, action="north"),
    event(1, "step_result", 5, reward=0.5, terminated=True, truncated=False, info={"docked": True}),
    event(1, "observation", 6, phase="after_env", data={"pier": 1}),
    event(1, "episode_end", 7, total_reward=0.5, steps=1, status="completed", terminal_info={"docked": True}),
]


def test_events_in_any_order_become_turns() -> None:
    turns = build_replay_turns([TRACE[4], *TRACE[:4], *(one.model_dump(mode="json") for one in TRACE[5:])])
    assert turns == [
        {
            "step": 1,
            "timestamp": "2026-05-01T12:00:02Z",
            "board_before": {"pier": 0, "message": "fog"},
            "observation": {"pier": 0, "message": "fog"},
            "env_system_prompt": "Sail!",
            "env_message": "fog",
            "reasoning": "North, then.",
            "model": "m",
            "action": "north",
            "reward": 0.5,
            "terminated": True,
            "truncated": False,
            "info": {"docked": True},
            "board_after": {"pier": 1},
            "episode_end": {
                "total_reward": 0.5,
                "steps": 1,
                "status": "completed",
                "terminal_info": {"docked": True},
            },
        }
    ]


def test_an_export_is_a_replay_file_of_schema_1(tmp_path: Path) -> None:
    config = RunConfig(domain_id="ferry", binding_vow_version="1.0.0", agent_config=AgentConfig(model="ollama/a"))
    run = Run(id="r", config=config, scores={"docked": 1.0})
    episodes = [episode(0.5, docked=True), Episode(id="silent", run_id="r")]
    export = build_run_export_dict(run, episodes, {"e": TRACE}, domain_name="Ferry", visibility="private")
    assert list(export) == [
        "schema_version",
        "exported_at",
        "visibility",
        "domain_id",
        "domain_name",
        "binding_vow_version",
        "run",
        "episodes",
        "traces",
        "replay",
    ]
    assert export["replay"]["e"] == build_replay_turns(TRACE)
    assert (export["traces"]["silent"], export["replay"]["silent"]) == ([], [])
    path = tmp_path / "replay.json"
    path.write_text(json.dumps(export))
    read = read_replay(path)
    assert (read.run.model, read.run.benchmark, read.entries[0].episode.total_reward) == ("ollama/a", "ferry", 0.5)


@pytest.mark.usefixtures("place")
def test_traces_go_where_the_variable_says(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert TraceStore().path("e") == Path("data/traces/e.jsonl")
    monkeypatch.setenv("ORCH_TRACE_DIR", str(place / "elsewhere"))
    store = TraceStore()
    for one in TRACE:
        store.append(one)
    assert len((place / "elsewhere" / "e.jsonl").read_text().splitlines()) == len(TRACE)
    assert store.read("e") == TRACE
    assert list(store.episode_ids()) == ["e"]
    store.write("e", TRACE[:2])
    assert store.read("e") == TRACE[:2]
    assert store.read("unknown") == []


@pytest.mark.parametrize("name", ["", "../e", "a/b"])
def test_an_episode_id_names_no_file_elsewhere(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be the id"):
        TraceStore(tmp_path).path(name)


@pytest.mark.usefixtures("place")
def test_settings_are_read_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (settings.trace_dir, settings.max_steps_per_episode, settings.max_tokens_per_episode) == (
        Path("data/traces"),
        None,
        None,
    )
    monkeypatch.setenv("ORCH_MAX_STEPS_PER_EPISODE", "35")
    monkeypatch.setenv("ORCH_MAX_TOKENS_PER_EPISODE", "0")
    assert (settings.max_steps_per_episode, settings.max_tokens_per_episode) == (35, None)
    monkeypatch.setenv("ORCH_MAX_EPISODE_STEPS", "many")
    with pytest.raises(BenchError, match="ORCH_MAX_EPISODE_STEPS is 'many'"):
        _ = settings.max_steps_per_episode


def test_the_catalogue_is_whole() -> None:
    assert len(FULL_BENCH_MODELS) == 3
    assert set(FULL_BENCH_MODELS) | set(EXTRA_MODEL_ALIASES) == ALLOWED_MODELS == set(MODEL_LABELS)
    assert len(ALLOWED_MODELS) == len(FULL_BENCH_MODELS) + len(EXTRA_MODEL_ALIASES) == 9
    assert "openai/gpt-4o-mini" not in ALLOWED_MODELS


def test_techniques_are_found_by_their_ids() -> None:
    assert {"memory", "tool_calling", "multi_agent"} <= set(TECHNIQUE_REGISTRY)
    assert issubclass(TECHNIQUE_REGISTRY["memory"], Technique)
    assert "confidence-calibration" not in TECHNIQUE_REGISTRY
    assert TECHNIQUE_REGISTRY.get("os:system") is None
    assert len(TECHNIQUE_REGISTRY) == len(list(TECHNIQUE_REGISTRY))
