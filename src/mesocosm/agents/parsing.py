"""Parse the text of a reply into an action.

The last explicit choice wins. Thought between `<think>` tags, closed or not, is not part of the answer. Per space:

discrete    a declared value in its declared spelling; see mesocosm.agents.chosen_option
continuous  the last number, by the same rules; it must be finite and within the bounds
json        the last JSON value that fits the space, otherwise the last object or list
composite   the same, with every field coerced to its space: numbers in quotes, choices in another case
text        the whole answer as a string, or what follows the last line that begins with `ACTION:` in capitals
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from mesocosm.agents.chosen_option import ChosenOption, Reader, Unknown, last_choice
from mesocosm.agents.coercion import Coercion, scalar_text
from mesocosm.agents.loose_json import JsonSpan, scan, without_surrogates
from mesocosm.agents.quantity import Quantity
from mesocosm.agents.vocabulary import Vocabulary
from mesocosm.core.description import describe
from mesocosm.core.space import CompositeSpace, Space, SpaceSpec, SpaceType, deviations
from mesocosm.core.thought import split_thought

_MARKER = re.compile(r"^[ \t>*_#`]{0,8}ACTION[*_`]{0,3}:[*_`]{0,3}", re.MULTILINE)
_ACTION_FIELD = re.compile(r"""["'`]action["'`]|[{,]\s{0,4}action\s{0,4}:""")
_OBJECT = re.compile(r"(?:```\w{0,8}\s{0,8})?\{")
_WRAPPER = frozenset(("action", "reasoning", "reason", "rationale", "thought", "thoughts", "explanation"))
_MOST_VALUES = 32
"""Maximum number of JSON values of one reply to try, from the end."""
_NAMED = 3
"""Maximum number of deviations of one action to name."""
_SHOWN = 80


@dataclass(frozen=True, slots=True)
class Parsed:
    """An action and the reasoning with it.

    `repaired` if it did not have the requested form; `deviations` are violations of its space that are tolerated: those
    of json spaces, and unknown fields of composite spaces.
    """

    action: Any
    reasoning: str = ""
    repaired: bool = False
    deviations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MalformedReply:
    """A reply without a valid action; the reason is a clause to put after a colon."""

    reason: str
    reasoning: str = ""


Outcome = Parsed | MalformedReply


class Parser:
    """Parses replies for one action space (None: free text). Create it once and use it for every reply."""

    def __init__(self, space: Space | None) -> None:
        self.space = space
        self.structured = isinstance(space, CompositeSpace) or (space is not None and space.type is SpaceType.JSON)
        self.allowed = _allowed(space)
        self._read = self._reader(space)

    def parse(self, text: str, *, wrapped: bool = False) -> Outcome:
        """Return the action of a reply, or the reason why it has none; never raise.

        `wrapped` means that the requested form was an object with `reasoning` and `action`.
        """
        thought, answer = split_thought(without_surrogates(text))
        if not answer:
            reason = "the reply holds no answer outside its thought" if thought else "the reply is empty"
            return MalformedReply(reason, thought)
        outcome = self._read(answer, wrapped)
        if not thought:
            return outcome
        return replace(outcome, reasoning=f"{thought}\n\n{outcome.reasoning}" if outcome.reasoning else thought)

    def _reader(self, space: Space | None) -> Callable[[str, bool], Outcome]:
        if isinstance(space, CompositeSpace):
            return _Structured(space).read
        if space is None:
            return _read_text
        if space.type is SpaceType.JSON:
            return _Structured(space).read
        if space.type is SpaceType.DISCRETE and space.enum_values:
            return _Scalar(space, Vocabulary(space.enum_values)).read
        if space.type is SpaceType.CONTINUOUS:
            return _Scalar(space, Quantity()).read
        return _read_text


def _read_text(answer: str, wrapped: bool) -> Outcome:
    del wrapped
    markers = _MARKER.finditer(answer) if "ACTION" in answer else ()
    marker = max(markers, key=re.Match.start, default=None)
    if marker is None:
        return Parsed(answer)
    action, before = answer[marker.end() :].strip(), answer[: marker.start()].strip()
    return Parsed(action, before) if action else MalformedReply("nothing follows ACTION:", before)


@dataclass(frozen=True, slots=True)
class _Scalar:
    """Discrete and continuous spaces."""

    space: SpaceSpec
    reader: Reader

    def read(self, answer: str, wrapped: bool) -> Outcome:
        direct = self.reader.exact(answer)
        if direct is not None:
            return self._checked(direct, "", repaired=False)
        if "{" in answer or "[" in answer:
            outcome = self._from_json(answer, wrapped)
            if outcome is not None:
                return outcome
        choice = last_choice(answer, self.reader)
        if isinstance(choice, ChosenOption):
            return self._checked(choice.value, answer, repaired=wrapped or not choice.explicit)
        if isinstance(choice, Unknown):
            return MalformedReply(f"{_shown(choice.text)} is not allowed", answer)
        return MalformedReply("the reply makes no choice" if self._discrete else "the reply holds no number", answer)

    @property
    def _discrete(self) -> bool:
        return self.space.type is SpaceType.DISCRETE

    def _from_json(self, answer: str, wrapped: bool) -> Outcome | None:
        """Read `{"action": …}`, or a list of numbers if a shape is declared; None if there is neither."""
        there = scan(answer)
        if there.flaw and (wrapped or _OBJECT.match(answer)):
            return MalformedReply(f"the JSON {there.flaw}")
        found = next(filter(self._usable, reversed(there.values[-_MOST_VALUES:])), None)
        if found is None or (not there.alone and last_choice(answer[found.end :], self.reader) is not None):
            return None
        value, reasoning = found.value, _prose(answer[: found.start])
        if isinstance(value, dict):
            reasoning, value = _thought_of(value) or reasoning, value["action"]
        return self._meant(value, reasoning, repaired=not found.strict)

    def _usable(self, found: JsonSpan) -> bool:
        value = found.value
        if isinstance(value, dict):
            return "action" in value
        return isinstance(value, list) and bool(self.space.shape) and not deviations(self.space, value)

    def _meant(self, value: Any, reasoning: str, *, repaired: bool) -> Outcome:
        """Read the JSON value of an action."""
        if isinstance(value, list) and self.space.shape:
            problems = deviations(self.space, value)
            return MalformedReply(problems[0], reasoning) if problems else Parsed(value, reasoning, repaired)
        text = scalar_text(value)
        exact = self.reader.exact(text) if text else None
        if exact is not None:
            return self._checked(exact, reasoning, repaired=repaired)
        choice = last_choice(text, self.reader)
        if isinstance(choice, ChosenOption):
            return self._checked(choice.value, reasoning, repaired=True)
        return MalformedReply(f"{_shown(value)} is not allowed", reasoning)

    def _checked(self, value: Any, reasoning: str, *, repaired: bool) -> Outcome:
        if self._discrete:
            return Parsed(value, reasoning, repaired)
        problems = deviations(self.space, value)
        if problems:
            return MalformedReply(f"{_shown(value)} is out of bounds, it {problems[0]}", reasoning)
        if (self.space.dtype or "").lstrip("u").startswith("int") and float(value).is_integer():
            value = int(value)
        return Parsed(value, reasoning, repaired)


class _Structured:
    """Json and composite spaces."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.coercion = Coercion(space)
        self.properties = _properties(space)
        self.owns_action = _owns_action(space)

    def read(self, answer: str, wrapped: bool) -> Outcome:
        there = scan(answer)
        if there.flaw:
            return MalformedReply(f"the JSON value at the end {there.flaw}", answer)
        if not there.values:
            return MalformedReply("the reply holds no JSON value that can be read", answer)
        return self._chosen(list(reversed(there.values[-_MOST_VALUES:])), wrapped, answer)

    def _chosen(self, values: list[JsonSpan], wrapped: bool, answer: str) -> Outcome:
        """Read the first of `values` that is related to the space, otherwise the first."""
        forms = [form for found in values for form in self._forms(found, wrapped)]
        form = next((form for form in forms if self._related(form)), forms[0])
        found, value = form.found, form.value
        reasoning = form.reasoning or _prose(answer[: found.start])
        if isinstance(self.space, CompositeSpace):
            done = self.coercion.coerce(value)
            if done.problems:
                return MalformedReply("; ".join(done.problems[:3]), reasoning)
            reasoning = reasoning or _extra_thought(done.value, self.space)
            problems = deviations(self.space, done.value, limit=_NAMED)
            return Parsed(done.value, reasoning, done.changed or not found.strict, tuple(problems))
        problems = deviations(self.space, value, limit=_NAMED)
        if problems and not isinstance(value, dict | list):
            return MalformedReply(f"the action {problems[0]}", reasoning)
        return Parsed(value, reasoning, not found.strict, tuple(problems))

    def _forms(self, found: JsonSpan, wrapped: bool) -> Iterator["_Form"]:
        """Yield the possible meanings of a value: the content of `{"action": …}`, and the value itself."""
        value = found.value
        wrapper = isinstance(value, dict) and "action" in value and value.keys() <= _WRAPPER
        if wrapper and (wrapped or not self.owns_action):
            yield _Form(found, value["action"], _thought_of(value), unwrapped=True)
        yield _Form(found, value)

    def _related(self, form: "_Form") -> bool:
        """Return whether a value looks like an action, valid or not, rather than like unrelated JSON."""
        if isinstance(self.space, CompositeSpace):
            return self.coercion.names(form.value)
        if isinstance(form.value, dict) and self.properties:
            return not self.properties.isdisjoint(form.value)
        if self.space.json_schema is not None:
            return not deviations(self.space, form.value)
        return isinstance(form.value, dict) or (form.unwrapped and isinstance(form.value, list))


@dataclass(frozen=True, slots=True)
class _Form:
    """One meaning of a JSON value."""

    found: JsonSpan
    value: Any
    reasoning: str = ""
    unwrapped: bool = False


def _properties(space: Space) -> frozenset[str]:
    schema = None if isinstance(space, CompositeSpace) else space.json_schema
    properties = (schema or {}).get("properties")
    return frozenset(properties) if isinstance(properties, dict) else frozenset()


def _owns_action(space: Space) -> bool:
    """Return whether `action` is a field of the space itself, judged by its schema or description."""
    if isinstance(space, CompositeSpace):
        return "action" in space.fields
    if space.json_schema is not None:
        return '"action"' in (space.schema_ref or "")
    return _ACTION_FIELD.search(space.description) is not None


def _thought_of(wrapper: dict[str, Any]) -> str:
    return "\n".join(item for key, item in wrapper.items() if key != "action" and isinstance(item, str)).strip()


def _extra_thought(action: dict[str, Any], space: CompositeSpace) -> str:
    """Remove from an action the reasoning that the model added beside the declared fields, and return it."""
    extra = [name for name in action if name in _WRAPPER and name not in space.fields and name != "action"]
    return _thought_of({name: action.pop(name) for name in extra})


def _prose(text: str) -> str:
    return text.rstrip().removesuffix("```json").removesuffix("```").rstrip()


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _allowed(space: Space | None) -> str:
    if space is None or (isinstance(space, SpaceSpec) and space.type not in _ANSWERED):
        return "any text that is not empty"
    return describe(space)


_ANSWERED = frozenset((SpaceType.DISCRETE, SpaceType.CONTINUOUS, SpaceType.JSON))
