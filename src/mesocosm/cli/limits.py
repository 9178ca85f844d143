"""Options shared by commands that run or continue runs: rates, budgets, retries, outages, servers."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from mesocosm.cli.command import FiniteFloat
from mesocosm.core.model import ModelName

C = TypeVar("C", bound=Callable[..., Any])

_FIELDS = {"rpm": "requests_per_minute", "tpm": "tokens_per_minute"}
_NAMES = ("rpm", "tpm", "run_tokens", "run_usd", "retries", "outage_seconds", "max_missing")


def limit_options(of: str = "the run") -> Callable[[C], C]:
    """Add --rpm, --tpm, --run-tokens, --run-usd, --retries, --outage-seconds and --max-missing to a command."""
    options = (
        click.option("--rpm", type=FiniteFloat(min=0, min_open=True), help="Model requests per minute."),
        click.option("--tpm", type=FiniteFloat(min=0, min_open=True), help="Model tokens per minute."),
        click.option("--run-tokens", type=click.IntRange(min=1), help=f"Token budget of {of}."),
        click.option(
            "--budget",
            "--run-usd",
            "run_usd",
            metavar="USD",
            type=FiniteFloat(min=0, min_open=True),
            help=f"Budget of {of} in US dollars.",
        ),
        click.option("--retries", type=click.IntRange(min=0), help="Retries of a model call  [4]."),
    )

    def add(command: C) -> C:
        command = outage_options(command)
        for option in reversed(options):
            command = option(command)
        return command

    return add


def outage_options(command: C) -> C:
    """Add --outage-seconds and --max-missing to a command."""
    waiting = click.option(
        "--outage-seconds",
        type=FiniteFloat(min=0),
        help="Seconds to wait for a model server, judge or environment that does not answer  [300].",
    )
    missing = click.option(
        "--max-missing",
        type=FiniteFloat(min=0, max=1),
        help="Share of episodes that may lack a value; beyond it the run is partial  [0.02].",
    )
    return waiting(missing(command))


def chosen_limits(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of core.run.Limits that these options set; absent options and None are left out."""
    return {_FIELDS.get(name, name): given[name] for name in _NAMES if given.get(name) is not None}


def same_server_option(command: C) -> C:
    """Add --same-server to a command that may continue or replace an earlier run."""
    return click.option(
        "--same-server",
        is_flag=True,
        help="The model's server has only moved: treat it as the server of the earlier run.",
    )(command)


def settled(name: ModelName) -> str:
    """Return a model's name with the absolute path of its file, so that the run can be continued from any directory."""
    return name.resolved()
