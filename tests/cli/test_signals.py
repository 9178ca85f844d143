"""Signals to a run in a terminal, and what other processes see of it meanwhile."""

import asyncio
import json
import os
import shutil
import signal
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Gate, Invoke, Outcome, Program

pytestmark = pytest.mark.usefixtures("forked")

NO_GRACE = "import mesocosm.cli.signals as attendance; attendance.GRACE_S = 0.05"
ENDLESS = """
import mesocosm.cli.signals
import mesocosm.environments.client
import mesocosm.sandboxes.process
mesocosm.cli.signals.GRACE_S = 1000
mesocosm.environments.client.Timeouts.__init__.__defaults__ = (1000.0, 1000.0, 1000.0)
mesocosm.sandboxes.process.ForeignProcess.stop.__defaults__ = (1000.0,)
"""
STUCK = """
import signal, time, urllib.request
from bench_common.env_sdk import BaseEnv

signal.signal(signal.SIGTERM, signal.SIG_IGN)

class MyEnv(BaseEnv):
    def reset(self, seed=None, **params):
        return {{}}

    def step(self, action):
        urllib.request.urlopen("{url}/here")
        time.sleep(1000)
"""
SLOW = """
import time, urllib.request
urllib.request.urlopen("{url}/here")
time.sleep(1000)
"""

Launch = Callable[..., Any]
Ask = Callable[..., Coroutine[Any, Any, "Outcome"]]


@pytest.fixture
def begin(launch: Launch, gate: "Gate", scaffolded: Path, tmp_path: Path) -> Launch:
    """Return what starts a run of six episodes, two at a time, and waits until two are over and two are stuck."""

    async def begin(*words: str, before: str = "") -> "Program":
        given = ("--manifest", scaffolded, "--model", gate.model, "--episodes", "6", "--parallel", "2")
        started: Program = await launch("run", "local", *given, "--results-dir", tmp_path, *words, before=before)
        await started.said("[2/6]")
        await gate.waiting.wait()
        return started

    return begin


@pytest.fixture
def ask(launch: Launch, mesocosm: "Invoke", tmp_path: Path) -> Ask:
    """Return what runs another command on these results, beside the running ones: a program if it plays itself."""

    async def ask(*words: str | Path) -> "Outcome":
        if words[1] not in {"local", "resume"}:
            return await asyncio.to_thread(mesocosm, *words, "--results-dir", tmp_path)
        asked: Program = await launch(*words, "--results-dir", tmp_path)
        return await asked.end()

    return ask


async def cancelled(begin: Launch, number: signal.Signals) -> "Outcome":
    """Return how a run ended that got a signal and no grace."""
    started = await begin("--json", before=NO_GRACE)
    started.signal(number)
    ended: Outcome = await started.end()
    return ended


async def last_run(ask: Ask) -> Any:
    return (await ask("run", "show", "last", "--json")).document["run"]


async def test_running_episodes_may_end_after_the_first_interrupt(
    begin: Launch, gate: "Gate", ask: Ask, tmp_path: Path
) -> None:
    started = await begin()
    started.signal()
    await started.said("stopping: running episodes have 5 s to finish; interrupt again to end at once")
    gate.opened.set()

    ended = await started.end()

    run = await last_run(ask)
    assert ended.code == 130
    assert (run["status"], run["error"]) == ("stopped", "interrupted")
    assert (run["counts"]["completed"], run["counts"]["owed"]) == (4, 2)
    assert f"mesocosm run resume {run['id']}    continues it: 2 episodes pending" in ended.out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_after_the_grace_they_are_cancelled_and_owed(begin: Launch, number: signal.Signals) -> None:
    ended = await cancelled(begin, number)

    assert ended.code == 130
    assert ended.document["run"]["counts"] == {
        "planned": 6, "completed": 2, "truncated": 0, "timeout": 0, "failed": 0, "owed": 4
    }  # fmt: skip


