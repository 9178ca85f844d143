"""`mesocosm eval test`: one episode on the server."""

import click

from mesocosm.cli.command import FiniteFloat
from mesocosm.cli.remote.connection import Remote, document, known_client
from mesocosm.cli.render import emit
from mesocosm.core.model import MAX_TOKENS


@click.command(cls=Remote, always=True)
@click.option(
    "--domain-id", "--domain", "domain_id", required=True, metavar="ID", help="Domain to test; it must be yours."
)
@click.option("--vow-version", metavar="VERSION", help="Version of its binding vow  [the current one].")
@click.option("--model", required=True, metavar="PROVIDER/NAME", help="One of: mesocosm models.")
@click.option("--env-url", metavar="URL", help="Environment URL instead of the domain's.")
@click.option("--env-id", metavar="ID", help="Submitted environment, if you have several of the domain.")
@click.option("--seed", type=int, help="Seed of the episode.")
@click.option("--temperature", type=FiniteFloat(min=0), default=0.0, show_default=True, help="Sampling temperature.")
@click.option(
    "--max-tokens", type=click.IntRange(min=1), default=MAX_TOKENS, show_default=True, help="Tokens per reply."
)
def test(
    domain_id: str,
    vow_version: str | None,
    model: str,
    env_url: str | None,
    env_id: str | None,
    seed: int | None,
    temperature: float,
    max_tokens: int,
) -> int:
    """Run one episode of your domain and print it as JSON; exit 1 if it failed or was cancelled."""
    from mesocosm.cli.remote.watch import FAILED
    from mesocosm.compat.swecc.mapping import older_episode
    from mesocosm.server.schemas.run_request import TestEpisodeInput

    client = known_client()
    fields = {
        "domain_id": domain_id,
        "binding_vow_version": vow_version or client.domains.get(domain_id).binding_vow.version,
        "agent_config": {"model": model, "temperature": temperature, "max_tokens": max_tokens},
        "env_url": env_url,
        "env_id": env_id,
        "seed": seed,
    }
    episode = older_episode(client.test.play(document(TestEpisodeInput, fields)))
    emit(episode)
    if episode.status not in FAILED:
        return 0
    why = episode.terminal_info.get("error") or episode.terminal_info.get("reason") or ""
    click.echo(f"episode {episode.status.value}" + (f": {why}" if why else ""), err=True)
    return 1
