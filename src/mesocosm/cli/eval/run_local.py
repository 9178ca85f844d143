"""`mesocosm eval run-local CONFIG`, also available as `mesocosm run local CONFIG`."""

from pathlib import Path
from typing import Any

import click

from mesocosm.cli.command import Count, MesocosmCommand, executor_option, options, view_option
from mesocosm.cli.gate_options import gate_options
from mesocosm.cli.limits import limit_options, same_server_option

OWN = (
    *("--model", "--limit", "--rows", "--set", "--dataset-file", "--name", "--fresh", "--retry-failed"),
    *("--max-in-flight", "--output", "--budget", "--fail-if", "--junit", "--view"),
)
"""The options in the short help."""


@gate_options()
@click.command("run-local", cls=MesocosmCommand, own=OWN)
@click.argument("config", type=click.Path(path_type=Path))
@click.option("--rows", default="", metavar="LIST", help='Rows by index in the dataset, from 0: "3,7,10-20".')
@click.option("-m", "--model", default="", help="Model instead of the configured one: provider/name[@URL].")
@click.option("-n", "--limit", type=Count(), help='Number of rows from the start, or "all".')
@click.option("--name", default="", help="Name of the run; the same name again continues that run.")
@same_server_option
@click.option("--fresh", is_flag=True, help="Start over; the earlier run is kept under an archive name.")
@click.option("--retry-failed", is_flag=True, help="Repeat rows without a value; rows that count as worst are kept.")
@click.option(
    "--parallel", "--max-in-flight", "max_in_flight", type=click.IntRange(min=1), help="Rows in parallel [batch_size]."
)
@click.option(
    "--set", "assignments", multiple=True, metavar="KEY=VALUE", help="Change a value: --set evaluation.n=4. Repeatable."
)
@click.option("--dataset-file", default="", metavar="FILE", help="Dataset instead of the configured one.")
@click.option(
    "--secrets-file", default="", metavar="FILE", help="Secrets as NAME=value lines; - reads them from stdin."
)
@click.option("--in-process", is_flag=True, help="Run the rollout in this process, for a debugger.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write metrics and samples into this directory.")
@executor_option
@limit_options()
@click.option("--cache", metavar="FILE", default="", help="Response cache: identical calls are answered from it.")
@click.option("--tag", multiple=True, metavar="TAG", help="Tags of the run.")
@click.option("--quiet", is_flag=True, help="Do not show progress.")
@click.option("-y", "--yes", is_flag=True, help="Accepted for scripts; there is no prompt.")
@view_option
def run_local(config: Path, **given: Any) -> int:
    """Evaluate the rollout that CONFIG names, on this machine.

    Repeating the command continues an interrupted run, and runs nothing if everything is done. A changed pass_threshold
    is applied to the stored rewards.

    Conditions for gates are listed by mesocosm gate --help; exit 1 when one is broken, 3 when one cannot be decided.

    \b
    mesocosm eval run-local configs/eval/my-rollout.toml --limit 20
    mesocosm eval run-local configs/eval/my-rollout.toml --model ollama/llama3.2
    mesocosm eval run-local configs/eval/my-rollout.toml --fail-if 'pass_rate<0.8'
    """
    return evaluate(config, given)


def evaluate(config: Path, given: dict[str, Any]) -> int:
    """Run the configuration with these flags; return the exit code."""
    from mesocosm.cli.eval.work import EvalFlags, EvalWork

    chosen = options()
    chosen.quiet = chosen.quiet or given["quiet"]
    if given["view"] is not None:
        chosen.view = given["view"]
    if given["model"]:
        given["assignments"] += (f"experiment.model_path={given['model']}",)
    names = EvalFlags.__dataclass_fields__
    flags = EvalFlags(**{name: value for name, value in given.items() if name in names})
    with EvalWork(config, flags, chosen) as work:
        return work.run()
