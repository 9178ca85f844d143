"""The configuration of an evaluation run, for people."""

from collections.abc import Mapping
from typing import Any

import click

from mesocosm.cli.command import CommonOptions
from mesocosm.cli.render import table, when
from mesocosm.core.run import Run


def configuration(run: Run, chosen: CommonOptions) -> None:
    """Print what a run was started with, and with which code."""
    options, facts = run.spec.benchmark.options, run.provenance.get("eval", {})
    seconds = (options.get("workflow_seconds", 450.0), options.get("grader_seconds", 150.0))
    rows = [
        ("run", run.id),
        ("config", str(facts.get("config", "–"))),
        ("rollout", f"{run.agent} ({options.get('entrypoint', '')})"),
        ("commit", _commit(facts)),
        ("dataset", str(options.get("dataset", ""))),
        ("rows", str(run.info.get("description", ""))),
        ("n", str(run.spec.selection.trials)),
        ("pass threshold", f"{options.get('pass_threshold', 1.0):g}"),
        (
            "timeouts",
            " · ".join(f"{what} {value:g} s" for what, value in zip(("workflow", "grader"), seconds, strict=True)),
        ),
        ("in flight", _in_flight(run)),
        ("model", f"temperature {run.spec.model.temperature:g} · max_tokens {run.spec.model.max_tokens:,}"),
        ("judge", "" if run.spec.judge is None else run.spec.judge.name),
        ("grader", str(options.get("grader", {}).get("use", "")) or "the rollout's own"),
        ("env", ", ".join(options.get("environment", {}))),
        ("secrets", ", ".join(options.get("secrets", ()))),
        ("started", when(run.started_at)),
        ("ended", when(run.ended_at)),
    ]
    click.echo("\nconfiguration")
    table(["", ""], [row for row in rows if row[1]], chosen, whole=(0,))


def _in_flight(run: Run) -> str:
    """Return how many samples are played at once at most."""
    most = run.info.get("parallel")
    if most is None and run.spec.benchmark.options.get("capped"):
        return "as many as the rollout takes"
    return str(run.spec.parallel if most is None else min(run.spec.parallel, most))


def _commit(facts: Mapping[str, Any]) -> str:
    """Return the commit of the code, and whether files differed from it."""
    commit = str(facts.get("commit", ""))[:12]
    return f"{commit} with changes" if commit and facts.get("dirty") else commit
