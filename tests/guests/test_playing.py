"""Episodes that a guest plays by itself: recorded, scored, resumed, and never made up."""

import asyncio
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.guests.conftest import ADDER, HERE

import mesocosm as mc
from mesocosm.core.failure import EpisodeError, RunAborted, UsageError
from mesocosm.core.run import BenchmarkRef
from mesocosm.guests.opening import open_guest
from mesocosm.testing.fault import Fault
from mesocosm.testing.model_server import ModelServer


async def played(model: str, **params: Any) -> mc.Run:
    return await mc.aevaluate("adder:sums", model=model, params=params, progress=False)


def scored(run: mc.Run) -> int:
    """Return how many episodes have a value."""
    return 0 if run.score is None else run.score.n


def by_id(run: mc.Run) -> dict[str, mc.Episode]:
    return {episode.task: episode for episode in run.episodes()}


def events(run: mc.Run, kind: str) -> list[Any]:
    return [event.payload for episode in run.episodes() for event in episode.events if event.kind == kind]


async def test_each_task_is_an_episode_with_the_scores_of_the_framework(model: str) -> None:
    run = await played(model)
    assert [run.status, run.score, scored(run)] == ["finished", 1.0, 5]


async def test_model_calls_are_in_the_trace_of_their_episode(model: str, server: ModelServer) -> None:
    run = await played(model)
    assert server.served == 5
    assert [sum(event.kind == "model_call" for event in one.events) for one in run.episodes()] == [1] * 5


async def test_what_the_framework_tells_is_in_the_trace_without_the_token_of_the_episode(model: str) -> None:
    called = events(await played(model), "tool_call")
    assert [call["name"] for call in called] == ["sum"] * 5
    assert {call["token"] for call in called} == {"[redacted]"}


@pytest.mark.parametrize(
    ("names", "seen"), [("SEARCH_API_KEY", "[redacted]"), (["SEARCH_API_KEY"], "[redacted]"), ([], None)]
)
async def test_a_guest_sees_a_variable_that_is_named_and_its_value_is_not_recorded(
    model: str, names: object, seen: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEARCH_API_KEY", "search-0123456789abcdef")
    called = events(await played(model, pass_env=names), "tool_call")
    assert {call["search"] for call in called} == {seen}


async def test_a_variable_that_is_not_set_is_a_sentence(model: str) -> None:
    with pytest.raises(UsageError, match="pass_env names the variable SEARCH_API_KEY, which is not set here"):
        await played(model, pass_env="SEARCH_API_KEY")


async def test_a_task_that_raises_is_missing_and_no_zero(model: str) -> None:
    run = await played(model, fails=True)
    failed = by_id(run)["t3"]
    assert failed.score is None
    assert "no such sum" in failed.error
    assert [run.status, scored(run)] == ["partial", 4]


async def test_a_score_without_a_value_is_missing_with_its_cause(model: str) -> None:
    run = await played(model, unscored=True)
    assert run.missing == {"grader_error": 1}


@pytest.mark.parametrize(("limited", "status"), [("truncated", "truncated"), ("timeout", "timeout")])
async def test_a_limit_of_the_framework_ends_an_episode_with_its_score(model: str, limited: str, status: str) -> None:
    run = await played(model, limited=limited)
    ended = by_id(run)["t1"]
    assert [ended.status, ended.score] == [status, 0.0]


async def test_a_task_that_kills_its_guest_is_found_and_the_others_are_scored(model: str) -> None:
    run = await played(model, dies=True)
    killer = by_id(run)["t2"]
    assert killer.cause == "program_failed"
    assert [run.score, scored(run)] == [1.0, 4]


async def test_a_guest_that_dies_once_is_started_again_in_the_same_run(model: str, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    mark.touch()
    run = await played(model, dies_once=str(mark))
    assert [run.status, scored(run)] == ["finished", 5]


async def test_a_name_that_the_framework_does_not_know_is_a_sentence() -> None:
    with pytest.raises(UsageError, match="adder:nothing cannot be loaded: LookupError: there is no task called"):
        await mc.aevaluate("adder:nothing", model="builtin/empty")


async def test_a_guest_that_dies_while_loading_says_its_last_words() -> None:
    with pytest.raises(UsageError, match="was ended by signal 9"):
        await mc.aevaluate("adder:death", model="builtin/empty")


async def test_content_that_changes_before_a_restart_ends_the_run(tmp_path: Path) -> None:
    content = tmp_path / "content"
    content.write_text("a" * 32)
    benchmark = open_guest(ADDER, BenchmarkRef("adder", "sums", {"content": str(content)}))
    assert benchmark.info.digest == "a" * 32
    content.write_text("b" * 32)
    guest = await benchmark.ready()
    with pytest.raises(EpisodeError, match="was ended by signal 9"):
        await guest.ask("die")
    with pytest.raises(RunAborted, match="no longer what it was when the run began"):
        await benchmark.ready()
    await benchmark.close()


async def test_an_answer_of_many_megabytes_arrives(model: str) -> None:
    run = await mc.aevaluate("adder:sums", model=model, params={"spaces": 9_000_000}, limit=1, progress=False)
    assert run.score == 1.0


async def test_a_model_that_refuses_the_key_is_no_score() -> None:
    async with ModelServer("2", models=["adder"], faults=[Fault(status=401)] * 100) as refusing:
        run = await played(f"openai/adder@{refusing.openai_url}")
    assert [run.status, run.score, run.missing] == ["failed", None, {"not_run": 5}]


async def test_after_a_kill_of_this_program_no_finished_task_is_asked_again(
    model: str, server: ModelServer, tmp_path: Path
) -> None:
    script = tmp_path / "run.py"
    script.write_text(
        f"""
import os, signal, sys
sys.path.insert(0, {str(HERE.parent.parent)!r})
import mesocosm as mc
from mesocosm.core.registry import SOURCES
from mesocosm.guests.opening import open_guest
from tests.guests.conftest import ADDER
SOURCES.register("adder")(lambda ref: open_guest(ADDER, ref))
ended = []
def kill(episode):
    ended.append(episode)
    if len(ended) == 2 and "kill" in sys.argv:
        os.kill(os.getpid(), signal.SIGKILL)
run = mc.evaluate("adder:sums", model={model!r}, parallel=1, on_episode=kill, progress=False)
print(run.status, run.score.n)
"""
    )
    killed = await asyncio.create_subprocess_exec(sys.executable, str(script), "kill")
    assert await killed.wait() == -signal.SIGKILL
    before, (run,) = server.served, mc.runs()
    finished = sum(episode.score is not None for episode in run.episodes())
    assert finished >= 1
    again = await asyncio.create_subprocess_exec(sys.executable, str(script), stdout=asyncio.subprocess.PIPE)
    said, _ = await again.communicate()
    assert said.decode().split() == ["finished", "5"]
    assert server.served - before == 5 - finished
