"""`mesocosm eval ask DATA`: ask a model the rows of a file, and grade its answers."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import click

from mesocosm.cli.command import MesocosmCommand
from mesocosm.cli.evaluating import EvaluateCall, arguments_of, evaluation_options, models_of, play, quoted
from mesocosm.core.failure import MesocosmError, UsageError

_LONGEST_LABEL = 40
_NEWLINE_ERROR = "\nerror: "
"""Joins several messages: the first one is printed after `error: `."""


@evaluation_options
@click.command(
    cls=MesocosmCommand,
    own=(
        *("--prompt", "--system", "--answers", "--expected", "--grader", "--rubric", "--save"),
        *("--model", "--limit", "--judge", "--budget", "--fail-if", "--fresh", "--set"),
    ),
)
@click.argument("data")
@click.option(
    "--prompt",
    "prompts",
    multiple=True,
    metavar="TEXT|@FILE",
    help="What each row is asked, with {{column}} or {column}; several are compared.",
)
@click.option("--system", default="", metavar="TEXT|@FILE", help="What precedes the prompt.")
@click.option("--answers", metavar="COLUMN", help="Grade the answers in this column; no model is asked for one.")
@click.option("--expected", metavar="COLUMN", help="The right answer, which the model never sees  [found by its name].")
@click.option(
    "--grader",
    "graders",
    multiple=True,
    metavar="NAME[:OPTION=VALUE]|FILE.py:NAME",
    help="How answers are graded; several give several scores  [they are shown].",
)
@click.option("--rubric", metavar="TEXT|@FILE", help="Let the --judge grade by this rubric.")
@click.option("--agent", metavar="FILE.py:NAME", help="A function from the prompt, or the row, to the answer.")
@click.option("--save", type=click.Path(path_type=Path), metavar="FILE.toml", help="Write this as a configuration.")
def ask(data: str, **given: Any) -> int:
    """Ask a model every row of DATA (CSV, JSONL, Parquet, …), grade the answers, print the score with its interval.

    The same command again continues; nothing finished is asked twice. Another grader grades the stored answers.

    \b
    mesocosm eval ask q.csv --prompt '{{question}}' --grader numeric -m openai/gpt-5-mini
    mesocosm eval ask q.csv --prompt '{{question}}' --prompt @cot.txt --grader numeric -m ollama/llama3.2
    mesocosm eval ask answered.csv --answers output --grader exact
    """
    calls = asking_calls(data, given)
    if given["save"] is not None:
        from mesocosm.cli.eval.ask_file import save

        save(given["save"], calls, given)
        click.echo(f"wrote {given['save']}; run it: mesocosm eval run {given['save']}", err=True)
    return play(calls, given)


def asking_calls(data: str, given: Mapping[str, Any]) -> list[EvaluateCall]:
    """Return the calls of `evaluate` that the flags mean: one for each prompt and model. Raises UsageError."""
    arguments, written = arguments_of(given)
    prompts = [_text(text) for text in given["prompts"]]
    models = models_of(given)
    agent = given["agent"]
    if given["answers"]:
        if prompts or agent:
            raise UsageError("--answers grades answers that are there already; leave --prompt and --agent out")
        agent, written["agent"] = stored_answers(given["answers"]), f"lambda row: row[{quoted(given['answers'])}]"
        models = ()
    _check(data, given, prompts, needs_model=not (models or given["answers"] or agent))
    if agent is not None:
        arguments["agent"] = agent
    if given["system"]:
        arguments["system"] = _text(given["system"])
    if given["expected"]:
        arguments["expected"] = given["expected"]
    grader, code = _grader(given["graders"], given["rubric"])
    if grader is not None:
        arguments["grader"] = grader
        written["grader"] = code
    calls = []
    for (place, prompt), model in product(enumerate(prompts or [""]), models or ("",)):
        own: dict[str, Any] = {"prompt": _single(prompt)} if prompt else {}
        named = {"model": model} if model else {}
        label = _label(given["prompts"][place] if len(prompts) > 1 else "", model if len(models) > 1 else "")
        calls.append(EvaluateCall(data, {**own, **arguments, **named}, label, dict(written)))
    labels = [call.label for call in calls]
    if len(set(labels)) < len(labels):
        raise UsageError("two of these prompts or models are the same; leave one out")
    return calls


def stored_answers(column: str) -> Callable[[Mapping[str, Any]], Any]:
    """Return an agent that answers with a column of the row."""

    def stored(row: Mapping[str, Any]) -> Any:
        answer = row.get(column)
        return "" if answer is None else answer

    return stored


def _check(data: str, given: Mapping[str, Any], prompts: Sequence[str], *, needs_model: bool) -> None:
    """Raise one UsageError with everything that is wrong: prompts, columns, a missing model."""
    from mesocosm.cli.reachable_models import which_model
    from mesocosm.datasets import open_table

    columns = open_table(data).columns
    what = Path(data).name
    named = {f"--{name}": given[name] for name in ("answers", "expected") if given[name]}
    problems = [said for prompt in prompts if (said := _unknown_column(prompt, columns, what))]
    problems += [_no_column(flag, name, columns, what) for flag, name in named.items() if name not in columns]
    if not (prompts or given["answers"] or given["agent"]):
        problems.append(how_to_ask(data, columns))
    if needs_model:
        problems.append(which_model())
    if problems:
        raise UsageError(_NEWLINE_ERROR.join(problems))


def _unknown_column(prompt: str, columns: Sequence[str], what: str) -> str:
    """Return what is wrong with the columns that a prompt names; empty if nothing is."""
    from mesocosm.api.prompts import Prompt

    try:
        Prompt(prompt).check(columns, "", what)
    except MesocosmError as error:
        said, mark, near = str(error).partition("; did you mean ")
        if not mark:
            return said
        wrong = said.partition("the prompt names ")[2].partition("; ")[0]
        return f"{said}\n  did you mean  --prompt '{prompt.replace(wrong, near.rstrip('?'))}'"
    return ""


def _no_column(flag: str, name: str, columns: Sequence[str], what: str) -> str:
    from mesocosm.core.reading import nearest

    near = nearest(name, list(columns))
    said = f"{flag} {name}: columns of {what}: {', '.join(columns)}"
    return f"{said}\n  did you mean  {flag} {near}" if near else said


def how_to_ask(data: str, columns: Sequence[str]) -> str:
    """Return the message for rows without a prompt: the command for their columns."""
    from mesocosm.cli.starter import outline

    found = outline(data, Path())
    grader = f" --grader {found.grader}" if found.grader else ""
    line = f"mesocosm eval ask {data} --prompt '{found.prompt}'{grader} -m MODEL"
    return f"how are the rows asked? Columns of {Path(data).name}: {', '.join(columns)}\n  for example  {line}"


def _grader(names: Sequence[str], rubric: str | None) -> tuple[Any, str]:
    """Return the argument `grader` of `evaluate`, and how it is written; None without one. Raises UsageError."""
    found = [_one_grader(name) for name in names]
    if rubric:
        from mesocosm.rollouts.graders.catalogue import open_grader

        text = _text(rubric)
        found.append((open_grader("judge", {"rubric": text}), f"mc.graders.judge(rubric={quoted(text)})"))
    if not found:
        return None, ""
    if len(found) == 1:
        return found[0]
    return [value for value, _ in found], f"[{', '.join(code for _, code in found)}]"


def _one_grader(text: str) -> tuple[Any, str]:
    """Return a grader from `NAME`, `NAME:OPTION=VALUE:…` or `FILE.py:NAME`."""
    from mesocosm.cli.settings import read_assignment
    from mesocosm.rollouts.graders.catalogue import grader_class, open_grader

    name, colon, rest = text.partition(":")
    if ".py:" in text or (colon and "=" not in rest):
        return text, quoted(text)
    grader_class(name)  # an unknown name is an error before anything is read
    if not colon:
        return text, quoted(text)
    given = dict(read_assignment(part, "--grader", "numeric:label_after=####") for part in rest.split(":"))
    code = ", ".join(f"{key}={quoted(value)}" for key, value in given.items())
    return open_grader(name, given), f"mc.graders.{name}({code})"


def _text(text: str) -> str:
    """Return a text, or the content of the file that `@FILE` names. Raises UsageError."""
    if not text.startswith("@"):
        return text
    try:
        return Path(text[1:]).read_text("utf-8").rstrip("\n")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"{text[1:]} cannot be read: {why}; write the text itself, or @ and a file") from error


def _single(prompt: str) -> str:
    """Return a prompt with `{column}` for `{{column}}`, so that the same call in Python is the same experiment."""
    import re

    return re.sub(r"\{\{\s*([A-Za-z_][\w .-]*?)\s*\}\}", r"{\1}", prompt)


def _label(prompt: str, model: str) -> str:
    short = prompt if len(prompt) <= _LONGEST_LABEL else f"{prompt[: _LONGEST_LABEL - 1]}…"
    return " · ".join(part for part in (short.replace("\n", " "), model) if part)


@evaluation_options
@click.command("run", cls=MesocosmCommand)
@click.argument("config", type=click.Path(path_type=Path))
def run_file(config: Path, **given: Any) -> int:
    """Evaluate what CONFIG, written by `eval ask --save` or `init`, describes; flags replace its values."""
    from mesocosm.cli.eval.ask_file import read_ask_file

    data, merged = read_ask_file(config, given)
    return play(asking_calls(data, merged), merged)
