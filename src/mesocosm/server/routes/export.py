"""Exports of runs: replay JSON, bundles, and tables of episodes."""

import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import FileResponse, StreamingResponse
from starlette.background import BackgroundTask

from mesocosm.core.run import Run
from mesocosm.interop.bundle import write_bundle
from mesocosm.interop.record import run_document
from mesocosm.interop.replay import PARTS, pieces
from mesocosm.server.permissions.grant import Granted
from mesocosm.server.permissions.route_access import Access, access
from mesocosm.server.permissions.visible_runs import VisibleRun
from mesocosm.server.refusal import Refusal
from mesocosm.server.runs.table import episode_lines

PIECE = 64 * 1024
"""Bytes per chunk of a response: every chunk costs a thread switch."""

router = APIRouter(tags=["export"])


def _described(kind: str, words: str) -> dict[int | str, dict[str, Any]]:
    return {200: {"content": {kind: {"schema": {"type": "string", "format": "binary"}}}, "description": words}}


@router.get(
    "/api/runs/{run_id}/export",
    response_class=StreamingResponse,
    responses=_described("application/json", "The run as schema-1 replay JSON."),
    **access(Access.READER),
)
def export_replay(
    run_id: str,
    grant: Granted,
    include: Annotated[
        str, Query(max_length=100, description=f"Parts, separated by commas: {', '.join(PARTS)}; all by default.")
    ] = "",
) -> StreamingResponse:
    """Download a run as replay JSON for showcase pages."""
    parts = {part.strip() for part in include.split(",") if part.strip()} or set(PARTS)
    if unknown := sorted(parts - set(PARTS)):
        raise Refusal(422, f"an export has no part {unknown[0][:50]!r}; it has {', '.join(PARTS)}")
    run = grant.run(run_id)
    document = partial(_described_run, run)
    found = pieces(run.record, run.all_episodes, run.events, run, document, parts)
    return _file(found, "application/json", f"{run.id}.json")


def _described_run(run: VisibleRun, record: Run) -> dict[str, Any]:
    """Return the JSON form of a run, with its request to the server."""
    document, known = run_document(record), run.ownership(prompts=True)
    request = None if known is None else known["request"]
    if known is None or request is None:
        return document
    names = {"purpose": request.purpose, "env_id": request.environment_id, "env_version": request.environment_version}
    for name, asked in (("config", request.config), ("evaluation", request.evaluation)):
        document |= {name: asked.model_dump(mode="json")} if asked is not None else {}
    document |= {**names, "visibility": known["visibility"]}
    document |= {"requester_id": request.requester_id, "team_id": known["team_id"], "protocol": known["protocol"]}
    if request.redacted:
        del document["requester_id"]
    return document


@router.get(
    "/api/runs/{run_id}/episodes.csv",
    response_class=StreamingResponse,
    responses=_described("text/csv", "One line per episode."),
    **access(Access.READER),
)
def export_episodes(run_id: str, grant: Granted) -> StreamingResponse:
    """Download the episodes of a run with their scores as CSV."""
    run = grant.run(run_id)
    return _file(episode_lines(run), "text/csv; charset=utf-8", f"{run.id}.csv")


@router.get(
    "/api/export",
    response_class=FileResponse,
    responses=_described("application/zip", "A bundle for `mesocosm import`."),
    **access(Access.READER),
)
def export_bundle(
    run: Annotated[list[str], Query(min_length=1, max_length=200, description="IDs of runs.")], grant: Granted
) -> FileResponse:
    """Download runs with all their recorded data as one bundle."""
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
    """Return a Content-Disposition header for a download, with unusual characters of the name replaced."""
    return f'attachment; filename="{re.sub(r"[^A-Za-z0-9._-]", "_", name)[-100:]}"'


def _file(parts: Iterable[bytes], kind: str, name: str) -> StreamingResponse:
    headers = {"Content-Disposition": attachment(name), "Cache-Control": "no-store"}
    return StreamingResponse(gathered(parts), headers=headers, media_type=kind)


def gathered(parts: Iterable[bytes], size: int = PIECE) -> Iterator[bytes]:
    """Yield the same bytes in chunks of at least `size`, except the last one."""
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
