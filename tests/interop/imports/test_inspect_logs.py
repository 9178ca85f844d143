"""Logs of Inspect become runs: identity, scores, causes, conversation; what is broken is said."""

import json
import math
from pathlib import Path

import pytest
from tests.interop.imports.conftest import Importing
from tests.interop.imports.foreign_files import (
    SECRET,
    inspect_header,
    inspect_sample,
    write_eval,
    write_inspect_json,
)

from mesocosm.core.episode import EpisodeStatus
from mesocosm.core.event import Kind
from mesocosm.core.failure import Cause, UsageError
from mesocosm.core.run import RunStatus
from mesocosm.engine.results import results
from mesocosm.interop.conversation import conversations
from mesocosm.interop.imports.inspect_file import json_header
from mesocosm.interop.imports.inspect_values import as_number, read_usage


@pytest.mark.parametrize(
    ("value", "number"),
    [("C", 1.0), ("I", 0.0), ("P", 0.5), ("N", 0.0), (True, 1.0), ("yes", 1.0), ("No", 0.0), ("2.5", 2.5), (3, 3.0)],
)
def test_values_are_those_of_inspect(value: object, number: float) -> None:
    assert as_number(value) == number


@pytest.mark.parametrize("value", [math.nan, None, "almost", "nan", [1]])
def test_what_has_no_number_is_never_zero(value: object) -> None:
    assert as_number(value) is None


@pytest.mark.parametrize("zstd", [False, True])
def test_a_sample_and_epoch_is_an_episode_of_its_task_and_trial(
    tmp_path: Path, importing: Importing, zstd: bool
) -> None:
    samples = [inspect_sample(number, epoch) for epoch in (1, 2) for number in range(3)]
    path = write_eval(tmp_path / "a.eval", samples, inspect_header(samples, epochs=2), zstd=zstd)
    (found,) = importing(path)
    assert [(one.task_id, one.trial) for one in found.episodes] == [
        (task, trial) for trial in (0, 1) for task in ("s0", "1", "s2")
    ]
    assert len({one.task_digest for one in found.episodes}) == 3
    metric = found.run.metrics[0]
    assert (metric.n_tasks, metric.n_scored, metric.n_planned) == (3, 6, 6)
    assert [one.k for one in results(found.run, found.store.episodes, found.run.metrics).passes] == [1, 2]


def test_both_formats_of_a_log_are_one_run(tmp_path: Path, importing: Importing) -> None:
    samples = [inspect_sample(number) for number in range(3)]
    (first,) = importing(write_eval(tmp_path / "a.eval", samples))
    (second,) = importing(write_inspect_json(tmp_path / "a.json", samples))
    assert (first.run.id, first.new, second.new) == (second.run.id, 3, 0)


def test_a_log_that_went_on_adds_what_is_new(tmp_path: Path, importing: Importing) -> None:
    samples = [inspect_sample(number) for number in range(4)]
    header = inspect_header(samples, status="cancelled", results=None)
    (first,) = importing(write_eval(tmp_path / "a.eval", samples[:2], header))
    assert (first.run.status, first.run.counts.done, first.run.counts.planned) == (RunStatus.STOPPED, 2, 4)
    (second,) = importing(write_eval(tmp_path / "a.eval", samples))
    assert (second.new, second.run.status, second.run.id) == (2, RunStatus.FINISHED, first.run.id)


def test_a_log_that_was_scored_again_is_refused(tmp_path: Path, importing: Importing) -> None:
    importing(write_eval(tmp_path / "a.eval", [inspect_sample(1, value="C")]))
    with pytest.raises(UsageError, match="scored here in another way"):
        importing(write_eval(tmp_path / "b.eval", [inspect_sample(1, value="I")]))


def test_numbers_are_computed_and_those_of_the_file_kept_beside(tmp_path: Path, importing: Importing) -> None:
    samples = [inspect_sample(number, value=value) for number, value in enumerate(["C", "I", "P", "N"])]
    (found,) = importing(write_eval(tmp_path / "a.eval", samples))
    assert found.values == {"match": 0.375}
    assert found.run.provenance["headline"] == {"match accuracy": 0.75}
    assert (found.run.metrics[0].low, found.run.metrics[0].primary) != (None, False)


def test_unscored_is_missing_and_never_zero(tmp_path: Path, importing: Importing) -> None:
    samples = [inspect_sample(0), inspect_sample(1, value=math.nan), inspect_sample(2, value="almost")]
    (found,) = importing(write_eval(tmp_path / "a.eval", samples))
    metric = found.run.metrics[0]
    assert (metric.value, metric.n_scored) == (1.0, 1)
    assert metric.missing == {Cause.VALUE_MISSING: 1, Cause.VALUE_UNUSABLE: 1}
    assert found.run.status is RunStatus.PARTIAL


