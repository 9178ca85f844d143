"""The program `mesocosm`: its tree of commands, which are imported when they are called."""

import gc
import io
import os
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import MappingProxyType

import click

from mesocosm import __version__
from mesocosm.cli.command import HELP, MORE, MesocosmGroup, Tree, colourless, shows_all, vars_of

FILES, PLATFORM, HEALTH = "Files", "Platform", "Health"
TREE: Tree = {
    "demo": ("mesocosm.cli.demo:demo", "Play an example and watch it in the browser"),
    "init": ("mesocosm.cli.init:init", "Start a project: asks what you have, writes the smallest that runs"),
    "run": ("mesocosm.cli.run:run", "Run anything: a folder, a file, a name; list and look at runs"),
    "bench": ("mesocosm.cli.bench.bench:bench", "Benchmarks: list, show, run"),
    "eval": (
        "mesocosm.cli.eval.eval:evaluate",
        "Your own rows or agent:  eval ask q.csv --prompt '{{question}}' …",
    ),
    "compare": (
        "mesocosm.cli.compare:compare",
        "Compare runs, models or prompts; fail a pipeline on a regression",
    ),
    "search": ("mesocosm.cli.search:search", "Find what was said in all runs, and how often it passed"),
    "view": ("mesocosm.cli.view:view", "Open the results in the browser"),
    "import": ("mesocosm.cli.importing:import_", "Import runs from bundles, logs and trajectories.", FILES),
    "export": ("mesocosm.cli.import_export:export", "Export runs to a lossless bundle or a static site.", FILES),
    "dataset": ("mesocosm.cli.dataset:dataset", "Inspect datasets: preview, validate, statistics.", FILES),
    "serve": ("mesocosm.cli.serve:serve", "Run a server and its workers.", PLATFORM),
    "worker": ("mesocosm.cli.worker:worker", "Process queued builds and runs of a server.", PLATFORM),
    "admin": ("mesocosm.cli.admin.admin:admin", "Administer a server: accounts, backups, cleanup.", PLATFORM),
    "auth": ("mesocosm.cli.auth:auth", "Log in to a server and show the current login.", PLATFORM),
    "team": ("mesocosm.cli.team:team", "Manage your teams on a server.", PLATFORM),
    "env": ("mesocosm.cli.env:env", "Submit environments to a server and follow their builds.", PLATFORM),
    "domain": ("mesocosm.cli.domain:domain", "Show domains and their leaderboards.", PLATFORM),
    "gallery": ("mesocosm.cli.gallery:gallery", "List public runs.", PLATFORM),
    "models": ("mesocosm.cli.models:models", "List the models that the server offers.", PLATFORM),
    "workspace": ("mesocosm.cli.workspace:workspace", "Manage your workspaces on a server.", PLATFORM),
    "doctor": ("mesocosm.cli.doctor:doctor", "Check the setup: server, adapter, Ollama, manifest.", HEALTH),
    "guests": ("mesocosm.cli.guests:guests", "Manage the frameworks whose benchmarks run here.", HEALTH),
    "plugins": (
        "mesocosm.cli.plugins:plugins",
        "List installed plugins and the package each comes from.",
        HEALTH,
    ),
    "upgrade-check": (
        "mesocosm.cli.upgrade_check:upgrade_check",
        "Tell what this version would change in older files.",
        HEALTH,
    ),
    "completion": ("mesocosm.cli.completion:completion", "Print the completion script of a shell.", HEALTH),
    "help": ("mesocosm.cli.help:help_", "Show the help of a command, or the settings of --set.", MORE),
    "push": ("mesocosm.cli.remote.push:push", "Push a run to a server, which computes its numbers again.", MORE),
    "review": ("mesocosm.cli.review:review", "Let people judge episodes; how far they and graders agree.", MORE),
    "scan": ("mesocosm.cli.scan:scan", "Let a model answer a question about every episode of a run.", MORE),
    "pairwise": ("mesocosm.cli.pairwise:pairwise", "Let a model judge which of two runs answers better.", MORE),
    "secret": ("mesocosm.cli.secret:secret", "Store secrets for the runs of a workspace on a server.", MORE),
    "rollout": ("mesocosm.cli.rollout:rollout", "List the rollouts of a workspace on a server.", MORE),
    "register": (
        "mesocosm.cli.register:register",
        "Register a domain from a Python file; for repositories use env submit.",
        MORE,
    ),
    "sandbox": ("mesocosm.cli.sandbox:sandbox", "List and remove containers that runs of task folders left.", MORE),
    "slurm": ("mesocosm.cli.slurm:slurm", "Play runs on the nodes of a Slurm cluster.", MORE),
    "validate": (
        "mesocosm.cli.validate:validate",
        "Check a manifest by its rules, a benchmark by cheats.",
        MORE,
    ),
    "check": ("mesocosm.cli.check:check", "Play an environment and compare its manifest with the results.", MORE),
    "parity": ("mesocosm.cli.parity:parity", "Compare our scores with those of a framework's own runner.", MORE),
    "verify": ("mesocosm.cli.verify:verify", "Check stored runs against their checksums and report damage.", MORE),
    "gate": ("mesocosm.cli.gate:gate", "Run a command, compare its runs with a baseline, and pass or fail.", MORE),
    "chaos": (
        "mesocosm.cli.chaos:chaos",
        "Run a command under injected faults and report what was lost or changed.",
        MORE,
    ),
}
COMPLETION = "_MESOCOSM_COMPLETE"


