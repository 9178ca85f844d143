"""Serve the application with uvicorn: listening sockets and graceful shutdown, for a laptop and for a team's server."""

import asyncio
import errno
import gc
import ipaddress
import logging
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import uvicorn
from fastapi import FastAPI
from starlette.types import ASGIApp

from mesocosm.core.failure import InfrastructureError, UsageError
from mesocosm.server.app import create_app
from mesocosm.server.permissions.benchmark_records import server_records
from mesocosm.server.runs.benchmark_index import BenchmarkIndex
from mesocosm.server.runs.benchmark_list import read_ahead
from mesocosm.server.runs.live import Live
from mesocosm.server.service import Service, local_service
from mesocosm.server.settings import Settings
from mesocosm.server.web.requests import Observed, Prefixed
from mesocosm.server.workers.supervisor import WorkerSupervisor
from mesocosm.store import Store
from mesocosm.store.search_index import IndexKeeper

_log = logging.getLogger(__name__)

_TICK_S = 0.1
GRACE_S = 10
"""Seconds that requests have to finish on shutdown; streams end immediately."""

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8877
NEARBY = 20
"""Number of ports after the requested one to try if it is taken."""

_TAKEN = frozenset({errno.EADDRINUSE})
_BACKLOG = 128
_LOCAL_GRACE_S = 1
"""Seconds that open streams of a viewer have to end on shutdown."""
_AHEAD_S = 1.0
"""Seconds after the start until the list of benchmarks is read ahead: the first page comes first."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """The URLs of a server; `login` is empty if there is no separate login port."""

    api: str
    login: str = ""


def serve(
    service: Service,
    listening: Sequence[socket.socket],
    *,
    words: Sequence[str] = (),
    variables: Mapping[str, str] | None = None,
    ready: Callable[[Addresses], None] = lambda _: None,
    viewer: Path | None = None,
) -> None:
    """Serve a team on `listening` until SIGINT or SIGTERM, with the number of worker processes in the settings.

    Workers read the same settings from the arguments `words` and from `variables`. `ready` is called once the server
    accepts requests.
    """
    from mesocosm.server import adapters  # a laptop's viewer starts faster without them

    settings = service.settings
    workers = WorkerSupervisor(settings.workers, words, variables)
    try:
        adapters.bind(service)
        app = create_app(service, viewer=viewer)
        server = _Serving(app, service, lambda: ready(_addresses(settings, listening)), workers.request_stop)
        workers.start()
        server.run(list(listening))
    finally:
        workers.stop()


def exposed(settings: Settings) -> bool:
    """Return whether other machines can reach the server without TLS. A `public_url` implies a proxy with TLS."""
    if settings.public_url:
        return False
    try:
        return not ipaddress.ip_address(settings.host).is_loopback
    except ValueError:
        return settings.host not in {"localhost", ""}


@contextmanager
def listening_at(settings: Settings) -> Iterator[list[socket.socket]]:
    """Listen on the port of the API and, if set, the login port. Raises UsageError; InfrastructureError if taken."""
    with ExitStack() as opened:
        sockets = [opened.enter_context(listen(settings.host, settings.port, exactly=True))]
        if settings.login_port is not None and (settings.login_port != settings.port or not settings.port):
            sockets.append(opened.enter_context(_login(settings.host, settings.login_port)))
        yield sockets


def _login(host: str, port: int) -> socket.socket:
    try:
        return listen(host, port, exactly=True)
    except InfrastructureError as error:
        raise InfrastructureError(
            f"port {port}, for member logins, is taken on {host}; end what uses it, or choose another with --login-port"
        ) from error


def _addresses(settings: Settings, listening: Sequence[socket.socket]) -> Addresses:
    base = url_of(listening[0], settings.host) + settings.prefix
    return Addresses(base, url_of(listening[1], settings.host) if len(listening) > 1 else "")


def worker_variables(given: Mapping[str, object]) -> dict[str, str]:
    """Return the flags of a server as environment variables for its workers. Raises UsageError for NUL characters."""
    variables = {}
    for name, value in given.items():
        if value is None:
            continue
        text = ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        if "\0" in text:
            raise UsageError(f"the setting {name} holds a NUL character")
        variables[f"MESOCOSM_{name.upper()}"] = text
    return variables


def listen(host: str = DEFAULT_HOST, port: int = DEFAULT_PORT, *, exactly: bool = False) -> socket.socket:
    """Return a socket that listens on `port`, or unless `exactly` on the next free port; 0 means any free port.

    Raises UsageError if this machine cannot listen on the host or port, InfrastructureError if all tried ports are
    taken.
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
    # asyncio sends without delay (TCP_NODELAY) only on sockets that say that they are TCP. Else the body of an answer
    # waits for the receipt of its head, for 40 ms on Linux.
    opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(address)
        opened.listen(_BACKLOG)
    except OSError as error:
        opened.close()
        return error
    return opened


