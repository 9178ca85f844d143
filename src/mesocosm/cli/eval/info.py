"""`mesocosm eval info NAME`."""

from pathlib import Path

import click

from mesocosm.cli.main import Command, options


@click.command(cls=Command)
@click.argument("name")
@click.option("--by", "label", default="", metavar="LABEL", help="Slice the results by a column or metadata field.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write metrics.json into this directory.")
def info(name: str, label: str, output: Path | None) -> None:
    """Show an evaluation run: results, what failed and why, configuration. NAME may be a name, an id, or `last`.

    While the run is going on, it is a snapshot.
    """
    from mesocosm.cli.eval import report
    from mesocosm.cli.eval.configuration import configuration
    from mesocosm.cli.eval.document import detail
    from mesocosm.cli.eval.slicing import document, show
    from mesocosm.cli.found import find_evaluation
    from mesocosm.cli.render import GOING, emit
    from mesocosm.cli.run import results as store_of
    from mesocosm.engine.metrics import so_far
    from mesocosm.engine.results import results
    from mesocosm.engine.slices import slices

    store, chosen = store_of(), options()
    run = find_evaluation(store, name)
    if run.status in GOING or not run.metrics:
        run.metrics = so_far(run, store)
    if output is not None:
        from mesocosm.interop.download import write_download

        write_download(run, store, output, {"metrics"}, overwrite=True)
    if chosen.json:
        found = detail(run, results(run, store, run.metrics))
        if label:
            found["data"]["slices"] = document(run, store, label)
        emit(found)
        return
    # A label that nobody has is told before anything is shown.
    sliced = slices(run, store, label) if label else None
    report.show(run, store, chosen, onward=False)
    if sliced is not None:
        show(sliced, chosen)
    configuration(run, chosen)
