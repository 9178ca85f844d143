"""`mesocosm slurm submit`: what its scripts ask for and do, with programs in place of Slurm's."""

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Invoke

RUN = ("run", "local", "--model", "builtin/random", "--tag", "two words")


def _script(mesocosm: "Invoke", *words: str) -> str:
    printed = mesocosm("slurm", "submit", "--print", *words)
    assert printed.code == 0, printed.err
    return str(printed.out)


def _program(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/bash\n{text}\n")
    path.chmod(0o755)


def test_a_script_asks_for_the_nodes_and_is_sound_bash(mesocosm: "Invoke") -> None:
    script = _script(mesocosm, "--nodes", "4", "--cpus", "32", "--time", "4:00:00", "--sbatch=--qos=high", "--", *RUN)
    wanted = {"--nodes=4", "--ntasks-per-node=1", "--cpus-per-task=32", "--time=4:00:00", "--qos=high"}
    assert wanted <= {line.removeprefix("#SBATCH ") for line in script.splitlines()}
    assert "run local --model builtin/random --tag 'two words' --executor" in script
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)


def test_workers_of_a_queue_are_an_array(mesocosm: "Invoke", tmp_path: Path) -> None:
    script = _script(mesocosm, "--nodes", "3", "--executor", "queue", "--run", "01a2")
    assert "#SBATCH --array=1-3" in script.splitlines()
    _program(tmp_path, "python", 'echo "$@"')
    replaced = script.replace(sys.executable, str(tmp_path / "python"))
    done = subprocess.run(["bash"], input=replaced, text=True, check=True, capture_output=True)
    assert done.stdout == "-m mesocosm worker --run 01a2 --once\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "there is no command to run"),
        (("--executor", "queue"), "takes the run to help"),
        (("--run", "01a2"), "belongs to --executor queue"),
        (("--", *RUN, "--executor=local"), "leave --executor out"),
    ],
)
def test_what_cannot_be_submitted_is_refused(mesocosm: "Invoke", words: tuple[str, ...], said: str) -> None:
    refused = mesocosm("slurm", "submit", "--print", *words)
    assert refused.code == 2
    assert said in refused.err


def test_a_script_with_a_secret_is_refused(mesocosm: "Invoke", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-this-shell")
    refused = mesocosm("slurm", "submit", "--print", "--", *RUN, "--tag", "sk-of-this-shell")
    assert refused.code == 2
    assert "sk-of" not in refused.err + refused.out
    refused = mesocosm("slurm", "submit", "--print", "--", *RUN, "--database-url", "postgresql://me:opensesame@host/db")
    assert refused.code == 2
    assert "opensesame" not in refused.err + refused.out


def test_without_slurm_the_login_node_is_named(
    mesocosm: "Invoke", monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    refused = mesocosm("slurm", "submit", "--", *RUN)
    assert refused.code == 2
    assert "login node" in refused.err


def test_what_slurm_refuses_is_told_in_its_words(
    mesocosm: "Invoke", monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _program(tmp_path, "sbatch", 'echo "sbatch: error: invalid partition specified: gpu" >&2; exit 1')
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    refused = mesocosm("slurm", "submit", "--partition", "gpu", "--", *RUN)
    assert refused.code == 4
    assert "invalid partition specified: gpu" in refused.err


def test_a_job_is_submitted_with_the_script_that_is_printed(
    mesocosm: "Invoke", monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _program(tmp_path, "sbatch", f'cat >{tmp_path}/script; echo "4711;cluster"')
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    done = mesocosm("slurm", "submit", "--", *RUN)
    assert "submitted as job 4711" in done.out
    assert (tmp_path / "script").read_text() == _script(mesocosm, "--", *RUN)
