"""The four kinds of answers, and their required fields."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

REFERENCE = "ref"
LONGEST_TEXT = 300
"""Maximum characters of a free text: it is for people, and must not be able to list every possible answer."""


@dataclass(frozen=True, slots=True)
class AnswerField:
    """A field of an answer: a text, one of `choices`, or a list of texts. A `judged` one must have the right value."""

    name: str
    help: str
    choices: tuple[str, ...] = ()
    listed: bool = False
    judged: bool = False

    def fault(self, value: Any) -> str:
        """Return why `value` is invalid for this field; empty if it is valid."""
        if self.listed:
            sound = isinstance(value, list) and all(isinstance(item, str) and item.strip() for item in value)
            return "" if sound else f"{self.name} is not a list of texts"
        if not isinstance(value, str) or not value.strip():
            return f"{self.name} is not text, or an empty one"
        if self.choices and value not in self.choices:
            return f"{self.name} is none of {', '.join(self.choices)}"
        return f"{self.name} is longer than {LONGEST_TEXT} characters" if len(value) > LONGEST_TEXT else ""


@dataclass(frozen=True, slots=True)
class Bucket:
    """One kind of answer: its instruction, and its fields in order (except the reference)."""

    name: str
    instruction: str
    fields: tuple[AnswerField, ...]

    @property
    def judged(self) -> tuple[AnswerField, ...]:
        """The fields whose value is right or wrong."""
        return tuple(field for field in self.fields if field.judged)


_THOUGHT = AnswerField("thought", f"why, at most {LONGEST_TEXT} characters")

BUCKETS: Mapping[str, Bucket] = {
    bucket.name: bucket
    for bucket in (
        Bucket(
            "should_respond",
            "Decide what the agent does about the last message of a conversation. RESPOND: the message is said to the "
            "agent and wants an answer. STOP: the message tells the agent to be silent or to leave. IGNORE: the "
            "message is said to somebody else or to nobody in particular, even when it mentions the agent.",
            (_THOUGHT, AnswerField("action", "the decision", ("RESPOND", "IGNORE", "STOP"), judged=True)),
        ),
        Bucket(
            "message_handler",
            "Choose the actions that carry out a message, in the order in which the message asks for them. Take only "
            "actions that it asks for, each by its name.",
            (
                _THOUGHT,
                AnswerField("actions", "names of actions, in order", listed=True, judged=True),
                AnswerField("text", f"what the agent says to the user, at most {LONGEST_TEXT} characters"),
            ),
        ),
        Bucket(
            "reply",
            "Answer the user from what the agent knows, in one sentence that says what was asked and nothing else.",
            (_THOUGHT, AnswerField("text", f"the answer, at most {LONGEST_TEXT} characters")),
        ),
        Bucket(
            "claude_distill",
            "Distil a conversation into the task that was agreed on. What is said later corrects what was said before.",
            (
                AnswerField("owner", "who does it, as named in the conversation", judged=True),
                AnswerField("task", "what is to be done, in the words of the conversation", judged=True),
                AnswerField("due", "the day, in English and in full", judged=True),
                AnswerField("priority", "how important it is", ("low", "normal", "high"), judged=True),
            ),
        ),
    )
}
