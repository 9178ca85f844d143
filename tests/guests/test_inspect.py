"""Tasks of Inspect, played by the real Inspect in its own interpreter."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.guests.conftest import HERE

import mesocosm as mc
from mesocosm.core.failure import Incompatible, RunAborted, UsageError
from mesocosm.testing.dialect import ScriptedAnswer
from mesocosm.testing.fault import Fault
from mesocosm.testing.model_server import ModelServer

GUESTS = os.environ.get("MESOCOSM_TEST_GUESTS", "")
PYTHON = str(Path(GUESTS).absolute() / "inspect" / "bin" / "python")
TASKS = str(HERE / "inspect_parts" / "tasks.py")
OWN = str(HERE / "inspect_parts" / "own.py")
pytestmark = pytest.mark.skipif(
    not GUESTS or not Path(PYTHON).exists(),
    reason="MESOCOSM_TEST_GUESTS names no folder with a Python that has Inspect",
)


def reply(body: dict[str, Any]) -> ScriptedAnswer | str:
    """Answer by the content of the request alone, so that two runners get the same replies."""
    last = body["messages"][-1]
    text = str(last["content"])
    if "GRADE:" in text:
        return "GRADE: C" if "What is 1 + 1" in text else "GRADE: I"
    if last["role"] == "tool":
        return f"The answer is {text}"
    number = int(text.partition("What is ")[2].partition(" ")[0]) if "What is" in text else 0
    if any(tool["function"]["name"] == "add" for tool in body.get("tools") or ()):
        return ScriptedAnswer("", tool_calls=(("add", {"x": number, "y": 1}),), finish_reason="tool_calls")
    return str(number + 1) if number % 3 else "wrong"


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer(reply, models=["adder"]) as running:
        yield running


async def played(model: str, name: str, trials: int = 1, **params: Any) -> mc.Run:
    what = f"inspect:{TASKS}@{name}" if "/" not in name else f"inspect:{name}"
    return await mc.aevaluate(what, model=model, trials=trials, params={"python": PYTHON, **params}, progress=False)


def scores(run: mc.Run) -> dict[str, dict[str, Any]]:
    """Return the values of the scores by task and trial, as the guest told them."""
    found = {}
    for episode in run.episodes():
        ended = next(event.payload for event in episode.events if event.kind == "step_result")
        found[f"{episode.task}/{episode.trial + 1}"] = {one["name"]: one["value"] for one in ended["info"]["scores"]}
    return found


async def own(base_url: str, source: str, limit: int = 0, epochs: int = 1) -> dict[str, dict[str, Any]]:
    """Return what Inspect's own runner gives, as numbers by task and epoch, objects by their keys."""
    command = [PYTHON, OWN, base_url, source, str(limit), str(epochs)]
    program = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    said, _ = await program.communicate()
    told = json.loads(said.decode().strip().rpartition("\n")[2])["scores"]
    numbers = {"C": 1.0, "I": 0.0}
    found: dict[str, dict[str, Any]] = {}
    for sample, given in told.items():
        found[sample] = {}
        for name, value in given.items():
            for key, part in value.items() if isinstance(value, dict) else [("", value)]:
                read: Any = numbers.get(part, part)
                found[sample][f"{name}.{key}" if key else name] = float(read)
    return found


@pytest.mark.parametrize("name", ["sums", "judged", "measured", "limited"])
async def test_scores_are_those_of_inspects_own_runner(name: str, model: str, server: ModelServer) -> None:
    run = await played(model, name)
    assert scores(run) == await own(server.openai_url, f"{TASKS}@{name}")


async def test_trials_are_epochs(model: str, server: ModelServer) -> None:
    run = await played(model, "sums", trials=3, count=2)
    assert scores(run).keys() == {f"{sample}/{epoch}" for sample in (1, 2) for epoch in (1, 2, 3)}


async def test_each_sample_has_its_own_calls_and_tools_in_its_trace(model: str, server: ModelServer) -> None:
    run = await played(model, "sums", count=4)
    kinds = [[str(event.kind) for event in episode.events] for episode in run.episodes()]
    assert [(one.count("model_call"), one.count("tool_call")) for one in kinds] == [(2, 1)] * 4
    assert server.served == 8
    third = next(episode for episode in run.episodes() if episode.task == "3")
    assert "What is 2 + 1?" in str(next(event.payload for event in third.events if event.kind == "observation"))


async def test_metadata_with_few_values_groups_the_results(model: str) -> None:
    run = await played(model, "sums", count=4, tools=False)
    assert {episode.labels.get("parity") for episode in run.episodes()} == {"even", "odd"}


async def test_scores_that_are_no_numbers_are_missing_with_their_causes(model: str) -> None:
    run = await played(model, "troubled_scores")
    told = {}
    for episode in run.episodes():
        ended = next(event.payload for event in episode.events if event.kind == "step_result")
        told[episode.task] = {one["name"]: one["value"] or one["missing"] for one in ended["info"]["scores"]}
    assert [told[str(n)]["troubled_scorer"] for n in range(1, 6)] == [
        "value_missing",
        "value_unusable",
        "grader_error",
        "value_missing",
        1.0,
    ]
    assert told["2"]["includes"] == 1.0


async def test_a_solver_that_raises_is_missing_and_no_zero(model: str) -> None:
    run = await played(model, "troubled_solving")
    failed = next(episode for episode in run.episodes() if episode.task == "2")
    assert [failed.score, failed.cause] == [None, "program_failed"]
    assert "this solver is out of order" in failed.error


