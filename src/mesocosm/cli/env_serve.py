"""`mesocosm env serve`: an environment as a server for programs of others."""

import asyncio
import os
import signal
import sys
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mesocosm.cli.command import MesocosmCommand
from mesocosm.core.failure import UsageError

if TYPE_CHECKING:
    from aiohttp import web

    from mesocosm.core.ports import Benchmark
    from mesocosm.core.run import BenchmarkRef

SESSIONS = 64
PORT = 8765


@click.command(cls=MesocosmCommand)
@click.argument("what", required=False, default=".")
@click.option(
    "--protocol",
    type=click.Choice(["mesocosm", "openenv", "mcp"]),
    default="mesocosm",
    show_default=True,
    help="Our own, that of OpenEnv (its clients train on it), or MCP (agents with tools play it).",
)
@click.option("--stdio", is_flag=True, help="With --protocol mcp: on standard input and output, for one player.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="0 takes a free one.")
@click.option(
    "--max-sessions", type=click.IntRange(min=1), default=SESSIONS, show_default=True, help="Players at a time."
)
def serve(what: str, protocol: str, *, stdio: bool, host: str, port: int, max_sessions: int) -> int:
    """Serve WHAT until Ctrl-C: a folder with an environment [the current one], FILE.py:Class, or the URL of a server.

    \b
    mesocosm env serve env.py:Guess --protocol openenv --port 8000
    mesocosm env serve word-game --protocol mcp --stdio
    """
    if stdio and protocol != "mcp":
        raise UsageError("--stdio is for --protocol mcp; the other protocols are served over HTTP")
    if protocol == "mesocosm":
        _serve_adapter(what, host, port)
        return 0
    benchmark = _opened(what)
    asyncio.run(_until_stopped(_stdio(benchmark) if stdio else _http(benchmark, protocol, host, port, max_sessions)))
    return 0


async def _until_stopped(serving: Coroutine[Any, Any, None]) -> None:
    """Serve until the end of the input or a signal; then end sessions and what was started for them."""
    task, loop = asyncio.create_task(serving), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, task.cancel)
    with suppress(asyncio.CancelledError):
        await task


def reference(what: str) -> "BenchmarkRef":
    """Return the environment that is named. Raises UsageError if nothing is."""
    from mesocosm.core.run import BenchmarkRef
    from mesocosm.environments.manifest import find_manifest

    if what.startswith(("http://", "https://")):
        return BenchmarkRef("environment", what.rstrip("/"))
    path = Path(what)
    if path.is_dir():
        return BenchmarkRef("environment", str(find_manifest(path).resolve()))
    if path.is_file() and path.suffix == ".json":
        return BenchmarkRef("environment", str(path.resolve()))
    place, colon, name = what.rpartition(":")
    if not colon or not name:
        raise UsageError(f"{what} is no environment; name a folder with a benchanything.json, FILE.py:Class, or a URL")
    if place.endswith(".py") or "." in place:
        full = f"{Path(place).resolve()}:{name}" if place.endswith(".py") else what
        return BenchmarkRef("python", full, {"threads": True})
    # What other packages bring, as gym:Taxi-v3.
    kind, _, source = what.partition(":")
    return BenchmarkRef(kind, source)


def _opened(what: str) -> "Benchmark":
    from mesocosm.core.registry import SOURCES

    ref = reference(what)
    benchmark: Benchmark = SOURCES.get(ref.kind)(ref)
    return benchmark


def _serve_adapter(what: str, host: str, port: int) -> None:
    """Serve with our own protocol: a class in this process, a folder by its adapter, which replaces this process."""
    from mesocosm.core.registry import import_reference
    from mesocosm.environments.manifest import load_manifest

    ref = reference(what)
    if ref.kind == "python":
        from mesocosm.environments.server import serve as serve_class

        serve_class(import_reference(ref.source), host=host, port=port)
        return
    if ref.kind != "environment" or ref.source.startswith(("http://", "https://")):
        raise UsageError(f"{what} is not served with our own protocol; choose --protocol openenv or mcp")
    adapter = load_manifest(Path(ref.source)).adapter
    if adapter is None:
        raise UsageError(f"the manifest {ref.source} names no adapter to start")
    click.echo(f"starting {adapter}; it decides at which address it listens", err=True)
    os.chdir(adapter.parent)
    os.execv(sys.executable, [sys.executable, adapter.name, "--port", str(port)])  # noqa: S606 -- the user's own file


async def _http(benchmark: "Benchmark", protocol: str, host: str, port: int, most: int) -> None:
    from aiohttp import web

    await _open(benchmark)
    try:
        runner = web.AppRunner(_app(benchmark, protocol, most), access_log=None, shutdown_timeout=2.0)
        await runner.setup()
        try:
            await _listen(runner, host, port)
            address = runner.addresses[0]
            shown = f"http://{f'[{address[0]}]' if ':' in address[0] else address[0]}:{address[1]}"
            end = "/mcp" if protocol == "mcp" else ""
            click.echo(f"{benchmark.info.title}: {protocol} at {shown}{end}  (Ctrl-C ends)", err=True)
            await asyncio.Event().wait()
        finally:
            await runner.cleanup()
    finally:
        await benchmark.close()


async def _listen(runner: Any, host: str, port: int) -> None:
    from aiohttp import web

    try:
        await web.TCPSite(runner, host, port).start()
    except OSError as error:
        raise UsageError(f"{host}:{port} cannot be listened at: {error.strerror or error}; choose --port") from error


def _app(benchmark: "Benchmark", protocol: str, most: int) -> "web.Application":
    from aiohttp import web

    limit = benchmark.info.parallel
    most = most if limit is None else min(most, limit)
    if protocol == "openenv":
        from mesocosm.environments.openenv_server import OpenEnvServer

        return OpenEnvServer(benchmark, most=most).app()
    from mesocosm.environments.mcp_server import McpEndpoint

    app = web.Application()
    McpEndpoint(benchmark, most=most).add_to(app, "/mcp")
    return app


async def _stdio(benchmark: "Benchmark") -> None:
    from mesocosm.environments.mcp_server import serve_stdio

    # What the environment prints must not get between the messages.
    output = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    await _open(benchmark)
    try:
        await serve_stdio(benchmark, output)
    finally:
        await benchmark.close()


async def _open(benchmark: "Benchmark") -> None:
    await benchmark.open(lambda said: click.echo(said, err=True))
