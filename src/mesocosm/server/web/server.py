"""Serving the application: a socket, uvicorn, and a quick end."""

import errno
import logging
import socket
from collections.abc import Callable
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from mesocosm.core.failure import InfrastructureError, UsageError
from mesocosm.server.app import create_app
from mesocosm.server.runs.benchmark_index import BenchmarkIndex
from mesocosm.server.runs.live import Live
from mesocosm.server.service import local_service
from mesocosm.store import Store

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8877
NEARBY = 20
"""Ports after the wanted one that are tried when others have taken it."""

_TAKEN = frozenset({errno.EADDRINUSE})
_BACKLOG = 128
_GRACE = 1
"""Seconds that open streams have to end by themselves."""


def listen(host: str = DEFAULT_HOST, port: int = DEFAULT_PORT, *, exactly: bool = False) -> socket.socket:
    """Return a listening socket on `port`, or unless `exactly` on one of the next free ones; 0 takes any.

    Raises UsageError for a host that is not of this machine, InfrastructureError when all these ports are taken.
    """
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except (OSError, UnicodeError) as error:
        raise UsageError(f"there is no address {host!r} to listen on ({error}); try {DEFAULT_HOST}") from error
    last = port if exactly or port == 0 else min(port + NEARBY, 65_535)
    for number in range(port, last + 1):
        found = _bound(family, (address[0], number, *address[2:]))
        if isinstance(found, socket.socket):
            return found
        if found.errno not in _TAKEN:
            raise UsageError(f"cannot listen on {host} port {number} ({found.strerror}); try another") from found
    tried = f"port {port} is" if last == port else f"ports {port} to {last} are"
    raise InfrastructureError(f"{tried} taken on {host}; end what uses it, or choose another with --port")


def _bound(family: int, address: tuple[object, ...]) -> socket.socket | OSError:
    opened = socket.socket(family, socket.SOCK_STREAM)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(address)
        opened.listen(_BACKLOG)
    except OSError as error:
        opened.close()
        return error
    return opened


def url_of(listening: socket.socket, host: str = DEFAULT_HOST) -> str:
    """Return the address that a browser on this machine opens."""
    port = listening.getsockname()[1]
    name = DEFAULT_HOST if host in {"", "0.0.0.0"} else "::1" if host == "::" else host  # noqa: S104
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


class Server(uvicorn.Server):
    """A server that ends without waiting for streams which never end by themselves."""

    def __init__(self, app: FastAPI, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._app = app
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer, and say so."""
        await super().startup(sockets)
        if self.started:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams, then everything else."""
        live = getattr(self._app.state, "live", None)
        if isinstance(live, Live):
            live.close()
        await super().shutdown(sockets)


def serve(
    store: Store,
    listening: socket.socket,
    *,
    host: str = DEFAULT_HOST,
    viewer: Path | None = None,
    ready: Callable[[], None] = lambda: None,
) -> None:
    """Answer on `listening` until SIGINT or SIGTERM; `ready` is called once requests are answered.

    `host` is the name that the server was told to listen on, which it then answers to. The store stays open.
    """
    server = new_server(store, host=host, viewer=viewer, ready=ready)
    server.run([listening])


def new_server(
    store: Store,
    *,
    host: str = DEFAULT_HOST,
    viewer: Path | None = None,
    shelf: BenchmarkIndex | None = None,
    ready: Callable[[], None] = lambda: None,
) -> Server:
    """Return a server of `store` that is not running yet; setting `should_exit` ends it from another thread."""
    app = create_app(local_service(store, host), viewer=viewer, shelf=shelf)
    config = uvicorn.Config(
        app,
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=_GRACE,
        timeout_keep_alive=30,
        ws="none",
    )
    # What fails unexpectedly is logged where it is answered; here it would come again, as a traceback.
    logging.getLogger("uvicorn.error").addFilter(_not_twice)
    return Server(app, config, ready)


def _not_twice(record: logging.LogRecord) -> bool:
    return not record.getMessage().startswith("Exception in ASGI application")