async def test_a_limit_of_inspect_truncates_and_is_scored(model: str) -> None:
    run = await played(model, "limited")
    assert {(episode.status, episode.score) for episode in run.episodes()} == {("truncated", 0.0)}


async def test_stop_sequences_of_a_task_reach_the_model(model: str, server: ModelServer) -> None:
    await played(model, "stopped")
    sent = server.calls[-1].body
    assert [sent["stop"], sent["seed"], sent["model"]] == [["END"], 7, "adder"]


async def test_a_role_without_a_model_of_its_own_is_the_model_of_the_run(model: str, server: ModelServer) -> None:
    run = await played(model, "with_roles")
    assert [run.status, server.served] == ["finished", 2]


async def test_graders_ask_the_judge(model: str, server: ModelServer) -> None:
    async with ModelServer("GRADE: C", models=["judge"]) as judge:
        run = await mc.aevaluate(
            f"inspect:{TASKS}@judged",
            model=model,
            judge=f"openai/judge@{judge.openai_url}",
            params={"python": PYTHON},
            progress=False,
        )
        assert [run.score, judge.served, server.served] == [1.0, 4, 4]


async def test_a_judge_that_is_away_gives_no_score(model: str, server: ModelServer) -> None:
    async with ModelServer("GRADE: C", models=["judge"], faults=[Fault(status=400)] * 1000) as judge:
        run = await mc.aevaluate(
            f"inspect:{TASKS}@judged",
            model=model,
            judge=f"openai/judge@{judge.openai_url}",
            params={"python": PYTHON},
            progress=False,
        )
    assert [run.score, run.status] == [None, "stopped"]


async def test_a_model_that_is_busy_is_asked_again_and_costs_no_sample() -> None:
    busy = [Fault(status=429, retry_after="0") if n % 2 else None for n in range(12)]
    async with ModelServer(reply, models=["adder"], faults=busy) as storming:
        run = await played(f"openai/adder@{storming.openai_url}", "sums", count=4, tools=False)
    assert [run.status, len(scores(run))] == ["finished", 4]


async def test_a_wrong_key_is_no_score() -> None:
    async with ModelServer(reply, models=["adder"], key="sk-another") as refusing:
        with pytest.raises(RunAborted, match="check the key"):
            await played(f"openai/adder@{refusing.openai_url}", "sums")


async def test_docker_that_is_not_here_is_refused_before_any_call(
    model: str, server: ModelServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Incompatible, match="docker"):
        await played(model, "sandboxed")
    assert server.served == 0


async def test_a_sandbox_can_be_local(model: str) -> None:
    run = await played(model, "sandboxed", sandbox="local")
    assert run.score == 1.0
    logs = [event.payload for episode in run.episodes() for event in episode.events if event.kind == "log"]
    assert any(log.get("stream") == "sandbox" for log in logs)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (f"{TASKS}@sum", "there is no task 'sum' in"),
        ("inspect_evals/tau2_airlin", "did you mean inspect_evals/tau2_airline"),
        ("nowhere.py@x", "there is no file nowhere.py"),
    ],
)
async def test_an_unknown_task_is_one_sentence(source: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        await mc.aevaluate(f"inspect:{source}", model="builtin/empty", params={"python": PYTHON})
    assert "Traceback" not in str(caught.value)


async def test_an_unknown_parameter_is_one_sentence() -> None:
    with pytest.raises(UsageError, match="it has no parameter 'cuont'; its parameters are: count, tools"):
        await played("builtin/empty", "sums", cuont=3)


async def test_after_kills_of_both_processes_no_finished_sample_is_asked_again(
    model: str, server: ModelServer, tmp_path: Path
) -> None:
    script = tmp_path / "run.py"
    script.write_text(
        f"""
import os, signal, sys
import mesocosm as mc
ended = []
def kill(episode):
    ended.append(episode)
    if len(ended) == 3 and "kill" in sys.argv:
        os.kill(os.getpid(), signal.SIGKILL)
run = mc.evaluate("inspect:{TASKS}@sums", model={model!r}, parallel=1, on_episode=kill, progress=False,
    params={{"python": {PYTHON!r}, "tools": False}})
print(run.status, sum(1 for one in run.episodes() if one.score is not None))
"""
    )
    killed = await asyncio.create_subprocess_exec(sys.executable, str(script), "kill")
    assert await killed.wait() == -signal.SIGKILL
    again = await asyncio.create_subprocess_exec(sys.executable, str(script), stdout=asyncio.subprocess.PIPE)
    said, _ = await again.communicate()
    assert said.decode().split() == ["finished", "6"]
    # Six samples, and at most the one that was in flight a second time.
    assert server.served in {6, 7}


EVALS = ("agent_threat_bench_autonomy_hijack", "persistbench_cross_domain", "make_me_pay")


@pytest.mark.parametrize("name", EVALS)
async def test_published_evals_give_the_scores_of_inspects_own_runner(
    name: str, model: str, server: ModelServer
) -> None:
    server.answer = published_reply
    run = await mc.aevaluate(
        f"inspect:inspect_evals/{name}", model=model, limit=4, params={"python": PYTHON}, progress=False
    )
    assert scores(run) == await own(server.openai_url, f"inspect_evals/{name}", limit=4)


def published_reply(body: dict[str, Any]) -> str:
    """Answer as a judge where one is asked, else end every conversation."""
    whole = json.dumps(body["messages"])
    grade = {name: len(whole) % 3 + 1 for name in ("score", "failure_score", "rating")}
    return json.dumps({"reasoning": "by its length", **grade}) if '\\"reasoning\\"' in whole else "###STOP###"
