"""Run rollouts on a server of the protocol since 0.3.3, whose results are polled."""

import asyncio
import logging
import math
from collections.abc import Generator, Mapping
from time import monotonic
from typing import Any, TypeVar
from urllib.parse import quote

from pydantic import BaseModel, ValidationError

from mesocosm.rollouts.sdk.context import ENDS
from mesocosm.rollouts.sdk.delivery import CallbackReply, DeliveryError, send
from mesocosm.rollouts.sdk.request import (
    POLLING_LEASE_HEADER,
    CancelRolloutsRequest,
    CancelRolloutsResponse,
    RolloutInitRequest,
    RolloutInitResponse,
    RolloutLifecycle,
    RolloutResultResponse,
)
from mesocosm.rollouts.sdk.sample import MessageDict
from mesocosm.rollouts.sdk.status import RolloutStatus

__all__ = ["RolloutAdmissionTimeoutError", "RolloutClient", "RolloutHandle", "RolloutProtocolError"]

Model = TypeVar("Model", bound=BaseModel)

_LOG = logging.getLogger(__name__)
_TAKEN, _TOO_MANY = 202, 429
_SHORTEST_WAIT_S, _LONGEST_WAIT_S = 0.05, 60.0
_CANCEL_S, _BEYOND_WAIT_S = 5.0, 10.0
_LOST_S = (0.1, 0.5)
_GATEWAY_S = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
_GATEWAY = frozenset({502, 503, 504})
_BUSY = frozenset({408, 429, 500, 502, 503, 504})
_ORDER = (RolloutStatus.QUEUED, RolloutStatus.RUNNING, RolloutStatus.GRADING)


class RolloutAdmissionTimeoutError(TimeoutError):
    """The server did not accept a rollout in time."""


class RolloutProtocolError(RuntimeError):
    """A rollout server answered something else than the protocol has. `status_code` is None without an answer."""

    def __init__(self, message: str, *, status_code: int | None) -> None:
        super().__init__(message)
        self.status_code = status_code


class ServerConnection:
    """Requests to one rollout server, by the standard library, or by an httpx client if one is given."""

    def __init__(self, url: str, http_client: Any = None, headers: Mapping[str, str] | None = None) -> None:
        self.url = url.rstrip("/")
        self._http = http_client
        self._headers = dict(headers or {})

    async def ask(
        self,
        method: str,
        path: str,
        body: BaseModel | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        seconds: float = 10.0,
    ) -> CallbackReply:
        """Return a reply of any status. Raises DeliveryError without one, or what the httpx client raises."""
        sent = b"" if body is None else body.model_dump_json(exclude_unset=True).encode()
        shown = {**self._headers, **(headers or {})}
        if self._http is None:
            return await send(f"{self.url}{path}", sent, shown, method=method, seconds=seconds)
        shown |= {"Content-Type": "application/json"} if sent else {}
        reply = await self._http.request(
            method, f"{self.url}{path}", content=sent, headers=shown, timeout=seconds, follow_redirects=False
        )
        return CallbackReply(reply.status_code, {k.lower(): v for k, v in reply.headers.items()}, reply.content)

    async def cancel(self, rollout_id: str) -> CallbackReply:
        """Ask the server to cancel a rollout. Raises TimeoutError after 5 s, else as `ask` does."""
        async with asyncio.timeout(_CANCEL_S):
            return await self.ask("POST", "/rollout/cancel", CancelRolloutsRequest(ids=[rollout_id]), seconds=_CANCEL_S)


def retry_after(reply: CallbackReply) -> float:
    """Return the seconds to wait before the next request to a full server."""
    try:
        seconds = float(reply.headers.get("retry-after", "1"))
    except ValueError:
        seconds = 1.0
    return min(max(seconds, _SHORTEST_WAIT_S), _LONGEST_WAIT_S) if math.isfinite(seconds) else 1.0


