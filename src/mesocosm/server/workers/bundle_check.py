"""Check the bundle of a run that was played elsewhere: every number in it is computed again, every seal verified.

`python -m mesocosm.server.workers.bundle_check FILE FOLDER RUN MIB` prints a CheckedBundle as JSON. It is another
process because the bundle is foreign, and reading it may take minutes, or more memory than there is. It puts the run
into a database of its own in FOLDER first.
"""

import math
import os
import resource
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from mesocosm.core.entry import Chunk
from mesocosm.core.episode import FINISHED, Episode
from mesocosm.core.event import Event, Kind
from mesocosm.core.failure import MesocosmError, Problem, UsageError
from mesocosm.core.foreign import DEEPEST, LARGEST, MOST, deeper_than
from mesocosm.core.ids import digest
from mesocosm.core.model import ModelName
from mesocosm.core.redact import MARK, Redactor
from mesocosm.core.run import RESCORING, Run, RunStatus
from mesocosm.core.signature import signature
from mesocosm.core.usage import NOTHING, Usage
from mesocosm.engine.imported import MOST_OWED, measured
from mesocosm.interop.bundle import GROUPS, Bundle
from mesocosm.interop.places import settled
from mesocosm.store import Store, open_store
from mesocosm.store.blobs import Artifact
from mesocosm.store.objects import URL_VARIABLE

__all__ = ["CheckedBundle", "check_bundle"]

MOST_BYTES = 8 << 30
"""Maximum size of the unpacked content of a bundle."""
MOST_OF_PIECE = 32 << 20
"""Maximum size of a piece of a trace, of an episode's row, and of a run's."""
MOST_EPISODES = MOST_OWED
MOST_ARTIFACTS = 100_000

_SMALL = 2**31
_YEAR_3000 = 32_503_680_000.0
_DAY = 86_400.0
_LONGEST_WORDS = 2_000
_FIX = "push it from the results directory in which it was played; `mesocosm verify RUN` checks it there"
_OLDER = ": they were removed, or the run is older than checksums"
_FIX_OLDER = "if it is older, export it, import it into a new results directory, and push it from there"
_events = msgspec.json.Decoder(Event)
_encode = msgspec.json.Encoder().encode
_credentials = Redactor(())
"""Finds what looks like a credential. Recording removes all of it, so what is found was not recorded by us."""


