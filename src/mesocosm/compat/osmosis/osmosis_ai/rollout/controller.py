"""The controller's side of the rollout protocol: receive the callbacks of rollouts, and serve them a model.

A rollout ends when its workflow fails or its grade arrives; without grading, when its workflow ends. The first end
counts. A `CallbackListener` serves the addresses that a rollout gets: for its end, its grade and its model.
"""

import asyncio
import hmac
import json
import logging
import socket
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from secrets import token_urlsafe
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

from mesocosm.rollouts.sdk.delivery import DeliveryError, send
from mesocosm.rollouts.sdk.request import GraderCompleteRequest, RolloutCompleteRequest
from mesocosm.rollouts.sdk.rubric import installed_litellm
from mesocosm.rollouts.sdk.sample import RolloutSample
from mesocosm.rollouts.sdk.status import GraderStatus, RolloutErrorCategory, RolloutStatus

if TYPE_CHECKING:
    import uvicorn
    from fastapi import FastAPI, Request

__all__ = ["CallbackListener", "CallbackStore", "LiteLLMBridge", "TerminalCallbackResult"]

ANSWER_S = 600.0
"""Time limit of one completion in seconds."""

_LOG = logging.getLogger(__name__)
_ENDS = frozenset({RolloutStatus.SUCCESS, RolloutStatus.FAILURE, RolloutStatus.CANCELLED})


@dataclass(frozen=True, slots=True)
class TerminalCallbackResult:
    """How a rollout ended: the result of its grading if it was graded, else of its workflow."""

    rollout_id: str
    status: RolloutStatus
    sample: RolloutSample | None = None
    err_message: str | None = None
    err_category: RolloutErrorCategory | None = None
    graded: bool = False


Commit = Callable[[TerminalCallbackResult], Awaitable[None]]


@dataclass(slots=True)
class _Slot:
    grading: bool
    ended: asyncio.Future[TerminalCallbackResult]
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class CallbackStore:
    """Matches the callbacks of rollouts with their waiting callers.

    `on_terminal_commit` is awaited with each result before its callback is acknowledged, once per rollout, even if the
    connection breaks. If it raises, the rollout has not ended: the repeated callback commits it.
    """

    def __init__(self, *, on_terminal_commit: Commit | None = None) -> None:
        self._commit = on_terminal_commit
        self._slots: dict[str, _Slot] = {}

    def register(self, rollout_id: str, *, grading: bool = True) -> None:
        """Expect callbacks of a rollout. Raises ValueError if it is expected already."""
        if rollout_id in self._slots:
            raise ValueError(f"rollout {rollout_id!r} is registered already")
        self._slots[rollout_id] = _Slot(grading, asyncio.get_running_loop().create_future())

    def discard(self, rollout_id: str) -> None:
        """Stop expecting callbacks of a rollout; callers that wait for it are cancelled."""
        slot = self._slots.pop(rollout_id, None)
        if slot is not None:
            slot.ended.cancel()

    async def wait_terminal(self, rollout_id: str, timeout: float | None = None) -> TerminalCallbackResult:  # noqa: ASYNC109
        """Return how a rollout ended. Raises KeyError if it is not registered, TimeoutError after `timeout` seconds."""
        slot = self._slots[rollout_id]
        async with asyncio.timeout(timeout):
            return await asyncio.shield(slot.ended)

    async def handle_completion(self, rollout_id: str, told: RolloutCompleteRequest) -> TerminalCallbackResult | None:
        """Accept the end of a workflow; return the rollout's end, or None if its grade is still pending.

        Raises KeyError if the rollout is not registered, ValueError for a status that does not end it.
        """
        slot = self._slots[rollout_id]
        if told.status not in _ENDS:
            raise ValueError(f"{told.status} is no end of a rollout")
        if told.status is RolloutStatus.SUCCESS and slot.grading:
            return slot.ended.result() if slot.ended.done() else None
        result = TerminalCallbackResult(
            rollout_id, told.status, err_message=told.err_message, err_category=told.err_category
        )
        return await self._end(slot, result)

    async def handle_grader(self, rollout_id: str, told: GraderCompleteRequest) -> TerminalCallbackResult:
        """Accept a grade; return the rollout's end. Raises as handle_completion does."""
        slot = self._slots[rollout_id]
        if told.status is GraderStatus.PENDING:
            raise ValueError("pending is no end of a grading")
        passed = told.status is GraderStatus.SUCCESS
        status = RolloutStatus.SUCCESS if passed else RolloutStatus.FAILURE
        result = TerminalCallbackResult(
            rollout_id, status, told.sample, told.err_message, told.err_category, graded=True
        )
        return await self._end(slot, result)

    async def _end(self, slot: _Slot, result: TerminalCallbackResult) -> TerminalCallbackResult:
        # Shielded: a client that disconnects must not interrupt a commit, or hide its result.
        return await asyncio.shield(asyncio.ensure_future(self._settle(slot, result)))

    async def _settle(self, slot: _Slot, result: TerminalCallbackResult) -> TerminalCallbackResult:
        async with slot.lock:
            if slot.ended.done():
                first = result if slot.ended.cancelled() else slot.ended.result()
                if first != result:
                    _LOG.warning("rollout %s ended again and otherwise; its first end counts", result.rollout_id)
                return first
            if self._commit is not None:
                await self._commit(result)
            if not slot.ended.done():
                slot.ended.set_result(result)
            return result


