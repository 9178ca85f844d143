"""`mesocosm view`: show the results directory in the browser."""

import ipaddress
import os
import socket
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from mesocosm.cli import viewer_link
from mesocosm.cli.command import CommonOptions, FiniteFloat, MesocosmCommand, options
from mesocosm.cli.render import answer

if TYPE_CHECKING:
    from mesocosm.cli.viewer_server import ViewedStore

DEFAULT_HOST, DEFAULT_PORT = viewer_link.HOST, viewer_link.PORT


@click.command(cls=MesocosmCommand)
@click.argument("run_id", required=False, metavar="[RUN]")
@click.option("--host", default=DEFAULT_HOST, show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65_535), help=f"Port to listen on, 0 for any [{DEFAULT_PORT}].")
@click.option("--no-open", is_flag=True, help="Do not open the browser.")
@click.option(
    "--benchmarks-dir",
    "folders",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Additional folder of benchmarks. Repeatable.",
)
@click.option(
    "--idle-minutes", type=FiniteFloat(min=0, min_open=True), hidden=True, help="End after this time without a visitor."
)
@click.option("--fd", type=int, hidden=True, help="A socket that listens already.")
def view(
    host: str,
    port: int | None,
    no_open: bool,
    folders: tuple[Path, ...],
    idle_minutes: float | None,
    fd: int | None,
    run_id: str | None = None,
) -> int:
    """Open the viewer on the results directory, or on the page of RUN: runs, episodes, comparisons in the browser.

    It shows runs live, from any process, and ends with Ctrl-C. Only this machine can reach it, and it needs no
    password. If there are no results yet, it waits for them.
    """
    from mesocosm.cli.viewer_server import ViewedStore, ViewerServer
    from mesocosm.server.runs.benchmark_index import BenchmarkIndex
    from mesocosm.server.serving import listen, url_of

    chosen = options()
    page = "" if run_id is None else _page(run_id)
    results = ViewedStore(chosen)
    try:
        there = None if fd is not None or results.missing else viewer_link.running(chosen.results(), results.name)
        if there is not None and port in {None, urlsplit(there.url).port}:
            return _there_already(there, page, chosen, no_open=no_open)
        listening = listen(host, DEFAULT_PORT if port is None else port) if fd is None else socket.socket(fileno=fd)
        _warn(host, port, listening)
        url = url_of(listening, host)
        with ExitStack() as ending:
            note = partial(_note, ending, results, url, chosen)
            ready = partial(_ready, note, results, url, page, chosen, no_open=no_open)
            ViewerServer(results, host, idle_minutes, ready, note, BenchmarkIndex(folders)).run([listening])
    finally:
        results.close()
    return 0


def _page(run_id: str) -> str:
    """Return the path of a run's page. Raises UnknownName."""
    from mesocosm.cli.results import find_run, open_results

    store = open_results(options(), create=False)
    try:
        return f"/runs/{find_run(store, run_id).id}"
    finally:
        store.close()


def _there_already(there: viewer_link.RunningViewer, page: str, chosen: CommonOptions, *, no_open: bool) -> int:
    url = f"{there.url}{page}"
    document = {"url": url, "pid": there.process.pid, "store": there.store, "started": False}
    answer(f"The viewer of these results is already running: {url}", document)
    if not no_open:
        viewer_link.open_browser(url, viewer_link.BROWSER_S)
    return 0


def _warn(host: str, port: int | None, listening: socket.socket) -> None:
    wanted, found = DEFAULT_PORT if port is None else port, listening.getsockname()[1]
    if wanted not in {0, found}:
        click.echo(f"port {wanted} is taken by something else; using {found}", err=True)
    if not _loopback(listening.getsockname()[0]):
        click.echo(
            f"warning: listening on {host}, and there is no login: everyone who can reach this "
            "machine can see these results, and stop, change or delete runs",
            err=True,
        )


def _loopback(address: str) -> bool:
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback


def _note(ending: ExitStack, results: "ViewedStore", url: str, chosen: CommonOptions) -> None:
    """Write the viewer's note beside the results, until the viewer ends."""
    ending.enter_context(viewer_link.noted(chosen.results(), url, results.name))


def _ready(
    note: Callable[[], None], results: "ViewedStore", base: str, page: str, chosen: CommonOptions, *, no_open: bool
) -> None:
    """Print the viewer's address once it answers."""
    note()
    url = f"{base}{page}"
    document = {"url": url, "pid": os.getpid(), "store": results.name, "started": True}
    answer(f"Viewer of {results.name}\n  {url}\nCtrl-C stops it.", document)
    if results.missing and not chosen.json:
        click.echo("There are no results here yet; they appear as soon as there are. `mesocosm demo` makes some.")
    if not no_open:
        viewer_link.open_browser(url)
