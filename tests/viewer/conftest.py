"""The web app in Debian's Chromium, served by the real command over runs that were really recorded."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, expect, sync_playwright
from tests.forked import ForkServer
from tests.viewer.hosting import fork_servers, forks

from mesocosm.store import open_store

HEADLESS_SHELL = shutil.which("chromium-headless-shell")
"""Chromium without the browser around its pages: the same pages for two fifths of the processor time."""
CHROMIUM = os.environ.get("MESOCOSM_TEST_CHROMIUM") or HEADLESS_SHELL or "/usr/bin/chromium"
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Nothing but loopback can be reached. Intercepting every request instead would switch off the browser's cache.
    "--proxy-server=http://127.0.0.1:1",
    "--proxy-bypass-list=127.0.0.1",
    # A renderer costs more to start than most pages to draw: pages of one context share theirs.
    "--renderer-process-limit=1",
)
ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
BUILT = ROOT / "src" / "mesocosm" / "viewer" / "index.html"
GALLERY = Path(__file__).parent / "gallery" / "benchanything.json"
PATIENCE_MS = 60_000
EPISODES = 60
"""Episodes of each run of the grid world."""
SCRIPT_NAME = "<script>window.__ran=1</script>"
SCRIPT_TAG = "<img src=x onerror='window.__ran=1'>"

MadeOnce = Callable[[str, Callable[[Path], object]], Path]

expect.set_options(timeout=PATIENCE_MS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the browser's tests where there is no browser; CI has one, or fails."""
    missing = [str(place) for place in (Path(CHROMIUM), BUILT) if not place.exists()]
    if missing and not os.environ.get("CI"):
        skip = pytest.mark.skip(reason=f"{' and '.join(missing)} not there: install chromium, `make viewer`")
        for item in items:
            if Path(__file__).parent in item.path.parents:
                item.add_marker(skip)


@pytest.fixture(scope="session", autouse=True)
def programs_are_forked(fork_server: ForkServer | None) -> Iterator[None]:
    """Let `forks` know the process that programs are forked from."""
    fork_servers[:] = [fork_server] if fork_server else []
    yield
    fork_servers.clear()


@dataclass
class Server:
    """A `mesocosm view` of its own process."""

    url: str
    results: Path
    process: subprocess.Popen[str]


@dataclass
class Watched:
    """What a page did that it must not do."""

    outside: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def hear(self, message: ConsoleMessage) -> None:
        """Keep what the page complains of, except that its server is gone: that ends before the page does."""
        if message.type == "error" and "ERR_CONNECTION_REFUSED" not in message.text:
            self.errors.append(message.text)


def mesocosm(*words: str, results: Path, check: bool = True) -> str:
    """Run a command over a results directory and return its output."""
    command = [sys.executable, "-m", "mesocosm", *words, "--results-dir", str(results)]
    with forks():
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _words(place: str, model: str, results: Path, *words: str) -> list[str]:
    """Return the command that records a run of a manifest."""
    asked = ("--manifest", place, "--model", model, "--json", "--quiet", "--parallel", "8", *words)
    return ["run", "local", *asked, "--results-dir", str(results)]


