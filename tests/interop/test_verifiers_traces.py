"""Runs as `traces.jsonl` of verifiers, written and read."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from mesocosm.core.episode import EpisodeStatus
from mesocosm.core.failure import Cause, UsageError
from mesocosm.core.redact import Redactor
from mesocosm.core.run import Run
from mesocosm.interop.imports.assembly import ImportedRun
from mesocosm.interop.imports.recognition import recognise
from mesocosm.interop.imports.verifiers_file import read_verifiers
from mesocosm.interop.verifiers_traces import write_traces
from mesocosm.store import Store

JSON = dict[str, Any]


def node(parent: int | None, role: str, content: str, **more: Any) -> JSON:
    message = {"role": role, "content": content, **more}
    return {"parent": parent, "message": message, "sampled": role == "assistant", "timestamp": 5.0}


def trace(name: str = "agent", **given: Any) -> JSON:
    nodes = [
        node(None, "user", "1 + 1?"),
        node(0, "assistant", "2"),
        node(1, "user", "sure?"),
        node(2, "assistant", "yes"),
    ]
    usage = {"prompt_tokens": 10, "completion_tokens": 2, "cached_input_tokens": 4}
    made: JSON = {
        "nodes": nodes,
        "calls": [
            {"node": place, "model": "m", "usage": usage, "time": {"start": 4.0, "end": 5.0}} for place in (1, 3)
        ],
        "rewards": {"right": {"score": 1.0, "weight": 2.0}, "long": {"score": 0.5, "weight": -1.0}},
        "metrics": {"length": 3.0},
        "ok": True,
        "errors": [],
        "stop_condition": "agent_completed",
        "timing": {"start": 3.0, "agent": {"start": 3.0, "end": 6.0}},
    }
    config = {"harness": {"id": "null"}, "model": "openai/m", "sampling": {"temperature": 0.5}}
    agent = {"name": name, "trainable": given.pop("trainable", True), "config": config}
    return {**made, **given, "agent": agent}


def episode(*traces: JSON, idx: int = 0, **given: Any) -> JSON:
    data = {"idx": idx, "prompt": "1 + 1?", "system_prompt": "Be exact.", "answer": "2"}
    return {
        "id": f"e{idx}",
        "env": {"id": "sums"},
        "task": {"type": "SumTask", "data": data, "key": f"sum-{idx}", "hash": "h"},
        "ok": all(one["ok"] for one in traces),
        "errors": [],
        "traces": list(traces),
        **given,
    }


def written(folder: Path, *episodes: JSON) -> Path:
    path = folder / "traces.jsonl"
    path.write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in episodes))
    return path


def read(folder: Path, *episodes: JSON) -> ImportedRun:
    (run,) = read_verifiers(written(folder, *episodes), Redactor(()))
    return run


def scores(run: ImportedRun, place: int = 0) -> JSON:
    found = run.episodes[place].scores
    return {one.name: one.value if one.missing is None else str(one.missing) for one in found}


def test_such_a_file_is_recognised(tmp_path: Path) -> None:
    assert recognise(written(tmp_path, episode(trace()))).form == "verifiers"


def test_an_episode_keeps_its_scores_task_and_usage(tmp_path: Path) -> None:
    run = read(tmp_path, episode(trace()))

    assert (run.run.benchmark, run.run.model, run.run.agent) == ("verifiers/sums", "openai/m", "null")
    assert scores(run) == {"reward": 1.5, "right": 1.0, "long": 0.5, "length": 3.0}
    (entry,) = run.entries()
    assert (entry.episode.task_id, entry.episode.target, entry.episode.answer) == ("sum-0", "2", "yes")
    assert (entry.episode.usage.prompt, entry.episode.usage.cached, entry.episode.usage.calls) == (28, 8, 2)


def test_what_was_not_scored_is_missing(tmp_path: Path) -> None:
    run = read(tmp_path, episode(trace(rewards={"right": None, "long": {"score": 1.0, "weight": 1.0}})))

    assert scores(run)["reward"] == scores(run)["right"] == "value_missing"
    assert scores(run)["long"] == 1.0


def test_a_failed_grader_leaves_the_episode_completed(tmp_path: Path) -> None:
    errors = [{"type": "TaskError", "message": "scoring"}]
    timing = {"start": 3.0, "scoring": {"start": 6.0, "end": 7.0}}

    run = read(tmp_path, episode(trace(ok=False, errors=errors, timing=timing, rewards={"right": None})))

    assert run.episodes[0].status is EpisodeStatus.COMPLETED
    assert scores(run)["reward"] == "grader_error"


def test_a_failed_model_is_a_failure_and_no_score(tmp_path: Path) -> None:
    errors = [{"type": "ProviderError", "message": "upstream 503"}]

    run = read(tmp_path, episode(trace(ok=False, errors=errors, rewards={"game": {"score": 0.0, "weight": 1.0}})))

    (failed,) = run.episodes
    assert failed.failure is not None
    assert (failed.status, failed.failure.cause) == (EpisodeStatus.FAILED, Cause.MODEL_UNAVAILABLE)
    assert scores(run)["reward"] == "model_unavailable"


def test_episodes_of_one_task_are_its_trials(tmp_path: Path) -> None:
    run = read(tmp_path, episode(trace()), {**episode(trace()), "id": "again"})

    assert [(one.task_id, one.trial) for one in run.episodes] == [("sum-0", 0), ("sum-0", 1)]


def test_several_agents_have_scores_of_their_own(tmp_path: Path) -> None:
    other = trace("b", trainable=False, rewards={"right": {"score": 0.0, "weight": 1.0}}, metrics={})

    found = scores(read(tmp_path, episode(trace("a"), other)))

    assert (found["reward"], found["a.reward"], found["b.reward"], found["b.right"]) == (1.5, 1.5, 0.0, 0.0)


@pytest.mark.parametrize("line", [b'{"id": "e1", "traces": [{"nodes"', b'{"id": "e1", "traces": []}', b"[]"])
def test_a_line_that_is_no_episode_is_named(tmp_path: Path, line: bytes) -> None:
    path = written(tmp_path, episode(trace()))
    path.write_bytes(path.read_bytes() + line)

    with pytest.raises(UsageError, match="line 2"):
        list(read_verifiers(path, Redactor(())))


def test_messages_in_a_circle_are_refused(tmp_path: Path) -> None:
    nodes = [node(1, "user", "a"), node(0, "assistant", "b")]

    with pytest.raises(UsageError, match="circle"):
        read(tmp_path, episode(trace(nodes=nodes, calls=[])))


def test_what_is_read_is_written_as_it_was(tmp_path: Path, store: Store) -> None:
    given = [episode(trace("a"), trace("b", trainable=False)), episode(trace("a"), trace("b"), idx=1)]
    run = read(tmp_path, *given)
    store.bundles.insert(run.run, run.entries(), run.blobs)

    assert write_traces(store.runs.get(run.run.id), store, tmp_path / "again.jsonl") == 2

    for one, line in zip(given, (tmp_path / "again.jsonl").read_bytes().splitlines(), strict=True):
        again = msgspec.json.decode(line)
        for before, after in zip(one["traces"], again["traces"], strict=True):
            assert (after["agent"]["name"], after["agent"]["trainable"]) == (
                before["agent"]["name"],
                before["agent"]["trainable"],
            )
            assert [(n["parent"], n["message"], n["sampled"]) for n in after["nodes"]] == [
                (n["parent"], n["message"], n["sampled"]) for n in before["nodes"]
            ]
            assert (after["rewards"], after["metrics"]) == (before["rewards"], before["metrics"])
            assert [call["node"] for call in after["calls"]] == [1, 3]
        assert (again["task"]["key"], again["task"]["data"]["answer"]) == (one["task"]["key"], "2")


def test_a_run_of_rows_is_written_too(evaluated: Run, store: Store, tmp_path: Path) -> None:
    count = write_traces(evaluated, store, tmp_path / "traces.jsonl")

    lines = [msgspec.json.decode(line) for line in (tmp_path / "traces.jsonl").read_bytes().splitlines()]
    assert len(lines) == count > 0
    first = lines[0]["traces"][0]
    assert [one["message"]["role"] for one in first["nodes"]] == ["system", "user", "assistant", "tool", "assistant"]
    assert [one["sampled"] for one in first["nodes"]] == [False, False, True, False, True]
    assert first["rewards"] == {"reward": {"score": 1.0, "weight": 1.0}}
    assert first["nodes"][2]["message"]["tool_calls"] == [{"id": "c1", "name": "add", "arguments": '{"a":1}'}]
    failed = next(one for one in lines if not one["ok"])
    assert failed["errors"][0]["type"] == "workflow_timeout"
