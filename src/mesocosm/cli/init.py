"""`mesocosm init`: start a project with what one has."""

import shlex
from pathlib import Path

import click

from mesocosm.cli import starter
from mesocosm.cli.command import MesocosmCommand, options
from mesocosm.cli.render import emit
from mesocosm.core.failure import MesocosmError, UsageError

QUESTION = """\
What do you have?
  1 rows with questions (CSV, JSONL, …)     4 a benchmark to build from code
  2 an agent or a function                  5 a program that asks a model
  3 an environment with steps               6 nothing yet: show me an example"""
CHOICES = ("dataset", "agent", "environment", "benchmark", "program", "example")
DATA = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet")
NO_MODEL = "builtin/oracle"


@click.command(cls=MesocosmCommand)
@click.argument("place", required=False, metavar="[DIR]")
@click.option("--kind", type=click.Choice(starter.KINDS), help="What you have; nothing is asked then.")
@click.option("--from", "source", default="", metavar="FILE", help="Your rows, or for an agent FILE.py:NAME.")
@click.option("--force", is_flag=True, help="Overwrite existing files.")
@click.option("-y", "--yes", is_flag=True, help="Ask nothing.")
@click.option(
    "--dir", "directory", metavar="DIR", help="Write the repository of an environment there, with all its files."
)
@click.option("--name", default="", help="Name of the environment or benchmark  [after its folder].")
def init(
    place: str | None, kind: str | None, source: str, directory: str | None, name: str, *, force: bool, yes: bool
) -> int:
    """Start a project in DIR: ask what you have, write the smallest thing that runs, and run it.

    With --kind nothing is asked. With --dir, and without a terminal, it is the repository of an environment: manifest,
    adapter, env, test, showcase page. It passes unchanged.

    \b
    mesocosm init --kind dataset --from questions.csv
    mesocosm init my-env --kind environment
    mesocosm init --dir my-env
    """
    if directory is not None and (place is not None or kind not in {None, "environment"}):
        raise UsageError("--dir writes the repository of an environment; for another --kind name the folder alone")
    asked = starter.on_terminal() and kind is None and not (yes or source)
    if directory is not None or (kind is None and not asked and not source):
        return _repository(directory or place or ".", name, force=force)
    folder = Path(place or ".")
    answers = starter.StarterAnswers(source=source)
    if asked:
        kind, answers = _ask(folder)
        if kind == "example":
            from mesocosm.cli.main import call

            return call(["demo"])
    kind = kind or ("agent" if ".py:" in source else "dataset")
    project = _project(kind, answers, folder, name)
    return _write(project, folder, force=force)


def _project(kind: str, answers: starter.StarterAnswers, folder: Path, name: str) -> starter.StarterProject:
    """Return the project of a kind. Raises UsageError."""
    named = name or _name_of(str(folder))
    if kind in {"dataset", "agent"}:
        source = answers.source
        if kind == "dataset" and source and answers.outline is None:
            outlined = starter.outline(source, folder)
            answers = starter.StarterAnswers(source=source, outline=outlined)
        if kind == "agent" and source and ".py:" not in source:
            raise UsageError(f"--from {source}: an agent is named as FILE.py:NAME")
        return starter.dataset(answers) if kind == "dataset" else starter.agent(answers)
    if answers.source:
        raise UsageError(f"--from {answers.source} is for rows and agents; leave it out for --kind {kind}")
    return {"environment": starter.environment, "benchmark": starter.benchmark, "program": starter.program}[kind](named)


def _ask(folder: Path) -> tuple[str, starter.StarterAnswers]:
    """Ask what the user has, and what is needed of it."""
    click.echo(QUESTION)
    numbers = click.Choice([str(number) for number in range(1, len(CHOICES) + 1)])
    kind = CHOICES[int(click.prompt(">", prompt_suffix=" ", type=numbers, show_choices=False)) - 1]
    if kind == "dataset":
        return kind, _ask_rows(folder)
    if kind == "agent":
        source = click.prompt("Which function? FILE.py:NAME", default="none yet: agent.py", show_default=True)
        return kind, starter.StarterAnswers(source=source if ".py:" in source else "")
    return kind, starter.StarterAnswers()


def _ask_rows(folder: Path) -> starter.StarterAnswers:
    data = sorted(file.name for file in folder.glob("*") if file.suffix in DATA)
    while True:
        file = click.prompt("Which file?", default=data[0] if data else "none yet: questions.csv")
        if file.startswith("none yet"):
            found = starter.sample_outline()
            break
        try:
            found = starter.outline(file, folder)
        except MesocosmError as error:
            click.echo(f"error: {error}", err=True)
            continue
        break
    click.echo(f"Columns: {', '.join(found.columns)}.")
    prompt = click.prompt("Prompt", default=found.prompt)
    expected = click.prompt("Right answer", default=found.expected or "none")
    words = {"numeric": "Values look like numbers. ", "choice": "Values look like letters. "}
    grader = click.prompt(f"{words.get(found.grader, '')}Grader", default=found.grader or "normalised")
    model = click.prompt("Model", default=f"none yet: {NO_MODEL}")
    return starter.StarterAnswers(
        prompt=prompt,
        expected="" if expected == "none" else expected,
        grader=grader,
        model=NO_MODEL if model.startswith("none yet") else model,
        outline=None if file.startswith("none yet") else found,
    )


def _write(project: starter.StarterProject, folder: Path, *, force: bool) -> int:
    """Write a project, run its command, and tell both."""
    names = starter.write(project, folder, force=force)
    width = max(len(name) for name in names)
    for name in names:
        starter.say(f"wrote  {name:<{width}}  {project.files[name][1]}")
    code, result = starter.play(project, folder)
    enter = "" if folder.resolve() == Path.cwd() else f"cd {shlex.quote(str(folder))} && "
    command = f"{enter}mesocosm {shlex.join(project.command)}"
    if options().json:
        emit({"files": names, "command": command, "result": result, "code": code})
        return code
    click.echo(f"run it {command}" + (f"   # {result}" if result else ""))
    for line, why in project.further:
        click.echo(f"{why}: {line}")
    return code


def _repository(directory: str, name: str, *, force: bool) -> int:
    """Write the repository of an environment, file by file as other programs expect it."""
    from mesocosm.environments.scaffold import scaffold

    done = scaffold(Path(directory), name=name or _name_of(directory), force=force)
    if options().json:
        emit({"files": [{"path": str(item.path), "written": item.written} for item in done]})
        return 0
    for item in done:
        click.echo(f"wrote {item.path}" if item.written else f"skip (exists): {item.path}")
    enter = "" if directory == "." else f"cd {shlex.quote(directory)} && "
    click.echo("\nNext:")
    click.echo(f"  {enter}mesocosm run local --model builtin/random --episodes 20 --parallel 4")
    click.echo("  mesocosm run local --model builtin/oracle          the ceiling")
    click.echo("  mesocosm run local                                 with ollama/llama3.2 on a running Ollama")
    click.echo("  mesocosm view                                      what happened, in the browser")
    click.echo("  mesocosm check                                     whether it does what it declares")
    click.echo("Then edit env.py; LOCAL_DEV.md explains the rest.")
    return 0


def _name_of(directory: str) -> str:
    """Return the name of a directory, also of the current one; empty if it is not a valid name."""
    name = Path(directory).resolve().name
    return name if name[:1].isalpha() and name.isascii() else ""
