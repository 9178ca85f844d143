"""Recorded actions: reading a file of them, and playing them in an environment of ours."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from mesocosm.core.failure import InvalidInput, UsageError
from mesocosm.core.run import BenchmarkRef
from mesocosm.guests.kinds import GuestKind
from mesocosm.guests.opening import open_guest
from mesocosm.guests.parity import GuestSample, paired
from mesocosm.guests.scripts import EpisodeScript, played, read_scripts, rewarded, tasks_of
from mesocosm.guests.stepped import SteppedGuest

GAME = str(Path(__file__).with_name("counting_game.py"))
KIND = GuestKind("counting", "Counting", "N", ("json",), (), GAME, stepped=True)


def written(folder: Path, *lines: str) -> Path:
    path = folder / "actions.jsonl"
    path.write_text("\n".join(lines))
    return path


def play(*scripts: EpisodeScript, **options: Any) -> list[GuestSample]:
    benchmark = open_guest(KIND, BenchmarkRef("counting", "x", options))
    assert isinstance(benchmark, SteppedGuest)
    tasks = tasks_of(benchmark, scripts)

    async def every() -> list[GuestSample]:
        try:
            return await played(benchmark, scripts, [task.id for task in tasks], tasks)
        finally:
            await benchmark.close()

    return asyncio.run(every())


def test_a_line_is_an_episode(tmp_path: Path) -> None:
    found = read_scripts(written(tmp_path, '{"seed": 3, "actions": ["1", [0.5]]}', "", '{"row": 0, "actions": ["a"]}'))

    assert found == [EpisodeScript(["1", [0.5]], seed=3), EpisodeScript(["a"], row=0)]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("no json", "line 2"),
        ('{"actions": ["1"]}', "exactly one of 'seed' and 'row'"),
        ('{"seed": 1, "actions": []}', "has no actions"),
        ('{"seed": 1, "moves": ["1"]}', "moves"),
    ],
)
def test_a_line_that_cannot_be_used_is_named(tmp_path: Path, line: str, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        read_scripts(written(tmp_path, '{"seed": 0, "actions": ["1"]}', line))


def test_no_file_and_no_episodes_are_errors(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_scripts(tmp_path / "nothing")
    with pytest.raises(UsageError, match="has no episodes"):
        read_scripts(written(tmp_path, ""))


def test_each_reward_is_compared() -> None:
    (ours,) = play(EpisodeScript(["1", "3"], seed=0))

    assert ours.scores == {"reward": 1.0, "step 1": 0.0, "step 2": 1.0, "terminated": 1.0, "truncated": 0.0}
    (pair,) = paired([GuestSample("seed-0", 0, {**ours.scores, "step 1": 0.5})], [ours])
    assert [(one.score, one.theirs, one.ours) for one in pair.differences] == [("step 1", 0.5, 0.0)]


def test_a_game_that_is_over_takes_no_more_actions() -> None:
    (ours,) = play(EpisodeScript(["3", "1", "1"], seed=0))

    assert "step 2" not in ours.scores


def test_a_reward_that_is_no_number_is_none() -> None:
    assert rewarded([1.0, float("nan")]) == {"step 1": 1.0}


def test_tasks_that_are_seeds_are_not_named_by_rows() -> None:
    with pytest.raises(UsageError, match="are seeds, not rows"):
        play(EpisodeScript(["1"], row=0))
