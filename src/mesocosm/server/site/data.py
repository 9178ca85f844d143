"""The documents of a site: the API's responses for each run of a store, split into files."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import permutations
from typing import Any, Protocol

import msgspec

from mesocosm.core.failure import UnknownName, UsageError
from mesocosm.core.run import Run
from mesocosm.core.verdict import GROUPED_BY, LABEL
from mesocosm.server.permissions.grant import Grant
from mesocosm.server.permissions.visible_runs import VisibleEpisode, VisibleRun, VisibleRuns
from mesocosm.server.runs.benchmark_index import EmptyBenchmarkIndex
from mesocosm.server.runs.benchmark_list import benchmark_page, read_benchmark
from mesocosm.server.runs.commands import repeat_command
from mesocosm.server.runs.comparison import compare_visible
from mesocosm.server.runs.documents import episode_summary, score_name
from mesocosm.server.runs.episode_list import read_episode, read_task_detail
from mesocosm.server.runs.outline import step_page
from mesocosm.server.runs.results import read_results, read_slices, read_wrong_answers
from mesocosm.server.runs.run_detail import read_run, read_series
from mesocosm.server.runs.run_list import facets, run_page
from mesocosm.server.runs.trace import read_lines
from mesocosm.server.schemas.document import Document
from mesocosm.server.schemas.episode import EpisodePage, StepPage
from mesocosm.server.schemas.query import RunQuery
from mesocosm.server.schemas.run import Reproduction, RunDetail
from mesocosm.server.web.content import content_of

ROWS = 1_000
"""Episodes per file of a run's list."""
EVENTS = 500
EVENT_BYTES = 512 * 1024
"""Maximum number of events, and approximate bytes, per file of a trace, so that a long trace loads in parts."""
STEPS = 500
"""Steps per file of an outline."""

_PLAIN = re.compile(r"[0-9a-z_-]{1,80}")


class Put(Protocol):
    """Write a file of a site."""

    def __call__(self, name: str, data: bytes, *, text: bool = True) -> None:
        """Write `data` under a name relative to the site."""
        ...


class EpisodeFile(msgspec.Struct, frozen=True):
    """The first file of an episode; a short episode has no other.

    `detail` is an EpisodeDetail without its `run`; `windows` are the positions at which the files of events start,
    `pages` the steps at which the files of the outline start; `events` and `steps` are the content of the first of
    each.
    """

    detail: msgspec.Raw
    windows: list[int]
    events: list[msgspec.Raw]
    pages: list[int]
    steps: msgspec.Raw


class CompareFile(msgspec.Struct, frozen=True):
    """Metrics other than the primary ones that runs were compared by; file names refer to them by index."""

    metrics: list[str]


def file_name(id_: str) -> str:
    """Return the file name for a run or an episode: its id, or the id in hexadecimal if it is not a plain word."""
    return id_ if _PLAIN.fullmatch(id_) else "~" + id_.encode("utf-8", "replace").hex()


def write_data(granted: Grant, run_ids: Sequence[str], put: Put, progress: Callable[[int], None]) -> int:
    """Write all documents about the runs of a store that contains no others. Return the number of their episodes."""
    runs = granted.runs()
    page = run_page(runs, RunQuery.model_validate({"limit": 1_000}))
    put("data/runs.json", _json(page))
    put("data/facets.json", _json(facets(runs)))
    written = 0
    tasks: dict[tuple[str, str], None] = {}
    for run_id in run_ids:
        run = runs.get(run_id)
        written += _write_run(runs, run, tasks, put, partial(_add, progress, written))
        for blob in run.blobs():
            content = content_of(blob)
            put(f"data/blobs/{blob.digest}", content.data, text=content.media_type.startswith("text/"))
    _write_benchmarks(granted, put)
    for benchmark, digest in tasks:
        with suppress(UnknownName):
            found = read_task_detail(benchmark, digest, runs)
            put(f"data/tasks/{file_name(benchmark)}/{file_name(digest)}.json", _json(found))
    _write_comparisons(granted, [run.id for run in page.items], put)
    return written


def _add(progress: Callable[[int], None], before: int, count: int) -> None:
    progress(before + count)


def _json(document: Document) -> bytes:
    return document.__pydantic_serializer__.to_json(document)


