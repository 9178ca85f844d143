"""The link to the live page of a run: of a running viewer, or of one that is started in the background.

A viewer writes `viewer.json` to the results directory while it runs. Its content is trusted only if the process in it
is alive and answers.
"""

import http.client
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from mesocosm.core.ports import Observer, Progress
from mesocosm.core.run import LeaseOwner

if TYPE_CHECKING:
    from mesocosm.cli.command import CommonOptions
    from mesocosm.store import Store

NOTE = "viewer.json"
HOST = "127.0.0.1"
PORT = 8877
NEARBY = 20
"""Number of ports after the usual one to try before any other."""
IDLE_MINUTES = 10
BROWSER_S = 5.0
"""Seconds that a program which ends immediately gives a browser to load the page."""
ANSWER_S = 0.2
"""Seconds that a viewer has to accept a check; a busy one that is slower counts as alive."""
OFF = "MESOCOSM_NO_VIEW"
"""Variable that prevents runs from starting a viewer."""


class RunningViewer(msgspec.Struct, frozen=True):
    """A running viewer: its address, the store that it shows, and its process."""

    url: str
    store: str
    process: LeaseOwner


def place_name(store: "Store") -> str:
    """Return a name of a store by which two programs can tell that they use the same one."""
    return store.place if "://" in store.place else str(Path(store.place).resolve())


def running(directory: Path, store: str) -> RunningViewer | None:
    """Return the viewer of a store that left its note in a results directory, if it is alive and answers."""
    from mesocosm.store.lease_owner import alive

    try:
        viewer = msgspec.json.decode((directory / NOTE).read_bytes(), type=RunningViewer)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
    if viewer.store != store or alive(viewer.process) is not True or not _answers(viewer.url):
        return None
    return viewer


def page(path: str, store: "Store", chosen: "CommonOptions", otherwise: str = "") -> str:
    """Return the address of a page if a viewer is running, otherwise the command that starts one."""
    viewer = running(chosen.results(), place_name(store))
    return f"{viewer.url}{path}" if viewer is not None else f"mesocosm view    {otherwise or f'and open {path}'}"


def _answers(url: str) -> bool:
    from urllib.error import URLError

    from mesocosm.client.urls import opener_for

    try:
        with opener_for(url).open(f"{url}/api/health", timeout=ANSWER_S) as answer:
            return bool(answer.status == 200)
    except TimeoutError:
        return True
    except URLError as error:
        return isinstance(error.reason, TimeoutError)
    except (OSError, ValueError, http.client.HTTPException):
        return False


@contextmanager
def noted(directory: Path, url: str, store: str) -> Iterator[None]:
    """Write a note of this process to a results directory, if it exists, until the block ends."""
    from mesocosm.store.lease_owner import this_process

    path, data = directory / NOTE, msgspec.json.encode(RunningViewer(url, store, this_process()))
    draft = directory / f".{NOTE}.{os.getpid()}"
    with suppress(OSError):  # a directory that is not writable can still be viewed
        draft.write_bytes(data)
        draft.replace(path)
    try:
        yield
    finally:
        with suppress(OSError):
            if path.read_bytes() == data:
                path.unlink()


def start(chosen: "CommonOptions", store: str) -> str:
    """Start a viewer in the background and return its address, which can be used immediately. Raises OSError.

    The viewer inherits a listening socket, so no other program can take the port, and early requests wait.
    """
    directory, database = chosen.results().absolute(), chosen.database()
    variables = {"MESOCOSM_RESULTS_DIR": str(directory)}
    if database:
        variables["MESOCOSM_DATABASE_URL"] = database
    place = [] if database else ["--results-dir", str(directory)]
    with _listening() as listening:
        host, port = listening.getsockname()
        handed = ["--port", str(port)]
        if os.name == "posix":
            handed += ["--fd", str(listening.fileno())]
        subprocess.Popen(  # noqa: S603 - our own program, and no shell
            [
                sys.executable,
                "-m",
                "mesocosm",
                "view",
                "--no-open",
                "--idle-minutes",
                str(IDLE_MINUTES),
                *handed,
                *place,
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **variables},
            pass_fds=[listening.fileno()] if os.name == "posix" else [],
            start_new_session=True,
        )
    return f"http://{host}:{port}"


def _listening() -> socket.socket:
    for port in [*range(PORT, PORT + NEARBY), 0]:
        with suppress(OSError):
            return socket.create_server((HOST, port), backlog=128)
    raise OSError("no port is free")


def wanted(chosen: "CommonOptions") -> bool:
    """Return whether to start a viewer for a run: on request, or by default on a terminal."""
    if chosen.view is not None:
        return chosen.view
    return sys.stderr.isatty() and not (chosen.quiet or os.environ.get("CI") or os.environ.get(OFF))


@dataclass
class ViewerLink(Observer):
    """Prints where a run can be watched, once it has started. Errors here never stop the run."""

    chosen: "CommonOptions"
    store: "Store"
    watcher: Observer

    def run_started(self, progress: Progress) -> None:
        """Print the link, starting a viewer if needed."""
        if self.chosen.view is False or (self.chosen.quiet and not self.chosen.view):
            return
        name = place_name(self.store)
        viewer = running(self.chosen.results(), name)
        url = self.chosen.viewer if viewer is None else viewer.url
        started = not url and wanted(self.chosen)
        if started:
            try:
                url = self.chosen.viewer = start(self.chosen, name)
            except OSError as error:
                self._say(f"no viewer could be started ({error}); mesocosm view")
                return
        if not url:
            self._say("look at it in the browser: mesocosm view")
            return
        page = f"{url}/runs/{progress.run.id}"
        self._say(f"watch it live: {page}")
        if started:
            self._say(f"(a viewer in the background; it ends after {IDLE_MINUTES} minutes without a visitor)")
        if self.chosen.opens:
            open_browser(page)

    def _say(self, text: str) -> None:
        if self.chosen.quiet:
            click.echo(text, err=True)
        else:
            self.watcher.notice(text)


def open_browser(url: str, wait_s: float = 0.0) -> bool:
    """Open a page in the user's browser; return whether that was tried: not in CI, and not without a screen.

    With `wait_s`, wait up to that many seconds, for a program that ends right afterwards.
    """
    import threading
    import webbrowser

    screen = sys.platform in {"darwin", "win32"} or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "WSL_DISTRO_NAME")
    )
    if not screen or os.environ.get("CI"):
        return False

    def show() -> None:
        with suppress(Exception):
            webbrowser.open(url)

    # Some browsers block until they are closed.
    thread = threading.Thread(target=show, name="browser", daemon=True)
    thread.start()
    thread.join(wait_s)
    return True