def test_an_object_is_one_score_for_each_key(tmp_path: Path, importing: Importing) -> None:
    samples = [inspect_sample(number, value={"a": number, "b": bool(number)}) for number in range(2)]
    (found,) = importing(write_eval(tmp_path / "a.eval", samples))
    assert found.values == {"match.a": 0.5, "match.b": 0.5}


_SOLVING = 'File "/x/inspect_ai/solver/_plan.py", line 1, in __call__\n  File "/t.py", line 2, in solve\nValueError: no'
_TOOL = 'File "/x/inspect_ai/model/_call_tools.py", line 1, in call_tool\n  File "/t.py", line 2, in execute\nError: no'
_SENDING = (
    'File "/x/inspect_ai/solver/_plan.py", line 1, in f\n  File "/x/openai/_base_client.py", line 9, in request\n'
)
_SANDBOX = 'File "/x/inspect_ai/util/_sandbox/docker/docker.py", line 1, in exec\nTimeoutError'


@pytest.mark.parametrize(
    ("trace", "cause", "worst"),
    [
        (_SOLVING, Cause.AGENT_ERROR, True),
        (_TOOL, Cause.ENVIRONMENT_ERROR, False),
        (_SENDING, Cause.MODEL_UNAVAILABLE, False),
        (_SANDBOX, Cause.SANDBOX_FAILED, False),
        ("", Cause.ENVIRONMENT_ERROR, False),
    ],
)
def test_an_error_has_the_cause_of_where_it_was_raised(
    tmp_path: Path, importing: Importing, trace: str, cause: Cause, worst: bool
) -> None:
    error = {"message": "ValueError('no')", "traceback": trace, "traceback_ansi": trace}
    samples = [inspect_sample(0), inspect_sample(1, scores={}, error=error)]
    (found,) = importing(write_eval(tmp_path / "a.eval", samples))
    failed = found.episodes[1]
    assert failed.status is EpisodeStatus.FAILED
    assert failed.failure is not None
    assert (failed.failure.cause, failed.failure.message) == (cause, "ValueError('no')")
    assert (failed.scores[0].worst, failed.scores[0].missing) == (worst, None if worst else cause)


def test_an_error_while_scoring_is_the_graders(tmp_path: Path, importing: Importing) -> None:
    sample = inspect_sample(1, scores={}, error={"message": "no", "traceback": "", "traceback_ansi": ""})
    sample["events"].append({"event": "span_begin", "id": "x", "type": "scorers", "name": "scorers"})
    (found,) = importing(write_eval(tmp_path / "a.eval", [inspect_sample(0), sample]))
    assert found.episodes[1].scores[0].missing is Cause.GRADER_ERROR


@pytest.mark.parametrize(
    ("limit", "status", "reason"),
    [
        ("message", EpisodeStatus.TRUNCATED, "step_limit"),
        ("token", EpisodeStatus.TRUNCATED, "token_budget_exceeded"),
        ("context", EpisodeStatus.TRUNCATED, "context_overflow"),
        ("time", EpisodeStatus.TIMEOUT, "wall_time_limit"),
        ("of_tomorrow", EpisodeStatus.TRUNCATED, "step_limit"),
    ],
)
def test_a_limit_ends_an_episode_that_is_scored(
    tmp_path: Path, importing: Importing, limit: str, status: EpisodeStatus, reason: str
) -> None:
    (found,) = importing(write_eval(tmp_path / "a.eval", [inspect_sample(0, limit={"type": limit, "limit": 3.0})]))
    (episode,) = found.episodes
    assert (episode.status, episode.terminal_info["reason"], episode.scores[0].value) == (status, reason, 1.0)


def test_the_trace_has_messages_calls_and_tools_once(tmp_path: Path, importing: Importing) -> None:
    (found,) = importing(write_eval(tmp_path / "a.eval", [inspect_sample(2)]))
    (episode,) = found.episodes
    events = found.events(episode)
    assert [event.kind for event in events] == [
        Kind.EPISODE_START,
        Kind.MESSAGE,
        Kind.MODEL_CALL,
        Kind.TOOL_CALL,
        Kind.MESSAGE,
        Kind.MESSAGE,
        Kind.MODEL_CALL,
        Kind.MESSAGE,
        Kind.EPISODE_END,
    ]
    assert events[1].payload["content"].startswith("What is 2 + 1?")
    assert events[3].payload == {"id": "c2", "name": "add", "arguments": {"x": 2}, "result": "3"}
    assert events[6].payload["messages"] == [[0, 2]]
    (pair,) = conversations(found.store, found.run.id)
    assert [said["role"] for said in pair[1].messages(episode)] == ["user", "assistant", "tool", "assistant"]
    assert (episode.usage.prompt, episode.usage.completion, episode.usage.calls) == (10, 4, 2)
    assert (episode.answer, episode.target, episode.labels) == ("3", "3", {"level": "easy"})


