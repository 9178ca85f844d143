"""`mesocosm compare RUN RUN…`: any stored runs against the first of them, for people and for gates."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mesocosm.cli.main import Command, options

if TYPE_CHECKING:
    from mesocosm.engine.comparison import Comparison
    from mesocosm.engine.gate import Verdict
    from mesocosm.store import SqlStore

GATE_CLOSED = 1


@click.command(cls=Command)
@click.argument("runs", nargs=-1, required=True, metavar="RUN RUN...")
@click.option("--metric", default="", help="Metric to compare [the primary one].")
@click.option("--fail-if", "conditions", multiple=True, metavar="CONDITION", help="Exit 1 when it holds; see below.")
@click.option("--junit", type=click.Path(path_type=Path), help="Write the conditions as JUnit XML to this file.")
@click.option(
    "--markdown", type=click.Path(path_type=Path), help="Write the table as Markdown to this file (- prints)."
)
def compare(
    runs: tuple[str, ...], metric: str, conditions: tuple[str, ...], junit: Path | None, markdown: Path | None
) -> int:
    """Compare runs of the store: those of one benchmark, each against the first of them, task by task.

    A difference counts only when its interval excludes 0; with more than two runs p values are Holm-adjusted.
    Conditions for gates: "regression p<0.05", "regression>0.02", "missing>2%", "score<0.8", "failed>0".

    \b
    mesocosm compare RUN RUN --fail-if 'regression p<0.05' --fail-if 'missing>2%' --junit gate.xml
    """
    from mesocosm.cli.found import find_run
    from mesocosm.cli.run import results
    from mesocosm.engine.comparison import compare as compared
    from mesocosm.engine.gate import judge, read_condition

    wanted = [read_condition(text) for text in conditions]
    store, chosen = results(), options()
    found = compared(store, [find_run(store, name).id for name in runs], metric)
    verdicts = judge(found, wanted)
    if junit is not None:
        write_file(junit, junit_of("mesocosm compare", verdicts))
    if markdown is not None:
        _write_markdown(markdown, found, verdicts)
    if chosen.json:
        _emit(found, verdicts, store)
    elif markdown is None or str(markdown) != "-":
        from mesocosm.cli.comparing import page

        _tell(found, verdicts, store)
        click.echo(f"\n  {page([run.id for run in found.runs], store, chosen)}")
    return GATE_CLOSED if any(verdict.broken for verdict in verdicts) else 0


def _tell(found: "Comparison", verdicts: "Sequence[Verdict]", store: "SqlStore") -> None:
    from mesocosm.cli import flipped
    from mesocosm.cli.comparing import COLUMNS, notes, rows
    from mesocosm.cli.render import table

    table(COLUMNS, rows(found), options(), right=(2, 4, 6, 7))
    for line in dict.fromkeys([*flipped.lines(found, store), *notes(found)]):
        click.echo(line)
    if verdicts:
        click.echo()
    for verdict in verdicts:
        click.echo(_line(verdict))


def _line(verdict: "Verdict") -> str:
    state = f"FAIL: {verdict.broken}" if verdict.broken else "ok"
    return f"{verdict.condition}  {verdict.benchmark}  {verdict.subject}  {state}"


def _emit(found: "Comparison", verdicts: "Sequence[Verdict]", store: "SqlStore") -> None:
    from mesocosm.cli.comparing import document
    from mesocosm.cli.render import emit

    gate = [
        {
            "condition": verdict.condition,
            "benchmark": verdict.benchmark,
            "subject": verdict.subject,
            "passed": not verdict.broken,
            "found": verdict.broken,
        }
        for verdict in verdicts
    ]
    emit({**document(found, store), "gate": gate})


def _write_markdown(path: Path, found: "Comparison", verdicts: "Sequence[Verdict]") -> None:
    from mesocosm.cli.comparing import markdown

    gate = "".join(f"* {_line(verdict)}\n" for verdict in verdicts)
    text = markdown(found) + (f"\n{gate}" if gate else "")
    if str(path) == "-":
        click.echo(text, nl=False)
    else:
        write_file(path, text.encode())


def junit_of(suite: str, verdicts: "Sequence[Verdict]") -> bytes:
    """Return the verdicts of a gate as JUnit XML."""
    from mesocosm.interop.junit import Case, junit

    return junit(
        suite,
        [
            Case(f"mesocosm.{verdict.benchmark}", f"{verdict.condition}: {verdict.subject}", verdict.broken)
            for verdict in verdicts
        ],
    )


def write_file(path: Path, data: bytes) -> None:
    """Write a file that a flag names, with its folder."""
    from mesocosm.interop.files import replacing

    with replacing(path) as file:
        file.write(data)
