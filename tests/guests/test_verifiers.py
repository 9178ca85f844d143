"""Task sets of verifiers, played by the framework itself. Its interpreter is in the folder MESOCOSM_TEST_GUESTS."""

import asyncio
import json
import os
import re
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mesocosm.testing.dialect import ScriptedAnswer
from mesocosm.testing.fault import RATE_LIMIT, Fault
from mesocosm.testing.model_server import ModelServer

GUESTS = os.environ.get("MESOCOSM_TEST_GUESTS", "")
PYTHON = Path(GUESTS) / "verifiers" / "bin" / "python"
SUMS = Path(__file__).with_name("sources") / "sums_v1.py"

pytestmark = pytest.mark.skipif(
    not GUESTS or not PYTHON.exists(), reason="MESOCOSM_TEST_GUESTS names no folder with verifiers/bin/python"
)


def question(body: dict[str, Any]) -> str:
    return str(body["messages"][-1]["content"])


def adds(body: dict[str, Any]) -> str:
    found = re.fullmatch(r"1 \+ (\d+)\?", question(body))
    return str(1 + int(found[1])) if found else question(body)


class Program:
    """`mesocosm` with a results folder and a model server."""

    def __init__(self, folder: Path, server: ModelServer) -> None:
        self.folder = folder
        self.server = server

    async def start(self, *words: str, key: str = "right") -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "mesocosm", *words),
            cwd=self.folder,
            env={**os.environ, "OPENAI_BASE_URL": self.server.openai_url, "OPENAI_API_KEY": key, "NO_COLOR": "1"},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )

    async def run(self, *words: str, key: str = "right") -> tuple[int, str]:
        process = await self.start(*words, key=key)
        said, _ = await process.communicate()
        assert process.returncode is not None
        return process.returncode, said.decode()

    def bench(self, source: str | Path, *words: str, model: str = "m") -> tuple[str, ...]:
        return ("bench", "run", f"verifiers:{source}", "-m", f"openai/{model}", "--python", str(PYTHON), *words)

    async def episodes(self, *words: str) -> list[dict[str, Any]]:
        """Return the episodes of the last run."""
        code, said = await self.run("run", "episodes", "last", *words)
        assert code == 0, said
        found = json.loads(said)
        traces = found.get("traces_by_episode", {})
        return [
            {
                **one,
                "trace": traces.get(one["id"], []),
                "scores": {name: value for name, value in one["scores"].items() if value is not None},
            }
            for one in found["episodes"]
        ]


@pytest.fixture
def program(tmp_path: Path) -> Callable[[ModelServer], Program]:
    return lambda server: Program(tmp_path, server)


def asked(server: ModelServer) -> Counter[str]:
    return Counter(question(request.body) for request in server.calls)


def guests(folder: Path) -> list[int]:
    """Return the processes of guests that were started in a folder, or by a program in it."""
    return [pid for pid, words, place in processes() if "verifiers_tasksets" in words and place == folder]


def processes() -> Iterator[tuple[int, str, Path]]:
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words, place = (folder / "cmdline").read_bytes(), (folder / "cwd").readlink()
        except OSError:
            continue
        yield int(folder.name), words.decode("utf-8", "replace"), place


async def until(true: Callable[[], bool], process: asyncio.subprocess.Process | None = None) -> None:
    """Wait until something is true, or a process has ended."""
    ended = asyncio.ensure_future(process.wait()) if process is not None else None
    while not true() and (ended is None or not ended.done()):  # noqa: ASYNC110 -- foreign processes tell nobody
        await asyncio.sleep(0.05)
    if ended is not None:
        ended.cancel()


async def test_every_task_is_an_episode_with_its_calls_and_scores(program: Callable[[ModelServer], Program]) -> None:
    async with ModelServer(adds, faults=[RATE_LIMIT, None, RATE_LIMIT]) as server:
        user = program(server)

        code, said = await user.run(*user.bench(SUMS, "-P", "task={nan=5, raises=3}"))

        assert code == 3, said
        episodes = await user.episodes("--traces")
    assert [one["task"] for one in episodes] == [f"sum-{place}" for place in range(8)]
    for place, one in enumerate(episodes):
        calls = [event for event in one["trace"] if event["event_type"] == "model_call"]
        assert len(calls) == 1
        expected: dict[str, Any] = {"right": 1.0, "long": 0.0, "length": 1.0, "reward": 2.0}
        if place == 3:
            expected = {"length": 1.0}
            assert one["unscored"] == dict.fromkeys(("right", "long", "reward"), "grader_error")
        if place == 5:
            expected = {"long": 0.0, "length": 1.0}
            assert one["unscored"] == {"right": "value_unusable", "reward": "value_unusable"}
        assert one["scores"] == expected
    assert [request.body["stop"] for request in server.calls] == [["\n\n"]] * 10


