"""`mesocosm register FILE`: register a domain from Python."""

from pathlib import Path

import click

from mesocosm.cli.command import options
from mesocosm.cli.remote.connection import Remote, member_client
from mesocosm.cli.render import emit


@click.command(cls=Remote)
@click.argument("domain_file", metavar="DOMAIN.PY", type=click.Path(path_type=Path))
@click.option("--auto-id", is_flag=True, help="Register under the name of the file's directory.")
@click.option("--publish", is_flag=True, help="Publish it afterwards.")
def register(domain_file: Path, auto_id: bool, publish: bool) -> None:
    """Register the DOMAIN_CONFIG of a Python file, for an environment at a URL.

    Registering again updates it. For environments in a repository there is `mesocosm env submit`.
    """
    from mesocosm.client.registration import domain_from_script, put_domain, renamed

    client = member_client()
    config = domain_from_script(domain_file)
    if auto_id:
        config = renamed(config, domain_file.resolve().parent.name)
    domain, new = put_domain(client, config)
    if publish:
        domain = client.domains.publish(config.id)
    if options().json:
        emit(domain)
        return
    click.echo(f"{'registered' if new else 'updated'} domain {config.id} ({config.name}) at {client.base_url}")
    if publish:
        click.echo(f"published domain {config.id} at {client.base_url}")
