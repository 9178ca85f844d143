"""`mesocosm plugins`: installed plugins."""

import click

from mesocosm.cli.command import MesocosmCommand, options
from mesocosm.cli.render import emit, table


@click.command(cls=MesocosmCommand)
def plugins() -> None:
    """List sources, models, agents, techniques, graders and executors, with the package that each comes from."""
    from mesocosm.core.registry import AGENTS, EXECUTORS, GRADERS, MODELS, SOURCES, TECHNIQUES

    rows = [
        [registry.kind, entry.name, entry.origin, entry.target]
        for registry in (SOURCES, MODELS, AGENTS, TECHNIQUES, GRADERS, EXECUTORS)
        for entry in registry.entries()
    ]
    if options().json:
        emit([dict(zip(("kind", "name", "origin", "target"), row, strict=True)) for row in rows])
        return
    table(["kind", "name", "from", "implemented by"], rows, options())
