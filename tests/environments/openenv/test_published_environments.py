"""Environments that OpenEnv publishes: the rewards and observations of its own client, for the same actions.

Needs MESOCOSM_TEST_GUESTS with an environment `openenv`, and MESOCOSM_TEST_OPENENV, a folder with `grid_world_env`,
`maze_env` and `echo_env` of its repository. Its `snake_env` is not among them: equal seeds and actions do not give it
equal rewards.
"""

import asyncio
import contextlib
import json
import os
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from mesocosm.core.event import Kind
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import BenchmarkRef, Run, RunSpec, Selection
from mesocosm.engine import session
from mesocosm.sandboxes.port import free_port
from mesocosm.store import open_store

HERE = Path(__file__).parent
GUESTS = Path(os.environ.get("MESOCOSM_TEST_GUESTS", "/nowhere"))
FOLDER = Path(os.environ.get("MESOCOSM_TEST_OPENENV") or "/nowhere")
STARTS_S = 120.0

pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="MESOCOSM_TEST_OPENENV names no folder with environments of OpenEnv's repository"
)


@dataclass(frozen=True)
class Published:
    """An environment, the guest that has its packages, and how it is played at random."""

    name: str
    python: str = "openenv"
    options: dict[str, Any] = field(default_factory=dict)


GRID = Published("grid_world_env")
MAZE = Published("maze_env", options={"actions": [0, 1, 2, 3]})
ECHO = Published("echo_env")


@dataclass(frozen=True)
class Told:
    """What one episode was asked and told: actions as they are sent, rewards, whether it ended, observations."""

    seed: int
    actions: list[dict[str, Any]]
    rewards: list[float]
    ended: bool
    observations: list[Any]


def python_of(environment: Published) -> Path:
    """Return the interpreter with its packages; skip the test if there is none."""
    path = GUESTS / environment.python / "bin" / "python"
    if not path.exists():
        pytest.skip(f"MESOCOSM_TEST_GUESTS has no {environment.python}/bin/python")
    return path


def ours(environment: Published, place: Path) -> tuple[Run, list[Told]]:
    """Play ten episodes of at most 30 random steps from the folder, and read them from the record."""
    options = {"python": str(python_of(environment)), "max_steps": 30, **environment.options}
    spec = RunSpec(
        BenchmarkRef("openenv", str(FOLDER / environment.name), options),
        ModelSettings("builtin/random"),
        selection=Selection(count=10),
        parallel=4,
    )
    with contextlib.closing(open_store(place)) as store:
        run = asyncio.run(session.run(spec, store))
        found = []
        for episode in store.episodes.list(run.id, limit=100).items:
            events = list(store.traces.events(episode.id))
            results = [event.payload for event in events if event.kind is Kind.STEP_RESULT]
            sent = [event.payload["action"] for event in events if event.kind is Kind.ACTION]
            found.append(
                Told(
                    episode.seed or 0,
                    [one if isinstance(one, dict) else {"action": one} for one in sent],
                    [one["reward"] for one in results],
                    any(one["terminated"] for one in results),
                    [event.payload["data"] for event in events if event.kind is Kind.OBSERVATION][1:],
                )
            )
    return run, found


@contextlib.contextmanager
def served(environment: Published) -> Iterator[str]:
    """Serve the folder by uvicorn, and yield the address."""
    port = free_port()
    # Some of them import their modules as parts of a package, some as modules of the folder.
    app, path = f"{environment.name}.server.app:app", {"PYTHONPATH": str(FOLDER / environment.name)}
    command = [str(python_of(environment)), "-m", "uvicorn", app, "--port", str(port)]
    url, end = f"http://127.0.0.1:{port}", time.monotonic() + STARTS_S
    with subprocess.Popen(
        command, cwd=FOLDER, env={**os.environ, **path}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            while True:
                assert process.poll() is None
                assert time.monotonic() < end
                with contextlib.suppress(OSError), urllib.request.urlopen(f"{url}/health", timeout=5):
                    break
                time.sleep(0.1)
            yield url
        finally:
            process.kill()


def theirs(environment: Published, told: list[Told]) -> dict[str, Any]:
    """Return what OpenEnv's own client is told for the same seeds and actions."""
    lines = "\n".join(json.dumps({"seed": one.seed, "actions": one.actions}) for one in told)
    with served(environment) as url:
        command = [str(python_of(environment)), str(HERE / "bare_loop.py"), url]
        done = subprocess.run(command, input=lines, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("environment", [GRID, MAZE, ECHO], ids=lambda one: one.name)
def test_rewards_and_ends_are_those_of_its_own_client(environment: Published, tmp_path: Path) -> None:
    run, told = ours(environment, tmp_path)
    bare = theirs(environment, told)
    assert (run.status, run.counts.errors, len(told)) == ("finished", 0, 10)
    assert sum(len(one.rewards) for one in told) > 20
    assert [[reward or 0.0 for reward in one] for one in bare["rewards"]] == [one.rewards for one in told]
    assert bare["ended"] == [one.ended for one in told]


@pytest.mark.parametrize("environment", [GRID, MAZE], ids=lambda one: one.name)
def test_observations_are_those_of_its_own_client(environment: Published, tmp_path: Path) -> None:
    _, told = ours(environment, tmp_path)
    bare = theirs(environment, told)["observations"]
    for one, seen in zip(told, bare, strict=True):
        # What is no observation, reward and end, stands elsewhere in the record.
        assert [{name: full[name] for name in data} for full, data in zip(seen, one.observations, strict=True)] == (
            one.observations
        )
        assert all(one.observations)
