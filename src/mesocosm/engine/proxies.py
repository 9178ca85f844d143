"""Models for foreign programs: the endpoint of a run, opened when the first program needs it, and its recorders."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

from mesocosm.core.failure import Cause, EpisodeError, RunAborted
from mesocosm.core.model import ModelReply, ModelRequest, ModelSettings
from mesocosm.core.ports import Model
from mesocosm.core.proxy import AGENT, GONE, JUDGE, Forwarded, ProxyAddress, ProxyCall, ProxyEndpoint
from mesocosm.core.registry import PROXIES
from mesocosm.engine.unanswered_calls import UnansweredCalls

DEFAULT = "proxy"

_EMBEDDINGS = "/embeddings"
_BLAMED = frozenset(
    {
        Cause.WORKFLOW_FAILED,
        Cause.WORKFLOW_INVALID,
        Cause.WORKFLOW_TIMEOUT,
        Cause.PROGRAM_FAILED,
        Cause.PROGRAM_TIMEOUT,
    }
)
"""Failures of programs that may follow from a failure of their model."""

CAUSES = {
    401: Cause.MODEL_FORBIDDEN,
    403: Cause.MODEL_FORBIDDEN,
    404: Cause.MODEL_MISSING,
    429: Cause.RATE_LIMITED,
    GONE: Cause.CANCELLED,
    504: Cause.MODEL_TIMEOUT,
}
"""The causes that HTTP statuses of calls stand for; of others `cause_of` tells."""


OVERLOADED = frozenset({429, 503, 529})
"""HTTP statuses of a server that is busy."""

_BUSY = OVERLOADED | {408, 502, 504}
"""HTTP statuses of calls that may be answered at another time, whatever the server can do."""

TIMEOUTS = frozenset({Cause.WORKFLOW_TIMEOUT, Cause.PROGRAM_TIMEOUT})


@dataclass(frozen=True, slots=True)
class OpenAddresses:
    """The addresses of an episode while they are open, with the recorders behind them."""

    address: ProxyAddress
    recorder: "EpisodeRecorder"
    judging: "EpisodeRecorder | None" = None

    def settle(self, facts: Mapping[str, Any] | None = None) -> None:
        """Raise what ended the calls of the program, or those of its graders; see `EpisodeRecorder.settle`."""
        for recorder in self._recorders:
            recorder.settle(facts)

    def blame(self, error: EpisodeError) -> None:
        """Raise the failure of a model in place of what the program made of it; see `EpisodeRecorder.blame`."""
        for recorder in self._recorders:
            recorder.blame(error)

    def unanswered(self, facts: Mapping[str, Any]) -> None:
        """Raise the failure of a call of a program that ended well, or of its graders: `EpisodeRecorder.unanswered`."""
        for recorder in self._recorders:
            recorder.unanswered(facts)

    @property
    def _recorders(self) -> Iterator["EpisodeRecorder"]:
        return (recorder for recorder in (self.recorder, self.judging) if recorder is not None)


class ProxyEndpoints:
    """The endpoint of one run. Nothing is started, nor imported, before the first program plays."""

    def __init__(self, model: Model, settings: ModelSettings, judge: tuple[Model, ModelSettings] | None = None) -> None:
        self._model = model
        self._settings = settings
        self._judge = judge
        self._open: dict[str, ProxyEndpoint] = {}
        self._reserved = ReservedTokens()

    @asynccontextmanager
    async def connected(self, context: "RecordedEpisode", *, judged: bool = False) -> AsyncIterator["OpenAddresses"]:
        """Open the proxy addresses of an episode, one for graders if `judged`. Raises UsageError, EpisodeError."""
        recorder = EpisodeRecorder(context, self._reserved)
        endpoint = self._endpoint(AGENT)
        address = await endpoint.connect(recorder)
        if not judged:
            try:
                yield OpenAddresses(address, recorder)
            finally:
                await endpoint.disconnect(address)
            return
        judging = EpisodeRecorder(context, self._reserved, JUDGE)
        other = self._endpoint(JUDGE) if self._judge is not None else endpoint
        try:
            judge = await other.connect(judging)
            try:
                yield OpenAddresses(replace(address, judge=judge), recorder, judging)
            finally:
                await other.disconnect(judge)
        finally:
            await endpoint.disconnect(address)

    def _endpoint(self, role: str) -> ProxyEndpoint:
        if role not in self._open:
            model, settings = self._judge if role == JUDGE and self._judge else (self._model, self._settings)
            self._open[role] = PROXIES.get(DEFAULT)(model, settings)
        return self._open[role]

    async def close(self) -> None:
        """Stop what was opened."""
        endpoints, self._open = self._open, {}
        for endpoint in endpoints.values():
            await endpoint.close()


class RecordedEpisode(Protocol):
    """What a recorder needs of an episode; the engine's context. `waited_s` are the seconds spent in outages."""

    waited_s: float

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

    def away(self, role: str) -> EpisodeError | None:
        """Return the outage of the model that the program or its graders ask; None while it answers."""
        ...

    async def turn(self, role: str) -> None:
        """Wait for what the rates per minute allow the program or its graders, and for the end of an outage."""
        ...

    async def ask_for(
        self, call: ProxyCall, request: ModelRequest, failing: Callable[[EpisodeError], None]
    ) -> ModelReply:
        """Call the model for a program; `failing` hears of every try that failed and is repeated."""
        ...

    async def again(self, error: EpisodeError, attempt: int, role: str) -> bool:
        """Whether a failed call is repeated; returns when its wait is over."""
        ...

    def forwarded(self, call: Forwarded) -> None:
        """Record a call."""
        ...


