"""`mesocosm compare RUN RUN…`: any stored runs against the first of them, for people and for gates."""

from typing import TYPE_CHECKING

import click

from mesocosm.cli.gating import gate_options
from mesocosm.cli.main import MesocosmCommand, options

if TYPE_CHECKING:
    from mesocosm.engine.comparison.runs import RunComparison
    from mesocosm.store import Store

NOTHING_COMPARED = 1


@gate_options(baseline=False)
@click.command(cls=MesocosmCommand)
@click.argument("runs", nargs=-1, required=True, metavar="RUN RUN...")
@click.option("--metric", default="", help="Metric to compare [the primary one].")
def compare(runs: tuple[str, ...], metric: str) -> int:
    """Compare runs of the store: those of one benchmark, each against the first of them, task by task.

    A difference counts only when its interval excludes 0; with more than two runs p values are Holm-adjusted. Exit 1
    when none of the runs can be compared, or a condition is broken; 3 when one cannot be decided.

    \b
    mesocosm compare RUN RUN --fail-if 'regression p<0.05' --fail-if 'missing>2%' --junit gate.xml
    mesocosm gate --help    lists the conditions
    """
    from mesocosm.cli.comparing import document, markdown
    from mesocosm.cli.render import emit
    from mesocosm.cli.run import results
    from mesocosm.engine.comparison.runs import compare as compared

    gate, store, chosen = options().gate, results(), options()
    gate.check(comparing=True)
    found = compared(store.runs.get, store.episodes.score_rows, [find_run(store, name) for name in runs], metric)
    judged = gate.judge_comparison(store, found)
    judged.write("mesocosm compare", lambda: markdown(found))
    if chosen.json:
        emit({**document(found, store), "gate": judged.document()})
    elif str(gate.markdown) != "-":
        from mesocosm.cli.comparing import page

        _tell(found, store)
        for line in judged.lines():
            click.echo(line)
        click.echo(f"\n  {page([run.id for run in found.runs], store, chosen)}")
    if any(group.pairs for group in found.groups):
        return judged.code(0)
    click.echo("error: none of these runs can be compared with another one of them", err=True)
    return judged.code(NOTHING_COMPARED)


def find_run(store: "Store", name: str) -> str:
    """Return the id of a run. Raises UnknownName."""
    from mesocosm.cli import stored_runs

    return stored_runs.find_run(store, name).id


def _tell(found: "RunComparison", store: "Store") -> None:
    from mesocosm.cli import flipped
    from mesocosm.cli.comparing import COLUMNS, notes, rows
    from mesocosm.cli.render import table

    table(COLUMNS, rows(found), options(), right=(2, 4, 6, 7))
    for line in dict.fromkeys([*flipped.lines(found, store), *notes(found)]):
        click.echo(line)
    if options().gate.conditions:
        click.echo()
