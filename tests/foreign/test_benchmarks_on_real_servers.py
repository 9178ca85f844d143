"""`bench run` with models on servers that were not written here."""

import pytest
from tests.foreign.conftest import Laboratory
from tests.foreign.real_servers import RealServer

DESCRIPTOR = """
id = "sums"
title = "Sums"
description = "Small sums."
source = "https://example.org/sums"
licence = "CC0-1.0"
version = "1"
split = "all"
sampling = "limit"

[score]
field = "accuracy"

[knobs.limit]
type = "integer"
minimum = 1
help = "number of questions"
"""
NATIVE = """
from mesocosm.benchmarks.native import Loaded, Native
from mesocosm.core.ids import digest
from mesocosm.core.score import Score
from mesocosm.core.task import Task

SUMS = {"1 + 3": "4", "2 + 2": "4", "2 + 3": "5"}


class Sums(Native):
    def load(self):
        return Loaded([Task(sum, input=f"What is {sum}?", target=value) for sum, value in SUMS.items()], digest(SUMS))

    async def grade(self, task, episode):
        return [Score("accuracy", float(task.target in episode.terminal_info["answer"]))]


def open_benchmark(setup):
    return Sums(setup)
"""


@pytest.fixture
def sums(laboratory: Laboratory) -> Laboratory:
    """Return a directory with a native benchmark of three questions."""
    laboratory.write("sums/benchmark.toml", DESCRIPTOR)
    laboratory.write("sums/benchmark.py", NATIVE)
    return laboratory


WORDS = ("bench", "run", "--benchmarks-dir", "sums", "--benchmarks", "sums", "--quiet")


def test_a_native_benchmark_is_scored_and_its_calls_are_recorded(sums: Laboratory, litellm_server: RealServer) -> None:
    outcome = sums.mesocosm(*WORDS, "--model", litellm_server.named())
    assert outcome.code == 0, outcome.err
    played = sums.played()
    assert (played.run.status, played.values, played.causes) == ("finished", [1.0, 1.0, 0.0], [""] * 3)
    assert [call["model"] for call in played.calls] == ["openai/steady"] * 3
    assert [call["usage"]["prompt"] for call in played.calls] == [10] * 3
    assert played.run.usage.completion == 60
    assert played.run.usage.cost_usd == 0.0


def test_a_model_that_the_server_does_not_have_fails_the_command_and_scores_nothing(
    sums: Laboratory, litellm_server: RealServer
) -> None:
    outcome = sums.mesocosm(*WORDS, "--model", litellm_server.named("absent"))
    assert outcome.code not in {0, 130}
    assert "absent" in outcome.out + outcome.err


def test_a_wrong_key_fails_the_command_and_scores_nothing(sums: Laboratory, litellm_server: RealServer) -> None:
    sums.variables["MESOCOSM_API_KEY"] = "sk-of-somebody-else"
    outcome = sums.mesocosm(*WORDS, "--model", litellm_server.named())
    assert outcome.code not in {0, 130}
    assert "sk-of-somebody-else" not in outcome.out + outcome.err
