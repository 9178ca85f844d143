"""`bench run inspect:TASK`, `bench run lm-eval:TASK`: benchmarks of other frameworks, by the flags of `bench run`."""

from collections.abc import Mapping
from typing import Any

import click

from mesocosm.cli.bench import flags
from mesocosm.cli.command import options
from mesocosm.cli.evaluating import arguments_of, play
from mesocosm.cli.sources import calls_of, named_sources
from mesocosm.core.failure import UsageError

_CANNOT = {
    "dry_run": "--dry-run",
    "cache": "--cache",
    "everything": "--all",
    "benchmarks": "--benchmarks",
    "same_server": "--same-server",
    "outage_seconds": "--outage-seconds",
    "max_missing": "--max-missing",
}
_SETTINGS = {
    "run_tokens": "limits.tokens",
    "rpm": "limits.requests_per_minute",
    "tpm": "limits.tokens_per_minute",
    "retries": "limits.retries",
    "seed": "evaluation.seed",
    "temperature": "model.temperature",
    "timeout": "limits.seconds",
}
"""Flags and the settings that mean the same."""
_OF_BENCH = {"evaluation.timeout_s": "limits.seconds"}
"""Settings of `bench run` that mean a whole benchmark, and those that mean one elsewhere."""


def run_sources(given: Mapping[str, Any]) -> int:
    """Run each named benchmark with each named model; return the worst exit code. Raises UsageError."""
    names = list(given["names"])
    others = [name for name in names if name not in named_sources(names)]
    if others:
        raise UsageError(f"{', '.join(others)} and {named_sources(names)[0]} run in commands of their own")
    for key, flag in _CANNOT.items():
        if given.get(key) not in (None, False, "", ()):
            raise UsageError(f"{flag} does nothing for {names[0]}; leave it out")
    models = flags.models_of(given)
    if options().executor != "auto" and len(models) > 1:
        raise UsageError("with --executor, name one model: runs that go at once share their budgets in this process")
    if given["name"] and len(names) > 1:
        raise UsageError("--name is for one run: name one benchmark, or use --tag")
    told = [f"{key}={given[flag]}" for flag, key in _SETTINGS.items() if given.get(flag) is not None]
    split = [text.partition("=") for text in given["settings"]]
    asked = {
        **given,
        "settings": (*(_OF_BENCH.get(key.strip(), key) + equals + value for key, equals, value in split), *told),
        "limit": given["max_examples"] or None,
        "tags": given["tag"],
        "budget": given.get("run_usd"),
        "fresh": given["force"],
        "retry_failed": given["rerun_failed"],
    }
    call = arguments_of(asked)
    codes = []
    for place, name in enumerate(names):
        if place:
            click.echo()
        codes.append(play(calls_of(name, asked, models, call), asked, "task"))
    return max(codes)
