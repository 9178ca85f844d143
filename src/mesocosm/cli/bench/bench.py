"""The command group `mesocosm bench`."""

import click

from mesocosm.cli.command import MORE, MesocosmGroup, Tree
from mesocosm.cli.main import program

_HERE = "mesocosm.cli.bench"
TREE: Tree = {
    "list": (f"{_HERE}.catalogue:list_", "List all benchmarks; with --check verify every folder."),
    "show": (f"{_HERE}.catalogue:show", "Show a benchmark: parameters, requirements, licence, scores."),
    "search": (f"{_HERE}.search:search", "Find benchmarks: built-in ones, and those of other frameworks."),
    "run": (f"{_HERE}.run:run", "Run benchmarks: finished work is skipped, interrupted work is continued."),
    "plan": (f"{_HERE}.run:plan", "Show what `run` would do: finished and pending work, and its cost.", MORE),
    "compare": (f"{_HERE}.compare:compare", "Run benchmarks with two models and compare them.", MORE),
    "view-comparison": (f"{_HERE}.compare:view_comparison", "Show a stored comparison again.", MORE),
    "list-benchmarks": (f"{_HERE}.catalogue:list_benchmarks", "List all benchmarks; verify every folder.", MORE),
    "describe": (f"{_HERE}.catalogue:describe", "Show a benchmark, as `show` does.", MORE),
    "show-runs": (f"{_HERE}.history:show_runs", "List runs, sorted by agent and run id.", MORE),
    "recover-stale-runs": (
        f"{_HERE}.history:recover_stale_runs",
        "Mark runs as interrupted if their process is gone.",
        MORE,
    ),
    "export-viewer-data": (
        f"{_HERE}.history:export_viewer_data",
        "Write viewer_data.json from the results.",
        MORE,
    ),
    "serve-viewer": (f"{_HERE}.history:serve_viewer", "Serve the viewer of the results.", MORE),
}


OLDER = ("auth", "team", "env", "register", "init")
"""Commands that could once be written with the prefix `bench`, as could `run local`, `run create` and `run export`."""
OLDER_RUN = ("local", "create", "export")


class BenchGroup(MesocosmGroup):
    """The commands of benchmarks. It still accepts command lines from when `bench` was a prefix of other commands."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, including those that have moved to the top level."""
        if cmd_name in OLDER:
            return program.get_command(ctx, cmd_name)
        return super().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; `run local`, which names no benchmark, is the top-level `run`."""
        if args[:1] == ["run"] and args[1:2] and args[1] in OLDER_RUN:
            return args[0], program.get_command(ctx, "run"), args[1:]
        return super().resolve_command(ctx, args)


@click.group(cls=BenchGroup, tree=TREE)
def bench() -> None:
    """Run benchmarks, inspect results, and compare models."""
