"""Write a run as a folder of files in the layout of the older evaluation tool, so that its readers keep working.

::

    metrics.json progress.json index.jsonl summary.jsonl    `metrics`
    samples.jsonl                                           `samples`
    trajectories/row_R_run_N.json                           `trajectories` (ATIF 1.7)
    artifacts/row_R_run_N/…                                 `artifacts`: files that the rollout wrote
    logs.txt                                                `logs`: output, warnings and failures, sample by sample

R is the index of the row among the selected rows, as in index.jsonl, which also has its index in the dataset.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import msgspec

from mesocosm.core.episode import FINISHED, Episode
from mesocosm.core.event import Event, Kind
from mesocosm.core.failure import UsageError
from mesocosm.core.ports import EngineStore
from mesocosm.core.redact import Redactor
from mesocosm.core.run import Run
from mesocosm.interop.atif import trajectory
from mesocosm.interop.conversation import conversations
from mesocosm.interop.files import replacing
from mesocosm.interop.older_index import IndexRecord, IndexSummary, metrics_document, progress_document, record, records
from mesocosm.interop.replay import all_episodes
from mesocosm.interop.samples import SampleInput, SampleRules, row_of, write_samples

KINDS = ("metrics", "trajectories", "artifacts", "logs", "samples")
"""The possible parts of a download."""

_FILES = {
    "metrics": ("metrics.json", "progress.json", "index.jsonl", "summary.jsonl"),
    "trajectories": ("trajectories",),
    "artifacts": ("artifacts",),
    "logs": ("logs.txt",),
    "samples": ("samples.jsonl",),
}
_LOGGED = frozenset({Kind.LOG, Kind.WARNING, Kind.RETRY, Kind.ERROR})


class DownloadSource(SampleInput, EngineStore, Protocol):
    """The store that a download is read from."""

    @property
    def place(self) -> str:
        """The file or the URL of the store."""
        ...


@dataclass(slots=True)
class _Download:
    run: Run
    store: DownloadSource
    folder: Path
    rows: set[int] | None
    written: list[str] = field(default_factory=list)

    def wanted(self, episode: Episode) -> bool:
        """Return whether an episode is finished and its row selected."""
        return episode.status in FINISHED and (self.rows is None or row_of(episode) in self.rows)

    def put(self, name: str, data: bytes) -> None:
        """Write a small file atomically."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        draft.write_bytes(data)
        draft.replace(path)
        self.written.append(name)

    def record(self, episode: Episode) -> IndexRecord:
        """Return an episode as a record of the older tool."""
        return record(self.run, episode, SampleRules.of(self.run))


