"""Thought that a model writes into its reply: no part of its answer."""

import re

_NAMES = r"(?:seed:)?think(?:ing)?|thoughts?|reasoning"
_TAG = re.compile(rf"<(/?)(?:{_NAMES})>|\[(/?)THINK(?:ING)?\]|◁(/?)think▷", re.IGNORECASE)
_FINAL = re.compile(r"<\|channel\|>\s{0,9}final(?:<\|message\|>|(?=\s))")
_CHANNEL = re.compile(r"<\|channel\|>\s{0,9}(?:analysis|commentary)\b")
_CONTROL = re.compile(r"<\|[a-z_]{1,20}\|>")


def split_thought(text: str) -> tuple[str, str]:
    """Return the thought of a reply and the answer outside it, both stripped.

    Thought stands in tags (`<think>`, `<thinking>`, `<thought>`, `<reasoning>`, `<seed:think>`, `[THINK]`, `◁think▷`)
    or in a channel other than `final`. Without a closing tag everything after the opening one is thought; without an
    opening tag everything before the closing one is.
    """
    if "<|channel|>" in text:
        final = next(reversed(list(_FINAL.finditer(text))), None)
        if final is not None:
            return _CONTROL.sub(" ", text[: final.start()]).strip(), _CONTROL.sub("", text[final.end() :]).strip()
        if _CHANNEL.search(text):
            return _CONTROL.sub(" ", text).strip(), ""
    return split_tags(text)


def split_tags(text: str) -> tuple[str, str]:
    """Return thought and answer as `split_thought` does, but take channels for text: calls of tools stand in one."""
    if not ("<" in text or "[" in text or "◁" in text) or _TAG.search(text) is None:
        return "", text.strip()
    thought: list[str] = []
    answer: list[str] = []
    at, inside = 0, False
    for tag in _TAG.finditer(text):
        closes = any(tag.groups())
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