def test_a_call_of_a_scorers_model_is_a_judges(tmp_path: Path, importing: Importing) -> None:
    sample = inspect_sample(2)
    begin = {"event": "span_begin", "id": "x", "type": "scorer", "name": "scorer"}
    sample["events"] += [begin, {**sample["events"][1], "model": "mockllm/judge"}]
    (found,) = importing(write_eval(tmp_path / "a.eval", [sample]))
    calls = [event.payload for event in found.events(found.episodes[0]) if event.kind is Kind.MODEL_CALL]
    assert [call.get("role") for call in calls] == [None, None, "judge"]
    assert found.episodes[0].steps == 2


def test_a_secret_in_a_log_is_not_stored(tmp_path: Path, importing: Importing) -> None:
    sample = inspect_sample(1, store={"key": SECRET}, error={"message": SECRET, "traceback": ""}, scores={})
    sample["attachments"]["abc123"] += SECRET
    (found,) = importing(write_eval(tmp_path / "a.eval", [sample, inspect_sample(2)]))
    stored = b"".join(chunk.raw for one in found.episodes for chunk in found.store.traces.chunks(one.id))
    stored += b"".join(blob.data for blob in found.store.blobs.of_run(found.run.id))
    assert SECRET.encode() not in stored
    assert b"[redacted]" in stored


def test_equal_samples_are_different_tasks(tmp_path: Path, importing: Importing) -> None:
    samples = [{**inspect_sample(2), "id": name} for name in ("b", "a")]
    (found,) = importing(write_eval(tmp_path / "a.eval", samples))
    by_id = {one.task_id: one.task_digest for one in found.episodes}
    assert by_id["a"] != by_id["b"]
    (other,) = importing(
        write_eval(
            tmp_path / "b.eval",
            samples[::-1],
            inspect_header(samples) | {"eval": {**inspect_header(samples)["eval"], "eval_id": "E2"}},
        )
    )
    assert {one.task_id: one.task_digest for one in other.episodes} == by_id


def test_a_listed_sample_that_is_not_there_is_said(tmp_path: Path, importing: Importing) -> None:
    samples = [inspect_sample(number) for number in range(3)]
    (found,) = importing(write_eval(tmp_path / "a.eval", samples[:2], inspect_header(samples), listed=samples))
    assert "s2 (epoch 1)" in found.run.warnings[0]
    assert found.run.status is RunStatus.STOPPED


def test_a_log_without_samples_is_refused(tmp_path: Path, importing: Importing) -> None:
    with pytest.raises(UsageError, match="without samples"):
        importing(write_eval(tmp_path / "a.eval", [], inspect_header([inspect_sample(0)])))


def test_a_log_that_goes_on_is_read_by_its_journal(tmp_path: Path, importing: Importing) -> None:
    import zipfile

    header = inspect_header([inspect_sample(0), inspect_sample(1)])
    path = tmp_path / "a.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "_journal/start.json", json.dumps({name: header[name] for name in ("version", "eval", "plan")})
        )
        archive.writestr("samples/s0_epoch_1.json", json.dumps(inspect_sample(0)))
    (found,) = importing(path)
    assert (found.run.status, found.run.counts.done, found.run.counts.planned) == (RunStatus.STOPPED, 1, 2)


def test_a_damaged_member_is_named_and_nothing_is_stored(tmp_path: Path, importing: Importing) -> None:
    path = write_eval(tmp_path / "a.eval", [inspect_sample(0), inspect_sample(1)], zstd=True)
    data = bytearray(path.read_bytes())
    place = data.index(b"samples/1_epoch_1.json") + 200
    data[place] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(UsageError, match=r"samples/1_epoch_1.json.*nothing was imported"):
        importing(path)


def test_a_newer_version_is_refused(tmp_path: Path, importing: Importing) -> None:
    with pytest.raises(UsageError, match="version 3"):
        importing(write_eval(tmp_path / "a.eval", [inspect_sample(0)], {**inspect_header([]), "version": 3}))


def test_the_header_of_a_json_log_is_read_without_its_samples(tmp_path: Path) -> None:
    path = write_inspect_json(tmp_path / "a.json", [inspect_sample(0)])
    path.write_text(path.read_text()[: path.read_text().index('"samples": [') + 30])
    header = json_header(path)
    assert header["eval"]["task"] == "sums"
    assert "samples" not in header


@pytest.mark.parametrize(
    ("given", "prompt"),
    [
        ({"input_tokens": 5, "output_tokens": 2, "total_tokens": 10, "input_tokens_cache_read": 3}, 8),
        ({"input_tokens": 5, "output_tokens": 2, "total_tokens": 7, "input_tokens_cache_read": 3}, 5),
    ],
)
def test_cached_tokens_are_a_part_of_the_prompt(given: dict[str, int], prompt: int) -> None:
    usage = read_usage(given)
    assert (usage.prompt, usage.cached, usage.cost_usd) == (prompt, 3, None)