class RolloutHandle:
    """A rollout that the server has accepted; awaiting it returns its result.

    It polls until the end. Cancelling it only ends the polling; then the server cancels the rollout when its lease is
    over. `latest_result` is the last answer, `status` its status.
    """

    def __init__(
        self, client: "RolloutClient", admission: RolloutInitResponse, *, lease_deadline: float | None = None
    ) -> None:
        self.rollout_id = admission.rollout_id or ""
        self.status = admission.status or RolloutStatus.QUEUED
        self.latest_result: RolloutResultResponse | None = None
        self.status_changed = asyncio.Condition()
        self.polling_finished = False
        deadline = lease_deadline if lease_deadline is not None else monotonic() + _seconds(admission)[1]
        self.result_task = asyncio.create_task(self._poll(client, admission, deadline))

    def __await__(self) -> Generator[Any, None, RolloutResultResponse]:
        return self.result_task.__await__()

    def cancel(self) -> bool:
        """Stop polling; return whether it had not ended."""
        return self.result_task.cancel()

    def done(self) -> bool:
        """Return whether polling has ended."""
        return self.result_task.done()

    async def wait_for_running(self) -> RolloutStatus:
        """Wait until the rollout runs, or is past that; return its status."""
        return await self._wait_for(RolloutStatus.RUNNING)

    async def wait_for_grading(self) -> RolloutStatus:
        """Wait until the rollout is graded, or is past that; return its status."""
        return await self._wait_for(RolloutStatus.GRADING)

    async def wait_for_completion(self) -> RolloutResultResponse:
        """Wait for the end, and return the result. Raises RolloutProtocolError."""
        return await self.result_task

    async def _wait_for(self, status: RolloutStatus) -> RolloutStatus:
        reached = {*_ORDER[_ORDER.index(status) :], *ENDS}
        async with self.status_changed:
            await self.status_changed.wait_for(lambda: self.status in reached or self.polling_finished)
        return self.status if self.status in reached else (await self.result_task).status

    async def _poll(
        self, client: "RolloutClient", admission: RolloutInitResponse, deadline: float
    ) -> RolloutResultResponse:
        try:
            while True:
                result, deadline = await client.poll(admission, deadline)
                async with self.status_changed:
                    self.status, self.latest_result = result.status, result
                    self.status_changed.notify_all()
                if result.status in ENDS:
                    return result
        finally:
            async with self.status_changed:
                self.polling_finished = True
                self.status_changed.notify_all()


