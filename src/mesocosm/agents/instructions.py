"""The system message: role, observations, actions, and how to answer."""

from collections.abc import Mapping
from typing import Any, Literal

from mesocosm.core.description import describe
from mesocosm.core.info import BenchmarkInfo
from mesocosm.core.json_schema import spelled
from mesocosm.core.message import Message
from mesocosm.core.space import CompositeSpace, Space, SpaceSpec, SpaceType

Path = Literal["text", "structured", "tools"]
"""The form of replies: free text, an object that follows a schema, or tool calls and text."""

_REMEMBERED = 64


class Instructions:
    """System messages of one benchmark.

    Constant parts are built once, and equal messages are the same object across steps and episodes.
    """

    def __init__(
        self, info: BenchmarkInfo, action: Space | None, observation: Space | None, operator: str, path: Path
    ) -> None:
        self._operator = operator.strip()
        self._facts = _facts(info, action, observation)
        self._closing = closing(action, path)
        self._known: dict[tuple[str, str, tuple[tuple[str, str], ...]], Message] = {}

    def message(self, environment: str, role: str = "", sections: Mapping[str, str] | None = None) -> Message:
        """Return the system message.

        `environment` is the environment's current prompt, `role` the prompt of the acting role, `sections` are added by
        techniques. The order is: environment, operator, role, Domain, Observation Space, Action Space, Reward,
        sections, how to answer.
        """
        key = (environment, role, tuple(sections.items()) if sections else ())
        message = self._known.get(key)
        if message is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            message = self._known[key] = self._made(*key)
        return message

    def _made(self, environment: str, role: str, sections: tuple[tuple[str, str], ...]) -> Message:
        added = (section(heading, text) for heading, text in sections)
        parts = (environment.strip(), self._operator, role.strip(), *self._facts, *added, self._closing)
        return Message("system", "\n\n".join(part for part in parts if part))


def section(heading: str, text: str) -> str:
    """Return a section of the prompt; "" if the text is empty."""
    return f"## {heading}\n{text.strip()}" if text.strip() else ""


def _facts(info: BenchmarkInfo, action: Space | None, observation: Space | None) -> tuple[str, ...]:
    return (
        section("Domain", str(info.vow.get("description") or info.description)),
        section("Observation Space", _described(observation)),
        section("Action Space", _described(action)),
        section("Reward", reward_text(info.vow.get("reward"))),
    )


def _described(space: Space | None) -> str:
    return "" if space is None else describe(space)


def reward_text(reward: Any) -> str:
    """Return the vow's description of its reward; "" if it declares only a type."""
    if not isinstance(reward, Mapping):
        return ""
    bounds = reward.get("range")
    low, high = (bounds.get("low"), bounds.get("high")) if isinstance(bounds, Mapping) else (None, None)
    pairs = (("from", low), ("to", high))
    limits = [f"{word} {spelled(value)}" for word, value in pairs if isinstance(value, int | float)]
    own = str(reward.get("description") or "").strip()
    if not limits and not own:
        return ""
    lead = " ".join([f"{reward.get('type', 'scalar')} reward", *limits])
    return f"{lead}: {own}" if own else lead


def closing(space: Space | None, path: Path) -> str:
    """Return the instructions on how to answer."""
    if path == "structured":
        return (
            "Reply with one JSON object and nothing else: first `reasoning`, a sentence or two, then `action`, which "
            "must be in the action space."
        )
    plain = _closing_text(space)
    if path == "tools":
        return f"Call a tool when it helps; its result is shown to you. When you act without a tool: {plain}"
    return plain


def _closing_text(space: Space | None) -> str:
    if isinstance(space, CompositeSpace):
        return (
            "Think in a sentence or two if you like, then end your reply with the action: one JSON object with "
            f"{_names(space)}."
        )
    kind = SpaceType.TEXT if space is None else space.type
    if kind is SpaceType.DISCRETE:
        return (
            "Think in a sentence or two if you like, then end your reply with a line `Action: ` and exactly one of the "
            "allowed values."
        )
    if kind is SpaceType.CONTINUOUS:
        return (
            "Think in a sentence or two if you like, then end your reply with a line `Action: ` and the number"
            f"{_bounded(space)}."
        )
    if kind is SpaceType.JSON:
        return "Think in a sentence or two if you like, then end your reply with the action as valid JSON."
    return (
        "Your whole reply is the action and reaches the environment as it stands. To think aloud before it, put the "
        "action behind `ACTION:` at the beginning of a line of its own; then only what follows is sent."
    )


def _names(space: CompositeSpace) -> str:
    names = [f"`{name}`" for name in space.fields]
    return f"the field {names[0]}" if len(names) == 1 else f"the fields {', '.join(names[:-1])} and {names[-1]}"


def _bounded(space: Space | None) -> str:
    if not isinstance(space, SpaceSpec) or (space.low is None and space.high is None):
        return ""
    return f", {describe(space.model_copy(update={'description': ''})).removeprefix('a ')}"