class BridgeError(Exception):
    """The model did not answer."""


class LiteLLMBridge:
    """Answers chat completions with one model, regardless of the model that a rollout names.

    `model` is LiteLLM's name for it (`openai/gpt-4o`). With `api_base` and without LiteLLM, completions are requested
    there directly. `tokens` counts the tokens of each rollout.
    """

    def __init__(
        self, *, model: str, api_key: str | None = None, api_base: str | None = None, retries: int = 3
    ) -> None:
        self.model = model
        self.tokens: Counter[str] = Counter()
        self._key = api_key
        self._base = api_base
        self._retries = retries

    async def complete(self, rollout_id: str, body: Mapping[str, Any]) -> bytes:
        """Return the JSON of a completion. Raises BridgeError."""
        litellm = installed_litellm()
        if litellm is None:
            reply = await self._post({**body, "stream": False})
            self._count(rollout_id, json.loads(reply))
            return reply
        try:
            answer = await litellm.acompletion(**self._arguments(body, stream=False))
        except Exception as error:
            raise BridgeError(f"{type(error).__name__}: {error}") from error
        said: dict[str, Any] = answer.model_dump(mode="json", exclude_none=True)
        self._count(rollout_id, said)
        return json.dumps(said).encode()

    async def stream(self, rollout_id: str, body: Mapping[str, Any]) -> AsyncIterator[bytes]:
        """Yield server-sent events of a completion. Raises BridgeError."""
        litellm = installed_litellm()
        if litellm is None:
            yield await self._post({**body, "stream": True})
            return
        try:
            chunks = await litellm.acompletion(**self._arguments(body, stream=True))
            async for chunk in chunks:
                said: dict[str, Any] = chunk.model_dump(mode="json", exclude_none=True)
                self._count(rollout_id, said)
                yield f"data: {json.dumps(said)}\n\n".encode()
        except Exception as error:
            raise BridgeError(f"{type(error).__name__}: {error}") from error
        yield b"data: [DONE]\n\n"

    def _arguments(self, body: Mapping[str, Any], *, stream: bool) -> dict[str, Any]:
        ours = {"model": self.model, "api_key": self._key, "api_base": self._base, "num_retries": self._retries}
        return {**body, **ours, "stream": stream, "drop_params": True}

    async def _post(self, body: Mapping[str, Any]) -> bytes:
        if self._base is None:
            raise BridgeError("LiteLLM is not installed (pip install litellm), and no api_base was given to do without")
        url = f"{self._base.rstrip('/')}/chat/completions"
        headers = {"authorization": f"Bearer {self._key}"} if self._key else {}
        asked = json.dumps({**body, "model": self.model.removeprefix("openai/")}).encode()
        try:
            reply = await send(url, asked, headers, seconds=ANSWER_S)
        except DeliveryError as error:
            raise BridgeError(str(error)) from error
        if reply.status >= 300:
            raise BridgeError(f"{url} answered {reply.status}: {reply.body[:500].decode('utf-8', 'replace')}")
        return reply.body

    def _count(self, rollout_id: str, said: object) -> None:
        usage = said.get("usage") if isinstance(said, Mapping) else None
        total = usage.get("total_tokens") if isinstance(usage, Mapping) else None
        if isinstance(total, int):
            self.tokens[rollout_id] += total


class Bridge(Protocol):
    """A model that answers the chat completions of rollouts."""

    async def complete(self, rollout_id: str, body: Mapping[str, Any]) -> bytes:
        """Return the JSON of a completion. Raises BridgeError."""
        ...

    def stream(self, rollout_id: str, body: Mapping[str, Any]) -> AsyncIterator[bytes]:
        """Yield server-sent events of a completion. Raises BridgeError."""
        ...


