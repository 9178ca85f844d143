"""Slices of an evaluation run by a label, for people and programs."""

from typing import TYPE_CHECKING, Any

import click
import msgspec

from mesocosm.cli.command import CommonOptions
from mesocosm.cli.render import scored, table
from mesocosm.core.run import Run

if TYPE_CHECKING:
    from mesocosm.engine.slices import Slices
    from mesocosm.store import Store


def document(run: Run, store: "Store", label: str) -> dict[str, Any]:
    """Return the slices as JSON. Raises UnknownName for a label that no sample has."""
    from mesocosm.engine.slices import slices

    found: dict[str, Any] = msgspec.to_builtins(slices(run, store.episodes, label))
    return found


def show(found: "Slices", chosen: CommonOptions) -> None:
    """Print the slices."""
    rows = []
    for one in found.slices:
        rate = one.pass_rate
        rows.append(
            [
                "(none)" if one.value is None else one.value,
                f"{one.reward.n_scored:,}/{one.samples:,}",
                scored(one.reward),
                scored(rate),
                f"{one.failed:,}",
            ]
        )
    click.echo(f"\nby {found.by}")
    table([found.by, "scored", "score", "pass rate", "failed"], rows, chosen, right=(1, 4), whole=(0,))
    if found.more:
        click.echo(f"and {found.more:,} more values")
