# mypy: ignore-errors
"""Play episodes with OpenEnv's own client; run by an interpreter that has it.

`python bare_loop.py URL < episodes` reads lines of `{"seed": …, "actions": […]}`, and prints one line of JSON: the
rewards and observations of each episode, whether it ended, the number of steps, and the processor seconds that they
took.
"""

import asyncio
import json
import sys
import time
from typing import Any

from openenv.core.generic_client import GenericEnvClient


async def play(url: str, episode: dict[str, Any]) -> tuple[list[float | None], list[Any], bool]:
    """Return the rewards and observations of one episode, and whether it ended."""
    rewards, observations, ended = [], [], False
    async with GenericEnvClient(base_url=url) as env:
        await env.reset(seed=episode["seed"])
        for action in episode["actions"]:
            result = await env.step(action)
            rewards.append(result.reward)
            observations.append(result.observation)
            if ended := bool(result.done):
                break
    return rewards, observations, ended


async def main() -> None:
    """Play one after the other."""
    episodes = [json.loads(line) for line in sys.stdin]
    before = time.process_time()
    played = [await play(sys.argv[1], episode) for episode in episodes]
    taken = time.process_time() - before
    rewards, observations, ended = (list(part) for part in zip(*played, strict=True))
    told = {"rewards": rewards, "observations": observations, "ended": ended}
    print(json.dumps({**told, "steps": sum(map(len, rewards)), "cpu_s": taken}))


asyncio.run(main())
