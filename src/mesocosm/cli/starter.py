"""The smallest projects that run, one for each kind of thing that a user has. Each is at most four files."""

import contextlib
import io
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mesocosm.core.failure import UsageError

KINDS = ("environment", "dataset", "agent", "benchmark", "program")
ROWS_FILE, CONFIG, AGENT = "questions.csv", "eval.toml", "agent.py"
_ROWS = 100
"""Rows that are looked at to propose a prompt and a grader."""


@dataclass(frozen=True, slots=True)
class StarterProject:
    """A new project: files with a word on each, the command that runs it, and what to do next."""

    files: Mapping[str, tuple[str, str]]
    command: Sequence[str]
    further: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class DataOutline:
    """What the first rows of a data file suggest: a prompt, the column with the right answer, a grader."""

    file: str
    columns: tuple[str, ...]
    prompt: str
    expected: str
    grader: str
    rows: int


@dataclass(frozen=True, slots=True)
class StarterAnswers:
    """What the user said, or the defaults."""

    source: str = ""
    prompt: str = ""
    expected: str = ""
    grader: str = ""
    model: str = "builtin/oracle"
    outline: DataOutline | None = None
    further: Mapping[str, Any] = field(default_factory=dict)


def write(project: StarterProject, folder: Path, *, force: bool) -> list[str]:
    """Write the files and return their names. Raises UsageError if one exists, unless `force`, and for write errors."""
    taken = [name for name in project.files if (folder / name).exists()]
    if taken and not force:
        raise UsageError(f"{folder} has {', '.join(taken)} already; choose another folder, or overwrite with --force")
    for name, (content, _) in project.files.items():
        path = folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, "utf-8", newline="\n")
        except OSError as error:
            raise UsageError(f"{path} cannot be written: {error.strerror or error}; choose another folder") from error
    return list(project.files)


def play(project: StarterProject, folder: Path) -> tuple[int, str]:
    """Run the project's command in its folder; return its exit code and a few words on what came out."""
    from mesocosm.cli.main import call

    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with contextlib.chdir(folder), contextlib.redirect_stdout(out):
        code = call([*project.command, "--json", "--quiet"])
    assert isinstance(out.buffer, io.BytesIO)
    try:
        document = json.loads(out.buffer.getvalue())
    except ValueError:
        return code, ""
    return code, _score_of(document)


def _score_of(document: Any) -> str:
    """Return `20 of 20 scored, accuracy 1.0000` for the document of a run."""
    if isinstance(document, dict) and "outcomes" in document:
        document = document["outcomes"][0]
    run = document.get("run") if isinstance(document, dict) else None
    if not run:
        return ""
    primary = next((metric for metric in run["metrics"] if metric["primary"]), None)
    if primary is None or primary["value"] is None:
        return f"{run['counts']['planned']} episodes, no score"
    return f"{primary['n_scored']} of {primary['n_planned']} scored, {primary['name']} {primary['value']:.4f}"


def environment(name: str) -> StarterProject:
    """Return an environment with steps: manifest, adapter, the environment, its test."""
    from mesocosm.environments.scaffold import SMALLEST, templates

    notes = ("what is measured and how", "serves env.py", "your environment; edit this", "pytest test_env.py")
    found = templates(name, SMALLEST)
    return StarterProject(
        {file: (found[file], note) for file, note in zip(SMALLEST, notes, strict=True)},
        ("run", "local", "--model", "builtin/oracle", "--episodes", "20", "--parallel", "4"),
        (
            ("mesocosm run local --model builtin/random --episodes 20", "the floor, random actions"),
            ("mesocosm check", "after your changes"),
            ("mesocosm view", "what happened, in the browser"),
            ("mesocosm run local", "with ollama/llama3.2 on a running Ollama"),
            ("mesocosm run local --model openai/gpt-5-mini --allow-cloud", "with a model of a provider"),
        ),
    )


BENCHMARK_TOML = """\
id = "{name}"
title = "{title}"
description = "What it measures, in a sentence."
source = "written here"
licence = "MIT"
version = "1"
split = "all"

[score]
field = "accuracy"
"""
BENCHMARK_PY = '''\
"""The tasks of the benchmark and how an answer is graded. Replace both with your own."""

from mesocosm.benchmarks.native import LoadedTasks, NativeBenchmark
from mesocosm.core.ids import digest
from mesocosm.core.score import Score
from mesocosm.core.task import Task

CAPITALS = {"France": "Paris", "Japan": "Tokyo", "Kenya": "Nairobi", "Peru": "Lima"}


class Capitals(NativeBenchmark):
    def load(self):
        tasks = [
            Task(country, input=f"What is the capital of {country}? Answer with its name only.", target=capital)
            for country, capital in CAPITALS.items()
        ]
        return LoadedTasks(tasks, digest(CAPITALS))

    async def grade(self, task, episode):
        answer = str(episode.terminal_info.get("answer", "")).strip().strip(".")
        return [Score("accuracy", float(answer.lower() == task.target.lower()))]


def open_benchmark(setup):
    return Capitals(setup)
'''


