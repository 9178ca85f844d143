"""The flags that `bench run`, `plan` and `compare` share, and the request that they describe."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from mesocosm.cli.bench.catalogue import folders_option
from mesocosm.cli.command import SETTINGS, Count, FiniteFloat, executor_option, models_option, options
from mesocosm.cli.limits import chosen_limits, limit_options, same_server_option
from mesocosm.cli.mcp_options import mcp_offer, mcp_options
from mesocosm.core.folder import from_home

PARALLEL = 4
_LIMITS = {
    "limits.tokens": "run_tokens",
    "limits.usd": "run_usd",
    "limits.seconds": "run_seconds",
    "limits.requests_per_minute": "requests_per_minute",
    "limits.tokens_per_minute": "tokens_per_minute",
    "limits.retries": "retries",
}
"""The fields of core.run.Limits that settings set."""
_OF_MODEL = ("model.temperature", "model.max_tokens", "model.top_p", "model.reasoning_effort")
_OF_EVALUATION = ("evaluation.seed", "evaluation.timeout_s")

_WHAT = (
    click.argument("names", nargs=-1, metavar="[NAME...]"),
    click.option("--all", "everything", is_flag=True, help="Run every benchmark."),
    click.option(
        "--benchmarks", multiple=True, metavar="ID [ID ...]", help="Benchmarks, separated by spaces or commas."
    ),
    folders_option,
)
_HOW = (
    click.option(
        "--agent",
        default="",
        metavar="NAME",
        help="An installed agent, package.module:attr or FILE.py:attr; any other name is a label for the runs.",
    ),
    click.option(
        "--extra",
        metavar="JSON",
        default="",
        help='Parameters, as {"NAME": VALUE, …, "per_benchmark": {ID: {"NAME": VALUE}}}; or @FILE, @sample10, '
        "@orchestrator_subagents.",
    ),
    click.option(
        "-P",
        "-T",
        "--param",
        "params",
        multiple=True,
        metavar="NAME=VALUE",
        help="Parameter; the value is TOML, else text.",
    ),
    click.option(
        "--python", default="", metavar="PATH", help="Interpreter of a benchmark of another framework, as inspect:TASK."
    ),
    click.option(
        "-n",
        "--limit",
        "--max-examples",
        "max_examples",
        type=Count(),
        metavar="N",
        help='At most N tasks of each, drawn by seed and evenly over its categories; "all".',
    ),
    click.option("--trials", type=click.IntRange(min=1), help="Repetitions of every task."),
    click.option("--seed", type=int, help="Seed of generated tasks and of the sample."),
    click.option(
        "--timeout",
        type=FiniteFloat(min=0, min_open=True),
        help="Time limit of each benchmark in seconds; unfinished work can be continued.",
    ),
    click.option(
        "--parallel", type=click.IntRange(min=1), default=PARALLEL, show_default=True, help="Episodes in parallel."
    ),
    executor_option,
    limit_options("each benchmark"),
    mcp_options,
    click.option("--cache", metavar="FILE", default="", help="Response cache: identical calls are answered from it."),
    click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help=f"Anything else: {SETTINGS}."),
    click.option("--tag", multiple=True, metavar="TAG", help="Tags of the runs."),
    click.option("--quiet", is_flag=True, help="Do not show progress."),
)
_WHERE = (
    click.option("--remote", is_flag=True, help="Run on the server where you are logged in."),
    click.option("--on", metavar="URL", default="", help="Run on this server; the same as --remote --base-url URL."),
    click.option(
        "--workspace", metavar="NAME", default="", help="With --remote: run in this workspace  [the active one]."
    ),
    click.option("--solo", is_flag=True, help="With --remote: run for yourself, in no workspace."),
)
_MODEL = (
    click.option("--provider", default="", help="Provider of a --model that names none."),
    models_option,
    click.option("--temperature", type=FiniteFloat(min=0), help="Sampling temperature [0, or the benchmark's own]."),
    click.option("--judge", default="", metavar="MODEL", help="The model that graders ask  [the run's]."),
)
_AGAIN = (
    click.option(
        "--retry-failed",
        "--rerun-failed",
        "rerun_failed",
        is_flag=True,
        help="Run only what failed last time.",
    ),
    click.option("--fresh", "--force", "force", is_flag=True, help="Always start new runs."),
    click.option("--resume", is_flag=True, help="Accepted for compatibility: finished work is never repeated."),
    same_server_option,
)
MANY = ("--benchmarks",)
OWN_OF_PLAN = (
    *("--model", "--limit", "--trials", "--param", "--parallel", "--budget"),
    *("--fresh", "--retry-failed", "--set", "--all"),
)
OWN = (*OWN_OF_PLAN, "--judge", "--fail-if", "--dry-run", "--view")
"""The options in the short help of `bench plan` and of `bench run`."""


def _with(options: tuple[Callable[[Any], Any], ...]) -> Callable[[Any], Any]:
    def add(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return add


what, how, model, again, where = _with(_WHAT), _with(_HOW), _with(_MODEL), _with(_AGAIN), _with(_WHERE)


def on_server(given: Mapping[str, Any]) -> bool:
    """Return whether the flags name a server, and make it the one to talk to. Raises UsageError."""
    from mesocosm.core.failure import UsageError

    if given["on"]:
        if options().base_url not in {None, given["on"]}:
            raise UsageError("--on and --base-url name different servers; leave one out")
        options().base_url = given["on"]
    remote = bool(given["remote"] or given["on"])
    for name in () if remote else ("workspace", "solo"):
        if given[name]:
            raise UsageError(f"--{name} is for runs on a server; add --remote")
    if remote and given.get("judge"):
        raise UsageError("--judge is for runs on this machine; leave it out")
    if remote and given.get("mcp"):
        raise UsageError("--mcp is for runs on this machine; leave it out")
    if given["workspace"] and given["solo"]:
        raise UsageError("--workspace and --solo contradict each other; leave one out")
    return remote


def models_of(given: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the models that the flags name, else that of MESOCOSM_MODEL; empty without both. Raises UsageError."""
    models: tuple[str, ...] = given.get("models", ())
    if given.get("provider") or models:
        return models
    usual = os.environ.get("MESOCOSM_MODEL", "").strip()
    return (usual,) if usual else ()


