"""Answer the chat completions of rollouts with one model."""

import asyncio
import hmac
import json
import logging
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from mesocosm.rollouts.sdk.delivery import DeliveryError, send
from mesocosm.rollouts.sdk.rubric import installed_litellm

if TYPE_CHECKING:
    from fastapi import APIRouter

__all__ = ["LiteLLMBridge", "create_bridge_router"]

ANSWER_S = 600.0
"""Time limit of one completion in seconds."""

GRACE_S, ALIVE_S = 90.0, 30.0
"""With keepalive: seconds until a reply begins with blanks, and between two of them."""

_LOG = logging.getLogger(__name__)
_PASSING = frozenset({408, 429})
_FATAL = frozenset(
    {
        "APIConnectionError",
        "AuthenticationError",
        "BadRequestError",
        "BudgetExceededError",
        "NotFoundError",
        "PermissionDeniedError",
        "UnprocessableEntityError",
        "UnsupportedParamsError",
    }
)
"""LiteLLM's names of errors that the next request would meet too."""


class BridgeError(RuntimeError):
    """The model did not answer. `fatal`: the next request would not be answered either."""

    def __init__(self, message: str, *, fatal: bool = False) -> None:
        super().__init__(message)
        self.fatal = fatal


class LiteLLMBridge:
    """Answers chat completions with one model, regardless of the model that a rollout names.

    `model` is LiteLLM's name for it (`openai/gpt-4o`). With `api_base` and without LiteLLM, completions are requested
    there directly.
    """

    def __init__(
        self, *, model: str, api_key: str | None = None, api_base: str | None = None, retries: int = 3
    ) -> None:
        self.model = model
        self._tokens: Counter[str] = Counter()
        self._key = api_key
        self._base = api_base
        self._retries = retries

    async def preflight_check(self) -> None:
        """Ask the model something short. Raises BridgeError if no request would be answered; else only warn."""
        body = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 256}
        try:
            await self.complete(body, rollout_id="")
        except BridgeError as error:
            if error.fatal:
                raise
            _LOG.warning("the model did not answer a first question: %s", error)
        finally:
            self.discard("")

    async def complete(self, body: Mapping[str, Any], *, rollout_id: str) -> dict[str, Any]:
        """Return a completion as JSON. Raises BridgeError."""
        litellm = installed_litellm()
        if litellm is None:
            said = _object(await self._post({**body, "stream": False}))
        else:
            try:
                answer = await litellm.acompletion(**self._arguments(body, stream=False))
            except Exception as error:
                raise _bridge_error(error) from error
            said = answer.model_dump(mode="json", exclude_none=True)
        self._count(rollout_id, said)
        return said

    async def stream(self, body: Mapping[str, Any], *, rollout_id: str) -> AsyncIterator[bytes]:
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
            raise _bridge_error(error) from error
        yield b"data: [DONE]\n\n"

    def collect_tokens(self, rollout_id: str) -> int | None:
        """Return the tokens that a rollout used, and forget them; None if it used none."""
        return self._tokens.pop(rollout_id, None)

    def discard(self, rollout_id: str) -> None:
        """Forget the tokens of a rollout."""
        self._tokens.pop(rollout_id, None)

    def _arguments(self, body: Mapping[str, Any], *, stream: bool) -> dict[str, Any]:
        ours = {"model": self.model, "api_key": self._key, "api_base": self._base, "num_retries": self._retries}
        return {**body, **ours, "stream": stream, "drop_params": True}

    async def _post(self, body: Mapping[str, Any]) -> bytes:
        if self._base is None:
            raise BridgeError(
                "LiteLLM is not installed (pip install litellm), and no api_base was given to do without", fatal=True
            )
        url = f"{self._base.rstrip('/')}/chat/completions"
        headers = {"authorization": f"Bearer {self._key}"} if self._key else {}
        asked = json.dumps({**body, "model": self.model.removeprefix("openai/")}).encode()
        try:
            reply = await send(url, asked, headers, seconds=ANSWER_S)
        except DeliveryError as error:
            raise BridgeError(str(error), fatal=True) from error
        if reply.status >= 300:
            said = reply.body[:500].decode("utf-8", "replace")
            fatal = reply.status < 500 and reply.status not in _PASSING
            raise BridgeError(f"{url} answered {reply.status}: {said}", fatal=fatal)
        return reply.body

    def _count(self, rollout_id: str, said: Mapping[str, Any]) -> None:
        usage = said.get("usage")
        total = usage.get("total_tokens") if isinstance(usage, Mapping) else None
        if isinstance(total, int):
            self._tokens[rollout_id] += total


