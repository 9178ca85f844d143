"""Episodes for one player outside of a run, and actions as objects."""

import pytest
from tests.environments.guessing import Fragile, Free, Guess

from mesocosm.core.failure import EpisodeError
from mesocosm.core.run import Selection
from mesocosm.core.space import parse_space
from mesocosm.core.task import Task
from mesocosm.environments.inprocess import ClassBenchmark
from mesocosm.environments.player_session import ActionForm, InvalidAction, NotPlaying, PlayerSession


def session(env_class: type = Guess) -> PlayerSession:
    return PlayerSession(ClassBenchmark(env_class))


async def test_an_episode_is_played_to_its_end() -> None:
    playing = session()
    first = await playing.reset(3)
    assert (first.observation.data, first.system_prompt, first.reward) == (
        "Which number?",
        "Reply with a number.",
        None,
    )
    goal = playing._environment._env.goal  # type: ignore[union-attr]
    last = await playing.step({"action": goal})
    assert (last.reward, last.terminated, last.truncated, last.info) == (1.0, True, False, {"goal": goal})
    assert playing.state()["done"]
    with pytest.raises(NotPlaying, match="is over after 1 steps; reset begins another"):
        await playing.step({"action": goal})


async def test_the_declared_limit_cuts_an_episode_off_as_in_a_run() -> None:
    playing = session()
    await playing.reset(3)
    goal = playing._environment._env.goal  # type: ignore[union-attr]
    wrong = "1" if goal == "0" else "0"
    played = [await playing.step({"action": wrong}) for _ in range(5)]
    assert [one.done for one in played] == [False] * 4 + [True]
    assert played[-1].truncated
    assert played[-1].info == {"reason": "step_limit"}
    assert playing.state()["total_reward"] == pytest.approx(-0.5)


async def test_equal_seeds_are_equal_episodes_and_without_one_a_seed_is_drawn() -> None:
    playing = session()
    goals = []
    for seed in (7, 7):
        await playing.reset(seed)
        goals.append(playing._environment._env.goal)  # type: ignore[union-attr]
    assert goals[0] == goals[1]
    await playing.reset()
    assert playing.seed is not None


async def test_nothing_is_played_before_a_reset() -> None:
    with pytest.raises(NotPlaying, match="no episode has begun; reset first"):
        await session().step({"action": "1"})


async def test_a_failure_of_the_environment_is_told_and_a_reset_begins_anew() -> None:
    playing = session(Fragile)
    await playing.reset(0)
    with pytest.raises(EpisodeError, match="no luck"):
        await playing.step({"x": "luck", "metadata": ""})
    assert (await playing.reset(0)).observation.data == {"board": [1, 2], "metadata": "mine"}


async def test_a_seed_without_a_task_is_refused() -> None:
    class Listed(Free):
        @classmethod
        def tasks(cls) -> list[Task]:
            return [Task("one", seed=5)]

    playing = session(Listed)
    with pytest.raises(InvalidAction, match="there is no task with seed 1"):
        await playing.reset(1)
    await playing.reset()
    assert playing.seed == 5
    assert next(iter(playing.benchmark.tasks(Selection()))).id == "one"


def form(raw: object) -> ActionForm:
    return ActionForm(None if raw is None else parse_space(raw, "space", []))


def test_an_action_that_is_no_object_is_one_field() -> None:
    discrete = form(Guess.action_space)
    assert discrete.schema["properties"]["action"]["enum"][:2] == ["0", "1"]
    assert discrete.schema["required"] == ["action"]
    assert discrete.action({"action": "3"}) == "3"
    assert discrete.action({"action": 3, "metadata": {}}) == "3"


def test_the_fields_of_an_object_are_passed_as_they_are() -> None:
    composite = form(Fragile.action_space)
    assert set(composite.schema["properties"]) == {"x", "metadata"}
    assert composite.action({"x": "a", "metadata": "b"}) == {"x": "a", "metadata": "b"}


def test_an_undeclared_action_may_be_anything() -> None:
    assert form(None).action({"action": [1, {"a": None}]}) == [1, {"a": None}]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "action: is missing"),
        ({"action": "11"}, "action: must be one of"),
        ({"action": True}, "action: must be"),
        ({"action": "1", "more": 1}, "more: is not a field of an action"),
    ],
)
def test_an_action_outside_the_declared_space_is_refused(fields: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidAction, match=said):
        form(Guess.action_space).action(fields)


def test_an_environment_that_reads_any_reply_gets_it() -> None:
    space = parse_space(Guess.action_space, "space", [])
    assert ActionForm(space, checked=False).action({"action": "I say 3"}) == "I say 3"
