"""Extract the program from an answer."""

import re
import textwrap
from collections.abc import Iterator

_FENCE = re.compile(
    r"^[ \t]*(?P<fence>```+|~~~+)[^\n`]*\n(?P<code>.*?)(?:^[ \t]*(?P=fence)[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)
_NEXT = re.compile(r"^(?:class |def |async def |@|#|if |print\b|assert\b|import |from |```)", re.MULTILINE)


def programs(prompt: str, entry_point: str, text: str) -> list[str]:
    """Return candidate programs, of which the first that compiles counts; empty if the answer has no code.

    The code is the last fenced block that defines the function, or else the first fenced block, or else the whole text.
    Code that defines the function is appended to the prompt, because it may need the imports and helpers there. Other
    code is taken as the body of the prompt's function: unchanged, with the indentation that its first line lost, or
    indented as a whole, and each of these also cut where other code begins.
    """
    code = _code(entry_point, text)
    if not code.strip():
        return []
    if _defines(entry_point, code):
        return [f"{prompt.rstrip()}\n\n\n{textwrap.dedent(code)}\n", f"{textwrap.dedent(code)}\n"]
    return list(dict.fromkeys(prompt + body + "\n" for body in _bodies(code)))


def _code(entry_point: str, text: str) -> str:
    blocks = [found["code"] for found in _FENCE.finditer(text)]
    if not blocks:
        return text
    return next((block for block in reversed(blocks) if _defines(entry_point, block)), blocks[0])


def _defines(entry_point: str, code: str) -> bool:
    head = rf"^[ \t]*(?:async[ \t]+)?def[ \t]+{re.escape(entry_point)}[ \t]*\("
    return re.search(head, code, re.MULTILINE) is not None


def _bodies(code: str) -> Iterator[str]:
    whole = code.strip("\n")
    indented = [whole, "    " + whole.lstrip(), textwrap.indent(textwrap.dedent(whole), "    ")]
    yield from indented
    for body in indented[:2]:
        end = _NEXT.search(body)
        if end is not None and end.start():
            yield body[: end.start()]
