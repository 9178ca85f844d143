"""What a reviewer is shown of an episode: the question, what was said and done, and the answer."""

from collections.abc import Iterator
from typing import Any

import msgspec

from mesocosm.core.event import Kind
from mesocosm.core.one_line import answer_text, question_text
from mesocosm.server.permissions.visible_runs import VisibleEpisode
from mesocosm.server.schemas.document import discreet
from mesocosm.server.schemas.review import (
    ReviewLine,
)

_LINES = 400

LETTERS = 20_000
"""Maximum number of parts of an item, and of characters in each."""

_QUESTION = 2_000

_FIRST_EVENTS, _EVENTS = 40, 20_000
"""Maximum number of events that are read for the question, and for an item."""


def question_of(episode: VisibleEpisode, longest: int = _QUESTION) -> str:
    """Return what the task asks: as recorded, else the first message of the user, else the first observation."""
    asked = question_text(episode.record.input)
    if asked:
        return discreet(asked[:longest])
    observed = ""
    for event in episode.events(limit=_FIRST_EVENTS):
        payload = event.payload if isinstance(event.payload, dict) else {}
        if event.kind is Kind.MESSAGE and payload.get("role") == "user":
            return discreet(_text(payload.get("content"))[:longest])
        if event.kind is Kind.OBSERVATION and not observed:
            observed = discreet(_text(payload.get("data"))[:longest])
    return observed or episode.record.task_id


def answer_of(value: Any, longest: int = LETTERS) -> str | None:
    """Return an answer, given or expected, as text; None if there is none."""
    return None if value is None else discreet(answer_text(value)[:longest])


def lines_of(episode: VisibleEpisode) -> tuple[list[ReviewLine], bool]:
    """Return what was said and done in an episode, and whether there is more. Nothing of it is the grader's.

    Of the system messages only the first: many agents send it again with each step, with their history in it.
    """
    found: list[ReviewLine] = []
    spoken = set[str]()
    instructed = False
    for event in episode.events(limit=_EVENTS):
        for role, text in _said(event.kind, event.payload):
            if not text.strip() or (role == "assistant" and text in spoken):
                # A reply is recorded with its call, and as a message of the next one.
                continue
            if role == "assistant":
                spoken.add(text)
            if role == "system" and instructed:
                continue
            instructed = instructed or role == "system"
            if len(found) == _LINES:
                return found, True
            shown = discreet(text[:LETTERS])
            found.append(ReviewLine(role=role, step=event.step, text=shown, cut=len(text) > LETTERS))
    # What a model said and heard already tells what an environment showed and was told.
    if any(line.role == "assistant" for line in found):
        found = [line for line in found if line.role not in {"observation", "action"}]
    return found, False


def _said(kind: Kind, payload: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(payload, dict):
        return
    if kind is Kind.MESSAGE:
        role = str(payload.get("role") or "user")
        yield role, _text(payload.get("content"))
        yield from ((role, text) for text in _calls(payload.get("tool_calls")))
    elif kind is Kind.MODEL_CALL and not payload.get("role"):
        yield "assistant", _text(payload.get("text"))
        yield from (("assistant", text) for text in _calls(payload.get("tool_calls")))
    elif kind is Kind.OBSERVATION:
        yield "observation", _text(payload.get("data"))
    elif kind is Kind.ACTION:
        yield "action", _text(payload.get("action"))


def _calls(given: Any) -> Iterator[str]:
    for call in given if isinstance(given, list) else ():
        if isinstance(call, dict):
            inner = call.get("function")
            function = inner if isinstance(inner, dict) else call
            yield f"{function.get('name', '')}({_text(function.get('arguments'))})"


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(part, dict) for part in value):
        texts = [part["text"] for part in value if isinstance(part.get("text"), str)]
        if texts:
            return "\n".join(texts)
    if value is None:
        return ""
    if isinstance(value, dict) and "$blob" in value:
        return "(large)"
    return msgspec.json.encode(value).decode()
