"""Run experiments from the command line: find an unfinished run, show the result, return the exit code."""

import asyncio
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click
import msgspec

from mesocosm.cli.command import CommonOptions, options
from mesocosm.cli.gate_options import GateFlags, runs_markdown
from mesocosm.cli.progress import watcher
from mesocosm.cli.render import GOING, abandoned, print_result
from mesocosm.cli.results import find_run, open_results
from mesocosm.cli.signals import Start, run_with_signals
from mesocosm.cli.viewer_link import ViewerLink
from mesocosm.core.failure import UsageError
from mesocosm.core.info import BenchmarkInfo
from mesocosm.core.model import ModelName
from mesocosm.core.ports import Observer
from mesocosm.core.redact import Redactor, secret_values
from mesocosm.core.run import Run, RunSpec, RunStatus
from mesocosm.core.secret import is_secret
from mesocosm.engine import opening, session
from mesocosm.engine.rerun_decision import could_not_start, lacks_too_much

if TYPE_CHECKING:
    from mesocosm.store import Store

INCOMPLETE, INTERRUPTED = 3, 130
SHORTEST_SECRET = 8
"""Hiding shorter passwords would hide ordinary words; the URL as a whole is always hidden."""


def start_run(spec: RunSpec, *, resume: bool = False, same_server: bool = False, python: str = "") -> int:
    """Start a run, or with `resume` continue an unfinished one of the same experiment; return the exit code.

    `python` is the same call in Python, shown below the result.
    """
    chosen = options()
    # Reject invalid settings first, before anything is written to disk.
    without_credentials(spec, hidden_values(chosen))
    signature = asyncio.run(_signature(spec))
    store = open_results(chosen)
    try:
        earlier = _begun(store, signature)
        if earlier is not None and resume:
            settings = session.SessionOptions(same_server=same_server)
            return _with_signals(partial(_resume, earlier.id, store, chosen, settings), chosen, store, python)
        if earlier is not None:
            click.echo(_note(earlier), err=True)
        return _with_signals(partial(_run, spec, store, chosen), chosen, store, python)
    finally:
        store.close()


async def _signature(spec: RunSpec) -> str:
    parts = opening.open_parts(spec)
    try:
        options().part(GateFlags).check_metrics(lambda: [parts.benchmark.info])
        return opening.new_run(spec, parts).signature
    finally:
        await parts.benchmark.close()
        await parts.model.close()


def _begun(store: "Store", signature: str) -> Run | None:
    """Return the newest unfinished run of an experiment that has finished episodes or a live process, or None."""
    return next((run for run in store.runs.unfinished(signature) if run.counts.done or _going(run)), None)


def _going(run: Run) -> bool:
    return run.status in GOING and not abandoned(run)


def _note(earlier: Run) -> str:
    going, command = ("unfinished", "continue it with: mesocosm run resume")
    if _going(earlier):
        going, command = ("going on in another process", "follow it with: mesocosm run watch")
    counts = earlier.counts
    return (
        f"note: run {earlier.id} of the same experiment is {going} ({counts.done} of {counts.planned}); "
        f"{command} {earlier.id}"
    )


def start_run_quietly(spec: RunSpec) -> tuple[Run, int]:
    """Start a run, show its progress, and return it with its exit code; the caller shows the result."""
    chosen = options()
    store = open_results(chosen)
    try:
        run, interrupted = run_with_signals(partial(_run, spec, store, chosen))
        return run, exit_code(run, interrupted=interrupted)
    finally:
        store.close()