def write_download(
    run: Run,
    store: DownloadSource,
    folder: Path,
    kinds: set[str],
    rows: set[int] | None = None,
    overwrite: bool = False,
) -> tuple[str, ...]:
    """Write a run into `folder` and return the names of the files. `kinds` are some of KINDS.

    `rows` are indices in the dataset; metrics and index cover the whole run regardless. Raises UsageError before
    writing for an unknown kind, and for existing files unless `overwrite`; later if a file cannot be written.
    """
    _check(folder, kinds, overwrite=overwrite)
    download = _Download(run, store, folder, rows)
    writers: dict[str, Callable[[_Download], None]] = {
        "metrics": _metrics,
        "trajectories": _trajectories,
        "artifacts": _artifacts,
        "logs": _logs,
        "samples": _samples,
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for kind in KINDS:
            if kind in kinds:
                writers[kind](download)
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {error.strerror or error}; choose another place") from error
    return tuple(download.written)


def _check(folder: Path, kinds: set[str], *, overwrite: bool) -> None:
    unknown = sorted(kinds - set(KINDS))
    if unknown or not kinds:
        raise UsageError(f"a download has no kind {', '.join(unknown) or '(none given)'}; choose of {', '.join(KINDS)}")
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file; name a directory to write into")
    there = [name for kind in KINDS if kind in kinds for name in _FILES[kind] if _is_filled(folder / name)]
    if there and not overwrite:
        raise UsageError(f"{folder} has {', '.join(there)} already; --overwrite replaces them")


def _is_filled(path: Path) -> bool:
    return any(path.iterdir()) if path.is_dir() else path.exists()


def _metrics(download: _Download) -> None:
    run = download.run
    summary = IndexSummary(SampleRules.of(run).bar)
    with replacing(download.folder / "index.jsonl") as file, replacing(download.folder / "summary.jsonl") as copy:
        for found in records(run, all_episodes(download.store, run.id)):
            line = msgspec.json.encode(found) + b"\n"
            file.write(line)
            copy.write(line)
            summary.add(found)
    download.written += ["index.jsonl", "summary.jsonl"]
    download.put("metrics.json", _json(metrics_document(run, summary)))
    download.put("progress.json", _json(progress_document(run, summary)))


def _trajectories(download: _Download) -> None:
    run = download.run
    for episode, said in conversations(download.store, run.id, rows=download.wanted):
        document = trajectory(run, episode, said)
        if document is not None:
            download.put(f"trajectories/{download.record(episode).name}.json", _json(document))


def _samples(download: _Download) -> None:
    write_samples(download.run, download.store, download.folder / "samples.jsonl", download.wanted)
    download.written.append("samples.jsonl")


def _artifacts(download: _Download) -> None:
    named = download.run.spec.benchmark.options.get("artifacts")
    if not isinstance(named, str) or not named:
        return
    for episode in all_episodes(download.store, download.run.id):
        kept = episode.terminal_info.get("artifacts")
        # Use only the last part of the path, and not "..": a trace may contain anything.
        place = Path(kept).name if isinstance(kept, str) else ""
        if place not in ("", "..") and download.wanted(episode):
            _copy(download, Path(named) / place, f"artifacts/{download.record(episode).name}")


def _copy(download: _Download, source: Path, name: str) -> None:
    """Copy regular files below `source`; skip links, since they may point anywhere."""
    for place, folders, files in os.walk(source):
        folders.sort()
        for file in sorted(files):
            path = Path(place) / file
            if path.is_symlink() or not path.is_file():
                continue
            target = f"{name}/{path.relative_to(source).as_posix()}"
            (download.folder / target).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, download.folder / target)
            download.written.append(target)


def _logs(download: _Download) -> None:
    with replacing(download.folder / "logs.txt") as file:
        for episode in filter(download.wanted, all_episodes(download.store, download.run.id)):
            found = download.record(episode)
            lines = [f"== row {found.source_row_index} run {found.run_index} {found.status} ({found.rollout_id})"]
            lines += log_lines(download.store.traces.events(episode.id))
            if found.error_type:
                lines.append(f"{found.error_type}: {found.error or ''}")
            file.write("\n".join([*lines, "", ""]).encode("utf-8", "replace"))
        _copy_log(download, file.write)
    download.written.append("logs.txt")


def log_lines(events: Iterator[Event]) -> Iterator[str]:
    """Yield the output, warnings and errors among the events of a sample."""
    for event in events:
        if event.kind in _LOGGED and isinstance(event.payload, dict):
            yield f"{event.payload.get('stream') or event.kind}: {event.payload.get('message', '')}"
            if event.kind is Kind.ERROR and event.payload.get("detail"):
                yield str(event.payload["detail"])


def _copy_log(download: _Download, write: Callable[[bytes], int]) -> None:
    """Append the output of the rollout's process, if it was kept."""
    named = download.run.spec.benchmark.options.get("log")
    if not isinstance(named, str) or not named or download.rows is not None:
        return
    # These lines did not pass through the recorder, which redacts secrets.
    redactor = Redactor()
    with suppress(OSError), Path(named).open(encoding="utf-8", errors="replace") as log:
        write(b"== output of the rollout's process\n")
        for line in log:
            write(redactor.text(line).encode())


def _json(document: Any) -> bytes:
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"
