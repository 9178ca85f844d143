"""Serve the addresses that a rollout gets: for its end, its grade and its model. Needs FastAPI and uvicorn."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

from mesocosm.rollouts.sdk.request import GraderCompleteRequest, RolloutCompleteRequest
from mesocosm.rollouts.sdk.status import GraderStatus, RolloutStatus

from .llm_bridge import Bridge, bearer, create_bridge_router
from .store import CallbackStore, UnknownRolloutIdError

if TYPE_CHECKING:
    import uvicorn
    from fastapi import FastAPI

__all__ = ["CallbackListener", "LocalhostUvicornServer", "create_callback_app"]

_ENDS = frozenset(
    {RolloutStatus.SUCCESS, RolloutStatus.FAILURE, RolloutStatus.CANCELLED, GraderStatus.SUCCESS, GraderStatus.FAILURE}
)


class LocalhostUvicornServer:
    """Serves an app on a port of 127.0.0.1, a free one by default; an async context manager."""

    def __init__(self, app: Any, *, port: int | None = None) -> None:
        self._app = app
        self._port = port
        self._socket: socket.socket | None = None
        self._server: uvicorn.Server | None = None
        self._serving: asyncio.Task[None] | None = None

    @property
    def base_url(self) -> str:
        """The address. Raises RuntimeError before the start."""
        if self._socket is None:
            raise RuntimeError("the server is not listening: start it, or enter it with `async with`")
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    async def start(self) -> str:
        """Listen, and return the address. Raises OSError if the port is taken."""
        import uvicorn

        class Server(uvicorn.Server):
            @contextmanager
            def capture_signals(self) -> Iterator[None]:
                """Leave signals to the program that contains this server."""
                yield

        if self._socket is None:
            listening = socket.socket()
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listening.bind(("127.0.0.1", self._port or 0))
                listening.listen(2048)
            except OSError:
                listening.close()
                raise
            self._socket = listening
            config = uvicorn.Config(self._app, log_level="warning", access_log=False, lifespan="off", ws="none")
            self._server = Server(config)
            self._serving = asyncio.create_task(self._server.serve(sockets=[listening]))
        return self.base_url

    async def stop(self) -> None:
        """Stop listening."""
        if self._server is not None and self._serving is not None:
            self._server.should_exit = True
            with suppress(asyncio.CancelledError):
                await self._serving
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()


class CallbackListener(LocalhostUvicornServer):
    """Serves the addresses of rollouts on 127.0.0.1; an async context manager.

    Callbacks authenticate with `auth_token`, model calls with `bridge_token`: a rollout's own code knows only the
    second one, so it cannot grade itself. `advertised_base_url` replaces the address of the model, for example by that
    of a tunnel; `bridge_keepalive` keeps connections with a slow model alive.
    """

    def __init__(
        self,
        store: CallbackStore,
        *,
        auth_token: str,
        bridge: Bridge | None = None,
        bridge_token: str | None = None,
        port: int | None = None,
        advertised_base_url: str | None = None,
        bridge_keepalive: bool = False,
    ) -> None:
        app = create_callback_app(store, auth_token=auth_token)
        if bridge is not None:
            if bridge_token is None:
                raise ValueError("a bridge needs a bridge_token")
            app.include_router(
                create_bridge_router(bridge, auth_token=bridge_token, non_stream_keepalive=bridge_keepalive)
            )
        self.advertised_base_url = advertised_base_url
        super().__init__(app, port=port)

    def completion_url(self, rollout_id: str) -> str:
        """Return the address for the end of a workflow."""
        return f"{_rollout(self.base_url, rollout_id)}/completion"

    def grader_url(self, rollout_id: str) -> str:
        """Return the address for a grade."""
        return f"{_rollout(self.base_url, rollout_id)}/grader"

    def chat_completions_url(self, rollout_id: str) -> str:
        """Return the base address of the model; clients add `/chat/completions`."""
        return _rollout(self.advertised_base_url or self.base_url, rollout_id)


def _rollout(base: str, rollout_id: str) -> str:
    return f"{base.rstrip('/')}/v1/rollouts/{quote(rollout_id, safe='')}"


def create_callback_app(store: CallbackStore, *, auth_token: str) -> "FastAPI":
    """Return the app that takes callbacks. Raises ValueError for an empty token."""
    from fastapi import FastAPI, HTTPException

    app = FastAPI(title="Rollout callbacks", openapi_url=None)
    checks = [bearer(auth_token)]

    async def take(
        rollout_id: str, told: RolloutCompleteRequest | GraderCompleteRequest, handle: Callable[[], Awaitable[Any]]
    ) -> Any:
        if told.rollout_id is not None and told.rollout_id != rollout_id:
            raise HTTPException(422, f"the body is of rollout {told.rollout_id!r}, its address of {rollout_id!r}")
        if told.status not in _ENDS:
            raise HTTPException(422, f"{told.status} is no end")
        try:
            return await handle()
        except UnknownRolloutIdError:
            raise HTTPException(404, f"rollout {rollout_id!r} is not expected") from None

    @app.post("/v1/rollouts/{rollout_id}/completion", dependencies=checks)
    async def completion(rollout_id: str, told: RolloutCompleteRequest) -> dict[str, Any]:
        said: dict[str, Any] = await take(rollout_id, told, lambda: store.handle_completion(rollout_id, told))
        return said

    @app.post("/v1/rollouts/{rollout_id}/grader", dependencies=checks)
    async def grader(rollout_id: str, told: GraderCompleteRequest) -> dict[str, Any]:
        said: dict[str, Any] = await take(rollout_id, told, lambda: store.handle_grader(rollout_id, told))
        return said

    return app