def url_of(listening: socket.socket, host: str = DEFAULT_HOST) -> str:
    """Return the URL of a socket for a browser on this machine."""
    port = listening.getsockname()[1]
    name = DEFAULT_HOST if host in {"", "0.0.0.0"} else "::1" if host == "::" else host  # noqa: S104
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


class Server(uvicorn.Server):
    """A uvicorn server that ends open streams on shutdown, as they never end by themselves.

    `SIGNALS` names the signals that shut it down; they are not raised again afterwards, as uvicorn does.
    """

    SIGNALS: tuple[str, ...] = ("SIGINT", "SIGTERM")

    def __init__(self, app: FastAPI, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._app = app
        self._ready = ready
        # On a team's server the workers do this.
        local = app.state.service.local
        self._keeper = IndexKeeper(lambda: app.state.service.store.search.index) if local else None
        self._ahead = threading.Timer(_AHEAD_S, self._read_ahead)
        self._ahead.daemon = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start accepting requests, then call `ready`."""
        await super().startup(sockets)
        if self.started:
            if self._keeper is not None:
                self._keeper.start()
            self._ahead.start()
            if threading.current_thread() is threading.main_thread():
                # What was made so far stays as long as the server. To look through it for garbage takes 0.1 s of the
                # request that happens to be answered, for the first time in the first one.
                gc.freeze()
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams, then shut down."""
        live = getattr(self._app.state, "live", None)
        if isinstance(live, Live):
            live.close()
        await super().shutdown(sockets)
        self._ahead.cancel()
        if self._ahead.is_alive():
            await asyncio.to_thread(self._ahead.join)
        if self._keeper is not None:
            await asyncio.to_thread(self._keeper.stop)
        if threading.current_thread() is threading.main_thread():
            gc.unfreeze()

    def _read_ahead(self) -> None:
        """Compute what the first caller of the list of benchmarks would wait for: 1.3 s for 100,000 runs."""
        state = self._app.state
        try:
            read_ahead(server_records(state.service), state.benchmark_index)
        except Exception:  # noqa: BLE001 - nothing waits for it, and who asks for the list is told what is wrong
            _log.warning("the list of benchmarks was not read ahead; its first caller waits for it", exc_info=True)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Shut down on a signal, in the main thread; other threads set `should_exit`."""
        here = threading.current_thread() is threading.main_thread()
        numbers = [getattr(signal, name) for name in self.SIGNALS if here and hasattr(signal, name)]
        before = {number: signal.signal(number, self.handle_exit) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


class _Serving(Server):
    """The server of a team. On SIGINT or SIGTERM it stops together with its workers."""

    def __init__(self, app: FastAPI, service: Service, ready: Callable[[], None], leaving: Callable[[], None]) -> None:
        settings = service.settings
        served = Prefixed(Observed(app, service.metrics, settings.trusted_proxies), settings.prefix)
        # `web.client_address` decides which proxies are trusted for the client address.
        super().__init__(app, _config(served, GRACE_S, proxy_headers=False), ready)
        self._leaving = leaving
        self._metrics = service.metrics

    async def on_tick(self, counter: int) -> bool:
        """Measure the delay of the event loop; uvicorn calls this ten times a second."""
        self._metrics.tick(_TICK_S)
        return await super().on_tick(counter)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Shut down, and stop the workers at the same time."""
        self._leaving()
        super().handle_exit(sig, frame)


def new_server(
    store: Store,
    *,
    host: str = DEFAULT_HOST,
    viewer: Path | None = None,
    benchmark_index: BenchmarkIndex | None = None,
    ready: Callable[[], None] = lambda: None,
) -> Server:
    """Return the server of `mesocosm view`, not started yet. Set `should_exit` to stop it from another thread.

    `host` is the name that it listens on, which is also accepted in `Host` headers.
    """
    app = create_app(local_service(store, host), viewer=viewer, benchmark_index=benchmark_index)
    # `problems` logs unexpected errors already; uvicorn would log them a second time.
    logging.getLogger("uvicorn.error").addFilter(_not_twice)
    return Server(app, _config(app, _LOCAL_GRACE_S), ready)


def _config(app: ASGIApp, grace_s: int, *, proxy_headers: bool = True) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=proxy_headers,
        timeout_graceful_shutdown=grace_s,
        timeout_keep_alive=30,
        ws="none",
    )


def _not_twice(record: logging.LogRecord) -> bool:
    return not record.getMessage().startswith("Exception in ASGI application")
