"""The state of one role in an episode: its history, system message and pending tool results."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from mesocosm.agents.history import History
from mesocosm.agents.observation import Content, content_of, framed, without_images
from mesocosm.core.message import Message, ToolCall
from mesocosm.core.ports import Observation


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """The result of a tool call: `text`, or the resulting `observation`. `native` results become tool messages."""

    call: ToolCall
    native: bool
    text: str = ""
    observation: Observation | None = None


@dataclass(slots=True)
class RoleState:
    """One role of an episode; `role` is empty if there is only one. `environment` is its environment prompt."""

    role: str
    history: History
    environment: str
    results: list[ToolOutcome] = field(default_factory=list)
    system: Message | None = None

    def same(self, system: Message) -> Message:
        """Return the system message, as the same object while its text is unchanged."""
        if self.system is None or (self.system is not system and self.system.content != system.content):
            self.system = system
        return self.system

    def prompt(self, observation: Observation, content: Content, head: str, tail: str) -> list[Message]:
        """Return the messages that show the current state, including results of tool calls, which are then cleared.

        `content` is `observation` as shown to the model, between the lines `head` and `tail`.
        """
        if not self.results:
            return [Message("user", framed(content, head, tail))]
        results, self.results = self.results, []
        if self.history.keeps and all(result.native for result in results):
            return _answered(results, observation, content, head, tail)
        lines = [_spelled(result, observation) for result in results]
        return [Message("user", framed(content, "\n".join([head, *lines]), tail))]


def _answered(
    results: Sequence[ToolOutcome], observation: Observation, content: Content, head: str, tail: str
) -> list[Message]:
    """Return a tool message for each call; the last one is the observation itself if that is text."""
    messages = [_tool_message(result, _text(result)) for result in results]
    last = results[-1]
    if last.observation is observation:
        if isinstance(content, str):
            return [*messages[:-1], _tool_message(last, str(framed(content, head, tail)))]
        messages[-1] = _tool_message(last, "(shown in the next message)")
    return [*messages, Message("user", framed(content, head, tail))]


def _tool_message(result: ToolOutcome, text: str) -> Message:
    return Message("tool", text, tool_call_id=result.call.id)


def _text(result: ToolOutcome) -> str:
    if result.observation is None:
        return result.text
    return str(without_images(content_of(result.observation)))


def _spelled(result: ToolOutcome, observation: Observation) -> str:
    if result.observation is observation:
        return f"Result of {result.call.name}:"
    return f"Result of {result.call.name}: {_text(result)}"
