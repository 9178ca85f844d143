"""A push whose client, server and worker are killed in turn: nothing is half stored, and the same command goes on."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.local_runs import play_large_rollout
from tests.server.workers.test_server_killed import ready

from mesocosm.store import open_store
from mesocosm.store.parts import PART_BYTES
from mesocosm.store.revision import DATABASE_NAME
from mesocosm.store.run_imports import ImportState, RunImport

pytestmark = pytest.mark.usefixtures("forked")

KILLED_CLIENT = """
import os, signal, sys
from mesocosm.cli.main import call
from mesocosm.client.run_imports import RunImportsResource

through = RunImportsResource.put_part

def put_part(self, import_id, part, data):
    if part == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return through(self, import_id, part, data)

RunImportsResource.put_part = put_part
call(["push", "last"])
"""


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def platform(request: pytest.FixtureRequest, open_platform: Callable[..., Any]) -> Any:
    """A platform over an empty store of each kind."""
    if request.param == "sqlite":
        return open_platform()
    return open_platform(database_url=request.getfixturevalue("empty_postgres")())


class Laptop:
    """A machine with a run, from which Ann pushes."""

    def __init__(self, place: Path, platform: Any) -> None:
        self.place = place
        user = platform.service.store.users.add("ann")
        self.actor = f"user:{user.id}"
        self._token = platform.service.accounts.access_token(user)
        self._store = platform.service.store

    def start(self, url: str, *words: str) -> "subprocess.Popen[bytes]":
        """Start a Python program."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("MESOCOSM_")}
        ours = {"MESOCOSM_RESULTS_DIR": str(self.place), "MESOCOSM_BASE_URL": url, "SWECC_BENCH_TOKEN": self._token}
        return subprocess.Popen([sys.executable, *words], env={**kept, **ours}, stdout=subprocess.PIPE, stderr=-1)

    def imports(self) -> list[RunImport]:
        """Return the imports on the server."""
        return list(self._store.run_imports.list(self.actor, limit=9))


def test_a_push_survives_kills_of_client_worker_and_server(
    platform: Any, tmp_path: Path, eventually: Callable[..., None], kill: Callable[..., None]
) -> None:
    laptop = Laptop(tmp_path / "laptop", platform)
    play_large_rollout(laptop.place, tmp_path / "workspace")
    store = platform.service.store
    first = platform.server()
    url = ready(first)["url"]

    killed = laptop.start(url, "-c", KILLED_CLIENT)
    killed.communicate()
    assert killed.returncode == -signal.SIGKILL
    (begun,) = laptop.imports()
    assert begun.size > 2 * PART_BYTES
    assert (begun.state, list(store.run_imports.parts(begun.id))) == (ImportState.UPLOADING, [1])

    client = laptop.start(url, "-m", "mesocosm", "push", "last", "--json")
    eventually(lambda: laptop.imports()[0].claimed_by is not None)
    (worker,) = store.workers.list()
    kill(first)
    platform.kill_pid(worker.holder.pid)
    (left,) = laptop.imports()
    assert (left.id, left.state, left.run_id) == (begun.id, ImportState.PROCESSING, None)
    client.kill()
    client.communicate()

    last = platform.server()
    url = ready(last)["url"]
    done = laptop.start(url, "-m", "mesocosm", "push", "last", "--json")
    out, err = done.communicate()
    assert done.returncode == 0, err
    found = json.loads(out)
    assert (found["id"], found["status"]) == (begun.id, "imported")
    (there,) = store.runs.ids()
    here = open_store(laptop.place / DATABASE_NAME)
    (mine,) = here.runs.ids()
    assert store.runs.get(there).metrics == here.runs.get(mine).metrics
    here.close()
    assert store.verification.check_run(there).damages == ()
    assert store.run_imports.parts(begun.id) == {}
    kill(last)
    eventually(lambda: store.workers.list() == ())
