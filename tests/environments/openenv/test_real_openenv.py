"""OpenEnv itself: its server, its client, its template. Needs MESOCOSM_TEST_GUESTS with an environment `openenv`."""

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import invoke

from mesocosm.core.event import Kind
from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.core.model import ModelSettings
from mesocosm.core.ports import Environment, Observer
from mesocosm.core.run import BenchmarkRef, Run, RunSpec, Selection
from mesocosm.core.task import Task
from mesocosm.engine import session
from mesocosm.environments.openenv.benchmark import OpenEnvBenchmark, open_openenv
from mesocosm.http.client import HttpClient
from mesocosm.http.errors import HttpError
from mesocosm.sandboxes.port import free_port
from mesocosm.store import open_store

HERE = Path(__file__).parent
COUNTING = HERE / "counting_env"
PYTHON = Path(os.environ.get("MESOCOSM_TEST_GUESTS", "")) / "openenv" / "bin" / "python"

pytestmark = pytest.mark.skipif(
    "MESOCOSM_TEST_GUESTS" not in os.environ or not PYTHON.exists(),
    reason="MESOCOSM_TEST_GUESTS names no folder with a virtual environment `openenv`",
)


async def _answers(url: str, process: "subprocess.Popen[bytes]") -> None:
    async with HttpClient() as client:
        while process.poll() is None:
            try:
                if (await client.request("GET", f"{url}/health", timeout=5)).status == 200:
                    return
            except HttpError:
                await asyncio.sleep(0.1)
    raise AssertionError("the server ended")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A server of the counting environment that takes four sessions."""
    port = free_port()
    command = [str(PYTHON), "-m", "uvicorn", "server.app:app", "--port", str(port), "--no-access-log"]
    with subprocess.Popen(command, cwd=COUNTING, stderr=subprocess.DEVNULL) as process:
        try:
            asyncio.run(_answers(f"http://127.0.0.1:{port}", process))
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()


@pytest.fixture
async def benchmark(url: str) -> AsyncIterator[OpenEnvBenchmark]:
    opened = open_openenv(BenchmarkRef("openenv", url, {}))
    await opened.open(lambda _: None)
    yield opened
    await opened.close()


@pytest.fixture
async def environment(benchmark: OpenEnvBenchmark) -> AsyncIterator[Environment]:
    """A session that has been reset with seed 1: the goal is 2."""
    found = await benchmark.environment(Task("seed-1", seed=1), "e1")
    await found.reset()
    yield found
    await found.close()


def test_its_facts_are_read(url: str) -> None:
    info = open_openenv(BenchmarkRef("openenv", url, {})).info
    assert (info.id, info.title, info.version, info.description) == ("counting_env", "Counting (openenv)", "1.0.0", "")


async def test_an_episode_is_played(environment: Environment) -> None:
    one, two = await environment.step("up"), await environment.step("up")
    assert (one.reward, one.terminated, one.observation.data) == (0.25, False, {"count": 1, "words": ["up"]})
    assert (two.reward, two.terminated) == (1.0, True)


@pytest.mark.parametrize(
    ("action", "cause"),
    [
        (7, Cause.MALFORMED_ACTION),
        ("rude", Cause.MALFORMED_ACTION),
        ("lie", Cause.ENVIRONMENT_ERROR),
        ("fail", Cause.ENVIRONMENT_ERROR),
    ],
)
async def test_what_it_refuses_is_told_apart(environment: Environment, action: Any, cause: Cause) -> None:
    with pytest.raises(EpisodeError) as caught:
        await environment.step(action)
    assert caught.value.cause is cause


async def test_nan_and_no_reward_are_the_same_and_said(environment: Environment) -> None:
    assert (await environment.step("nan")).info == {"unrewarded": True}
    await environment.step("up")
    assert "NaN" in (await environment.step("nan")).notes[0]


async def test_all_tasks_of_its_splits_are_played(url: str, tmp_path: Path) -> None:
    store = open_store(tmp_path)
    run = await session.run(_spec(url, Selection(), {"split": "train"}), store)
    assert (run.counts.planned, run.counts.done) == (5, 5)
    store.close()


def _spec(source: str, selection: Selection, options: dict[str, Any], parallel: int = 16) -> RunSpec:
    given = {"actions": ["up", "down"], **options}
    return RunSpec(
        BenchmarkRef("openenv", source, given), ModelSettings("builtin/random"), selection=selection, parallel=parallel
    )


def _bare(url: str, episodes: list[dict[str, Any]]) -> dict[str, Any]:
    lines = "\n".join(json.dumps(episode) for episode in episodes)
    command = [str(PYTHON), str(HERE / "bare_loop.py"), url]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


async def test_rewards_are_those_of_its_own_client(url: str, tmp_path: Path) -> None:
    store = open_store(tmp_path)
    run = await session.run(_spec(url, Selection(count=30), {"tasks": False}), store)
    played = store.episodes.list(run.id, limit=200).items
    scripts = []
    for episode in played:
        events = list(store.traces.events(episode.id))
        actions = [{"word": event.payload["action"]} for event in events if event.kind is Kind.ACTION]
        scripts.append({"seed": episode.seed, "actions": actions})
    store.close()
    bare = await asyncio.to_thread(_bare, url, scripts)
    assert [sum(rewards) for rewards in bare["rewards"]] == [episode.total_reward for episode in played]


class _Killing(Observer):
    """Kills the server once, after some episodes."""

    def __init__(self) -> None:
        self.pid = 0
        self.finished = 0
        self.notices: list[str] = []

    def notice(self, message: str) -> None:
        self.notices.append(message)
        if message.startswith("started uvicorn"):
            self.pid = int(message.rpartition(" ")[2].rstrip(")"))

    def episode_finished(self, episode: Any) -> None:
        self.finished += 1
        if self.finished == 20:
            os.kill(self.pid, signal.SIGKILL)


async def test_a_killed_server_of_a_folder_is_started_again_and_nothing_is_lost(tmp_path: Path) -> None:
    store, killing = open_store(tmp_path), _Killing()
    spec = _spec(str(COUNTING), Selection(count=100), {"python": str(PYTHON)})
    run: Run = await session.run(spec, store, [killing])
    assert (run.status, run.counts.planned, run.counts.done, run.counts.errors) == ("finished", 100, 100, 0)
    assert any("was killed by signal 9; starting it again" in notice for notice in killing.notices)
    assert "seeds are played; the environment also has tasks (train, test): -P tasks=true" in killing.notices
    store.close()


def test_its_template_is_played(tmp_path: Path) -> None:
    made = [str(PYTHON.with_name("openenv")), "init", "tpl_env", "--output-dir", str(tmp_path)]
    subprocess.run(made, check=True, capture_output=True)
    words = ("-m", "builtin/random", "-n", "8", "--parallel", "4", "-P", f"python={PYTHON}", "-P", "max_steps=5")
    done = invoke("run", f"openenv:{tmp_path / 'tpl_env'}", *words, "--results-dir", tmp_path / "results")
    assert done.code == 0, done.err
    assert "8/8" in done.out
