"""`mesocosm validate`: check a document against every rule."""

import sys
from pathlib import Path

import click

from mesocosm.cli.command import MesocosmCommand, options
from mesocosm.cli.render import emit
from mesocosm.core.failure import MesocosmError, UsageError


class DocumentUnreadable(MesocosmError):
    """The document could not be read."""


@click.command(cls=MesocosmCommand)
@click.argument("file", metavar="[FILE|DIR|-]", default=".")
def validate(file: str) -> int:
    """Check a manifest (benchanything.json) or a register body, from a file or from standard input (-).

    For a folder, by default the current one, the manifest that `run local` would use is checked.

    Prints one JSON document with ok, issues, suggested_fixes, rules_version and schema, then every problem with its
    path. Exits 1 when something is wrong.
    """
    from mesocosm.environments.validation import validate_bytes, validate_file

    try:
        verdict = validate_bytes(sys.stdin.buffer.read()) if file == "-" else validate_file(Path(file))
    except UsageError as error:
        # An unreadable document fails the check (1) like an invalid one; 2 is for wrong flags.
        raise DocumentUnreadable(str(error)) from error
    emit(verdict.to_json())
    if not options().json and sys.stderr.isatty():
        for problem in verdict.problems:
            click.secho(f"✗ {problem}", fg="red", err=True)
        for problem in verdict.warnings:
            click.secho(f"! {problem}", fg="yellow", err=True)
    return 0 if verdict.ok else 1
