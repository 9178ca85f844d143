"""`mesocosm run local`: episodes on this machine, with a manifest and a model."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import msgspec
from click.core import ParameterSource

from mesocosm.cli.command import FiniteFloat, MesocosmCommand, executor_option, options, view_option
from mesocosm.cli.gate_options import GateFlags, gate_options
from mesocosm.cli.limits import chosen_limits, limit_options, same_server_option, settled
from mesocosm.core.failure import MesocosmError, UsageError
from mesocosm.core.model import LOCAL_MAX_TOKENS, ModelName, ModelSettings
from mesocosm.core.run import AgentSettings, BenchmarkRef, Limits, RunSpec, Selection

DEFAULT_MODEL = "ollama/llama3.2"
DEFAULT_EPISODES = 5
DEFAULT_ENV_URL = "http://localhost:8765"
START_S = 30.0
MOST_EPISODES = 100_000_000
MOST_SEEDS = 1_000_000
"""Maximum number of seeds listed one by one, because they are part of the run's description."""
LARGEST_SEED = 2**63 - 1

OWN = (
    *("--manifest", "--model", "--env-url", "--episodes", "--seeds", "--trials", "--agent", "--parallel"),
    *("--allow-cloud", "--resume", "--budget", "--fail-if", "--name", "--view"),
)
"""The options in the short help."""

_SEEDS = re.compile(r"(-?[0-9]+)(?:-(-?[0-9]+))?")


def _techniques(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, Any]:
    import json

    chosen: dict[str, Any] = {}
    for value in values:
        name, _, text = value.partition("=")
        try:
            chosen[name] = json.loads(text) if text else {}
        except (ValueError, RecursionError) as error:
            raise click.BadParameter(f"{value!r}: what follows '=' is not a JSON object ({error})") from error
        if chosen[name] is not False and not isinstance(chosen[name], dict):
            raise click.BadParameter(f'{value!r}: give a JSON object, as in memory={{"window_size": 6}}, or false')
    return chosen


def _values(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, Any]:
    import json

    chosen: dict[str, Any] = {}
    for value in values:
        name, separator, text = value.partition("=")
        if not separator:
            raise click.BadParameter(f"{value!r} is not of the form NAME=VALUE")
        try:
            chosen[name] = json.loads(text)
        except (ValueError, RecursionError):
            chosen[name] = text
    return chosen


def _history(context: click.Context, parameter: click.Parameter, value: str) -> str | int:
    if value in {"full", "none"}:
        return value
    if value.isdigit() and int(value) > 0:
        return int(value)
    raise click.BadParameter(f"{value!r} is neither 'full' nor 'none' nor a number of turns")


