"""`mesocosm run create`: a run on the server."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from mesocosm.cli.command import FiniteFloat, options
from mesocosm.cli.gate_options import GateFlags, gate_options
from mesocosm.cli.limits import outage_options
from mesocosm.cli.remote.connection import Remote, document, known_client, team_for, team_options
from mesocosm.cli.render import emit, plain
from mesocosm.core.model import LOCAL_MAX_TOKENS

if TYPE_CHECKING:
    from mesocosm.server.schemas.run_request import RunInput


@gate_options(baseline=False)
@click.command(
    cls=Remote,
    many=("--seeds", "--tag"),
    own=(
        *(
            "--domain",
            "--vow-version",
            "--model",
            "--episodes",
            "--seeds",
            "--parallel",
            "--temperature",
            "--max-tokens",
        ),
        *("--system-prompt", "--visibility", "--env-id", "--team", "--solo", "--wait"),
    ),
)
@click.option("--domain", required=True, metavar="ID", help="Domain: see mesocosm domain list.")
@click.option(
    "--vow-version", metavar="VERSION", help="Version of its binding vow, as in 1.0.0  [--official: its own]."
)
@click.option("--model", required=True, metavar="PROVIDER/NAME", help="One of: mesocosm models.")
@click.option("--episodes", type=click.IntRange(min=1), help="Number of episodes  [1, or one for each seed].")
@click.option("--parallel", type=click.IntRange(min=1), default=1, show_default=True, help="Episodes in parallel.")
@click.option("--seeds", type=int, multiple=True, metavar="N [N ...]", help="Seeds, one for each episode  [0, 1, …].")
@click.option("--trials", type=click.IntRange(min=1), default=1, show_default=True, help="Repetitions of every seed.")
@click.option("--system-prompt", metavar="TEXT", help="Extra instruction for the agent.")
@click.option("--temperature", type=FiniteFloat(min=0), default=0.0, show_default=True, help="Sampling temperature.")
@click.option(
    "--max-tokens", type=click.IntRange(min=1), default=LOCAL_MAX_TOKENS, show_default=True, help="Tokens per reply."
)
@click.option(
    "--visibility",
    type=click.Choice(["private", "gallery_public"]),
    help="Who may see the run once it has ended  [private].",
)
@click.option(
    "--official",
    is_flag=True,
    help="Run by the official protocol with the server's seeds; always counts as an attempt.",
)
@click.option("--env-id", metavar="ID", help="Submitted environment, if you have several of the domain.")
@click.option("--name", default="", help="Name of the run.")
@click.option("--tag", "tags", multiple=True, help="Tags of the run.")
@outage_options
@click.option("--wait/--no-wait", help="Follow the run until it has ended.")
@team_options
@click.pass_context
def create(context: click.Context, /, wait: bool, team: str | None, solo: bool, **given: Any) -> int:
    """Start a run on the server. Print it as JSON, with --wait after it has ended.

    The server refuses a request that cannot work, with the reason, and then starts no cooldown.
    """
    from mesocosm.cli.remote.watch import INTERRUPTED, exit_code, follow, judge
    from mesocosm.compat.swecc.mapping import older_run

    gate = options().part(GateFlags)
    gate.check_remote(wait=wait)
    if given["official"]:
        # Send only options that were given: the server refuses options that do not apply to its protocol.
        unsaid = {name for name in given if context.get_parameter_source(name) is ParameterSource.DEFAULT}
        given = {name: None if name in unsaid else value for name, value in given.items()}
    elif not given["vow_version"]:
        raise click.UsageError("Missing option '--vow-version'.", context)
    client = known_client()
    if given["official"] and not given["vow_version"]:
        given["vow_version"] = client.domains.get(given["domain"]).binding_vow.version
    run = older_run(client.runs.create(_wanted(given, team_for(client.caller, team, solo=solo))))
    if not wait:
        emit(run)
        click.echo(f"follow it with: mesocosm run watch {run.id}", err=True)
        return 0
    click.echo(f"run {run.id}", err=True)
    over = follow(client, run.id)
    if over is None:
        return INTERRUPTED
    judged = judge(client, over)
    emit({**plain(over), "gate": judged.document()} if judged.verdicts else over)
    return judged.code(exit_code(over))


def _wanted(given: Mapping[str, Any], team_id: str | None) -> "RunInput":
    from mesocosm.server.schemas.run_request import RunInput

    seeds = given["seeds"]
    agent = {name: given[name] for name in ("model", "system_prompt", "temperature", "max_tokens")}
    episodes = given["episodes"] or (len(seeds) if seeds else None if given["official"] else 1)
    return document(
        RunInput,
        {
            "domain_id": given["domain"],
            "binding_vow_version": given["vow_version"],
            "agent_config": {name: value for name, value in agent.items() if value is not None},
            "num_episodes": episodes,
            "seed_set": list(seeds) if seeds else None,
            "max_parallel": given["parallel"],
            "env_id": given["env_id"],
            "team_id": team_id,
            "visibility": given["visibility"],
            "name": given["name"],
            "tags": list(given["tags"] or ()),
            "trials": given["trials"],
            "outage_seconds": given["outage_seconds"],
            "max_missing": given["max_missing"],
            "official": given["official"] or None,
        },
    )