COMMON_HELP = """
\b
Options of every command, in any position:
  --json                   one JSON document on standard output
  --plain                  no colours, no boxes, no moving bars
  --debug                  tracebacks
  --results-dir DIR        where results are kept  [./benchmark_results]
  --database-url URL       store in PostgreSQL instead of the file
  --blob-url URL           large content in an object store: file:///…, s3://…
  --base-url, --bench-url  server to talk to
Also as the variables MESOCOSM_RESULTS_DIR, MESOCOSM_DATABASE_URL,
MESOCOSM_BLOB_URL and MESOCOSM_BASE_URL.
"""


PROGRAM_HELP = """\
Evaluate agents and language models: on your data, on benchmarks, in
environments. The same command again continues; nothing finished runs twice."""


class RootGroup(MesocosmGroup):
    """The program itself: its help is one screen of 80 columns, with the commands in groups."""

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help; with --all also every other command and the common options."""
        bold, dim = {"bold": True}, {"dim": True}
        sections: dict[str, list[str]] = {}
        for name in self.list_commands(ctx):
            sections.setdefault(self.section_of(name), []).append(name)
        more = sections.pop(MORE)

        def wrapped(text: str, before: int = 2) -> str:
            """Fold a text that stands behind `before` columns."""
            return ("\n" + " " * before).join(textwrap.wrap(text, formatter.width - before, break_on_hyphens=False))

        lines = [f"Usage: {ctx.command_path} COMMAND", "", f"  {wrapped(' '.join(PROGRAM_HELP.split()))}", ""]
        lines += [
            f"  {click.style(f'{name:<9}', **bold)} {wrapped(self._short(name), 12)}" for name in sections.pop("")
        ]
        lines.append("")
        if shows_all(ctx):
            formatter.write("\n".join(lines))
            for heading, names in {**sections, MORE: more}.items():
                with formatter.section(heading):
                    formatter.write_dl([(name, self._short(name)) for name in names])
            formatter.write_paragraph()
            formatter.write_text("-V, --version prints the version.")
            self.format_epilog(ctx, formatter)
            return
        for heading, names in sections.items():
            lines.append(
                f"  {click.style(f'{heading:<10}', **dim)} {click.style(wrapped(' '.join(names), 13), **bold)}"
            )
        common = wrapped("Common: --json --plain --debug --results-dir DIR")
        usage = f"{ctx.command_path} COMMAND --help"
        gap = "   " if len(usage) + len(common) + 5 <= formatter.width else "\n  "
        lines += ["", f"  {usage}{gap}{common}", ""]
        formatter.write("\n".join(lines))


OF_RUNS = ("list", "show", "watch", "stop", "resume", "rescore", "delete", "episodes", "create")
"""Commands of `run` that users may try without `run`."""
OF_RUNNING = frozenset({"run", "bench", "eval", "demo", "compare", "gate"})


@click.group(
    cls=RootGroup,
    tree=TREE,
    instead={name: f"Did you mean 'run {name}'?" for name in OF_RUNS},
    context_settings=HELP,
    epilog=COMMON_HELP,
)
@click.version_option(__version__, "-V", "--version", message="mesocosm %(version)s")
def program() -> None:
    """Evaluate agents and language models: in environments, on datasets, on whole benchmarks.

    Every episode is recorded, every score carries its uncertainty, nothing that finished is run twice.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program and exit with its code.

    0 ok, 1 failed, 2 usage, 3 incomplete, 4 infrastructure, 130 interrupted.
    """
    # Imported modules stay in memory; scanning them for garbage takes a twelfth of the time until a command works.
    gc.set_threshold(10_000, 10, 10)
    sys.exit(call(arguments))


def call(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code; only the command's own output reaches stdout."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot display a character must not end a run.
            stream.reconfigure(errors="replace")
    code = 0
    try:
        with told_warnings():
            code = _answer(words)
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()
        return 0
    except OSError as error:
        _discard_output()
        if not code:  # otherwise the command has already reported the failure
            click.echo(f"error: the output cannot be written: {error.strerror or error}", err=True)
        return code or 4
    return code


def _answer(words: list[str]) -> int:
    """Run a command line; print a failure as a message, or with --debug as a traceback."""
    color = False if colourless() else None
    try:
        code = program.main(args=words, prog_name="mesocosm", standalone_mode=False, color=color)
    except click.ClickException as error:
        error.show()
        _document(words, "UsageError", error.format_message())
        return error.exit_code
    except (click.Abort, KeyboardInterrupt) as error:
        click.echo(_interrupted(words, error), err=True)
        _document(words, "Interrupted", "interrupted before there was a result")
        return 130
    except SystemExit:
        # Except in shell completion, click ends like this only if the reader of the output is gone.
        if COMPLETION in os.environ:
            raise
        raise BrokenPipeError from None
    except Exception as error:
        if "--debug" in words:
            raise
        return _report(words, error)
    return code if isinstance(code, int) else 0


def _interrupted(words: list[str], error: BaseException) -> str:
    """Return what to say of an interrupt: what the command said with it, else whether a run can have begun."""
    said = str(error.__cause__ or error)  # click raises an exception of its own from the interrupt
    if said.startswith("interrupted"):
        return said
    loaded = hasattr(sys.modules.get("mesocosm.store.store"), "open_store")
    return "interrupted" if loaded or words[0] not in OF_RUNNING else "interrupted: no run was begun here"


def _report(words: list[str], error: Exception) -> int:
    from mesocosm.core.failure import MesocosmError  # imported here, because help texts do not need it

    if isinstance(error, MesocosmError):
        click.echo(f"error: {error}", err=True)
        _document(words, type(error).__name__, str(error), getattr(error, "problems", ()), _of_server(error))
        return error.exit_code
    if isinstance(error, OSError):
        message = f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error)
        click.echo(f"error: {message}", err=True)
    else:
        message = f"{type(error).__name__}: {error}"
        defect = "This is a defect in mesocosm; --debug shows where it happened."
        click.echo(f"error: {message}\n{defect}", err=True)
    _document(words, type(error).__name__, message)
    return 4


def _of_server(error: Exception) -> dict[str, object]:
    """Return what JSON says more, and instead, of an error of a server, whichever command met it."""
    from mesocosm.client.error import ApiError

    if not isinstance(error, ApiError):
        return {}
    from mesocosm.cli.remote.connection import error_document

    return error_document(error)


def _document(
    words: list[str],
    kind: str,
    detail: str,
    problems: Sequence[object] = (),
    more: Mapping[str, object] = MappingProxyType({}),
) -> None:
    """Print an error as JSON, if the command prints JSON."""
    if "--json" not in words:
        return
    import json

    listed = {"problems": [vars_of(problem) for problem in problems]} if problems else {}
    click.echo(json.dumps({"error": kind, "detail": detail, **listed, **more}, indent=2, ensure_ascii=False))


def _discard_output() -> None:
    """Discard buffered output: Python would otherwise report the error again at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def told_warnings() -> Iterator[None]:
    """Show warnings of our loggers on standard error as `warning: …`."""
    import logging

    class EchoHandler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            from mesocosm.core.redact import Redactor

            click.echo(f"{record.levelname.lower()}: {Redactor().text(record.getMessage())}", err=True)

    handler, logger = EchoHandler(logging.WARNING), logging.getLogger("mesocosm")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
