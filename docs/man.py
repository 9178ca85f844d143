"""Writes a manual page for each command that help texts list: `python docs/man.py DIRECTORY`.

The pages use the macros of man(7), and say what `--help` says.
"""

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

import click
from generate import commands

import mesocosm


def pages() -> Iterator[tuple[str, str]]:
    """Yield the name of each command as manual pages have it, such as `mesocosm-run-local`, with its page."""
    for context in commands():
        if not any(one.command.hidden for one in _upwards(context)):
            yield _name(context), "\n".join(_lines(context)) + "\n"


def _lines(context: click.Context) -> Iterator[str]:
    command = context.command
    summary, _, _ = _text(command.help).partition("\n\n")
    yield f'.TH "{_name(context).upper()}" 1 "" "mesocosm {mesocosm.__version__}" "mesocosm"'
    yield from (".SH NAME", rf"{_escaped(_name(context))} \- {_escaped(' '.join(summary.split()).rstrip('.'))}")
    yield from (".SH SYNOPSIS", rf"\fB{_escaped(context.command_path)}\fR {_escaped(_usage(context))}")
    yield from (".SH DESCRIPTION", *_paragraphs(_text(command.help)))
    records = (one.get_help_record(context) for one in command.get_params(context))
    yield from _definitions("OPTIONS", (record for record in records if record and record[1]))
    if isinstance(command, click.Group):
        listed = ((name, command.get_command(context, name)) for name in command.list_commands(context))
        yield from _definitions(
            "COMMANDS", ((name, one.get_short_help_str(200)) for name, one in listed if one and not one.hidden)
        )
    if command.epilog:
        yield from (".SH NOTES", *_paragraphs(_text(command.epilog)))
    if context.parent:
        yield from (".SH SEE ALSO", ", ".join(rf"\fB{_escaped(_name(one))}\fR(1)" for one in _upwards(context.parent)))


def _upwards(context: click.Context | None) -> Iterator[click.Context]:
    while context:
        yield context
        context = context.parent


def _name(context: click.Context) -> str:
    return context.command_path.replace(" ", "-")


def _usage(context: click.Context) -> str:
    return " ".join(context.command.collect_usage_pieces(context))


def _text(given: str | None) -> str:
    return inspect.cleandoc(given or "").partition("\f")[0]


def _paragraphs(text: str) -> Iterator[str]:
    """Yield a text in paragraphs; those that begin with click's mark keep their lines."""
    for number, part in enumerate(text.split("\n\n")):
        lines = [_escaped(line) for line in part.strip("\n").splitlines()]
        if number:
            yield ".PP"
        yield from (".nf", *lines[1:], ".fi") if lines[:1] == ["\b"] else lines


def _definitions(heading: str, rows: Iterator[tuple[str, str]]) -> Iterator[str]:
    """Yield a section of terms with what they mean; nothing when there are none."""
    for number, (term, meaning) in enumerate(rows):
        if number == 0:
            yield f".SH {heading}"
        yield from (".TP", rf"\fB{_escaped(term)}\fR", _escaped(" ".join(meaning.split())))


def _escaped(text: str) -> str:
    """Return a text that says itself: hyphens can be copied, and no line is taken for a macro."""
    text = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{text}" if text.startswith((".", "'")) else text


def main(directory: Path) -> None:
    """Write all pages, and nothing else, into a directory."""
    directory.mkdir(parents=True, exist_ok=True)
    for old in directory.glob("*.1"):
        old.unlink()
    for name, page in pages():
        (directory / f"{name}.1").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
