"""Traces as the API hands them out: lines of stored JSON, passed through without being taken apart."""

import msgspec

from mesocosm.core.event import Event
from mesocosm.store import SqlStore


def read_lines(store: SqlStore, episode_id: str, first: int, limit: int) -> list[bytes]:
    """Return events `first` to `first + limit` as JSON, each with all the fields of an EventDocument."""
    found: list[bytes] = []
    for chunk in store.chunks(episode_id, first):
        lines = chunk.raw.rstrip(b"\n").split(b"\n")
        start = max(first - chunk.first, 0)
        found += [_whole(line) for line in lines[start : start + limit - len(found)]]
        if len(found) == limit:
            break
    return found


def _whole(line: bytes) -> bytes:
    """Return a line with its payload spelled out: the record leaves out one that is null."""
    if b'"payload":' in line:
        return line
    event = msgspec.json.decode(line, type=Event)
    return msgspec.json.encode({**msgspec.to_builtins(event), "payload": event.payload})
