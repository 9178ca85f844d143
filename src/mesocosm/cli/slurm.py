"""`mesocosm slurm submit`: batch scripts that play runs on the nodes of a Slurm cluster."""

import os
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from mesocosm.cli.command import MesocosmCommand, MesocosmGroup, options
from mesocosm.cli.session import hidden_values
from mesocosm.core.failure import InfrastructureError, UsageError
from mesocosm.core.redact import Redactor
from mesocosm.core.secret import is_secret

ENDS_S = 120
"""Seconds before the time limit at which a run is stopped, so that it can be resumed."""

_RAY = r"""
# Only who has the token may use the cluster: other users of these nodes have none.
export RAY_AUTH_MODE=token RAY_AUTH_TOKEN RAY_USAGE_STATS_ENABLED=0
RAY_AUTH_TOKEN=$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')

hosts=$(scontrol show hostnames "$SLURM_JOB_NODELIST")
head=${hosts%%$'\n'*}
port=$((20000 + SLURM_JOB_ID % 20000))
ray=("$python" -m ray.scripts.scripts)
steps=()
finish() {
  kill "${steps[@]}" 2>/dev/null || true
  wait "${steps[@]}" 2>/dev/null || true
}
trap finish EXIT

srun --nodes=1 --ntasks=1 --nodelist="$head" --overlap \
  "${ray[@]}" start --head --port="$port" --num-cpus="$SLURM_CPUS_PER_TASK" --include-dashboard=false --block >&2 &
steps+=("$!")
until "${ray[@]}" status --address="$head:$port" >/dev/null 2>&1; do
  kill -0 "${steps[0]}" || { echo "the head of Ray has not started on $head" >&2; exit 4; }
  sleep 1
done
if [ "$SLURM_JOB_NUM_NODES" -gt 1 ]; then
  srun --nodes=$((SLURM_JOB_NUM_NODES - 1)) --ntasks=$((SLURM_JOB_NUM_NODES - 1)) --exclude="$head" --overlap \
    "${ray[@]}" start --address="$head:$port" --num-cpus="$SLURM_CPUS_PER_TASK" --block >&2 &
  steps+=("$!")
fi

actors=$((SLURM_JOB_NUM_NODES * SLURM_CPUS_PER_TASK))
"$python" -m mesocosm {command} --executor "ray:$head:$port,actors=$actors" &
run=$!
# Before the time limit Slurm sends TERM: the run stops, and can be resumed.
trap 'kill -TERM "$run" 2>/dev/null' TERM INT
code=0
wait "$run" || code=$?
while kill -0 "$run" 2>/dev/null; do
  code=0
  wait "$run" || code=$?
done
exit "$code"
"""

_QUEUE = """
exec "$python" -m mesocosm worker --run {run} --once
"""


@dataclass(frozen=True, slots=True)
class Allocation:
    """What a job asks Slurm for; `extra` are further options of sbatch."""

    nodes: int
    cpus: int
    time: str
    partition: str
    account: str
    name: str
    extra: tuple[str, ...]

    def lines(self, folder: Path, *, array: bool) -> list[str]:
        """Return the options as lines of a script."""
        size = [f"--array=1-{self.nodes}", "--ntasks=1"] if array else [f"--nodes={self.nodes}", "--ntasks-per-node=1"]
        named = {"time": self.time, "partition": self.partition, "account": self.account}
        chosen = [
            f"--job-name={self.name}",
            *size,
            f"--cpus-per-task={self.cpus}",
            f"--chdir={folder}",
            f"--output={self.name}-{'%A_%a' if array else '%j'}.log",
            *(f"--{name}={value}" for name, value in named.items() if value),
            *(() if array else (f"--signal=B:TERM@{ENDS_S}",)),
            *self.extra,
        ]
        return [f"#SBATCH {option}" for option in chosen]


def batch_script(allocation: Allocation, folder: Path, command: tuple[str, ...], run: str) -> str:
    """Return the script of a job: `command` on a Ray cluster of its own, or an array of workers that help `run`."""
    body = _QUEUE.replace("{run}", shlex.quote(run)) if run else _RAY.replace("{command}", shlex.join(command))
    head = ["#!/bin/bash", *allocation.lines(folder, array=bool(run)), "set -euo pipefail"]
    return "\n".join([*head, f"python={shlex.quote(sys.executable)}"]) + "\n" + body


