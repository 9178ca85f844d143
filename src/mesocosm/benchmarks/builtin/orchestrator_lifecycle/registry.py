"""The simulated task registry: it has state, executes calls, and refuses invalid ones."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mesocosm.benchmarks.builtin.orchestrator_lifecycle.scenario import Effect, InitialTask, TaskChange

AGENTS: Mapping[str, str] = {
    "coder": "shell and files: writes, runs and repairs programs",
    "researcher": "web: finds and compares what is published",
    "writer": "documents: drafts and edits texts",
}
"""Kinds of sub-agents, and the tools of each."""
STARTS, SENDS, PAUSES, RESUMES, CANCELS, REOPENS, SHARES = (
    "start",
    "send",
    "pause",
    "resume",
    "cancel",
    "reopen",
    "share",
)
MOST_TEXT = 2_000
"""Maximum characters of one instruction."""
_CONTROLS = {"pause": PAUSES, "resume": RESUMES, "continue": RESUMES, "stop": CANCELS, "reopen": REOPENS}
_KINDS = {
    "create": STARTS,
    "spawn_agent": STARTS,
    "send": SENDS,
    "stop_agent": CANCELS,
    "cancel": CANCELS,
    "reopen": REOPENS,
    "share": SHARES,
}
_OPEN = ("running", "paused")
_OVER = ("done", "cancelled")


class Refused(Exception):
    """The registry refuses a call; the message is for the agent."""


@dataclass(slots=True)
class RegistryTask:
    """A task of the registry in its current state."""

    id: str
    title: str
    agent: str
    session: str
    status: str
    progress: int
    note: str = ""
    result: str = ""
    log: list[str] = field(default_factory=list)

    def brief(self) -> dict[str, Any]:
        """Return the entry of a list."""
        return {
            "taskId": self.id,
            "title": self.title,
            "agentType": self.agent,
            "sessionId": self.session,
            "status": self.status,
            "progress": f"{self.progress}%",
        }

    def whole(self) -> dict[str, Any]:
        """Return all details of the task."""
        more = {"note": self.note, "result": self.result, "log": list(self.log)}
        return {**self.brief(), **{name: value for name, value in more.items() if value}}


def kind_of(arguments: Mapping[str, Any]) -> str:
    """Return the kind of change that a call requests; empty if it only looks something up."""
    action = _word(arguments, "action")
    if action == "control":
        return _CONTROLS.get(_word(arguments, "controlAction"), "")
    return _KINDS.get(action, "")


class TaskRegistry:
    """All tasks of one scenario. `fresh` are the ids and sessions that new tasks get, in order."""

    def __init__(self, items: Sequence[InitialTask], fresh: Sequence[tuple[str, str]]) -> None:
        self.entries = [
            RegistryTask(one.id, one.title, one.agent, one.session, one.status, one.progress, one.note, one.result)
            for one in items
        ]
        self._fresh: Iterator[tuple[str, str]] = iter(fresh)
        self._shared: set[str] = set()
        self._actions: dict[str, Callable[[Mapping[str, Any]], tuple[Any, list[Effect]]]] = {
            "create": self._start,
            "spawn_agent": self._start,
            "send": self._send,
            "stop_agent": self._cancel,
            "cancel": self._cancel,
            "list_agents": self._list,
            "history": self._history,
            "control": self._control,
            "reopen": self._reopen,
            "share": self._share,
        }

    def apply(self, change: TaskChange) -> None:
        """Apply a change that happens over time; ignore it if the task does not exist or is no longer active."""
        for entry in self.entries:
            if entry.id == change.task and entry.status in _OPEN:
                entry.status = change.status or entry.status
                entry.progress = entry.progress if change.progress is None else change.progress
                entry.note = change.note or entry.note
                entry.result = change.result or entry.result

    def call(self, arguments: Mapping[str, Any]) -> tuple[Any, list[Effect]]:
        """Execute a call; return its answer and its changes. Raises Refused, with nothing changed."""
        action = _word(arguments, "action")
        if action not in self._actions:
            raise Refused(f"unknown action {action!r}; there are {', '.join(self._actions)}")
        return self._actions[action](arguments)

    # Look-ups

    def _list(self, arguments: Mapping[str, Any]) -> tuple[Any, list[Effect]]:
        everything = arguments.get("all") is True
        shown = [entry.brief() for entry in self.entries if everything or entry.status not in _OVER]
        hidden = len(self.entries) - len(shown)
        return {
            "agents": shown,
            **({"hidden": f"{hidden} done or cancelled; all=true shows them"} if hidden else {}),
        }, []

    def _history(self, arguments: Mapping[str, Any]) -> tuple[Any, list[Effect]]:
        if _word(arguments, "taskId") or _word(arguments, "sessionId"):
            return self._target(arguments).whole(), []
        words = _word(arguments, "search").lower().split()
        found = [entry.whole() for entry in self.entries if all(word in entry.title.lower() for word in words)]
        return {"tasks": found}, []

    # Changes

    def _start(self, arguments: Mapping[str, Any]) -> tuple[Any, list[Effect]]:
        text, agent = _text(arguments, "task"), _word(arguments, "agentType")
        if agent not in AGENTS:
            raise Refused(f"agentType must be one of {', '.join(AGENTS)}")
        fresh = next(self._fresh, None)
        if fresh is None:
            raise Refused("no further sub-agent can be started")
        title = " ".join(text.split()[:10])
        entry = RegistryTask(
            *fresh[:1], title, agent, fresh[1], "running", 0, note=_word(arguments, "note"), log=[text]
        )
        self.entries.append(entry)
        return entry.brief(), [Effect(STARTS, entry.id, text, agent)]

    def _send(self, arguments: Mapping[str, Any]) -> tuple[Any, list[Effect]]:
        entry = self._target(arguments)
        return self._tell(entry, _text(arguments, "input"))

    def _tell(self, entry: RegistryTask, text: str) -> tuple[Any, list[Effect]]:
        if entry.status != "running":
            raise Refused(f"{entry.id} is {entry.status}, so nobody reads what is sent to it")
        entry.log.append(text)
        return {**entry.brief(), "delivered": True}, [Effect(SENDS, entry.id, text)]

    def _cancel(self, arguments: Mapping[str, Any]) -> tuple[Any, list[Effect]]:
        if arguments.get("all") is True and not _word(arguments, "taskId"):
            chosen = [entry for entry in self.entries if entry.status not in _OVER]
        else:
            chosen = [self._target(arguments)]
        for entry in chosen:
            if entry.status in _OVER:
                raise Refused(f"{entry.id} is {entry.status} already")
        for entry in chosen:
            entry.status = "cancelled"
        effects = [Effect(CANCELS, entry.id, _word(arguments, "reason")) for entry in chosen]
        return {"cancelled": [entry.brief() for entry in chosen]}, effects

    def _control(self, arguments: Mapping[str, Any]) -> tuple[Any, list[Effect]]:
        control = _word(arguments, "controlAction")
        entry = self._target(arguments)
        match control:
            case "pause":
                return self._move(entry, PAUSES, "running", "paused", arguments)
            case "resume":
                return self._move(entry, RESUMES, "paused", "running", arguments)
            case "continue" if entry.status == "running":
                return self._tell(entry, _text(arguments, "instruction"))
            case "continue":
                return self._move(entry, RESUMES, "paused", "running", arguments)
            case "stop":
                return self._cancel({"taskId": entry.id, "reason": _word(arguments, "reason")})
            case "reopen":
                return self._reopen(arguments)
        raise Refused(f"controlAction must be one of {', '.join(_CONTROLS)}")

    def _move(
        self, entry: RegistryTask, kind: str, before: str, after: str, arguments: Mapping[str, Any]
    ) -> tuple[Any, list[Effect]]:
        if entry.status != before:
            raise Refused(f"{entry.id} is {entry.status}, not {before}")
        text = _optional(arguments, "instruction", "input", "note")
        entry.status = after
        entry.log += [text] if text else []
        return entry.brief(), [Effect(kind, entry.id, text)]

    def _reopen(self, arguments: Mapping[str, Any]) -> tuple[Any, list[Effect]]:
        entry = self._target(arguments)
        if entry.status in _OPEN:
            raise Refused(f"{entry.id} is {entry.status}; only what is done, failed or cancelled can be reopened")
        text = _optional(arguments, "instruction", "input", "note")
        entry.status = "running"
        entry.log += [text] if text else []
        return entry.brief(), [Effect(REOPENS, entry.id, text)]

    def _share(self, arguments: Mapping[str, Any]) -> tuple[Any, list[Effect]]:
        entry = self._target(arguments)
        if entry.status != "done":
            raise Refused(f"{entry.id} is {entry.status}; only results of tasks that are done can be shared")
        if entry.id in self._shared:
            raise Refused(f"the result of {entry.id} has been shared already")
        self._shared.add(entry.id)
        return {"shared": entry.id, "result": entry.result}, [Effect(SHARES, entry.id, _word(arguments, "note"))]

    def _target(self, arguments: Mapping[str, Any]) -> RegistryTask:
        task, session = _word(arguments, "taskId"), _word(arguments, "sessionId")
        if not task and not session:
            raise Refused("taskId is missing; list_agents and history show the ids")
        for entry in self.entries:
            if task.lower() == entry.id.lower() or (not task and session.lower() == entry.session.lower()):
                return entry
        raise Refused(f"there is no task {task or session!r}; list_agents and history show the ids")


def _word(arguments: Mapping[str, Any], name: str) -> str:
    value = arguments.get(name)
    return value.strip() if isinstance(value, str) else ""


def _optional(arguments: Mapping[str, Any], *names: str) -> str:
    return next((_text(arguments, name) for name in names if _word(arguments, name)), "")


def _text(arguments: Mapping[str, Any], name: str) -> str:
    text = _word(arguments, name)
    if not text:
        raise Refused(f"{name} is missing")
    if len(text) > MOST_TEXT:
        raise Refused(f"{name} is longer than {MOST_TEXT} characters; say it shorter")
    return text
