"""Models for foreign programs: the gateway of a run, opened when the first program needs it, and its taps."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

from mesocosm.core.failure import Cause, EpisodeError, RunAborted
from mesocosm.core.gateway import Address, Call, Forwarded, Gateway
from mesocosm.core.model import ModelReply, ModelRequest, ModelSettings
from mesocosm.core.ports import Model
from mesocosm.core.registry import GATEWAYS

DEFAULT = "proxy"
AGENT, JUDGE = "", "judge"
REFUSED_KEY = 401

CAUSES = {
    401: Cause.MODEL_FORBIDDEN,
    403: Cause.MODEL_FORBIDDEN,
    404: Cause.MODEL_MISSING,
    429: Cause.RATE_LIMITED,
    499: Cause.CANCELLED,
    504: Cause.MODEL_TIMEOUT,
}
"""The causes that HTTP statuses of calls stand for; any other of 500 and more says that the model is unavailable."""


@dataclass(frozen=True, slots=True)
class Connected:
    """The addresses of an episode while they are open, with the taps behind them."""

    address: Address
    tap: "EpisodeTap"
    judging: "EpisodeTap | None" = None

    def settle(self, facts: Mapping[str, Any] | None = None) -> None:
        """Raise what ended the calls of the program, or those of its graders; see `EpisodeTap.settle`."""
        self.tap.settle(facts)
        if self.judging is not None:
            self.judging.settle(facts)


class Gateways:
    """The gateway of one run. Nothing is started, nor imported, before the first program plays."""

    def __init__(self, model: Model, settings: ModelSettings, judge: tuple[Model, ModelSettings] | None = None) -> None:
        self._model = model
        self._settings = settings
        self._judge = judge
        self._open: dict[str, Gateway] = {}
        self._reserved = Reserved()

    @asynccontextmanager
    async def connected(self, context: "Tapped", *, judged: bool = False) -> AsyncIterator["Connected"]:
        """Open the addresses of an episode: one for its program, where it is `judged` one for graders too.

        Raises UsageError when no gateway is installed, EpisodeError when it cannot listen.
        """
        tap = EpisodeTap(context, self._reserved)
        gateway = self._gateway(AGENT)
        address = await gateway.connect(tap)
        if not judged:
            try:
                yield Connected(address, tap)
            finally:
                await gateway.disconnect(address)
            return
        judging = EpisodeTap(context, self._reserved, JUDGE)
        other = self._gateway(JUDGE) if self._judge is not None else gateway
        try:
            judge = await other.connect(judging)
            try:
                yield Connected(replace(address, judge=judge), tap, judging)
            finally:
                await other.disconnect(judge)
        finally:
            await gateway.disconnect(address)

    def _gateway(self, role: str) -> Gateway:
        if role not in self._open:
            model, settings = self._judge if role == JUDGE and self._judge else (self._model, self._settings)
            self._open[role] = GATEWAYS.get(DEFAULT)(model, settings)
        return self._open[role]

    async def close(self) -> None:
        """Stop what was opened."""
        gateways, self._open = self._open, {}
        for gateway in gateways.values():
            await gateway.close()


class Tapped(Protocol):
    """What a tap needs of an episode; the engine's context."""

    @property
    def over(self) -> bool:
        """Whether the episode has ended."""
        ...

    @property
    def unaffordable(self) -> str:
        """Why no further call may be made, empty as long as one may."""
        ...

    @property
    def run_spent(self) -> str:
        """Which budget of the run is used up, empty as long as none is."""
        ...

    def room(self, tokens: int, reserved: int, reserved_in_run: int) -> bool:
        """Whether a call of `tokens` fits into the budgets beside what calls under way may use."""
        ...

    async def turn(self) -> None:
        """Wait for what the rates per minute allow."""
        ...

    async def ask_for(self, call: Call, request: ModelRequest) -> ModelReply:
        """Call the model for a program."""
        ...

    async def again(self, error: EpisodeError, attempt: int) -> bool:
        """Whether a failed call is repeated; returns when its wait is over."""
        ...

    def forwarded(self, call: Forwarded) -> None:
        """Record a call."""
        ...


