"""Command lines that show, continue or repeat a run, ready to be pasted into a shell."""

import json
import shlex
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mesocosm.benchmarks.catalogue import BUILTIN
from mesocosm.benchmarks.descriptor import read_descriptor
from mesocosm.core.failure import UsageError
from mesocosm.core.model import LOCAL_MAX_TOKENS, MAX_TOKENS, ModelName, ModelSettings
from mesocosm.core.run import AgentSettings, BenchmarkRef, Limits, Run, RunSpec, RunStatus, Selection
from mesocosm.guests.kinds import KINDS
from mesocosm.models.catalogue import is_local
from mesocosm.server.permissions.run_processes import workplace
from mesocosm.server.permissions.visible_runs import VisibleRun
from mesocosm.server.runs.documents import state_of
from mesocosm.server.schemas.document import discreet
from mesocosm.server.schemas.run import Reproduction
from mesocosm.store.run_requests import DECLARED, PRIVATE, RunRequest

_MOST_SEEDS = 200
"""Maximum number of seeds, or ranges of seeds, in one command."""

DEFAULT_PARALLEL = 4
"""Default of `bench run --parallel`."""

_GOING = frozenset({"pending", "running"})

_BUDGETS = (
    ("--max-steps", "episode_steps"),
    ("--episode-seconds", "episode_seconds"),
    ("--episode-tokens", "episode_tokens"),
    ("--run-seconds", "run_seconds"),
    ("--run-tokens", "run_tokens"),
    ("--run-usd", "run_usd"),
    ("--rpm", "requests_per_minute"),
    ("--tpm", "tokens_per_minute"),
)


class _Unsayable(Exception):
    """A part of a spec that `mesocosm run local` has no option for."""


def commands_of(run: VisibleRun, *, failed: bool, broken: bool = False) -> Reproduction:
    """Return the commands that apply to a run.

    `failed` says whether it has failures that are worth a retry, `broken` whether its own code failed. An evaluation
    that failed because its code did, before any result, would fail again: it is submitted again with newer code.
    """
    if run.stored_in is not None:
        return reproduction(run.record, place=workplace(run.stored_in).words, failed=failed)
    request, record = run.request, run.record
    repeat = resume = None
    if request is not None:
        repeat = repeat_request(request, record, run.usual_limits) if run.repeatable else None
        if request.kind == "rollout" and broken and record.status is RunStatus.FAILED and not record.counts.done:
            repeat = _submit_newer(request, run.id)
        elif not request.open and (record.counts.pending or failed):
            resume = _line("mesocosm", "run", "resume", run.id, *(["--retry-failed"] if failed else []))
    return Reproduction(repeat=repeat, resume=resume, show=_line("mesocosm", "run", "get", run.id))


def reproduction(run: Run, *, place: Sequence[str], failed: bool) -> Reproduction:
    """Return the commands that apply to a run.

    `place` are the command-line words that name its store; `failed` says whether it has failures that are worth a
    retry.
    """
    resume, state = None, state_of(run)
    # An interrupted run without pending episodes still lacks its metrics.
    if state not in _GOING and (run.counts.pending or failed or state == "interrupted"):
        again = ["--retry-failed"] if failed else []
        resume = _line("mesocosm", "run", "resume", run.id, *again, *place)
    show = _line("mesocosm", "run", "show", run.id, *place)
    return Reproduction(repeat=repeat_command(run.spec, place), resume=resume, show=show)


def repeat_command(spec: RunSpec, place: Sequence[str] = ()) -> str | None:
    """Return the command line that starts a run of `spec` in the store at `place`; None if none can express it."""
    try:
        words = [*_KINDS.get(spec.benchmark.kind, _local)(spec)]
    except (_Unsayable, UsageError):
        return None
    line = _line("mesocosm", *words, *place)
    # With a password removed, the command would start a different run.
    return None if "\0" in line or discreet(line) != line else line


def repeat_request(request: RunRequest, run: Run, limits: tuple[float, float]) -> str | None:
    """Return the command line that requests the same run from a server again; None if no command can express it.

    `limits` are the server's defaults for a run: seconds of an outage, share of missing episodes.

    The result is None for an official run, for which the server draws other seeds, and for a test episode.
    """
    if request.kind == "rollout":
        return _line("mesocosm", "eval", "submit", "--from", run.id)
    asked, spec = request.config, run.spec
    agent, seeds = asked.get("agent_config", {}), spec.selection.seeds
    if request.official or request.purpose == "test" or agent.get("techniques"):
        return None
    if seeds is not None and len(seeds) > _MOST_SEEDS:
        return None
    words = ["run", "create", *_option("--domain", request.domain_id), *_option("--vow-version", request.vow_version)]
    words += [*_option("--model", request.model), "--solo" if request.team_id is None else f"--team={request.team_id}"]
    words += ["--episodes", str(spec.selection.count)] if seeds is None else ["--seeds", *map(str, seeds)]
    for option, value, usual in (
        ("--trials", spec.selection.trials, 1),
        ("--parallel", asked.get("max_parallel"), 1),
        ("--temperature", spec.model.temperature, 0.0),
        ("--max-tokens", spec.model.max_tokens, LOCAL_MAX_TOKENS),
        ("--system-prompt", agent.get("system_prompt"), None),
        ("--env-id", asked.get("env_id"), None),
        ("--visibility", asked.get(DECLARED), PRIVATE),
        ("--outage-seconds", spec.limits.outage_seconds, limits[0]),
        ("--max-missing", spec.limits.max_missing, limits[1]),
    ):
        if value not in (None, usual):
            words += _option(option, str(value))
    line = _line("mesocosm", *words)
    return None if "\0" in line or discreet(line) != line else line


