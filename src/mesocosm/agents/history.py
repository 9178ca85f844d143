"""The conversation within an episode, limited by a window and a token budget."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from mesocosm.agents.observation import framed, text_of
from mesocosm.core.message import Message, Text

IMAGE_TOKENS = 800
"""Estimated tokens of an image, a typical size in chat models."""
_CHARACTERS_PER_TOKEN = 4
_KEPT = 0.75
"""Share of the budget kept when it is exceeded. Dropping several turns at once keeps the beginning of later prompts
unchanged, so that provider caches work, and takes constant time per turn."""


def estimated_tokens(message: Message) -> int:
    """Return the estimated tokens of a message: a quarter of its characters, and a constant per image."""
    characters = len(message.text) + sum(len(call.name) + len(str(call.arguments)) for call in message.tool_calls)
    images = 0 if isinstance(message.content, str) else sum(not isinstance(part, Text) for part in message.content)
    return characters // _CHARACTERS_PER_TOKEN + images * IMAGE_TOKENS + 4


@dataclass(frozen=True, slots=True)
class HistoryTurn:
    """The prompt and the reply of one turn, with the number of actions and the estimated tokens."""

    messages: tuple[Message, ...]
    actions: int
    tokens: int


class History:
    """The turns of one role. The first turn is always kept, because it contains the task and the rules.

    `mode` is `full`, `none` or the number of latest turns to keep; `budget` limits the estimated tokens of all kept
    turns. Messages are the same objects in every step, except the first one after a gap, which says how many steps are
    left out.
    """

    def __init__(self, mode: Literal["full", "none"] | int, budget: int) -> None:
        self._keeps = mode != "none"
        self._window = mode if isinstance(mode, int) else None
        self._budget = budget
        self._first: HistoryTurn | None = None
        self._turns: deque[HistoryTurn] = deque()
        self._tokens = 0
        self._dropped = 0
        self._messages: list[Message] = []
        self._headed: tuple[Message, Message] | None = None

    @property
    def keeps(self) -> bool:
        """Whether any turns are kept."""
        return self._keeps

    def add(self, messages: Sequence[Message], actions: int = 1) -> None:
        """Add a turn: the prompt and the reply."""
        if not self._keeps:
            return
        turn = HistoryTurn(tuple(messages), actions, sum(map(estimated_tokens, messages)))
        self._tokens += turn.tokens
        if self._first is None:
            self._first = turn
        else:
            self._turns.append(turn)
        if self._drop():
            self._messages = self._joined()
        else:
            self._messages += turn.messages

    def conversation(self, prompt: Sequence[Message]) -> list[Message]:
        """Return the kept messages followed by `prompt`."""
        if self._dropped and not self._turns and prompt:
            if self._headed is None or self._headed[0] is not prompt[0]:
                self._headed = (prompt[0], self._after_gap(prompt)[0])
            return [*self._messages, self._headed[1], *prompt[_leading_tools(prompt) or 1 :]]
        return [*self._messages, *prompt]

    def _drop(self) -> bool:
        before = self._dropped
        if self._window is not None:
            while len(self._turns) > self._window:
                self._drop_oldest()
        if self._tokens > self._budget:
            while self._turns and self._tokens > self._budget * _KEPT:
                self._drop_oldest()
        return self._dropped != before

    def _drop_oldest(self) -> None:
        turn = self._turns.popleft()
        self._tokens -= turn.tokens
        self._dropped += turn.actions

    def _joined(self) -> list[Message]:
        messages = list(self._first.messages) if self._first else []
        if messages and self._dropped:
            messages[-1] = _without_calls(messages[-1])
        for index, turn in enumerate(self._turns):
            messages += self._after_gap(turn.messages) if index == 0 and self._dropped else turn.messages
        return messages

    def _after_gap(self, messages: Sequence[Message]) -> list[Message]:
        """Return messages with a note about the gap first; results of left-out tool calls become plain text."""
        gap = f"({self._dropped} step{'s' * (self._dropped != 1)} left out here.)"
        tools = _leading_tools(messages)
        if tools:
            text = "\n\n".join(message.text for message in messages[:tools])
            return [Message("user", f"{gap}\n{text}"), *messages[tools:]]
        return [msgspec.structs.replace(messages[0], content=framed(messages[0].content, gap)), *messages[1:]]


def _leading_tools(messages: Sequence[Message]) -> int:
    return next((index for index, message in enumerate(messages) if message.role != "tool"), len(messages))


def _without_calls(message: Message) -> Message:
    """Return a reply with its tool calls as text, because providers reject calls without results."""
    if not message.tool_calls:
        return message
    calls = (f"{call.name}({text_of(call.arguments)})" for call in message.tool_calls)
    return Message(message.role, "\n".join([*([message.text] if message.text else []), *calls]))
