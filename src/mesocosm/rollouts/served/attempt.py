"""One try of a row in one process of its rollout: posted, waited for, and given up in time."""

import asyncio
import time
from dataclasses import replace
from typing import Any, TypeVar

from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.http.errors import ConnectFailed, ConnectionLost, HttpError, Timeout
from mesocosm.http.response import Response
from mesocosm.http.retry_after import retry_after
from mesocosm.rollouts.place import Blocked, Ended, Failed, Log, Work
from mesocosm.rollouts.served.callbacks import Expected
from mesocosm.rollouts.served.fleet import Seat
from mesocosm.rollouts.served.polling import lease_of, poll
from mesocosm.rollouts.served.process import Held, Loss, Passenger, quoted
from mesocosm.rollouts.served.wire import CANCELLED, Completion, ended, request, stuck, workflow_failure

T = TypeVar("T")

ASKED_S, LAST_S = 0.3, 0.8
"""So long after a deadline the server is asked whether it lives, and given up. Together with what follows that is less
than place.GRACE_S."""

POST_S = 10.0
"""A server that takes longer to accept a try is blocked by others: nothing of this one has begun."""

NOTICEABLE = 0.2
"""The share of a try's time that others must have held the event loop for, so that its timeout is their doing."""

_ENDING_S = 0.5
_PARTIAL_S = 0.2
_FIRST_WAIT, _SHORTEST_WAIT, _LONGEST_WAIT = 1.0, 0.05, 60.0


class Displaced(Exception):
    """The try lost its process, or its time there, without fault of its own; it may be made again elsewhere.

    `harmed`: by another try.
    """

    def __init__(self, words: str, *, harmed: bool = True) -> None:
        super().__init__(words)
        self.harmed = harmed


class Overdue(Exception):
    """The server answers, but the try has not ended in time."""


class Lost(Exception):
    """The process was lost while the try ran there."""

    def __init__(self, loss: Loss) -> None:
        super().__init__(loss.words)
        self.loss = loss