class CheckedBundle(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a check: the run with its numbers as computed here, or what is wrong with its bundle.

    `covered` of its `finished` episodes came with a checksum.
    """

    run: Run | None = None
    finished: int = 0
    covered: int = 0
    problems: tuple[Problem, ...] = ()


def check_bundle(path: Path, folder: Path, run_id: str) -> CheckedBundle:
    """Return what is in the bundle of one run. `folder` is empty; the run goes into a database there."""
    try:
        _check_archive(path, run_id)
        with Bundle(path) as bundle:
            return _checked(bundle, folder, run_id)
    except (MesocosmError, msgspec.MsgspecError, ValueError, OverflowError, RecursionError) as error:
        words = str(error).replace(f"{path}: ", "").replace(str(path), "the bundle").replace(str(folder), "…")
        fix = _FIX_OLDER if words.endswith(_OLDER) else _FIX
        return CheckedBundle(problems=(Problem("", words[:_LONGEST_WORDS], fix),))


def _check_archive(path: Path, run_id: str) -> None:
    """Raise UsageError unless the file is an archive of the members of one run, of a bounded size."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise UsageError(f"it is not a bundle: {error}") from error
    names = ("run.json", "entries.jsonl", "blobs.jsonl", "artifacts.jsonl")
    known = {"bundle.json", GROUPS, *(f"runs/{run_id}/{name}" for name in names)}
    for member in members:
        if member.filename not in known:
            raise UsageError(f"it holds {member.filename[:200]!r}, which is no part of the bundle of run {run_id}")
        known.remove(member.filename)
    unpacked = sum(member.file_size for member in members)
    if unpacked > MOST_BYTES:
        raise UsageError(f"it has {unpacked:,} bytes when it is unpacked, and a run at most {MOST_BYTES:,}")


def _checked(bundle: Bundle, folder: Path, run_id: str) -> CheckedBundle:
    if bundle.head.runs != (run_id,):
        raise UsageError(f"it is not the bundle of run {run_id}")
    given = bundle.run(run_id)
    _check_run(given)
    bundle.check()
    covered = _check_entries(bundle, given)
    artifacts = [
        Artifact(item.id, item.run_id, item.name, item.digest, item.created_at, item.episode_id)
        for item in bundle.artifacts(run_id)
    ]
    if len(artifacts) > MOST_ARTIFACTS:
        raise UsageError(f"it has {len(artifacts):,} files, and a run at most {MOST_ARTIFACTS:,}")
    store = open_store(folder / "check.sqlite")
    try:
        run = settled(msgspec.structs.replace(given, group_id="", holder=None, stop_requested=False), folder)
        store.bundles.insert(run, bundle.entries(run_id), bundle.blobs(run_id), artifacts)
        return _recomputed(store, run, covered)
    finally:
        store.close()


def _recomputed(store: Store, given: Run, covered: int) -> CheckedBundle:
    """Compare the numbers of a run with those of its stored episodes, and return it with the latter."""
    stored = store.runs.get(given.id)
    if covered < stored.counts.done:
        raise UsageError(
            f"{stored.counts.done - covered:,} of its {stored.counts.done:,} finished episodes have no checksum{_OLDER}"
        )
    if stored.counts.done and given.chain != stored.chain:
        raise UsageError(
            f"the chain over its episodes ends with {stored.chain}, and its row says {given.chain or 'nothing'}"
        )
    for name in ("completed", "truncated", "timeout", "failed"):
        said, found = getattr(given.counts, name), getattr(stored.counts, name)
        if said != found:
            raise UsageError(f"its row counts {said:,} {name} episodes, and {found:,} of its episodes are")
    if stored.counts.done > given.counts.planned and not given.info.get("growing"):
        raise UsageError(f"{stored.counts.done:,} episodes are finished, and {given.counts.planned:,} were planned")
    if difference := _difference(given.usage, stored.usage):
        raise UsageError(f"its row and its episodes differ in their usage: {difference}")
    run = measured(msgspec.structs.replace(given, counts=stored.counts, usage=stored.usage), _episodes(store, given.id))
    return CheckedBundle(run=run, finished=stored.counts.done, covered=covered)


def _episodes(store: Store, run_id: str) -> Iterator[Episode]:
    cursor: str | None = None
    while True:
        page = store.episodes.list(run_id, cursor=cursor)
        yield from page.items
        cursor = page.cursor
        if cursor is None:
            return


def _check_run(run: Run) -> None:
    if run.status in (RunStatus.PENDING, RunStatus.RUNNING):
        raise UsageError(f"run {run.id} is {run.status}; push it when it has ended or was stopped")
    if run.provenance.get(RESCORING):
        raise UsageError(f"run {run.id} {run.rescored}; push it then")
    if len(_encode(run)) > MOST_OF_PIECE:
        raise UsageError(f"the row of run {run.id} has more than {MOST_OF_PIECE:,} bytes")
    if (clean := _credentials.value(run)) != run:
        raise UsageError(f"the row of run {run.id} holds what looks like a credential: {_where_differs(run, clean)}")
    times = {"created_at": run.created_at, "started_at": run.started_at, "ended_at": run.ended_at}
    times["heartbeat_at"] = run.heartbeat_at
    for name, at in times.items():
        if at is not None and not 0 <= at <= time.time() + _DAY:
            raise UsageError(f"its {name} is {at}, which is no time before now")
    counts = msgspec.structs.asdict(run.counts) | {"attempt": run.attempt}
    _check_whole("its row", counts, MOST)
    if run.attempt >= _SMALL:
        raise UsageError(f"its attempt is {run.attempt}")
    _check_usage("its row", run.usage)
    _check_signature(run)


def _check_signature(run: Run) -> None:
    """Compare the signature of a run with its specification.

    That is not possible if it names files that only its machine has, or after rescoring, which describes the run anew.
    """
    anew = run.provenance.get("rescored_with") or run.info.get("growing")
    if run.kind == "imported" or anew or MARK.encode() in _encode(run.spec):
        return
    options, name = run.spec.agent.options.get("techniques"), run.spec.model.name
    named = [run.spec.agent.name, *(options if isinstance(options, dict) else ())]
    if any(":" in str(one) for one in named) or ModelName.parse(name).file or ":" in ModelName.parse(name).model:
        return
    content, inputs = run.benchmark_digest, run.info.get("inputs")
    found = signature(run.spec, run.benchmark, digest([content, inputs]) if inputs else content)
    if found != run.signature:
        raise UsageError(f"its signature is {run.signature}, and that of what its row says was run is {found}")


def _check_entries(bundle: Bundle, run: Run) -> int:
    """Check each episode with its trace; return how many finished ones have a checksum."""
    seen, covered = set[str](), 0
    trace = _Trace(None)
    for entry in bundle.entries(run.id):
        episode = entry.episode
        if trace.episode is None or episode.id != trace.episode.id:
            trace.end(run)
            if episode.id in seen:
                raise UsageError(f"episode {episode.index} ({episode.id}) is in it twice")
            seen.add(episode.id)
            if len(seen) > MOST_EPISODES:
                raise UsageError(f"it has more than {MOST_EPISODES:,} episodes")
            _check_episode(episode)
            covered += bool(entry.checksum) and entry.link is not None and episode.status in FINISHED
            trace = _Trace(episode)
        elif episode != trace.episode:
            raise UsageError(f"episode {episode.index} ({episode.id}) has two different rows")
        for chunk in entry.chunks:
            trace.add(chunk)
    trace.end(run)
    return covered


class _Trace:
    """What the trace of an episode says of its numbers."""

    def __init__(self, episode: Episode | None) -> None:
        self.episode = episode
        self._events = 0
        self._usage = NOTHING
        self._end: dict[str, object] | None = None

    def add(self, chunk: Chunk) -> None:
        """Read a piece. Raises UsageError if it does not follow the one before, or cannot be read by others."""
        if chunk.first != self._events:
            raise UsageError(
                f"{self._where}: piece {chunk.seq} of its trace begins with event {chunk.first}, not {self._events}"
            )
        if len(chunk.raw) > MOST_OF_PIECE:
            raise UsageError(
                f"{self._where}: piece {chunk.seq} of its trace has {len(chunk.raw):,} bytes, and one "
                f"has at most {MOST_OF_PIECE:,}"
            )
        _check_whole(self._where, {"step": chunk.first_step, "last step": chunk.last_step, "piece": chunk.seq}, _SMALL)
        self._events = chunk.last + 1
        if _credentials.events(chunk.raw).count(MARK.encode()) > chunk.raw.count(MARK.encode()):
            raise UsageError(f"{self._where}: piece {chunk.seq} of its trace holds what looks like a credential")
        for event in _events.decode_lines(chunk.raw):
            payload = event.payload
            if deeper_than(payload, DEEPEST):
                raise UsageError(f"{self._where}: event {event.seq} is nested deeper than {DEEPEST} levels")
            if not isinstance(payload, dict):
                continue
            if event.kind in (Kind.MODEL_CALL, Kind.ERROR) and isinstance(payload.get("usage"), dict):
                self._usage += msgspec.convert(payload["usage"], Usage)
            if event.kind is Kind.EPISODE_END:
                self._end = payload

    def end(self, run: Run) -> None:
        """Compare the numbers of a finished episode with its trace. Raises UsageError."""
        episode = self.episode
        if episode is None or episode.status not in FINISHED:
            return
        if episode.events != self._events:
            raise UsageError(f"{self._where}: its row counts {episode.events:,} events, its trace has {self._events:,}")
        # A replay file has no calls of models.
        if self._end is None or run.kind == "imported":
            return
        said = {"steps": episode.steps, "total_reward": episode.total_reward, "status": episode.status.value}
        for name, value in said.items():
            found = self._end.get(name, value)
            if not (_same(value, found) if isinstance(value, float) else value == found):
                raise UsageError(f"{self._where}: its {name} is {value} in its row and {found} at the end of its trace")
        if difference := _difference(episode.usage, self._usage):
            raise UsageError(f"{self._where}: its row and the calls in its trace differ in their usage: {difference}")

    @property
    def _where(self) -> str:
        assert self.episode is not None
        return f"episode {self.episode.index} ({self.episode.id})"


def _check_episode(episode: Episode) -> None:
    where = f"episode {episode.index} ({episode.id[:100]})"
    if len(episode.id) > 100 or len(episode.task_digest) != 32:
        raise UsageError(f"{where}: its id or the digest of its task has another length than ours")
    if len(_encode(episode)) > MOST_OF_PIECE:
        raise UsageError(f"{where}: its row has more than {MOST_OF_PIECE:,} bytes")
    if _credentials.value(episode) != episode:
        raise UsageError(f"{where}: its row holds what looks like a credential")
    _check_whole(where, {"trial": episode.trial, "retries": episode.retries}, _SMALL - 1)
    _check_whole(where, {"index": episode.index, "steps": episode.steps, "events": episode.events}, MOST)
    if episode.seed is not None and not -(2**63) <= episode.seed < 2**64:
        raise UsageError(f"{where}: its seed is not a number of 64 bits")
    _check_usage(where, episode.usage)
    numbers: dict[str, float | None] = {"started_at": episode.started_at, "ended_at": episode.ended_at}
    for name, at in numbers.items():
        if at is not None and not 0 <= at <= _YEAR_3000:
            raise UsageError(f"{where}: its {name} is {at}, which is no time")
    numbers = {"total_reward": episode.total_reward, **{score.name[:100]: score.value for score in episode.scores}}
    for name, value in numbers.items():
        if value is not None and not abs(value) <= LARGEST:
            raise UsageError(f"{where}: its {name} is {value}, which is larger than a score can be")


def _check_usage(where: str, usage: Usage) -> None:
    fields = msgspec.structs.asdict(usage)
    cost = fields.pop("cost_usd")
    _check_whole(where, fields, MOST)
    if cost is not None and not 0 <= cost <= MOST:
        raise UsageError(f"{where}: its cost is {cost} US dollars")


def _check_whole(where: str, fields: dict[str, int], most: int) -> None:
    for name, value in fields.items():
        if not 0 <= value <= most:
            raise UsageError(f"{where}: its {name} is {value}, not between 0 and {most:,}")


def _where_differs(run: Run, clean: Run) -> str:
    """Return the names of the fields that differ."""
    return ", ".join(name for name in run.__struct_fields__ if getattr(run, name) != getattr(clean, name))


def _difference(said: Usage, found: Usage) -> str:
    """Return what one usage says and another one does not; empty if they are the same."""
    names = {"prompt": "prompt tokens", "completion": "completion tokens", "cached": "cached tokens"}
    names |= {"reasoning": "reasoning tokens", "calls": "calls"}
    parts = [
        f"{getattr(said, name):,} {words}, and {getattr(found, name):,}"
        for name, words in names.items()
        if getattr(said, name) != getattr(found, name)
    ]
    if (said.cost_usd is None) != (found.cost_usd is None) or not _same(said.cost_usd or 0.0, found.cost_usd or 0.0):
        parts.append(f"a cost of {_usd(said)}, and {_usd(found)}")
    return "; ".join(parts)


def _usd(usage: Usage) -> str:
    return "unknown" if usage.cost_usd is None else f"${usage.cost_usd:.6f}"


def _same(a: float, b: object) -> bool:
    return isinstance(b, int | float) and math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)


def _main(path: str, folder: str, run_id: str, mib: str) -> int:
    limit = int(mib) << 20
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_BYTES, MOST_BYTES))
    # What is only checked does not go into the object store of the server.
    os.environ.pop(URL_VARIABLE, None)
    try:
        checked = check_bundle(Path(path), Path(folder), run_id)
    except MemoryError:
        words = f"it needs more than {mib} MiB of memory to be read"
        checked = CheckedBundle(problems=(Problem("", words, "ask the administrators of the server"),))
    sys.stdout.buffer.write(_encode(checked))
    return 0


if __name__ == "__main__":
    sys.exit(_main(*sys.argv[1:]))
