"""The client of OpenEnv plays our environments: many at once, with the rewards of a run.

Needs MESOCOSM_TEST_GUESTS/openenv, an environment with the package `openenv` (0.10).
"""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

import mesocosm as mc
from mesocosm.sandboxes.port import free_port
from mesocosm.testing.model_server import ModelServer

PYTHON = Path(os.environ.get("MESOCOSM_TEST_GUESTS", "/nowhere")) / "openenv" / "bin" / "python"
PROGRAM = Path(__file__).parent / "openenv_programs" / "client.py"
GUESSING = Path(__file__).parents[1] / "environments" / "guessing.py"
EPISODES, CONNECTIONS = 100, 16

pytestmark = pytest.mark.skipif(
    not PYTHON.exists(), reason="MESOCOSM_TEST_GUESTS names no folder with an environment called openenv"
)


async def test_a_hundred_episodes_on_sixteen_connections_have_the_rewards_of_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    port = free_port()
    command = (sys.executable, "-m", "mesocosm", "env", "serve", f"{GUESSING}:Guess", "--protocol", "openenv")
    process = await asyncio.create_subprocess_exec(*command, "--port", str(port), stderr=asyncio.subprocess.PIPE)
    assert process.stderr is not None
    try:
        while b"Ctrl-C ends" not in (await process.stderr.readline()):
            assert process.returncode is None
        words = (f"http://127.0.0.1:{port}", str(EPISODES), str(CONNECTIONS))
        client = await asyncio.create_subprocess_exec(str(PYTHON), str(PROGRAM), *words, stdout=asyncio.subprocess.PIPE)
        out, _ = await client.communicate()
    finally:
        process.terminate()
        await process.communicate()
    assert client.returncode == 0
    told: dict[str, Any] = json.loads(out)

    async with ModelServer("4") as server:
        url = f"openai/four@{server.openai_url}"
        run = await mc.aevaluate(f"{GUESSING}:Guess", model=url, only=list(range(EPISODES)), progress=False)
    rewards = {}
    for episode in run.episodes():
        first, *_, last = episode.events
        rewards[str(first.payload["seed"])] = [last.payload["total_reward"], last.payload["steps"]]
    assert told["episodes"] == rewards
    assert told["unreset"].endswith("no episode has begun; reset first (code: EXECUTION_ERROR)")
    assert "(code: VALIDATION_ERROR)" in told["invalid"]
    assert told["after"] == "observation"
