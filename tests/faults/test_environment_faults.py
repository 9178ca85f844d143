"""An adapter that does harm: the episode fails with its cause, everything else goes on, and no process stays behind."""

import asyncio
import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mesocosm.core.episode import Episode, EpisodeStatus
from mesocosm.core.event import Kind
from mesocosm.core.failure import RULES, Cause, UsageError
from mesocosm.core.model import ModelSettings
from mesocosm.core.ports import Observer, Progress
from mesocosm.core.run import BenchmarkRef, Run, RunSpec, RunStatus, Selection
from mesocosm.engine import session
from mesocosm.environments import restarts
from mesocosm.interop.replay import all_episodes
from mesocosm.store import Store, open_store

HERE = Path(__file__).parent
MANIFEST = {
    "adapter": "adapter.py",
    "name": "Harmful",
    "description": "Three steps, some of them harmful.",
    "binding_vow": {
        "version": "1.0.0",
        "tier": "tier1",
        "observation_space": {"type": "json"},
        "action_space": {"type": "discrete", "enum_values": ["up", "down"]},
        "reward": {"type": "scalar"},
        "episode": {"max_steps": 9},
    },
    "scoring": {
        "primary_metric": "won",
        "metrics": [{"name": "won", "type": "terminal_field", "field": "won", "aggregation": "pass_rate"}],
    },
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "results.sqlite")
    yield opened
    opened.close()


def environment_in(place: Path) -> Path:
    directory = place / "env"
    directory.mkdir()
    shutil.copy(HERE / "harmful_adapter.py", directory / "adapter.py")
    (directory / "benchanything.json").write_text(json.dumps(MANIFEST))
    return directory


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    return environment_in(tmp_path)


def spec(environment: Path, seeds: Sequence[int], parallel: int = 1, **options: Any) -> RunSpec:
    return RunSpec(
        BenchmarkRef("environment", str(environment), {"step_timeout": 5.0, **options}),
        ModelSettings("builtin/random"),
        selection=Selection(tuple(seeds)),
        parallel=parallel,
    )


def by_seed(store: Store, run: Run) -> dict[int | None, Episode]:
    return {episode.seed: episode for episode in all_episodes(store, run.id)}


def processes(environment: Path) -> list[int]:
    """Return the ids of all processes that the adapter ever ran as."""
    return [int(line) for line in (environment / "pids").read_text().split()]


def living(environment: Path) -> list[int]:
    return [pid for pid in processes(environment) if Path(f"/proc/{pid}").exists()]


@dataclass(frozen=True)
class Harmed:
    """What is left of a run in which every kind of harm was done once."""

    run: Run
    episodes: dict[int | None, Episode]
    errors: dict[int | None, list[Any]]
    living: list[int]


@pytest.fixture(scope="module")
def harmed(tmp_path_factory: pytest.TempPathFactory) -> Harmed:
    place = tmp_path_factory.mktemp("harmed")
    environment = environment_in(place)
    store = open_store(place / "results.sqlite")
    # The crash comes last but one: what was asked of the process before cannot be lost with it.
    run = asyncio.run(session.run(spec(environment, (0, *range(2, 12), 1, 12)), store))
    episodes = by_seed(store, run)
    errors = {
        seed: [event.payload for event in store.traces.events(episode.id) if event.kind is Kind.ERROR]
        for seed, episode in episodes.items()
    }
    store.close()
    return Harmed(run, episodes, errors, living(environment))


def test_every_kind_of_harm_costs_its_own_episode_alone(harmed: Harmed) -> None:
    assert harmed.run.status is RunStatus.PARTIAL
    well = {seed for seed, episode in harmed.episodes.items() if episode.status is EpisodeStatus.COMPLETED}
    assert well == {0, 12}
    assert {harmed.episodes[seed].total_reward for seed in well} == {3.0}
    assert harmed.run.primary is not None
    assert (harmed.run.primary.value, harmed.run.primary.n_scored) == (1.0, 2)
    assert sum(harmed.run.primary.missing.values()) == 11
    assert harmed.living == []


