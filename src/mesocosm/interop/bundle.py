"""Bundles: runs in one file, with everything that the store has about them.

A bundle is a zip file::

    bundle.json                  {"format": "mesocosm-bundle", "version": 1, "runs": [id, …], …}
    runs/<id>/run.json           the row of the run (core.run.Run)
    runs/<id>/entries.jsonl      core.ports.Entry per line: an episode with its scores, and pieces of its trace
    runs/<id>/blobs.jsonl        core.ports.Blob per line
    runs/<id>/artifacts.jsonl    files of the run, by digest
    groups.jsonl                 BundledGroup per line: the commands that started the runs, and benchmark outcomes

A bundle contains a group's outcomes for its own runs, and those without a run. Bundles of earlier versions have no
groups.

Bundles are written and read as streams; no run is ever completely in memory.
"""

import zipfile
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import IO, Any, BinaryIO, Protocol, Self, TypeVar

import msgspec

import mesocosm
from mesocosm.core.entry import Blob, Chunk, Entry
from mesocosm.core.episode import Episode
from mesocosm.core.event import Event
from mesocosm.core.failure import UsageError
from mesocosm.core.foreign import read_json
from mesocosm.core.group import Outcome, OutcomeStatus, RunGroup
from mesocosm.core.ids import digest_bytes
from mesocosm.core.run import Run
from mesocosm.interop.places import shared

FORMAT = "mesocosm-bundle"
VERSION = 1
LONGEST_LINE = 256 * 1024 * 1024
"""Maximum length of a line in bytes; a line has at most some chunks of 64 KiB, or one blob."""

GROUPS = "groups.jsonl"

_WITHOUT_RUN = (OutcomeStatus.SKIPPED, OutcomeStatus.INCOMPATIBLE)

T = TypeVar("T")


