"""Values of secrets, from a dotenv file or the environment. Messages never repeat a value."""

import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

from mesocosm.core.failure import InvalidInput, Problem, UsageError

_LARGEST = 2**20
_LINE = re.compile(r"(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*")
_QUOTED = {
    '"': re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL),
    "'": re.compile(r"'([^']*)'"),
}
_REST = re.compile(r"[ \t]*(?:#[^\n]*)?(?:\n|\Z)")
_BARE = re.compile(r"[^\n]*")
_COMMENT = re.compile(r"(?:^|[ \t])#.*")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


def resolve(
    names: Iterable[str], secrets_file: Path | Literal["-"] | None, environ: Mapping[str, str]
) -> dict[str, str]:
    """Return the value of every name: from the file, else from `environ`; an empty value counts as missing.

    `secrets_file` may be `-` for standard input. Raises UsageError if the file cannot be read, InvalidInput with all
    its invalid lines, or with all names without a value.
    """
    given = read_dotenv(secrets_file) if secrets_file is not None else {}
    found = {name: given.get(name) or environ.get(name, "") for name in names}
    missing = [name for name, value in found.items() if not value]
    if missing:
        where = "neither in the secrets file nor in the environment" if given else "not in the environment"
        raise InvalidInput("secrets without a value", [_missing(name, where) for name in missing])
    return found


def read_dotenv(place: Path | Literal["-"]) -> dict[str, str]:
    """Return the variables of a dotenv file, or of standard input for `-`.

    Raises UsageError if it cannot be read, InvalidInput with the numbers of all invalid lines.
    """
    subject = "standard input" if place == "-" else str(place)
    try:
        if place == "-":
            content = sys.stdin.buffer.read(_LARGEST + 1)
        else:
            with Path(place).open("rb") as file:
                content = file.read(_LARGEST + 1)
    except (OSError, ValueError, AttributeError) as error:
        # sys.stdin is None in a process without standard input.
        what = getattr(error, "strerror", "") or type(error).__name__
        raise UsageError(f"{subject}: the secrets cannot be read: {what}; give --secrets-file another file") from None
    if len(content) > _LARGEST:
        raise UsageError(f"{subject} is larger than 1 MiB, which no file of secrets is")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise InvalidInput(subject, [Problem(f"line {line}", "is not UTF-8", "save the file as UTF-8")]) from None
    return parse_dotenv(text, subject)


def parse_dotenv(text: str, subject: str) -> dict[str, str]:
    """Return the variables of `text`: lines `NAME=value`; the last one of a name counts.

    `export` may precede the name. Single quotes keep their content verbatim, double quotes allow escapes such as `\\n`;
    both may span lines. Without quotes the value ends at ` #` or at the end of the line. Nothing is expanded. Raises
    InvalidInput.
    """
    text = text.replace("\r\n", "\n")
    found: dict[str, str] = {}
    problems: list[Problem] = []
    at = 0
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        line = text[at:end].strip()
        if not line or line.startswith("#"):
            at = end + 1
            continue
        start = at + len(text[at:end]) - len(text[at:end].lstrip())
        name, value, after = _entry(text, start)
        if value is None or "\0" in value:
            problems.append(Problem(f"line {text.count(chr(10), 0, at) + 1}", _fault(name, value), _FORM))
        else:
            found[name] = value
        at = max(after, end + 1)
    if problems:
        raise InvalidInput(subject, problems)
    return found


_FORM = 'write NAME=value, or NAME="value" when it has spaces, # or line breaks in it'


def _entry(text: str, at: int) -> tuple[str, str | None, int]:
    """Return name, value and end of the entry at `at`; the value is None if it is invalid."""
    start = _LINE.match(text, at)
    if start is None:
        return "", None, 0
    name, at = start[1], start.end()
    if text[at : at + 1] not in _QUOTED:
        bare = _BARE.match(text, at)
        assert bare is not None
        return name, _COMMENT.sub("", bare[0]).strip(), bare.end() + 1
    quote = text[at]
    quoted = _QUOTED[quote].match(text, at)
    rest = _REST.match(text, quoted.end()) if quoted else None
    if quoted is None or rest is None:
        return name, None, 0
    value = quoted[1] if quote == "'" else re.sub(r"\\(.)", _unescaped, quoted[1], flags=re.DOTALL)
    return name, value, rest.end()


def _unescaped(escape: re.Match[str]) -> str:
    """Return the character for an escape; unknown escapes stay unchanged."""
    char = escape[1]
    return _ESCAPES.get(char, char if char in "\"\\$'" else escape[0])


def _fault(name: str, value: str | None) -> str:
    if value is not None:
        return f"gives {name} a NUL character, which no variable can hold"
    return f"gives {name} a value whose quotes do not fit" if name else "is not a NAME=value"


def _missing(name: str, where: str) -> Problem:
    return Problem(name, f"is {where}", f"`export {name}=…`, or put a line {name}=… into a file for --secrets-file")
