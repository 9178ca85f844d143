"""`mesocosm run fork`: an episode is played again up to a step, and goes on with something else."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mesocosm.core.event import Kind
from mesocosm.store import open_store

if TYPE_CHECKING:
    from tests.cli.conftest import Invoke, Outcome

WORLD = """
from mesocosm.environments.sdk import BaseEnv, StepResult

class Count(BaseEnv):
    title = "Count"
    starts = 0

    def reset(self, seed=None, **params):
        type(self).starts += 1
        self.at = 0
        return {"at": 0}

    def step(self, action):
        self.at += 1 if action == "up" else -1 if action == "down" else 0
        over = action == "stop"
        return StepResult({"at": self.at}, float(self.at), over, False, {"at": self.at})

class Moody(Count):
    def step(self, action):
        found = super().step(action)
        return StepResult({**found.observation, "mood": self.starts}, found.reward, found.terminated, False, {})
"""


@pytest.fixture
def there(mesocosm: "Invoke", tmp_path: Path) -> tuple[str, str]:
    """A finished run of the environment in the words that name its results: up, up, down, stop."""
    (tmp_path / "world.py").write_text(WORLD)
    words = ("--results-dir", str(tmp_path / "results"))
    play(mesocosm, tmp_path, words, "Count")
    return words


def script(folder: Path, *actions: Any) -> str:
    """Return the name of a model that acts like this."""
    path = folder / f"{'-'.join(map(str, actions))}.json"
    path.write_text(json.dumps({"*": actions}))
    return f"builtin/scripted:{path}"


def play(mesocosm: "Invoke", folder: Path, words: tuple[str, str], world: str) -> None:
    model = script(folder, "up", "up", "down", "stop")
    done = mesocosm("run", f"{folder / 'world.py'}:{world}", "-m", model, "--seeds", "7", "--no-view", *words)
    assert done.code == 0, done.err


def fork(mesocosm: "Invoke", there: tuple[str, str], *words: str) -> "Outcome":
    return mesocosm("run", "fork", "last/0", "--no-view", *words, *there)


def actions(there: tuple[str, str], place: int = 0) -> list[Any]:
    """Return the actions of the newest run, each with how the reply before it ended: `recorded` if it is an old one."""
    store = open_store(there[1])
    try:
        run = store.runs.list(limit=place + 1).items[place]
        (episode,) = store.episodes.list(run.id).items
        events = list(store.traces.events(episode.id))
        asked = [event.payload["finish_reason"] for event in events if event.kind is Kind.MODEL_CALL]
        done = [event.payload["action"] for event in events if event.kind is Kind.ACTION]
        return list(zip(asked, done, strict=False))
    finally:
        store.close()


def test_the_first_steps_are_as_recorded_and_another_model_goes_on(
    mesocosm: "Invoke", there: tuple[str, str], tmp_path: Path
) -> None:
    before = mesocosm("run", "show", "last", "--json", *there).document["run"]

    outcome = fork(mesocosm, there, "--at", "3", "-m", script(tmp_path, "?", "?", "up", "stop"))

    assert outcome.code == 0, outcome.err
    assert actions(there) == [("recorded", "up"), ("recorded", "up"), ("stop", "up"), ("stop", "stop")]
    again = mesocosm("run", "show", before["id"], "--json", *there).document["run"]
    assert again == before
    shown = mesocosm("run", "show", "last", *there).out
    assert f"(run {before['id']}) at step 3" in shown
    assert "fork of" in mesocosm("run", "list", *there).out


def test_another_agent_gets_the_recorded_actions(mesocosm: "Invoke", there: tuple[str, str], tmp_path: Path) -> None:
    outcome = fork(mesocosm, there, "--at", "3", "--agent", "loop", "-m", script(tmp_path, "?", "?", "stop"))

    assert outcome.code == 0, outcome.err
    assert actions(there) == [("recorded", "up"), ("recorded", "up"), ("stop", "stop")]


def test_another_action_is_done_at_the_step_and_the_model_goes_on(
    mesocosm: "Invoke", there: tuple[str, str], tmp_path: Path
) -> None:
    outcome = fork(mesocosm, there, "--at", "2", "--action", "down", "-m", script(tmp_path, "?", "?", "stop"))

    assert outcome.code == 0, outcome.err
    assert [action for _, action in actions(there)] == ["up", "down", "stop"]


def test_the_same_fork_again_is_the_one_that_is_there(
    mesocosm: "Invoke", there: tuple[str, str], tmp_path: Path
) -> None:
    run = mesocosm("run", "show", "last", "--json", *there).document["run"]["id"]
    words = (f"{run}/0", "--at", "4", "-m", script(tmp_path, "?", "?", "?", "stop"), "--no-view", "--json", *there)

    first, again, fresh = (mesocosm("run", "fork", *words, *more).document for more in ((), (), ("--fresh",)))

    ids = [one["run"]["id"] for one in (first, again, fresh)]
    assert ids[0] == ids[1] != ids[2]


def test_an_environment_that_does_not_repeat_itself_is_named_with_the_step_and_nothing_goes_on(
    mesocosm: "Invoke", there: tuple[str, str], tmp_path: Path
) -> None:
    play(mesocosm, tmp_path, there, "Moody")

    outcome = fork(mesocosm, there, "--at", "3", "-m", script(tmp_path, "?", "?", "stop"))

    assert outcome.code == 1
    assert "this environment does not repeat itself: step 1 differs (the observation was" in outcome.out
    assert [action for _, action in actions(there)] == ["up"]


@pytest.mark.parametrize(("at", "words"), [("9", "has no step 9 to fork at: it has 4"), ("0", "0 is not in the range")])
def test_a_step_that_is_not_there_is_refused(mesocosm: "Invoke", there: tuple[str, str], at: str, words: str) -> None:
    outcome = fork(mesocosm, there, "--at", at)

    assert outcome.code == 2
    assert words in outcome.err


def test_a_fork_is_not_resumed_as_the_run_that_it_comes_from(
    mesocosm: "Invoke", there: tuple[str, str], tmp_path: Path
) -> None:
    fork(mesocosm, there, "--at", "2", "-m", script(tmp_path, "?", "stop"))

    outcome = mesocosm("run", "rescore", "last", *there)

    assert outcome.code == 2
    assert "mesocosm run fork" in outcome.err


def test_a_run_without_steps_cannot_be_forked(mesocosm: "Invoke", tmp_path: Path) -> None:
    rows = tmp_path / "q.csv"
    rows.write_text("question,answer\n1 + 1?,2\n")
    there = ("--results-dir", str(tmp_path / "results"))
    asked = ("--prompt", "{{question}}", "--grader", "exact", "-m", "builtin/oracle", "--no-view")
    assert mesocosm("eval", "ask", rows, *asked, *there).code == 0

    outcome = fork(mesocosm, there, "--at", "1")

    assert outcome.code == 2
    assert "has no steps to begin with" in outcome.err
