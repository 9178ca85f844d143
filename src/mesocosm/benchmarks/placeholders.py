"""Words of a command with placeholders such as `{model}` or `{max_tasks}`; `{{` and `}}` stand for braces.

`{?parameter}` adds nothing, but omits its list unless the parameter is set and neither false nor empty; it is meant for
flags without a value. A word that consists only of a list's placeholder becomes one word per element.
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from mesocosm.core.failure import UsageError

RUN = ("python", "provider", "model", "temperature", "max_tokens", "seed", "trial", "base_url", "output", "folder")
"""Placeholders available in every command; a parameter of the same name overrides them."""

_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")

Words = Sequence[str | Sequence[str]]


class UnsetPlaceholder(LookupError):
    """A placeholder has no value; the message is its name."""


def names(word: str) -> list[str]:
    """Return the placeholders of a word, including a leading `?`. Raises UsageError for an unmatched brace."""
    found = []
    for match in _PLACEHOLDER.finditer(word):
        if match[0] in "{}":
            raise UsageError(f"{word!r} has a single brace; write {{{{ or }}}} for one that is meant")
        if match[1] is not None:
            found.append(match[1])
    return found


def check(words: Iterable[str], known: Collection[str]) -> None:
    """Raise UsageError for an unknown placeholder."""
    for word in words:
        unknown = next((name for name in names(word) if name.removeprefix("?") not in known), None)
        if unknown is not None:
            raise UsageError(
                f"{word!r} asks for {{{unknown}}}, which is not a placeholder; known: {', '.join(sorted(known))}"
            )


def flat(words: Words) -> list[str]:
    """Return all words, including those inside lists."""
    return [word for item in words for word in ([item] if isinstance(item, str) else item)]


def fill(words: Words, values: Mapping[str, Any]) -> list[str]:
    """Return the words with placeholders replaced; a list is left out if one of its values is not set.

    Raises UsageError if a word outside of a list has no value.
    """
    filled: list[str] = []
    for item in words:
        try:
            part = [text for word in ([item] if isinstance(item, str) else item) for text in _expanded(word, values)]
        except UnsetPlaceholder as unset:
            if isinstance(item, str):
                raise UsageError(
                    f"{item!r} needs {unset}, which is not set; set it, or put the word into a list of its own"
                ) from None
            continue
        filled += part
    return filled


def text(word: str, values: Mapping[str, Any]) -> str:
    """Return one word with placeholders replaced; lists are joined by commas. Raises UnsetPlaceholder."""

    def value(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0][0]
        if match[1].startswith("?"):
            if not values.get(match[1][1:]):
                raise UnsetPlaceholder(match[1][1:])
            return ""
        found = values.get(match[1])
        if found is None:
            raise UnsetPlaceholder(match[1])
        return ",".join(map(_spelled, found)) if isinstance(found, list | tuple) else _spelled(found)

    return _PLACEHOLDER.sub(value, word)


def _expanded(word: str, values: Mapping[str, Any]) -> list[str]:
    found = names(word)
    if found and word == f"{{{found[0]}}}":
        value = values.get(found[0])
        if isinstance(value, list | tuple):
            return [_spelled(item) for item in value]
        if found[0].startswith("?"):
            text(word, values)
            return []
    return [text(word, values)]


def _spelled(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
