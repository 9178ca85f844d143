"""Redaction: hide parts of a run from callers who may not see them.

* `public` removes what describes the machine of a run: its command line, paths, and addresses of models and adapters.
* `redact_…` remove from a public run what only its owner and their team may read: prompts, replies, reasoning, notes
  of techniques, error messages (which may contain accounts and server paths), and the requester.
* `Mask` and `Discretion` replace paths, addresses and provider accounts in any recorded text.

Recorded events are redacted first, so everything computed from them is redacted too.
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
from mesocosm.core.run import RAN_ON, BenchmarkRef, Run
from mesocosm.core.score import Score

MARK = "[redacted: not visible on public gallery]"
"""Placeholder for hidden text. Existing clients rely on it, so it must not change."""

_SPOKEN = frozenset({"text", "reasoning", "tool_calls", "wire"})
_FACTS = frozenset({"kind", "technique", "technique_id", "name", "role", "stream"})
"""Fields of techniques, tools and scores that are identifiers, not free text."""
_ASKED = ("input", "target", "reference", "why", "mistake")
"""Fields of an episode that tell what its task asks, or give the right answer away."""
_GOLD = frozenset({"input", "expected", "label", "target"})
"""Entries of an episode's `terminal_info` that do."""
_FAILED = frozenset({"error", "message", "traceback", "detail", "stderr", "exception"})

_ACCOUNT = re.compile(rb"\b(?:org|proj|acct|req)[-_](?=[A-Za-z]*[0-9])[A-Za-z0-9]{10,}\b")
"""Ids of accounts, projects and requests in error messages of providers."""

_KINDS_OF_ACCOUNTS = frozenset({"org", "proj", "acct", "req"})

_events = msgspec.json.Decoder(Event)


_PRIVATE = frozenset({"command", "host", "holder", "user", "cwd", "changes", "files", RAN_ON})
"""Entries of a run's provenance that are not published."""
_OF_OWNER = frozenset({"scans", "scan_of", "fork"})
"""Entries of a run's provenance that say what its owner asked of it."""
_ADDRESS_OPTIONS = frozenset({"env_url", "explicit_env_url", "pass_env"})
_SHORTEST = 6
"""Minimum length of a path to mask. Shorter ones (`/root`, `/srv`) occur in unrelated text."""


def public(run: Run) -> Run:
    """Return a run without command line, process, machines, addresses of models and adapters, and file paths."""
    spec, model = run.spec, run.spec.model
    shown = {name: _named(value) for name, value in run.provenance.items() if name not in _PRIVATE}
    numbered = {f"machine {number}": count for number, count in enumerate(run.ran_on.values(), 1)}
    return msgspec.structs.replace(
        run,
        model=shown_model(run.model),
        holder=None,
        stop_requested=False,
        provenance={**shown, RAN_ON: numbered} if numbered else shown,
        spec=msgspec.structs.replace(
            spec,
            benchmark=_benchmark(spec.benchmark),
            model=msgspec.structs.replace(model, name=shown_model(model.name), cache=Path(model.cache).name),
        ),
    )


def _named(value: Any) -> Any:
    """Return JSON with the names of files and folders instead of their paths."""
    if isinstance(value, str) and _is_path(value):
        return re.split(r"[/\\]", value.rstrip("/\\"))[-1]
    if isinstance(value, dict):
        return {name: _named(item) for name, item in value.items()}
    return [_named(item) for item in value] if isinstance(value, list | tuple) else value


def _benchmark(ref: BenchmarkRef) -> BenchmarkRef:
    options = {name: _named(value) for name, value in ref.options.items() if name not in _ADDRESS_OPTIONS}
    # Tasks of lm-evaluation-harness are several, any of them a file.
    return BenchmarkRef(ref.kind, ",".join(_named(part) for part in ref.source.split(",")), options)


def _addresses(run: Run) -> list[str]:
    with suppress(UsageError):
        return [ModelName.parse(run.spec.model.name).base_url]
    return []


def _is_path(text: str) -> bool:
    return text.startswith(("/", "~", "\\\\")) or re.match(r"[A-Za-z]:[/\\]", text) is not None


def _installed() -> Iterator[Path]:
    """Yield the directories of this package and of Python: paths in tracebacks begin with them."""
    package = Path(mesocosm.__file__).absolute().parent
    # In a checkout mask the whole repository; an installed package is in site-packages.
    yield package.parents[1] if package.parent.name == "src" else package.parent
    yield Path(sys.prefix)


