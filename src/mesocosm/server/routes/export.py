"""Runs as files: replay JSON, bundles, and tables of episodes."""

import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import FileResponse, StreamingResponse
from starlette.background import BackgroundTask

from mesocosm.interop.bundle import write_bundle
from mesocosm.interop.record import run_document
from mesocosm.interop.replay import pieces
from mesocosm.server.auth.permissions import Granted
from mesocosm.server.runs.table import episode_lines

PIECE = 64 * 1024
"""Bytes that are sent at once: every piece costs a change of threads."""

router = APIRouter(tags=["export"])


def _described(kind: str, words: str) -> dict[int | str, dict[str, Any]]:
    return {200: {"content": {kind: {"schema": {"type": "string", "format": "binary"}}}, "description": words}}


@router.get(
    "/runs/{run_id}/export",
    response_class=StreamingResponse,
    responses=_described("application/json", "The run as schema-1 replay JSON."),
)
def export_replay(run_id: str, grant: Granted) -> StreamingResponse:
    """Download a run as the replay JSON that showcase pages play."""
    run = grant.run(run_id)
    parts = pieces(run.record, run.all_episodes, run.events, run, run_document)
    return _file(parts, "application/json", f"{run.id}.json")


@router.get(
    "/runs/{run_id}/episodes.csv",
    response_class=StreamingResponse,
    responses=_described("text/csv", "A line for each episode."),
)
def export_episodes(run_id: str, grant: Granted) -> StreamingResponse:
    """Download the episodes of a run with their scores as a table."""
    run = grant.run(run_id)
    return _file(episode_lines(run), "text/csv; charset=utf-8", f"{run.id}.csv")


@router.get(
    "/export",
    response_class=FileResponse,
    responses=_described("application/zip", "A bundle that `mesocosm import` takes in."),
)
def export_bundle(
    run: Annotated[list[str], Query(min_length=1, max_length=200, description="ids of runs")], grant: Granted
) -> FileResponse:
    """Download runs with everything recorded of them as one bundle."""
    found = {one.id: one for one in map(grant.run, run)}
    handle, path = tempfile.mkstemp(prefix="mesocosm-", suffix=".zip")
    place = Path(path)
    try:
        with os.fdopen(handle, "wb") as file:
            write_bundle(file, list(found.values()))
    except BaseException:
        _remove(place)
        raise
    name = attachment(f"{next(iter(found))}.zip" if len(found) == 1 else f"{len(found)}-runs.zip")
    headers = {"Content-Disposition": name, "Cache-Control": "no-store"}
    return FileResponse(place, media_type="application/zip", headers=headers, background=BackgroundTask(_remove, place))


def attachment(name: str) -> str:
    """Return the header that has a browser store a file, under a name with nothing unusual in it."""
    return f'attachment; filename="{re.sub(r"[^A-Za-z0-9._-]", "_", name)[-100:]}"'


def _file(parts: Iterable[bytes], kind: str, name: str) -> StreamingResponse:
    headers = {"Content-Disposition": attachment(name), "Cache-Control": "no-store"}
    return StreamingResponse(gathered(parts), headers=headers, media_type=kind)


def gathered(parts: Iterable[bytes], size: int = PIECE) -> Iterator[bytes]:
    """Yield the same bytes in pieces of at least `size`, except the last one."""
    waiting = bytearray()
    for part in parts:
        waiting += part
        if len(waiting) >= size:
            yield bytes(waiting)
            waiting.clear()
    if waiting:
        yield bytes(waiting)


def _remove(place: Path) -> None:
    with suppress(FileNotFoundError):
        place.unlink()