class BundledArtifact(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file of a run in a bundle; its content is the blob `digest`."""

    id: str
    run_id: str
    name: str
    digest: str
    created_at: float
    episode_id: str = ""


class BundledGroup(msgspec.Struct, frozen=True):
    """A group of runs with the outcomes of its benchmarks."""

    group: RunGroup
    outcomes: tuple[Outcome, ...]


class BundledRun(Protocol):
    """A run with all its data."""

    @property
    def record(self) -> Run:
        """The run."""
        ...

    def entries(self) -> Iterator[Entry]:
        """Yield its episodes with their traces."""
        ...

    def blobs(self) -> Iterator[Blob]:
        """Yield its large content, as blobs."""
        ...

    def artifacts(self) -> Iterable[Any]:
        """Return its files; they have the fields of Artifact."""
        ...

    def group(self) -> tuple[RunGroup, tuple[Outcome, ...]] | None:
        """Return its group with the outcomes; None if there is no group, or it is hidden."""
        ...


class BundleHeader(msgspec.Struct, frozen=True):
    """The content of bundle.json."""

    format: str
    version: int
    runs: tuple[str, ...]
    exported_at: str = ""
    mesocosm: str = ""


def write_bundle(file: BinaryIO, runs: Sequence[BundledRun], *, stable: bool = False) -> None:
    """Write runs into `file`, which must be seekable.

    With `stable`, equal runs make equal bytes: the time of the export, their groups and their leases are left out.
    """
    groups = {run.record.id: None if stable else run.group() for run in runs}
    at = "" if stable else datetime.now(UTC).isoformat()
    head = BundleHeader(FORMAT, VERSION, tuple(groups), at, mesocosm.__version__)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        bundle = _BundleWriter(archive, stable=stable)
        bundle.write("bundle.json", msgspec.json.encode(head))
        for run in runs:
            record = run.record
            if groups[record.id] is None:
                record = msgspec.structs.replace(record, group_id="")
            if stable:
                record = msgspec.structs.replace(record, holder=None, stop_requested=False, heartbeat_at=None)
            place = f"runs/{record.id}"
            bundle.write(f"{place}/run.json", msgspec.json.encode(shared(record)))
            bundle.write_lines(f"{place}/entries.jsonl", run.entries())
            bundle.write_lines(f"{place}/blobs.jsonl", run.blobs())
            bundle.write_lines(f"{place}/artifacts.jsonl", run.artifacts())
        given = [found for found in groups.values() if found is not None]
        bundle.write_lines(GROUPS, _bundled(given, groups))


def _bundled(found: Iterable[tuple[RunGroup, Sequence[Outcome]]], run_ids: Collection[str]) -> Iterator[BundledGroup]:
    """Yield each group once, without outcomes of runs outside the bundle."""
    for group, outcomes in {group.id: (group, outcomes) for group, outcomes in found}.values():
        kept = (one for one in outcomes if one.run_id in run_ids or one.status in _WITHOUT_RUN)
        yield BundledGroup(group, tuple(kept))


class _BundleWriter:
    """Writes the members of a bundle; if it is `stable`, without their times."""

    def __init__(self, archive: zipfile.ZipFile, *, stable: bool) -> None:
        self._archive = archive
        self._stable = stable

    def write(self, name: str, data: bytes) -> None:
        """Write a member."""
        self._archive.writestr(self._member(name), data)

    def write_lines(self, name: str, records: Iterable[object]) -> None:
        """Write a member of JSON lines."""
        with self._archive.open(self._member(name), "w", force_zip64=True) as member:
            for record in records:
                member.write(msgspec.json.encode(record))
                member.write(b"\n")

    def _member(self, name: str) -> str | zipfile.ZipInfo:
        if not self._stable:
            return name
        member = zipfile.ZipInfo(name)
        member.compress_type = zipfile.ZIP_DEFLATED
        return member


class Bundle:
    """An open bundle. For invalid content, raises UsageError with file, member and line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._zip = zipfile.ZipFile(path)
        except (OSError, ValueError, zipfile.BadZipFile) as error:
            raise UsageError(f"{path} is not a bundle: {error}") from error
        try:
            self.head = self._head()
        except BaseException:
            self._zip.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._zip.close()

    def check(self) -> None:
        """Read everything once, so that nothing is imported from a damaged bundle. Raises UsageError."""
        events = msgspec.json.Decoder(Event)
        for run_id in self.head.runs:
            self.run(run_id)
            known = {""}
            for entry in self.entries(run_id):
                known.add(entry.episode.id)
                for chunk in entry.chunks:
                    self._check_chunk(entry, chunk, events)
            known |= {blob.digest for blob in self.blobs(run_id)}
            for artifact in self.artifacts(run_id):
                if not {artifact.digest, artifact.episode_id} <= known:
                    raise UsageError(f"{self.path}: the content or the episode of file {artifact.name!r} is missing")
        for _ in self.groups():
            pass

    def run(self, run_id: str) -> Run:
        """Return the record of a run."""
        run = self._document(f"runs/{run_id}/run.json", Run)
        if run.id != run_id:
            raise UsageError(f"{self.path}: runs/{run_id}/run.json describes run {run.id!r}")
        return run

    def entries(self, run_id: str) -> Iterator[Entry]:
        """Yield the episodes of a run with their traces."""
        for place, entry in self._lines(f"runs/{run_id}/entries.jsonl", Entry):
            if entry.episode.run_id != run_id:
                raise UsageError(f"{self.path}: {place}: the episode belongs to run {entry.episode.run_id!r}")
            yield entry

    def episodes(self, run_id: str) -> Iterator[Episode]:
        """Yield the episodes of a run, without their traces, in the order of the plan."""
        last = ""
        for entry in self.entries(run_id):
            if entry.episode.id != last:
                last = entry.episode.id
                yield entry.episode

    def blobs(self, run_id: str) -> Iterator[Blob]:
        """Yield the large content of a run, each piece checked against its digest."""
        for place, blob in self._lines(f"runs/{run_id}/blobs.jsonl", Blob):
            if digest_bytes(blob.data) != blob.digest:
                raise UsageError(f"{self.path}: {place}: the content does not have the digest {blob.digest}")
            yield blob

    def artifacts(self, run_id: str) -> list[BundledArtifact]:
        """Return the files of a run."""
        found = []
        for place, artifact in self._lines(f"runs/{run_id}/artifacts.jsonl", BundledArtifact):
            if artifact.run_id != run_id:
                raise UsageError(f"{self.path}: {place}: the file belongs to run {artifact.run_id!r}")
            found.append(artifact)
        return found

    def groups(self) -> Iterator[BundledGroup]:
        """Yield the groups of the runs; bundles of earlier versions have none."""
        if GROUPS not in self._zip.namelist():
            return
        for place, grouped in self._lines(GROUPS, BundledGroup):
            if any(outcome.group_id != grouped.group.id for outcome in grouped.outcomes):
                raise UsageError(f"{self.path}: {place}: an outcome belongs to another group")
            yield grouped

    def _head(self) -> BundleHeader:
        head = self._document("bundle.json", BundleHeader)
        if head.format != FORMAT:
            raise UsageError(f"{self.path} is not a bundle: its format is {head.format!r}")
        if head.version > VERSION:
            raise UsageError(f"{self.path} has bundle version {head.version}; this mesocosm reads {VERSION}: update it")
        return head

    def _check_chunk(self, entry: Entry, chunk: Chunk, events: msgspec.json.Decoder[Event]) -> None:
        place = f"{self.path}: episode {entry.episode.id}, piece {chunk.seq} of its trace"
        try:
            found = [event.seq for event in events.decode_lines(chunk.raw)]
        except (msgspec.MsgspecError, RecursionError) as error:
            raise UsageError(f"{place}: {error}") from error
        if found != list(range(chunk.first, chunk.last + 1)):
            raise UsageError(f"{place}: it does not hold the events {chunk.first} to {chunk.last}")

    def _document(self, name: str, kind: type[T]) -> T:
        with self._member(name) as member, self._reading(name):
            data = member.read(LONGEST_LINE)
        return self._decode(name, data, kind)

    def _lines(self, name: str, kind: type[T]) -> Iterator[tuple[str, T]]:
        with self._member(name) as member:
            for number in count(1):
                place = f"{name} line {number}"
                with self._reading(place):
                    line = member.readline(LONGEST_LINE)
                if not line:
                    return
                yield place, self._decode(place, line, kind)

    def _member(self, name: str) -> IO[bytes]:
        try:
            return self._zip.open(name)
        except (KeyError, RuntimeError, NotImplementedError, zipfile.BadZipFile) as error:
            raise UsageError(f"{self.path}: {name} is missing or cannot be read: {error}") from error

    @contextmanager
    def _reading(self, place: str) -> Iterator[None]:
        try:
            yield
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError) as error:
            raise UsageError(f"{self.path}: {place} cannot be read: {error}") from error

    def _decode(self, place: str, data: bytes, kind: type[T]) -> T:
        try:
            return read_json(data, kind, large=True)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise UsageError(f"{self.path}: {place}: {error}") from error
