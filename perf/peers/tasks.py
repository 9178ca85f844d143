"""`python -m perf.peers.tasks`: what common tasks take with other tools and this one, for people and for the machine.

Each tool gets the files that the task needs in an empty folder and works on the same 40 rows and one model server on
loopback. Its score, read from what it stored, has to be the share of right answers; a gate has to close. Rounds
alternate: in each, every tool does every task once. The table of docs/comparison.md says how many lines one has to
write (those of the files that are not blank, and the commands), how many commands, and the median of the seconds.
"""

import argparse
import csv
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mesocosm as mc
from perf.machine import ROOT, machine
from perf.peers.installing import REQUIREMENTS, Unavailable, cache, installed, node_installed, version
from perf.peers.runners import MATERIAL, base_variables, own_environment
from perf.peers.table import put
from perf.peers.work import MODEL, WORSE, questions, said, score

ROWS = 40
LIMIT_S = 300.0
TOLERANCE = 1e-3
"""lm-eval prints four digits."""
RESULT = Path(__file__).with_name("tasks.json")
PAGE = ROOT / "docs" / "comparison.md"
BEGIN = "<!-- written by python -m perf.peers.tasks: begin -->"
END = "<!-- written by python -m perf.peers.tasks: end -->"

TASKS = {
    "csv": "evaluate a CSV",
    "environment": "write and evaluate an environment",
    "benchmark": "define a benchmark and run it by name",
    "models": "compare two models",
    "gate": "gate a pull request",
    "why": "list what went wrong",
}
BOTH = (MODEL, WORSE)


@dataclass(frozen=True)
class Way:
    """How a tool does a task: files to write (of its material) and commands, run by a shell in one folder.

    `code` is the exit code that says it worked, `before` a command that is not counted, `models` those that are asked.
    """

    files: tuple[str, ...]
    commands: tuple[str, ...]
    code: int = 0
    before: str = ""
    models: tuple[str, ...] = (MODEL,)


@dataclass(frozen=True)
class Tool:
    """A tool with its ways to do the tasks; a task that it has no way for has a reason instead."""

    name: str
    title: str
    ways: dict[str, Way]
    reasons: dict[str, str]
    scores: Callable[[Path, str, dict[str, str]], list[float]]
    variables: dict[str, str]


_ASK = "mesocosm eval ask questions.csv --prompt '{{question}}' --grader numeric -m openai/loopback"
OURS = {
    "csv": Way((), (_ASK,)),
    "environment": Way(("environment.py",), ("mesocosm run environment.py:TwoSums -n 40 -m openai/loopback",)),
    "benchmark": Way(("sums.py",), ("mesocosm run sums.py@sums -m openai/loopback",)),
    "models": Way((), (f"{_ASK} -m openai/loopback-b",), models=BOTH),
    "gate": Way((), (f"{_ASK} --fail-if 'score<0.8'",), code=1),
    "why": Way((), ("mesocosm run show last --wrong",), before=_ASK),
}

_INSPECT = "inspect eval {} --model openai/loopback -M responses_api=false"
INSPECT = {
    "csv": Way(("sums.py",), (_INSPECT.format("sums.py"),)),
    "environment": Way(("environment.py",), (_INSPECT.format("environment.py"),)),
    "benchmark": Way(("sums.py",), (_INSPECT.format("sums.py@sums"),)),
    "models": Way(
        ("sums.py",),
        ("inspect eval sums.py --model openai/loopback,openai/loopback-b -M responses_api=false",),
        models=BOTH,
    ),
    "gate": Way(("sums.py", "gate.py"), ("python gate.py",), code=1),
    "why": Way(("why.py",), ("python why.py",), before=_INSPECT.format("sums.py")),
}