def _bridge_error(error: Exception) -> BridgeError:
    name = type(error).__name__
    return BridgeError(f"{name}: {error}", fatal=name in _FATAL)


def _object(body: bytes) -> dict[str, Any]:
    try:
        said = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BridgeError("the model's reply is not JSON") from error
    if not isinstance(said, dict):
        raise BridgeError("the model's reply is not a JSON object")
    return said


class Bridge(Protocol):
    """A model that answers the chat completions of rollouts."""

    async def complete(self, body: Mapping[str, Any], *, rollout_id: str) -> Any:
        """Return a completion: JSON, or an object with model_dump."""
        ...

    def stream(self, body: Mapping[str, Any], *, rollout_id: str) -> AsyncIterator[bytes]:
        """Yield server-sent events of a completion."""
        ...


def bearer(token: str) -> Any:
    """Return the dependency that requires a bearer token. Raises ValueError if the token is empty."""
    from fastapi import Depends, HTTPException, Request

    if not token or not token.strip():
        raise ValueError("the token for bearer authentication is empty")

    def check(request: Request) -> None:
        shown = request.headers.get("authorization", "").encode()
        if not hmac.compare_digest(shown, f"Bearer {token}".encode()):
            raise HTTPException(401, "the bearer key is missing or wrong")

    return Depends(check)


def create_bridge_router(bridge: Bridge, *, auth_token: str, non_stream_keepalive: bool = False) -> "APIRouter":
    """Return the route for the chat completions of rollouts. Raises ValueError for an empty token.

    With `non_stream_keepalive` a reply that takes long begins with blanks, so that nothing between closes the
    connection; an error is then in the body, because the status has been sent.
    """
    from fastapi import APIRouter, HTTPException, Request
    from fastapi.responses import Response, StreamingResponse

    router = APIRouter()

    @router.post("/v1/rollouts/{rollout_id}/chat/completions", dependencies=[bearer(auth_token)])
    async def chat(rollout_id: str, request: Request) -> Response:
        try:
            body = json.loads(await request.body())
        except (ValueError, RecursionError) as error:
            raise HTTPException(400, "the body is not JSON") from error
        if not isinstance(body, dict):
            raise HTTPException(400, "the body is not a JSON object")
        if body.get("stream"):
            return StreamingResponse(_events(bridge, body, rollout_id), media_type="text/event-stream")
        asked = asyncio.ensure_future(_completion(bridge, body, rollout_id))
        if non_stream_keepalive:
            await asyncio.wait({asked}, timeout=GRACE_S)
            if not asked.done():
                return StreamingResponse(_alive(asked), media_type="application/json")
        try:
            return Response(await asked, media_type="application/json")
        except BridgeError as error:
            raise HTTPException(502, str(error)) from error

    return router


async def _completion(bridge: Bridge, body: Mapping[str, Any], rollout_id: str) -> bytes:
    """Return a completion as JSON. Raises BridgeError, whatever the bridge raises."""
    try:
        said = await bridge.complete(body, rollout_id=rollout_id)
        dumped = said.model_dump(mode="json", exclude_none=True) if hasattr(said, "model_dump") else said
        return json.dumps(dumped).encode()
    except BridgeError:
        raise
    except Exception as error:
        raise _bridge_error(error) from error


def _error(error: BridgeError) -> bytes:
    return json.dumps({"error": {"message": str(error), "code": 502}}).encode()


async def _events(bridge: Bridge, body: Mapping[str, Any], rollout_id: str) -> AsyncIterator[bytes]:
    try:
        async for event in bridge.stream(body, rollout_id=rollout_id):
            yield event
    except BridgeError as error:
        # The status has been sent already, so report the error as an event.
        yield b"data: " + _error(error) + b"\n\n"


async def _alive(asked: "asyncio.Future[bytes]") -> AsyncIterator[bytes]:
    try:
        while not asked.done():
            yield b" "
            await asyncio.wait({asked}, timeout=ALIVE_S)
        yield asked.result()
    except BridgeError as error:
        yield _error(error)
    finally:
        asked.cancel()