def again_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options about earlier runs, as arguments of `BenchWork`."""
    return {name: given[name] for name in ("force", "rerun_failed", "same_server")}


def read_extra(text: str) -> dict[str, Any]:
    """Return the object given by --extra: JSON, or `@` with a file or profile name. Raises UsageError."""
    import msgspec

    from mesocosm.core.failure import UsageError

    if not text.strip():
        return {}
    source = "--extra"
    if text.startswith("@"):
        path = _profile(text[1:])
        try:
            text, source = path.read_text(encoding="utf-8"), f"--extra {path}"
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or error
            raise UsageError(
                f"the settings {path} cannot be read: {why}; name a file, or one of {', '.join(_profiles())}"
            ) from error
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise UsageError(f"{source} is not JSON: {error}; write for example '{{\"max_examples\": 10}}'") from error
    if not isinstance(found, dict):
        raise UsageError(f"{source} must be a JSON object, not {text[:40]}")
    return found


def _profile(name: str) -> Path:
    """Return a file by its path, or else the included profile of that name."""
    from mesocosm import benchmarks

    path = from_home(name)
    shipped = Path(benchmarks.__file__).with_name("profiles") / f"{name.removesuffix('.json')}.json"
    return shipped if not path.exists() and shipped.is_file() else path


def _profiles() -> list[str]:
    """Return the names of the included profiles, as they are written in --extra."""
    from mesocosm import benchmarks

    return sorted(f"@{file.stem}" for file in Path(benchmarks.__file__).with_name("profiles").glob("*.json"))


def request_of(given: Mapping[str, Any], **changes: Any) -> Any:
    """Return the request that the flags describe, which is for one model. Raises UsageError."""
    from mesocosm.cli.bench.request import BenchRequest, check_chosen
    from mesocosm.cli.settings import read_parameters, read_settings
    from mesocosm.core.failure import UsageError
    from mesocosm.core.run import Limits

    models = models_of(given)
    if len(models) > 1:
        raise UsageError(f"this is for one model, not for {' and '.join(models)}; run it once for each")
    named = (*given.get("names", ()), *given.get("benchmarks", ()))
    chosen = () if given.get("everything") else check_chosen(named)
    settings = read_settings(given["settings"])
    for key in settings:
        if key not in (*_LIMITS, *_OF_MODEL, *_OF_EVALUATION):
            raise UsageError(f"--set {key}: benchmarks choose it themselves; mesocosm bench show NAME has parameters")
    limits = {_LIMITS[key]: value for key, value in settings.items() if key in _LIMITS}
    extra = {**read_extra(given["extra"]), **read_parameters(given["params"])}
    extra |= {key.partition(".")[2]: value for key, value in settings.items() if key in _OF_MODEL}
    asked: dict[str, Any] = {
        "chosen": chosen,
        "provider": given.get("provider", ""),
        "model": next(iter(models), ""),
        "agent": given["agent"],
        "judge": given.get("judge", ""),
        "extra": extra,
        "mcp": mcp_offer(given),
        "temperature": given.get("temperature"),
        "limits": Limits(**{**limits, **chosen_limits(given)}),
        "cache": str(Path(given["cache"]).resolve()) if given["cache"] else "",
        "tags": given["tag"],
        "run_name": given.get("name", ""),
        **{name: given[name] for name in ("max_examples", "trials", "seed", "timeout", "parallel")},
    }
    asked["max_examples"] = given["max_examples"] or None
    for key, name in zip(_OF_EVALUATION, ("seed", "timeout"), strict=True):
        if asked[name] is None:
            asked[name] = settings.get(key)
    return BenchRequest(**{**asked, **changes})
