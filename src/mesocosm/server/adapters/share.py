"""Slots for episodes, shared fairly between the runs of one worker."""

import asyncio
from collections import deque


class Share:
    """So many slots for all members together; a free one goes to the waiting member that has the fewest.

    The slots of a member that is paused are lent to the others meanwhile: then more than there are may be taken for a
    while after the pause. Belongs to one event loop.
    """

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._members: list[Member] = []

    def member(self) -> "Member":
        """Return somebody new who wants slots; it has to leave in the end."""
        member = Member(self)
        self._members.append(member)
        return member

    async def enter(self, member: "Member") -> None:
        """Return once the member has one slot more."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        member.waiting.append(turn)
        self._hand_out()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.leave(member)
            raise

    def leave(self, member: "Member") -> None:
        """Give one slot of a member back."""
        member.held -= 1
        self._hand_out()

    def forget(self, member: "Member") -> None:
        """Give back everything that a member still has; it wants nothing any more."""
        if member in self._members:
            self._members.remove(member)
            member.held = 0
            self._hand_out()

    def pause(self, member: "Member", *, paused: bool) -> None:
        """Lend the slots of a member to the others, or count them again."""
        member.paused = paused
        self._hand_out()

    def _hand_out(self) -> None:
        while sum(member.held for member in self._members if not member.paused) < self._slots:
            waiting = [member for member in self._members if member.wants]
            if not waiting:
                return
            chosen = min(waiting, key=lambda member: member.held)
            # Whoever was served last stands behind those who have as many.
            self._members.remove(chosen)
            self._members.append(chosen)
            chosen.waiting.popleft().set_result(None)
            chosen.held += 1


class Member:
    """One run among those that share; `held` are the slots that it has."""

    def __init__(self, share: Share) -> None:
        self.held = 0
        self.paused = False
        self.waiting: deque[asyncio.Future[None]] = deque()
        self._share = share

    @property
    def wants(self) -> bool:
        """Whether something of it waits."""
        while self.waiting and self.waiting[0].done():
            self.waiting.popleft()
        return bool(self.waiting)

    async def enter(self) -> None:
        """Wait for a slot."""
        await self._share.enter(self)

    def leave(self) -> None:
        """Give a slot back."""
        if self.held:
            self._share.leave(self)

    def pause(self, *, paused: bool) -> None:
        """Lend the slots to others for as long as nothing can be played."""
        self._share.pause(self, paused=paused)

    def end(self) -> None:
        """Want nothing any more."""
        self._share.forget(self)