async def test_a_guest_that_is_killed_costs_no_finished_episode(program: Callable[[ModelServer], Program]) -> None:
    async with ModelServer(adds, delay=0.4) as server:
        user = program(server)
        process = await user.start(*user.bench(f"{SUMS},count=20", "--parallel", "2"))
        await until(lambda: server.served >= 7, process)
        for pid in guests(user.folder):
            os.kill(pid, signal.SIGKILL)
        said, _ = await process.communicate()

        assert process.returncode == 0, said.decode()
        assert [one["scores"]["right"] for one in await user.episodes()] == [1.0] * 20
    often = [count for count in asked(server).values() if count > 1]
    assert len(often) <= 2
    assert server.served <= 22
    assert guests(user.folder) == []


async def test_the_same_command_continues_after_a_kill(program: Callable[[ModelServer], Program]) -> None:
    async with ModelServer(adds, delay=0.4) as server:
        user = program(server)
        words = user.bench(f"{SUMS},count=20", "--parallel", "2")
        process = await user.start(*words)
        await until(lambda: server.served >= 7, process)
        process.kill()
        await process.wait()
        await until(lambda: not guests(user.folder))
        finished = len([one for one in await user.episodes() if one["scores"]])
        before = server.served

        code, said = await user.run(*words)

        assert code == 0, said
        assert server.served - before == 20 - finished
        assert [one["scores"]["right"] for one in await user.episodes()] == [1.0] * 20
    assert finished >= 3
    assert guests(user.folder) == []


async def test_a_model_that_is_gone_is_never_a_score(program: Callable[[ModelServer], Program]) -> None:
    server = ModelServer(adds, delay=0.3)
    async with server:
        user = program(server)
        words = user.bench(f"{SUMS},count=12", "--parallel", "2", "--set", "outage.wait_s=2")
        process = await user.start(*words)
        await until(lambda: server.served >= 4, process)
    said, _ = await process.communicate()
    assert process.returncode != 0, said.decode()
    scored = [one for one in await user.episodes() if one["scores"]]
    assert 0 < len(scored) < 12
    assert {one["scores"]["right"] for one in scored} == {1.0}

    async with ModelServer(adds) as again:
        user.server = again
        code, _ = await user.run(*words)

        assert code == 0
        assert again.served == 12 - len(scored)
        assert [one["scores"]["right"] for one in await user.episodes()] == [1.0] * 12


async def test_a_wrong_key_ends_the_run_without_a_score(program: Callable[[ModelServer], Program]) -> None:
    async with ModelServer(adds, key="right") as server:
        user = program(server)

        code, said = await user.run(*user.bench(SUMS), key="wrong")

        assert code == 4
        assert "wrong" not in said.replace("a wrong key", "")
        assert not any(one["scores"] for one in await user.episodes())


async def test_a_refused_request_is_never_a_score(program: Callable[[ModelServer], Program]) -> None:
    async with ModelServer(adds, faults=[Fault(status=400, text="no")] * 100) as server:
        user = program(server)

        code, _ = await user.run(*user.bench(f"{SUMS},count=2"))

        assert code != 0
        assert not any(one["scores"] for one in await user.episodes())


async def test_an_interrupt_leaves_no_process(program: Callable[[ModelServer], Program]) -> None:
    async with ModelServer(adds, delay=0.5) as server:
        user = program(server)
        process = await user.start(*user.bench(f"{SUMS},count=50", "--parallel", "16"))
        await until(lambda: server.served >= 4, process)
        process.send_signal(signal.SIGINT)
        said, _ = await process.communicate()

    assert process.returncode == 130, said.decode()
    assert guests(user.folder) == []


async def test_an_episode_that_kills_the_guest_fails_and_the_others_are_scored(
    program: Callable[[ModelServer], Program],
) -> None:
    async with ModelServer(adds) as server:
        user = program(server)

        await user.run(*user.bench(SUMS, "-P", "agent.harness.dies=2"))

        episodes = await user.episodes()
    assert [one["scores"].get("right") for one in episodes] == [1.0, 1.0, None, 1.0, 1.0, 1.0, 1.0, 1.0]
    assert episodes[2]["failure"]["cause"] == "program_failed"


async def test_two_models_are_compared_on_the_same_tasks(program: Callable[[ModelServer], Program]) -> None:
    def by_model(body: dict[str, Any]) -> str | ScriptedAnswer:
        return adds(body) if body["model"] == "good" else "7"

    async with ModelServer(by_model) as server:
        user = program(server)
        for model in ("good", "bad"):
            code, said = await user.run(*user.bench(SUMS, model=model))
            assert code == 0, said

        code, said = await user.run("compare", "last~1", "last", "--plain")

    assert code == 0, said
    assert "8 tasks" in said or "8" in said


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("nothing-at-all", "no task set is called nothing-at-all; there are "),
        ("./nothing.py", "there is no file or folder ./nothing.py"),
        (f"{SUMS},harness=nothing", "no harness is called nothing"),
        (f"{SUMS},colour=red", "there is no option colour; there are "),
        (f"{SUMS},count=many", "count: "),
        (f"{SUMS},harness=bash", "say where: runtime=docker"),
    ],
)
async def test_a_wrong_name_is_one_sentence(program: Callable[[ModelServer], Program], source: str, words: str) -> None:
    async with ModelServer(adds) as server:
        user = program(server)

        code, said = await user.run(*user.bench(source))

    assert code == 2
    assert words in said
    assert "Traceback" not in said
    assert len(said.strip().splitlines()) == 1