_LM_EVAL = (
    "lm_eval run --model local-chat-completions --model_args model={},"
    "base_url=$OPENAI_BASE_URL/chat/completions,num_concurrent=20,tokenized_requests=False "
    "--apply_chat_template --tasks sums --include_path ."
)
LM_EVAL = {
    "csv": Way(("sums.yaml",), (_LM_EVAL.format(MODEL),)),
    "benchmark": Way(("sums.yaml",), (_LM_EVAL.format(MODEL),)),
    "models": Way(("sums.yaml",), (_LM_EVAL.format(MODEL), _LM_EVAL.format(WORSE)), models=BOTH),
    "gate": Way(("sums.yaml", "gate.py"), ("python gate.py",), code=1),
    "why": Way(("why.py",), ("python why.py",), before=f"{_LM_EVAL.format(MODEL)} --log_samples --output_path results"),
}

_FAILED_TESTS = 100
"""What promptfoo exits with when a test fails, as a quarter of them does here."""
PROMPTFOO = {
    "csv": Way(("promptfooconfig.yaml",), ("promptfoo eval",), code=_FAILED_TESTS),
    "models": Way(("two.yaml",), ("promptfoo eval -c two.yaml",), code=_FAILED_TESTS, models=BOTH),
    "gate": Way(("promptfooconfig.yaml",), ("PROMPTFOO_PASS_RATE_THRESHOLD=80 promptfoo eval",), code=_FAILED_TESTS),
    "why": Way(("why.py",), ("promptfoo export eval latest -o run.json", "python3 why.py"), before="promptfoo eval"),
}


def _our_scores(folder: Path, output: str, variables: dict[str, str]) -> list[float]:
    found = mc.runs(store=folder / "benchmark_results")
    return [float(one.score) for one in found if one.score is not None]


def _inspect_scores(folder: Path, output: str, variables: dict[str, str]) -> list[float]:
    found = []
    for log in (folder / "logs").glob("*.eval"):
        dumped = json.loads(_called(["inspect", "log", "dump", "--header-only", str(log)], folder, variables))
        found.append(float(dumped["results"]["scores"][0]["metrics"]["mean"]["value"]))
    return found


def _lm_eval_scores(folder: Path, output: str, variables: dict[str, str]) -> list[float]:
    table = re.findall(r"\|exact_match\|[^|]*\|\s*([\d.]+)\|", output)
    return [float(one) for one in table or re.findall(r"^([\d.]+)$", output, re.MULTILINE)]


def _promptfoo_scores(folder: Path, output: str, variables: dict[str, str]) -> list[float]:
    _called(["promptfoo", "export", "eval", "latest", "-o", "scores.json"], folder, variables)
    by_model: dict[str, list[bool]] = {}
    for one in json.loads((folder / "scores.json").read_text())["results"]["results"]:
        by_model.setdefault(one["provider"]["id"], []).append(bool(one["success"]))
    return [sum(each) / len(each) for each in by_model.values()]


