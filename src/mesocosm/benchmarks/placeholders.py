"""Words of a command with placeholders: `{model}`, `{max_tasks}`; `{{` and `}}` stand for braces.

`{?parameter}` adds nothing, but leaves its list out unless the parameter is set and neither false nor empty: for flags
without a value. A word that is nothing but the placeholder of a list becomes one word for each of its elements.
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from mesocosm.core.failure import UsageError

RUN = ("python", "provider", "model", "temperature", "max_tokens", "seed", "trial", "base_url", "output", "folder")
"""Placeholders that every command has, unless a parameter has that name."""

_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")

Words = Sequence[str | Sequence[str]]


class UnsetPlaceholder(LookupError):
    """A placeholder has no value; the text is its name."""


def names(word: str) -> list[str]:
    """Return the placeholders of a word, a leading `?` included. Raises UsageError for a brace that stands alone."""
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
    """Return all words, those inside lists too."""
    return [word for item in words for word in ([item] if isinstance(item, str) else item)]


def fill(words: Words, values: Mapping[str, Any]) -> list[str]:
    """Return the words with their values; a list is left out when one of its values is not set.

    Raises UsageError for a word outside of lists without a value.
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
    """Return one word with its values; lists are joined by commas. Raises Unset."""

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