@dataclass(frozen=True, slots=True)
class Mask:
    """Removes paths and addresses of this machine from text. Any recorded text may contain them, as tracebacks do."""

    pattern: re.Pattern[bytes] | None

    @classmethod
    def of(cls, runs: Sequence[Run], places: Iterable[Path]) -> "Mask":
        """Return a mask for the home directory, this installation, `places`, and sources and model URLs of `runs`."""
        sources = [Path(part).parent for run in runs for part in run.spec.benchmark.source.split(",") if _is_path(part)]
        home = Path(os.path.expanduser("~"))  # noqa: PTH111 - unlike Path.home() it never fails
        found = {str(path.absolute()) for path in [home, *_installed(), *sources, *places]}
        found.update(address for run in runs for address in _addresses(run))
        words = sorted((path for path in found if len(path) >= _SHORTEST), key=len, reverse=True)
        listed = b"|".join(re.escape(word.encode("utf-8", "surrogateescape")) for word in words)
        return cls(re.compile(b"(?:" + listed + rb")(?![\w.-])") if words else None)

    def __call__(self, data: bytes) -> bytes:
        """Return `data` with each masked path or address replaced by `…`."""
        return data if self.pattern is None else self.pattern.sub("…".encode(), data)


def without_places(text: str, places: Iterable[Path]) -> str:
    """Return `text` with the home directory, this installation and `places` each replaced by `…`."""
    return Mask.of([], places)(text.encode("utf-8", "backslashreplace")).decode()


class Discretion:
    """Removes from JSON what only administrators may read: server paths, model addresses and provider accounts."""

    def __init__(self, run: Run, places: Iterable[Path]) -> None:
        name = run.spec.model.name
        try:
            file = ModelName.parse(name).file
        except UsageError:
            file = ""
        self._mask = Mask.of([run], [*places, *([Path(file)] if file else [])])

    def __call__(self, data: bytes) -> bytes:
        """Return `data` with each of these replaced by `…`."""
        return _ACCOUNT.sub("…".encode(), self._mask(data))

    def hides(self, word: str) -> bool:
        """Return whether what is removed may contain a folded word."""
        if word in _KINDS_OF_ACCOUNTS or (len(word) >= 10 and any(map(str.isdigit, word))):
            return True
        pattern = self._mask.pattern
        return pattern is not None and word in pattern.pattern.decode("utf-8", "replace").casefold()


def redact_run(run: Run) -> Run:
    """Return a run without its owner's texts, and without paths and addresses of the machines that ran it."""
    shown = public(run)
    spec = shown.spec
    agent = msgspec.structs.replace(spec.agent, options=_options(spec.agent.options))
    benchmark = msgspec.structs.replace(spec.benchmark, options=_place(spec.benchmark.options))
    return msgspec.structs.replace(
        shown,
        provenance={name: value for name, value in shown.provenance.items() if name not in _OF_OWNER},
        spec=msgspec.structs.replace(spec, agent=agent, benchmark=benchmark),
        error=MARK if shown.error else "",
        warnings=(),
    )


def redact_episode(episode: Episode) -> Episode:
    """Return an episode without the messages of its failure, the explanations of its scores, and what its task asks.

    A right answer that the public can read is no measure any more.
    """
    failure = episode.failure
    return msgspec.structs.replace(
        episode,
        terminal_info=redact_info(episode.terminal_info),
        failure=None if failure is None else Failure(failure.cause, failure.boundary, MARK),
        scores=tuple(_score(score) for score in episode.scores),
        **{name: MARK for name in _ASKED if getattr(episode, name) not in (None, "")},
    )


def redact_event(event: Event) -> Event:
    """Return an event without the hidden fields of its kind."""
    rule = _RULES.get(event.kind)
    if rule is None or not isinstance(event.payload, Mapping):
        return event
    return msgspec.structs.replace(event, payload=rule(event.payload))


def redact_line(line: bytes) -> bytes:
    """Return a recorded event, one line of JSON, without hidden fields. Return an empty line unchanged."""
    if not line.strip():
        return line
    return msgspec.json.encode(redact_event(_events.decode(line)))


def redact_info(info: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `info` of a step or episode end without error messages, prompts and right answers."""
    return {
        name: MARK if value and (name.lower() in _FAILED | _GOLD or "prompt" in name.lower()) else value
        for name, value in info.items()
    }


def shown_model(name: str) -> str:
    """Return the name of a model without its base URL or file path. An unparsable name is returned unchanged."""
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
    """Return the options of an agent without prompts and without texts nested in other options."""
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
    """Return JSON with every non-empty string replaced; numbers, booleans and keys stay."""
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
    info, data = payload.get("info"), payload.get("data")
    if isinstance(data, Mapping) and data.keys() & _GOLD:
        # What a rollout ended with holds the right answer.
        found["data"] = {name: (MARK if name in _GOLD and value else value) for name, value in data.items()}
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
