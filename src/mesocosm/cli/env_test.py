"""`mesocosm env test`: check whether this folder's adapter meets a server's requirements."""

import asyncio
from pathlib import Path
from typing import Any

import click

from mesocosm.cli.command import MesocosmCommand, options
from mesocosm.cli.render import emit


@click.command(cls=MesocosmCommand)
@click.option("--manifest", metavar="FILE", help="benchanything.json [searched in ., auxiliary/, files/].")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the episode.")
@click.option("--steps", type=click.IntRange(min=1), default=1, show_default=True, help="Actions to take at most.")
def test(manifest: str | None, seed: int, steps: int) -> int:
    """Start the adapter of this folder and test health, reset, random actions and close, without a server.

    The server tests submissions in the same way. Exits 1 if something does not work.
    """
    from mesocosm.core.failure import EpisodeError, RunAborted
    from mesocosm.environments.manifest import find_manifest

    path = Path(manifest) if manifest else find_manifest(Path.cwd())
    done: list[dict[str, Any]] = []
    problem = ""
    try:
        asyncio.run(_try(path, seed, steps, done))
    except (EpisodeError, RunAborted) as error:
        problem = str(error) + (f"\n{error.stderr}" if isinstance(error, EpisodeError) and error.stderr else "")
    if options().json:
        emit({"ok": not problem, "manifest": str(path), "seed": seed, "done": done, "error": problem or None})
        return 1 if problem else 0
    if problem:
        click.echo(f"✗ {problem}", err=True)
        return 1
    click.echo(f"ok: {path} answers health, reset, {len(done) - 2} × step, close")
    return 0


async def _try(path: Path, seed: int, steps: int, done: list[dict[str, Any]]) -> None:
    """Run the start of an episode; add what worked to `done`."""
    import random

    from mesocosm.core.run import BenchmarkRef
    from mesocosm.core.sampling import sample
    from mesocosm.core.task import Task
    from mesocosm.environments.benchmark import open_environment

    def report(what: str, **more: Any) -> None:
        done.append({"what": what, **more})
        if not options().json:
            click.echo(f"✓ {what}" + (f" {more}" if more else ""), err=True)

    benchmark = open_environment(BenchmarkRef("environment", str(path), {}))
    dice = random.Random(seed)
    try:
        await benchmark.open(lambda words: click.echo(words, err=True))
        report("health")
        world = await benchmark.environment(Task(f"seed-{seed}", seed=seed), "smoke-test")
        await world.reset()
        report("reset", seed=seed)
        for _ in range(steps):
            action = sample(benchmark.action_space, dice)
            step = await world.step(action)
            report("step", reward=step.reward, ended=step.terminated or step.truncated)
            if step.terminated or step.truncated:
                break
        await world.close()
    finally:
        await benchmark.close()
