"""`mesocosm dataset add`: make rows of a dataset from the episodes of a run."""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from mesocosm.cli.command import options, plural
from mesocosm.cli.dataset_cells import mapped
from mesocosm.cli.remote.connection import Remote, workspace_option
from mesocosm.cli.render import emit
from mesocosm.core.failure import InvalidInput, MesocosmError, UsageError

if TYPE_CHECKING:
    from mesocosm.core.episode import Episode
    from mesocosm.core.run import Run
    from mesocosm.interop.recorded_task import RecordedTask
    from mesocosm.rollouts.added_rows import AddedRows, NewRow
    from mesocosm.rollouts.tables import Columns
    from mesocosm.store import Store

OUTCOMES = ("pass", "fail", "scored", "worst", "missing", "skipped")
_PAGE = 500


@click.command(cls=Remote, many=("--columns", "--episodes"), short_help="Add the tasks of a run's episodes as rows.")
@click.argument("dataset", metavar="FILE.jsonl|NAME")
@click.option("--from", "run", metavar="RUN", required=True, help="The run: of this machine for a file, else its ID.")
@click.option("--failed", is_flag=True, help="Those that did not pass; the same as --outcome fail.")
@click.option("--outcome", type=click.Choice(OUTCOMES), help="Those with this outcome.")
@click.option("--cause", multiple=True, help="Those that failed, or have no score, for this cause.")
@click.option("--label", default="", metavar="NAME=VALUE", help="Those whose task has this label.")
@click.option("--episodes", multiple=True, metavar="ID", help="These.")
@click.option("--split", default="", help="Split that the rows are for  [none].")
@click.option("--columns", multiple=True, metavar="ROLE=NAME", help="Columns of a file  [those of the run].")
@workspace_option
def add(dataset: str, run: str, split: str, columns: tuple[str, ...], workspace: str | None, **chosen: Any) -> int:
    """Add the tasks of a run's episodes as rows to a file of this machine, or to a dataset of a workspace.

    A row that is there already is not added again; a dataset that does not exist is made. Without a choice all episodes
    that have ended are taken.
    """
    choice = _choice(run, split, **chosen)
    if _is_file(dataset):
        if workspace is not None:
            raise UsageError(f"{dataset} is a file of this machine; leave --workspace out, or name a dataset")
        return _add_here(Path(dataset), choice, columns)
    if columns:
        raise UsageError("--columns is for files; a dataset of a workspace has its columns")
    return _add_there(dataset, choice, workspace)


@dataclass(frozen=True, slots=True)
class Choice:
    """Episodes of a run: those with these IDs, or those that a filter leaves; and the split that they are for."""

    run: str
    where: Mapping[str, Any]
    episodes: tuple[str, ...]
    split: str


def _choice(
    run: str,
    split: str,
    *,
    failed: bool,
    outcome: str | None,
    cause: tuple[str, ...],
    label: str,
    episodes: tuple[str, ...],
) -> Choice:
    """Return what was chosen. Raises UsageError for options that exclude each other, and for no name of a split."""
    from mesocosm.datasets.splits import split_name

    if failed and outcome not in (None, "fail"):
        raise UsageError(f"--failed and --outcome {outcome} exclude each other; give one of them")
    outcome = "fail" if failed else outcome
    if episodes and (outcome or cause or label):
        raise UsageError("--episodes names them; leave --failed, --outcome, --cause and --label out")
    try:
        split = split_name(split)
    except ValueError as error:
        raise UsageError(f"--split {error}") from error
    return Choice(run, {"outcome": outcome or "", "cause": list(cause), "label": label}, episodes, split)


def _is_file(dataset: str) -> bool:
    """Return whether a dataset is a file. Raises UsageError for one to which no row can be added."""
    from mesocosm.datasets.reading import format_of

    path = Path(dataset)
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        return True
    if format_of(path) or "/" in dataset or os.sep in dataset:
        raise UsageError(f"{dataset}: rows are added to JSON lines; name a file that ends in .jsonl")
    return False


def _add_there(dataset: str, choice: Choice, workspace: str | None) -> int:
    from mesocosm.cli.remote.connection import document, member_client, workspace_for
    from mesocosm.cli.remote.datasets import refuse_version
    from mesocosm.server.schemas.dataset_rows import DatasetRowsInput

    client = member_client()
    place = workspace_for(client, workspace)
    given = {"episodes": list(choice.episodes)} if choice.episodes else {"where": choice.where}
    wanted = document(DatasetRowsInput, {"run": choice.run, "split": choice.split, **given})
    begun = client.datasets.add_rows(place, dataset, wanted)
    done = client.datasets.checked(place, begun.id, begun.version, lambda words: click.echo(words, err=True))
    current, source = done.current, done.current.source
    if options().json:
        emit({"addition": begun, "dataset": done})
    _remark(begun.without_task, begun.altered)
    if current.status not in ("uploaded", "cancelled") or source is None:
        return refuse_version(done)
    if not options().json:
        which = f"{done.name}, version {current.version}" if source.added else f"version {done.version} of {done.name}"
        click.echo(_words(which, source.added or 0, source.duplicates or 0, (current if source.added else done).rows))
    return 0