def benchmark(name: str) -> StarterProject:
    """Return a benchmark that is built from code: its description, and its tasks with their grading."""
    own = _id(name, "my-benchmark")
    return StarterProject(
        {
            "benchmark.toml": (_described(BENCHMARK_TOML, own), "what it is called and how it is scored"),
            "benchmark.py": (BENCHMARK_PY, "tasks and grading; edit this"),
        },
        ("bench", "run", own, "--benchmarks-dir", ".", "-m", "builtin/oracle"),
        ((f"mesocosm bench run {own} --benchmarks-dir . -m openai/gpt-5-mini", "with a model of a provider"),),
    )


PROGRAM_TOML = """\
id = "{name}"
title = "{title}"
description = "What it measures, in a sentence."
kind = "command"
agent = "program"
source = "written here"
licence = "MIT"
version = "1"
split = "all"

[command]
argv = ["{{python}}", "program.py", "{{model}}", "{{output}}"]
result = ["scores.json"]
score = "accuracy"
items = "items.jsonl"

[command.item]
id = "id"
score = "score"

[score]
field = "accuracy"
"""
PROGRAM_PY = '''\
"""A program that asks a model. Replace it with your own, in any language.

It gets the address of the model as OPENAI_BASE_URL, with a key in OPENAI_API_KEY; every call is recorded. It writes
scores.json and, for intervals and a page for each item, items.jsonl.
"""

import json
import os
import os
import sys
import urllib.request
from pathlib import Path

MODEL, OUT = sys.argv[1], Path(sys.argv[2])
QUESTIONS = {"banana": "3", "mesocosm": "2", "tree": "0", "apple": "1"}


def ask(question):
    """Return the model's reply to a question."""
    body = {"model": MODEL, "messages": [{"role": "user", "content": question}]}
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]},
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["choices"][0]["message"]["content"]


items = []
for word, right in QUESTIONS.items():
    letter = "o" if word == "mesocosm" else "a"
    reply = ask(f"How often does the letter {letter} stand in {word!r}? Answer with a number only.")
    items.append({"id": word, "score": float(reply.strip() == right)})

(OUT / "items.jsonl").write_text("".join(json.dumps(item) + "\\n" for item in items))
(OUT / "scores.json").write_text(json.dumps({"accuracy": sum(item["score"] for item in items) / len(items)}))
'''


def program(name: str) -> StarterProject:
    """Return a program that asks a model: its description, the program, and a reply to try it with."""
    own = _id(name, "my-program")
    return StarterProject(
        {
            "benchmark.toml": (_described(PROGRAM_TOML, own), "how it is started and what it writes"),
            "program.py": (PROGRAM_PY, "your program; edit this"),
            "replies.txt": ("3\n", "what builtin/scripted answers"),
        },
        ("bench", "run", own, "--benchmarks-dir", ".", "-m", "builtin/scripted:replies.txt"),
        ((f"mesocosm bench run {own} --benchmarks-dir . -m openai/gpt-5-mini", "with a model of a provider"),),
    )


def _described(template: str, own: str) -> str:
    return template.format(name=own, title=own.replace("-", " ").capitalize())


def _id(name: str, usual: str) -> str:
    import re

    words = re.findall(r"[a-z0-9]+", name.lower())
    found = "-".join(words)
    return found if words and found[0].isalpha() else usual


def say(line: str) -> None:
    """Print a line for people; nothing with --json."""
    import click

    from mesocosm.cli.command import options

    if not options().json:
        click.echo(line)


def on_terminal() -> bool:
    """Return whether a person can be asked."""
    return sys.stdin.isatty() and sys.stdout.isatty()