def _submit_newer(request: RunRequest, run_id: str) -> str:
    """Return the command line that submits an evaluation again with its newest code."""
    if request.config.get("dirty") or not request.branch:
        return _line("mesocosm", "eval", "submit", request.configuration, "--upload")
    return _line("mesocosm", "eval", "submit", "--from", run_id, *_option("--branch", request.branch))


def _local(spec: RunSpec) -> Iterator[str]:
    yield from ("run", "local", *_benchmark(spec.benchmark), *_model(spec.model), *_selection(spec.selection))
    yield from (*_agent(spec.agent), *_limits(spec.limits), *_labels(spec))


def _evaluation(spec: RunSpec) -> Iterator[str]:
    """Yield the words of a command that evaluates a rollout again, as a new run."""
    words = spec.benchmark.options.get("words")
    if not words:
        raise _Unsayable
    yield from (*words, "--fresh")


def _suite(spec: RunSpec) -> Iterator[str]:
    """Yield the words of a command that runs a benchmark of the catalogue again."""
    options, model, limits = spec.benchmark.options, spec.model, spec.limits
    folder = Path(options["folder"]) if options.get("folder") else BUILTIN / spec.benchmark.source
    descriptor = read_descriptor(folder)
    yield from ("bench", "run", "--force", "--benchmarks", descriptor.id)
    if options.get("folder"):
        yield from _option("--benchmarks-dir", str(folder))
    yield from _option("--model", model.name)
    extra = {
        name: value
        for name, value in (options.get("knobs", {}) | options.get("parameters", {})).items()
        if name in descriptor.parameters and value != descriptor.parameters[name].default
    }
    general = {"temperature": descriptor.model.temperature, "max_tokens": descriptor.model.max_tokens, "top_p": None}
    extra |= {name: found for name, value in general.items() if (found := getattr(model, name)) != value}
    if extra | model.extra:
        yield from _option("--extra", _json(extra | model.extra))
    if spec.agent.shown != descriptor.agent:
        yield from _option("--agent", spec.agent.shown)
    if spec.selection.trials != 1:
        yield from _option("--trials", str(spec.selection.trials))
    for option, field in _BUDGETS:
        if option in {"--run-tokens", "--run-usd", "--rpm", "--tpm"} and getattr(limits, field) is not None:
            yield from _option(option, _number(getattr(limits, field)))
    if spec.parallel != DEFAULT_PARALLEL:
        yield from _option("--parallel", str(spec.parallel))


def _line(*words: str) -> str:
    return shlex.join(words)


def _option(name: str, value: str) -> list[str]:
    return [f"{name}={value}"] if value.startswith("-") else [name, value]


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def _benchmark(ref: BenchmarkRef) -> Iterator[str]:
    options = dict(ref.options)
    if ref.kind != "environment":
        raise _Unsayable
    yield from _option("--manifest", ref.source)
    url, explicit = options.pop("env_url", None), options.pop("explicit_env_url", False)
    if url is not None and explicit:
        yield from _option("--env-url", url)
    if (domain := options.pop("domain_id", None)) is not None:
        yield from _option("--domain-id", domain)
    for name in options.pop("pass_env", ()):
        yield from _option("--pass-env", name)
    if (seconds := options.pop("step_timeout", 60.0)) != 60.0:
        yield from _option("--step-timeout", _number(seconds))
    if options:
        raise _Unsayable


def _model(model: ModelSettings) -> Iterator[str]:
    if model.top_p is not None:
        raise _Unsayable
    yield from _option("--model", model.name)
    if not is_local(ModelName.parse(model.name)):
        yield "--allow-cloud"
    if model.temperature:
        yield from _option("--temperature", _number(model.temperature))
    if model.max_tokens != LOCAL_MAX_TOKENS:
        yield from _option("--max-tokens", str(model.max_tokens))
    if model.timeout_s != 120.0:
        yield from _option("--timeout", _number(model.timeout_s))
    if model.cache:
        yield from _option("--cache", model.cache)
    yield from _values("--extra", model.extra)