class CallbackListener:
    """Serves the addresses of rollouts on a free port of 127.0.0.1; an async context manager.

    Callbacks authenticate with `controller_key`, model calls with `bridge_key`: a rollout's own code knows only the
    second one, so it cannot grade itself. Needs FastAPI and uvicorn.
    """

    def __init__(self, store: CallbackStore, bridge: Bridge | None = None) -> None:
        self.controller_key = token_urlsafe(32)
        self.bridge_key = token_urlsafe(32)
        self._store = store
        self._bridge = bridge
        self._socket: socket.socket | None = None
        self._server: uvicorn.Server | None = None
        self._serving: asyncio.Task[None] | None = None

    def base_url(self, rollout_id: str) -> str:
        """Return the URL without `/completion`, `/grader`, `/chat/completions`. Raises RuntimeError before entry."""
        if self._socket is None:
            raise RuntimeError("the listener is not listening: enter it with `async with`")
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1/rollouts/{rollout_id}"

    async def __aenter__(self) -> Self:
        import uvicorn

        class Server(uvicorn.Server):
            @contextmanager
            def capture_signals(self) -> Iterator[None]:
                """Leave signals to the program that contains this listener."""
                yield

        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        config = uvicorn.Config(self.app(), log_level="warning", access_log=False, lifespan="off")
        self._server = Server(config)
        self._socket.listen(2048)
        self._serving = asyncio.create_task(self._server.serve(sockets=[self._socket]))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None and self._serving is not None:
            self._server.should_exit = True
            with suppress(asyncio.CancelledError):
                await self._serving
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def app(self) -> "FastAPI":
        """Return the app with the three routes."""
        from fastapi import Depends, FastAPI, HTTPException, Request

        def shows(key: str) -> Any:
            def check(request: Request) -> None:
                shown = request.headers.get("authorization", "").encode()
                if not hmac.compare_digest(shown, f"Bearer {key}".encode()):
                    raise HTTPException(401, "the bearer key is missing or wrong")

            return Depends(check)

        app = FastAPI(title="Rollout callbacks", openapi_url=None)
        ours = [shows(self.controller_key)]
        app.post("/v1/rollouts/{rollout_id}/completion", dependencies=ours)(self._completion)
        app.post("/v1/rollouts/{rollout_id}/grader", dependencies=ours)(self._grader)
        chat: Callable[..., Any] = self._chat
        chat_path = "/v1/rollouts/{rollout_id}/chat/completions"
        app.add_api_route(
            chat_path, _with_request(chat, Request), methods=["POST"], dependencies=[shows(self.bridge_key)]
        )
        return app

    async def _completion(self, rollout_id: str, told: RolloutCompleteRequest) -> dict[str, Any]:
        return await self._take(rollout_id, told.rollout_id, lambda: self._store.handle_completion(rollout_id, told))

    async def _grader(self, rollout_id: str, told: GraderCompleteRequest) -> dict[str, Any]:
        return await self._take(rollout_id, told.rollout_id, lambda: self._store.handle_grader(rollout_id, told))

    async def _take(
        self, rollout_id: str, named: str | None, handle: Callable[[], Awaitable[object]]
    ) -> dict[str, Any]:
        from fastapi import HTTPException

        if named is not None and named != rollout_id:
            raise HTTPException(422, f"the body is of rollout {named!r}, its address of {rollout_id!r}")
        try:
            await handle()
        except KeyError:
            raise HTTPException(404, f"rollout {rollout_id!r} is not expected") from None
        except ValueError as error:
            raise HTTPException(422, str(error)) from error
        return {}

    async def _chat(self, rollout_id: str, request: "Request") -> Any:
        from fastapi import HTTPException
        from fastapi.responses import Response, StreamingResponse

        if self._bridge is None:
            raise HTTPException(404, "this controller has no model")
        try:
            body = json.loads(await request.body())
            if body.get("stream"):
                return StreamingResponse(self._events(rollout_id, body), media_type="text/event-stream")
            return Response(await self._bridge.complete(rollout_id, body), media_type="application/json")
        except (ValueError, AttributeError, RecursionError) as error:
            raise HTTPException(422, "the body is not a JSON object") from error
        except BridgeError as error:
            raise HTTPException(502, str(error)) from error

    async def _events(self, rollout_id: str, body: Mapping[str, Any]) -> AsyncIterator[bytes]:
        assert self._bridge is not None
        try:
            async for event in self._bridge.stream(rollout_id, body):
                yield event
        except BridgeError as error:
            # The status has been sent already, so report the error as an event.
            yield f"data: {json.dumps({'error': {'message': str(error), 'code': 502}})}\n\n".encode()


def _with_request(chat: Callable[..., Any], kind: type) -> Callable[..., Any]:
    """Return an endpoint with an annotation that FastAPI can resolve; this module does not import FastAPI globally."""

    async def endpoint(rollout_id: str, request: Any) -> Any:
        return await chat(rollout_id, request)

    endpoint.__annotations__ = {"rollout_id": str, "request": kind}
    return endpoint
