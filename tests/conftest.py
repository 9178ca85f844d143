"""What every test starts from: no variables of the person who runs them."""

import asyncio
import contextlib
import gc
import itertools
import os
import shutil
import socketserver
import sys
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from sqlalchemy import Engine
from sqlalchemy.engine import Dialect
from sqlalchemy.util import LRUCache
from tests.forked import ForkServer, forking

KEPT = ("MESOCOSM_TEST_",)
_APART = {"foreign": "MESOCOSM_TEST_FOREIGN", "osmosis": "MESOCOSM_TEST_OSMOSIS"}
collect_ignore = [folder for folder, variable in _APART.items() if variable not in os.environ]
"""`make test-foreign` and `make test-osmosis` run them, with programs of others in environments of their own."""
MOST_WORKERS = 8
"""The PostgreSQL server of the tests takes fifty connections."""
QUOTA = Path("/sys/fs/cgroup/cpu.max")
BROWSER = Path(__file__).with_name("viewer")
SELDOM = (10_000, 10, 10)
"""When garbage is collected. Python's own thresholds cost a tenth of the tests' processor time."""

# The same examples each time, however long a slow machine takes for one: what fails here is a defect, not an accident.
settings.register_profile("tests", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tests")

# Linux drops a connection that finds no room in the queue of 5, and the client tries again after a second.
socketserver.TCPServer.request_queue_size = 128

number = itertools.count()

EmptyStore = Callable[[Path], Path]


def cores() -> int:
    """Return how many processors these tests may use; a container's share is less than what it sees."""
    seen = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota, _, period = QUOTA.read_text().partition(" ") if QUOTA.is_file() else ("max", "", "")
    return seen if quota == "max" else max(1, min(seen, round(int(quota) / int(period))))


def pytest_xdist_auto_num_workers() -> int:
    """Return two workers for each processor: half of the tests' time is waiting for processes and pages."""
    asked = os.environ.get("PYTEST_XDIST_AUTO_NUM_WORKERS", "")
    return int(asked) if asked.isdigit() else min(cores() * 2, MOST_WORKERS)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for no garbage among what is imported and collected: it stays, and a quarter of the time would be lost."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
        gc.set_threshold(*SELDOM)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests with a browser first: who has no tests left takes the last of others.

    Each worker that takes some of them starts the server of their module again, and plays all its runs.
    """
    items.sort(key=lambda item: BROWSER not in item.path.parents)


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Generator[None]:
    """Remove every variable that would change what our code does."""
    ours = ("MESOCOSM_", "SWECC_", "BENCH_", "OSMOSIS_", "_OSMOSIS_")
    prefixes = (*ours, "OLLAMA_", "OPENAI_", "ANTHROPIC_", "GEMINI_", "GOOGLE_API")
    for name in list(os.environ):
        if name.startswith(prefixes) and not name.startswith(KEPT):
            monkeypatch.delenv(name)
    # What plays on a terminal would start a viewer that outlives the test.
    monkeypatch.setenv("MESOCOSM_NO_VIEW", "1")
    # Rollouts leave their artifacts in the home of the person otherwise.
    artifacts = tmp_path_factory.getbasetemp() / "artifacts" / str(next(number))
    monkeypatch.setenv("_OSMOSIS_ROLLOUT_ARTIFACT_ROOT", str(artifacts))
    known = {*os.environ, "PYTEST_CURRENT_TEST"}
    yield
    # A secret of a run, or what is set before LiteLLM is imported: programs of later tests would start with it.
    for name in os.environ.keys() - known:
        del os.environ[name]


@pytest.fixture(scope="session", autouse=True)
def statements_compiled_once() -> Generator[None]:
    """Let all SQLite files share the statements that SQLAlchemy has compiled.

    Otherwise each test compiles them again for its own file, which takes a quarter of the processor time of such tests.
    """
    dialects: dict[type[Dialect], Dialect] = {}
    compiled = LRUCache[object, object](5_000)
    start = Engine.__init__

    def started(engine: Engine, pool: Any, dialect: Dialect, *words: Any, **given: Any) -> None:
        if dialect.name != "sqlite":
            return start(engine, pool, dialect, *words, **given)
        # A compiled statement is found by its dialect as well.
        start(engine, pool, dialects.setdefault(type(dialect), dialect), *words, **given)
        engine._compiled_cache = compiled  # type: ignore[assignment]
        return None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Engine, "__init__", started)
        yield


@pytest.fixture(scope="session", autouse=True)
def own_synchronous() -> Generator[str]:
    """Let no test wait for the disk: no power is lost here. Returns how files are written outside of tests.

    A commit would wait some milliseconds, and many tests make hundreds. Other processes write as they always do.
    """
    from mesocosm.store import database

    own = database.SYNCHRONOUS
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database, "SYNCHRONOUS", "OFF")
        yield own


class LoopClock:
    """The time of a test's event loop: a deadline comes when the test says so, however slow the machine is."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._ahead = 0.0

    def __call__(self) -> float:
        return self._now() + self._ahead

    def advance(self, seconds: float) -> None:
        """Let so much time pass at once."""
        self._ahead += seconds


@pytest.fixture
async def loop_clock(monkeypatch: pytest.MonkeyPatch) -> LoopClock:
    """The time of the event loop that this test runs on."""
    loop = asyncio.get_running_loop()
    clock = LoopClock(loop.time)
    monkeypatch.setattr(loop, "time", clock)
    return clock


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a store with nothing in it, to copy: making its tables costs more than most tests."""
    from mesocosm.store import open_store
    from mesocosm.store.revision import DATABASE_NAME

    place = tmp_path_factory.mktemp("store")
    open_store(place).close()
    return place / DATABASE_NAME


@pytest.fixture(scope="session")
def put_empty_store(empty_store: Path) -> EmptyStore:
    """Return what puts an empty store into a results directory, unless one is there, and returns the directory."""

    def put(results: Path) -> Path:
        if not (results / empty_store.name).exists():
            results.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(empty_store, results / empty_store.name)
        return results

    return put


@pytest.fixture(scope="session")
def fork_server(tmp_path_factory: pytest.TempPathFactory) -> Generator[ForkServer | None]:
    """The process that programs are forked from, where there are such processes."""
    if sys.platform != "linux":
        yield None
        return
    with contextlib.closing(ForkServer(tmp_path_factory.mktemp("fork"))) as server:
        yield server


@pytest.fixture(scope="module")
def forked(fork_server: ForkServer | None) -> Generator[None]:
    """Let the tests of a module fork Python programs instead of starting them."""
    with forking(fork_server) if fork_server else contextlib.nullcontext():
        yield


@pytest.fixture(scope="module")
def forked_checks(forked: None) -> Generator[None]:
    """Let the checks of uploaded files be forked, without a sandbox and limits, which take more time than the checks.

    `tests/server/workers` and the tests of datasets have them as they are.
    """
    from mesocosm.sandboxes.sandboxed_process import Finished
    from mesocosm.server.workers import foreign_files

    async def forked_run(words: Sequence[str], folder: Path, seconds: float, **given: Any) -> Finished:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(sys.executable, *words, cwd=folder, stdout=pipe, stderr=pipe)
        out, err = await process.communicate()
        if given.get("printed"):
            given["printed"](out)
        assert process.returncode is not None
        return Finished(process.returncode, err.decode(), "failed" if process.returncode else "ok")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(foreign_files, "_run", forked_run)
        yield
