"""Models for external programs: the proxy endpoints of a run, opened on first use, and their recorders."""

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
        Cause.AGENT_ERROR,
        Cause.AGENT_TIMEOUT,
    }
)
"""Failures of programs and agents that a failure of their model may have caused."""

CAUSES = {
    401: Cause.MODEL_FORBIDDEN,
    403: Cause.MODEL_FORBIDDEN,
    404: Cause.MODEL_MISSING,
    429: Cause.RATE_LIMITED,
    GONE: Cause.CANCELLED,
    504: Cause.MODEL_TIMEOUT,
}
"""Causes by HTTP status of a failed call; `cause_of` covers all statuses."""


OVERLOADED = frozenset({429, 503, 529})
"""HTTP statuses of an overloaded server."""

_BUSY = OVERLOADED | {408, 502, 504}
"""HTTP statuses of temporary failures, which say nothing about the features of the server."""

TIMEOUTS = frozenset({Cause.WORKFLOW_TIMEOUT, Cause.PROGRAM_TIMEOUT, Cause.AGENT_TIMEOUT})


@dataclass(frozen=True, slots=True)
class OpenAddresses:
    """The open proxy addresses of an episode, with their recorders."""

    address: ProxyAddress
    recorder: "EpisodeRecorder"
    judging: "EpisodeRecorder | None" = None

    def settle(self, facts: Mapping[str, Any] | None = None) -> None:
        """Raise the error that ended the calls of the program or of its graders; see `EpisodeRecorder.settle`."""
        for recorder in self._recorders:
            recorder.settle(facts)

    def blame(self, error: EpisodeError) -> None:
        """Raise the failure of a model that may have caused that of the program; see `EpisodeRecorder.blame`."""
        for recorder in self._recorders:
            recorder.blame(error)

    def unanswered(self, facts: Mapping[str, Any]) -> None:
        """Raise the failure of an unanswered call of a program or its graders; see `EpisodeRecorder.unanswered`."""
        for recorder in self._recorders:
            recorder.unanswered(facts)

    @property
    def _recorders(self) -> Iterator["EpisodeRecorder"]:
        return (recorder for recorder in (self.recorder, self.judging) if recorder is not None)


class ProxyEndpoints:
    """The proxy endpoints of one run. Nothing is started or imported before the first program runs."""

    def __init__(self, model: Model, settings: ModelSettings, judge: tuple[Model, ModelSettings] | None = None) -> None:
        self._model = model
        self._settings = settings
        self._judge = judge
        self._open: dict[str, ProxyEndpoint] = {}
        self._reserved = ReservedTokens()

    @asynccontextmanager
    async def connected(self, context: "RecordedEpisode", *, judged: bool = False) -> AsyncIterator["OpenAddresses"]:
        """Open the proxy addresses of an episode: one for its program and, if `judged`, one for its graders.

        Raises UsageError if no proxy is installed, EpisodeError if it cannot listen.
        """
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
        """Close the opened endpoints."""
        endpoints, self._open = self._open, {}
        for endpoint in endpoints.values():
            await endpoint.close()


class RecordedEpisode(Protocol):
    """What a recorder needs from an episode: the engine's context.

    `waited_s` is the time spent in outages, in seconds.
    """

    waited_s: float

    @property
    def over(self) -> bool:
        """Whether the episode has ended."""
        ...

    @property
    def unaffordable(self) -> str:
        """Which budget is used up so that no further call may be made; empty if none is."""
        ...

    @property
    def run_spent(self) -> str:
        """Which budget of the run is used up; empty if none is."""
        ...

    def room(self, tokens: int, reserved: int, reserved_in_run: int) -> bool:
        """Return whether a call of `tokens` fits into the budgets beside reserved tokens of calls in progress."""
        ...

    async def funded(self) -> None:
        """Wait until the process may spend more of the run's budget, or no call may be made any more."""
        ...

    def away(self, role: str) -> EpisodeError | None:
        """Return the outage of the model that the program or its graders call; None while it answers."""
        ...

    async def turn(self, role: str) -> None:
        """Wait until the outage is over and the rates per minute allow a call of the program or its graders."""
        ...

    async def ask_for(
        self, call: ProxyCall, request: ModelRequest, failing: Callable[[EpisodeError], None]
    ) -> ModelReply:
        """Call the model for a program; `failing` is called with every failed try that is repeated."""
        ...

    async def again(self, error: EpisodeError, attempt: int, role: str) -> bool:
        """Return whether to repeat a failed call; if so, return after the wait."""
        ...

    def forwarded(self, call: Forwarded) -> None:
        """Record a call."""
        ...


