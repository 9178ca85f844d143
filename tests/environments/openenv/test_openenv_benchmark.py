"""What an OpenEnv server says of its environment, as facts of a benchmark."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.environments.openenv.open_env_server import CALLS, Counter, OpenEnvServer

from mesocosm.core.episode import Episode, EpisodeStatus
from mesocosm.core.failure import Cause, UsageError
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import BenchmarkRef, RunSpec, Selection
from mesocosm.core.space import SpaceSpec
from mesocosm.core.task import Task
from mesocosm.engine import session
from mesocosm.environments.openenv.benchmark import OpenEnvBenchmark, open_openenv
from mesocosm.store import open_store
from mesocosm.testing.dialect import ScriptedAnswer
from mesocosm.testing.loopback import LoopbackConnection, LoopbackServer, ReceivedRequest, response
from mesocosm.testing.model_server import ModelServer


def opened(server: OpenEnvServer, **options: Any) -> OpenEnvBenchmark:
    return open_openenv(BenchmarkRef("openenv", server.url, options))


def test_the_facts_are_those_of_the_server() -> None:
    with OpenEnvServer() as server:
        info = opened(server, max_steps=9).info
    assert (info.id, info.title, info.version) == ("counter", "Counter (openenv)", "0.3")
    assert info.description == "Count to a number."
    assert (info.kind, info.max_steps, info.metrics[0].name) == ("openenv", 9, "mean_reward")
    assert info.vow["action_space"]["type"] == "text"


def test_the_text_that_openenv_writes_by_itself_is_no_description() -> None:
    with OpenEnvServer() as server:
        server.metadata = {"name": "Counter", "description": "Counter environment"}
        assert opened(server).info.description == ""


def digest(server: OpenEnvServer, **options: Any) -> str:
    return opened(server, **options).info.digest


def test_the_digest_follows_what_can_change_an_episode_and_nothing_else() -> None:
    with OpenEnvServer() as server:
        first = digest(server)
        assert digest(server, step_timeout=5.0, python="/usr/bin/python3") == first
        assert digest(server, max_steps=5) != first
        assert digest(server, reset={"level": 2}) != first
        assert digest(server, actions=["up"]) != first
        server.metadata = {**server.metadata, "readme_content": "# Read me", "author": "A"}
        assert digest(server) == first
        server.metadata = {**server.metadata, "version": "0.4"}
        assert digest(server) != first


def test_another_address_is_another_environment() -> None:
    # Its code is not known.
    with OpenEnvServer() as one, OpenEnvServer() as other:
        assert digest(one) != digest(other)


def test_tasks_are_told_apart_by_their_content_and_do_not_show_it() -> None:
    with OpenEnvServer() as server:
        server.splits = {"train": 2, "test": 700}
        benchmark = opened(server)
        tasks = list(benchmark.tasks(Selection()))
        assert (benchmark.count(Selection()), len(tasks), tasks[1].id) == (700, 700, "test-no-1")
        assert "answer" not in str(msgspec.to_builtins(tasks[1]))
        assert tasks[0].digest() != tasks[3].digest()
        chosen = list(benchmark.tasks(Selection(seeds=(5, 1))))
        assert [task.id for task in chosen] == ["test-no-5", "test-no-1"]
        with pytest.raises(UsageError, match="there is no task 700"):
            benchmark.count(Selection(seeds=(700,)))


async def test_scores_are_the_sum_of_rewards_and_the_number_of_steps() -> None:
    with OpenEnvServer() as server:
        benchmark = opened(server)
    task = Task("seed-1", seed=1)
    episode = Episode("e", "r", "d", "seed-1", 0, status=EpisodeStatus.COMPLETED, total_reward=1.5, steps=3)
    scores = {score.name: score for score in await benchmark.grade(task, episode)}
    assert (scores["reward"].value, scores["steps"].value) == (1.5, 3.0)
    episode.terminal_info = {"unrewarded": True}
    assert (await benchmark.grade(task, episode))[0].missing is Cause.VALUE_MISSING


class Other(LoopbackServer):
    """Some other program."""

    def receive(self, connection: LoopbackConnection, request: ReceivedRequest) -> None:
        connection.send(response(404, b'{"detail": "Not Found"}'))


TOOLS = [
    {
        "name": "echo",
        "description": "Say it again.",
        "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
        "outputSchema": None,
    }
]


class Echo(Counter):
    """Answers calls of its tool as OpenEnv's MCP environments do, and ends with the second."""

    def step(self, action: Mapping[str, Any]) -> dict[str, Any]:
        self.count += 1
        text = action["arguments"]["text"]
        result = {"content": [{"type": "text", "text": f"echo: {text}"}], "data": text, "is_error": False}
        shown = {"metadata": {}, "tool_name": action["tool_name"], "result": result, "error": None}
        return {"observation": shown, "reward": 1.0, "done": self.count == 2}


async def test_tools_are_offered_natively_and_their_text_is_the_observation(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    call = ScriptedAnswer("", tool_calls=(("echo", {"text": "hi"}),))
    with OpenEnvServer(Echo) as server:
        server.action, server.tools = CALLS, TOOLS
        async with ModelServer(call) as models:
            spec = RunSpec(
                BenchmarkRef("openenv", server.url),
                ModelSettings(f"openai/fake@{models.openai_url}"),
                selection=Selection(count=1),
            )
            run = await session.run(spec, store)
            asked = [request.body for request in models.calls]
    store.close()
    assert run.primary is not None
    assert (run.status, run.primary.value) == ("finished", 2.0)
    assert server.actions == [{"type": "call_tool", "tool_name": "echo", "arguments": {"text": "hi"}}] * 2
    assert asked[0]["tools"][0]["function"]["name"] == "echo"
    answered = asked[1]["messages"][-1]
    assert (answered["role"], answered["tool_call_id"]) == ("tool", "call_0")
    assert answered["content"].splitlines()[1] == "echo: hi"


def test_an_environment_of_tools_that_lists_none_takes_json() -> None:
    with OpenEnvServer() as server:
        server.action = CALLS
        benchmark = opened(server)
    assert isinstance(benchmark.action_space, SpaceSpec)
    assert benchmark.action_space.type == "json"


async def test_another_program_at_the_url_is_a_usage_error() -> None:
    # In a thread of its own, because the server runs in the loop of this test.
    import asyncio

    async with Other() as server:
        with pytest.raises(UsageError, match="answers, but is no OpenEnv server: GET /schema has status 404"):
            await asyncio.to_thread(open_openenv, BenchmarkRef("openenv", server.url))