class Attempt:
    """One try in one process, which knows it as `name`. `abandoned`: the server still works on it afterwards.

    `stuck`: code of it that was given up does. `blocking` says how it blocked the event loop, when it did.
    """

    def __init__(self, work: Work, name: str, seat: Seat, expected: Expected, log: Log) -> None:
        self.abandoned = False
        self.blocking = ""
        self.stuck = False
        self._work = work
        self._name = name
        self._server = seat.process
        self._expected = expected
        self._shared = not seat.lane
        self._passenger = Passenger(log, work.workflow_seconds, asyncio.get_running_loop().create_future())
        seat.process.tries[name] = self._passenger
        self._before = self._server.held() if self._shared else {}
        self._began = time.monotonic()
        self._refused_s = 0.0
        self._poll: asyncio.Task[None] | None = None

    async def play(self) -> Ended:
        """Return what came of it. Raises Displaced, EpisodeError."""
        try:
            return await self._play()
        finally:
            if self._poll is not None:
                self._poll.cancel()
                await asyncio.gather(self._poll, return_exceptions=True)

    async def _play(self) -> Ended:
        try:
            await self._post()
            completion = await self._within(self._expected.completion, self._work.workflow_seconds)
        except Lost as lost:
            return self._lost(lost.loss, None)
        except Overdue:
            return self._overdue(None)
        if completion.status == CANCELLED:
            # Not by us: we heed nothing any more of what we cancel. Its server was told to end.
            raise Displaced("its server cancelled a row that nobody had cancelled")
        workflow_s = time.monotonic() - self._began
        failure = workflow_failure(completion)
        if failure is not None:
            return await self._failed(completion, failure, workflow_s)
        began = time.monotonic()
        try:
            grading = await self._within(self._expected.grading, self._work.grader_seconds, began)
        except Lost as lost:
            return self._lost(lost.loss, workflow_s)
        except Overdue:
            return self._overdue(workflow_s)
        grader_s = time.monotonic() - began
        result = ended(completion, grading, workflow_s, grader_s)
        self.stuck = stuck(completion, grading)
        if result.failure is not None and result.failure.cause is Cause.GRADER_TIMEOUT:
            self._check_others(self._work.grader_seconds)
        return self._timed(result)

    # Starting

    async def _post(self) -> None:
        """Have the server accept it, when it has room. Raises Lost, Displaced, EpisodeError."""
        body = request(self._work, self._name, self._expected.replies)
        first = time.monotonic()
        while True:
            self._began = time.monotonic()
            response = await self._posted(body)
            if response.status != 429:
                break
            await self._sleep(_retry_after(response))
            self._refused_s = time.monotonic() - first
            if self._refused_s > (self._work.workflow_seconds or float("inf")):
                raise self._broken(f"the server had no room for this row within {self._refused_s:.0f} s (429)")
        if not 200 <= response.status < 300:
            words = response.body[:500].decode("utf-8", "replace")
            raise self._broken(f"the server refused this row with status {response.status}: {words}")
        self._passenger.accepted = True
        lease = lease_of(response)
        if lease is not None:
            self._poll = asyncio.create_task(poll(self._server, self._name, lease, self._expected))

    async def _posted(self, body: bytes) -> Response:
        """Send it once. Raises Lost, Displaced, EpisodeError."""
        lost = self._server.lost
        sent = asyncio.ensure_future(self._server.post("/rollout", body, POST_S))
        waits: set[asyncio.Future[Any]] = {sent, lost, self._passenger.moved}
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            if sent.done():
                return sent.result()
        except (ConnectFailed, ConnectionLost) as error:
            # A process that ended takes its connections with it, and is heard to end a moment later.
            await asyncio.wait({lost}, timeout=_ENDING_S)
            if not lost.done():
                raise Displaced(str(error), harmed=False) from error
        except Timeout as error:
            self.abandoned = True
            raise Displaced(f"a server did not take a row within {POST_S:g} s") from error
        except HttpError as error:
            raise self._broken(f"the server answered POST /rollout with something else than HTTP: {error}") from error
        finally:
            sent.cancel()
            await asyncio.gather(sent, return_exceptions=True)
        raise self._gone()

    def _gone(self) -> Exception:
        """Return why the try cannot go on in its process."""
        if self._server.lost.done():
            return Lost(self._server.lost.result())
        self.abandoned = True
        return Displaced(self._passenger.moved.result())

    async def _sleep(self, seconds: float) -> None:
        lost, moved = self._server.lost, self._passenger.moved
        waits: set[asyncio.Future[Any]] = {lost, moved}
        await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if lost.done() or moved.done():
            raise self._gone()

    # Waiting

    async def _within(self, future: "asyncio.Future[T]", seconds: float | None, began: float | None = None) -> T:
        """Return the result of `future`, which ends `seconds` after `began` by itself. Raises Lost, Overdue."""
        lost, moved = self._server.lost, self._passenger.moved
        waits: set[asyncio.Future[Any]] = {future, lost, moved}
        if not future.done():
            deadline = None if seconds is None else (began or self._began) + seconds
            left = None if deadline is None else max(deadline + ASKED_S - time.monotonic(), 0)
            await asyncio.wait(waits, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            if deadline is not None and not any(one.done() for one in waits):
                await self._ask(waits, deadline + LAST_S, time.monotonic() - (began or self._began))
        if future.done():
            return future.result()
        if lost.done() or moved.done():
            raise self._gone()
        raise Overdue

    async def _ask(self, waits: "set[asyncio.Future[Any]]", last: float, silent: float) -> None:
        """Look whether the server answers until time `last`; when it does not, it is lost."""
        limit = max(last - time.monotonic(), 0.05)
        probe = asyncio.create_task(self._server.healthy(limit))
        try:
            every = {*waits, probe}
            await asyncio.wait(every, timeout=limit + 0.05, return_when=asyncio.FIRST_COMPLETED)
            if any(future.done() for future in waits):
                return
            if probe.done() and probe.result():
                await asyncio.wait(waits, timeout=max(last - time.monotonic(), 0), return_when=asyncio.FIRST_COMPLETED)
                return
        finally:
            probe.cancel()
            await asyncio.gather(probe, return_exceptions=True)
        # A dead process does not answer either, and its end is about to be heard.
        await asyncio.wait({self._server.lost}, timeout=0.02)
        self._server.lose(f"after {silent:.1f} s its process answered nothing any more")

    # Ending

    def _lost(self, loss: Loss, workflow_s: float | None) -> Ended:
        """Return what the loss of the process means for this try. Raises Displaced, EpisodeError."""
        if loss.died:
            if not loss.alone:
                raise Displaced(f"its process {loss.words} while several rows ran")
            raise self._broken(f"its process {loss.words} while this row ran{quoted(loss.stderr)}", loss.stderr)
        passed = self._passed(workflow_s)
        where = f" at {loss.where}" if loss.where else ""
        if not passed or (loss.culprit != self._name and (loss.culprit or not loss.alone)):
            raise Displaced(f"a row blocks the event loop for others{where}")
        self._check_others(self._work.workflow_seconds if workflow_s is None else self._work.grader_seconds)
        self.blocking = f"a row blocks the event loop{where}"
        part = "workflow" if workflow_s is None else "grader"
        late = self._late(f"the {part} blocked its event loop{where}: {loss.words}", workflow_s)
        return replace(late, blocked=Blocked(late.grader_s or late.workflow_s, loss.where))

    def _overdue(self, workflow_s: float | None) -> Ended:
        part, seconds = ("workflow", self._work.workflow_seconds) if workflow_s is None else ("grader", None)
        seconds = self._work.grader_seconds if seconds is None else seconds
        self.abandoned = True
        if self._shared and self._server.punctual:
            raise Displaced("a server that ends every row in time told nothing of one")
        self._check_others(seconds)
        return self._late(f"the {part} did not end within {seconds or 0:g} s, nor when it was told to", workflow_s)

    def _late(self, message: str, workflow_s: float | None) -> Ended:
        passed = time.monotonic() - self._began
        if workflow_s is None:
            return self._timed(Ended(failure=Failed(Cause.WORKFLOW_TIMEOUT, message), workflow_s=passed))
        failure = Failed(Cause.GRADER_TIMEOUT, message)
        return self._timed(Ended(failure=failure, workflow_s=workflow_s, grader_s=passed - workflow_s))

    async def _failed(self, completion: Completion, failure: Failed, workflow_s: float) -> Ended:
        """Return the end of a workflow that failed; its grader has nothing to say. Raises Displaced."""
        if completion.extra_fields:
            # Our own SDK sends the messages until the failure after it.
            await asyncio.wait({self._expected.grading}, timeout=_PARTIAL_S)
        grading = self._expected.grading.result() if self._expected.grading.done() else None
        result = ended(completion, grading, workflow_s, 0.0)
        self.stuck = stuck(completion, grading)
        if failure.cause is Cause.WORKFLOW_TIMEOUT:
            self._check_others(self._work.workflow_seconds)
            own = self._server.held().get(self._name)
            if own is not None and own.seconds > NOTICEABLE * (self._work.workflow_seconds or 0):
                words = f"{failure.message}; it blocked its event loop for {own.seconds:.1f} s at {own.where}"
                held = Blocked(own.seconds, own.where)
                result = replace(result, failure=replace(failure, message=words), blocked=held)
        return self._timed(result)

    def _check_others(self, seconds: float | None) -> None:
        """Raise Displaced when others held the event loop for much of this try's time."""
        if not self._shared or seconds is None:
            return
        others = {name: held for name, held in self._server.held().items() if name != self._name}
        lately = {name: held.seconds - self._before.get(name, Held()).seconds for name, held in others.items()}
        if sum(lately.values()) > NOTICEABLE * seconds:
            worst = max(lately, key=lately.__getitem__)
            raise Displaced(f"a row blocks the event loop for others at {others[worst].where}")

    def _passed(self, workflow_s: float | None) -> bool:
        seconds = self._work.workflow_seconds
        if workflow_s is not None:
            seconds = None if self._work.grader_seconds is None else workflow_s + self._work.grader_seconds
        return seconds is not None and time.monotonic() - self._began >= seconds

    def _timed(self, result: Ended) -> Ended:
        return replace(result, queued_s=result.queued_s + self._refused_s) if self._refused_s else result

    def _broken(self, message: str, stderr: str = "") -> EpisodeError:
        return EpisodeError(Cause.ROLLOUT_FAILED, message, stderr=stderr)


def _retry_after(response: Response) -> float:
    seconds = retry_after(response.headers.get)
    return _FIRST_WAIT if seconds is None else min(max(seconds, _SHORTEST_WAIT), _LONGEST_WAIT)
