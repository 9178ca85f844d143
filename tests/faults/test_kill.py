"""Nothing lost, nothing twice: the runner is killed again and again, and resumed."""

import os
import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

from mesocosm.core.episode import Episode, EpisodeKey
from mesocosm.core.run import RunStatus
from mesocosm.interop.replay import all_episodes
from mesocosm.store import SqlStore, open_store

ROUNDS = 50
RUNNER = Path(__file__).with_name("runner.py")


def start(database: Path, notes: Path, *run_id: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, str(RUNNER), str(database), *run_id],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "MESOCOSM_TEST_NOTES": str(notes)},
    )


def undisturbed(place: Path) -> tuple[SqlStore, str]:
    process = start(place / "calm.sqlite", place / "calm.notes")
    run_id = process.communicate(timeout=120)[0].strip()
    assert process.returncode == 0
    return open_store(place / "calm.sqlite"), run_id


def finished(database: Path, run_id: str) -> dict[EpisodeKey, Episode]:
    store = open_store(database)
    try:
        done = {episode.key: episode for episode in all_episodes(store, run_id) if episode.ended_at is not None}
    finally:
        store.close()
    return done


def test_fifty_kills_lose_nothing_repeat_nothing_and_change_no_score(tmp_path: Path) -> None:
    chance = random.Random(20)
    database, notes = tmp_path / "killed.sqlite", tmp_path / "killed.notes"
    run_id = ""
    kept: dict[EpisodeKey, Episode] = {}
    kills = 0
    for _ in range(ROUNDS):
        process = start(database, notes, *([run_id] if run_id else []))
        assert process.stdout is not None
        run_id = process.stdout.readline().strip() or run_id
        try:
            # Random moments, short enough that fifty of them fall into one run.
            process.wait(timeout=chance.uniform(0.0, 0.03))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            kills += 1
        process.wait(timeout=30)
        process.stdout.close()
        now = finished(database, run_id)
        assert {key: episode.id for key, episode in kept.items()}.items() <= {
            key: episode.id for key, episode in now.items()
        }.items(), "a finished episode was lost or played again"
        kept = now
    process = start(database, notes, run_id)
    process.communicate(timeout=120)
    assert process.returncode == 0
    assert kills >= ROUNDS * 0.9

    store, calm = open_store(database), undisturbed(tmp_path)
    disturbed_run, calm_run = store.get_run(run_id), calm[0].get_run(calm[1])
    assert disturbed_run.status is calm_run.status is RunStatus.FINISHED
    assert disturbed_run.counts == calm_run.counts
    assert disturbed_run.metrics == calm_run.metrics
    scores = [
        {episode.key: (episode.scores, episode.total_reward, episode.steps) for episode in all_episodes(place, run)}
        for place, run in ((store, run_id), calm)
    ]
    assert scores[0] == scores[1]
    played = Counter(notes.read_text().split())
    assert len(played) == disturbed_run.counts.planned
    # An episode may reach its last step and be killed before its commit; then, and only then, it is played again.
    assert played.total() - len(played) <= kills * 8
    for episode in all_episodes(store, run_id):
        assert [event.seq for event in store.events(episode.id)] == list(range(episode.events))
    store.close()
    calm[0].close()
