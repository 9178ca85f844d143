"""`mesocosm demo`: a complete example in one command."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mesocosm.cli.command import CommonOptions, MesocosmCommand, options, view_option
from mesocosm.cli.render import counted, emit, interval, number, table
from mesocosm.cli.results import open_results
from mesocosm.core.failure import MesocosmError, UsageError

if TYPE_CHECKING:
    from mesocosm.core.run import Run

EXAMPLES = ("word-game", "grid-world", "negotiation")
MODELS = ("builtin/random", "builtin/oracle")
CALLS = {"word-game": 15, "grid-world": 65, "negotiation": 9}
"""Model calls that both agents together make for one seed."""
PARALLEL = 4
WATCHABLE_S = 20
"""Seconds that both runs take if a viewer shows them."""


def examples() -> Path:
    """Return the directory of the shipped examples: inside the package, or in a source checkout."""
    import mesocosm

    package = Path(mesocosm.__file__).parent
    for place in (package / "examples", package.parents[1] / "examples"):
        if place.is_dir():
            return place
    raise UsageError("the examples are not part of this installation; make an environment with `mesocosm init` instead")


@click.command(cls=MesocosmCommand)
@click.option("--example", type=click.Choice(EXAMPLES), default=EXAMPLES[0], show_default=True, help="Example to run.")
@click.option("--episodes", type=click.IntRange(min=1), default=20, show_default=True, help="Seeds for each agent.")
@click.option("--parallel", type=int, help=f"Episodes in parallel [{PARALLEL}; 1 with the viewer].")
@click.option("--quiet", is_flag=True, help="Do not show progress.")
@view_option
def demo(example: str, episodes: int, parallel: int | None, quiet: bool, view: bool | None) -> int:
    """Run an included example with a random agent (the floor) and its oracle (the ceiling), and compare them.

    On a terminal the viewer opens in the browser, and the agents play slowly enough to be watched.
    """
    from mesocosm.cli.session import INTERRUPTED, start_run_quietly
    from mesocosm.cli.viewer_link import wanted
    from mesocosm.core.model import ModelSettings
    from mesocosm.core.run import BenchmarkRef, Limits, RunSpec, Selection
    from mesocosm.interop.record import run_document

    chosen = options()
    chosen.quiet, chosen.view = quiet, view
    source = BenchmarkRef("environment", str(examples() / example / "benchanything.json"), {})
    watched = chosen.opens = wanted(chosen)
    limits = Limits(requests_per_minute=CALLS[example] * episodes * 60 / WATCHABLE_S) if watched else Limits()
    if watched:
        why = f"Playing for about {WATCHABLE_S} s, so that there is something to watch; --no-view is faster."
        click.echo(why, err=True)
    at_once = max(parallel or (1 if watched else PARALLEL), 1)
    runs: list[tuple[Run, int]] = []
    for model in MODELS:
        settings, selection = ModelSettings(model), Selection(count=episodes)
        spec = RunSpec(source, settings, selection=selection, limits=limits, parallel=at_once, name="demo")
        runs.append(start_run_quietly(spec))
        chosen.opens = False
        if runs[-1][1] == INTERRUPTED:
            break
    if chosen.json:
        emit({"runs": [run_document(run) for run, _ in runs]})
    else:
        _tell([run for run, _ in runs], episodes, chosen)
    return max(code for _, code in runs)


def _tell(runs: "Sequence[Run]", episodes: int, chosen: CommonOptions) -> None:
    """Print baseline and best scores, and the next steps."""
    from mesocosm.api.viewing import IDLE_MINUTES

    rows = [
        [
            *(run.model, metric.name, number(metric.value), interval(metric.low, metric.high, weak=metric.weak) or "–"),
            counted(metric),
        ]
        for run in runs
        for metric in run.metrics
    ]
    click.echo(f"\n{runs[0].benchmark_title}: {episodes} seeds, floor and ceiling")
    table(["model", "metric", "value", "95 % interval", "n"], rows, chosen, right=(2, 4))
    click.echo(f"\nEverything is recorded in {chosen.results()}. Look at it:")
    for command, why in (
        ("mesocosm view", "all of it, in the browser"),
        ("mesocosm run show last", "one run"),
        ("mesocosm run episodes last --traces", "what happened, step by step"),
        ("mesocosm init --dir my-env", "an environment of your own"),
    ):
        click.echo(f"  {command:<40} {why}")
    if address := _address(chosen):
        both = "&".join(f"run={run.id}" for run in runs)
        click.echo(f"\nThe viewer keeps running at {address}\n  both side by side: {address}/compare?{both}")
        click.echo(
            f"One in the background ends {IDLE_MINUTES} minutes after the last look; mesocosm view starts another."
        )


def _address(chosen: CommonOptions) -> str:
    """Return the address of the running viewer; empty if there is none."""
    from mesocosm.cli.viewer_link import place_name, running

    if chosen.view is False:
        return ""
    try:
        store = open_results(chosen, create=False)
    except MesocosmError:
        return ""
    try:
        viewer = running(chosen.results(), place_name(store))
    finally:
        store.close()
    return chosen.viewer if viewer is None else viewer.url
