"""Ctrl-C, kill and resume of the program as a process."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ENVIRONMENT = """
import time
from bench_common.env_sdk import BaseEnv, StepResult

class MyEnv(BaseEnv):
    def reset(self, seed=None, **params):
        self.steps = 0
        return {"seed": seed}

    def step(self, action):
        time.sleep(0.02)
        self.steps += 1
        return StepResult({"steps": self.steps}, 1.0, self.steps == 3, False, {"correct": True, "guesses": self.steps})
"""
EPISODES = 60


@pytest.fixture
def place(tmp_path: Path) -> Path:
    program(tmp_path, "init")
    (tmp_path / "env.py").write_text(ENVIRONMENT)
    return tmp_path


def program(place: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "mesocosm", *words], cwd=place, capture_output=True, text=True, check=False, timeout=120
    )


def begin(place: Path) -> "subprocess.Popen[str]":
    """Start a run and return its process once five episodes are over."""
    words = ["run", "local", "--model", "builtin/random", "--episodes", str(EPISODES), "--parallel", "2"]
    process = subprocess.Popen(
        [sys.executable, "-m", "mesocosm", *words],
        cwd=place,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert process.stderr is not None
    for line in process.stderr:
        if f"[5/{EPISODES}]" in line:
            return process
    raise AssertionError(f"the run ended early with {process.wait()}")


def last_run(place: Path) -> dict[str, Any]:
    document = json.loads(program(place, "run", "show", "last", "--json").stdout)["run"]
    assert isinstance(document, dict)
    return document


def episode_ids(place: Path) -> set[str]:
    found = json.loads(program(place, "run", "episodes", "last", "--json").stdout)["episodes"]
    return {episode["id"] for episode in found if episode["ended_at"] and episode["status"] == "completed"}


def test_an_interrupt_keeps_what_is_finished_and_says_how_to_go_on(place: Path) -> None:
    process = begin(place)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupt again to end at once" in errors
    run = last_run(place)
    assert f"mesocosm run resume {run['id']}" in output
    assert run["status"] == "stopped"
    assert 5 <= run["counts"]["completed"] < EPISODES
    before = episode_ids(place)
    resumed = program(place, "run", "resume", "last", "--json", "--quiet")
    assert resumed.returncode == 0
    assert json.loads(resumed.stdout)["run"]["counts"]["completed"] == EPISODES
    assert before < episode_ids(place)


def test_a_killed_run_shows_its_numbers_and_goes_on(place: Path) -> None:
    process = begin(place)
    process.kill()
    process.communicate(timeout=60)
    shown = program(place, "run", "show", "last").stdout
    assert "interrupted" in shown
    assert "accuracy  1.0000" in shown
    assert "mesocosm run resume" in shown
    before = episode_ids(place)
    assert program(place, "run", "resume", "last", "--quiet").returncode == 0
    assert last_run(place)["counts"]["completed"] == EPISODES
    assert before <= episode_ids(place)


def test_a_run_is_stopped_and_watched_from_another_process(place: Path) -> None:
    # Slow enough that the request, which the run looks for every two seconds, comes before its end.
    (place / "env.py").write_text(ENVIRONMENT.replace("0.02", "0.2"))
    process = begin(place)
    assert program(place, "run", "stop", "last").returncode == 0
    watched = program(place, "run", "watch", "last", "--interval", "0.1")
    process.communicate(timeout=60)
    assert (process.returncode, watched.returncode) == (3, 3)
    assert last_run(place)["status"] == "stopped"


def test_a_second_process_is_told_who_works_on_the_run(place: Path) -> None:
    process = begin(place)
    second = program(place, "run", "resume", "last")
    assert second.returncode == 4
    assert str(process.pid) in second.stderr
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
