"""Captures: what is read of them, what each is worth, and that none of them vanishes."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mesocosm.benchmarks.builtin.eliza_replay.capture import Capture, read_capture
from mesocosm.benchmarks.catalogue import BUILTIN
from mesocosm.benchmarks.descriptor import read_descriptor
from mesocosm.benchmarks.opening import open_benchmark
from mesocosm.benchmarks.parameters import settle
from mesocosm.core.event import Kind
from mesocosm.core.failure import Incompatible, UsageError
from mesocosm.core.model import ModelSettings
from mesocosm.core.ports import Benchmark, Observer
from mesocosm.core.run import AgentSettings, BenchmarkRef, Run, RunSpec, RunStatus, Selection
from mesocosm.core.score import MetricResult
from mesocosm.engine import session
from mesocosm.store import Store, open_store

CLEAN: dict[str, Any] = {"events": [{"kind": "llm"}], "outcome": {"success": True}}


def reference(path: object, **parameters: Any) -> BenchmarkRef:
    descriptor = read_descriptor(BUILTIN / "eliza_replay")
    (settings,) = settle([descriptor], {"capture_path": str(path), **parameters}, [descriptor])
    return BenchmarkRef("benchmark", "eliza_replay", {"knobs": dict(settings.parameters)})


def opened(path: object, **parameters: Any) -> Benchmark:
    return open_benchmark(reference(path, **parameters))


def capture(value: Any) -> Capture:
    return read_capture(value if isinstance(value, bytes) else json.dumps(value).encode())


def write(folder: Path, **files: Any) -> Path:
    for name, value in files.items():
        (folder / f"{name}.replay.json").write_text(value if isinstance(value, str) else json.dumps(value))
    return folder


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "results.sqlite")
    yield opened
    opened.close()


class Heard(Observer):
    """Keeps what was said."""

    def __init__(self) -> None:
        self.notices: list[str] = []

    def notice(self, message: str) -> None:
        self.notices.append(message)


async def run(store: Store, path: object, *observers: Observer, model: str = "openai/gpt-4o-mini") -> Run:
    spec = RunSpec(reference(path), ModelSettings(model), AgentSettings("program"), Selection())
    return await session.run(spec, store, observers)


def metrics(run: Run) -> dict[str, MetricResult]:
    return {metric.name: metric for metric in run.metrics}


# What is read of a capture


def test_an_event_counts_in_every_class_that_it_belongs_to() -> None:
    counts = capture(
        {
            "events": [
                {"kind": "llm", "decision_type": "plan"},
                {"llm": {"model": "a"}, "tool_call": {"name": "x"}},
                {"kind": "tool"},
                {"kind": "decision"},
                {"kind": "other"},
            ]
        }
    ).counts
    assert counts is not None
    assert (counts.events, counts.llm, counts.tool, counts.decision) == (5, 2, 2, 2)


def test_the_duration_lies_between_the_earliest_and_the_latest_readable_time() -> None:
    times = ["2026-01-01T00:00:03Z", "yesterday", "2026-01-01T01:00:01+01:00", "2026-01-01T00:00:02", None]
    counts = capture({"events": [{"ts": at} for at in times]}).counts
    assert counts is not None
    assert counts.duration_ms == 2000.0


def test_without_readable_times_there_is_no_duration() -> None:
    counts = capture({"events": [{"ts": "noon"}]}).counts
    assert counts is not None
    assert counts.duration_ms is None


def test_tokens_models_and_failed_tools_are_taken_from_the_events() -> None:
    counts = capture(
        {
            "events": [
                {"llm": {"model": "b", "prompt_tokens": 3, "completion_tokens": 1}},
                {"llm": {"model": "a", "prompt_tokens": 4}},
                {"tool_call": {"name": "x", "error": "no"}},
                {"tool_call": {"name": "x", "success": False}},
                {"tool_call": {"name": "x", "success": True, "error": ""}},
            ]
        }
    ).counts
    assert counts is not None
    assert (counts.prompt_tokens, counts.completion_tokens, counts.models) == (7, 1, ("a", "b"))
    assert (counts.tool, counts.tool_errors) == (3, 2)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "is not JSON"),
        (b"\xff\xfe", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        ([], "is not a JSON object"),
        ({}, "has no array `events`"),
        ({"events": {}}, "has no array `events`"),
        ({"events": [3]}, "events.0: Expected `object`"),
        ({"events": [{}, {"llm": {"prompt_tokens": -1}}]}, "events.1.llm.prompt_tokens"),
        ({"events": [], "outcome": {"success": "yes"}}, "outcome.success: Expected `bool | null`"),
        ({"events": [], "outcome": {"success": 1}}, "outcome.success"),
        ({"events": [], "outcome": []}, "outcome: Expected `object`"),
    ],
)
def test_what_breaks_the_format_is_named_with_its_place(data: Any, problem: str) -> None:
    found = capture(data)
    assert found.counts is None
    assert found.success is None
    assert problem in str(found.problems[0])


def test_every_problem_of_a_file_is_named_but_not_without_end() -> None:
    assert len(capture({"events": [1, 2], "outcome": 3}).problems) == 3
    assert len(capture({"events": list(range(1000))}).problems) == 10


# Which files are taken


def test_the_parameter_capture_path_is_required() -> None:
    descriptor = read_descriptor(BUILTIN / "eliza_replay")
    (settings,) = settle([descriptor], {}, [descriptor])
    with pytest.raises(Incompatible, match="capture_path"):
        _ = open_benchmark(BenchmarkRef("benchmark", "eliza_replay", {"knobs": dict(settings.parameters)})).info


def test_a_path_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nowhere"):
        _ = opened(tmp_path / "nowhere").info


def test_a_folder_without_a_match_names_path_and_pattern(tmp_path: Path) -> None:
    write(tmp_path, a=CLEAN)
    with pytest.raises(UsageError) as caught:
        _ = opened(tmp_path, capture_glob="*.other.json").info
    assert str(tmp_path) in str(caught.value)
    assert "*.other.json" in str(caught.value)


@pytest.mark.parametrize("pattern", ["/etc/*", "../*", "a/../../*"])
def test_a_pattern_does_not_lead_out_of_the_folder(tmp_path: Path, pattern: str) -> None:
    with pytest.raises(UsageError, match="out of the folder"):
        _ = opened(tmp_path, capture_glob=pattern).info


def test_files_in_folders_inside_are_found_and_sorted(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "folder.replay.json").mkdir()
    write(tmp_path / "b", x=CLEAN)
    write(tmp_path, c=CLEAN, a=CLEAN)
    (tmp_path / "other.json").write_text("{}")
    assert [task.id for task in opened(tmp_path).tasks(Selection())] == [
        "a.replay.json",
        "b/x.replay.json",
        "c.replay.json",
    ]


def test_a_single_file_is_taken_whatever_its_name(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text(json.dumps(CLEAN))
    assert [task.id for task in opened(tmp_path / "one.txt").tasks(Selection())] == ["one.txt"]


def test_a_relative_path_is_found_in_the_folder_of_the_benchmark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert opened("captures").count(Selection()) == 4


def test_identity_covers_the_content_and_not_the_place(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
        write(tmp_path / name, x=CLEAN)
    before = opened(tmp_path / "a").info.digest
    assert opened(tmp_path / "b").info.digest == before
    write(tmp_path / "b", x={**CLEAN, "outcome": {"success": False}})
    assert opened(tmp_path / "b").info.digest != before
    assert str(tmp_path) not in json.dumps(msgspec.to_builtins(opened(tmp_path / "a").info))


# What a run shows


async def test_the_samples_that_come_along_are_scored_without_any_model(store: Store) -> None:
    found = await run(store, "captures")
    assert found.status is RunStatus.PARTIAL
    shown = metrics(found)
    rate = shown["score"]
    assert (rate.value, rate.n_scored, rate.n_planned) == (0.5, 2, 4)
    assert rate.missing == {"value_missing": 1, "value_unusable": 1}
    assert shown["malformed_files"].value == 1
    assert shown["files_without_outcome"].value == 1
    assert shown["avg_event_count"].value == pytest.approx(10 / 3)
    assert shown["avg_llm_event_count"].value == pytest.approx(4 / 3)
    assert shown["avg_tool_event_count"].value == 1.0
    assert shown["avg_decision_event_count"].value == pytest.approx(2 / 3)
    assert shown["avg_duration_ms"].value == pytest.approx((2500 + 4000 + 5000) / 3)
    assert shown["tool_error_rate"].value == 0.25
    assert shown["prompt_tokens"].value == 412 + 501 + 388 + 120
    assert shown["completion_tokens"].value == 38 + 27 + 41 + 9


async def test_every_file_is_an_episode_and_says_why_it_has_no_score(store: Store) -> None:
    found = await run(store, "captures")
    episodes = {episode.task_id: episode for episode in store.episodes.list(found.id).items}
    scores = {
        name: {score.name: score for score in episode.scores}["score"] for name, episode in sorted(episodes.items())
    }
    assert [score.value for score in scores.values()] == [1.0, None, 0.0, None]
    assert scores["unfinished.replay.json"].explanation == "the capture has no outcome.success"
    assert "outcome.success" in scores["broken.replay.json"].explanation
    assert "events.1" in scores["broken.replay.json"].explanation


async def test_the_events_of_a_capture_are_the_observations_of_its_episode(store: Store) -> None:
    found = await run(store, "captures")
    (booking,) = [one for one in store.episodes.list(found.id).items if one.task_id == "booking.replay.json"]
    seen = [event.payload["data"] for event in store.traces.events(booking.id) if event.kind is Kind.OBSERVATION]
    assert seen[0]["models"] == ["sample-large"]
    assert [event["kind"] for event in seen[1:]] == ["llm", "decision", "tool", "llm"]
    assert booking.steps == 4
    assert booking.usage.calls == 0


async def test_models_and_files_that_do_not_count_are_named(store: Store) -> None:
    heard = Heard()
    found = await run(store, "captures", heard)
    assert heard.notices == [
        "4 captures; models in their events: sample-large (1), sample-small (2)",
        "1 of 4 captures malformed, so without a score: broken.replay.json",
        "1 of 4 captures without an outcome, so without a score: unfinished.replay.json",
    ]
    assert found.info["card"]["models"] == ["sample-large", "sample-small"]


async def test_equal_files_are_episodes_of_their_own(store: Store, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    found = await run(store, write(tmp_path / "in", a=CLEAN, b=CLEAN))
    assert metrics(found)["score"].n_scored == 2


async def test_a_file_that_cannot_be_read_stays_in_the_count(store: Store, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    write(tmp_path / "in", a=CLEAN)
    (tmp_path / "in" / "gone.replay.json").symlink_to(tmp_path / "nothing")
    found = await run(store, tmp_path / "in")
    assert (metrics(found)["score"].n_scored, metrics(found)["score"].n_planned) == (1, 2)


async def test_a_capture_without_events_is_scored_by_its_outcome(store: Store, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    found = await run(store, write(tmp_path / "in", a={"events": [], "outcome": {"success": True}}))
    assert metrics(found)["score"].value == 1.0


async def test_a_file_that_changes_under_the_run_fails_alone(store: Store, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    write(tmp_path / "in", a=CLEAN, b={"events": [{"kind": "tool"}], "outcome": {"success": True}})

    class Meddler(Observer):
        def run_started(self, progress: object) -> None:
            write(tmp_path / "in", b={"events": [], "outcome": {"success": True}})

    found = await run(store, tmp_path / "in", Meddler())
    assert metrics(found)["score"].missing == {"environment_invalid": 1}
    assert metrics(found)["score"].value == 1.0


async def test_a_smaller_run_takes_some_of_the_captures(store: Store) -> None:
    benchmark = opened("captures")
    assert benchmark.count(Selection(count=2)) == 2
    assert len(list(benchmark.tasks(Selection(count=2)))) == 2
