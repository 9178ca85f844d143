"""A platform as one program: two addresses, one application, workers beside it, and an end in order."""

import ipaddress
import logging
import signal
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import uvicorn
from fastapi import FastAPI

from mesocosm.core.failure import InfrastructureError, UsageError
from mesocosm.server import adapters
from mesocosm.server.app import create_app
from mesocosm.server.service import Service
from mesocosm.server.settings import Settings
from mesocosm.server.web.requests import Observed, Prefixed
from mesocosm.server.web.server import Server, listen, url_of
from mesocosm.server.workers.supervisor import WorkerSupervisor

_TICK_S = 0.1
GRACE_S = 10
"""Seconds that requests have to finish when the server ends; streams end at once."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where a platform answers; `login` is the second address, "" where there is none."""

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
    """Answer on `listening` until SIGINT or SIGTERM, with the workers that the settings ask for.

    `words` and `variables` tell workers which settings these are; `ready` is called once requests are answered.
    """
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
    """Return whether other machines can reach it, and nothing says that TLS is spoken before it."""
    if settings.public_url:
        return False
    try:
        return not ipaddress.ip_address(settings.host).is_loopback
    except ValueError:
        return settings.host not in {"localhost", ""}


@contextmanager
def listening_at(settings: Settings) -> Iterator[list[socket.socket]]:
    """Listen at the addresses of a platform: the API, and logins. Raises InfrastructureError where one is taken."""
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


class _Serving(Server):
    """A server of a platform, which ends in order when a signal asks for it."""

    def __init__(self, app: FastAPI, service: Service, ready: Callable[[], None], leaving: Callable[[], None]) -> None:
        settings = service.settings
        config = uvicorn.Config(
            Prefixed(Observed(app, service.metrics, settings.trusted_proxies), settings.prefix),
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            date_header=False,
            # Who may speak for others is decided where addresses are read.
            proxy_headers=False,
            timeout_graceful_shutdown=GRACE_S,
            timeout_keep_alive=30,
            ws="none",
            ws_max_size=64 * 1024,
        )
        super().__init__(app, config, ready)
        self._leaving = leaving
        self._metrics = service.metrics

    async def on_tick(self, counter: int) -> bool:
        """Measure how late the event loop is; uvicorn calls this ten times a second."""
        self._metrics.tick(_TICK_S)
        return await super().on_tick(counter)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end, and let workers do so at the same time."""
        self._leaving()
        super().handle_exit(sig, frame)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """End in order when a signal asks for it, and do not raise it again afterwards as uvicorn does."""
        numbers = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self.handle_exit) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def worker_variables(given: Mapping[str, object]) -> dict[str, str]:
    """Return flags of a server as the variables by which its workers read the same settings. Raises UsageError."""
    variables = {}
    for name, value in given.items():
        if value is None:
            continue
        text = ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        if "\0" in text:
            raise UsageError(f"the setting {name} holds a NUL character")
        variables[f"MESOCOSM_{name.upper()}"] = text
    return variables
