"""`mesocosm worker`: a process that builds environments and executes runs of a server."""

from pathlib import Path
from typing import Any

import click

from mesocosm.cli.command import MesocosmCommand, options


@click.command(cls=MesocosmCommand)
@click.option("--config", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Settings file (TOML).")
@click.option("--data-dir", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="[./mesocosm-data]")
@click.option("--runs-at-once", type=click.IntRange(min=1), help="Runs to play in parallel [8].")
@click.option("--episodes-at-once", type=click.IntRange(min=1), help="Concurrent episodes of all runs [64].")
@click.option("--sandbox", type=click.Choice(["auto", "bubblewrap", "docker", "plain"]), help="[auto]")
@click.option("--unsafe-sandbox", is_flag=True, default=None, help="Allow `plain`: submissions run unconfined.")
@click.option("--log-format", type=click.Choice(["text", "json"]), help="[text]")
@click.option("--run", "run_id", metavar="RUN", help="Only help this run of another process (--executor queue).")
@click.option("--once", is_flag=True, help="Exit when the queue is empty; with --run, when the run has ended.")
@click.option("--attached", is_flag=True, hidden=True, help="End when standard input does.")
def worker(config: Path | None, run_id: str | None, once: bool, attached: bool, **given: Any) -> int:
    """Build submitted environments and execute run requests, beside `mesocosm serve` or on another machine.

    It reads the same settings as the server and uses the same database. When it is stopped, its unfinished work returns
    to the queue; if it dies, another worker takes over.

    With --run it plays episodes of that run only, on this machine, until it is stopped, and nothing else.
    """
    from mesocosm.server.service import opened
    from mesocosm.server.settings import read_settings
    from mesocosm.server.web.logs import logging_as
    from mesocosm.server.workers.helping import help_one
    from mesocosm.server.workers.worker import run_worker

    chosen = options()
    settings = read_settings(config, **given, database_url=chosen.database_url, blob_url=chosen.blob_url)
    with logging_as(settings.log_format), opened(settings) as service:
        if run_id is not None:
            return help_one(service, run_id, once=once)
        run_worker(service, once=once, attached=attached)
    return 0
