"""Traces and the replay JSON of a run, streamed: one episode in memory at a time, whatever the run's size."""

import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec
from sqlalchemy import select

from mesocosm.core.entry import Blob
from mesocosm.core.episode import Episode
from mesocosm.core.failure import UnknownName
from mesocosm.interop.replay import SCHEMA_VERSION, episode_document, trace, turns
from mesocosm.server.run_requests.found import Found
from mesocosm.server.schemas.document import shortened
from mesocosm.server.service import Service
from mesocosm.store import Store
from mesocosm.store.schema import run_blobs

PARTS = ("episodes", "traces", "replay")
"""What an export holds beside the run itself."""

JSON = dict[str, Any]


class RunContent:
    """Large content that a run refers to, and no other: an environment may name any digest. A core.ports.BlobStore."""

    def __init__(self, store: Store, run_id: str) -> None:
        self._store = store
        self._run_id = run_id

    def get(self, digest: str) -> Blob:
        """Return a blob of the run. Raises UnknownName."""
        mine = select(run_blobs.c.digest).where(run_blobs.c.run_id == self._run_id, run_blobs.c.digest == digest)
        if self._store.database.read(lambda connection: connection.scalar(mine)) is None:
            raise UnknownName(f"run {self._run_id} has no content {digest[:64]!r}")
        return self._store.blobs.get(digest)


def episode_trace(service: Service, found: Found, episode: Episode) -> list[JSON]:
    """Return the events of an episode as programs know them, redacted where the reader is outside."""
    content = RunContent(service.store, found.run.id)
    events: list[JSON] = shortened(trace(episode, found.visible.events(episode.id), content))
    return [as_asked(found, event) for event in events]


def as_asked(found: Found, event: JSON) -> JSON:
    """Return an event with the model named as it was asked for, whatever stands behind it."""
    if "model" not in event["payload"]:
        return event
    return {**event, "payload": {**event["payload"], "model": found.order.model}}


def trace_pieces(service: Service, found: Found) -> Iterator[bytes]:
    """Yield `{episode id: [events]}` of a run."""
    yield b"{"
    yield from _object(found, lambda episode: episode_trace(service, found, episode))
    yield b"}\n"


def export_pieces(service: Service, found: Found, parts: Collection[str] = PARTS) -> Iterator[bytes]:
    """Yield the schema-1 replay JSON of a run; `parts` are those of PARTS that it holds, the others are empty."""
    domain = service.store.domains.get(found.order.domain_id)
    head = {
        "schema_version": SCHEMA_VERSION,
        "exported_at": datetime.now(UTC).isoformat(),
        "visibility": found.order.visibility,
        "domain_id": found.order.domain_id,
        "domain_name": domain.name if domain is not None else found.run.benchmark_title or None,
        "binding_vow_version": found.order.vow_version,
        "run": _run(found),
    }
    yield found.discreet(msgspec.json.encode(head)[:-1])
    yield b',"episodes":['
    if "episodes" in parts:
        for place, episode in enumerate(found.visible.all_episodes()):
            yield (b"," if place else b"") + found.discreet(_encoded(_episode(episode)))
    yield b'],"traces":{'
    if "traces" in parts:
        yield from _object(found, lambda episode: episode_trace(service, found, episode))
    yield b'},"replay":{'
    if "replay" in parts:
        yield from _object(found, lambda episode: turns(episode_trace(service, found, episode)))
    yield b"}}\n"


def packed(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the same bytes as gzip, as they come: whole answers alone are packed elsewhere."""
    packer = zlib.compressobj(level=1, wbits=31)
    for part in parts:
        if data := packer.compress(part):
            yield data
    yield packer.flush()


def _object(found: Found, of: Callable[[Episode], list[JSON]]) -> Iterator[bytes]:
    for place, episode in enumerate(found.visible.all_episodes()):
        yield (b"," if place else b"") + msgspec.json.encode(episode.id) + b":" + found.discreet(_encoded(of(episode)))


def _run(found: Found) -> JSON:
    run = found.document()
    # Times as everywhere in an export: pydantic would write Z for the offset.
    times = {name: value.isoformat() for name, value in run if isinstance(value, datetime)}
    document = run.model_dump(mode="json") | times
    if not found.inside:
        del document["requester_id"]
    return document


def _episode(episode: Episode) -> JSON:
    document: JSON = shortened(episode_document(episode))
    failure = episode.failure
    if failure is not None and "error" not in document["terminal_info"]:
        document["terminal_info"] = {**document["terminal_info"], "error": failure.message}
    return document


def _encoded(value: object) -> bytes:
    return msgspec.json.encode(value)
