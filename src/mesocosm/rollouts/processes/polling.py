"""Poll results from servers that do not send them: osmosis-ai since 0.3.3."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import msgspec

from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.core.foreign import read_json
from mesocosm.http.errors import ConnectFailed, ConnectionLost, HttpError, Timeout
from mesocosm.http.response import Response
from mesocosm.rollouts.processes.callbacks import PendingResults
from mesocosm.rollouts.processes.wire import CANCELLED, SUCCESS, CompletionReport, GradingReport, WireSample

Get = Callable[[str, Mapping[str, str], float], Awaitable[Response]]
"""Requests a path of the server, with headers and a timeout in seconds. Raises HttpError."""

HEADER = "X-Osmosis-Rollout-Lease"
FAILURE, GRADING = "failure", "grading"

_LATE_S = 10.0
"""Seconds to wait for an answer beyond the server's own long-poll time."""

_PAUSE_S = 0.1
_LOST = 50
"""Number of consecutive failed connections after which a live process counts as no longer listening."""

_BROKEN = frozenset({"lease_expired", "internal_error"})
"""Failure categories that are neither the workflow's nor the grader's fault."""

_GRADERS = (
    *("grader exceeded", "no sample to grade", "gradercontext has no sample"),
    "'nonetype' object has no attribute 'messages'",
)
"""Start of a grader's message if there is no sample; the last is `ctx.sample.messages` on None."""


@dataclass(frozen=True, slots=True)
class Lease:
    """How to poll for the result of an accepted row; a server that sends no token sends callbacks."""

    polling_lease_token: str = field(default="", repr=False)
    result_wait_timeout_sec: float = 30.0


class PolledResult(msgspec.Struct, frozen=True):
    """The answer to a poll: the progress of the row, or its result."""

    status: str
    sample: WireSample | None = None
    err_message: str | None = None
    err_category: str | None = None


def lease_of(response: Response) -> Lease | None:
    """Return how to poll for an accepted row, or None if the server sends callbacks."""
    try:
        lease = read_json(response.body, Lease)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return lease if lease.polling_lease_token else None


async def poll(get: Get, name: str, lease: Lease, expected: PendingResults) -> None:
    """Poll until the result of a row is available, and set it in `expected` as callbacks would."""
    status = ""
    try:
        while True:
            told = await _told(get, name, lease)
            if _heed(told, expected):
                return
            if told.status == status:
                # Pause before the next poll if the server answers at once instead of waiting.
                await asyncio.sleep(_PAUSE_S)
            status = told.status
    except EpisodeError as error:
        future: asyncio.Future[Any] = expected.grading if expected.completion.done() else expected.completion
        if not future.done():
            future.set_exception(error)
            # The row may be over already; this marks the exception as retrieved.
            future.exception()


async def _told(get: Get, name: str, lease: Lease) -> PolledResult:
    """Return the next answer about a row. Raises EpisodeError if there will be none."""
    headers = {HEADER: lease.polling_lease_token}
    path, seconds = f"/rollout/{quote(name, safe='')}/result", lease.result_wait_timeout_sec + _LATE_S
    lost = 0
    while True:
        try:
            response = await get(path, headers, seconds)
            break
        except Timeout:
            # Its event loop is blocked; the check for blocking rows finds the row responsible.
            continue
        except (ConnectFailed, ConnectionLost) as error:
            lost += 1
            if lost >= _LOST:
                raise _broken(f"could not be asked for the result of this row: {error}") from error
            await asyncio.sleep(_PAUSE_S)
        except HttpError as error:
            raise _broken(f"answered with something else than HTTP when asked for a result: {error}") from error
    if response.status != 200:
        words = response.body[:500].decode("utf-8", "replace")
        raise _broken(f"answered with status {response.status} when asked for a result: {words}")
    try:
        return read_json(response.body, PolledResult)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _broken(f"sent a result that cannot be read: {error}") from error


def _heed(told: PolledResult, expected: PendingResults) -> bool:
    """Set the results that are known; return whether they are complete. Raises EpisodeError."""
    if told.status == GRADING:
        _settle(expected.completion, CompletionReport(SUCCESS))
    if told.status not in {SUCCESS, FAILURE, CANCELLED}:
        return False
    if told.err_category in _BROKEN:
        raise _broken(f"says that {told.err_message or told.err_category}")
    of_workflow = told.status == CANCELLED or (told.status == FAILURE and not _of_grader(told))
    if of_workflow and not expected.completion.done():
        _settle(expected.completion, CompletionReport(told.status, told.err_message, told.err_category))
    else:
        _settle(expected.completion, CompletionReport(SUCCESS))
        status = told.status if told.status == SUCCESS else FAILURE
        _settle(expected.grading, GradingReport(status, told.err_message, told.err_category, told.sample))
    return True


def _of_grader(told: PolledResult) -> bool:
    """Return whether the grader failed: only then is there a sample, or a message that there is none to grade."""
    if told.sample is not None or not (told.err_message or told.err_category):
        return True
    return (told.err_message or "").lower().startswith(_GRADERS)


def _settle(future: "asyncio.Future[Any]", told: CompletionReport | GradingReport) -> None:
    if not future.done():
        future.set_result(told)


def _broken(words: str) -> EpisodeError:
    return EpisodeError(Cause.ROLLOUT_FAILED, f"the server {words}")