def _selection(selection: Selection) -> Iterator[str]:
    if selection.seeds is not None:
        ranges = _ranges(selection.seeds)
        if not ranges or len(ranges) > _MOST_SEEDS:
            raise _Unsayable
        yield "--seeds"
        yield from ranges
    elif selection.count:
        yield from _option("--episodes", str(selection.count))
    else:
        raise _Unsayable
    if selection.trials != 1:
        yield from _option("--trials", str(selection.trials))


def _ranges(seeds: Sequence[int]) -> list[str]:
    """Return seeds in their order, with consecutive rising ones as a range."""
    found: list[list[int]] = []
    for seed in seeds:
        if found and found[-1][1] == seed - 1:
            found[-1][1] = seed
        else:
            found.append([seed, seed])
    return [str(first) if first == last else f"{first}-{last}" for first, last in found]


def _agent(agent: AgentSettings) -> Iterator[str]:
    options = dict(agent.options)
    if agent.name != "loop":
        yield from _option("--agent", agent.name)
        yield from _values("--agent-option", options)
        return
    if (prompt := options.pop("system_prompt", "")) and isinstance(prompt, str):
        yield from _option("--system-prompt", prompt)
    if (history := options.pop("history", "full")) != "full":
        yield from _option("--history", str(history))
    if (structured := options.pop("structured", "auto")) != "auto":
        yield from _option("--structured", str(structured))
    if (reask := options.pop("reask", 1)) != 1:
        yield from _option("--reask", str(reask))
    for name, parameters in (options.pop("techniques", None) or {}).items():
        yield from _option("--technique", name if parameters == {} else f"{name}={_json(parameters)}")
    yield from _values("--agent-option", options)


def _values(option: str, values: dict[str, Any]) -> Iterator[str]:
    for name, value in values.items():
        if not name or "=" in name:
            raise _Unsayable
        yield from _option(option, f"{name}={_json(value)}")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _limits(limits: Limits) -> Iterator[str]:
    for option, field in _BUDGETS:
        value = getattr(limits, field)
        if value is not None:
            yield from _option(option, _number(value))
    if limits.retries != 4:
        yield from _option("--retries", str(limits.retries))


def _labels(spec: RunSpec) -> Iterator[str]:
    if spec.parallel != 1:
        yield from _option("--parallel", str(spec.parallel))
    if spec.name:
        yield from _option("--name", spec.name)
    for tag in spec.tags:
        yield from _option("--tag", tag)


def _source(spec: RunSpec) -> Iterator[str]:
    """Yield the words of a command that runs a benchmark of another framework again."""
    model, limits, selection = spec.model, spec.limits, spec.selection
    unsaid = (selection.seeds, limits.episode_steps, limits.episode_seconds, limits.episode_tokens)
    if any(one is not None for one in unsaid) or spec.agent.options or model.extra or model.cache:
        raise _Unsayable
    if spec.agent.name not in {"loop", "program"}:
        raise _Unsayable
    yield from ("run", f"{spec.benchmark.kind}:{spec.benchmark.source}", *_option("--model", model.name))
    if selection.count is not None:
        yield from _option("--limit", str(selection.count))
    if selection.trials != 1:
        yield from _option("--trials", str(selection.trials))
    if spec.judge is not None:
        yield from _option("--judge", spec.judge.name)
    for name, value in spec.benchmark.options.items():
        yield from _option("-P", f"{name}={_written(value)}")
    for name, value in _settings(model, limits):
        yield from _option("--set", f"{name}={_number(value)}")
    for tag in spec.tags:
        yield from _option("--tag", tag)
    yield "--fresh"


def _settings(model: ModelSettings, limits: Limits) -> Iterator[tuple[str, float]]:
    """Yield the settings that are not the usual ones, by their names in `--set`."""
    usual = ModelSettings("", max_tokens=MAX_TOKENS)
    for name in ("temperature", "max_tokens", "top_p", "timeout_s"):
        if (value := getattr(model, name)) != getattr(usual, name):
            yield f"model.{name}", value
    for field, name in _SET_LIMITS.items():
        if (value := getattr(limits, field)) != getattr(Limits(), field):
            yield f"limits.{name}", value


_SET_LIMITS = {
    "run_tokens": "tokens",
    "run_usd": "usd",
    "run_seconds": "seconds",
    "requests_per_minute": "requests_per_minute",
    "tokens_per_minute": "tokens_per_minute",
    "retries": "retries",
}
"""Limits of a run and their names in `--set`."""


def _written(value: Any) -> str:
    """Return a value as `-P NAME=VALUE` reads it: text that it would read as something else in quotes."""
    return value if isinstance(value, str) and value == value.strip() and _reads_as(value) == value else _toml(value)


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_json(name)} = {_toml(one)}" for name, one in value.items()) + "}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return _json(value)


def _reads_as(text: str) -> Any:
    try:
        found = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    return found["value"] if set(found) == {"value"} else text


_KINDS = {
    "benchmark": _suite,
    "rollout": _evaluation,
    **dict.fromkeys((*KINDS, "openenv", "harbor"), _source),
}
"""Functions that build the command by kind of benchmark; the default is `run local`."""
