"""Environments that agents play step by step in a guest: rules of a step, opponents, roles, deaths of the guest."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mesocosm as mc
from mesocosm.core.event import Kind
from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.core.registry import SOURCES
from mesocosm.core.run import BenchmarkRef
from mesocosm.core.task import Task
from mesocosm.guests.kinds import GuestKind
from mesocosm.guests.opening import open_guest
from mesocosm.guests.stepped import SteppedGuest

KIND = GuestKind(
    "counting", "Counting", "N", ("json",), (), str(Path(__file__).with_name("counting_game.py")), stepped=True
)


def opened(**options: Any) -> SteppedGuest:
    benchmark = open_guest(KIND, BenchmarkRef("counting", "x", options))
    assert isinstance(benchmark, SteppedGuest)
    return benchmark


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Run the game with a model."""
    monkeypatch.setattr(SOURCES, "_own", dict(SOURCES._own))
    SOURCES.register("counting")(lambda ref: open_guest(KIND, ref))

    def run(store: Path, model: str, **given: Any) -> Any:
        return mc.evaluate("counting:x", model=model, store=store, **given)

    return run


async def _steps(benchmark: SteppedGuest, *actions: Any, seed: int = 0) -> list[Any]:
    environment = await benchmark.environment_of(Task("t", seed=seed), "e", 0)
    try:
        return [await environment.reset(), *[await environment.step(action) for action in actions]]
    finally:
        await environment.close()
        await benchmark.close()


def test_a_step_tells_what_is_legal_next() -> None:
    first, second, last = asyncio.run(_steps(opened(), "1", "3"))
    assert first.legal == ("1", "2")
    assert second.observation.legal == ("2", "3")
    assert (last.reward, last.terminated, last.observation.legal) == (1.0, True, ())


def test_a_reward_that_is_not_a_number_stays_one() -> None:
    *_, last = asyncio.run(_steps(opened(reward="nan"), "3"))
    assert last.reward != last.reward


def test_the_game_goes_on_in_a_new_guest(tmp_path: Path) -> None:
    _, first, second, last = asyncio.run(_steps(opened(dies="step-2", mark=str(tmp_path / "dead")), "1", "2", "3"))
    assert (first.info["said"], second.info["said"], last.reward) == (1, 2, 1.0)
    assert "the episode was played again up to its step 2" in second.notes[0]


def test_an_episode_that_ends_the_guest_each_time_has_failed() -> None:
    with pytest.raises(EpisodeError, match="each time it played this episode") as failed:
        asyncio.run(_steps(opened(dies="step-2"), "2"))
    assert failed.value.cause is Cause.PROGRAM_FAILED


def test_a_seed_that_ends_the_guest_at_its_start_has_failed() -> None:
    with pytest.raises(EpisodeError) as failed:
        asyncio.run(_steps(opened(dies="reset-7"), seed=7))
    assert failed.value.cause is Cause.PROGRAM_FAILED


def test_an_answer_of_a_dead_guest_is_not_waited_for() -> None:
    benchmark = opened()

    async def ask() -> None:
        guest = await benchmark.ready()
        await guest.close()
        with pytest.raises(EpisodeError):
            await guest.ask("reset", episode="e", seed=0)

    asyncio.run(ask())


def test_equal_answers_reach_those_who_asked_at_the_same_time() -> None:
    benchmark = opened()

    async def play(name: str) -> list[int]:
        environment = await benchmark.environment_of(Task("t", seed=0), name, 0)
        await environment.reset()
        said = [(await environment.step(action)).info["said"] for action in ("1", "2", "3")]
        await environment.close()
        return said

    async def all_of_them() -> list[list[int]]:
        found = await asyncio.gather(*(play(f"e{number}") for number in range(32)))
        await benchmark.close()
        return list(found)

    assert asyncio.run(all_of_them()) == [[1, 2, 3]] * 32


def test_random_plays_only_what_is_legal(counting: Callable[..., Any], tmp_path: Path) -> None:
    run = counting(tmp_path, "builtin/random", limit=20)
    assert [episode.score for episode in run.episodes()] == [1.0] * 20
    # Whoever may say 4 at once would need one turn.
    assert min(episode.scores["turns"] for episode in run.episodes()) == 2


def test_a_reply_that_is_not_legal_is_malformed(counting: Callable[..., Any], tmp_path: Path) -> None:
    script = tmp_path / "replies.json"
    script.write_text('["4"]')
    run = counting(tmp_path, f"builtin/scripted:{script}", limit=1)
    (episode,) = run.episodes()
    assert episode.cause == Cause.MALFORMED_ACTION
    assert "'4' is not allowed now" in episode.error
    asked = [event.payload["content"] for event in episode.events if event.kind == Kind.MESSAGE]
    assert any("Allowed is now one of: 1, 2" in str(content) for content in asked)


def test_a_reward_that_is_no_number_is_missing(counting: Callable[..., Any], tmp_path: Path) -> None:
    run = counting(tmp_path, "builtin/random", limit=3, params={"reward": "nan"})
    assert run.score is None
    assert run.missing == {"value_unusable": 3}


def test_the_guest_dies_once_and_every_episode_is_scored(counting: Callable[..., Any], tmp_path: Path) -> None:
    mark = tmp_path / "dead"
    run = counting(tmp_path, "builtin/random", limit=6, params={"dies": "step-2", "mark": str(mark)})
    assert mark.exists()
    assert [episode.score for episode in run.episodes()] == [1.0] * 6


def test_each_role_has_a_conversation_of_its_own(counting: Callable[..., Any], tmp_path: Path) -> None:
    run = counting(tmp_path, "builtin/random", limit=1, params={"roles": True})
    (episode,) = run.episodes()
    roles = [event.payload.get("role") for event in episode.events if event.kind == Kind.ACTION]
    assert roles[:2] == ["odd", "even"]


@pytest.mark.parametrize("rival", ["first", "second"])
def test_the_judge_plays_the_opponent(rival: str, counting: Callable[..., Any], tmp_path: Path) -> None:
    run = counting(tmp_path, "builtin/random", limit=4, params={"rival": rival}, judge="builtin/random")
    episodes = list(run.episodes())
    assert [episode.score for episode in episodes] == [1.0] * 4
    roles = {event.payload.get("role") for event in episodes[0].events if event.kind == Kind.MODEL_CALL}
    assert roles == {None, "judge"}
