"""A process that runs things for tests that harm it.

`python runner.py run DATABASE [RUN_ID]` starts or resumes a run, says its id as soon as it works, and ends with the
exit code that the error has; `full SIZE DATABASE` lets no file grow beyond SIZE bytes, `nobody DATABASE` may write
nothing that others own. `python runner.py nest` forks such processes: it reads `[DATABASE, NOTES, RUN_ID]` as JSON
lines and says `pid N`, later `ended N CODE`. Python and its imports are started once then.
"""

import asyncio
import json
import os
import resource
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec

from mesocosm.core.failure import MesocosmError
from mesocosm.core.model import ModelSettings
from mesocosm.core.ports import Observer, Progress
from mesocosm.core.run import BenchmarkRef, RunSpec, Selection
from mesocosm.engine import session
from mesocosm.store import open_store

WORLD = f"{Path(__file__).with_name('worlds.py')}:Slow"
EPISODES = int(os.environ.get("MESOCOSM_TEST_EPISODES", "600"))
PATIENCE = 1.0


class Speaker(Observer):
    """Says the id of the run as soon as it works."""

    def run_started(self, progress: Progress) -> None:
        say(f"run {progress.run.id}")


def say(line: str) -> None:
    """Write a line in one piece: several processes share this output."""
    os.write(1, f"{line}\n".encode())


def spec() -> RunSpec:
    """What the tests run."""
    return RunSpec(
        BenchmarkRef("python", WORLD), ModelSettings("builtin/random"), selection=Selection(count=EPISODES), parallel=8
    )


async def work(database: str, run_id: str) -> None:
    """Start a run, or resume the named one, and go on until it is finished."""
    store = open_store(database if "://" in database else Path(database), patience=PATIENCE)
    try:
        if run_id:
            await session.resume(run_id, store, [Speaker()])
        else:
            await session.run(spec(), store, [Speaker()])
    finally:
        store.close()


def run(database: str, run_id: str = "") -> int:
    """Work and return the exit code."""
    try:
        asyncio.run(work(database, run_id))
    except MesocosmError as error:
        say(f"error {error}")
        return error.exit_code
    return 0


def warm_up() -> None:
    """Run a little, so that everything is imported that is imported only when it is used."""
    notes = os.environ.get("MESOCOSM_TEST_NOTES", "")
    with tempfile.TemporaryDirectory() as place:
        os.environ["MESOCOSM_TEST_NOTES"] = f"{place}/notes"
        store = open_store(Path(place))
        asyncio.run(session.run(msgspec.structs.replace(spec(), selection=Selection(count=1)), store))
        store.close()
    os.environ["MESOCOSM_TEST_NOTES"] = notes


def full(size: str, database: str) -> int:
    """Work on a disk that is as good as full."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(size), int(size)))
    return run(database)


def nobody(database: str) -> int:
    """Work as a user without rights."""
    warm_up()
    if os.geteuid() == 0:
        os.setgid(65534)
        os.setuid(65534)
    return run(database)


def nest() -> None:
    """Fork a process for every line of standard input."""
    warm_up()
    assert threading.active_count() == 1, "a fork would lose the other threads"
    for line in sys.stdin:
        database, notes, run_id = json.loads(line)
        pid = os.fork()
        if not pid:
            os.environ["MESOCOSM_TEST_NOTES"] = notes
            os._exit(run(database, run_id))
        say(f"pid {pid}")
        # Reaped at once by whoever waits: a zombie would still count as the holder of its run.
        _, status = os.waitpid(pid, 0)
        say(f"ended {pid} {os.waitstatus_to_exitcode(status)}")


if __name__ == "__main__":
    commands: dict[str, Callable[..., int | None]] = {"run": run, "full": full, "nobody": nobody, "nest": nest}
    sys.exit(commands[sys.argv[1]](*sys.argv[2:]))
