"""Run OSWorld's own program on the selected tasks and write each result as a line of `items.jsonl`.

    python -m mesocosm.benchmarks.builtin.osworld.live --checkout FOLDER --output FOLDER …

A separate program. Tasks are checked before anything starts. Its exit code is that of OSWorld's program.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from mesocosm.benchmarks.builtin.osworld.results import RecordedResults, as_items, read_results
from mesocosm.benchmarks.builtin.osworld.tasks import DesktopTask, TaskFilter, read_tasks
from mesocosm.core.failure import MesocosmError, UsageError

PASSED_ON = ("model", "temperature", "max_tokens", "max_steps", "observation_type", "action_space", "provider_name")
EXAMPLES = "evaluation_examples"


def main(words: Sequence[str] | None = None) -> int:
    """Run, write the items, and return the exit code."""
    arguments = _parser().parse_args(words)
    try:
        tasks = wanted(arguments)
    except MesocosmError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    recorded = arguments.output / "results"
    recorded.mkdir()
    code = 0
    if not arguments.dry_run:
        code = subprocess.run(command(arguments, tasks, recorded), cwd=arguments.checkout, check=False).returncode  # noqa: S603
    write(arguments.output / "items.jsonl", tasks, recorded, dry=arguments.dry_run)
    return code


def wanted(arguments: argparse.Namespace) -> list[DesktopTask]:
    """Return the selected tasks, taking from each domain in turn."""
    choice = TaskFilter(arguments.domain, arguments.task_id)
    tasks = read_tasks(arguments.tasks or arguments.checkout / EXAMPLES, choice)
    turns: dict[str, int] = {}
    order = []
    for task in sorted(tasks, key=lambda task: task.name):
        turns[task.domain] = turn = turns.get(task.domain, 0) + 1
        order.append((turn, task.domain, task))
    return [task for _, _, task in sorted(order, key=lambda entry: entry[:2])][: arguments.max_tasks]


def command(arguments: argparse.Namespace, tasks: Iterable[DesktopTask], recorded: Path) -> list[str]:
    """Return the command of OSWorld's program; the list of selected tasks is written to a file."""
    tasks = list(tasks)
    listed: dict[str, list[str]] = {}
    for task in tasks:
        listed.setdefault(task.domain, []).append(task.id)
    listing = recorded.parent / "tasks.json"
    listing.write_text(json.dumps(listed), encoding="utf-8")
    # OSWorld's own layout is examples/DOMAIN/TASK.json below this folder.
    base = tasks[0].file.parent.parent
    base = base.parent if base.name == "examples" else base
    words = [arguments.python, "run_multienv.py", "--num_envs", "1", "--result_dir", str(recorded)]
    words += ["--test_all_meta_path", str(listing), "--test_config_base_dir", str(base)]
    for name in (*PASSED_ON, "path_to_vm", "region"):
        value = getattr(arguments, name)
        if value not in (None, ""):
            words += [f"--{name}", str(value)]
    return [*words, "--headless"] if arguments.headless else words


def write(path: Path, tasks: Iterable[DesktopTask], recorded: Path, *, dry: bool) -> None:
    """Write one line for each task, without a score if the task has no result."""
    try:
        results = read_results(recorded)
    except UsageError:
        results = RecordedResults()
    lines = []
    for item in as_items(results, tasks, TaskFilter()).found:
        record = {"id": item.id, "input": item.input, "output": item.output, "domain": item.tags["domain"]}
        if dry:
            record["error"] = "this was a dry run: the task was not done"
        elif item.reading.value is not None:
            record["score"] = item.reading.value
        lines.append(json.dumps(record))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="run OSWorld's program and collect its results")
    for name in ("checkout", "output"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--tasks", type=Path)
    parser.add_argument("--max-tasks", type=int)
    parser.add_argument("--python", default=sys.executable)
    for name in (*PASSED_ON, "path_to_vm", "region", "domain", "task_id"):
        parser.add_argument(f"--{name.replace('_', '-')}", default="")
    for name in ("headless", "dry-run"):
        parser.add_argument(f"--{name}", action="store_true")
    return parser


if __name__ == "__main__":
    sys.exit(main())
