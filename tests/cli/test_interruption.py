"""Ctrl-C, kill and resume of the program as a process."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mesocosm.environments.scaffold import scaffold

if TYPE_CHECKING:
    from tests.cli.conftest import Invoke

pytestmark = pytest.mark.usefixtures("forked")

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
def place(here: Path) -> Path:
    scaffold(here)
    (here / "env.py").write_text(ENVIRONMENT)
    return here


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


def last_run(mesocosm: "Invoke") -> dict[str, Any]:
    document = mesocosm("run", "show", "last", "--json").document["run"]
    assert isinstance(document, dict)
    return document


def episode_ids(mesocosm: "Invoke") -> set[str]:
    found = mesocosm("run", "episodes", "last", "--json").document["episodes"]
    return {episode["id"] for episode in found if episode["ended_at"] and episode["status"] == "completed"}


def test_an_interrupt_keeps_what_is_finished_and_says_how_to_go_on(place: Path, mesocosm: "Invoke") -> None:
    process = begin(place)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "interrupt again to end at once" in errors
    run = last_run(mesocosm)
    assert f"mesocosm run resume {run['id']}" in output
    assert run["status"] == "stopped"
    assert 5 <= run["counts"]["completed"] < EPISODES
    before = episode_ids(mesocosm)
    resumed = mesocosm("run", "resume", "last", "--json", "--quiet")
    assert resumed.code == 0
    assert resumed.document["run"]["counts"]["completed"] == EPISODES
    assert before < episode_ids(mesocosm)


def test_a_killed_run_shows_its_numbers_and_goes_on(place: Path, mesocosm: "Invoke") -> None:
    process = begin(place)
    process.kill()
    process.communicate(timeout=120)
    shown = mesocosm("run", "show", "last").out
    assert "interrupted" in shown
    assert "accuracy  1.0000" in shown
    assert "mesocosm run resume" in shown
    before = episode_ids(mesocosm)
    assert mesocosm("run", "resume", "last", "--quiet").code == 0
    assert last_run(mesocosm)["counts"]["completed"] == EPISODES
    assert before <= episode_ids(mesocosm)


def test_a_run_is_stopped_and_watched_from_another_process(place: Path, mesocosm: "Invoke") -> None:
    # Slow enough that the request, which the run looks for every two seconds, comes before its end.
    (place / "env.py").write_text(ENVIRONMENT.replace("0.02", "0.2"))
    process = begin(place)
    assert mesocosm("run", "stop", "last").code == 0
    watched = mesocosm("run", "watch", "last", "--interval", "0.1")
    process.communicate(timeout=120)
    assert (process.returncode, watched.code) == (3, 3)
    assert last_run(mesocosm)["status"] == "stopped"


def test_a_second_process_is_told_who_works_on_the_run(place: Path, mesocosm: "Invoke") -> None:
    process = begin(place)
    second = mesocosm("run", "resume", "last")
    assert second.code == 4
    assert str(process.pid) in second.err
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)
    assert process.returncode == 130
