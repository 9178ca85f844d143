"""Workers as processes that are killed while they submit what schedules owe: nothing is lost, nothing is run twice."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from tests.server.schedules.conftest import Synced

from mesocosm.store.run_requests import RunRequestFilter
from mesocosm.store.schedules import ScheduledState

pytestmark = pytest.mark.usefixtures("forked")
SCHEDULES, WORKERS, SECONDS = 8, 3, 120.0


@pytest.fixture
def start(synced: Synced) -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    """Return what starts a worker of the team's server."""
    service, started = synced.team.service, list[subprocess.Popen[bytes]]()
    models = [model.model_dump(mode="json", exclude_none=True) for model in service.settings.models]
    ours = {
        "MESOCOSM_DATA_DIR": str(service.settings.data_dir),
        "MESOCOSM_DATABASE_URL": f"sqlite:///{synced.store.place}",
        "MESOCOSM_MODELS": json.dumps(models),
        "MESOCOSM_RUNS_AT_ONCE": "1",
    }
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MESOCOSM_")}

    def worker() -> subprocess.Popen[bytes]:
        words = [sys.executable, "-m", "mesocosm", "worker"]
        started.append(subprocess.Popen(words, env={**kept, **ours}, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        return started[-1]

    yield worker
    for process in started:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


def test_every_schedule_is_submitted_once_although_workers_are_killed(
    synced: Synced, start: Callable[[], subprocess.Popen[bytes]]
) -> None:
    schedules = [synced.schedule(name=f"n{number}", overrides={"limit": 1}) for number in range(SCHEDULES)]
    wanted = RunRequestFilter(workspace_id=synced.team.workspace)
    workers, deadline = [start() for _ in range(WORKERS)], time.monotonic() + SECONDS
    killed = 0
    while not all(
        one.state is ScheduledState.SUBMITTED for schedule in schedules for one in synced.owed(schedule)
    ) or not all(synced.owed(schedule) for schedule in schedules):
        assert time.monotonic() < deadline, [synced.owed(schedule) for schedule in schedules]
        # One after another, each as soon as there is one more run: in the midst of the next.
        if killed < min(synced.store.run_requests.count(wanted), WORKERS - 1):
            workers[killed].send_signal(signal.SIGKILL)
            killed += 1
            start()
        threading.Event().wait(0.005)
    assert killed == WORKERS - 1
    names = sorted(request.name[:2] for request in synced.store.run_requests.list(wanted, limit=100))
    assert names == [f"n{number}" for number in range(SCHEDULES)]
    assert all(len(synced.owed(schedule)) == 1 for schedule in schedules)