class ReservedTokens:
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


class EpisodeRecorder:
    """Implements core.proxy.ModelRecorder for one episode.

    A call under way is reckoned with what it is expected to use, and at least with the largest call so far: so calls
    made at once pass a budget by no more than what the estimates are wrong by.
    """

    def __init__(self, context: RecordedEpisode, reserved: ReservedTokens, role: str = AGENT) -> None:
        self.role = role
        # What a judge did not answer is never the agent's doing, however the grader asked for it.
        self._questions = UnansweredCalls(strict=role == JUDGE)
        self._context = context
        self._reserved = reserved
        self._own = 0
        self._largest = 0
        self._refused = ""
        self._of_run = False
        self._broken: EpisodeError | RunAborted | None = None

    @asynccontextmanager
    async def admitted(self, tokens: int) -> AsyncIterator[str]:
        """Enter a call of about `tokens` tokens; gives why it may not be made, or nothing."""
        refusal = await self._room(tokens)
        if refusal:
            yield refusal
            return
        tokens = max(tokens, self._largest)
        self._own += tokens
        self._reserved.tokens += tokens
        try:
            with self._questions.call():
                yield ""
        finally:
            self._own -= tokens
            self._reserved.free(tokens)

    async def turn(self) -> None:
        """Wait for what the rates per minute allow, and while the server does not answer at all."""
        await self._context.turn(self.role)

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

    async def ask(self, request: ModelRequest, call: ProxyCall) -> ModelReply:
        """Answer a call through the engine. Raises EpisodeError."""
        try:
            reply = await self._context.ask_for(replace(call, role=self.role), request, self._questions.failed)
        except EpisodeError as error:
            # That it failed the endpoint says by `forwarded`.
            if error.cause is Cause.BUDGET:
                self._refused = self._refused or str(error)
            elif error.rule.fatal:
                self._broken = self._broken or error
            raise
        except RunAborted as error:
            self._broken = self._broken or error
            raise EpisodeError(Cause.BUDGET, str(error)) from error
        self._questions.answered(request.messages)
        self._largest = max(self._largest, reply.usage.total)
        return reply

    async def again(self, status: int, error: str, retry_after: float | None, attempt: int) -> bool:
        """Return whether a call that was passed on is to be made once more, after the wait that is due."""
        if self._refusal():
            return False
        failed = EpisodeError(
            cause_of(status), error, retry_after=retry_after, overload=status in OVERLOADED, status=status
        )
        self._questions.failed(failed)
        return await self._context.again(failed, attempt, self.role) and not self._refusal()

    def forwarded(self, call: Forwarded) -> None:
        """Record a call that the endpoint passed on; what that raises is raised by `settle`."""
        if call.reply is not None:
            self._largest = max(self._largest, call.reply.usage.total)
        self._judge_outcome(call)
        try:
            self._context.forwarded(replace(call, call=replace(call.call, role=self.role)))
        except (EpisodeError, RunAborted) as error:
            self._broken = self._broken or error

    def _judge_outcome(self, call: Forwarded) -> None:
        """See what a call says about the model: whether it fails, and whether every further one would."""
        questions, asked, unread = self._questions, call.messages, call.call.unread
        if not call.error:
            questions.answered(asked, unread)
            return
        cause = call.cause or cause_of(call.status)
        if cause is Cause.CANCELLED:
            questions.given_up(asked, unread, begun=call.reply is not None, away=self._context.away(self.role))
            return
        error = EpisodeError(cause, call.error)
        # Many servers make no embeddings, each says so in its own way, and programs go on without them.
        matters = call.call.path != _EMBEDDINGS or call.status in _BUSY
        questions.failed(error, matters=matters)
        if matters:
            questions.lost(asked, error, unread)
            if error.rule.fatal and self.role == AGENT:
                # Whatever a program makes of it: no episode of the run can be measured.
                self._broken = self._broken or error

    @property
    def failing(self) -> EpisodeError | None:
        """The failure of the last call; None when it was answered."""
        return self._questions.failing

    def blame(self, error: EpisodeError) -> None:
        """Raise the failure of the model in place of what a program made of it, where a call was not answered."""
        failing, waited = self._questions.blamed, self._context.waited_s
        if error.cause in TIMEOUTS and waited:
            message = f"{error}; {waited:.0f} s of that it waited for a model that did not answer"
            raise EpisodeError(Cause.MODEL_UNAVAILABLE, message, detail=error.detail, facts=error.facts) from error
        if failing is not None and error.cause in _BLAMED:
            message = f"{failing}; of that the program failed: {error}"
            raise EpisodeError(
                failing.cause, message, detail=error.detail, stderr=error.stderr, facts=error.facts
            ) from error

    def unanswered(self, facts: Mapping[str, Any]) -> None:
        """Raise the failure of a call of a program that ended well: without that answer it has no result.

        That is the last call, whatever the model's side failed for, and every earlier one that was not answered because
        the server was away or busy, unless the program asked the same again and was answered. Raises EpisodeError.
        """
        missed = self._questions.missed
        if missed is not None:
            what = "the program went on without that answer, and its result counts for nothing"
            if self.role == JUDGE:
                what = "without that answer of the judge there is no score"
            raise EpisodeError(missed.cause, f"{missed}; {what}", facts=facts)

    def settle(self, facts: Mapping[str, Any] | None = None) -> None:
        """Raise what ended the calls of the program: what it found without them measures nothing else.

        `facts` about the program are kept with a used up budget. What the budget of the run cut off stays pending.
        Raises EpisodeError (a budget, a model that refuses every call) and RunAborted.
        """
        if self._broken is not None:
            raise self._broken
        if self._of_run:
            raise EpisodeError(Cause.CANCELLED, self._refused, facts=facts)
        if self._refused:
            message = f"the program was refused further model calls: {self._refused}"
            raise EpisodeError(Cause.BUDGET, message, facts=facts)


def cause_of(status: int) -> Cause:
    """Return the cause that the HTTP status of a failed call stands for."""
    if status in CAUSES:
        return CAUSES[status]
    if status >= 500:
        return Cause.MODEL_UNAVAILABLE
    return Cause.MODEL_REJECTED if status >= 400 else Cause.MODEL_INVALID
