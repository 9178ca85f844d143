"""The server of a rollout: accept rollouts over HTTP, execute them with a backend, and call the controller back.

`POST /rollout` answers 202 immediately. If it has the address for a completion callback, that follows when the workflow
has ended, and a grader callback when the sample has been graded. Each callback is delivered once, with retries until it
is accepted. Posting a rollout id again while it is in flight does not run it twice.

Without that address the result is polled (`sdk.polling`).

If the environment has `MESOCOSM_ROLLOUT_KEY`, every request except `GET /health` needs `Authorization: Bearer <key>`;
`create_rollout_server(api_key=…)` protects that one too.
"""

import asyncio
import hmac
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any
from uuid import uuid4

from mesocosm.rollouts.sdk.backend import ExecutionBackend, execute
from mesocosm.rollouts.sdk.context import RolloutContext
from mesocosm.rollouts.sdk.delivery import DeliveryError, deliver
from mesocosm.rollouts.sdk.polling import LEASE_S, RETENTION_S, WAIT_S, LeaseError, PolledResult, PolledResults
from mesocosm.rollouts.sdk.request import (
    POLLING_LEASE_HEADER,
    CancelRolloutsRequest,
    CancelRolloutsResponse,
    ExecutionRequest,
    ExecutionResult,
    RolloutInitRequest,
    RolloutInitResponse,
    RolloutLifecycle,
    RolloutStatusResponse,
    encode_completion,
    encode_grading,
)
from mesocosm.rollouts.sdk.status import RolloutStatus
from mesocosm.rollouts.sdk.trajectory import TrajectoryReport, report_from_response, save_trajectory
from mesocosm.rollouts.sdk.worker import replace_server

if TYPE_CHECKING:
    from fastapi import FastAPI

__all__ = ["ControllerAuth", "create_rollout_server"]

KEY_ENV = "MESOCOSM_ROLLOUT_KEY"
INSTANCE_ENV = "_OSMOSIS_ROLLOUT_INSTANCE_ID"

RETRY_AFTER_S = 5
"""Value of Retry-After with status 429, in seconds."""

SHUTDOWN_S = 10.0
"""Seconds for rollouts in flight when the server stops; then they are cancelled."""

_LAST_WORD_S = 2.0
_TOO_LARGE = 413
_LOG = logging.getLogger(__name__)

Lifespan = Callable[[Any], AbstractAsyncContextManager[Any]]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


@dataclass(frozen=True)
class ControllerAuth:
    """How a rollout server authenticates to its controller."""

    api_key: str | None = field(default=None, repr=False)

    def as_bearer_headers(self) -> dict[str, str] | None:
        """Return the header with the key, or None without a key."""
        return {"Authorization": f"Bearer {self.api_key}"} if self.api_key else None


