"""Cheats, and benchmarks that they are played against."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from mesocosm.api.cheating import BenchmarkVerdict, Played, validate_benchmark
from mesocosm.benchmarks.catalogue import read_catalogue
from mesocosm.core.failure import UsageError

HEAD = """
id = "toy"
title = "Toy"
description = "Sums."
source = "the tests"
licence = "none"
version = "1"
"""
CODE = """
from mesocosm.benchmarks.native import LoadedTasks, NativeBenchmark
from mesocosm.core.score import Score
from mesocosm.core.task import Task

class Toy(NativeBenchmark):
    def load(self):
        return LoadedTasks([Task(str(n), f"What is {{n}} + {{n}}?", str(2 * n)) for n in range(40, 44)], "x")

    async def grade(self, task, episode):
        said = str(episode.terminal_info["answer"])
        return [Score("score", float({rule}))]

open_benchmark = Toy
"""


def verdict(folder: Path, rule: str, more: str = "") -> BenchmarkVerdict:
    """Return the verdict on a benchmark with this rule of grading."""
    place = folder / "toy"
    place.mkdir()
    (place / "benchmark.toml").write_text(HEAD + more)
    (place / "benchmark.py").write_text(CODE.format(rule=rule))
    (known,) = (one for one in read_catalogue([place]).benchmarks if one.descriptor.id == "toy")
    return asyncio.run(validate_benchmark(known, {}, 4, lambda one: None))


def earning(found: BenchmarkVerdict) -> set[str]:
    return {one.player for one in found.players if found.earned(one)}


@pytest.mark.parametrize(
    ("rule", "words", "players"),
    [
        ("said == task.target", "solvable · not free · not forgeable", set()),
        ("said != ''", "solvable · free · forgeable", {"random", "cheat:echo", "cheat:claim"}),
        ("task.target in said or '+' in said", "solvable · not free · forgeable", {"cheat:echo"}),
        ("said == task.target or 'CORRECT' in said", "solvable · not free · forgeable", {"cheat:claim"}),
        ("said == task.target or '_exit' in said", "solvable · not free · forgeable", {"cheat:exit"}),
        ("said == task.target or '__eq__' in said", "solvable · not free · forgeable", {"cheat:equal"}),
        ("said == task.target or 'Answer: B' in said", "solvable · not free · forgeable", {"cheat:options"}),
        ("said == '7'", "not solvable by its own answers · not free · not forgeable", set()),
    ],
)
def test_what_is_solvable_free_or_forgeable_is_said(rule: str, words: str, players: set[str], tmp_path: Path) -> None:
    found = verdict(tmp_path, rule)
    assert found.words == words
    assert players <= earning(found)
    assert all(one.weak for one in found.players if one.value is not None)
    assert found.ok == (words == "solvable · not free · not forgeable")


def test_a_cheat_of_the_descriptor_is_played(tmp_path: Path) -> None:
    more = '[[cheat]]\nname = "the magic word"\nreply = "please"\n'
    found = verdict(tmp_path, "said in (task.target, 'please')", more)
    assert earning(found) == {"the magic word"}


@pytest.mark.parametrize(
    ("value", "low", "earned"), [(0.25, 0.1, False), (0.4, 0.2, False), (0.6, 0.3, True), (None, None, False)]
)
def test_only_what_is_beyond_the_floor_and_chance_is_earned(value: Any, low: Any, earned: bool) -> None:
    one = Played("x", "cheat", "", value, low, 1.0)
    assert BenchmarkVerdict("toy", 0.25, 1.0, (one,)).earned(one) is earned


def test_where_a_lower_score_is_better_nothing_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="lower score is better"):
        verdict(tmp_path, "1", "[score]\nhigher_is_better = false\n")


@pytest.mark.parametrize("name", ["solana", "eliza_replay"])
def test_recorded_logs_of_cheats_earn_nothing(name: str) -> None:
    found = asyncio.run(validate_benchmark(read_catalogue().find(name), {}, 4, lambda one: None))
    assert found.clean("cheat") is not False


def test_a_checkout_with_a_test_runner_of_its_own_resolves_nothing() -> None:
    known = read_catalogue().find("swe_bench_orchestrated")
    given = {"execution_mode": "direct_shell", "providers": ["mesocosm"]}
    found = asyncio.run(validate_benchmark(known, given, 1, lambda one: None))
    assert found.words == "solvable · not free · not forgeable"
