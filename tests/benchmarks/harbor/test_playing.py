"""Task folders played in real containers, without images."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.benchmarks.harbor.playing import ODD, TASKS, episodes, played, rewards, said, trace

from mesocosm.core.run import Limits, Run, RunStatus
from mesocosm.sandboxes.bubblewrap import available
from mesocosm.sandboxes.containers.bubblewrap import BubblewrapContainers
from mesocosm.store import Store, open_store
from mesocosm.store.lease_owner import this_process
from mesocosm.testing.dialect import ScriptedAnswer
from mesocosm.testing.fault import Fault
from mesocosm.testing.model_server import ModelServer

pytestmark = pytest.mark.skipif(not available(), reason="there is no bubblewrap")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "results.sqlite")
    yield opened
    opened.close()


class PlayedOnce(NamedTuple):
    """A run of all ten tasks that several tests look at."""

    store: Store
    run: Run


def once(place: Path, folder: Path, agent: str) -> Iterator[PlayedOnce]:
    opened = open_store(place / "results.sqlite")
    yield PlayedOnce(opened, asyncio.run(played(opened, folder, agent)))
    opened.close()


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlayedOnce]:
    yield from once(tmp_path_factory.mktemp("oracle"), TASKS, "oracle")


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlayedOnce]:
    yield from once(tmp_path_factory.mktemp("odd"), ODD, "oracle")


def solution(instruction: str) -> str:
    """Return the script that solves the task with this instruction."""
    for place in [*TASKS.glob("*/instruction.md"), *TASKS.glob("*/steps/*/instruction.md")]:
        if place.read_text().endswith(instruction):
            return (place.parent / "solution" / "solve.sh").read_text()
    return (TASKS / "terminal-bench-1" / "solution.sh").read_text()


def solving(body: dict[str, Any]) -> ScriptedAnswer:
    """Answer like a model that solves a task in one call, and then says that it has."""
    last = body["messages"][-1]
    if last["role"] == "user":
        return ScriptedAnswer("", tool_calls=(("bash", {"command": solution(last["content"])}),))
    return ScriptedAnswer("I am done.")


def one_task(place: Path, name: str, **files: str) -> Path:
    """Copy a task, with other files in it."""
    shutil.copytree(TASKS / name, place / name)
    for path, text in files.items():
        (place / name / path.replace("__", "/").replace("_", ".")).write_text(text)
    return place / name


def test_the_oracle_earns_everything(oracle: PlayedOnce) -> None:
    assert set(rewards(*oracle).values()) == {1.0}
    assert len(rewards(*oracle)) == 10
    assert oracle.run.primary is not None
    assert oracle.run.primary.value == 1.0


async def test_nobody_earns_nothing(store: Store) -> None:
    run = await played(store, TASKS, "nop")
    assert set(rewards(store, run).values()) == {0.0}
    assert len(rewards(store, run)) == 10


def test_no_container_is_left(oracle: PlayedOnce) -> None:
    del oracle
    found = asyncio.run(BubblewrapContainers(this_process()).leases())
    assert [lease for lease in found if lease.owner == this_process()] == []


def test_every_command_is_in_the_trace_with_code_and_output(oracle: PlayedOnce) -> None:
    (setup,) = said(*oracle, "workdir-env", "setup")
    (agent,) = said(*oracle, "workdir-env", "agent")
    (verifier,) = said(*oracle, "workdir-env", "verifier")
    assert setup.startswith("$ test -f /srv/work/there\n")
    assert agent.startswith("$ /solution/solve.sh\n")
    assert verifier.startswith("$ /tests/test.sh\n")
    assert all("[exit code 0, " in line for line in (setup, agent, verifier))


def test_further_rewards_are_scores(oracle: PlayedOnce) -> None:
    scores = {score.name: score.value for score in episodes(*oracle)["two-rewards"].scores}
    assert scores == {"reward": 1.0, "style": 1.0}


def test_the_only_reward_of_an_object_ranks_by_whatever_name(oracle: PlayedOnce) -> None:
    scores = {score.name: score.value for score in episodes(*oracle)["json-reward"].scores}
    assert scores == {"reward": 1.0, "share": 1.0}


def test_steps_are_told_one_by_one(oracle: PlayedOnce) -> None:
    steps = episodes(*oracle)["steps"].terminal_info["steps"]
    assert steps == [{"name": name, "rewards": {"reward": 1.0}} for name in ("first", "second")]


def test_no_usable_reward_is_missing_with_a_cause_and_never_0(odd: PlayedOnce) -> None:
    found = rewards(*odd)
    assert found["verifier-crash"] == found["not-finite"] == "grader_error"
    assert found["verifier-late"] == "grader_timeout"


def test_a_missing_reward_says_why(odd: PlayedOnce) -> None:
    (score,) = episodes(*odd)["verifier-crash"].scores
    assert score.explanation == "the verifier wrote neither reward.json nor reward.txt; test.sh ended with exit code 3"
    assert any("the tests are broken" in line for line in said(*odd, "verifier-crash", "verifier"))


def test_what_a_late_agent_has_left_is_verified(odd: PlayedOnce) -> None:
    assert rewards(*odd)["agent-late"] == 0.5
    assert episodes(*odd)["agent-late"].terminal_info["agent_late"] is True


async def test_a_step_below_its_least_reward_is_the_last(store: Store, tmp_path: Path) -> None:
    folder = one_task(tmp_path, "steps", steps__first__solution__solve_sh="#!/bin/sh\ntrue\n")
    run = await played(store, folder, "oracle")
    facts = episodes(store, run)["steps"].terminal_info
    assert facts["stopped"] == "step first: reward is 0.0, below its min_reward of 0.5"
    assert [one["name"] for one in facts["steps"]] == ["first"]
    assert rewards(store, run) == {"steps": 0.0}


async def test_a_model_works_with_bash_and_its_calls_are_recorded(store: Store) -> None:
    async with ModelServer(solving) as server:
        run = await played(store, TASKS, "bash", f"openai/solver@{server.openai_url}")
        calls = server.served
    assert set(rewards(store, run).values()) == {1.0}
    assert calls == 9 * 2 + 4
    episode = episodes(store, run)["file-answer"]
    assert (episode.usage.calls, episode.status) == (2, "completed")
    recorded = trace(store, run, "file-answer")
    assert "echo hello > /app/hello.txt" in recorded
    assert "I am done." in recorded


async def test_the_model_is_told_output_and_exit_code(store: Store) -> None:
    heard: list[str] = []

    def answer(body: dict[str, Any]) -> ScriptedAnswer:
        last = body["messages"][-1]
        if last["role"] == "user":
            return ScriptedAnswer("", tool_calls=(("bash", {"command": "echo out; echo err >&2; exit 3"}),))
        heard.append(last["content"])
        return ScriptedAnswer("done")

    async with ModelServer(answer) as server:
        await played(store, TASKS / "file-answer", "bash", f"openai/solver@{server.openai_url}")
    assert heard == ["out\nerr\n[exit code 3]"]


async def test_a_call_without_a_command_is_answered_with_what_is_wanted(store: Store) -> None:
    heard: list[str] = []

    def answer(body: dict[str, Any]) -> ScriptedAnswer:
        last = body["messages"][-1]
        if last["role"] == "user":
            return ScriptedAnswer("", tool_calls=(("python", {"code": "1"}),))
        heard.append(last["content"])
        return ScriptedAnswer("done")

    async with ModelServer(answer) as server:
        run = await played(store, TASKS / "file-answer", "bash", f"openai/solver@{server.openai_url}")
    assert heard == ['not run: call the tool `bash` with {"command": "…"}']
    assert rewards(store, run) == {"file-answer": 0.0}


async def test_a_model_that_never_ends_is_cut_after_its_turns_and_verified(store: Store) -> None:
    def answer(_: dict[str, Any]) -> ScriptedAnswer:
        return ScriptedAnswer("", tool_calls=(("bash", {"command": "echo hello > /app/hello.txt"}),))

    async with ModelServer(answer) as server:
        run = await played(store, TASKS / "file-answer", "bash", f"openai/solver@{server.openai_url}", turns=3)
        calls = server.served
    episode = episodes(store, run)["file-answer"]
    assert (calls, episode.terminal_info["agent_cut"]) == (3, "3 turns")
    assert rewards(store, run) == {"file-answer": 1.0}


async def test_a_key_that_is_refused_ends_the_run_and_scores_nothing(store: Store) -> None:
    async with ModelServer(solving, faults=[Fault(status=401, text="no such key")]) as server:
        run = await played(store, TASKS / "file-answer", "bash", f"openai/solver@{server.openai_url}")
    assert run.status is RunStatus.FAILED
    assert run.primary is None or run.primary.value is None


async def test_the_solution_is_not_in_the_container_of_the_agent(store: Store) -> None:
    seen: list[str] = []

    def answer(body: dict[str, Any]) -> ScriptedAnswer:
        last = body["messages"][-1]
        if last["role"] == "user":
            return ScriptedAnswer("", tool_calls=(("bash", {"command": "ls -d /solution /tests /app/*"}),))
        seen.append(last["content"])
        return ScriptedAnswer("done")

    async with ModelServer(answer) as server:
        await played(store, TASKS / "terminal-bench-1", "bash", f"openai/solver@{server.openai_url}")
    (told,) = seen
    assert "cannot access '/solution'" in told
    assert "cannot access '/tests'" in told
    assert "/app/Dockerfile\n/app/numbers.txt\n" in told
    assert "solution.sh" not in told


COMMAND = """
import json, os, urllib.request
asked = {"model": "any", "messages": [{"role": "user", "content": os.environ["MESOCOSM_INSTRUCTION"]}]}
request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(asked).encode())
request.add_header("Content-Type", "application/json")
request.add_header("Authorization", "Bearer " + os.environ["OPENAI_API_KEY"])
reply = json.load(urllib.request.urlopen(request))
open("/app/hello.txt", "w").write(reply["choices"][0]["message"]["content"])
print(os.environ["OPENAI_API_KEY"], os.environ["MINE"])
"""


@pytest.mark.skipif(not Path("/usr/bin/python3").exists(), reason="the system has no Python of its own")
async def test_a_program_in_the_container_reaches_its_model_and_nothing_else(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_THE_HOST", "very-secret-words")
    command = f"python3 -c '{COMMAND}'"
    async with ModelServer("hello") as server:
        run = await played(
            store,
            TASKS / "file-answer",
            command,
            f"openai/solver@{server.openai_url}",
            agent_env={"MINE": "${SECRET_OF_THE_HOST}"},
        )
        asked = server.calls[0].raw.decode()
    assert rewards(store, run) == {"file-answer": 1.0}
    assert "Write the word hello" in asked
    assert episodes(store, run)["file-answer"].usage.calls == 1
    recorded = trace(store, run, "file-answer")
    assert "very-secret-words" not in recorded
    assert "[redacted] [redacted]" in recorded


@pytest.mark.skipif(not Path("/usr/bin/python3").exists(), reason="the system has no Python of its own")
async def test_the_model_is_reached_past_the_proxy_of_an_allowlist(store: Store, tmp_path: Path) -> None:
    config = '[environment]\nnetwork_mode = "allowlist"\nallowed_hosts = ["example.com"]\n'
    folder = one_task(tmp_path, "file-answer", task_toml=config)
    async with ModelServer("hello") as server:
        address = f"openai/solver@{server.openai_url}"
        run = await played(store, folder, f"python3 -c '{COMMAND}'", address, agent_env={"MINE": "x"})
    assert rewards(store, run) == {"file-answer": 1.0}


async def test_a_program_that_is_not_in_the_container_is_no_result(store: Store) -> None:
    async with ModelServer("hello") as server:
        run = await played(store, TASKS / "file-answer", "no-such-agent --run", f"openai/solver@{server.openai_url}")
    assert rewards(store, run) == {"file-answer": "program_failed"}
    failure = episodes(store, run)["file-answer"].failure
    assert failure is not None
    assert "is it installed there?" in failure.message


async def test_values_of_the_host_reach_the_container_and_no_record(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MESOCOSM_TEST_GREETING", "a greeting from the host")
    folder = one_task(
        tmp_path, "workdir-env", solution__solve_sh="#!/bin/sh\nprintf '%s' \"$GREETING\" | tee greeting.txt\n"
    )
    run = await played(store, folder, "oracle")
    assert rewards(store, run) == {"workdir-env": 1.0}
    assert "a greeting from the host" not in trace(store, run, "workdir-env")


async def test_a_task_that_cannot_be_played_is_missing_and_named(store: Store, tmp_path: Path) -> None:
    one_task(tmp_path, "file-answer")
    one_task(tmp_path, "no-network", environment__Dockerfile="FROM x\nRUN apt-get install -y git\n")
    run = await played(store, tmp_path, "oracle")
    assert rewards(store, run) == {"file-answer": 1.0, "no-network": "environment_invalid"}
    assert any("no-network" in warning and "line 2: RUN apt-get" in warning for warning in run.warnings)


async def test_the_time_of_the_run_limits_the_agent_and_not_the_verifier(store: Store, tmp_path: Path) -> None:
    folder = one_task(
        tmp_path,
        "file-answer",
        solution__solve_sh="#!/bin/sh\necho hello > /app/hello.txt\nsleep 1000\n",
        tests__test_sh="#!/bin/sh\nsleep 4\ncat /app/hello.txt && echo 1 > /logs/verifier/reward.txt\n",
    )
    run = await played(store, folder, "oracle", limits=Limits(episode_seconds=3.5))
    assert rewards(store, run) == {"file-answer": 1.0}
    assert episodes(store, run)["file-answer"].terminal_info["agent_late"] is True


async def test_rewards_that_the_agent_left_do_not_count(store: Store) -> None:
    for cheat in ("rewards", "link", "tests"):
        run = await played(store, TASKS / "file-answer", f"cheat:{cheat}")
        assert rewards(store, run) == {"file-answer": 0.0}


async def test_sixteen_at_once(store: Store, tmp_path: Path) -> None:
    for number in range(16):
        shutil.copytree(TASKS / "file-answer", tmp_path / "many" / f"task{number:02}")
        (tmp_path / "many" / f"task{number:02}" / "instruction.md").write_text(f"Task {number}\n")
    run = await played(store, tmp_path / "many", "oracle")
    assert list(rewards(store, run).values()) == [1.0] * 16


async def test_a_killed_run_goes_on_and_asks_nothing_of_finished_tasks_again(tmp_path: Path) -> None:
    served: dict[str, int] = {}
    waiting = asyncio.Event()

    async def answer(body: dict[str, Any]) -> ScriptedAnswer:
        asked = next(one["content"] for one in body["messages"] if one["role"] == "user")
        served[asked] = served.get(asked, 0) + 1
        if len(served) > 3 and not waiting.is_set():
            await waiting.wait()
        return solving(body)

    async with ModelServer(answer) as server:
        words = [
            sys.executable,
            "-m",
            "mesocosm",
            "run",
            f"harbor:{TASKS}",
            "-P",
            "engine=bubblewrap",
            "--parallel",
            "1",
        ]
        words += ["-m", f"openai/solver@{server.openai_url}", "--results-dir", str(tmp_path), "--json"]
        place = {**os.environ, "TMPDIR": str(tmp_path)}
        process = await asyncio.create_subprocess_exec(*words, env=place, stdout=-3, stderr=-3)
        async with asyncio.timeout(240):
            while len(served) < 4:  # noqa: ASYNC110 -- the other process asks when it asks
                await asyncio.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        await process.wait()
        waiting.set()
        before = dict(served)
        process = await asyncio.create_subprocess_exec(*words, env=place, stdout=-1, stderr=-3)
        out, _ = await process.communicate()
    finished = list(before)[:3]
    assert process.returncode == 0
    assert {name: served[name] for name in finished} == {name: before[name] for name in finished}
    document = json.loads(out)
    assert '"owed": 0' in json.dumps(document)


def test_containers_of_a_killed_run_are_listed_and_pruned(tmp_path: Path) -> None:
    folder = one_task(tmp_path, "file-answer", solution__solve_sh="#!/bin/sh\ntouch /app/begun\nsleep 1000\n")
    place = {**os.environ, "TMPDIR": str(tmp_path)}
    program = [sys.executable, "-m", "mesocosm"]
    words = [*program, "run", f"harbor:{folder}", "--agent", "oracle", "-P", "engine=bubblewrap"]
    with subprocess.Popen([*words, "--results-dir", str(tmp_path)], env=place, stdout=-3, stderr=-3) as process:
        while not list(tmp_path.glob("mesocosm-box-*/root/app/begun")):
            assert process.poll() is None
        process.kill()
    listed = subprocess.run([*program, "sandbox", "list", "--json"], env=place, capture_output=True, check=True)
    (container,) = (one for one in json.loads(listed.stdout)["containers"] if one["engine"] == "bubblewrap")
    assert (container["state"], container["labels"]["task"]) == ("left", "file-answer")
    pruned = subprocess.run([*program, "sandbox", "prune"], env=place, capture_output=True, check=True, text=True)
    assert f"removed: bubblewrap {container['name']}  file-answer" in pruned.stdout
    assert list(tmp_path.glob("mesocosm-box-*/root")) == []
