"""Runs of OpenEnv environments: every episode once, whatever happens to the server."""

from collections import Counter as Times
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Outcome, invoke
from tests.environments.openenv.open_env_server import ACTION, BadAction, Counter, OpenEnvServer

from mesocosm.core.backoff import Backoff
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import BenchmarkRef, Limits, Run, RunSpec, Selection
from mesocosm.engine import session
from mesocosm.sandboxes.port import free_port
from mesocosm.store import open_store

WORDS: dict[str, Any] = {**ACTION, "properties": {"word": {"enum": ["up", "down"]}}}


class Server(OpenEnvServer):
    """Its actions are two words."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.action = WORDS


def play(server: OpenEnvServer | str, results: Path, *words: str, model: str = "builtin/random") -> Outcome:
    url = server if isinstance(server, str) else server.url
    return invoke("run", f"openenv:{url}", "-m", model, "--results-dir", results, *words)


def last(results: Path) -> Run:
    store = open_store(results)
    try:
        return store.runs.get(max(store.runs.ids()))
    finally:
        store.close()


def seeds(server: OpenEnvServer) -> Times[int]:
    return Times(reset["seed"] for reset in server.resets)


def test_every_seed_is_played_once_by_as_many_as_the_server_takes(tmp_path: Path) -> None:
    with Server(most=4) as server:
        done = play(server, tmp_path, "-n", "40", "--parallel", "16")
        assert done.code == 0, done.err
        assert server.at_once == 4
        assert seeds(server) == dict.fromkeys(range(40), 1)
    run = last(tmp_path)
    assert (run.status, run.counts.completed, run.benchmark, run.benchmark_version) == (
        "finished",
        40,
        "counter",
        "0.3",
    )
    assert "takes at most 4 episodes at a time" in done.err


def test_equal_seeds_and_actions_give_equal_rewards(tmp_path: Path) -> None:
    with Server() as server:
        play(server, tmp_path, "-n", "12", "--fresh")
        play(server, tmp_path, "-n", "12", "--fresh", "--parallel", "1")
    store = open_store(tmp_path)
    runs = [store.runs.get(run_id) for run_id in sorted(store.runs.ids())]
    rows = [{row.task: row.value for row in store.episodes.score_rows(run.id, "reward")} for run in runs]
    store.close()
    assert len(rows[0]) == 12
    assert rows[0] == rows[1]


class Fragile(Counter):
    """Loses the connections of the first three steps."""

    losses = 3

    def step(self, action: Mapping[str, Any]) -> dict[str, Any]:
        if Fragile.losses:
            Fragile.losses -= 1
            raise ConnectionAbortedError
        return super().step(action)


def test_episodes_that_lose_their_connection_are_played_again(tmp_path: Path) -> None:
    Fragile.losses = 3
    with Server(Fragile) as server:
        done = play(server, tmp_path, "-n", "12", "--parallel", "4")
        assert done.code == 0, done.err
        assert sum(seeds(server).values()) == 12 + 3
    run = last(tmp_path)
    assert (run.counts.completed, run.counts.errors) == (12, 0)


async def test_a_run_goes_on_where_a_lost_server_stopped_it(tmp_path: Path) -> None:
    class Dying(Counter):
        def step(self, action: Mapping[str, Any]) -> dict[str, Any]:
            if len(server.actions) == 30:
                server.down = True
            if server.down:
                raise ConnectionAbortedError
            return super().step(action)

    store = open_store(tmp_path)
    with Server(Dying) as server:
        spec = RunSpec(
            BenchmarkRef("openenv", server.url),
            ModelSettings("builtin/random"),
            selection=Selection(count=40),
            limits=Limits(outage_seconds=0.05),
            parallel=2,
        )
        settings = session.SessionOptions(backoff=Backoff(base=0.0))
        stopped = await session.run(spec, store, settings=settings)
        assert (stopped.status, "the environment counter has not answered" in stopped.error) == ("stopped", True)
        assert 0 < stopped.counts.completed < 40
        server.resets.clear()
        server.down = False
        done = await session.resume(stopped.id, store, settings=settings)
        assert len(seeds(server)) == sum(seeds(server).values()) == 40 - stopped.counts.completed
    store.close()
    assert (done.status, done.counts.completed) == ("finished", 40)


def test_a_server_that_is_not_there_is_said_in_plain_words(tmp_path: Path) -> None:
    done = play(f"http://127.0.0.1:{free_port()}", tmp_path)
    assert done.code == 4
    assert "no OpenEnv server answers at http://127.0.0.1:" in done.err


def test_a_url_with_a_password_is_refused(tmp_path: Path) -> None:
    done = play("http://me:secret-word@127.0.0.1:1", tmp_path)
    assert done.code == 2
    assert "secret-word" not in done.err


def test_without_any_reward_there_is_no_score(tmp_path: Path) -> None:
    class Silent(Counter):
        def step(self, action: Mapping[str, Any]) -> dict[str, Any]:
            return {**super().step(action), "reward": None}

    with Server(Silent) as server:
        play(server, tmp_path, "-n", "3")
    primary = last(tmp_path).primary
    assert primary is not None
    assert (primary.value, primary.missing) == (None, {"value_missing": 3})


def test_an_action_that_the_environment_refuses_counts_as_the_worst_value(tmp_path: Path) -> None:
    class Strict(Counter):
        def step(self, action: Mapping[str, Any]) -> dict[str, Any]:
            if self.goal == 3:
                raise BadAction({"type": "enum", "loc": ["word"], "msg": "not now", "input": action["word"]})
            return super().step(action)

    with Server(Strict) as server:
        done = play(server, tmp_path, "-n", "6")
        assert done.code == 0, done.err
    primary = last(tmp_path).primary
    assert primary is not None
    assert (primary.n_scored, primary.n_worst, primary.missing) == (6, 2, {})


def test_an_episode_ends_after_so_many_steps(tmp_path: Path) -> None:
    class Endless(Counter):
        def step(self, action: Mapping[str, Any]) -> dict[str, Any]:
            return {**super().step(action), "reward": 1, "done": False}

    with Server(Endless) as server:
        play(server, tmp_path, "-n", "2", "-P", "max_steps=7")
        assert len(server.actions) == 14
    run = last(tmp_path)
    assert (run.counts.truncated, run.primary and run.primary.value) == (2, 7.0)


def test_tasks_of_the_server_are_played_by_their_index(tmp_path: Path) -> None:
    with Server() as server:
        server.splits = {"train": 5, "test": 3}
        done = play(server, tmp_path)
        assert done.code == 0, done.err
        played = sorted((reset["split"], reset["index"]) for reset in server.resets)
        assert played == [("test", 0), ("test", 1), ("test", 2)]
        assert all("seed" not in reset for reset in server.resets)
        server.resets.clear()
        play(server, tmp_path, "-P", "split=train", "-n", "4")
        assert sorted((reset["split"], reset["index"]) for reset in server.resets) == [("train", i) for i in range(4)]


def test_seeds_are_played_all_the_same_if_asked_for(tmp_path: Path) -> None:
    with Server() as server:
        server.splits = {"test": 3}
        play(server, tmp_path, "-n", "4", "-P", "tasks=false")
        assert seeds(server) == dict.fromkeys(range(4), 1)
        assert play(server, tmp_path, "-P", "tasks=false", "-P", "split=test").code == 2


def test_an_unknown_split_is_said_with_those_that_there_are(tmp_path: Path) -> None:
    with Server() as server:
        server.splits = {"train": 5}
        done = play(server, tmp_path, "-P", "split=dev")
    assert done.code == 2
    assert "has no split 'dev'; it has train" in done.err


@pytest.mark.parametrize("option", ["max_steps=0", "no_such=1", "reset={seed=1}"])
def test_options_that_cannot_work_are_refused(tmp_path: Path, option: str) -> None:
    with Server() as server:
        assert play(server, tmp_path, "-P", option).code == 2
        assert server.resets == []
