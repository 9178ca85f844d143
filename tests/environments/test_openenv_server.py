"""Environments with the protocol of OpenEnv: frames, codes of errors, and many players at a time."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from tests.environments.guessing import Fragile, Free, Guess

from mesocosm.environments.inprocess import ClassBenchmark
from mesocosm.environments.openenv_server import OpenEnvServer


@asynccontextmanager
async def served(env_class: type = Guess, most: int = 32) -> AsyncIterator[aiohttp.ClientSession]:
    """Yield a client of a server of `env_class`."""
    runner = web.AppRunner(OpenEnvServer(ClassBenchmark(env_class), most=most).app(), shutdown_timeout=1.0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        async with aiohttp.ClientSession(f"http://127.0.0.1:{runner.addresses[0][1]}") as client:
            yield client
    finally:
        await runner.cleanup()


class Socket:
    """A connection on which each message is answered."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket

    async def say(self, text: str) -> Any:
        await self.socket.send_str(text)
        return json.loads(await self.socket.receive_str())

    async def send(self, kind: str, data: Any = None) -> Any:
        return await self.say(json.dumps({"type": kind, **({} if data is None else {"data": data})}))


@asynccontextmanager
async def connected(client: aiohttp.ClientSession) -> AsyncIterator[Socket]:
    async with client.ws_connect("/ws") as socket:
        yield Socket(socket)


async def test_what_is_known_without_an_episode() -> None:
    async with served() as client:
        found = {
            path: await (await client.get(f"/{path}")).json() for path in ("health", "metadata", "schema", "state")
        }
    assert found["health"] == {"status": "healthy"}
    assert found["metadata"]["name"] == "Guess"
    assert found["metadata"]["description"] == "Guess the number from 0 to 9."
    assert found["schema"]["action"]["properties"]["action"]["enum"][0] == "0"
    assert found["schema"]["observation"]["type"] == found["schema"]["state"]["type"] == "object"
    assert found["state"] == {"episode_id": None, "step_count": 0, "seed": None, "total_reward": 0.0, "done": False}


async def test_plain_http_is_stateless() -> None:
    async with served() as client:
        reset = await client.post("/reset", json={"seed": 3})
        assert (await reset.json())["observation"]["data"] == "Which number?"
        step = await client.post("/step", json={"action": {"action": "1"}})
        assert (step.status, (await step.json())["detail"]) == (
            500,
            "plain HTTP keeps no episode, so there is none to act in; play on the WebSocket /ws",
        )


@pytest.mark.parametrize("body", ["nonsense", "[1]", '{"seed": "x"}', '{"episode_id": "' + "x" * 256 + '"}'])
async def test_a_reset_that_cannot_be_read_is_refused(body: str) -> None:
    async with served() as client:
        assert (await client.post("/reset", data=body)).status == 422


async def test_an_episode_on_a_socket() -> None:
    async with served() as client, connected(client) as socket:
        first = await socket.send("reset", {"seed": 3, "episode_id": "mine", "row": 1})
        assert first["type"] == "observation"
        assert first["data"] == {
            "observation": {"data": "Which number?", "metadata": first["data"]["metadata"]},
            "reward": None,
            "done": False,
            "metadata": {
                "seed": 3,
                "ignored": ["row"],
                "content_type": "text/plain",
                "system_prompt": "Reply with a number.",
            },
        }
        answers = [await socket.send("step", {"action": str(n), "metadata": {}}) for n in range(5)]
        rewards = [one["data"].get("reward") for one in answers]
        state = (await socket.send("state"))["data"]
    ended = next(n for n, one in enumerate(answers) if one["data"].get("done"))
    assert state["episode_id"] == "mine"
    assert state["step_count"] == ended + 1
    assert state["total_reward"] == pytest.approx(sum(rewards[: ended + 1]))
    assert state["done"]