async def test_what_the_end_of_a_terminal_cancelled_is_resumed(begin: Launch, gate: "Gate", ask: Ask) -> None:
    ended = await cancelled(begin, signal.SIGHUP)
    assert (ended.code, ended.document["run"]["counts"]["owed"]) == (130, 4)

    gate.opened.set()
    resumed = await ask("run", "resume", "last", "--quiet", "--json")
    assert resumed.code == 0
    assert resumed.document["run"]["counts"]["completed"] == 6


async def test_a_second_interrupt_ends_at_once_and_loses_no_finished_episode(
    begin: Launch, ask: Ask, tmp_path: Path
) -> None:
    started = await begin(before="import mesocosm.cli.signals as attendance; attendance.GRACE_S = 1000")
    started.signal()
    await started.said("interrupt again to end at once")
    started.signal()

    ended = await started.end()

    assert ended.code == 130
    assert "2/6 scoreable" in ended.out
    assert (await last_run(ask))["counts"]["completed"] == 2


async def test_an_environment_that_is_stuck_does_not_delay_the_second_interrupt(
    launch: Launch, gate: "Gate", scaffolded: Path, ask: Ask, tmp_path: Path
) -> None:
    place = shutil.copytree(scaffolded, tmp_path / "stuck")
    (place / "env.py").write_text(STUCK.format(url=gate.url))
    words = ("--manifest", place, "--model", "builtin/random", "--results-dir", tmp_path)
    started = await launch("run", "local", *words, before=ENDLESS)
    await gate.visited.wait()
    started.signal()
    await started.said("interrupt again")
    started.signal()

    assert (await started.end()).code == 130
    assert (await last_run(ask))["status"] == "stopped"


async def test_an_interrupt_while_the_model_is_checked_leaves_no_run(
    launch: Launch, gate: "Gate", scaffolded: Path, ask: Ask, tmp_path: Path
) -> None:
    asked_for = asyncio.Event()
    receive = gate.receive

    def silent(connection: Any, request: Any) -> None:
        asked_for.set()
        if request.method != "GET":
            receive(connection, request)

    gate.receive = silent  # type: ignore[method-assign]
    words = ("--manifest", scaffolded, "--model", f"ollama/x@{gate.url}", "--results-dir", tmp_path)
    started = await launch("run", "local", *words)
    await asked_for.wait()
    started.signal()

    ended = await started.end()

    assert (ended.code, ended.out) == (130, "")
    assert ended.err.endswith("interrupted before a run began: no run is stored, and the same command starts it\n")
    assert (await ask("run", "list", "--json")).document["items"] == []


async def test_an_interrupt_while_the_adapter_starts_is_not_kept_waiting(
    launch: Launch, gate: "Gate", scaffolded: Path, ask: Ask, tmp_path: Path
) -> None:
    place = shutil.copytree(scaffolded, tmp_path / "slow")
    (place / "adapter.py").write_text(SLOW.format(url=gate.url))
    started = await launch("run", "local", "--manifest", place, "--model", "builtin/random", "--results-dir", tmp_path)
    await gate.visited.wait()
    started.signal()

    ended = await started.end()

    assert ended.code == 130
    run = await last_run(ask)
    assert (run["status"], run["counts"]["completed"]) == ("stopped", 0)


async def test_the_demo_ends_at_an_interrupt_before_its_second_run(launch: Launch, ask: Ask, tmp_path: Path) -> None:
    started = await launch("demo", "--episodes", "2000", "--results-dir", tmp_path)
    await started.said("Running builtin/random")
    started.signal()

    ended = await started.end()

    assert ended.code == 130
    assert "builtin/oracle" not in ended.out + ended.err
    assert len((await ask("run", "list", "--json")).document["items"]) == 1


async def test_an_unfinished_run_of_the_same_experiment_is_named(
    begin: Launch, gate: "Gate", ask: Ask, scaffolded: Path, tmp_path: Path
) -> None:
    started = await begin(before=NO_GRACE)
    started.signal()
    await started.end()
    stopped = await last_run(ask)
    gate.opened.set()
    again = ("run", "local", "--manifest", str(scaffolded), "--model", gate.model, "--episodes", "6", "--quiet")

    new = await ask(*again, "--json")
    resumed = await ask(*again, "--resume", "--json")
    another = await ask(*again, "--temperature", "1", "--json")

    assert (new.code, resumed.code, another.code) == (0, 0, 0)
    assert new.err == (
        f"note: run {stopped['id']} of the same experiment is unfinished (2 of 6); "
        f"continue it with: mesocosm run resume {stopped['id']}\n"
    )
    assert new.document["run"]["id"] != stopped["id"]
    assert new.document["run"]["attempt"] == 2
    assert (resumed.document["run"]["id"], resumed.err) == (stopped["id"], "")
    assert resumed.document["run"]["counts"]["completed"] == 6
    assert another.err == ""


