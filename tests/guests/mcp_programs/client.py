"""Play an episode with the client of the official SDK: client.py word-game|guess URL|COMMAND…; prints what it sees."""

import asyncio
import sys
from typing import Any

from mcp import Client, StdioServerParameters  # type: ignore[import-not-found]


async def main() -> None:
    """Play until the episode is over."""
    game, *words = sys.argv[1:]
    target: Any = words[0] if len(words) == 1 else StdioServerParameters(command=words[0], args=words[1:])
    async with Client(target) as client:
        print(*(tool.name for tool in (await client.list_tools()).tools))
        calls: list[tuple[str, dict[str, Any]]] = [("reset", {"seed": 3})]
        if game == "word-game":
            calls += [("find_words", {"pattern": "s..te"}), *[("step", {"action": "slate"})] * 12]
        else:
            calls += [("step", {"action": str(number)}) for number in range(10)]
        for name, arguments in calls:
            result = await client.call_tool(name, arguments)
            if result.is_error:
                break
            print(" ".join(part.text for part in result.content).replace("\n", " "))


asyncio.run(main())
