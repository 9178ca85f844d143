"""Model calls with retries, waits, rate limits and adaptive concurrency."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from mesocosm.core.backoff import Backoff
from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.core.foreign import MOST, finite
from mesocosm.core.model import ModelReply, ModelRequest
from mesocosm.core.ports import CallBudget, Model
from mesocosm.core.proxy import JUDGE
from mesocosm.core.run import Limits
from mesocosm.engine.limits import CallLimits
from mesocosm.engine.outage import Endpoint


@dataclass(frozen=True, slots=True)
class Retry:
    """A retry: the number of the failed try (1, 2, …), its error, and the wait in seconds before the next one."""

    attempt: int
    error: EpisodeError
    wait_s: float


class Caller:
    """All calls of a run to one model.

    `name` is the model's name in the run, which records of calls use; `served` are the names with which its server
    answered. `bounds` are shared with other runs that ask the same server; by default they are the run's own.
    """

    def __init__(
        self,
        model: Model,
        limits: Limits,
        parallel: int,
        budget: CallBudget,
        backoff: Backoff,
        endpoint: Endpoint | None = None,
        name: str = "",
        bounds: CallLimits | None = None,
    ) -> None:
        self.name = name
        self.model = model
        self.endpoint = endpoint or Endpoint("the model", limits.outage_seconds, backoff)
        bounds = bounds or CallLimits(limits, parallel)
        self.concurrency, self._requests, self._tokens = bounds.concurrency, bounds.requests, bounds.tokens
        self.served: dict[str, None] = {}
        self._retries = limits.retries
        self._backoff = backoff
        self.budget = budget

    async def ask(
        self,
        request: ModelRequest,
        retried: Callable[[Retry], None],
        untimed: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> ModelReply:
        """Return the reply; `retried` is called before the wait of every retry. Raises EpisodeError.

        The caller charges the reply after recording it. No call is started once the run's budget is used up: the
        episode is then pending. During an outage the call waits, inside `untimed`.
        """
        attempt = 1
        while True:
            await self.budget.admitted(self.concurrency.active)
            if reason := self.budget.overspent():
                raise EpisodeError(Cause.CANCELLED, reason)
            await self.ready(untimed)
            try:
                return await self._once(request)
            except EpisodeError as error:
                retry = self.retry(attempt, error)
                if retry is None:
                    raise
            retried(retry)
            await asyncio.sleep(retry.wait_s)
            attempt += 1

    async def ready(self, untimed: Callable[[], AbstractContextManager[None]] = nullcontext) -> None:
        """Wait, inside `untimed`, until an outage of the model is over."""
        if self.endpoint.down:
            with untimed():
                await self.endpoint.enter()

    def retry(self, attempt: int, error: EpisodeError) -> Retry | None:
        """Return the retry after the failure of try number `attempt` (1, 2, …); None if there is none.

        During an outage, calls are retried as soon as the endpoint lets them through, without limit.
        """
        without_end = self.endpoint.failed(error)
        if self.endpoint.down and self.endpoint.silent and not without_end:
            # Nothing was answered yet; the next requests soon show whether all fail in the same way.
            return None
        if not error.rule.retried or (attempt > self._retries and not without_end):
            return None
        wait = 0.0 if self.endpoint.down else self._backoff.wait(attempt, error.retry_after)
        return Retry(attempt, error, wait)

    async def turn(self) -> None:
        """Wait until the rates per minute allow another call."""
        if self._requests is not None:
            await self._requests.take()
        if self._tokens is not None:
            await self._tokens.take(0.0)

    def share(self, parallel: int, rate: float) -> None:
        """Make at most `parallel` calls at a time, and use `rate` (0 to 1) of the limits per minute."""
        self.concurrency.resize(parallel)
        for limit in (self._requests, self._tokens):
            if limit is not None:
                limit.share(rate)

    def charge(self, reply: ModelReply) -> None:
        """Charge a reply. Raises RunAborted if money is limited and its price is unknown."""
        if self._tokens is not None:
            self._tokens.owe(reply.usage.total)
        self.budget.charge(reply.usage, reply.model)

    async def _once(self, request: ModelRequest) -> ModelReply:
        await self.turn()
        concurrency = self.concurrency
        started = await concurrency.acquire()
        try:
            reply = plausible(await self.model.ask(request))
        except EpisodeError as error:
            if error.overload:
                asked = error.retry_after
                concurrency.overloaded(started, None if asked is None else self._backoff.wait(1, asked))
            raise
        except BaseException:
            self.endpoint.left()
            raise
        finally:
            concurrency.release()
        concurrency.succeeded()
        self.endpoint.answered()
        return reply


@dataclass(frozen=True, slots=True)
class Callers:
    """What episodes of a run depend on, each with its own outage; without a judge, `judge` is `model`.

    `service` returns the endpoint of any further service by its name.
    """

    model: Caller
    judge: Caller
    world: Endpoint
    service: Callable[[str], Endpoint]

    def of(self, role: str) -> Caller:
        """Return the caller for calls of a program (AGENT) or of its graders (JUDGE)."""
        return self.judge if role == JUDGE else self.model


def plausible(reply: ModelReply) -> ModelReply:
    """Return `reply` if it can be stored and summed up. Raises EpisodeError otherwise."""
    usage = reply.usage
    counts = (usage.prompt, usage.completion, usage.cached, usage.reasoning, usage.calls)
    if not all(isinstance(count, int) and 0 <= count <= MOST for count in counts):
        raise EpisodeError(Cause.MODEL_INVALID, f"the reply says that it used {usage.prompt}+{usage.completion} tokens")
    if usage.cost_usd is not None and finite(usage.cost_usd, least=0.0) is None:
        raise EpisodeError(Cause.MODEL_INVALID, f"the reply says that it cost {usage.cost_usd} USD")
    if not isinstance(reply.text, str):
        raise EpisodeError(Cause.MODEL_INVALID, f"the text of the reply is of type {type(reply.text).__name__}")
    return reply
