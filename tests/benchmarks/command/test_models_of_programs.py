"""A program that calls its model by the official package, unchanged, is seen in full."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from mesocosm.core.event import Kind
from mesocosm.core.failure import Cause
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import AgentSettings, Limits, RunSpec
from mesocosm.sandboxes.bubblewrap import available
from mesocosm.testing.model_server import ModelServer

PROGRAM = """
from openai import OpenAI
client = OpenAI()
def ask(question):
    return [{"role": "user", "content": question}]
plain = client.chat.completions.create(model=os.environ["MODEL_NAME"], messages=ask("plain?"), temperature=0.5)
stream = client.chat.completions.create(model=os.environ["MODEL_NAME"], messages=ask("streamed?"), stream=True)
streamed = "".join(part.choices[0].delta.content or "" for part in stream if part.choices)
answers = [plain.choices[0].message.content, streamed]
items = [{"id": name, "score": float(answer == "forty-two"), "input": name, "output": answer}
         for name, answer in zip(["plain", "streamed"], answers)]
write("items.jsonl", "\\n".join(map(json.dumps, items)))
"""
COMMAND = """
[command]
argv = ["{python}", "program.py"]
items = "items.jsonl"
"""


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer("forty-two") as started:
        yield started


def spec(shop: Any, server: ModelServer, limits: Limits = Limits()) -> RunSpec:  # noqa: B008  (frozen)
    model = ModelSettings(f"vllm/toy-model@{server.openai_url}")
    return RunSpec(shop.reference(), model, AgentSettings("program"), limits=limits)


async def test_calls_streamed_and_not_are_in_the_trace_with_their_answers(shop: Any, server: ModelServer) -> None:
    shop.describe(PROGRAM, COMMAND)
    run = await shop.run(spec(shop, server))
    own, *items = shop.episodes(run)
    calls = [event.payload for event in shop.events(own, Kind.MODEL_CALL)]
    asked = json.dumps([event.payload for event in shop.events(own, Kind.MESSAGE)])
    assert [call["text"] for call in calls] == ["forty-two", "forty-two"]
    assert [call["streamed"] for call in calls] == [False, True]
    assert "plain?" in asked
    assert "streamed?" in asked
    assert run.usage.calls == 2
    assert own.usage.total > 0
    assert run.primary.value == 1.0
    assert [item.usage.total for item in items] == [0, 0]


@pytest.mark.skipif(not available(), reason="bubblewrap does not work on this machine")
async def test_a_confined_program_reaches_its_model_and_nothing_else(shop: Any, server: ModelServer) -> None:
    other = server.openai_url.partition("//")[2].partition("/")[0].rpartition(":")[2]
    tried = f"""
import socket
reached = 0
try:
    socket.create_connection(("127.0.0.1", {other}), 2)
    reached = 1
except OSError:
    pass
from openai import OpenAI
said = OpenAI().chat.completions.create(model="m", messages=[dict(role="user", content="here?")])
write("result.json", dict(score=float(said.choices[0].message.content == "forty-two") - reached))
"""
    shop.describe(tried, '[command]\nargv = ["{python}", "program.py"]\nsandbox = "bubblewrap"\n')
    run = await shop.run(spec(shop, server))
    (episode,) = shop.episodes(run)
    assert run.primary.value == 1.0, episode.failure
    assert [event.payload["text"] for event in shop.events(episode, Kind.MODEL_CALL)] == ["forty-two"]


async def test_a_program_that_used_up_its_budget_failed_by_its_own_doing(shop: Any, server: ModelServer) -> None:
    shop.describe(
        PROGRAM.replace(
            'write("items', 'client.chat.completions.create(model="m", messages=ask("more?"))\nwrite("items'
        ),
        COMMAND,
    )
    run = await shop.run(spec(shop, server, Limits(episode_tokens=1)))
    (own,) = shop.episodes(run)
    assert own.failure.cause is Cause.BUDGET


async def test_items_found_without_all_calls_of_the_model_do_not_count(shop: Any, server: ModelServer) -> None:
    refused = """
try:
    client.chat.completions.create(model="m", messages=ask("more?"))
except Exception as error:
    print(error)
"""
    shop.describe(PROGRAM.replace("items = [", refused + "items = ["), COMMAND)
    calls = (await shop.run(spec(shop, server))).usage
    one = calls.total // calls.calls
    run = await shop.run(spec(shop, server, Limits(episode_tokens=2 * one)))
    (own,) = shop.episodes(run)
    assert own.failure.cause is Cause.BUDGET
    assert (shop.output / "attempt-2/output/items.jsonl").exists()
    assert own.terminal_info["stdout"] == "attempt-2/stdout.log"