async def test_an_observation_that_is_an_object_keeps_its_fields() -> None:
    async with served(Fragile) as client, connected(client) as socket:
        assert (await socket.send("reset"))["data"]["observation"] == {"board": [1, 2], "metadata": "mine"}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("nonsense", "INVALID_JSON"),
        ('{"type": "dance"}', "UNKNOWN_TYPE"),
        ("{}", "UNKNOWN_TYPE"),
        ("[1]", "VALIDATION_ERROR"),
        ('{"type": "step"}', "VALIDATION_ERROR"),
        ('{"type": "step", "data": {"action": "11"}}', "VALIDATION_ERROR"),
        ('{"type": "step", "data": [1]}', "VALIDATION_ERROR"),
        ('{"type": "reset", "data": {"seed": "x"}}', "VALIDATION_ERROR"),
        ('{"type": "reset", "more": 1}', "VALIDATION_ERROR"),
        ('{"type": "step", "data": {"action": "1"}}', "EXECUTION_ERROR"),
    ],
)
async def test_an_error_has_its_code_and_the_connection_lives_on(text: str, code: str) -> None:
    async with served() as client, connected(client) as socket:
        error = await socket.say(text)
        assert (error["type"], error["data"]["code"]) == ("error", code)
        assert error["data"]["message"]
        assert ("errors" in error["data"]) is (code == "VALIDATION_ERROR")
        assert (await socket.send("reset", {"seed": 1}))["type"] == "observation"


async def test_a_failure_of_the_environment_is_an_execution_error() -> None:
    async with served(Fragile) as client, connected(client) as socket:
        await socket.send("reset")
        error = (await socket.send("step", {"x": "luck", "metadata": ""}))["data"]
        assert error["code"] == "EXECUTION_ERROR"
        assert error["message"] == "Fragile.step() failed: ValueError: no luck"


async def test_a_binary_frame_is_refused() -> None:
    async with served() as client, connected(client) as socket:
        await socket.socket.send_bytes(b"\x00")
        assert json.loads(await socket.socket.receive_str())["data"]["code"] == "INVALID_JSON"


async def test_close_ends_the_connection() -> None:
    async with served() as client, connected(client) as socket:
        await socket.socket.send_str('{"type": "close"}')
        assert (await socket.socket.receive()).type is aiohttp.WSMsgType.CLOSE


async def test_more_players_than_there_may_be_are_told_and_later_there_is_room() -> None:
    async with served(most=1) as client:
        async with connected(client) as first:
            await first.send("reset")
            async with client.ws_connect("/ws") as second:
                error = json.loads(await second.receive_str())["data"]
                assert error["code"] == "CAPACITY_REACHED"
                assert (error["active_sessions"], error["max_sessions"]) == (1, 1)
                assert (await second.receive()).type is aiohttp.WSMsgType.CLOSE
            await first.socket.send_str('{"type": "close"}')
            await first.socket.receive()
        async with connected(client) as third:
            assert (await third.send("reset"))["type"] == "observation"


async def test_players_do_not_see_each_other() -> None:
    async def play(client: aiohttp.ClientSession, seed: int) -> list[float]:
        async with connected(client) as socket:
            await socket.send("reset", {"seed": seed})
            rewards = []
            for number in range(10):
                answer = (await socket.send("step", {"action": str(number)}))["data"]
                rewards.append(answer["reward"])
                if answer["done"]:
                    break
            return rewards

    async with served() as client:
        alone = [await play(client, seed) for seed in range(16)]
        together = await asyncio.gather(*(play(client, seed) for seed in range(16)))
    assert together == alone


async def test_mcp_messages_play_the_episode_of_the_connection() -> None:
    async with served(Free) as client, connected(client) as socket:
        listed = await socket.send("mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        assert [tool["name"] for tool in listed["data"]["result"]["tools"]] == ["reset", "step"]
        await socket.send("reset", {"seed": 1})
        params = {"name": "step", "arguments": {"action": "x"}}
        called = await socket.send("mcp", {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params})
        assert called["data"]["result"]["structuredContent"]["done"]
        assert (await socket.send("state"))["data"]["step_count"] == 1
        wrong = await socket.send("mcp", {"method": 1})
        assert wrong["data"]["error"]["code"] == -32600
