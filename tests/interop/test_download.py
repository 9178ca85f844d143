"""A run as a folder of files."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from mesocosm.core.failure import UsageError
from mesocosm.core.run import Run
from mesocosm.interop.download import KINDS, write_download
from mesocosm.store import Store

if TYPE_CHECKING:
    from tests.interop.conftest import Evaluation


def read(path: Path) -> Any:
    return msgspec.json.decode(path.read_bytes())


def lines(path: Path) -> list[Any]:
    return [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]


def test_the_index_has_a_record_for_every_sample(evaluated: Run, store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "out"

    written = write_download(evaluated, store, folder, {"metrics"})

    assert set(written) == {"metrics.json", "progress.json", "index.jsonl", "summary.jsonl"}
    index = lines(folder / "index.jsonl")
    assert index[0] == {
        "row_index": 0,
        "run_index": 0,
        "rollout_id": "e-3-0",
        "status": "success",
        "source_row_index": 3,
        "reward": 1.0,
        "tokens": 110,
        "duration_ms": 1500,
        "error_type": None,
        "error": None,
    }
    assert [(one["row_index"], one["run_index"], one["status"]) for one in index[2:]] == [
        (2, 0, "failed"),
        (0, 1, "success"),
        (1, 1, "failed"),
        (2, 1, "skipped"),
    ]
    assert (index[4]["error_type"], index[4]["error"]) == ("grader_error", "grader_error of row 7")


def test_metrics_are_by_the_definitions_of_the_older_tool(evaluated: Run, store: Store, tmp_path: Path) -> None:
    write_download(evaluated, store, tmp_path / "out", {"metrics"})

    found = read(tmp_path / "out" / "metrics.json")
    summary = found["summary"]
    assert (found["eval_run"]["name"], found["eval_run"]["model_name"]) == ("first", "openai/m")
    names = ("total_samples", "completed_samples", "graded", "passed", "failed", "skipped")
    assert [summary[name] for name in names] == [6, 5, 3, 1, 2, 1]
    assert (summary["pass_rate"], summary["pass_threshold"], summary["tokens_used"]) == (0.2, 1.0, 660)
    assert summary["reward_stats"]["median"] == 0.5
    assert summary["score"] == pytest.approx(1.75 / 3)
    # Rows: 1 of 2 passed, 0 of 2, 0 of the one that was not skipped.
    assert [one["k"] for one in summary["pass_at_k"]] == [1, 2]
    assert [one["value"] for one in summary["pass_at_k"]] == [pytest.approx(0.5 / 3), 0.5]


def test_a_trajectory_has_a_step_for_each_message_and_answers_of_tools_in_the_step_that_called(
    evaluated: Run, store: Store, tmp_path: Path
) -> None:
    write_download(evaluated, store, tmp_path / "out", {"trajectories"})

    found = read(tmp_path / "out" / "trajectories" / "row_0_run_0.json")
    assert (found["schema_version"], found["session_id"], found["agent"]["model_name"]) == (
        "ATIF-v1.7",
        "e-3-0",
        "openai/m",
    )
    assert [(step["step_id"], step["source"]) for step in found["steps"]] == [
        (1, "system"),
        (2, "user"),
        (3, "agent"),
        (4, "agent"),
    ]
    called, answered = found["steps"][2:]
    assert called["tool_calls"] == [{"tool_call_id": "c1", "function_name": "add", "arguments": {"a": 1}}]
    assert called["observation"] == {"results": [{"source_call_id": "c1", "content": "2"}]}
    assert (answered["message"], answered["reasoning_content"]) == ("=row 3", "easy")
    # Two calls of the agent and two answers of it: each knows its cost.
    assert [step["metrics"]["prompt_tokens"] for step in found["steps"][2:]] == [50, 50]
    assert (found["final_metrics"]["total_steps"], found["final_metrics"]["total_prompt_tokens"]) == (4, 100)
    extra = found["extra"]["osmosis"]
    assert (extra["label"], extra["reward"], extra["sample_metrics"]) == ("2", 1.0, {"turns": 2.0})


async def test_unknown_roles_and_arguments_that_are_no_json_are_kept(
    evaluation: "Callable[..., Evaluation]", store: Store, tmp_path: Path
) -> None:
    from mesocosm.core.failure import Cause

    call = {"id": "c9", "function": {"name": "run", "arguments": "not json"}}
    partial = [
        {"role": "tool", "content": "too early"},
        {"role": "critic", "content": "hm"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "other", "content": "late"},
    ]
    made = evaluation()
    made.sample(0, 0, Cause.WORKFLOW_FAILED, terminal_info={"row": 3, "partial": partial})

    write_download(await made.write(), store, tmp_path / "out", {"trajectories"})

    steps = read(tmp_path / "out" / "trajectories" / "row_0_run_0.json")["steps"]
    assert [(step["source"], step.get("extra")) for step in steps] == [
        ("user", {"original_role": "tool"}),
        ("user", {"original_role": "critic"}),
        ("agent", None),
    ]
    assert steps[2]["tool_calls"][0]["arguments"] == {"_raw": "not json"}
    assert steps[2]["observation"]["results"] == [
        {"source_call_id": None, "content": "late", "extra": {"tool_call_id": "other"}}
    ]


def test_rows_are_by_their_place_in_the_dataset(evaluated: Run, store: Store, tmp_path: Path) -> None:
    written = write_download(evaluated, store, tmp_path / "out", {"trajectories", "samples", "logs"}, rows={7})

    names = [name for name in written if name.startswith("trajectories/")]
    assert names == ["trajectories/row_1_run_0.json", "trajectories/row_1_run_1.json"]
    assert [one["row_index"] for one in lines(tmp_path / "out" / "samples.jsonl")] == [7, 7]
    assert "working on 3" not in (tmp_path / "out" / "logs.txt").read_text()


def test_logs_say_what_was_printed_and_what_failed(evaluated: Run, store: Store, tmp_path: Path) -> None:
    write_download(evaluated, store, tmp_path / "out", {"logs"})

    text = (tmp_path / "out" / "logs.txt").read_text()
    assert "== row 3 run 0 success (e-3-0)\nstdout: working on 3\n" in text
    assert "workflow_timeout: workflow_timeout of row 11" in text


async def test_artifacts_are_copied_without_following_links(
    evaluation: "Callable[..., Evaluation]", store: Store, tmp_path: Path
) -> None:
    kept = tmp_path / "artifacts"
    (kept / "e-3-0" / "deep").mkdir(parents=True)
    (kept / "e-3-0" / "deep" / "plot.svg").write_text("<svg/>")
    (tmp_path / "secret").write_text("no")
    (kept / "e-3-0" / "link").symlink_to(tmp_path / "secret")
    made = evaluation(artifacts=str(kept))
    made.sample(0, 0, 1.0, terminal_info={"row": 3, "artifacts": "artifacts/e-3-0"})
    for trial, place in enumerate(["../../secret", "..", "artifacts/..", ".", ""]):
        made.sample(1, trial, 1.0, terminal_info={"row": 7, "artifacts": place})

    written = write_download(await made.write(), store, tmp_path / "out", {"artifacts"})

    assert written == ("artifacts/row_0_run_0/deep/plot.svg",)
    assert (tmp_path / "out" / written[0]).read_text() == "<svg/>"


def test_what_is_there_is_replaced_only_when_asked(evaluated: Run, store: Store, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "index.jsonl").write_text("mine")

    with pytest.raises(UsageError, match=r"has index\.jsonl already; --overwrite replaces"):
        write_download(evaluated, store, tmp_path / "out", set(KINDS))
    assert [entry.name for entry in (tmp_path / "out").iterdir()] == ["index.jsonl"]

    write_download(evaluated, store, tmp_path / "out", set(KINDS), overwrite=True)
    assert len(lines(tmp_path / "out" / "index.jsonl")) == 6


def test_a_kind_that_there_is_not_is_refused(evaluated: Run, store: Store, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no kind videos; choose of metrics"):
        write_download(evaluated, store, tmp_path / "out", {"videos"})
    assert not (tmp_path / "out").exists()


async def test_what_the_process_printed_stands_at_the_end_without_secrets(
    evaluation: "Callable[..., Evaluation]", store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANARY_API_KEY", "hunter2-hunter2-hunter2")
    (tmp_path / "process.log").write_text("ready\nkey is hunter2-hunter2-hunter2\n")
    made = evaluation(log=str(tmp_path / "process.log"))
    made.sample(0, 0, 1.0)

    write_download(await made.write(), store, tmp_path / "out", {"logs"})

    text = (tmp_path / "out" / "logs.txt").read_text()
    assert text.endswith("== output of the rollout's process\nready\nkey is [redacted]\n")