_NO_STEPS = "a task is one request; there is no environment that answers in turn"
TOOLS = (
    Tool("mesocosm", "mesocosm", OURS, {}, _our_scores, {}),
    Tool("inspect", "Inspect", INSPECT, {}, _inspect_scores, {}),
    Tool(
        "lm_eval",
        "lm-eval",
        LM_EVAL,
        {"environment": _NO_STEPS},
        _lm_eval_scores,
        {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"},
    ),
    Tool(
        "promptfoo",
        "promptfoo",
        PROMPTFOO,
        {
            "environment": "a provider of one's own would have to hold the environment and the calls of the model",
            "benchmark": "a configuration is found by its path, and has no name or version that results keep",
        },
        _promptfoo_scores,
        {
            "PROMPTFOO_DISABLE_TELEMETRY": "1",
            "PROMPTFOO_DISABLE_UPDATE": "1",
            "PROMPTFOO_CACHE_ENABLED": "false",
        },
    ),
)


def main() -> None:
    """Install, measure, print the table."""
    given = _arguments()
    missing: dict[str, str] = {}
    places: dict[str, list[Path]] = {}
    for tool in TOOLS:
        try:
            places[tool.name] = _programs(tool.name, given.folder)
        except Unavailable as error:
            missing[tool.name] = str(error)
            print(f"  {tool.name} is left out: {error}")
    result: dict[str, Any] = {
        "machine": machine(),
        "rows": ROWS,
        "rounds": 0,
        "titles": {tool.name: _title(tool) for tool in TOOLS if tool.name in places},
        "missing": missing,
        **{
            what: {tool.name: {task: [] for task in tool.ways} for tool in TOOLS if tool.name in places}
            for what in ("seconds", "processor")
        },
    }
    chosen = [tool for tool in TOOLS if tool.name in places]
    with ExitStack() as stack:
        server = stack.enter_context(
            subprocess.Popen([sys.executable, "-m", "perf.peers.work"], cwd=ROOT, stdout=subprocess.PIPE, text=True)
        )
        stack.callback(server.terminate)
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        for tool in chosen:
            # Once after an installation: byte code is written and caches are filled before anything is measured.
            mark = given.folder / tool.name / "warm-for-tasks"
            if not mark.exists():
                done(tool, given.tasks[0], places[tool.name], url, given.folder / tool.name / "home")
                mark.touch()
        for number in range(given.rounds):
            for task in given.tasks:
                for tool in chosen:
                    if task in tool.ways:
                        took = done(tool, task, places[tool.name], url, given.folder / tool.name / "home")
                        print(f"  {number} {task:<12} {tool.name:<10} {took[0]:6.2f} s {took[1]:6.2f} s", flush=True)
                        for what, figure in zip(("seconds", "processor"), took, strict=True):
                            result[what][tool.name][task].append(round(figure, 3))
            result["rounds"] = number + 1
            if given.write:
                RESULT.write_text(json.dumps(result, indent=1) + "\n")
                PAGE.write_text(put(PAGE.read_text(), table(result), BEGIN, END))
    print(table(result))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m perf.peers.tasks", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS), help="only these")
    parser.add_argument("--folder", type=Path, default=cache(), help="where environments are made")
    parser.add_argument("--write", action="store_true", help="keep the result and write docs/comparison.md")
    given = parser.parse_args()
    if given.write and given.tasks != list(TASKS):
        parser.error("--write needs all tasks")
    given.folder = given.folder.absolute()
    return given


def _programs(name: str, folder: Path) -> list[Path]:
    if name == "mesocosm":
        return [own_environment() / "bin"]
    if name == "promptfoo":
        return node_installed(name, folder)
    return [installed(name, folder) / "bin"]


def _title(tool: Tool) -> str:
    if tool.name == "mesocosm":
        return tool.title
    if tool.name == "promptfoo":
        wanted = json.loads((REQUIREMENTS / "promptfoo.json").read_text())["dependencies"]
        return f"{tool.title} {wanted['promptfoo']}"
    return f"{tool.title} {version(tool.name).split()[1]}"


def done(tool: Tool, task: str, programs: list[Path], url: str, home: Path) -> tuple[float, float]:
    """Let a tool do a task in an empty folder; return seconds and processor seconds. Exits if its score is wrong."""
    way = tool.ways[task]
    home.mkdir(parents=True, exist_ok=True)
    path = os.pathsep.join([*map(str, programs), os.environ["PATH"]])
    variables = {**base_variables(home), "OPENAI_BASE_URL": url, **tool.variables, "PATH": path}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write_rows(folder / "questions.csv")
        source = MATERIAL / "tasks" / tool.name
        if way.before:
            # What it needs is not counted: the run exists already when one asks why.
            shutil.copytree(source, folder, dirs_exist_ok=True)
            _shell(way.before, folder, variables)
        for file in way.files:
            shutil.copy(source / file, folder)
        began, used = time.perf_counter(), _processor()
        ended = [_shell(command, folder, variables) for command in way.commands]
        took = (time.perf_counter() - began, _processor() - used)
        output = "\n".join(one.stdout for one in ended)
        complaint = _wrong(tool, task, ended[-1].returncode, output, folder, variables)
        if complaint:
            raise SystemExit(f"{tool.name}, {task}: {complaint}\n{output}\n{ended[-1].stderr[-2000:]}")
    return took


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _wrong(tool: Tool, task: str, code: int, output: str, folder: Path, variables: dict[str, str]) -> str:
    way = tool.ways[task]
    if code != way.code:
        return f"it exited with {code}, not {way.code}"
    if task == "why":
        wrong = [one for one in questions(ROWS) if said(one["question"]) != one["answer"]]
        named = [one for one in wrong if re.search(rf"\b{said(one['question'])}\b", output)]
        return "" if len(named) == len(wrong) else f"it lists {len(named)} of {len(wrong)} wrong answers"
    found = sorted(tool.scores(folder, output, variables))
    right = sorted(score(ROWS, model) for model in way.models)
    if len(found) != len(right) or any(abs(a - b) > TOLERANCE for a, b in zip(found, right, strict=True)):
        return f"it reports {found}, and {right} is right"
    return ""


def _write_rows(file: Path) -> None:
    with file.open("w", newline="") as opened:
        writer = csv.DictWriter(opened, ["question", "answer"])
        writer.writeheader()
        writer.writerows(questions(ROWS))


def _shell(command: str, folder: Path, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env=variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


def _called(command: list[str], folder: Path, variables: dict[str, str]) -> str:
    found = shutil.which(command[0], path=variables["PATH"])
    assert found is not None
    ended = subprocess.run([found, *command[1:]], cwd=folder, env=variables, capture_output=True, text=True, check=True)
    return ended.stdout


def lines(tool: Tool, way: Way) -> int:
    """Return the lines to write: those of its files that are not blank, and the commands."""
    source = MATERIAL / "tasks" / tool.name
    written = "\n".join((source / file).read_text() for file in way.files)
    return sum(1 for line in written.splitlines() if line.strip()) + len(way.commands)


def table(result: dict[str, Any]) -> str:
    """Return the block: what was measured, the table, and why a cell is empty."""
    shown = [tool for tool in TOOLS if tool.name in result["titles"]]
    notes: list[str] = []
    body = []
    for task, title in TASKS.items():
        cells = []
        for tool in shown:
            if task in tool.ways:
                figures = (result["seconds"][tool.name][task], result["processor"][tool.name][task])
                cells.append(_cell(tool, tool.ways[task], *figures))
                continue
            reason = f"{tool.title}: {tool.reasons[task]}"
            if reason not in notes:
                notes.append(reason)
            cells.append(f"– ({notes.index(reason) + 1})")
        body.append(f"| {title} | {' | '.join(cells)} |")
    rounds = result["rounds"]
    of_rounds = f"medians of {rounds} rounds that alternated" if rounds > 1 else "one round, in which tools alternated"
    head = (
        "Lines to write, commands among them, seconds until the end, and processor seconds in parentheses: "
        f"{of_rounds}, {result['rows']} rows, on {result['machine']}. Every tool had "
        "the same score."
    )
    titles = " | ".join(result["titles"][tool.name] for tool in shown)
    block = [head, "", f"| task | {titles} |", f"|---|{'--:|' * len(shown)}", *body]
    for number, reason in enumerate(notes, 1):
        block += ["", f"({number}) {reason}."]
    for name, why in sorted(result["missing"].items()):
        block += ["", f"Not measured: {name}, because {why}."]
    return "\n".join(block)


def _cell(tool: Tool, way: Way, seconds: list[float], processor: list[float]) -> str:
    if not seconds:
        return f"{lines(tool, way)}, {len(way.commands)}, not measured"
    figures = f"{statistics.median(seconds):.1f} s ({statistics.median(processor):.1f})"
    return f"{lines(tool, way)}, {len(way.commands)}, {figures}"


if __name__ == "__main__":
    main()
