"""TextArena, the real one: the rewards of its own loop, whatever runs beside it; games that cannot start here."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.guests.real import bare, played, stepped

from mesocosm.core.failure import UsageError

GAMES = [
    *("TicTacToe-v0", "ConnectFour-v0", "Nim-v0", "KuhnPoker-v0", "PigDice-v0", "IteratedPrisonersDilemma-v0"),
    *("Blackjack-v0", "FrozenLake-v0", "Mastermind-v0", "Minesweeper-v0", "2048-v0", "Sokoban-v0"),
    *("LiarsDice-v0", "Snake-v0"),
]
MOVES = ["[0]", "[1]", "[2]", "[3]", "[4]", "[up]", "[left]", "[check]", "[bet]", "[hit]", "[1 2]", "[roll]", "[hold]"]
LOOP = """
import json, random, sys, textarena
given, found = json.load(sys.stdin), []
for game in given:
    found.append([])
    for episode in game["episodes"]:
        random.seed(episode["seed"])
        env = textarena.make(game["name"])
        env.reset(num_players=game["players"], seed=episode["seed"])
        done = False
        for step in episode["steps"]:
            env.get_observation()
            done, _ = env.step(action=step["action"])
        rewards, info = env.close()
        found[-1].append([done, {f"Player {seat}": reward for seat, reward in (rewards or {}).items()}])
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def compared() -> dict[str, tuple[list[dict[str, Any]], list[Any]]]:
    """Return for each game what we played, and what its own loop gives for that."""
    given: list[dict[str, Any]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.guests.real.sample", lambda space, rng: rng.choice(MOVES))
        for name in GAMES:
            benchmark = stepped("textarena", name, opponent="self")
            players = len(benchmark.info.card["seats"])
            given.append({"name": name, "players": players, "episodes": played(benchmark, range(4), most=40)})
    found = bare(LOOP, given)
    return {one["name"]: (one["episodes"], there) for one, there in zip(given, found, strict=True)}


@pytest.mark.parametrize("name", GAMES)
def test_equal_seeds_and_actions_give_the_rewards_of_its_own_loop(
    name: str, compared: dict[str, tuple[list[dict[str, Any]], list[Any]]]
) -> None:
    episodes, expected = compared[name]
    for episode, (done, rewards) in zip(episodes, expected, strict=True):
        assert episode["over"] == done
        if done:
            assert episode["steps"][-1]["info"]["rewards"] == rewards


def test_what_runs_beside_an_episode_does_not_change_it() -> None:
    together = played(stepped("textarena", "TicTacToe-v0"), [3, 4, 5])
    alone = [played(stepped("textarena", "TicTacToe-v0"), [seed])[0] for seed in (3, 4, 5)]
    assert together == alone


def test_an_observation_says_what_is_new() -> None:
    (episode,) = played(stepped("textarena", "Blackjack-v0"), [0], most=2)
    assert "Blackjack" in episode["first"]
    assert episode["first"] not in episode["steps"][0]["data"]


def test_all_seats_can_be_played_by_the_model() -> None:
    benchmark = stepped("textarena", "TicTacToe-v0", opponent="self")
    assert benchmark.info.vow["techniques"][0]["params"] == {"roles": ["Player 0", "Player 1"]}
    asyncio.run(benchmark.close())


def test_a_game_without_an_end_has_no_result() -> None:
    (episode,) = played(stepped("textarena", "Poker-v0", max_steps=3, seat=0), [0], most=9)
    last = episode["steps"][-1]
    assert len(episode["steps"]) == 3
    assert last["reward"] != last["reward"]
    assert "was not over after 3 turns" in last["info"]["reason"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("TicTacTo-v0", "no game is called TicTacTo-v0; did you mean TicTacToe-v0?"),
        ("Debate-v0", "OPENROUTER_API_KEY"),
        ("UsedCarNegotiation-v0", "No such file"),
    ],
)
def test_what_cannot_start_says_what_it_lacks(name: str, said: str) -> None:
    benchmark = stepped("textarena", name)
    with pytest.raises(UsageError) as failed:
        _ = benchmark.info
    assert said in str(failed.value)
    asyncio.run(benchmark.close())


def test_a_word_list_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    benchmark = stepped("textarena", "Wordle-v0")
    with pytest.raises(UsageError, match=r"needs the word list 'words' of nltk: python -m nltk.downloader words"):
        _ = benchmark.info
    asyncio.run(benchmark.close())


def test_the_catalogue_names_every_game_once() -> None:
    benchmark = stepped("textarena", "TicTacToe-v0")
    found: list[dict[str, Any]] = []
    _ = benchmark.info
    benchmark._started().tell("catalogue", lambda event: found.append(event["entry"]))
    names = [entry["id"] for entry in found]
    assert len(names) == len(set(names)) >= 95
    assert not any(name.endswith(("-raw", "-train")) for name in names)
    asyncio.run(benchmark.close())
