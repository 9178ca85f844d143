"""The script of `mesocosm slurm submit`, run on this machine: programs in place of Slurm's start its steps here."""

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mesocosm.cli.slurm import Allocation, batch_script
from mesocosm.store import open_store

MANIFEST = Path(__file__).parents[4] / "examples/grid-world/benchanything.json"
SRUN = 'while [ "${1#-}" != "$1" ]; do shift; done; exec "$@"'


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that starts the script of a job for a command, as a batch job of two nodes."""
    for name, text in (("srun", SRUN), ("scontrol", "hostname; echo other")):
        (tmp_path / name).write_text(f"#!/bin/bash\n{text}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    given = {
        "SLURM_JOB_ID": str(os.getpid()),
        "SLURM_JOB_NODELIST": "here,other",
        "SLURM_JOB_NUM_NODES": "2",
        "SLURM_CPUS_PER_TASK": "1",
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
    }

    def start(*words: str) -> "subprocess.Popen[str]":
        command = ("run", "local", "--manifest", str(MANIFEST), "--model", "builtin/random", *words)
        asked = Allocation(2, 1, "", "", "", "mesocosm", ())
        script = batch_script(asked, tmp_path, (*command, "--results-dir", str(tmp_path / "results"), "--json"), "")
        (tmp_path / "script").write_text(script)
        return subprocess.Popen(
            ["bash", str(tmp_path / "script")],
            env={**os.environ, **given},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
        )

    return start


def test_a_job_plays_a_run_on_a_cluster_of_its_own_and_ends_it(job: Any) -> None:
    started = job("--episodes", "6")
    out, err = started.communicate(timeout=240)
    assert started.returncode == 0, err
    assert json.loads(out)["run"]["status"] == "finished"
    assert "played by 2 actors of Ray" in err


def test_before_the_time_limit_the_run_stops_and_can_be_resumed(job: Any, tmp_path: Path) -> None:
    started = job("--episodes", "100000")
    for line in started.stderr:
        if "[1/" in line or "1 of" in line or "1/100,000" in line:
            break
    started.send_signal(signal.SIGTERM)
    out, err = started.communicate(timeout=240)
    assert started.returncode not in {0, -signal.SIGTERM}, (out, err)
    store = open_store(tmp_path / "results" / "orchestrator.sqlite")
    (run,) = store.runs.list().items
    store.close()
    assert run.status == "stopped"
    assert run.counts.pending > 0
