"""What the members of a group share: places to work at once, and things that only one may use at a time."""

import asyncio
from collections.abc import Callable


class Resources:
    """Hands out slots and exclusive names to one caller in its order: a large wish is not overtaken for ever."""

    def __init__(self, slots: int) -> None:
        self._slots = max(slots, 1)
        self._free = self._slots
        self._taken: set[str] = set()
        self._given_back = asyncio.Event()

    async def take(self, slots: int, exclusive: frozenset[str] = frozenset()) -> Callable[[], None]:
        """Wait for `slots` (0, or more than there are: all) and for every name; return what gives them back.

        Call it from one task only.
        """
        wanted = self._slots if slots <= 0 else min(slots, self._slots)
        while self._free < wanted or exclusive & self._taken:
            self._given_back.clear()
            await self._given_back.wait()
        self._free -= wanted
        self._taken |= exclusive

        def release() -> None:
            self._free += wanted
            self._taken -= exclusive
            self._given_back.set()

        return release
