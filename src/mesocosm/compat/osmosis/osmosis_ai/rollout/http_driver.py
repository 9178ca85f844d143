"""Run rollouts on a rollout server over its protocol."""

import asyncio
import json
import math
import time
from contextlib import suppress
from types import TracebackType
from typing import Self
from uuid import uuid4

from mesocosm.rollouts.sdk.delivery import CallbackReply, DeliveryError, send
from mesocosm.rollouts.sdk.request import RolloutInitRequest
from mesocosm.rollouts.sdk.status import RolloutStatus

from .controller import CallbackListener, CallbackStore, TerminalCallbackResult
from .driver import RolloutDriver, RolloutOutcome, RolloutRunRequest

_TOO_MANY = 429
_TAKEN = 202
_SHORTEST_WAIT_S, _LONGEST_WAIT_S = 0.05, 60.0


class RolloutProtocolError(Exception):
    """A rollout server did not accept a rollout. `status_code` is None if it did not answer."""

    def __init__(self, message: str, status_code: int | None = None) -> None:
        super().__init__(message)
        self.status_code = status_code


class HttpRolloutDriver(RolloutDriver):
    """Posts rollouts to a server and waits for their callbacks. An async context manager.

    `server_url` is the server's root. `chat_completions_url` and `llm_api_key` select the model; without them the
    listener's own bridge is used. `callback_timeout_sec` limits the wait for the last callback, independent of the
    rollout's own timeouts; `server_key` is the server's bearer key, if it needs one.
    """

    def __init__(
        self,
        *,
        server_url: str,
        store: CallbackStore,
        listener: CallbackListener,
        chat_completions_url: str | None = None,
        llm_api_key: str | None = None,
        callback_timeout_sec: float | None = None,
        max_concurrency: int = 0,
        grading: bool = True,
        server_key: str | None = None,
    ) -> None:
        self._url = server_url.rstrip("/")
        self._store = store
        self._listener = listener
        self._model = chat_completions_url, llm_api_key
        self._seconds = callback_timeout_sec
        self._most = max_concurrency
        self._grading = grading
        self._headers = {"authorization": f"Bearer {server_key}"} if server_key else {}

    @property
    def max_concurrency(self) -> int:
        """Maximum number of concurrent rollouts; 0 is unlimited."""
        return self._most

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Do nothing: there is nothing to release."""

    async def run(self, request: RolloutRunRequest) -> RolloutOutcome:
        """Execute one rollout and return its outcome. Missing callbacks are a failure.

        Retry while the server is full (429). Raises RolloutProtocolError if it does not accept the rollout. Cancelling
        this call cancels the rollout too.
        """
        rollout_id = request.rollout_id or uuid4().hex
        began = time.monotonic()
        self._store.register(rollout_id, grading=self._grading)
        try:
            await self._post(self._init(rollout_id, request))
            ended = await self._store.wait_terminal(rollout_id, self._seconds)
        except TimeoutError:
            await self._cancel(rollout_id)
            return RolloutOutcome(
                RolloutStatus.FAILURE,
                error=f"no callback within {self._seconds:g} s",
                rollout_id=rollout_id,
                duration_ms=_since(began),
            )
        except asyncio.CancelledError:
            await self._cancel(rollout_id)
            raise
        finally:
            self._store.discard(rollout_id)
        return _outcome(ended, began)

    def _init(self, rollout_id: str, request: RolloutRunRequest) -> bytes:
        base = self._listener.base_url(rollout_id)
        model, key = self._model
        init = RolloutInitRequest(
            initial_messages=request.messages,
            label=request.label,
            metadata=request.metadata,
            rollout_id=rollout_id,
            chat_completions_url=model or base,
            controller_api_key=self._listener.controller_key,
            llm_api_key=key or (self._listener.bridge_key if model is None else None),
            completion_callback_url=f"{base}/completion",
            grader_callback_url=f"{base}/grader" if self._grading else None,
            agent_timeout_sec=request.agent_timeout_sec,
            grader_timeout_sec=request.grader_timeout_sec,
            extra_fields=request.extra_fields,
        )
        return init.model_dump_json(exclude_none=True).encode()

    async def _post(self, body: bytes) -> None:
        while True:
            try:
                reply = await send(f"{self._url}/rollout", body, self._headers)
            except DeliveryError as error:
                raise RolloutProtocolError(str(error)) from error
            if reply.status == _TAKEN:
                return
            if reply.status != _TOO_MANY:
                said = reply.body[:500].decode("utf-8", "replace")
                raise RolloutProtocolError(f"{self._url} answered {reply.status}: {said}", reply.status)
            await asyncio.sleep(_wait(reply))

    async def _cancel(self, rollout_id: str) -> None:
        with suppress(DeliveryError):
            body = json.dumps({"ids": [rollout_id]}).encode()
            await send(f"{self._url}/rollout/cancel", body, self._headers, seconds=2)


def _wait(reply: CallbackReply) -> float:
    """Return the seconds to wait before the next request to a full server."""
    try:
        seconds = float(reply.headers.get("retry-after", "1"))
    except ValueError:
        seconds = 1.0
    if not math.isfinite(seconds):
        seconds = 1.0
    return min(max(seconds, _SHORTEST_WAIT_S), _LONGEST_WAIT_S)


def _since(began: float) -> float:
    return (time.monotonic() - began) * 1000


def _outcome(ended: TerminalCallbackResult, began: float) -> RolloutOutcome:
    return RolloutOutcome(
        ended.status, ended.sample, ended.err_message, duration_ms=_since(began), rollout_id=ended.rollout_id
    )
