"""`mesocosm check`: compare an environment with its manifest."""

import asyncio
from pathlib import Path

import click

from mesocosm.cli.command import MesocosmCommand, options
from mesocosm.cli.render import emit


@click.command(cls=MesocosmCommand)
@click.argument("place", metavar="[DIR|FILE]", default=".")
@click.option("--seeds", type=click.IntRange(1, 1000), default=5, show_default=True, help="Number of seeds to run.")
@click.option("--parallel", type=click.IntRange(1, 256), default=8, show_default=True, help="Concurrent episodes.")
def check(place: str, seeds: int, parallel: int) -> int:
    """Run an environment with random actions and its oracle, and compare its manifest with the results.

    Each seed is run in two processes (determinism) and alongside others (isolation), and compared. Spaces,
    rewards, roles and the fields of metrics are checked, and the scores of random actions and of the oracle. The result
    is written beside the manifest, with the digest of the content. Exits 1 when something is wrong.
    """
    from mesocosm.environments.check import check as checked
    from mesocosm.environments.check import write
    from mesocosm.environments.manifest import find_manifest

    path = Path(place)
    manifest = find_manifest(path) if path.is_dir() else path

    def say(words: str) -> None:
        if not options().json:
            click.echo(words, err=True)

    verdict = asyncio.run(checked(manifest, say, seeds=seeds, parallel=parallel))
    file = write(verdict, manifest)
    if options().json:
        emit({**verdict.to_json(), "file": str(file)})
        return 0 if verdict.ok else 1
    for finding in verdict.findings:
        mark = {True: "✓", False: "✗", None: "?"}[finding.ok]
        click.echo(f"{mark} {finding.name}: {finding.message}")
    click.echo(f"{verdict.words}\nwritten to {file}")
    return 0 if verdict.ok else 1
