"""`mesocosm eval run`: a configuration, or episodes of a domain on the server with their scores together."""

import json
from typing import TYPE_CHECKING, Any

import click

from mesocosm.cli.command import FiniteFloat, options
from mesocosm.cli.gate_options import GateFlags, gate_options
from mesocosm.cli.remote.connection import Remote, document, known_client
from mesocosm.cli.render import emit, plain
from mesocosm.core.failure import MesocosmError
from mesocosm.core.model import MAX_TOKENS

if TYPE_CHECKING:
    from mesocosm.client.client import Client
    from mesocosm.compat.swecc.documents import Run


class InvalidSeeds(MesocosmError):
    """The given set of seeds is invalid."""


class RunCommand(Remote):
    """The command; a TOML file makes it `eval run-local`, or with --remote or --on `eval submit`."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Parse the arguments with the command that they belong to."""
        command: click.Command = self
        if any(word.endswith(".toml") for word in args):
            command, args = command_of_file(args)
        if command is self:
            return super().make_context(info_name, args, parent, **extra)
        return command.make_context(info_name, args, parent, **extra)


def command_of_file(words: list[str]) -> tuple[click.Command, list[str]]:
    """Return the command that runs the configuration, and its words: `--on URL` is the server's --base-url."""
    from pathlib import Path

    from mesocosm.cli.eval.ask import run_file
    from mesocosm.cli.eval.ask_file import is_ask_file
    from mesocosm.cli.eval.run_local import run_local
    from mesocosm.cli.eval.submit import submit

    if is_ask_file(Path(next(word for word in words if word.endswith(".toml")))):
        return run_file, words
    if not {"--remote", "--on"} & {word.partition("=")[0] for word in words}:
        return run_local, words
    names = {"--on": "--base-url"}
    kept = [word for word in words if word != "--remote"]
    split = [word.partition("=") for word in kept]
    return submit, [names.get(name, name) + equals + value for name, equals, value in split]


@gate_options(baseline=False)
@click.command(cls=RunCommand, always=True)
@click.option("--domain-id", "--domain", "domain_id", required=True, metavar="ID", help="Domain to run.")
@click.option("--vow-version", metavar="VERSION", help="Version of its binding vow  [the current one].")
@click.option("--model", required=True, metavar="PROVIDER/NAME", help="One of: mesocosm models.")
@click.option(
    "--num-episodes",
    "--episodes",
    "num_episodes",
    type=click.IntRange(min=1),
    help="Episodes  [1, or one for each seed].",
)
@click.option("--seed-set", metavar="JSON", help="One seed for each episode, as in '[1,2,3]'.")
@click.option("--temperature", type=FiniteFloat(min=0), default=0.0, show_default=True, help="Sampling temperature.")
@click.option(
    "--max-tokens", type=click.IntRange(min=1), default=MAX_TOKENS, show_default=True, help="Tokens per reply."
)
@click.option("--max-parallel", type=click.IntRange(min=1), default=1, show_default=True, help="Concurrent episodes.")
@click.option("--require-published/--allow-draft", default=True, show_default=True, help="Whether drafts are refused.")
@click.option("--wait/--no-wait", default=True, show_default=True, help="Wait until the run has ended.")
def run(
    domain_id: str, vow_version: str | None, seed_set: str | None, require_published: bool, wait: bool, **given: Any
) -> int:
    """Run episodes of a domain, private to you, and print the run with its episodes and scores as JSON.

    Exits 1 when the run failed or was cancelled, 3 when it is incomplete.

    A configuration is run on this machine, with --remote on the server where you are logged in, with --on URL on
    another one. Its options: mesocosm eval run-local --help, mesocosm eval submit --help.

    \b
    mesocosm eval run configs/eval/my-rollout.toml -n 20
    mesocosm eval run configs/eval/my-rollout.toml --remote
    """
    from mesocosm.compat.swecc.mapping import older_run

    options().part(GateFlags).check_remote(wait=wait)
    seeds = _seeds(seed_set)
    client = known_client()
    known = client.domains.get(domain_id) if require_published or not vow_version else None
    if known is not None and require_published and known.status != "published":
        hint = "Use --allow-draft to bypass."
        emit({"error": "domain_not_published", "status": known.status.value, "hint": hint})
        click.echo(f"error: domain {domain_id} is {known.status.value}; --allow-draft runs it all the same", err=True)
        return 1
    version = vow_version or (known or client.domains.get(domain_id)).binding_vow.version
    made = older_run(client.runs.create(_wanted(domain_id, version, seeds, given)))
    if not wait:
        emit(made)
        click.echo(f"follow it with: mesocosm run watch {made.id}", err=True)
        return 0
    return _result(client, made)


def _wanted(domain_id: str, version: str, seeds: list[int] | None, given: dict[str, Any]) -> Any:
    from mesocosm.server.schemas.run_request import RunInput

    agent = {name: given[name] for name in ("model", "temperature", "max_tokens")}
    fields = {
        "domain_id": domain_id,
        "binding_vow_version": version,
        "agent_config": agent,
        "num_episodes": given["num_episodes"] or (len(seeds) if seeds else 1),
        "seed_set": seeds,
        "max_parallel": given["max_parallel"],
        "visibility": "private",
    }
    return document(RunInput, fields)


def _result(client: "Client", made: "Run") -> int:
    """Wait for a run, print it with its episodes and scores, and return the exit code."""
    from mesocosm.cli.remote.watch import INTERRUPTED, exit_code, follow, judge, list_episodes

    click.echo(f"run {made.id}", err=True)
    over = follow(client, made.id)
    if over is None:
        return INTERRUPTED
    episodes = list_episodes(client, over.id)
    judged = judge(client, over, episodes)
    gate = {"gate": judged.document()} if judged.verdicts else {}
    emit({**plain(over), "episodes": episodes, "aggregate_scores": over.scores, **gate})
    return judged.code(exit_code(over))


def _seeds(text: str | None) -> list[int] | None:
    """Return the seeds of a JSON array. Raises InvalidSeeds."""
    if text is None:
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list) or not found or any(type(item) is not int for item in found):
        raise InvalidSeeds("--seed-set must be a JSON array of integers, e.g. '[1,2,3]'")
    return found