def _add_here(file: Path, choice: Choice, columns: tuple[str, ...]) -> int:
    import msgspec

    from mesocosm.cli.results import command_store, find_run
    from mesocosm.rollouts.tables import Columns

    store = command_store()
    run = find_run(store, choice.run)
    tasks, without = _tasks(store, _chosen(store, run, choice))
    if not tasks:
        raise UsageError(
            f"none of the chosen episodes of run {run.id} has ended and asked a model; choose by another filter, or all"
        )
    rows = _with_answers(run, tasks, choice.split)
    given = run.spec.benchmark.options.get("columns")
    usual = msgspec.convert(given, Columns) if isinstance(given, dict) else Columns()
    found = _grown(file, mapped(columns) if columns else usual, rows)
    altered = sum(task.altered for _, task in tasks)
    if options().json:
        counts = {"rows": found.rows, "added": found.added, "duplicates": found.duplicates}
        emit({"file": str(file), **counts, "without_task": without, "altered": altered})
    _remark(without, altered)
    if not options().json:
        click.echo(_words(str(file), found.added, found.duplicates, found.rows))
        if all(row.label is None for row in rows):
            click.echo("note: the rows have no ground truth, because the run does not have it", err=True)
    return 0


def _chosen(store: "Store", run: "Run", choice: Choice) -> Iterator["Episode"]:
    from mesocosm.store.filters import EpisodeFilter

    if choice.episodes:
        for one in choice.episodes:
            found = store.episodes.get(one, run_id=run.id)
            if found.run_id != run.id:
                raise UsageError(f"episode {one} is of run {found.run_id}, not of run {run.id}")
            yield found
        return
    where = choice.where
    wanted = EpisodeFilter(outcome=where["outcome"], causes=tuple(where["cause"]), label=where["label"])
    cursor: str | None = None
    while True:
        page = store.episodes.search(run.id, wanted, cursor=cursor, limit=_PAGE)
        yield from page.items
        cursor = page.cursor
        if cursor is None:
            return


def _tasks(store: "Store", episodes: Iterator["Episode"]) -> tuple[list[tuple["Episode", "RecordedTask"]], int]:
    """Return the episodes that have ended, one for each task, with their tasks, and how many of them have none."""
    from mesocosm.core.episode import FINISHED
    from mesocosm.interop.recorded_task import read_task

    found: dict[str, tuple[Episode, RecordedTask]] = {}
    without = 0
    for episode in episodes:
        if episode.status not in FINISHED or episode.task_digest in found:
            continue
        task = read_task(episode, store.traces.events(episode.id), store.blobs)
        if task is None:
            without += 1
        else:
            found[episode.task_digest] = (episode, task)
    return list(found.values()), without


def _with_answers(run: "Run", tasks: list[tuple["Episode", "RecordedTask"]], split: str) -> list["NewRow"]:
    """Return rows; the solutions of a benchmark of this machine, which no run records, are those that it has now."""
    from mesocosm.rollouts.added_rows import NewRow
    from mesocosm.rollouts.rows import ORIGIN

    wanted = {episode.task_digest for episode, task in tasks if task.label is None}
    known = _answers(run, wanted) if wanted and run.spec.benchmark.kind == "benchmark" else {}
    return [
        NewRow(
            task.prompt,
            task.label if task.label is not None else known.get(episode.task_digest),
            task.metadata,
            split,
            dict(zip(ORIGIN, (run.id, episode.id, episode.task_digest), strict=True)),
        )
        for episode, task in tasks
    ]


def _answers(run: "Run", wanted: set[str]) -> dict[str, str]:
    """Return the solutions of tasks, as texts, by the digests of the tasks."""
    from mesocosm.core.ids import canonical_json
    from mesocosm.core.registry import SOURCES
    from mesocosm.engine.plan import planned

    known: dict[str, str] = {}
    try:
        benchmark = SOURCES.get(run.spec.benchmark.kind)(run.spec.benchmark)
        for item in planned(benchmark, run.spec.selection):
            if item.digest in wanted and (target := item.task.target) is not None:
                known[item.digest] = target if isinstance(target, str) else canonical_json(target).decode()
            if item.trial:
                break
    except MesocosmError as error:
        click.echo(f"note: the benchmark cannot be opened, so its solutions are missing: {error}", err=True)
    return known


class _Unchanged(Exception):
    """There is nothing to write."""


def _grown(file: Path, columns: "Columns", rows: list["NewRow"]) -> "AddedRows":
    """Add rows to a file, which is replaced at once, or not at all. Raises InvalidInput."""
    from mesocosm.interop.files import replacing
    from mesocosm.rollouts.added_rows import AddedRows, add_rows

    found = AddedRows()

    def write(target: BinaryIO) -> None:
        nonlocal found
        found = add_rows(file if file.exists() else None, "jsonl", columns, rows, target)
        if not found.added:
            raise _Unchanged

    with suppress(_Unchanged), replacing(file) as target:
        write(target)
    if found.faults:
        raise InvalidInput(str(file), found.faults)
    return found


def _remark(without: int, altered: int) -> None:
    if without:
        click.echo(f"note: {plural(without, 'episode')} never asked a model, so there is no row of it", err=True)
    if altered:
        words = "is not as it was run, because its record hides something; see where its text has a mark"
        click.echo(f"warning: {plural(altered, 'row')}: each {words}", err=True)


def _words(which: str, added: int, duplicates: int, rows: int | None) -> str:
    known = f"; {plural(duplicates, 'row')} {'was' if duplicates == 1 else 'were'} there already" if duplicates else ""
    if not added:
        return f"Nothing to add to {which}{known}."
    return f"Added {plural(added, 'row')} to {which}, which has {plural(rows or 0, 'row')} now{known}."