AGENT_PY = '''\
"""An agent: any function from a question to an answer. Replace its body with your own."""


async def solve(question, ctx):
    """Return the answer; every call of the model through ctx is recorded.

    A client of your own finds the same model at ctx.base_url, with ctx.api_key and ctx.model.
    """
    return await ctx.ask(f"{question}\\\\nAnswer with a number only.")
'''
QUESTIONS_CSV = """\
question,answer,level
What is 17 + 25?,42,easy
What is 9 * 7?,63,easy
What is 144 / 12?,12,easy
What is 15 % of 240?,36,hard
What is the next prime after 31?,37,hard
"""
CONFIG_TOML = """\
# mesocosm eval run {config}      the same command again continues; -m names another model
data = {data}
{lines}
model = {model}{padding}# openai/gpt-5-mini, anthropic/…, ollama/llama3.2, …
# system = "Answer with a number only."
# limit = 20
# trials = 3
# fail_if = ["score<0.8", "missing>2%"]

# [set]                     # mesocosm help settings lists all
# "model.temperature" = 0.7
"""


def dataset(answers: StarterAnswers) -> StarterProject:
    """Return the evaluation of a model on rows: a configuration, and rows if there are none."""
    found = answers.outline or sample_outline()
    lines = [f"prompt = {_toml(answers.prompt or found.prompt)}"]
    return _configured(answers, found, lines, {})


def agent(answers: StarterAnswers) -> StarterProject:
    """Return the evaluation of an agent, a function: the agent unless there is one, rows, a configuration."""
    found = answers.outline or sample_outline()
    own = {AGENT: (AGENT_PY, "your agent; edit this")} if not answers.source else {}
    lines = [
        f"prompt = {_toml(answers.prompt or found.prompt)}",
        f"agent = {_toml(answers.source or f'{AGENT}:solve')}",
    ]
    return _configured(answers, found, lines, own)


def _configured(
    answers: StarterAnswers, found: DataOutline, lines: list[str], own: dict[str, tuple[str, str]]
) -> StarterProject:
    expected, grader = answers.expected or found.expected, answers.grader or found.grader
    lines += [f"expected = {_toml(expected)}"] if expected else []
    lines += [f"grader = {_toml(grader)}"] if grader and expected else []
    model = _toml(answers.model)
    text = CONFIG_TOML.format(
        config=CONFIG,
        data=_toml(found.file),
        lines="\n".join(lines),
        model=model,
        padding=" " * max(2, 20 - len(model)),
    )
    count = len(text.splitlines())
    files = {**own, CONFIG: (text, f"{count} lines; edit model, prompt, grader here")}
    if answers.outline is None:
        files[ROWS_FILE] = (QUESTIONS_CSV, "questions and right answers; put yours here")
    return StarterProject(
        files,
        ("eval", "run", CONFIG),
        (('the line model = "…" in ' + CONFIG + ", or -m", "a real model"),),
    )


def _toml(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def sample_outline() -> DataOutline:
    """Return what the sample rows suggest."""
    columns = tuple(QUESTIONS_CSV.partition("\n")[0].split(","))
    return DataOutline(ROWS_FILE, columns, "{{question}}", "answer", "numeric", QUESTIONS_CSV.count("\n") - 1)


RIGHT_ANSWERS = ("expected", "ground_truth", "target", "label", "answer", "reference", "solution")
"""Columns that usually hold the right answer."""
QUESTIONS = ("question", "prompt", "input", "query", "text", "problem", "instruction")
"""Columns that usually hold the question."""


def outline(file: str, folder: Path) -> DataOutline:
    """Return what the rows of a file suggest, in the folder or else here. Raises UsageError and InvalidInput."""
    from mesocosm.datasets import open_table

    path = folder / file
    if not path.exists() and Path(file).exists():
        path, file = Path(file), os.path.relpath(file, folder)
    table = open_table(path)
    columns = table.columns
    expected = next((name for name in RIGHT_ANSWERS if name in columns), "")
    others = [name for name in columns if name != expected]
    question = next((name for name in QUESTIONS if name in others), others[0] if others else "")
    values = [str(row.get(expected, "")) for row in table.rows[:_ROWS]] if expected else []
    return DataOutline(file, columns, f"{{{{{question}}}}}", expected, _grader_for(values), len(table))


def _grader_for(values: Sequence[str]) -> str:
    """Return the grader that fits right answers: numbers, single letters, else words."""
    if not values:
        return ""
    if all(_is_number(value) for value in values):
        return "numeric"
    if all(len(value.strip()) == 1 and value.strip().isalpha() for value in values):
        return "choice"
    return "normalised"


def _is_number(value: str) -> bool:
    try:
        float(value.replace(",", "").strip().lstrip("$"))
    except ValueError:
        return False
    return True