class ReservedTokens:
    """The tokens that calls of a run in progress may use, and the tasks waiting for such calls to end."""

    def __init__(self) -> None:
        self.tokens = 0
        self._freed: list[asyncio.Future[None]] = []

    async def freed(self) -> None:
        """Wait until a call has ended."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._freed.append(future)
        await future

    def free(self, tokens: int) -> None:
        """Release the tokens of a call."""
        self.tokens -= tokens
        waiting, self._freed = self._freed, []
        for future in waiting:
            if not future.done():
                future.set_result(None)


class EpisodeRecorder:
    """Implements core.proxy.ModelRecorder for one episode.

    A call in progress reserves its expected usage, and at least that of the largest call so far, so concurrent calls
    exceed a budget only by the error of these estimates.
    """

    def __init__(self, context: RecordedEpisode, reserved: ReservedTokens, role: str = AGENT) -> None:
        self.role = role
        # An unanswered call of a judge is never the agent's fault, whatever the request of the grader.
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
        """Admit a call of about `tokens` tokens; yields why it may not be made, or an empty string."""
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
        """Wait until the rates per minute allow a call and the server is not in an outage."""
        await self._context.turn(self.role)

    async def _room(self, tokens: int) -> str:
        await self._context.funded()
        while not (refusal := self._refusal()):
            if self._context.room(max(tokens, self._largest), self._own, self._reserved.tokens):
                break
            await self._reserved.freed()
        return refusal

    def _refusal(self) -> str:
        """Return why no further call may be made; a refusal for a budget is final."""
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
            # The endpoint reports the failure itself with `forwarded`.
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
        """Return whether to repeat a call that was forwarded, after the wait that is due."""
        if self._refusal():
            return False
        failed = EpisodeError(
            cause_of(status), error, retry_after=retry_after, overload=status in OVERLOADED, status=status
        )
        self._questions.failed(failed)
        return await self._context.again(failed, attempt, self.role) and not self._refusal()

    def forwarded(self, call: Forwarded) -> None:
        """Record a call that the endpoint forwarded; errors are raised later by `settle`."""
        if call.reply is not None:
            self._largest = max(self._largest, call.reply.usage.total)
        self._judge_outcome(call)
        try:
            own = call.call.role == self.role
            self._context.forwarded(call if own else replace(call, call=replace(call.call, role=self.role)))
        except (EpisodeError, RunAborted) as error:
            self._broken = self._broken or error

    def _judge_outcome(self, call: Forwarded) -> None:
        """Record what a call says about the model: whether it failed, and whether every further call would fail."""
        questions, asked, unread = self._questions, call.messages, call.call.unread
        if not call.error:
            questions.answered(asked, unread)
            return
        cause = call.cause or cause_of(call.status)
        if cause is Cause.CANCELLED:
            questions.given_up(asked, unread, begun=call.reply is not None, away=self._context.away(self.role))
            return
        error = EpisodeError(cause, call.error)
        # Many servers do not support embeddings, report that in different ways, and programs continue without them.
        matters = call.call.path != _EMBEDDINGS or call.status in _BUSY
        questions.failed(error, matters=matters)
        if matters:
            questions.lost(asked, error, unread)
            if error.rule.fatal and self.role == AGENT:
                # However the program handles it, no episode of the run can be measured.
                self._broken = self._broken or error

    @property
    def failing(self) -> EpisodeError | None:
        """The failure of the last call; None if it was answered."""
        return self._questions.failing

    def blame(self, error: EpisodeError) -> None:
        """Raise the failure of the model if it may have caused the failure `error` of a program. Raises EpisodeError.

        A timeout is also blamed on the model if the program waited for it during an outage.
        """
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
        """Raise the failure of an unanswered call of a program that ended well: its result does not count then.

        Such a call is the last one, if the model's side failed for any reason, or an earlier one that failed because
        the server was away or busy, unless the program repeated it and got an answer. Raises EpisodeError.
        """
        missed = self._questions.missed
        if missed is not None:
            what = "the program went on without that answer, and its result counts for nothing"
            if self.role == JUDGE:
                what = "without that answer of the judge there is no score"
            raise EpisodeError(missed.cause, f"{missed}; {what}", facts=facts)

    def settle(self, facts: Mapping[str, Any] | None = None) -> None:
        """Raise the error that ended the calls of the program: its result without them is no measurement.

        `facts` about the program are stored with an exhausted budget. An episode cut off by a budget of the run stays
        pending. Raises EpisodeError (a budget, a model that refuses every call) and RunAborted.
        """
        if self._broken is not None:
            raise self._broken
        if self._of_run:
            raise EpisodeError(Cause.CANCELLED, self._refused, facts=facts)
        if self._refused:
            message = f"the program was refused further model calls: {self._refused}"
            raise EpisodeError(Cause.BUDGET, message, facts=facts)


def cause_of(status: int) -> Cause:
    """Return the cause for the HTTP status of a failed call."""
    if status in CAUSES:
        return CAUSES[status]
    if status >= 500:
        return Cause.MODEL_UNAVAILABLE
    return Cause.MODEL_REJECTED if status >= 400 else Cause.MODEL_INVALID