def play(place: str, model: str, results: Path, *words: str) -> str:
    """Record a run of a manifest; return its id."""
    said = mesocosm(*_words(place, model, results, *words)[:-2], results=results, check=False)
    return str(json.loads(said)["run"]["id"])


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> MadeOnce:
    """Make a directory once for all workers: the function gets its name and what fills it.

    MESOCOSM_TEST_RECORDED names a directory that keeps them for the next time.
    """
    shared = tmp_path_factory.getbasetemp()
    if os.environ.get("PYTEST_XDIST_WORKER"):
        shared = shared.parent
    shared = Path(os.environ.get("MESOCOSM_TEST_RECORDED", shared))

    def make(name: str, fill: Callable[[Path], object]) -> Path:
        place, done = shared / name, shared / f"{name}.done"
        with (shared / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not done.exists():
                fill(place)
                done.touch()
        return place

    return make


@pytest.fixture(scope="session")
def recorded(made_once: MadeOnce) -> Path:
    """A results directory with runs of every example and of the gallery."""
    return made_once("recorded", _record)


def _record(place: Path) -> None:
    mesocosm("run", "list", results=place, check=False)
    with models() as url, ThreadPoolExecutor(2) as pool:
        runs = list(_runs(place, url))
        for done in [pool.submit(_play_all, runs[half::2]) for half in range(2)]:
            done.result()
    # A server would index them in the background, while tests search.
    mesocosm("search", "--index", results=place)


def _play_all(runs: Sequence[tuple[Any, ...]]) -> None:
    """Record runs in one process, which costs as much as ten episodes; each must end with scores, some may fail."""
    commands = [_words(where, model, place, *words) for where, model, place, *words in runs]
    play_all = "sys.exit(bool({*map(call, json.load(sys.stdin))} - {0, 3}))"
    script = f"import json, sys; from mesocosm.cli.main import call; {play_all}"
    command = [sys.executable, "-c", script]
    with forks():
        done = subprocess.run(command, input=json.dumps(commands), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _runs(place: Path, url: str) -> Iterator[tuple[Any, ...]]:
    picture = EXAMPLES / "grid-world" / "image" / "benchanything.json"
    yield str(GALLERY), "builtin/random", place, "--seeds", "1", "3", "--name", SCRIPT_NAME, "--tag", SCRIPT_TAG
    for size in ("large", "small", "tiny"):
        sweep = ("--name", "sweep", "--tag", "sweep", "--tag", size)
        yield manifest("grid-world"), f"openai/{size}@{url}", place, "--episodes", str(EPISODES), *sweep
    for example, episodes in (("word-game", 10), ("grid-world", EPISODES), ("negotiation", 10)):
        for model in ("builtin/random", "builtin/oracle"):
            yield manifest(example), model, place, "--episodes", str(episodes), "--name", "example"
    yield manifest("word-game"), "builtin/oracle", place, "--seeds", *map(str, range(500, 510)), "--name", "other seeds"
    yield str(picture), "builtin/oracle", place, "--episodes", "2"


def manifest(example: str) -> str:
    """Return the manifest of an example environment."""
    return str(EXAMPLES / example / "benchanything.json")


def start(place: str, model: str, results: Path, *words: str) -> subprocess.Popen[str]:
    """Start a run in a process of its own and return at once."""
    asked = ("--manifest", place, "--model", model, "--quiet", *words, "--results-dir", str(results))
    command = [sys.executable, "-m", "mesocosm", "run", "local", *asked]
    with forks():
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)


@contextmanager
def models() -> Iterator[str]:
    """Serve fake models that walk through mazes, until the block ends; the value is their base URL."""
    command = [sys.executable, str(Path(__file__).with_name("walker.py"))]
    with forks():
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.communicate(timeout=60)


@contextmanager
def serving(results: Path, *words: str) -> Iterator[Server]:
    """Serve a results directory on a free port until the block ends."""
    command = [sys.executable, "-m", "mesocosm", "view", "--no-open", "--json", "--port", "0", *words]
    command += ["--results-dir", str(results)]
    with forks():
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        said = ""
        while not said.rstrip().endswith("}"):
            line = process.stdout.readline()
            assert line, process.stderr.read() if process.stderr else ""
            said += line
        yield Server(json.loads(said)["url"].rstrip("/"), results, process)
    finally:
        process.terminate()
        process.communicate(timeout=60)


@pytest.fixture(scope="session")
def model_url() -> Iterator[str]:
    """The base URL of fake models."""
    with models() as url:
        yield url


@pytest.fixture(scope="session")
def server(recorded: Path) -> Iterator[Server]:
    """The viewer over the recorded runs, which no test may change."""
    with serving(recorded) as running:
        yield running


@pytest.fixture(scope="module")
def own_server(recorded: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A viewer over a copy of the recorded runs, which the tests of one module may change."""
    place = tmp_path_factory.mktemp("own") / "results"
    shutil.copytree(recorded, place)
    with serving(place) as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium, as headless as it comes.

    It ends with its module: as long as it is there an event loop runs in this thread, in which nobody else's can.
    """
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield chromium
        chromium.close()


class Window:
    """A browser context that may talk to loopback alone, with one page at a time, watched."""

    def __init__(self, browser: Browser, **context: object) -> None:
        viewport = {"viewport": {"width": 1440, "height": 900}}
        self._context = browser.new_context(**{**viewport, **context})  # type: ignore[arg-type]
        self._context.set_default_timeout(PATIENCE_MS)
        self._context.on("request", self._look)
        self._seen = Watched()
        self._origins: set[str] = set()
        self._kept: Page | None = None

    def _look(self, request: Request) -> None:
        if request.url.startswith("http://127.0.0.1:"):
            self._origins.add("/".join(request.url.split("/")[:3]))
        elif not request.url.startswith(("blob:", "data:")):
            self._seen.outside.append(request.url)

    def keep(self) -> None:
        """Leave an empty page of loopback open, whose renderer draws all the others."""
        self._kept = self._context.new_page()
        self._kept.route("**/*", lambda route: route.fulfill(body="", content_type="text/html"))
        self._kept.goto("http://127.0.0.1:1/")

    @contextmanager
    def page(self) -> Iterator[tuple[Page, Watched]]:
        """Open a page; what it tries beyond loopback, and its errors, are kept, and nothing it stored outlives it."""
        self._seen = seen = Watched()
        page = self._context.new_page()
        page.on("pageerror", lambda error: seen.errors.append(str(error)))
        page.on("console", seen.hear)
        try:
            yield page, seen
        finally:
            for opened in self._context.pages:
                if opened is not self._kept:
                    opened.close()
            self._forget()

    def _forget(self) -> None:
        self._context.clear_cookies()
        if self._kept is not None:
            devtools = self._context.new_cdp_session(self._kept)
            for origin in self._origins:
                devtools.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"})
            devtools.detach()
        self._origins.clear()

    def close(self) -> None:
        """Close everything."""
        self._context.close()


@contextmanager
def watched_page(browser: Browser, **context: object) -> Iterator[tuple[Page, Watched]]:
    """Open a page in a window of its own."""
    window = Window(browser, **context)
    try:
        with window.page() as opened:
            yield opened
    finally:
        window.close()


@pytest.fixture(scope="module")
def window(browser: Browser) -> Iterator[Window]:
    """The window of all tests that need none of their own."""
    window = Window(browser)
    window.keep()
    yield window
    window.close()


@pytest.fixture
def page(window: Window) -> Iterator[Page]:
    """A page that fails its test when it asks for anything outside, throws, or complains on its console."""
    with window.page() as (opened, seen):
        yield opened
    assert not seen.outside
    assert not seen.errors


def find_run(results: Path, benchmark: str, model: str, name: str = "") -> str:
    """Return the id of the run of a benchmark by a model whose name begins so."""
    store = open_store(results, create=False)
    try:
        found = store.runs.list(benchmark=benchmark, limit=1_000).items
    finally:
        store.close()
    return next(str(run.id) for run in found if run.model.startswith(model) and name in run.name)


def ask(server: Server, path: str) -> Any:
    """Return what the API answers."""
    with urlopen(server.url + path) as answer:
        return json.load(answer)


def find_episode(server: Server, run: str, **wanted: str) -> str:
    """Return the id of the first episode of a run that fits the query, say `state="failed"`."""
    cursor: dict[str, str] = {}
    while True:
        page = ask(server, f"/api/runs/{run}/episodes?{urlencode({'limit': 1, **wanted, **cursor})}")
        if page["items"]:
            return str(page["items"][0]["id"])
        # A busy server answers with what it found in its time.
        assert page["cursor"], f"no episode of run {run} fits {wanted}"
        cursor = {"cursor": page["cursor"]}