async def test_others_see_a_run_that_goes_on_and_cannot_take_it(
    begin: Launch, gate: "Gate", ask: Ask, scaffolded: Path, tmp_path: Path
) -> None:
    started = await begin()
    run = await last_run(ask)
    again = ("run", "local", "--manifest", str(scaffolded), "--model", gate.model, "--episodes", "6", "--quiet")

    taken = await ask(*again, "--resume")
    deleted = await ask("run", "delete", run["id"], "--yes")
    rescored = await ask("run", "rescore", run["id"])
    listed = await ask("run", "list")
    shown = await ask("run", "show", "last")

    assert run["state"] == "running"
    for refused in (taken, deleted, rescored):
        assert refused.code == 4
        assert f"run {run['id']} is worked on by process {started.process.pid} on {os.uname().nodename}" in refused.err
        assert f"mesocosm run stop {run['id']}" in refused.err
    assert " running " in listed.out
    assert f"held by    process {started.process.pid}" in shown.out


async def test_a_run_that_goes_on_elsewhere_is_named_with_how_to_follow_it(
    begin: Launch, gate: "Gate", launch: Launch, scaffolded: Path, tmp_path: Path
) -> None:
    started = await begin()
    words = ("--manifest", scaffolded, "--model", gate.model, "--episodes", "6", "--results-dir", tmp_path)
    second = await launch("run", "local", *words)

    note = await second.said("note:")

    assert "is going on in another process (2 of 6); follow it with: mesocosm run watch" in note
    gate.opened.set()
    assert ((await second.end()).code, (await started.end()).code) == (0, 0)


async def test_a_run_is_watched_to_its_end(
    begin: Launch, gate: "Gate", launch: Launch, ask: Ask, tmp_path: Path
) -> None:
    started = await begin()
    watching = await launch("run", "watch", "last", "--interval", "0.1", "--results-dir", tmp_path, "--json")
    assert await watching.said("running") == "running: 2/6 done, 0 failed\n"
    gate.opened.set()

    watched, ended = await watching.end(), await started.end()

    assert (watched.code, ended.code) == (0, 0)
    assert watched.err.endswith("finished: 6/6 done, 0 failed\n")
    assert watched.document["run"]["status"] == "finished"


async def test_a_run_is_stopped_from_another_process(begin: Launch, gate: "Gate", ask: Ask, tmp_path: Path) -> None:
    started = await begin(
        before="import mesocosm.store.journal as journal; journal.SqlJournal.__init__.__kwdefaults__['beat'] = 0.05"
    )
    stopping = await ask("run", "stop", "last", "--json")
    assert stopping.document["stop_requested"]
    assert stopping.code == 0
    gate.opened.set()

    ended = await started.end()

    assert ended.code in {0, 3}, "what ran may have been the rest"
    run = await last_run(ask)
    assert run["counts"]["owed"] == 0 or run["error"] == "a stop was requested"


async def test_a_run_whose_process_was_killed_is_not_waited_for(begin: Launch, ask: Ask, tmp_path: Path) -> None:
    started = await begin()
    started.process.kill()
    await started.end()

    watched = await ask("run", "watch", "last", "--json")
    stopped = await ask("run", "stop", "last")

    run_id = watched.document["run"]["id"]
    assert watched.code == 3
    assert watched.document["run"]["state"] == "interrupted"
    assert f"its process is gone; continue it with: mesocosm run resume {run_id}" in watched.err
    assert stopped.code == 2
    assert f"has no living process; continue it with `mesocosm run resume {run_id}`" in stopped.err
    assert json.loads(watched.out)
