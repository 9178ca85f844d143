"""Play episodes with the client of OpenEnv 0.10: client.py URL EPISODES CONNECTIONS; prints rewards as JSON."""

import asyncio
import json
import sys
from typing import Any

from openenv.core.generic_client import GenericEnvClient  # type: ignore[import-not-found]


async def play(url: str, seeds: range) -> dict[str, list[float]]:
    """Play the seeds one after the other on one connection, always with the same action."""
    found = {}
    async with GenericEnvClient(base_url=url) as env:
        for seed in seeds:
            result = await env.reset(seed=seed)
            total, steps = 0.0, 0
            while not result.done:
                result = await env.step({"action": "4"})
                total, steps = total + result.reward, steps + 1
            assert (await env.state())["step_count"] == steps
            found[str(seed)] = [total, steps]
    return found


async def refused(url: str) -> dict[str, Any]:
    """Return what is said to wrong messages, and what a connection does afterwards."""
    said = {}
    async with GenericEnvClient(base_url=url) as env:
        for name, action in (("unreset", "4"), ("invalid", "eleven")):
            try:
                await env.step({"action": action})
            except RuntimeError as error:
                said[name] = str(error)
        said["after"] = "observation" if (await env.reset(seed=1)).observation else "nothing"
    return said


async def main() -> None:
    """Play all."""
    url, episodes, connections = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    parts = await asyncio.gather(*(play(url, range(n, episodes, connections)) for n in range(connections)))
    print(json.dumps({"episodes": {seed: told for part in parts for seed, told in part.items()}, **await refused(url)}))


asyncio.run(main())