def _write_run(
    runs: VisibleRuns, run: VisibleRun, tasks: dict[tuple[str, str], None], put: Put, progress: Callable[[int], None]
) -> int:
    """Write the documents of a run, and add its tasks to `tasks`. Return the number of its episodes."""
    place = f"data/runs/{file_name(run.id)}"
    put(f"{place}/detail.json", _json(_detached(read_run(run), run.record)))
    put(f"{place}/series.json", _json(read_series(run, curves=True)))
    _write_results(run, place, put)
    name, passing, count, number = score_name(run.record), run.record.passing, 0, 0
    rows: list[Any] = []
    for episode in run.all_episodes():
        rows.append(episode_summary(episode, name, passing))
        _write_episode(runs, run.episode(episode.id), put)
        tasks[run.record.benchmark, episode.task_digest] = None
        count += 1
        if len(rows) == ROWS:
            put(f"{place}/episodes-{number}.json", _rows(rows, more=True))
            rows, number = [], number + 1
            progress(count)
    put(f"{place}/episodes-{number}.json", _rows(rows, more=False))
    progress(count)
    return count


def _write_results(run: VisibleRun, place: str, put: Put) -> None:
    """Write the results of a run, and its slices by each label; file names refer to labels by index."""
    found = read_results(run)
    put(f"{place}/results.json", _json(found))
    for number, label in enumerate(found.labels):
        with suppress(UnknownName):
            put(f"{place}/slices-{number}.json", _json(read_slices(run, label.name)))
        put(f"{place}/wrong-label-{number}.json", _json(read_wrong_answers(run, f"{LABEL}{label.name}")))
    for by in GROUPED_BY:
        put(f"{place}/wrong-{by}.json", _json(read_wrong_answers(run, by)))


def _rows(rows: list[Any], *, more: bool) -> bytes:
    return _json(EpisodePage(items=rows, cursor="more" if more else None, total=None, total_exact=False))


def _detached(detail: RunDetail, run: Run) -> RunDetail:
    """Return a run's document without the commands that work only on the machine that has its results."""
    commands = Reproduction(repeat=repeat_command(run.spec), resume=None, show=f"mesocosm run show {detail.id}")
    return detail.model_copy(update={"commands": commands, "holder": None})


def _write_episode(runs: VisibleRuns, episode: VisibleEpisode, put: Put) -> None:
    place = f"data/episodes/{file_name(episode.id)}"
    detail = read_episode(episode, runs)
    windows, first = [0], []
    for number, (start, lines) in enumerate(_windows(episode)):
        if number == 0:
            first = lines
        else:
            windows.append(start)
            put(f"{place}-{number}.json", b"[" + b",".join(lines) + b"]")
    pages = list(_pages(episode))
    for number, (_, page) in enumerate(pages[1:], 1):
        put(f"{place}-steps-{number}.json", _json(page))
    file = EpisodeFile(
        detail=msgspec.Raw(detail.model_dump_json(exclude={"run"}).encode()),
        windows=windows,
        events=[msgspec.Raw(line) for line in first],
        pages=[start for start, _ in pages],
        steps=msgspec.Raw(_json(pages[0][1])),
    )
    put(f"{place}.json", msgspec.json.encode(file))


def _windows(episode: VisibleEpisode) -> Iterator[tuple[int, list[bytes]]]:
    """Yield the events of an episode in parts, each with the position of its first event."""
    start, size = 0, 0
    lines: list[bytes] = []
    for line in read_lines(episode, 0, max(episode.record.events, 1)):
        if lines and (len(lines) == EVENTS or size + len(line) > EVENT_BYTES):
            yield start, lines
            start, size, lines = start + len(lines), 0, []
        lines.append(line)
        size += len(line)
    if lines:
        yield start, lines


def _pages(episode: VisibleEpisode) -> Iterator[tuple[int, StepPage]]:
    start: int | None = 0
    while start is not None:
        page = step_page(episode, start, STEPS)
        yield start, page
        start = page.next


def _write_benchmarks(granted: Grant, put: Put) -> None:
    records, index = granted.benchmarks(), EmptyBenchmarkIndex()
    page = benchmark_page(records, index, "", None, 1_000)
    put("data/benchmarks.json", _json(page))
    for number, item in enumerate(page.items):
        put(f"data/benchmarks/{number}.json", _json(read_benchmark(records, index, item.id)))


def _write_comparisons(granted: Grant, ids: Sequence[str], put: Put) -> None:
    """Write the comparison of each ordered pair of runs, by every metric that they share."""
    numbers: dict[str, int] = {}
    for (first, a), (second, b) in permutations(enumerate(ids), 2):
        found = compare_visible(granted.run, [a, b], "")
        put(f"data/compare/{first}-{second}.json", found)
        listed = msgspec.json.decode(found)["benchmarks"]
        others = [name for item in listed if len(item["pairs"]) for name in item["metrics"] if name != item["metric"]]
        for name in dict.fromkeys(others):
            try:
                by_metric = compare_visible(granted.run, [a, b], name)
            except UsageError:
                continue
            number = numbers.setdefault(name, len(numbers))
            put(f"data/compare/{first}-{second}-{number}.json", by_metric)
    put("data/compare.json", msgspec.json.encode(CompareFile(list(numbers))))