class RolloutClient:
    """Runs rollouts on the server at `url`.

    `http_client` is an httpx client to use instead of the standard library. `admission_timeout_sec` limits the wait for
    a server that is full; `api_key` is the server's key. Raises ValueError for a time that is not finite or an empty
    key.
    """

    def __init__(
        self,
        *,
        url: str,
        http_client: Any = None,
        admission_timeout_sec: float | None = None,
        api_key: str | None = None,
    ) -> None:
        if admission_timeout_sec is not None and not math.isfinite(admission_timeout_sec):
            raise ValueError("admission_timeout_sec must be finite; leave it out to wait for ever")
        if api_key is not None and not api_key.strip():
            raise ValueError("api_key is empty; leave it out for a server without a key")
        self.url = url.rstrip("/")
        self.http_client = http_client
        self.owns_http_client = http_client is None
        self.admission_timeout_sec = admission_timeout_sec
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._server = ServerConnection(url, http_client, headers)

    async def aclose(self) -> None:
        """Do nothing: there is nothing to release, and a given client is its owner's."""

    async def health(self) -> dict[str, Any]:
        """Return what the server says about itself. Raises RolloutProtocolError."""
        said: dict[str, Any] = _body(await self._server.ask("GET", "/health"), "GET /health")
        return said

    async def wait_idle(
        self, *, timeout_sec: float = 120, poll_interval_sec: float = 1, process_id: str | None = None
    ) -> dict[str, Any]:
        """Wait until no rollout is in flight, and return the server's health.

        Raises ValueError for times that are not positive, TimeoutError, RolloutProtocolError for a server that is
        another process than before, or does not say what it runs.
        """
        if not all(math.isfinite(seconds) and seconds > 0 for seconds in (timeout_sec, poll_interval_sec)):
            raise ValueError("timeout_sec and poll_interval_sec must be positive and finite")
        async with asyncio.timeout(timeout_sec):
            while True:
                health = await self._health_or_none()
                if health is not None:
                    known, process_id = process_id, health.get("process_id")
                    if not process_id or known not in {None, process_id}:
                        raise RolloutProtocolError(
                            "the server was restarted, or does not say which it is", status_code=200
                        )
                    if _parsed(RolloutLifecycle, health.get("lifecycle"), "GET /health").active_rollouts == 0:
                        return health
                await asyncio.sleep(poll_interval_sec)

    async def run_rollout(  # noqa: PLR0917 - as published
        self,
        initial_messages: list[MessageDict],
        chat_completions_url: str,
        rollout_id: str,
        llm_api_key: str | None = None,
        label: str | None = None,
        metadata: dict[str, Any] | None = None,
        grade: bool = True,
        agent_timeout_sec: float | None = None,
        grader_timeout_sec: float | None = None,
        extra_fields: dict[str, Any] | None = None,
    ) -> RolloutResultResponse:
        """Run one rollout, and return its result. Raises as `run_rollout_async` does."""
        started = await self.run_rollout_async(
            initial_messages,
            chat_completions_url,
            rollout_id,
            llm_api_key,
            label,
            metadata,
            grade,
            agent_timeout_sec,
            grader_timeout_sec,
            extra_fields,
        )
        return await started

    async def run_rollout_async(  # noqa: PLR0917 - as published
        self,
        initial_messages: list[MessageDict],
        chat_completions_url: str,
        rollout_id: str,
        llm_api_key: str | None = None,
        label: str | None = None,
        metadata: dict[str, Any] | None = None,
        grade: bool = True,
        agent_timeout_sec: float | None = None,
        grader_timeout_sec: float | None = None,
        extra_fields: dict[str, Any] | None = None,
    ) -> RolloutHandle:
        """Start one rollout, and return it as soon as the server has accepted it; ask again while it is full.

        Raises RolloutAdmissionTimeoutError, RolloutProtocolError, and pydantic's ValidationError.
        """
        request = RolloutInitRequest(
            initial_messages=initial_messages,
            chat_completions_url=chat_completions_url,
            rollout_id=rollout_id,
            llm_api_key=llm_api_key,
            label=label,
            metadata=metadata,
            grade=grade,
            agent_timeout_sec=agent_timeout_sec,
            grader_timeout_sec=grader_timeout_sec,
            extra_fields=extra_fields,
        )
        limit = asyncio.timeout(self.admission_timeout_sec)
        try:
            async with limit:
                return await self._admitted(request)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise RolloutAdmissionTimeoutError(
                f"the server did not accept rollout {rollout_id!r} within {self.admission_timeout_sec:g} s; if it did "
                "without its answer arriving, the rollout ends with its lease"
            ) from error

    async def cancel_rollout(self, rollout_id: str) -> CancelRolloutsResponse:
        """Cancel a rollout. Raises RolloutProtocolError, TimeoutError."""
        what = "POST /rollout/cancel"
        return _parsed(CancelRolloutsResponse, _body(await self._server.cancel(rollout_id), what), what)

    async def poll(self, admission: RolloutInitResponse, deadline: float) -> tuple[RolloutResultResponse, float]:
        """Return the answer to one poll, and until when it prolongs the lease.

        Failures are repeated while the lease that ends at `deadline` (of time.monotonic) lives, with that the last
        one is raised.
        """
        what = f"/rollout/{quote(admission.rollout_id or '', safe='')}/result"
        waits, lease = _seconds(admission)
        seconds = waits + _BEYOND_WAIT_S
        lost, gateway = iter(_LOST_S), iter(_GATEWAY_S)
        while True:
            began = monotonic()
            try:
                token = {POLLING_LEASE_HEADER: admission.polling_lease_token or ""}
                reply = await self._server.ask("GET", what, headers=token, seconds=seconds)
            except Exception as error:  # noqa: BLE001 - httpx has errors of its own
                failure, pause = error, next(lost, None) if _is_transport(error) else None
            else:
                if reply.status not in _GATEWAY:
                    result = _parsed(RolloutResultResponse, _body(reply, f"GET {what}"), f"GET {what}")
                    _same(admission.rollout_id, result.rollout_id, f"GET {what}")
                    return result, began + lease
                failure = RolloutProtocolError(f"GET {what} answered {reply.status}", status_code=reply.status)
                pause = next(gateway, None)
            if pause is None or monotonic() + pause >= deadline:
                raise failure
            _LOG.warning("the result of rollout %s is asked for again: %s", admission.rollout_id, failure)
            await asyncio.sleep(pause)

    async def _admitted(self, request: RolloutInitRequest) -> RolloutHandle:
        what = "POST /rollout"
        while True:
            began = monotonic()
            try:
                reply = await self._server.ask("POST", "/rollout", request)
            except DeliveryError as error:
                raise RolloutProtocolError(str(error), status_code=error.status) from error
            if reply.status == _TOO_MANY:
                await asyncio.sleep(retry_after(reply))
                continue
            admission = _parsed(RolloutInitResponse, _body(reply, what, _TAKEN), what)
            _same(request.rollout_id, admission.rollout_id, what)
            if admission.polling_lease_token is None:
                raise RolloutProtocolError(f"{what} gave no lease: the server only calls back", status_code=_TAKEN)
            return RolloutHandle(self, admission, lease_deadline=began + _seconds(admission)[1])

    async def _health_or_none(self) -> dict[str, Any] | None:
        try:
            return await self.health()
        except RolloutProtocolError as error:
            if error.status_code not in _BUSY:
                raise
        except Exception as error:
            if not _is_transport(error):
                raise
        return None


