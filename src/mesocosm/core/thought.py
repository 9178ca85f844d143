"""Thought that a model writes into its reply, between `<think>` tags: no part of its answer."""

import re

_TAG = re.compile(r"<(/?)think(?:ing)?>", re.IGNORECASE)


def split_thought(text: str) -> tuple[str, str]:
    """Return the thought of a reply and the answer outside it, both stripped.

    Without a closing tag everything after the opening one is thought; without an opening tag everything before the
    closing one is.
    """
    if "<" not in text or _TAG.search(text) is None:
        return "", text.strip()
    thought: list[str] = []
    answer: list[str] = []
    at, inside = 0, False
    for tag in _TAG.finditer(text):
        closes = bool(tag[1])
        if inside and not closes:
            continue
        piece = text[at : tag.start()]
        if not inside and closes:
            thought += [*answer, piece]
            answer = []
        else:
            (thought if inside else answer).append(piece)
        at, inside = tag.end(), not closes
    (thought if inside else answer).append(text[at:])
    return "".join(thought).strip(), "".join(answer).strip()