def parse_seeds(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[int, ...] | None:
    """Return the seeds of an option, None without any. Raises BadParameter."""
    seeds: list[int] = []
    for value in (part for text in values for part in text.split(",") if part):
        found = _SEEDS.fullmatch(value)
        if found is None:
            raise click.BadParameter(f"{value!r} is neither an integer nor a range like 0-99")
        first, last = int(found[1]), int(found[2] or found[1])
        if last < first:
            raise click.BadParameter(f"{value!r} ends before it begins; write {last}-{first}")
        if max(abs(first), abs(last)) > LARGEST_SEED:
            raise click.BadParameter(f"{value!r}: a seed is between -{LARGEST_SEED} and {LARGEST_SEED}")
        if last - first >= MOST_SEEDS - len(seeds):
            raise click.BadParameter(f"these are more than {MOST_SEEDS:,} seeds; --episodes N takes 0 to N-1")
        seeds += range(first, last + 1)
    if values and not seeds:
        raise click.BadParameter("there is no seed in it")
    return tuple(seeds) or None


class LocalCommand(MesocosmCommand):
    """The command; a TOML file makes it `eval run-local`, which has different flags."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Parse the arguments with the command that they belong to."""
        if any(word.endswith(".toml") for word in args):
            from mesocosm.cli.eval.run_local import run_local

            return run_local.make_context(info_name, args, parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@gate_options()
@click.command(cls=LocalCommand, many=("--seeds", "--tag"), own=OWN)
@click.option("--manifest", metavar="FILE", help="benchanything.json [searched in ., auxiliary/, files/].")
@click.option("--domain-id", metavar="ID", help="Domain id instead of the manifest's.")
@click.option(
    "-m", "--model", default=DEFAULT_MODEL, show_default=True, metavar="PROVIDER/NAME[@URL]", help="Model to run."
)
@click.option(
    "--env-url", metavar="URL", help=f"Adapter to use if it answers [{DEFAULT_ENV_URL}]; else one is started."
)
@click.option("--pass-env", multiple=True, metavar="NAME", help="Variable with a credential to pass to the adapter.")
@click.option(
    "--episodes", type=click.IntRange(1, MOST_EPISODES), help=f"Number of episodes, seeds 0, 1, … [{DEFAULT_EPISODES}]."
)
@click.option("--seeds", multiple=True, callback=parse_seeds, metavar="N [N ...]", help="Seeds, also as ranges (0-99).")
@click.option("--trials", type=click.IntRange(min=1), default=1, show_default=True, help="Repetitions of every seed.")
@click.option("--system-prompt", metavar="TEXT", default="", help="Extra instruction for the agent.")
@click.option("--temperature", type=FiniteFloat(min=0), default=0.0, show_default=True, help="Sampling temperature.")
@click.option(
    "--max-tokens",
    type=click.IntRange(min=1),
    default=LOCAL_MAX_TOKENS,
    show_default=True,
    help="Tokens per reply; `mesocosm run .` has 4,096.",
)
@click.option("--parallel", type=int, default=1, show_default=True, help="Episodes in parallel.")
@executor_option
@click.option("--quiet", is_flag=True, help="Do not show progress.")
@click.option(
    "--history", default="full", callback=_history, show_default=True, help="full, none, or a number of turns."
)
@click.option("--history-tokens", type=click.IntRange(min=1), help="Token budget of the conversation.")
@click.option(
    "--technique",
    multiple=True,
    callback=_techniques,
    metavar="ID[=JSON]",
    help="Enable a technique, or disable it with =false.",
)
@click.option(
    "--reask", type=click.IntRange(min=0), default=1, show_default=True, help="Re-asks on a malformed action."
)
@click.option(
    "--on-malformed",
    type=click.Choice(["pass", "ask", "fail"]),
    help="A reply without a valid action: pass its text on, ask again, or fail [as the manifest says].",
)
@click.option(
    "--structured", type=click.Choice(["auto", "on", "off"]), default="auto", help="Native structured output."
)
@click.option(
    "--agent", default="loop", show_default=True, metavar="NAME", help="Agent, also as module:attr or FILE.py:attr."
)
@click.option(
    "--agent-option", multiple=True, callback=_values, metavar="NAME=VALUE", help="Option of the agent (JSON or text)."
)
@click.option(
    "--extra",
    multiple=True,
    callback=_values,
    metavar="NAME=VALUE",
    help="Field of the model's requests (JSON or text).",
)
@click.option(
    "--profile",
    type=click.Choice(["swecc-0.2"]),
    help="Reproduce that program exactly: prompt, history, parsing, limits.",
)
@click.option("--max-steps", type=click.IntRange(min=1), help="Step limit below the declared one.")
@click.option("--episode-seconds", type=FiniteFloat(min=0, min_open=True), help="Time limit of an episode.")
@click.option("--episode-tokens", type=click.IntRange(min=1), help="Token limit of an episode.")
@click.option("--run-seconds", type=FiniteFloat(min=0, min_open=True), help="Time budget of the run.")
@limit_options()
@click.option(
    "--timeout",
    type=FiniteFloat(min=0, min_open=True),
    default=120.0,
    show_default=True,
    help="Seconds per model call.",
)
@click.option(
    "--step-timeout",
    type=FiniteFloat(min=0, min_open=True),
    default=60.0,
    show_default=True,
    help="Seconds per adapter call.",
)
@click.option(
    "--start-timeout",
    type=FiniteFloat(min=0, min_open=True),
    default=START_S,
    show_default=True,
    help="Seconds to wait for the adapter to answer /health.",
)
@click.option("--cache", metavar="FILE", default="", help="Response cache: identical calls are answered from it.")
@click.option("--allow-cloud", is_flag=True, help="Allow a model that is not on this machine.")
@same_server_option
@click.option("--resume", is_flag=True, help="Continue an unfinished run of the same experiment, if there is one.")
@click.option("--name", default="", metavar="TEXT", help="Name of the run.")
@click.option("--tag", multiple=True, metavar="TAG", help="Tags of the run.")
@view_option
def local(**given: Any) -> int:
    """Run episodes of an environment on this machine and record them.

    The adapter of the manifest is started on a free port unless one answers already. Only models on this machine are
    used (ollama, builtin, replay, loopback URLs) unless --allow-cloud is given.

    \b
    mesocosm run local --model builtin/random --episodes 20 --parallel 4
    mesocosm run local --model ollama/llama3.2
    mesocosm run local --model openai/my-model@http://127.0.0.1:8001/v1 --seeds 1 2 3

    \b
    With the configuration of an evaluation it evaluates that rollout: see mesocosm eval run-local --help.
    mesocosm run local configs/eval/my-rollout.toml
    """
    from mesocosm.cli.session import start_run

    options().part(GateFlags).check()
    spec = local_spec(given)
    _stay_local(spec.model.name, allowed=given["allow_cloud"])
    options().quiet = given["quiet"]
    options().view, options().opens = given["view"], bool(given["view"])
    python = python_of_local(spec, given)
    return start_run(spec, resume=given["resume"], same_server=given["same_server"], python=python)


def python_of_local(spec: RunSpec, given: Mapping[str, Any]) -> str:
    """Return the call in Python that finds the same run; "" for what only the command can say."""
    from mesocosm.agents.options import USUAL
    from mesocosm.cli.evaluating import EvaluateCall
    from mesocosm.environments.manifest import find_manifest

    system = given["system_prompt"]
    usual = {**(USUAL if spec.agent.name == "loop" else {}), **({"system_prompt": system} if system else {})}
    limited = msgspec.structs.replace(spec.limits, episode_seconds=None) != Limits()
    only_here = ("pass_env", "domain_id", "cache", "profile", "extra")
    manifest = Path(spec.benchmark.source)
    try:
        found = find_manifest(manifest.parent) == manifest
    except MesocosmError:
        found = False
    if spec.agent.options != usual or limited or not found or any(given[name] for name in only_here):
        return ""
    here, folder = Path.cwd().resolve(), manifest.parent
    what = os.path.relpath(folder, here) if folder.is_relative_to(here) else str(folder)
    arguments = {
        "params": {"env_url": given["env_url"]} if given["env_url"] else None,
        "model": spec.model.name,
        "only": list(spec.selection.seeds or ()) or None,
        "limit": spec.selection.count,
        "trials": spec.selection.trials if spec.selection.trials > 1 else None,
        "system": system or None,
        "agent": None if spec.agent.name == "loop" else spec.agent.name,
        "temperature": spec.model.temperature or None,
        "max_tokens": spec.model.max_tokens,
        "timeout": spec.limits.episode_seconds,
        "parallel": spec.parallel,
        "name": spec.name or None,
        "tags": list(spec.tags) or None,
    }
    return EvaluateCall(what, {name: value for name, value in arguments.items() if value is not None}).python()


def local_spec(given: Mapping[str, Any]) -> RunSpec:
    """Return the spec that the flags describe. Raises UsageError if the manifest cannot be found."""
    from mesocosm.environments.manifest import find_manifest

    manifest = Path(given["manifest"]) if given["manifest"] else find_manifest(Path.cwd())
    source: dict[str, Any] = {
        "env_url": (given["env_url"] or DEFAULT_ENV_URL).rstrip("/"),
        "explicit_env_url": given["env_url"] is not None,
        "step_timeout": given["step_timeout"],
    }
    if given["start_timeout"] != START_S:
        source["start_timeout"] = given["start_timeout"]
    if given["pass_env"]:
        source["pass_env"] = list(given["pass_env"])
    if given["domain_id"]:
        source["domain_id"] = given["domain_id"]
    seeds = given["seeds"]
    name = ModelName.parse(given["model"])
    extra, limits = given["extra"], _limits(given)
    if given["profile"]:
        source["literal"] = True
        limits = _profiled(limits)
        extra = {"api": "generate", **extra} if name.provider == "ollama" else extra
    return RunSpec(
        benchmark=BenchmarkRef("environment", str(manifest.resolve()), source),
        model=ModelSettings(
            name=settled(name),
            temperature=given["temperature"],
            max_tokens=given["max_tokens"],
            extra=extra,
            timeout_s=given["timeout"],
            cache=str(Path(given["cache"]).resolve()) if given["cache"] else "",
        ),
        agent=AgentSettings(given["agent"], _agent_options(given)),
        selection=Selection(seeds, None if seeds else given["episodes"] or DEFAULT_EPISODES, given["trials"]),
        limits=limits,
        parallel=max(given["parallel"], 1),
        name=given["name"],
        tags=given["tag"],
    )


def _limits(given: Mapping[str, Any]) -> Limits:
    return Limits(
        episode_steps=given["max_steps"],
        episode_seconds=given["episode_seconds"],
        episode_tokens=given["episode_tokens"],
        run_seconds=given["run_seconds"],
        **chosen_limits(given),
    )


def _profiled(limits: Limits) -> Limits:
    """Return the limits of swecc's agent where they are narrower, and its number of retries."""
    from mesocosm.agents.swecc import RETRIES, STEPS, TOKENS

    return msgspec.structs.replace(
        limits,
        episode_steps=min(limits.episode_steps or STEPS, STEPS),
        episode_tokens=min(limits.episode_tokens or TOKENS, TOKENS),
        retries=RETRIES,
    )


def _agent_options(given: Mapping[str, Any]) -> dict[str, Any]:
    if given["agent"] != "loop":
        return dict(given["agent_option"])
    if given["profile"]:
        return _profile_options(given)
    context = click.get_current_context(silent=True)
    asked = context is not None and context.get_parameter_source("reask") is ParameterSource.COMMANDLINE
    if asked and given["on_malformed"] in {"pass", "fail"}:
        raise UsageError(
            f"--reask {given['reask']} has no effect with --on-malformed {given['on_malformed']}: omit it, or "
            "choose --on-malformed ask"
        )
    chosen: dict[str, Any] = {"history": given["history"], "reask": given["reask"], "structured": given["structured"]}
    if given["on_malformed"]:
        chosen["on_malformed"] = given["on_malformed"]
    if given["history_tokens"]:
        chosen["history_tokens"] = given["history_tokens"]
    if given["system_prompt"]:
        chosen["system_prompt"] = given["system_prompt"]
    if given["technique"]:
        chosen["techniques"] = given["technique"]
    return {**chosen, **given["agent_option"]}


def _profile_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a profile. Raises UsageError for a flag that the profile sets itself."""
    context = click.get_current_context()
    settled = ("history", "history_tokens", "technique", "reask", "on_malformed", "structured", "agent_option")
    chosen = [name for name in settled if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    if chosen:
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in chosen)
        raise UsageError(f"--profile {given['profile']} settles how an episode is played; omit {flags}")
    prompt = {"system_prompt": given["system_prompt"]} if given["system_prompt"] else {}
    return {"profile": given["profile"], **prompt}


def _stay_local(model: str, *, allowed: bool) -> None:
    from mesocosm.models.catalogue import is_local, require_provider

    name = ModelName.parse(model)
    if allowed or is_local(name):
        return
    require_provider(name)
    raise UsageError(
        f"{model} is not on this machine, and 'run local' sends nothing elsewhere unless you allow it.\n"
        f"Use a local model (ollama/llama3.2, builtin/random, openai/NAME@http://127.0.0.1:PORT/v1), "
        f"or repeat the command with --allow-cloud."
    )