class Callbacks:
    """Reports the progress of one rollout to its controller.

    `result` is the latest result of the backend, `report` what the controller's replies contained about the model's
    calls. Callbacks that cannot be delivered are only logged, because the rollout itself has run.
    """

    def __init__(self, request: RolloutInitRequest, rollout_id: str) -> None:
        self.result: ExecutionResult | None = None
        self.report: TrajectoryReport | None = None
        self.completed: bool = False
        self.graded: bool = False
        self.progress: None = None
        self._request = request
        self._id = rollout_id
        self._headers = ControllerAuth(request.controller_api_key).as_bearer_headers()

    @property
    def wants_grade(self) -> bool:
        """Whether the controller gave an address for grader callbacks."""
        return bool(self._request.grader_callback_url)

    async def complete(self, result: ExecutionResult) -> None:
        """Report that the workflow has ended. Further calls are ignored."""
        if self.completed:
            _LOG.warning("rollout %s ended twice; only its first end counts", self._id)
            return
        self.completed = True
        self.result = result
        url = self._request.completion_callback_url
        if url is not None:
            await self._tell(url, encode_completion(result, self._id))

    async def grade(self, result: ExecutionResult) -> None:
        """Report how the sample was graded. Further calls are ignored."""
        if self.graded:
            _LOG.warning("rollout %s was graded twice; only its first grade counts", self._id)
            return
        self.graded = True
        known = self.result.sample if self.result is not None else None
        self.result = result if result.sample is not None else result.model_copy(update={"sample": known})
        url = self._request.grader_callback_url
        if url is None:
            return
        if await self._tell(url, encode_grading(result, self._id)) == _TOO_LARGE:
            await self._tell(url, encode_grading(result, self._id, short=True))

    async def fail(self, message: str, status: RolloutStatus = RolloutStatus.FAILURE) -> None:
        """Report a failure without a result of the backend, for every callback that is still due."""
        if not self.completed:
            await self.complete(ExecutionResult(status=status, err_message=message))
        if self.wants_grade and not self.graded:
            await self.grade(ExecutionResult(status=RolloutStatus.FAILURE))

    async def end(self) -> None:
        """Do nothing: the callbacks have said it."""

    async def _tell(self, url: str, body: bytes) -> int | None:
        """Deliver a body; return None on success, else the status of the final refusal, if there was one."""
        try:
            reply = await deliver(url, body, self._headers)
        except DeliveryError as error:
            _LOG.error("a callback of rollout %s was not taken: %s", self._id, error)
            return error.status
        if len(reply.body) > 2:
            self.report = report_from_response(reply) or self.report
        return None


