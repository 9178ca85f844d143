"""`mesocosm eval info NAME`."""

from pathlib import Path

import click

from mesocosm.cli.command import MesocosmCommand, options
from mesocosm.cli.gate_options import GateFlags, gate_options


@gate_options()
@click.command(cls=MesocosmCommand)
@click.argument("name")
@click.option("--by", "label", default="", metavar="LABEL", help="Slice the results by a column or metadata field.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write metrics.json into this directory.")
def info(name: str, label: str, output: Path | None) -> int:
    """Show an evaluation run: results, what failed and why, configuration. NAME may be a name, an id, or `last`.

    While the run is going on, it is a snapshot. With --fail-if it exits 1 when a condition is broken, 3 when one cannot
    be decided.
    """
    from mesocosm.cli.eval import report
    from mesocosm.cli.eval.configuration import configuration
    from mesocosm.cli.eval.document import detail
    from mesocosm.cli.eval.slicing import document, show
    from mesocosm.cli.render import GOING, emit
    from mesocosm.cli.results import command_store, find_evaluation
    from mesocosm.engine.metrics import so_far
    from mesocosm.engine.results import results
    from mesocosm.engine.slices import slices

    store, chosen = command_store(), options()
    run = find_evaluation(store, name)
    if run.status in GOING or not run.metrics:
        run.metrics = so_far(run, store)
    numbers = results(run, store.episodes, run.metrics)
    chosen.part(GateFlags).prepare(store, find_evaluation)
    judged = chosen.part(GateFlags).judge(store, [run])
    judged.write("mesocosm eval", lambda: "\n".join(report.markdown(run, numbers, judged.compared)) + "\n")
    if output is not None:
        from mesocosm.interop.download import write_download

        write_download(run, store, output, {"metrics"}, overwrite=True)
    if chosen.json:
        found = detail(run, numbers)
        found["data"] |= judged.fields(store)
        if label:
            found["data"]["slices"] = document(run, store, label)
        emit(found)
        return judged.code(0)
    # Report an unknown label before anything is shown.
    sliced = slices(run, store.episodes, label) if label else None
    report.show(run, store, chosen, judged, found=numbers, onward=False)
    if sliced is not None:
        show(sliced, chosen)
    configuration(run, chosen)
    return judged.code(0)