def resume_run(run_id: str, settings: session.SessionOptions, limits: Mapping[str, Any]) -> int:
    """Continue a run and return the exit code; a run without pending episodes is only shown.

    `limits` are fields of core.run.Limits that replace the run's own.
    """
    chosen = options()
    store = open_results(chosen, create=False)
    try:
        run = find_run(store, run_id)
        if run.kind == "imported" and run.spec.benchmark.kind == "imported":
            raise UsageError(
                f"run {run.id} was imported from a file of another program ({run.provenance.get('imported_from')}) and "
                "cannot be continued here; continue it there, and import the file again"
            )
        if run.info:
            chosen.part(GateFlags).check_metrics(lambda: [msgspec.convert(run.info, BenchmarkInfo)])
        allowed = float(limits.get("max_missing", run.spec.limits.max_missing))
        lacking = lacks_too_much(run, allowed)
        over = run.status in {RunStatus.FINISHED, RunStatus.FAILED} and not run.counts.pending and not lacking
        if over and not settings.retry_failed:
            again = (
                "; --retry-failed repeats episodes that failed because of infrastructure" if run.counts.failed else ""
            )
            click.echo(f"run {run.id} is {run.status}, no episode is pending{again}", err=True)
            chosen.part(GateFlags).prepare(store)
            return judged(run, store, chosen, exit_code(run))
        settings = replace(settings, limits=msgspec.structs.replace(run.spec.limits, **limits))
        if lacking:
            settings = replace(settings, retry_failed=True)
        return _with_signals(partial(_resume, run.id, store, chosen, settings), chosen, store)
    finally:
        store.close()


@contextmanager
def observers(chosen: CommonOptions, store: "Store", signals: Observer) -> Iterator[list[Observer]]:
    """Yield the observers of a run: the progress display, the link to its live page, the signal handling."""
    with watcher(chosen) as progress:
        yield [progress, ViewerLink(chosen, store, progress), signals]


async def _run(
    spec: RunSpec, store: "Store", chosen: CommonOptions, control: session.Control, signals: Observer
) -> Run:
    settings = session.SessionOptions(secrets=hidden_values(chosen), executor=chosen.executor)
    with observers(chosen, store, signals) as watching:
        return await session.run(spec, store, watching, control=control, settings=settings)


async def _resume(
    run_id: str,
    store: "Store",
    chosen: CommonOptions,
    settings: session.SessionOptions,
    control: session.Control,
    signals: Observer,
) -> Run:
    settings = replace(settings, secrets=hidden_values(chosen), executor=chosen.executor)
    with observers(chosen, store, signals) as watching:
        return await session.resume(run_id, store, watching, control=control, settings=settings)


def without_credentials(spec: RunSpec, hidden: Iterable[str]) -> None:
    """Raise UsageError if a setting holds a credential: a password in a URL, or one of the values `hidden`."""
    models = [settings.name for settings in (spec.model, spec.judge) if settings is not None]
    urls = (*(ModelName.parse(name).base_url for name in models), str(spec.benchmark.options.get("env_url", "")))
    if any(is_secret("", url) for url in urls) or Redactor(hidden).value(spec) != spec:
        raise UsageError(
            "a setting of this run holds a credential, and settings are stored with the results; give credentials in "
            "the environment: a model takes its own from there, --pass-env NAME hands one to the adapter, and the "
            "table [secrets] one to a rollout"
        )


def hidden_values(chosen: CommonOptions) -> list[str]:
    """Return values that must not be recorded: credentials in the environment, and a password on the command line."""
    url = chosen.database()
    password = urlsplit(url).password
    given = [url, password] if password else []
    return [*secret_values(os.environ), *(value for value in given if len(value) >= SHORTEST_SECRET)]


def _with_signals(start: Start, chosen: CommonOptions, store: "Store", python: str = "") -> int:
    chosen.part(GateFlags).prepare(store)
    run, interrupted = run_with_signals(start)
    code = judged(run, store, chosen, exit_code(run, interrupted=interrupted))
    if python and not (chosen.json or chosen.quiet):
        click.echo(f"  in Python  {python}")
    return code


def judged(run: Run, store: "Store", chosen: CommonOptions, code: int) -> int:
    """Print a run with the answers of its gate; return the exit code."""
    found = chosen.part(GateFlags).judge(store, [run])
    found.write("mesocosm run", lambda: runs_markdown(run.benchmark, [run], found.compared))
    print_result(run, store, chosen, found)
    return found.code(code)


def exit_code(run: Run, *, interrupted: bool = False) -> int:
    """Return the exit code of a run.

    0 all done and something scored, 1 nothing scored or a program that cannot start, 3 episodes pending or too many
    without a value, 4 aborted, 130 interrupted.
    """
    if run.status is RunStatus.FINISHED:
        return 0
    if run.status is RunStatus.PARTIAL:
        return INCOMPLETE
    if could_not_start(run):
        return 1
    if run.status is RunStatus.FAILED:
        return 4 if run.counts.pending else 1
    return INTERRUPTED if interrupted else INCOMPLETE
