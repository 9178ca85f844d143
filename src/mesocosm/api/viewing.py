"""Viewers of results: the one that is running, and one that is started in the background.

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
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from mesocosm.core.failure import InfrastructureError
from mesocosm.core.run import LeaseOwner

if TYPE_CHECKING:
    from mesocosm.api.results import Run

NOTE = "viewer.json"
HOST = "127.0.0.1"
PORT = 8877
NEARBY = 20
"""Number of ports after the usual one to try before any other."""
IDLE_MINUTES = 10
ANSWER_S = 0.2
"""Seconds that a viewer has to accept a check; a busy one that is slower counts as alive."""


class RunningViewer(msgspec.Struct, frozen=True):
    """A running viewer: its address, the store that it shows, and its process."""

    url: str
    store: str
    process: LeaseOwner


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


def start(directory: Path, database: str) -> str:
    """Start a viewer in the background and return its address, which can be used immediately. Raises OSError.

    `database` is the URL of the store, empty for the file in `directory`. The viewer inherits a listening socket, so no
    other program can take the port, and early requests wait.
    """
    variables = {"MESOCOSM_RESULTS_DIR": str(directory.absolute())}
    if database:
        variables["MESOCOSM_DATABASE_URL"] = database
    place = [] if database else ["--results-dir", str(directory.absolute())]
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


def running_viewer(place: str) -> str:
    """Return the address of the running viewer of a store, given its file or URL; empty if there is none."""
    found = running(_directory(place), place if "://" in place else str(Path(place).resolve()))
    return "" if found is None else found.url


def view(run: "Run | None" = None, *, store: str | os.PathLike[str] | None = None) -> str:
    """Open the results, or the page of a run, in the browser, and return the address.

    A viewer that is not running is started in the background; it ends after ten minutes without a visitor. Raises
    InfrastructureError if none can be started.

    >>> view()  # doctest: +SKIP
    'http://127.0.0.1:8877'
    """
    from mesocosm.api.places import results_place

    place = run.place if run is not None else results_place(store)
    url = running_viewer(place)
    if not url:
        try:
            url = start(_directory(place), place if "://" in place else "")
        except OSError as error:
            raise InfrastructureError(f"no viewer could be started: {error}; run: mesocosm view") from error
    page = f"{url}/runs/{run.id}" if run is not None else url
    open_browser(page)
    return page


def _directory(place: str) -> Path:
    if "://" in place:
        return Path(os.environ.get("MESOCOSM_RESULTS_DIR") or "benchmark_results")
    return Path(place).parent