@pytest.mark.parametrize(
    ("seed", "cause", "words", "steps"),
    [
        (1, Cause.ENVIRONMENT_UNREACHABLE, "adapter.py ended with exit code 3", 1),
        (2, Cause.ENVIRONMENT_TIMEOUT, "no complete answer in this time", 1),
        (3, Cause.ENVIRONMENT_INVALID, "status 200", 1),
        (4, Cause.ENVIRONMENT_ERROR, "status 500: the board is locked", 1),
        (5, Cause.ENVIRONMENT_UNREACHABLE, "", 1),
        (6, Cause.ENVIRONMENT_INVALID, "larger than", 1),
        (7, Cause.ENVIRONMENT_INVALID, "status 200", 1),
        (8, Cause.ENVIRONMENT_UNREACHABLE, "", 1),
        (9, Cause.ENVIRONMENT_INVALID, "a lot", 1),
        (10, Cause.ENVIRONMENT_UNREACHABLE, "status 503: no board left", 0),
        (11, Cause.ENVIRONMENT_INVALID, "status 200", 0),
    ],
)
def test_a_failure_says_what_happened_in_the_servers_own_words(
    harmed: Harmed, seed: int, cause: Cause, words: str, steps: int
) -> None:
    episode = harmed.episodes[seed]
    failure = episode.failure
    assert failure is not None
    status = EpisodeStatus.CANCELLED if RULES[cause].pending else EpisodeStatus.FAILED
    assert (episode.status, failure.cause, episode.valid) == (status, cause, False)
    assert words in failure.message
    assert ("/step" if steps else "/reset") in failure.message
    # Where we close the connection in the middle of an answer, the adapter's server prints that last.
    last = ("harm done" if steps else "reset of /reset", "ConnectionResetError", "BrokenPipeError")
    assert any(said in failure.stderr for said in last)
    # What was reached before the harm is kept.
    assert (episode.steps, episode.total_reward) == (steps, float(steps))
    assert [payload["cause"] for payload in harmed.errors[seed]] == [cause]
    assert {score.missing for score in episode.scores} == {cause}


async def test_harm_beside_other_episodes_is_borne_too(store: Store, environment: Path) -> None:
    run = await asyncio.wait_for(session.run(spec(environment, range(13), parallel=6), store), 120)
    assert run.status is RunStatus.PARTIAL
    owed = [episode for episode in store.episodes.list(run.id).items if episode.status is EpisodeStatus.CANCELLED]
    assert all(episode.failure is not None and RULES[episode.failure.cause].pending for episode in owed)
    assert by_seed(store, run)[12].status is EpisodeStatus.COMPLETED
    assert living(environment) == []


async def test_garbage_is_kept_as_evidence(store: Store, environment: Path) -> None:
    run = await session.run(spec(environment, (3,)), store)
    failure = by_seed(store, run)[3].failure
    assert failure is not None
    assert "Traceback of some framework" in failure.message + failure.detail


async def test_an_adapter_that_crashes_again_and_again_ends_the_run_with_the_rest_owed(
    store: Store, environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restarts, "MOST", 3)
    run = await asyncio.wait_for(session.run(spec(environment, [1] * 20), store), 120)
    assert (run.status, run.counts.failed) == (RunStatus.FAILED, 0)
    assert "adapter.py ended with exit code 3, 4 times within" in run.error
    assert "harm done: crash" in run.error
    assert (run.counts.pending, run.holder) == (20, None)
    assert len(processes(environment)) == 4
    assert living(environment) == []


async def test_an_adapter_that_does_not_start_is_told_with_its_last_words(store: Store, environment: Path) -> None:
    (environment / "adapter.py").write_text("import no_such_game\n")
    run = await session.run(spec(environment, (0,)), store)
    assert (run.status, run.counts.pending) == (RunStatus.FAILED, 1)
    assert "No module named 'no_such_game'" in run.error


async def test_a_mended_adapter_is_another_benchmark(store: Store, environment: Path) -> None:
    source = environment / "adapter.py"
    good = source.read_text()
    source.write_text("raise SystemExit('not today')\n")
    run = await session.run(spec(environment, (0,)), store)
    assert "not today" in run.error
    source.write_text(good)
    with pytest.raises(UsageError, match="content digest"):
        await session.resume(run.id, store)


async def test_a_cancelled_run_takes_the_adapter_along(store: Store, environment: Path) -> None:
    started = asyncio.Event()

    class Waiting(Observer):
        def run_started(self, progress: Progress) -> None:
            started.set()

    running = asyncio.create_task(session.run(spec(environment, [2] * 9, step_timeout=600.0), store, [Waiting()]))
    await asyncio.wait_for(started.wait(), 120)
    assert len(living(environment)) == 1
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(running, 120)
    assert living(environment) == []
