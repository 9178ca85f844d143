"""`mesocosm compare RUN RUN…`: compare stored runs with the first of them, for people and for gates."""

import click

from mesocosm.cli.command import MesocosmCommand, options
from mesocosm.cli.gate_options import GateFlags, gate_options
from mesocosm.cli.render import emit
from mesocosm.cli.results import command_store, find_run

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
    from mesocosm.cli.comparison_report import compare_path, document, markdown, tell
    from mesocosm.engine.comparison.runs import compare as compared

    gate, store, chosen = options().part(GateFlags), command_store(), options()
    gate.check(comparing=True)
    found = compared(store.runs.get, store.episodes.score_rows, [find_run(store, name).id for name in runs], metric)
    judged = gate.judge_comparison(store, found)
    judged.write("mesocosm compare", lambda: markdown(found))
    if chosen.json:
        emit({**document(found, store), "gate": judged.document()})
    elif str(gate.markdown) != "-":
        from mesocosm.cli.viewer_link import page

        tell(found, store, chosen)
        if gate.conditions:
            click.echo()
        for line in judged.lines():
            click.echo(line)
        click.echo(f"\n  {page(compare_path(found), store, chosen)}")
    if any(group.pairs for group in found.groups):
        return judged.code(0)
    click.echo("error: none of these runs can be compared with another one of them", err=True)
    return judged.code(NOTHING_COMPARED)
