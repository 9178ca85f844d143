"""Run rollouts on a server of the protocol up to 0.3.2, which calls back."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from mesocosm.rollouts.sdk.delivery import DeliveryError
from mesocosm.rollouts.sdk.request import RolloutInitRequest
from mesocosm.rollouts.sdk.status import GraderStatus, RolloutStatus

from .client import RolloutAdmissionTimeoutError, RolloutProtocolError, ServerConnection, retry_after
from .controller.store import CallbackStore, TerminalCallbackResult
from .driver import RolloutOutcome, RolloutRunRequest

__all__ = ["HttpRolloutDriver", "RolloutAdmissionTimeoutError", "RolloutProtocolError"]

_LOG = logging.getLogger(__name__)
_TAKEN, _TOO_MANY = 202, 429


class HttpRolloutDriver:
    """Posts rollouts to a server and waits for their callbacks, which the caller serves into `callback_store`.

    The three functions return a rollout's addresses; `chat_api_key` is for its model, `controller_api_key` for the
    callbacks. `http_client` is an httpx client to use instead of the standard library. Cancelling goes the same way,
    unless `fresh_cancel_client` asks for a connection of its own or `cancel_transport`, an httpx transport, is given.
    `admission_timeout_sec` limits the wait for a full server, `callback_timeout_sec` that for the grade.
    """

    def __init__(
        self,
        *,
        rollout_base_url: str,
        callback_store: CallbackStore,
        completion_url_for: Callable[[str], str],
        grader_url_for: Callable[[str], str],
        chat_completions_url_for: Callable[[str], str],
        chat_api_key: str | None,
        controller_api_key: str,
        http_client: Any = None,
        cancel_transport: Any = None,
        fresh_cancel_client: bool = False,
        admission_timeout_sec: float | None = None,
        callback_timeout_sec: float | None = None,
    ) -> None:
        if not controller_api_key or not controller_api_key.strip():
            raise ValueError("controller_api_key is empty, so no callback could show it")
        self._store = callback_store
        self._completion_url_for = completion_url_for
        self._grader_url_for = grader_url_for
        self._chat_completions_url_for = chat_completions_url_for
        self._keys = chat_api_key, controller_api_key
        self._server = ServerConnection(rollout_base_url, http_client)
        self._cancelling = self._server
        if cancel_transport is not None:
            import httpx

            # Never closed: the transport is its owner's.
            self._cancelling = ServerConnection(rollout_base_url, httpx.AsyncClient(transport=cancel_transport))
        elif fresh_cancel_client:
            self._cancelling = ServerConnection(rollout_base_url)
        self._admission_s = admission_timeout_sec
        self._callback_s = callback_timeout_sec

    async def aclose(self) -> None:
        """Do nothing: there is nothing to release, and a given client is its owner's."""

    async def run(self, request: RolloutRunRequest) -> RolloutOutcome:
        """Execute one rollout and return its outcome; no grade in time is a failure called `callback_timeout`.

        Asks again while the server is full. Raises ValueError without a rollout id, RolloutAdmissionTimeoutError, and
        RolloutProtocolError if the server does not accept the rollout. Cancelling this call cancels the rollout too.
        """
        rollout_id = request.rollout_id
        if not rollout_id:
            raise ValueError("the request has no rollout_id")
        await self._store.register(rollout_id)
        try:
            await self._post(self._init(request))
            return _outcome(await self._ended(rollout_id))
        except asyncio.CancelledError:
            # What goes wrong here must not hide that the call was cancelled.
            with suppress(Exception):
                await self._store.acknowledge_without_commit(rollout_id)
            await self._cancel(rollout_id)
            raise
        finally:
            await self._store.discard(rollout_id)

    def _init(self, request: RolloutRunRequest) -> RolloutInitRequest:
        rollout_id = request.rollout_id
        model_key, controller_key = self._keys
        return RolloutInitRequest(
            initial_messages=request.messages,
            label=request.label,
            metadata=request.metadata,
            rollout_id=rollout_id,
            chat_completions_url=self._chat_completions_url_for(rollout_id),
            controller_api_key=controller_key,
            llm_api_key=model_key,
            completion_callback_url=self._completion_url_for(rollout_id),
            grader_callback_url=self._grader_url_for(rollout_id),
            agent_timeout_sec=request.agent_timeout_sec,
            grader_timeout_sec=request.grader_timeout_sec,
            extra_fields=request.extra_fields,
        )

    async def _post(self, init: RolloutInitRequest) -> None:
        now = asyncio.get_running_loop().time
        began = now()
        while True:
            try:
                reply = await self._server.ask("POST", "/rollout", init)
            except DeliveryError as error:
                raise RolloutProtocolError(str(error), status_code=None) from error
            if reply.status == _TAKEN:
                return
            if reply.status != _TOO_MANY:
                said = reply.body[:500].decode("utf-8", "replace")
                raise RolloutProtocolError(f"POST /rollout answered {reply.status}: {said}", status_code=reply.status)
            wait = retry_after(reply)
            if self._admission_s is not None and now() + wait - began > self._admission_s:
                raise RolloutAdmissionTimeoutError(
                    f"the server was too full for rollout {init.rollout_id!r} for {self._admission_s:g} s"
                )
            await asyncio.sleep(wait)

    async def _ended(self, rollout_id: str) -> TerminalCallbackResult:
        try:
            async with asyncio.timeout(self._callback_s):
                return await self._store.wait_terminal(rollout_id)
        except TimeoutError:
            late = {"ok": True, "error_type": "callback_timeout"}
            end = await self._store.finalize_timeout(rollout_id, acknowledgment=late)
            if end.source == "timeout":
                await self._cancel(rollout_id)
            return end

    async def _cancel(self, rollout_id: str) -> None:
        try:
            await self._cancelling.cancel(rollout_id)
        except Exception as error:  # noqa: BLE001 - httpx has errors of its own; the rollout is given up anyway
            _LOG.warning("rollout %s could not be cancelled: %s", rollout_id, error)


def _outcome(end: TerminalCallbackResult) -> RolloutOutcome:
    if end.source == "timeout":
        return RolloutOutcome(RolloutStatus.FAILURE, None, "callback_timeout", end.rollout_id)
    if end.grader is None:
        return RolloutOutcome(RolloutStatus.CANCELLED, None, "cancelled", end.rollout_id)
    passed = end.grader.status is GraderStatus.SUCCESS
    status = RolloutStatus.SUCCESS if passed else RolloutStatus.FAILURE
    return RolloutOutcome(status, end.grader.sample, end.grader.err_message, end.rollout_id)
