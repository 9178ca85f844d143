"""Redaction: what of a run is hidden from whom.

* `public` removes what describes the machine of a run: its command line, paths, and addresses of models and adapters.
* `redact_…` remove from a public run what only its owner and their team read: prompts, replies, reasoning, notes of
  techniques, messages of failures (which may name accounts and paths on servers), and the requester.
* `Mask` and `Discretion` replace paths, addresses and accounts with providers in any recorded text.

Events are redacted as they were recorded, so everything that is computed from them is redacted too.
"""

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

import mesocosm
from mesocosm.core.episode import Episode
from mesocosm.core.event import Event, Kind
from mesocosm.core.failure import Failure, UsageError
from mesocosm.core.model import ModelName
from mesocosm.core.run import BenchmarkRef, Run
from mesocosm.core.score import Score

MARK = "[redacted: not visible on public gallery]"
"""Stands in place of what is hidden; programs know this text."""

_SPOKEN = frozenset({"text", "reasoning", "tool_calls"})
_FACTS = frozenset({"kind", "technique", "technique_id", "name", "role", "stream"})
"""Texts of techniques, tools and scores that name something rather than say it."""
_FAILED = frozenset({"error", "message", "traceback", "detail", "stderr", "exception"})

_ACCOUNT = re.compile(rb"\b(?:org|proj|acct|req)[-_](?=[A-Za-z]*[0-9])[A-Za-z0-9]{10,}\b")
"""How providers name accounts, projects and requests in the words of their errors."""

_events = msgspec.json.Decoder(Event)


_PRIVATE = frozenset({"command", "host", "holder", "user", "cwd", "changes", "files"})
"""Entries of a run's provenance that stay at home."""
_ADDRESS_OPTIONS = frozenset({"env_url", "explicit_env_url", "pass_env"})
_SHORTEST = 6
"""Shorter paths (`/root`, `/srv`) are words that any text may have."""


def public(run: Run) -> Run:
    """Return a run without command line, process, addresses of its model and adapter, and paths of its files."""
    spec, model = run.spec, run.spec.model
    return msgspec.structs.replace(
        run,
        model=shown_model(run.model),
        holder=None,
        stop_requested=False,
        provenance={name: value for name, value in run.provenance.items() if name not in _PRIVATE},
        spec=msgspec.structs.replace(
            spec,
            benchmark=_benchmark(spec.benchmark),
            model=msgspec.structs.replace(model, name=shown_model(model.name), cache=Path(model.cache).name),
        ),
    )


def _benchmark(ref: BenchmarkRef) -> BenchmarkRef:
    options: dict[str, Any] = {name: value for name, value in ref.options.items() if name not in _ADDRESS_OPTIONS}
    source = re.split(r"[/\\]", ref.source)[-1] if _is_path(ref.source) else ref.source
    return BenchmarkRef(ref.kind, source, options)


def _addresses(run: Run) -> list[str]:
    with suppress(UsageError):
        return [ModelName.parse(run.spec.model.name).base_url]
    return []


def _is_path(text: str) -> bool:
    return text.startswith(("/", "~", "\\\\")) or re.match(r"[A-Za-z]:[/\\]", text) is not None


def _installed() -> Iterator[Path]:
    """Yield where Python and this package are: paths in tracebacks begin with them."""
    package = Path(mesocosm.__file__).absolute().parent
    # In a checkout the package is in `src`; elsewhere its neighbours are other packages.
    yield package.parents[1] if package.parent.name == "src" else package.parent
    yield Path(sys.prefix)


@dataclass(frozen=True, slots=True)
class Mask:
    """Removes paths and addresses of this machine from text: any recorded text may hold some, as tracebacks do."""

    pattern: re.Pattern[bytes] | None

    @classmethod
    def of(cls, runs: Sequence[Run], places: Iterable[Path]) -> "Mask":
        """Return a mask for the person's home, this installation, what runs were made from and with, and `places`."""
        sources = [Path(run.spec.benchmark.source).parent for run in runs if _is_path(run.spec.benchmark.source)]
        home = Path(os.path.expanduser("~"))  # noqa: PTH111 - unlike Path.home() it never fails
        found = {str(path.absolute()) for path in [home, *_installed(), *sources, *places]}
        found.update(address for run in runs for address in _addresses(run))
        words = sorted((path for path in found if len(path) >= _SHORTEST), key=len, reverse=True)
        listed = b"|".join(re.escape(word.encode("utf-8", "surrogateescape")) for word in words)
        return cls(re.compile(b"(?:" + listed + rb")(?![\w.-])") if words else None)

    def __call__(self, data: bytes) -> bytes:
        """Return `data` with `…` in place of each of these paths."""
        return data if self.pattern is None else self.pattern.sub("…".encode(), data)


class Discretion:
    """Removes from JSON what only administrators of the server may read.

    That is paths on its machines, addresses of its models, and its accounts with providers.
    """

    def __init__(self, run: Run, places: Iterable[Path]) -> None:
        name = run.spec.model.name
        try:
            file = ModelName.parse(name).file
        except UsageError:
            file = ""
        self._mask = Mask.of([run], [*places, *([Path(file)] if file else [])])

    def __call__(self, data: bytes) -> bytes:
        """Return `data` with `…` in place of such words."""
        return _ACCOUNT.sub("…".encode(), self._mask(data))


