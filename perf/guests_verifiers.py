"""What an episode of a task set of verifiers costs, beside one of its own runner against the same model server.

Processor time of all processes of a run, without the model server. Two sizes, so that what a start costs falls out; the
two runners alternate, because a shared machine is noisy. The harness asks in the process of the framework, so that no
program of its own hides the difference. `MESOCOSM_TEST_GUESTS` names the environments of the guests.

    MESOCOSM_TEST_GUESTS=DIR python -m perf.guests_verifiers
"""

import os
import statistics
import sys
import tempfile
from pathlib import Path

from perf.machine import ROOT, machine, started

FEW, MANY, ROUNDS = 50, 550, 3
SUMS = ROOT / "tests" / "guests" / "sources" / "sums_v1.py"
AT_ONCE = 16
_ORIGINAL = """
import asyncio, sys
from verifiers.v1.cli.eval.runner import run_eval
from verifiers.v1.configs.cli.eval import EvalConfig
folder, url, count, at_once, output = sys.argv[1:]
sys.path.insert(0, folder)
config = EvalConfig.model_validate({
    "env": {"taskset": {"id": "sums-v1", "count": int(count)}, "agent": {"runtime": {"type": "subprocess"}}},
    "model": "m", "client": {"base_url": url, "api_key_var": "PERF_API_KEY"}, "max_concurrent": int(at_once),
    "rich": None, "push": False, "output_dir": output,
})
asyncio.run(run_eval(config))
"""


def _spent(command: list[str], folder: Path, url: str) -> float:
    """Return the processor time in seconds of a command with all that it starts."""
    keys = {"OPENAI_API_KEY": "sk-perf-0123456789", "PERF_API_KEY": "sk-perf-0123456789", "OPENAI_BASE_URL": url}
    variables = {**os.environ, **keys, "MESOCOSM_RESULTS_DIR": str(folder / "results")}
    log = os.open(folder / "log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    actions = [(os.POSIX_SPAWN_DUP2, log, 1), (os.POSIX_SPAWN_DUP2, log, 2)]
    os.chdir(folder)
    process = os.posix_spawn(command[0], command, variables, file_actions=actions)
    _, status, usage = os.wait4(process, 0)
    os.close(log)
    if status:
        raise SystemExit(f"{' '.join(command)} failed:\n{(folder / 'log').read_text()[-3000:]}")
    return usage.ru_utime + usage.ru_stime


def _ours(python: str, count: int) -> list[str]:
    source = f"verifiers:{SUMS},count={count}"
    flags = ["--python", python, "--parallel", str(AT_ONCE), "--fresh", "-m", "openai/m"]
    return [sys.executable, "-m", "mesocosm", "bench", "run", source, *flags]


def _theirs(python: str, count: int, url: str, folder: Path) -> list[str]:
    output = tempfile.mkdtemp(dir=folder)
    return [python, "-c", _ORIGINAL, str(SUMS.parent), url, str(count), str(AT_ONCE), output]


def main() -> None:
    """Print the milliseconds of processor time of an episode on both sides, and their difference."""
    guests = os.environ.get("MESOCOSM_TEST_GUESTS", "")
    if not guests:
        raise SystemExit("MESOCOSM_TEST_GUESTS names no folder of guests")
    python = str(Path(guests).absolute() / "verifiers" / "bin" / "python")
    server = started(1, "mesocosm.testing.model_server", "--answer", "7")
    assert server.stdout is not None
    url = server.stdout.readline().split()[-1] + "/v1"
    found: dict[str, list[float]] = {"theirs": [], "ours": []}
    try:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for _ in range(ROUNDS):
                for side, taken in found.items():
                    few, many = (
                        _spent(_theirs(python, n, url, folder) if side == "theirs" else _ours(python, n), folder, url)
                        for n in (FEW, MANY)
                    )
                    taken.append((many - few) / (MANY - FEW) * 1000)
                    print(f"{side:6}  {taken[-1]:6.2f} ms an episode", flush=True)
            os.chdir(ROOT)
    finally:
        server.terminate()
    theirs, ours = (statistics.median(taken) for taken in found.values())
    print(f"median: theirs {theirs:.2f} ms, ours {ours:.2f} ms, difference {ours - theirs:+.2f} ms  ({machine()})")


if __name__ == "__main__":
    main()
