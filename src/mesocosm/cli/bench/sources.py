"""`bench run inspect:TASK`, `bench run lm-eval:TASK`: benchmarks of other frameworks, by the flags of `bench run`."""

from collections.abc import Mapping
from typing import Any

import click

from mesocosm.cli.bench import flags
from mesocosm.cli.command import options
from mesocosm.cli.evaluating import EvaluateCall, play
from mesocosm.cli.sources import named_sources, needing_none, parameters_of
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
_LIMITS = {
    "run_tokens": "limits.tokens",
    "rpm": "limits.requests_per_minute",
    "tpm": "limits.tokens_per_minute",
    "retries": "limits.retries",
}
"""Flags and the settings that mean the same."""


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
    if len(set(models)) < len(models):
        raise UsageError("two of these models are the same; leave one out")
    if options().executor != "auto" and len(models) > 1:
        raise UsageError("with --executor, name one model: runs that go at once share their budgets in this process")
    if given["name"] and len(names) > 1:
        raise UsageError("--name is for one run: name one benchmark, or use --tag")
    codes = []
    for place, name in enumerate(names):
        if place:
            click.echo()
        arguments, written = _arguments(given)
        asked = models or needing_none(name, arguments.get("params", {}), given["agent"])
        calls = [EvaluateCall(name, {**arguments, "model": model}, model, written) for model in asked]
        codes.append(play(calls, {**given, "fresh": given["force"], "retry_failed": given["rerun_failed"]}, "task"))
    return max(codes)


def _arguments(given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the arguments of `evaluate` that the flags mean, and how they are written."""
    from mesocosm.cli.evaluating import arguments_of

    settings = [f"{key}={given[flag]}" for flag, key in _LIMITS.items() if given.get(flag) is not None]
    asked = {
        **given,
        "settings": (*given["settings"], *settings),
        "limit": given["max_examples"] or None,
        "tags": given["tag"],
        "budget": given.get("run_usd"),
    }
    found, written = arguments_of(asked)
    for name in ("seed", "temperature", "timeout"):
        if given.get(name) is not None:
            found[name] = given[name]
    if given["agent"]:
        found["agent"] = given["agent"]
    params = {**flags.read_extra(given["extra"]), **parameters_of(given)}
    if params:
        found["params"] = params
    return found, written