def _seconds(admission: RolloutInitResponse) -> tuple[float, float]:
    """Return how long a poll waits, and how long a lease lasts."""
    return admission.result_wait_timeout_sec or 0.0, admission.polling_lease_timeout_sec or 0.0


def _body(reply: CallbackReply, what: str, expected: int = 200) -> Any:
    """Return the JSON of a reply. Raises RolloutProtocolError for another status or no JSON."""
    if reply.status != expected:
        said = reply.body[:500].decode("utf-8", "replace")
        raise RolloutProtocolError(f"{what} answered {reply.status}: {said}", status_code=reply.status)
    try:
        said = reply.json()
    except ValueError as error:
        raise RolloutProtocolError(f"{what} answered no JSON", status_code=reply.status) from error
    if not isinstance(said, dict):
        raise RolloutProtocolError(f"{what} answered no JSON object", status_code=reply.status)
    return said


def _parsed(kind: type[Model], said: Any, what: str) -> Model:
    try:
        return kind.model_validate(said)
    except ValidationError as error:
        raise RolloutProtocolError(
            f"{what} answered something else than the protocol has: {error}", status_code=200
        ) from error


def _same(asked: str | None, answered: str | None, what: str) -> None:
    if asked != answered:
        raise RolloutProtocolError(f"{what} answered about rollout {answered!r} instead of {asked!r}", status_code=200)


def _is_transport(error: Exception) -> bool:
    """Return whether no reply arrived: our own error, or that of httpx, which need not be installed."""
    return isinstance(error, DeliveryError) or any(kind.__name__ == "TransportError" for kind in type(error).__mro__)