def redact_run(run: Run) -> Run:
    """Return a run without its owner's texts, and without paths and addresses of the machines that played it."""
    shown = public(run)
    spec = shown.spec
    agent = msgspec.structs.replace(spec.agent, options=_options(spec.agent.options))
    benchmark = msgspec.structs.replace(spec.benchmark, options=_place(spec.benchmark.options))
    return msgspec.structs.replace(
        shown,
        spec=msgspec.structs.replace(spec, agent=agent, benchmark=benchmark),
        error=MARK if shown.error else "",
        warnings=(),
    )


def redact_episode(episode: Episode) -> Episode:
    """Return an episode without the words of its failure and of judges."""
    failure = episode.failure
    return msgspec.structs.replace(
        episode,
        terminal_info=redact_info(episode.terminal_info),
        failure=None if failure is None else Failure(failure.cause, failure.boundary, MARK),
        scores=tuple(_score(score) for score in episode.scores),
    )


def redact_event(event: Event) -> Event:
    """Return an event without what is hidden in one of its kind."""
    rule = _RULES.get(event.kind)
    if rule is None or not isinstance(event.payload, Mapping):
        return event
    return msgspec.structs.replace(event, payload=rule(event.payload))


def redact_line(line: bytes) -> bytes:
    """Return a recorded event, one line of JSON, without what is hidden; an empty line stays."""
    if not line.strip():
        return line
    return msgspec.json.encode(redact_event(_events.decode(line)))


def redact_info(info: Mapping[str, Any]) -> dict[str, Any]:
    """Return an environment's words about a step or an end, without those about errors and prompts."""
    return {
        name: MARK if value and (name.lower() in _FAILED or "prompt" in name.lower()) else value
        for name, value in info.items()
    }


def shown_model(name: str) -> str:
    """Return a model's name without the address that it is asked at, and of a file only its name."""
    try:
        parsed = ModelName.parse(name)
    except UsageError:
        return name
    return ModelName(parsed.provider, parsed.model).shown()


def redact_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a RunConfig as JSON without prompts and texts of techniques."""
    agent = dict(config.get("agent_config") or {})
    agent["system_prompt"] = MARK
    techniques = agent.get("techniques") or []
    agent["techniques"] = [{**item, "params": _hushed(item.get("params") or {})} for item in techniques]
    return {**config, "agent_config": agent}


def _options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of an agent: choices stay (words of a few letters), texts do not."""
    found: dict[str, Any] = {}
    for name, value in options.items():
        if "prompt" in name:
            found[name] = MARK
        else:
            found[name] = value if isinstance(value, str) else _hushed(value)
    return found


def _place(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name in {"environment", "version", "domain"}}


def _hushed(value: Any) -> Any:
    """Return JSON with every text replaced; numbers, truth values and keys stay."""
    if isinstance(value, str):
        return MARK if value else value
    if isinstance(value, Mapping):
        return {name: _hushed(item) for name, item in value.items()}
    return [_hushed(item) for item in value] if isinstance(value, list | tuple) else value


def _score(score: Score) -> Score:
    return msgspec.structs.replace(score, explanation=MARK) if score.explanation else score


def _call(payload: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: (MARK if name in _SPOKEN and value else value) for name, value in payload.items()}
    return {**kept, "model": shown_model(payload["model"])} if isinstance(payload.get("model"), str) else kept


def _message(payload: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: payload[name] for name in ("index", "role") if name in payload}
    return {**kept, "content": MARK}


def _action(payload: Mapping[str, Any]) -> dict[str, Any]:
    return {name: (MARK if name == "reasoning" and value else value) for name, value in payload.items()}


def _seen(payload: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {name: (MARK if name == "system_prompt" else value) for name, value in payload.items()}
    info = payload.get("info")
    return {**found, "info": redact_info(info)} if isinstance(info, Mapping) else found


def _end(payload: Mapping[str, Any]) -> dict[str, Any]:
    info = payload.get("terminal_info")
    return {**payload, "terminal_info": redact_info(info)} if isinstance(info, Mapping) else dict(payload)


def _noted(payload: Mapping[str, Any]) -> dict[str, Any]:
    return {name: (value if name in _FACTS else _hushed(value)) for name, value in payload.items()}


def _failed(payload: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: payload[name] for name in ("cause", "boundary", "wait_s", "try") if name in payload}
    return {**kept, "message": MARK}


_RULES = {
    Kind.MODEL_CALL: _call,
    Kind.MESSAGE: _message,
    Kind.ACTION: _action,
    Kind.OBSERVATION: _seen,
    Kind.STEP_RESULT: _seen,
    Kind.EPISODE_END: _end,
    Kind.TECHNIQUE: _noted,
    Kind.TOOL_CALL: _noted,
    Kind.SCORE: _noted,
    Kind.LOG: _noted,
    Kind.WARNING: _failed,
    Kind.RETRY: _failed,
    Kind.ERROR: _failed,
}
