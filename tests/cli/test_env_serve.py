"""`mesocosm env serve`: environments for programs of others."""

import asyncio
import json
import os
import re
import select
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

import mesocosm as mc
from mesocosm.core.run import BenchmarkRef
from mesocosm.mcp.address import ServerAddress
from mesocosm.mcp.client import McpClient
from mesocosm.testing.model_server import ModelServer

if TYPE_CHECKING:
    from tests.cli.conftest import Invoke, Program

GUESSING = Path(__file__).parents[1] / "environments" / "guessing.py"
WORD_GAME = Path(__file__).parents[2] / "examples" / "word-game"
Launch = Callable[..., Any]


async def address(program: "Program") -> str:
    line = await program.said("(Ctrl-C ends)")
    found = re.search(r"http://\S+", line)
    assert found is not None
    return found[0]


async def rewards(url: str, seed: int, action: str) -> tuple[float, int]:
    """Return the total reward and the steps of an episode in which one action is repeated."""
    async with aiohttp.ClientSession(url) as client, client.ws_connect("/ws") as socket:
        await socket.send_json({"type": "reset", "data": {"seed": seed}})
        answer = await socket.receive_json()
        total, steps = 0.0, 0
        while not answer["data"]["done"]:
            await socket.send_json({"type": "step", "data": {"action": action}})
            answer = await socket.receive_json()
            total, steps = total + answer["data"]["reward"], steps + 1
        return total, steps


async def test_episodes_over_openenv_have_the_rewards_of_a_run(launch: Launch, here: Path) -> None:
    program = await launch("env", "serve", WORD_GAME, "--protocol", "openenv", "--port", "0")
    url = await address(program)
    seeds = range(8)
    served = await asyncio.gather(*(rewards(url, seed, "crane") for seed in seeds))
    async with ModelServer("crane") as server:
        run = await mc.aevaluate(WORD_GAME, model=f"openai/crane@{server.openai_url}", only=list(seeds), progress=False)
    played = {}
    for episode in run.episodes():
        first, *_, last = episode.events
        played[first.payload["seed"]] = (last.payload["total_reward"], last.payload["steps"])
    assert {seed: served[seed] for seed in seeds} == played
    program.signal(signal.SIGTERM)
    assert (await program.end()).code == 0


async def test_the_end_of_the_server_ends_the_adapter(launch: Launch) -> None:
    program = await launch("env", "serve", WORD_GAME, "--protocol", "mcp", "--port", "0")
    line = await program.said("started adapter.py")
    found = re.search(r"process (\d+)", line)
    assert found is not None
    adapter = os.pidfd_open(int(found[1]))
    await address(program)
    program.signal()
    assert (await program.end()).code == 0
    assert select.select([adapter], [], [], 60.0)[0]
    os.close(adapter)


async def test_an_mcp_server_on_a_port(launch: Launch) -> None:
    program = await launch(
        "env", "serve", f"{GUESSING}:Guess", "--protocol", "mcp", "--port", "0", "--max-sessions", "2"
    )
    async with McpClient(ServerAddress(await address(program))) as client:
        assert (await client.call("reset", {"seed": 3})).text.startswith("Reply with a number.\nWhich number?")


async def test_an_mcp_server_on_standard_input_and_output(tmp_path: Path) -> None:
    noisy = tmp_path / "noisy.py"
    noisy.write_text(
        "from mesocosm.environments import BaseEnv, StepResult\n\nprint('imported')\n\n\n"
        "class Noisy(BaseEnv):\n"
        "    def reset(self, seed=None, **params):\n        print('reset')\n        return 'go'\n\n"
        "    def step(self, action):\n        print('step')\n        return StepResult(action, 1.0, terminated=True)\n"
    )
    command = f"stdio:{sys.executable} -m mesocosm env serve {noisy}:Noisy --protocol mcp --stdio"
    async with McpClient(ServerAddress(command)) as client:
        assert [tool.name for tool in await client.tools()] == ["reset", "step"]
        await client.call("reset", {})
        assert "The episode is over after 1 steps" in (await client.call("step", {"action": "x"})).text


async def test_our_own_protocol_is_served_too(launch: Launch) -> None:
    program = await launch("env", "serve", f"{GUESSING}:Guess", "--port", "0")
    line = await program.said("Uvicorn running on ")
    found = re.search(r"http://\S+", line)
    assert found is not None
    async with aiohttp.ClientSession() as client:
        health = await (await client.get(f"{found[0]}/health")).json()
    assert health["env"] == "Guess"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nothing",), "nothing is no environment; name a folder with a benchanything.json, FILE.py:Class, or a URL"),
        (("--stdio",), "--stdio is for --protocol mcp"),
        (("gym:Taxi-v3",), "is not served with our own protocol; choose --protocol openenv or mcp"),
        (("nowhere.py:Guess", "--protocol", "mcp"), "nowhere.py"),
    ],
)
def test_what_cannot_be_served_is_said(mesocosm: "Invoke", here: Path, words: tuple[str, ...], said: str) -> None:
    done = mesocosm("env", "serve", *words)
    assert done.code == 2
    assert said in done.err


def test_a_reference_has_the_options_of_a_server(here: Path) -> None:
    from mesocosm.cli.env_serve import reference

    assert reference("pkg.module:Class") == BenchmarkRef("python", "pkg.module:Class", {"threads": True})
    assert reference("http://127.0.0.1:1/") == BenchmarkRef("environment", "http://127.0.0.1:1")
    assert reference("gym:Taxi-v3") == BenchmarkRef("gym", "Taxi-v3")
    assert json.loads(Path(reference(str(WORD_GAME)).source).read_text())["id"] == "word-game"