@click.group(cls=MesocosmGroup)
def slurm() -> None:
    """Play runs on the nodes of a Slurm cluster."""


@slurm.command(cls=MesocosmCommand)
@click.option("--nodes", type=click.IntRange(min=1), default=1, show_default=True, help="Number of nodes.")
@click.option("--cpus", type=click.IntRange(min=1), default=1, show_default=True, help="Cores of each node to use.")
@click.option("--time", default="", metavar="LIMIT", help="Time limit, as sbatch takes it: 4:00:00.")
@click.option("--partition", default="", metavar="NAME", help="Partition.")
@click.option("--account", default="", metavar="NAME", help="Account that pays.")
@click.option(
    "--job-name", "name", default="mesocosm", show_default=True, metavar="NAME", help="Name of job and log file."
)
@click.option(
    "--sbatch", "extra", multiple=True, metavar="OPTION", help="Further option of sbatch: --sbatch=--qos=high."
)
@click.option("--executor", type=click.Choice(["ray", "queue"]), default="ray", show_default=True, help="See below.")
@click.option("--run", default="", metavar="RUN", help="With --executor queue: the run to help.")
@click.option("--print", "shown", is_flag=True, help="Print the script instead of submitting it.")
@click.argument("command", nargs=-1, metavar="[-- COMMAND...]")
def submit(executor: str, run: str, shown: bool, command: tuple[str, ...], **asked: Any) -> int:
    """Submit a job that plays runs on several nodes.

    With --executor ray, the job starts a Ray cluster on its nodes and runs COMMAND there, a command of mesocosm that
    takes --executor. Nodes see the folder that you are in, and the variables of this shell, with its keys. Two minutes
    before the time limit the run stops; submit "run resume RUN" to continue it.

    With --executor queue, the job is an array of workers that help a run whose store is a PostgreSQL database.

    \b
    mesocosm slurm submit --nodes 4 --cpus 32 --time 4:00:00 -- bench run --benchmarks gsm8k --model vllm/m@http://gpu1:8000/v1
    mesocosm slurm submit --nodes 100 --executor queue --run 01a2
    """
    words = command[1:] if command[:1] == ("mesocosm",) else command
    _check(words, executor, run)
    script = batch_script(Allocation(**asked), Path.cwd(), words, run)
    if Redactor(hidden_values(options())).text(script) != script or any(is_secret("", word) for word in words):
        raise UsageError(
            "the script of the job would have a secret in it, and Slurm keeps scripts where others may read them; put "
            "it into a variable of this shell, which the job has too"
        )
    if shown:
        click.echo(script, nl=False)
        return 0
    click.echo(f"submitted as job {_submitted(script)}; its output goes to {asked['name']}-*.log in this folder")
    return 0


def _check(words: tuple[str, ...], executor: str, run: str) -> None:
    if executor == "queue":
        if not run or words:
            raise UsageError("--executor queue takes the run to help and no command: --executor queue --run RUN")
        return
    if run:
        raise UsageError("--run belongs to --executor queue; a job on Ray runs a command: -- run resume RUN")
    if not words:
        raise UsageError("there is no command to run; name one, as in: mesocosm slurm submit -- run local")
    if any(word.partition("=")[0] == "--executor" for word in words):
        raise UsageError("leave --executor out of the command: the job runs it on its own cluster")


def _submitted(script: str) -> str:
    """Give a script to Slurm and return the number of the job. Raises UsageError, InfrastructureError."""
    try:
        done = subprocess.run(
            ["sbatch", "--parsable"],  # noqa: S607 - the one of the cluster
            input=script,
            env=dict(os.environ),
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        raise UsageError(
            "there is no sbatch here; run this on a login node of the Slurm cluster, or see the script with --print"
        ) from None
    if done.returncode:
        raise InfrastructureError(f"Slurm has not taken the job: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout.strip().partition(";")[0]
