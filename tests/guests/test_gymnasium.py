"""Gymnasium, the real one: the same rewards as its own loop, spaces, masks, pictures, names that are wrong."""

import asyncio
import base64
from typing import Any

import pytest
from tests.guests.real import bare, played, stepped

from mesocosm.core.failure import UsageError
from mesocosm.core.space import SpaceSpec, deviations

SEEDS = range(4)
TOY = ["Blackjack-v1", "FrozenLake-v1", "FrozenLake8x8-v1", "CliffWalking-v1", "CliffWalkingSlippery-v1", "Taxi-v4"]
CLASSIC = ["CartPole-v0", "CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1", "Acrobot-v1"]
BOX2D = ["LunarLander-v3", "LunarLanderContinuous-v3", "BipedalWalker-v3", "BipedalWalkerHardcore-v3", "CarRacing-v3"]
BODIES = [
    *("Ant-v5", "HalfCheetah-v5", "Hopper-v5", "Humanoid-v5", "HumanoidStandup-v5", "InvertedDoublePendulum-v5"),
    *("InvertedPendulum-v5", "Pusher-v5", "Reacher-v5", "Swimmer-v5", "Walker2d-v5"),
]
LOOP = """
import gymnasium, json, sys
given, found = json.load(sys.stdin), []
for episode in given["episodes"]:
    env = gymnasium.make(given["id"], **given.get("options", {}))
    env.reset(seed=episode["seed"])
    rewards, over = [], False
    for step in episode["steps"]:
        action = step["action"]
        if isinstance(env.action_space, gymnasium.spaces.Discrete):
            action = int(action)
        else:
            import numpy
            values = action if isinstance(action, list) else [action]
            action = numpy.array(values, dtype=env.action_space.dtype)
        _, reward, terminated, truncated, _ = env.step(action)
        rewards.append(float(reward))
        over = terminated or truncated
    found.append([rewards, bool(over)])
print(json.dumps(found))
"""


@pytest.mark.parametrize("name", [*TOY, *CLASSIC])
def test_equal_seeds_and_actions_give_the_rewards_of_its_own_loop(name: str) -> None:
    benchmark = stepped("gym", name)
    episodes = played(benchmark, SEEDS)
    expected = bare(LOOP, {"id": name, "episodes": episodes})
    assert [[[step["reward"] for step in one["steps"]], one["over"]] for one in episodes] == expected


@pytest.mark.parametrize("name", [*BOX2D, *BODIES])
def test_bodies_earn_the_rewards_of_its_own_loop(name: str) -> None:
    benchmark = stepped("gym", name)
    episodes = played(benchmark, [1], most=10)
    expected = bare(LOOP, {"id": name, "episodes": episodes})
    assert [[[step["reward"] for step in one["steps"]], one["over"]] for one in episodes] == expected


@pytest.mark.parametrize("name", [*TOY, *CLASSIC])
def test_observations_are_in_the_declared_space(name: str) -> None:
    benchmark = stepped("gym", name)
    (episode,) = played(benchmark, [0], most=10)
    assert benchmark.observation_space is not None
    assert [deviations(benchmark.observation_space, step["data"]) for step in episode["steps"]] == [
        [] for _ in episode["steps"]
    ]


def test_the_limit_of_steps_is_that_of_the_registration() -> None:
    benchmark = stepped("gym", "CartPole-v1")
    assert benchmark.info.max_steps == 500
    asyncio.run(benchmark.close())


def test_options_reach_the_environment_and_its_digest() -> None:
    plain, wide = stepped("gym", "FrozenLake-v1"), stepped("gym", "FrozenLake-v1", map_name="8x8")
    assert plain.info.digest != wide.info.digest
    (episode,) = played(wide, [0], most=1)
    assert wide.observation_space.json_schema["maximum"] == 63
    assert episode["first"] == 0
    asyncio.run(plain.close())


def test_actions_can_be_named() -> None:
    benchmark = stepped("gym", "FrozenLake-v1", names="left,down,right,up", is_slippery=False)
    assert isinstance(benchmark.action_space, SpaceSpec)
    assert benchmark.action_space.enum_values == ["left", "down", "right", "up"]

    async def right() -> Any:
        from mesocosm.core.task import Task

        environment = await benchmark.environment_of(Task("t", seed=0), "e", 0)
        await environment.reset()
        step = await environment.step("right")
        await environment.close()
        await benchmark.close()
        return step.observation.data

    assert asyncio.run(right()) == 1


def test_a_mask_narrows_the_actions_of_a_step_if_asked_for() -> None:
    (masked,) = played(stepped("gym", "Taxi-v4", mask=True), [3], most=20)
    (free,) = played(stepped("gym", "Taxi-v4"), [3], most=20)
    assert all(step["action"] in before for step, before in _with_legal(masked))
    assert isinstance(free["first"], int)


def _with_legal(episode: dict[str, Any]) -> list[tuple[dict[str, Any], list[str]]]:
    legal = [episode["first"]["legal_actions"], *(step["data"]["legal_actions"] for step in episode["steps"])]
    return list(zip(episode["steps"], legal, strict=False))


def test_text_keeps_what_only_a_colour_marks() -> None:
    (episode,) = played(stepped("gym", "FrozenLake-v1", render="ansi"), [0], most=1)
    assert episode["first"].startswith("<red>S</red>FFF\nFHFH")
    assert episode["first"].endswith("observation: 0")


def test_pictures_are_png() -> None:
    (episode,) = played(stepped("gym", "CartPole-v1", render="rgb_array"), [0], most=1)
    assert base64.b64decode(episode["first"]["image"]).startswith(b"\x89PNG\r\n\x1a\n")


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("FrozenLak-v1", {}, "no environment is called FrozenLak-v1; did you mean FrozenLake-v1?"),
        ("FrozenLake-v1", {"colour": "red"}, "unexpected keyword argument 'colour'"),
        ("FrozenLake-v1", {"names": "left,right"}, "names= has 2 names"),
    ],
)
def test_what_cannot_be_loaded_is_one_sentence(name: str, options: dict[str, Any], said: str) -> None:
    benchmark = stepped("gym", name, **options)
    with pytest.raises(UsageError) as failed:
        _ = benchmark.info
    assert said in str(failed.value)
    assert "\n" not in str(failed.value)
    asyncio.run(benchmark.close())


def test_the_catalogue_names_what_is_registered() -> None:
    benchmark = stepped("gym", "CartPole-v1")
    found: list[dict[str, Any]] = []
    _ = benchmark.info
    benchmark._started().tell("catalogue", lambda event: found.append(event["entry"]))
    assert {*TOY, *CLASSIC} <= {entry["id"] for entry in found}
    assert next(entry for entry in found if entry["id"] == "Taxi-v4")["run"] == "gym:Taxi-v4"
    asyncio.run(benchmark.close())