class Reserved:
    """What the calls under way of a run may use, and who waits for them to end."""

    def __init__(self) -> None:
        self.tokens = 0
        self._freed: list[asyncio.Future[None]] = []

    async def freed(self) -> None:
        """Wait until a call has ended."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._freed.append(future)
        await future

    def free(self, tokens: int) -> None:
        """Take a call out."""
        self.tokens -= tokens
        waiting, self._freed = self._freed, []
        for future in waiting:
            if not future.done():
                future.set_result(None)


class EpisodeTap:
    """Implements core.gateway.Tap for one episode.

    A call under way is reckoned with what it is expected to use, and at least with the largest call so far: so calls
    made at once pass a budget by no more than what the estimates are wrong by.
    """

    def __init__(self, context: Tapped, reserved: Reserved, role: str = AGENT) -> None:
        self.failing: EpisodeError | None = None
        self._role = role
        self._context = context
        self._reserved = reserved
        self._own = 0
        self._largest = 0
        self._refused = ""
        self._of_run = False
        self._broken: EpisodeError | RunAborted | None = None

    @asynccontextmanager
    async def admitted(self, tokens: int, *, passing: bool) -> AsyncIterator[str]:
        """Enter a call of about `tokens` tokens; gives why it may not be made, or nothing."""
        refusal = await self._room(tokens)
        if refusal:
            yield refusal
            return
        tokens = max(tokens, self._largest)
        self._own += tokens
        self._reserved.tokens += tokens
        try:
            if passing:
                await self._context.turn()
            yield ""
        finally:
            self._own -= tokens
            self._reserved.free(tokens)

    async def _room(self, tokens: int) -> str:
        while not (refusal := self._refusal()):
            if self._context.room(max(tokens, self._largest), self._own, self._reserved.tokens):
                break
            await self._reserved.freed()
        return refusal

    def _refusal(self) -> str:
        """Return why no further call may be made; what was once refused stays so."""
        if self._context.over:
            return "the episode is over"
        if self._broken is not None:
            return str(self._broken)
        if not self._refused:
            self._refused = self._context.unaffordable
            self._of_run = bool(self._refused) and self._refused == self._context.run_spent
        return self._refused

    async def ask(self, request: ModelRequest, call: Call) -> ModelReply:
        """Answer a call through the engine. Raises EpisodeError."""
        try:
            reply = await self._context.ask_for(replace(call, role=self._role), request)
        except EpisodeError as error:
            self.failing = error
            if error.cause is Cause.BUDGET:
                self._refused = self._refused or str(error)
            elif error.rule.fatal:
                self._broken = self._broken or error
            raise
        except RunAborted as error:
            self._broken = self._broken or error
            raise EpisodeError(Cause.BUDGET, str(error)) from error
        self.failing = None
        self._largest = max(self._largest, reply.usage.total)
        return reply

    async def again(self, status: int, error: str, retry_after: float | None, attempt: int) -> bool:
        """Return whether a call that was passed on is to be made once more, after the wait that is due."""
        cause = _cause(status)
        if cause is None or self._refusal():
            return False
        failed = EpisodeError(cause, error, retry_after=retry_after)
        return await self._context.again(failed, attempt) and not self._refusal()

    def forwarded(self, call: Forwarded) -> None:
        """Record a call that the gateway passed on; what that raises is raised by `settle`."""
        if call.reply is not None:
            self._largest = max(self._largest, call.reply.usage.total)
        cause = _cause(call.status)
        self.failing = EpisodeError(cause, call.error) if call.error and cause is not None else None
        if call.status == REFUSED_KEY and self._role == AGENT:
            # Whatever a program makes of it: with this key no row of the run can be measured.
            self._broken = self._broken or self.failing
        try:
            self._context.forwarded(replace(call, call=replace(call.call, role=self._role)))
        except (EpisodeError, RunAborted) as error:
            self._broken = self._broken or error

    def blame(self, error: EpisodeError) -> None:
        """Raise the failure of the model in place of what a workflow made of it, where its last call had failed."""
        failing = self.failing
        if failing is None or error.cause is not Cause.WORKFLOW_FAILED:
            return
        if failing.rule.retried or failing.rule.fatal:
            message = f"{failing}; of that the workflow failed: {error}"
            raise EpisodeError(failing.cause, message, detail=error.detail, facts=error.facts) from error

    def settle(self, facts: Mapping[str, Any] | None = None) -> None:
        """Raise what ended the calls of the program: what it found without them measures nothing else.

        `facts` about the program are kept with a used up budget. What the budget of the run cut off stays owed.
        Raises EpisodeError (a budget, a model that refuses every call) and RunAborted.
        """
        if self._broken is not None:
            raise self._broken
        if self._of_run:
            raise EpisodeError(Cause.CANCELLED, self._refused, facts=facts)
        if self._refused:
            message = f"the program was refused further model calls: {self._refused}"
            raise EpisodeError(Cause.BUDGET, message, facts=facts)


def _cause(status: int) -> Cause | None:
    """Return the cause that an HTTP status stands for, None where it says nothing about the model's side."""
    return CAUSES.get(status, Cause.MODEL_UNAVAILABLE if status >= 500 else None)
