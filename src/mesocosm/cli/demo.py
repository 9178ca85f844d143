"""`mesocosm demo`: the main job in one command."""

from pathlib import Path

import click

from mesocosm.cli.main import Command, options
from mesocosm.core.failure import UsageError

EXAMPLES = ("word-game", "grid-world", "negotiation")
MODELS = ("builtin/random", "builtin/oracle")


def examples() -> Path:
    """Return the directory of the shipped examples: inside the package, or beside the sources of a checkout."""
    import mesocosm

    package = Path(mesocosm.__file__).parent
    for place in (package / "examples", package.parents[1] / "examples"):
        if place.is_dir():
            return place
    raise UsageError("the examples are not part of this installation; make an environment with `mesocosm init` instead")


@click.command(cls=Command)
@click.option("--example", type=click.Choice(EXAMPLES), default=EXAMPLES[0], show_default=True, help="What is played.")
@click.option("--episodes", type=click.IntRange(min=1), default=20, show_default=True, help="Seeds for each agent.")
@click.option("--parallel", type=int, default=4, show_default=True, help="Episodes at the same time.")
@click.option("--quiet", is_flag=True, help="No progress.")
def demo(example: str, episodes: int, parallel: int, quiet: bool) -> int:
    """Run a shipped example with a random agent (the floor) and its oracle (the ceiling), and compare them."""
    from mesocosm.cli.render import emit, interval, number, table
    from mesocosm.cli.session import INTERRUPTED, attend_quietly
    from mesocosm.core.model import ModelSettings
    from mesocosm.core.run import BenchmarkRef, Run, RunSpec, Selection
    from mesocosm.interop.record import run_document

    chosen = options()
    chosen.quiet = quiet
    manifest = examples() / example / "benchanything.json"
    source = BenchmarkRef("environment", str(manifest), {})
    runs: list[tuple[Run, int]] = []
    for model in MODELS:
        spec = RunSpec(
            source, ModelSettings(model), selection=Selection(count=episodes), parallel=max(parallel, 1), name="demo"
        )
        runs.append(attend_quietly(spec))
        if runs[-1][1] == INTERRUPTED:
            break
    code = max(code for _, code in runs)
    if chosen.json:
        emit({"runs": [run_document(run) for run, _ in runs]})
        return code
    rows = [
        [
            run.model,
            metric.name,
            number(metric.value),
            interval(metric.low, metric.high),
            f"{metric.n_scored}/{metric.n_planned}",
        ]
        for run, _ in runs
        for metric in run.metrics
    ]
    click.echo(f"\n{runs[0][0].benchmark_title}: {episodes} seeds, floor and ceiling")
    table(["model", "metric", "value", "95 % interval", "n"], rows, chosen, right=(2, 4))
    click.echo(f"\nEverything is recorded in {chosen.results()}. Look at it:")
    for command, why in (
        ("mesocosm run list", "all runs"),
        ("mesocosm run show last", "one run"),
        ("mesocosm run episodes last --traces", "what happened, step by step"),
        ("mesocosm init --dir my-env", "an environment of your own"),
    ):
        click.echo(f"  {command:<40} {why}")
    return code
