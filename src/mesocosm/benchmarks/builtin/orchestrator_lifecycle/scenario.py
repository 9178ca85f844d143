"""The structure of a scenario: the initial registry, the user's messages, and the expectations of each turn."""

import msgspec


class InitialTask(msgspec.Struct, frozen=True, omit_defaults=True):
    """A task that is in the registry at the start."""

    id: str
    title: str
    agent: str
    session: str
    status: str
    progress: int
    note: str = ""
    result: str = ""


class TaskChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """A change of a task before a turn begins."""

    task: str
    status: str = ""
    progress: int | None = None
    note: str = ""
    result: str = ""


class Effect(msgspec.Struct, frozen=True, omit_defaults=True):
    """A change that a call made (start, send, pause, resume, cancel, reopen, share), with its task and text."""

    kind: str
    task: str
    text: str = ""
    agent: str = ""


class ExpectedEffect(msgspec.Struct, frozen=True, omit_defaults=True):
    """A change that a turn requests: one of the kinds `do`, of this task.

    `says` are groups of words; the texts of the change must hold one of each group. `agent` is the kind of sub-agent.
    """

    do: tuple[str, ...]
    task: str
    says: tuple[tuple[str, ...], ...] = ()
    agent: str = ""


class ReplyRule(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the final text of a turn must and must not hold; `asks` is what a question in it must be about."""

    mentions: tuple[tuple[str, ...], ...] = ()
    omits: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()


class ScenarioTurn(msgspec.Struct, frozen=True, omit_defaults=True):
    """A user message and its expected effects. `allowed` changes are neither requested nor wrong."""

    user: str
    effects: tuple[ExpectedEffect, ...] = ()
    allowed: tuple[ExpectedEffect, ...] = ()
    reply: ReplyRule | None = None
    before: tuple[TaskChange, ...] = ()


class Scenario(msgspec.Struct, frozen=True, omit_defaults=True):
    """One conversation. `fresh` are ids and sessions of the tasks that the agent may start."""

    id: str
    intent: str
    category: str
    title: str
    items: tuple[InitialTask, ...]
    turns: tuple[ScenarioTurn, ...]
    fresh: tuple[tuple[str, str], ...]
