"""Nothing lost, nothing twice: the runner is killed again and again, and resumed."""

import json
import os
import queue
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from mesocosm.core.episode import Episode, EpisodeKey
from mesocosm.core.run import Run, RunStatus
from mesocosm.interop.replay import all_episodes
from mesocosm.store import open_store
from mesocosm.store.verification import Verified

pytestmark = pytest.mark.usefixtures("forked")

ROUNDS = 50
LONGEST = 0.05
"""Seconds until the first kill, at most. It grows while runners get nothing done and shrinks while they do, so that on
any machine the kills fall into one run and between its commits."""


class Nest:
    """The process that forks runners; one at a time."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.lines: queue.Queue[str] = queue.Queue()
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("runner.py")), "nest"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={name: value for name, value in os.environ.items() if not name.startswith("COV_")},
        )
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))

    def database(self, name: str) -> Path:
        return self.place / f"{name}.sqlite"

    def played(self, name: str) -> Counter[str]:
        return Counter((self.place / f"{name}.notes").read_text().split())

    def start(self, name: str, run_id: str = "") -> int:
        assert self.process.stdin is not None
        command = [str(self.database(name)), str(self.place / f"{name}.notes"), run_id]
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        return int(self.heard("pid ")[0])

    def heard(self, what: str, timeout: float = 240.0) -> list[str]:
        """Return the words after the next line that begins like this. Raises queue.Empty when none comes in time."""
        while True:
            line = self.lines.get(timeout=timeout)
            assert not line.startswith("error"), line
            if line.startswith(what):
                return line.removeprefix(what).split()

    def killed(self, pid: int, seconds: float) -> bool:
        """Kill a runner after so many seconds; return whether it was still at work."""
        try:
            code = self.heard("ended ", timeout=seconds)[1]
        except queue.Empty:
            os.kill(pid, signal.SIGKILL)
            code = self.heard("ended ")[1]
        assert code in {"0", "-9"}
        return code == "-9"

    def undisturbed(self, name: str, run_id: str = "") -> str:
        """Let a runner work to its end and return the id of the run."""
        self.start(name, run_id)
        (run_id,) = self.heard("run ")
        assert self.heard("ended ")[1] == "0"
        return run_id


@pytest.fixture
def nest(tmp_path: Path) -> Iterator[Nest]:
    made = Nest(tmp_path)
    yield made
    assert made.process.stdin is not None
    made.process.stdin.close()
    made.process.wait(timeout=240)
    made.reader.join()


def stored(database: Path, run_id: str) -> tuple[Run, dict[EpisodeKey, Episode]]:
    """Return the run and its finished episodes, every trace of which is whole."""
    store = open_store(database)
    try:
        done = {episode.key: episode for episode in all_episodes(store, run_id) if episode.ended_at is not None}
        for episode in done.values():
            assert [event.seq for event in store.traces.events(episode.id)] == list(range(episode.events))
        return store.runs.get(run_id), done
    finally:
        store.close()


def verify(database: Path, run_id: str) -> Verified:
    """Compare all that is stored of a run with its checksums and its chain."""
    store = open_store(database)
    try:
        return store.verification.check_run(run_id)
    finally:
        store.close()


def test_fifty_kills_lose_nothing_repeat_nothing_and_change_no_score(nest: Nest) -> None:
    chance = random.Random(20)
    run_id = ""
    kept: dict[EpisodeKey, Episode] = {}
    hits = advances = 0
    longest = LONGEST
    for number in range(ROUNDS):
        pid = nest.start("killed", run_id)
        # Every fifth kill may come while the runner still opens its store and takes its run.
        if number % 5 != 1:
            run_id = nest.heard("run ")[0]
        hits += nest.killed(pid, chance.uniform(0.0, longest))
        run, now = stored(nest.database("killed"), run_id)
        assert {key: now.get(key) for key in kept} == kept, "a finished episode was lost or played again"
        assert run.counts.done == len(now)
        assert verify(nest.database("killed"), run_id).damages == ()
        advanced = len(now) > len(kept)
        advances += advanced
        longest *= 0.8 if advanced else 1.25
        kept = now
    # The kills hit working runners, at moments that are worth something.
    assert hits == ROUNDS
    assert advances >= ROUNDS / 5
    assert len(kept) < run.counts.planned

    nest.undisturbed("killed", run_id)
    run, disturbed = stored(nest.database("killed"), run_id)
    verified = verify(nest.database("killed"), run_id)
    assert (verified.finished, verified.covered, verified.damages) == (run.counts.done, run.counts.done, ())
    calm_run, calm = stored(nest.database("calm"), nest.undisturbed("calm"))
    assert run.status is calm_run.status is RunStatus.FINISHED
    assert (run.counts, run.metrics, run.usage) == (calm_run.counts, calm_run.metrics, calm_run.usage)
    scores = [
        {key: (episode.scores, episode.total_reward, episode.steps) for key, episode in found.items()}
        for found in (disturbed, calm)
    ]
    assert scores[0] == scores[1]
    assert {key: disturbed[key] for key in kept} == kept
    played = nest.played("killed")
    assert len(played) == run.counts.planned
    # An episode may reach its last step and be killed before its commit; then, and only then, it is played again.
    for episode in kept.values():
        assert played[str(episode.seed)] >= 1
    assert played.total() - len(played) <= ROUNDS * 8