class Flight:
    """The rollouts in flight on a backend."""

    def __init__(self, backend: ExecutionBackend) -> None:
        self.closing: bool = False
        self._backend = backend
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def __len__(self) -> int:
        return len(self._tasks)

    def __contains__(self, rollout_id: str) -> bool:
        return rollout_id in self._tasks

    def start(self, request: RolloutInitRequest, polled: PolledResult | None = None) -> None:
        """Start a rollout in the background."""
        rollout_id = request.rollout_id or uuid4().hex
        told = polled if polled is not None else Callbacks(request, rollout_id)
        task = asyncio.create_task(self._run(request, rollout_id, told), name=f"rollout {rollout_id}")
        self._tasks[rollout_id] = task
        task.add_done_callback(lambda done: self._forget(rollout_id, done))

    def cancel(self, ids: Sequence[str] | None, prefix: str | None, *, everything: bool) -> dict[str, str]:
        """Cancel rollouts and return the result for each; those unknown to the backend are cancelled here."""
        outcomes = dict(self._backend.cancel_rollouts(ids=ids, prefix=prefix, all=everything))
        wanted = ids if ids is not None else [key for key in self._tasks if everything or key.startswith(prefix or "")]
        for rollout_id in wanted:
            if outcomes.get(rollout_id, "not_found") != "not_found":
                continue
            task = self._tasks.get(rollout_id)
            outcomes[rollout_id] = "not_found" if task is None else "cancelled_running"
            if task is not None:
                # In a later turn of the loop, because a task cancelled before its first step cannot notify the
                # controller.
                asyncio.get_running_loop().call_soon(task.cancel)
        return outcomes

    async def close(self, seconds: float = SHUTDOWN_S) -> None:
        """Take no more rollouts, wait up to `seconds` for those in flight, then cancel the rest."""
        self.closing = True
        tasks = list(self._tasks.values())
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=seconds)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def _run(self, request: RolloutInitRequest, rollout_id: str, callbacks: Callbacks | PolledResult) -> None:
        try:
            await self._execute(request, rollout_id, callbacks)
        except asyncio.CancelledError:
            await self._last_word(callbacks, rollout_id)
            raise
        except Exception:  # noqa: BLE001 - the controller must be notified of any error of a backend
            _LOG.exception("rollout %s broke its backend", rollout_id)
            await callbacks.fail("Internal server error")
        await self._save(request, rollout_id, callbacks)
        await callbacks.end()

    async def _execute(self, request: RolloutInitRequest, rollout_id: str, callbacks: Callbacks | PolledResult) -> None:
        work = ExecutionRequest.of(vars(request), rollout_id)
        key = request.llm_api_key if request.llm_api_key is not None else request.controller_api_key
        graded = callbacks.wants_grade or self._backend.capture_final_result
        with RolloutContext(request.chat_completions_url, key, rollout_id, progress=callbacks.progress):
            await execute(self._backend, work, callbacks.complete, callbacks.grade if graded else None)
        await callbacks.fail("The backend ended without a result")

    async def _last_word(self, callbacks: Callbacks | PolledResult, rollout_id: str) -> None:
        try:
            async with asyncio.timeout(_LAST_WORD_S):
                await callbacks.fail("The rollout was cancelled", RolloutStatus.CANCELLED)
                await callbacks.end()
        except (TimeoutError, asyncio.CancelledError):
            _LOG.warning("the controller could not be told that rollout %s was cancelled", rollout_id)

    async def _save(self, request: RolloutInitRequest, rollout_id: str, callbacks: Callbacks | PolledResult) -> None:
        if callbacks.result is not None:
            await save_trajectory(
                rollout_id=rollout_id,
                result=callbacks.result,
                request_label=request.label,
                request_metadata=request.metadata,
                request_extra_fields=request.extra_fields,
                report=callbacks.report,
            )

    def _forget(self, rollout_id: str, task: asyncio.Task[None]) -> None:
        self._tasks.pop(rollout_id, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            _LOG.error("rollout %s ended with an error of the server", rollout_id, exc_info=error)


class KeyCheck:
    """Requires the bearer key, except for the `open` paths."""

    def __init__(self, app: App, key: str, open: frozenset[str] = frozenset()) -> None:  # noqa: A002
        self._app = app
        self._expected = f"Bearer {key}".encode()
        self._open = open

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or respond with 401."""
        if scope["type"] != "http" or scope["path"] in self._open or self._shows_key(scope):
            await self._app(scope, receive, send)
            return
        headers = [(b"content-type", b"application/json"), (b"www-authenticate", b"Bearer")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body", "body": b'{"detail":"the bearer key is missing or wrong"}'})

    def _shows_key(self, scope: Scope) -> bool:
        shown = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
        return hmac.compare_digest(shown, self._expected)


def create_rollout_server(
    *,
    backend: ExecutionBackend,
    lifespan: Lifespan | None = None,
    configure_logging: bool = True,
    result_wait_timeout_sec: float = WAIT_S,
    polling_lease_timeout_sec: float = LEASE_S,
    result_retention_sec: float = RETENTION_S,
    api_key: str | None = None,
) -> "FastAPI":
    """Return the app that serves a backend over the rollout protocol.

    `lifespan` is the caller's FastAPI lifespan, entered before the first rollout and left after the last.
    `configure_logging` makes a process without a logging configuration log level INFO to standard error. A poll waits
    up to `result_wait_timeout_sec`; a rollout that nobody polls for `polling_lease_timeout_sec` is cancelled; a result
    is forgotten after `result_retention_sec`. With `api_key`, every request needs it as bearer key. Raises ValueError
    for times that cannot work and an empty key, ModuleNotFoundError if FastAPI is not installed.
    """
    if api_key is not None and not api_key.strip():
        raise ValueError("api_key is empty; leave it out for a server without a key")
    try:
        from fastapi import FastAPI
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            'a rollout server needs FastAPI and uvicorn: pip install "fastapi>=0.115" "uvicorn>=0.34"', name=error.name
        ) from error
    if configure_logging:
        logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    flight = Flight(backend)
    results = PolledResults(
        result_wait_timeout_sec,
        polling_lease_timeout_sec,
        result_retention_sec,
        lambda rollout_id: flight.cancel([rollout_id], None, everything=False),
    )
    app = FastAPI(title="Rollout server", lifespan=_lifespan(backend, flight, results, lifespan))
    key = os.environ.get(KEY_ENV)
    if api_key is not None:
        app.add_middleware(KeyCheck, key=api_key)
    elif key:
        app.add_middleware(KeyCheck, key=key, open=frozenset({"/health"}))
    _add_rollout(app, backend, flight, results)
    _add_result(app, results)
    _add_questions(app, backend, flight)
    app.state.rollout_backend = backend
    replace_server(app, backend)
    return app


def _lifespan(backend: ExecutionBackend, flight: Flight, results: PolledResults, inner: Lifespan | None) -> Lifespan:
    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[Any]:
        async with inner(app) if inner is not None else nullcontext() as state:
            try:
                yield state
            finally:
                await flight.close()
                results.close()
                await backend.shutdown()

    return lifespan


def _add_rollout(app: "FastAPI", backend: ExecutionBackend, flight: Flight, results: PolledResults) -> None:
    from fastapi import HTTPException

    def polled(request: RolloutInitRequest) -> PolledResult:
        if request.rollout_id is None:
            raise HTTPException(422, "rollout_id is missing; only a rollout with completion_callback_url needs none")
        if request.rollout_id in flight:
            raise HTTPException(409, f"rollout {request.rollout_id!r} exists already")
        return results.add(request.rollout_id, grading=request.grade)

    @app.post("/rollout", status_code=202, response_model_exclude_none=True)
    async def rollout(request: RolloutInitRequest) -> RolloutInitResponse:
        calls_back = request.completion_callback_url is not None
        if request.rollout_id in results:
            raise HTTPException(409, f"rollout {request.rollout_id!r} exists already, and its result is polled")
        if calls_back and request.rollout_id is not None and request.rollout_id in flight:
            return RolloutInitResponse()
        if flight.closing:
            raise HTTPException(503, "The server is stopping")
        if not backend.has_capacity():
            raise HTTPException(
                429, "The queue of rollouts is full; try again later", {"Retry-After": str(RETRY_AFTER_S)}
            )
        if calls_back:
            flight.start(request)
            return RolloutInitResponse()
        result = polled(request)
        flight.start(request, result)
        return results.admission(result)

    @app.post("/rollout/cancel")
    async def cancel(request: CancelRolloutsRequest) -> CancelRolloutsResponse:
        return CancelRolloutsResponse(dispositions=flight.cancel(request.ids, request.prefix, everything=request.all))


def _add_result(app: "FastAPI", results: PolledResults) -> None:
    from fastapi import Header, HTTPException
    from fastapi.responses import Response

    async def result(rollout_id: str, token: str) -> Response:
        try:
            return Response(await results.wait(rollout_id, token), media_type="application/json")
        except KeyError:
            raise HTTPException(404, f"there is no rollout {rollout_id!r}, or it was forgotten") from None
        except LeaseError:
            raise HTTPException(403, f"this is not the lease of rollout {rollout_id!r}") from None

    # Set here, for this module does not import FastAPI globally.
    result.__annotations__["token"] = Annotated[str, Header(alias=POLLING_LEASE_HEADER)]
    app.get("/rollout/{rollout_id}/result", response_class=Response, response_model=None)(result)


def _add_questions(app: "FastAPI", backend: ExecutionBackend, flight: Flight) -> None:
    process = uuid4().hex

    @app.get("/health")
    async def health() -> dict[str, Any]:
        instance = os.environ.get(INSTANCE_ENV)
        told = {**backend.health(), **({"instance_id": instance} if instance else {})}
        lifecycle = RolloutLifecycle(accepting_rollouts=not flight.closing, active_rollouts=len(flight))
        return {**told, "process_id": process, "lifecycle": lifecycle.model_dump()}

    @app.get("/rollout/{rollout_id}/status")
    async def status(rollout_id: str) -> RolloutStatusResponse:
        known = backend.rollout_status(rollout_id)
        if known is not None:
            return RolloutStatusResponse.model_validate({"rollout_id": rollout_id, **dict(known)})
        running = RolloutStatus.RUNNING if rollout_id in flight else RolloutStatus.UNKNOWN
        return RolloutStatusResponse(rollout_id=rollout_id, status=running)
