"""Options of the step loop, checked before a run starts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from mesocosm.agents.swecc import PROFILE
from mesocosm.agents.technique import Technique, check_params, technique_class
from mesocosm.core.failure import InvalidInput, Problem, UsageError
from mesocosm.core.registry import fold, suggestion
from mesocosm.mcp.offer import ToolOffer, read_offer

Switch = Literal["auto", "on", "off"]


USUAL: Mapping[str, Any] = {"history": "full", "reask": 1, "structured": "auto"}
"""What commands and calls record if they choose nothing: options are compared as they were written."""


@dataclass(frozen=True, slots=True)
class RoleOptions:
    """The operator's settings for one role of a multi-agent episode."""

    system_prompt: str = ""


@dataclass(frozen=True, slots=True)
class LoopOptions:
    """Options of the step loop.

    `history` is the conversation to keep within an episode: all, none, or the number of last turns; `history_tokens` is
    its estimated budget. `on_malformed` is how to handle a reply without a valid action: pass its text to the
    environment (pass), call the model again up to `reask` times and then fail (ask), fail at once (fail), or as the
    environment declares (auto). `structured` and `images` are whether to use these capabilities of the model: if it
    declares them (auto), always (on), never (off). `techniques` maps ids to parameters that override those of the vow,
    or to None to switch the technique off; `classes` are the techniques named by reference, as loaded when the run
    began. `mcp` are servers with further tools. A `profile` reproduces another program.
    """

    history: Literal["full", "none"] | int = "full"
    history_tokens: int = 24_000
    system_prompt: str = ""
    reask: int = 1
    on_malformed: Literal["auto", "pass", "ask", "fail"] = "auto"
    structured: Switch = "auto"
    images: Switch = "auto"
    techniques: Mapping[str, Mapping[str, Any] | None] = field(default_factory=dict)
    roles: Mapping[str, RoleOptions] = field(default_factory=dict)
    classes: Mapping[str, type[Technique]] = field(default_factory=dict)
    profile: str = ""
    mcp: ToolOffer | None = None


def read_options(given: Mapping[str, Any]) -> LoopOptions:
    """Return the given options. Raise UsageError, which lists every unknown or invalid one."""
    problems: list[Problem] = []
    chosen: dict[str, Any] = {}
    for name, value in given.items():
        reader = _READERS.get(name)
        if reader is None:
            problems.append(Problem(str(name), f"is not an option{suggestion(str(name), list(_READERS))}"))
            continue
        try:
            chosen[name] = reader(value)
        except _Wrong as wrong:
            problems.append(Problem(name, f"must be {wrong}, not {value!r}"))
        except UsageError as error:
            problems.append(Problem(name, str(error)))
    if problems:
        last = problems.pop()
        known = f"the step loop has the options {', '.join(_READERS)}"
        raise InvalidInput("options of the step loop", [*problems, Problem(last.path, last.message, known)])
    named = [name for name, params in chosen.get("techniques", {}).items() if ":" in name and params is not None]
    return LoopOptions(**chosen, classes={name: technique_class(name) for name in named})


class _Wrong(Exception):
    """A value is invalid; the message is what it must be."""


def _history(value: Any) -> Any:
    if value in ("full", "none") or (_whole(value) and value >= 1):
        return value
    raise _Wrong("'full', 'none' or a number of turns of at least 1")


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _at_least(least: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        if not _whole(value) or value < least:
            raise _Wrong(f"a whole number of at least {least}")
        return int(value)

    return read


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _Wrong("a text")
    return value


def _switch(value: Any) -> Switch:
    known: Switch
    for known in ("auto", "on", "off"):
        if value == known:
            return known
    raise _Wrong("'auto', 'on' or 'off'")


def _on_malformed(value: Any) -> str:
    if value not in ("auto", "pass", "ask", "fail"):
        raise _Wrong("'auto', 'pass', 'ask' or 'fail'")
    return str(value)


def _profile(value: Any) -> str:
    if value not in ("", PROFILE):
        raise _Wrong(f"{PROFILE!r}")
    return str(value)


def _techniques(value: Any) -> dict[str, Mapping[str, Any] | None]:
    if not isinstance(value, Mapping):
        raise _Wrong("an object of technique ids, each with its parameters or false")
    chosen: dict[str, Mapping[str, Any] | None] = {}
    for name, params in value.items():
        if params is False:
            chosen[fold(name)] = None
        elif isinstance(params, Mapping):
            check_params(name, technique_class(name), params)
            chosen[fold(name)] = params
        else:
            raise _Wrong(
                f"an object of technique ids, each with an object of parameters or false ({name!r} has neither)"
            )
    return chosen


def _roles(value: Any) -> dict[str, RoleOptions]:
    if not isinstance(value, Mapping):
        raise _Wrong("an object of role names")
    roles: dict[str, RoleOptions] = {}
    for name, settings in value.items():
        if not isinstance(settings, Mapping) or settings.keys() - {"system_prompt"}:
            raise _Wrong('an object of role names, each with {"system_prompt": "…"}')
        roles[str(name)] = RoleOptions(_text(settings.get("system_prompt", "")))
    return roles


_READERS: dict[str, Callable[[Any], Any]] = {
    "history": _history,
    "history_tokens": _at_least(1),
    "system_prompt": _text,
    "reask": _at_least(0),
    "on_malformed": _on_malformed,
    "structured": _switch,
    "images": _switch,
    "techniques": _techniques,
    "roles": _roles,
    "profile": _profile,
    "mcp": read_offer,
}
