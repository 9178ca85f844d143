"""`bench run` with models on servers that were not written here."""

import asyncio
from pathlib import Path

import pytest
from tests.foreign import real_servers
from tests.foreign.conftest import Laboratory
from tests.foreign.real_servers import RealServer

from mesocosm.core.event import Kind
from mesocosm.testing.model_server import ModelServer

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

[parameters.limit]
type = "integer"
minimum = 1
help = "number of questions"
"""
NATIVE = """
from mesocosm.benchmarks.native import LoadedTasks, NativeBenchmark
from mesocosm.core.ids import digest
from mesocosm.core.score import Score
from mesocosm.core.task import Task

SUMS = {"1 + 3": "4", "2 + 2": "4", "2 + 3": "5"}


class Sums(NativeBenchmark):
    def load(self):
        tasks = [Task(sum, input=f"What is {sum}?", target=value) for sum, value in SUMS.items()]
        return LoadedTasks(tasks, digest(SUMS))

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


def test_replies_that_a_real_engine_cuts_off_are_told_as_such(sums: Laboratory, llama_server: RealServer) -> None:
    outcome = sums.mesocosm(*WORDS, "--model", llama_server.named(), "--extra", '{"max_tokens": 5}')
    assert outcome.code == 0, outcome.err
    played = sums.played()
    assert [(call["finish_reason"], call["usage"]["completion"] > 0) for call in played.calls] == [("length", True)] * 3
    assert any("was cut at 5 tokens" in warning for warning in played.run.warnings)


LONG = NATIVE.replace("What is {sum}?", "What is {sum}? " + "word " * 1000)


@pytest.mark.parametrize(("server", "model"), [("llama_server", ""), ("litellm_server", "overflowing")])
def test_a_prompt_that_is_too_long_is_the_agents_failure_and_is_not_tried_again(
    server: str, model: str, sums: Laboratory, request: pytest.FixtureRequest
) -> None:
    real: RealServer = request.getfixturevalue(server)
    sums.write("sums/benchmark.py", LONG)
    sums.mesocosm(*WORDS, "--model", real.named(model))
    played = sums.played()
    assert played.causes == ["context_overflow"] * 3
    assert played.payloads(Kind.RETRY) == []


@pytest.mark.parametrize("model", ["limited", "broken"])
def test_a_server_that_refuses_everything_gives_no_result(
    model: str, sums: Laboratory, litellm_server: RealServer
) -> None:
    outcome = sums.mesocosm(*WORDS, "--model", litellm_server.named(model), "--retries", "0", "--outage-seconds", "2")
    played = sums.played()
    assert outcome.code in {1, 3}
    assert played.run.status != "finished"
    assert played.values.count(None) == len(played.values)


MANY = NATIVE.replace(
    'SUMS = {"1 + 3": "4", "2 + 2": "4", "2 + 3": "5"}', 'SUMS = {f"{n} + 0": "4" for n in range(40)}'
)


async def test_a_server_that_is_killed_leaves_the_rest_owed_and_the_same_command_repairs_it(
    sums: Laboratory, tmp_path: Path
) -> None:
    sums.write("sums/benchmark.py", MANY)
    place = tmp_path / "server"
    place.mkdir()
    words = [*WORDS, "--parallel", "1", "--retries", "0", "--outage-seconds", "2", "--extra", '{"max_tokens": 32}']
    with real_servers.llama(place) as server:
        command = asyncio.create_task(asyncio.to_thread(sums.mesocosm, *words, "--model", server.named()))
        # The server's own log is all that it tells.
        while server.log.read_text().count("processing task") < 5 and not command.done():  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        server.kill()
        outcome = await command
        port = int(server.url.rpartition(":")[2])
    stopped = sums.played()
    assert outcome.code in {1, 3}
    assert stopped.run.status not in {"finished", "failed"}
    assert stopped.run.counts.pending > 0
    answered = sum(one.status == "completed" for one in stopped.episodes)
    with real_servers.llama(place, port) as server:
        again = sums.mesocosm(*words, "--model", server.named())
    repaired = sums.played()
    assert again.code == 0, again.err
    assert (repaired.run.id, repaired.run.status) == (stopped.run.id, "finished")
    assert (repaired.run.counts.pending, len(repaired.episodes)) == (0, 40)
    assert repaired.run.usage.calls >= 40 > answered


def test_a_proxy_before_a_server_that_is_gone_leaves_everything_owed_and_the_same_command_repairs_it(
    sums: Laboratory, tmp_path: Path
) -> None:
    place = tmp_path / "server"
    place.mkdir()
    port = real_servers.free_port()
    words = [*WORDS, "--retries", "0", "--outage-seconds", "2"]
    with real_servers.litellm(place, f"http://127.0.0.1:{port}/v1") as server:
        outcome = sums.mesocosm(*words, "--model", server.named("puppet"))
        stopped = sums.played()
        assert outcome.code == 3, outcome.out
        assert (stopped.run.status, stopped.run.counts.done, stopped.run.counts.pending) == ("stopped", 0, 3)
        assert "Connection error" in stopped.run.error
        assert "3 episodes pending: the same command continues" in outcome.out
        with ModelServer("the answer is 4", port=port):
            again = sums.mesocosm(*words, "--model", server.named("puppet"))
    repaired = sums.played()
    assert again.code == 0, again.err
    assert (repaired.run.id, repaired.run.status) == (stopped.run.id, "finished")
    assert repaired.values == [1.0, 1.0, 0.0]
