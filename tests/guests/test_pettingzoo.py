"""PettingZoo, the real one: the rewards of its own loop, seats, legal actions, opponents."""

import asyncio
from typing import Any

import pytest
from tests.guests.real import bare, played, stepped

from mesocosm.core.failure import UsageError

GAMES = ["tictactoe_v3", "connect_four_v3", "rps_v2", "chess_v6", "go_v5"]
OF_RLCARD = ["leduc_holdem_v4", "texas_holdem_v4", "texas_holdem_no_limit_v6"]
LOOP = """
import importlib, json, sys
given, found = json.load(sys.stdin), []
module = importlib.import_module("pettingzoo.classic." + given["name"])
for episode in given["episodes"]:
    env = module.env()
    env.reset(seed=episode["seed"])
    actions = iter(step["action"] for step in episode["steps"])
    totals = dict.fromkeys(env.possible_agents, 0.0)
    for agent in env.agent_iter():
        _, reward, terminated, truncated, _ = env.last()
        totals[agent] += reward
        if terminated or truncated:
            env.step(None)
            continue
        action = next(actions, None)
        if action is None:
            break
        env.step(int(action))
    found.append(totals)
print(json.dumps(found))
"""


def _same_as_its_loop(name: str, most: int) -> None:
    episodes = played(stepped("pettingzoo", name, opponent="self"), range(4), most)
    expected = bare(LOOP, {"name": name, "episodes": episodes})
    for episode, totals in zip(episodes, expected, strict=True):
        seat = episode["steps"][-1]["info"]["seat"]
        assert sum(step["reward"] for step in episode["steps"]) == pytest.approx(totals[seat])
        if episode["over"]:
            assert episode["steps"][-1]["info"]["rewards"] == pytest.approx(totals)


@pytest.mark.parametrize("name", GAMES)
def test_equal_seeds_and_actions_give_the_rewards_of_its_own_loop(name: str) -> None:
    _same_as_its_loop(name, most=120)


@pytest.mark.parametrize("name", OF_RLCARD)
def test_card_games_give_the_rewards_of_their_own_loop(name: str) -> None:
    _same_as_its_loop(name, most=60)


def test_the_seat_moves_on_with_seed_and_trial() -> None:
    benchmark = stepped("pettingzoo", "tictactoe_v3")

    async def seat(seed: int, trial: int) -> str:
        from mesocosm.core.task import Task

        environment = await benchmark.environment_of(Task("t", seed=seed), f"{seed}/{trial}", trial)
        observation = await environment.reset()
        await environment.close()
        return str(observation.info["seat"])

    async def every() -> list[str]:
        found = [await seat(seed, trial) for seed in (0, 1) for trial in (0, 1)]
        await benchmark.close()
        return found

    assert asyncio.run(every()) == ["player_1", "player_2", "player_2", "player_1"]


def test_a_seat_can_be_fixed() -> None:
    episodes = played(stepped("pettingzoo", "connect_four_v3", seat=1), range(3))
    assert {episode["first"]["seat"] for episode in episodes} == {"player_1"}


def test_the_random_opponent_makes_the_same_moves_again() -> None:
    first, second = (played(stepped("pettingzoo", "connect_four_v3"), range(3)) for _ in range(2))
    assert first == second


def test_only_legal_actions_are_offered_and_no_move_is_invalid() -> None:
    for episode in played(stepped("pettingzoo", "tictactoe_v3"), range(6)):
        legal = [episode["first"], *(step["data"] for step in episode["steps"])]
        assert all(
            step["action"] in before["legal_actions"] for step, before in zip(episode["steps"], legal, strict=False)
        )
        assert episode["steps"][-1]["info"]["invalid_move"] == 0.0


def test_an_invalid_move_loses_as_in_the_framework() -> None:
    benchmark = stepped("pettingzoo", "tictactoe_v3", opponent="self", seat=0)

    async def play() -> Any:
        from mesocosm.core.task import Task

        environment = await benchmark.environment_of(Task("t", seed=0), "e", 0)
        await environment.reset()
        for action in ("0", "1"):
            await environment.step(action)
        step = await environment.step("0")
        await environment.close()
        await benchmark.close()
        return step

    step = asyncio.run(play())
    assert (step.reward, step.terminated, step.info["invalid_move"], step.info["won"]) == (-1.0, True, 1.0, 0.0)


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("connect_for_v3", {}, "did you mean connect_four_v3?"),
        ("tictactoe_v3", {"opponent": "openai/x"}, "opponent=judge with the opponent as --judge MODEL"),
        ("tictactoe_v3", {"seat": 2}, "there are 0 to 1"),
    ],
)
def test_what_cannot_be_loaded_is_one_sentence(name: str, options: dict[str, Any], said: str) -> None:
    benchmark = stepped("pettingzoo", name, **options)
    with pytest.raises(UsageError) as failed:
        _ = benchmark.info
    assert said in str(failed.value)
    asyncio.run(benchmark.close())
