"""`/api/cli/eval-runs/ID/samples`: files of a run for `osmosis eval download`, at signed addresses.

The command line checks sizes to the byte. The conversation of a finished sample does not change. What changes while a
run goes on is kept for a while as it was when it was listed.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, Field

from mesocosm.compat.osmosis_platform.eval_log import run_lines
from mesocosm.compat.osmosis_platform.eval_results import metrics_file
from mesocosm.compat.osmosis_platform.eval_runs import RunName, found_run, run_name
from mesocosm.compat.osmosis_platform.scope import Place
from mesocosm.compat.osmosis_platform.transport import check_transport
from mesocosm.core.entry import Entry
from mesocosm.core.episode import FINISHED, Episode
from mesocosm.core.ids import digest_bytes
from mesocosm.interop.atif import trajectory
from mesocosm.interop.conversation import EpisodeConversation, conversations
from mesocosm.interop.older_index import IndexRecord, record, records
from mesocosm.interop.samples import SampleRules
from mesocosm.server.cache import Cache
from mesocosm.server.permissions.grant import Granted
from mesocosm.server.permissions.route_access import Access, Served, access
from mesocosm.server.permissions.visible_runs import VisibleRun
from mesocosm.server.refusal import Refusal
from mesocosm.server.web.requests import base_url

router = APIRouter(prefix="/api/cli/eval-runs", include_in_schema=False)

KINDS = ("metrics", "trajectories", "artifacts", "logs")
ADDRESS_S = 900.0
"""How long an address can be used; the command line asks for another one when it is refused."""
MOST = 500
"""Addresses in one answer."""

_KEPT_BYTES = 128 << 20
_rendered = Cache[bytes](1_000, seconds=ADDRESS_S * 4, room=_KEPT_BYTES)
_sizes = Cache[int](200_000)

_ROWS = re.compile(r"\d{1,9}(-\d{1,9})?(,\d{1,9}(-\d{1,9})?)*")
_SAMPLE = re.compile(r"(trajectories|artifacts)/row_\d+_run_\d+(\.json$|/)")
_PARTS = re.compile(r"[^/\\\x00-\x1f]+(/[^/\\\x00-\x1f]+)*")


class DownloadItem(BaseModel):
    """A file of a list."""

    path: str = Field(max_length=4_096)
    token: str | None = Field(default=None, max_length=200)


class DownloadItems(BaseModel):
    """Files whose addresses are wanted."""

    items: list[DownloadItem] = Field(min_length=1, max_length=MOST)


@dataclass(frozen=True, slots=True)
class RunFile:
    """A file of a run. `token` finds its content: an episode, or the digest of the content."""

    path: str
    size: int
    token: str


class _Source:
    """A run as the store that conversations are read from."""

    def __init__(self, run: VisibleRun) -> None:
        self._run = run

    @property
    def bundles(self) -> "_Source":
        return self

    @property
    def blobs(self) -> VisibleRun:
        return self._run

    def entries(self, run_id: str) -> Iterator[Entry]:
        """Yield the episodes of the run."""
        del run_id
        return self._run.entries()


@router.get("/{name:path}/samples/manifest", **access(Access.INSIDER))
def list_files(
    name: RunName,
    place: Place,
    grant: Granted,
    types: Annotated[str, Query(max_length=200)] = "metrics,trajectories",
    rows: Annotated[str, Query(max_length=10_000)] = "",
) -> dict[str, Any]:
    """List the files of a run by kinds, those of samples by the rows in their names."""
    wanted = {one.strip() for one in types.split(",")}
    if unknown := sorted(wanted - set(KINDS)):
        raise Refusal(400, f"a run has no files of the type {unknown[0][:50]!r}; it has {', '.join(KINDS)}")
    run = found_run(grant, place, name)
    found = list(_files(run, wanted, _chosen(rows)))
    listed = [{"path": one.path, "size": one.size, "token": one.token} for one in found]
    return {"files": listed, "totals": {"files": len(found), "bytes": sum(one.size for one in found)}}


@router.post("/{name:path}/samples/download-urls", **access(Access.INSIDER))
def sign_files(
    name: RunName, body: DownloadItems, place: Place, request: Request, grant: Granted, service: Served
) -> dict[str, Any]:
    """Return addresses from which files of a list can be downloaded for some minutes."""
    run, base, account = found_run(grant, place, name), base_url(request, service.settings), grant.account()
    check_transport(base)
    path = f"{router.prefix}/{run.id}/samples/file"
    items = []
    for item in body.items:
        query = {"path": item.path, "token": item.token or ""}
        address = base + account.signed_address("GET", path, query, ADDRESS_S)
        items.append({"path": item.path, "token": item.token, "url": address})
    return {"items": items, "expires_in": int(ADDRESS_S)}


@router.get("/{run_id}/samples/file", **access(Access.INSIDER))
def get_file(
    run_id: str,
    grant: Granted,
    path: Annotated[str, Query(max_length=4_096)],
    token: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """Return the content of a file. The address names no workspace: whoever may read the run may read its files."""
    data = _content(grant.run(run_id), path, token)
    headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Content-Disposition": "attachment"}
    return Response(data, media_type="application/octet-stream", headers=headers)


def _chosen(rows: str) -> Callable[[int], bool]:
    """Return whether a row is among those of `0-3,7`; all are if it is empty. Raises Refusal 400."""
    if not rows:
        return lambda _: True
    if not _ROWS.fullmatch(rows):
        raise Refusal(400, f"{rows[:100]!r} is no choice of rows; write it like 0-3,7")
    ends = [tuple(map(int, (part.split("-") * 2)[:2])) for part in rows.split(",")]
    return lambda row: any(low <= row <= high for low, high in ends)


def _files(run: VisibleRun, kinds: set[str], chosen: Callable[[int], bool]) -> Iterator[RunFile]:
    rules = SampleRules.of(run.record)
    if "metrics" in kinds:
        yield _keep(run, "metrics.json", _metrics(run))
    if "trajectories" in kinds:
        yield _keep(run, "summary.jsonl", _index(run))
        yield from _trajectories(run, lambda episode: chosen(record(run.record, episode, rules).row_index))
    if "artifacts" in kinds:
        yield from _artifacts(run, {one.id: one for one in _samples(run, rules) if chosen(one.row)})
    if "logs" in kinds:
        yield _keep(run, "logs.txt", _log(run))


@dataclass(frozen=True, slots=True)
class _Sample:
    id: str
    name: str
    row: int


def _samples(run: VisibleRun, rules: SampleRules) -> Iterator[_Sample]:
    for episode in run.all_episodes():
        if episode.status in FINISHED:
            found = record(run.record, episode, rules)
            yield _Sample(episode.id, found.name, found.row_index)


def _trajectories(run: VisibleRun, wanted: Callable[[Episode], bool]) -> Iterator[RunFile]:
    """Yield the conversations of finished samples that have any, in the order of the plan."""
    sizes, rules = dict[str, int](), SampleRules.of(run.record)
    listed = [one for one in run.all_episodes() if one.status in FINISHED and wanted(one)]
    unknown = set[str]()
    for episode in listed:
        size = _sizes.find(_key(run, episode))
        if size is None:
            unknown.add(episode.id)
        else:
            sizes[episode.id] = size
    if unknown:
        for episode, said in conversations(_Source(run), run.id, rows=lambda one: one.id in unknown):
            size = len(_trajectory(run, episode, said))
            _sizes.keep(_key(run, episode), size)
            sizes[episode.id] = size
    for episode in listed:
        if sizes.get(episode.id):
            name = record(run.record, episode, rules).name
            yield RunFile(f"trajectories/{name}.json", sizes[episode.id], episode.id)


def _key(run: VisibleRun, episode: Episode) -> Any:
    """Return what a conversation file depends on. A sample that is repeated or graded again has another one."""
    return (run.view, episode.id, episode.ended_at, episode.events, episode.scores)


def _artifacts(run: VisibleRun, samples: Mapping[str, _Sample]) -> Iterator[RunFile]:
    for one, size in run.files():
        sample = samples.get(one.episode_id)
        # The command line takes such a manifest for one of the platform's own files, and refuses it.
        if sample is not None and one.name != "manifest.json" and _is_relative(one.name):
            yield RunFile(f"artifacts/{sample.name}/{one.name}", size, one.digest)


def _is_relative(name: str) -> bool:
    return bool(_PARTS.fullmatch(name)) and not {".", ".."} & set(name.split("/"))


def _keep(run: VisibleRun, path: str, data: bytes) -> RunFile:
    token = digest_bytes(data)
    _rendered.keep((run.view, path, token), data)
    return RunFile(path, len(data), token)


def _content(run: VisibleRun, path: str, token: str) -> bytes:
    """Return the content of a file. Raises Refusal 404, UnknownName."""
    kept = _rendered.find((run.view, path, token))
    if kept is not None:
        return kept
    made = {"metrics.json": _metrics, "summary.jsonl": _index, "logs.txt": _log}.get(path)
    if made is not None:
        return made(run)
    if not token or not _SAMPLE.match(path):
        raise Refusal(404, f"the run {run_name(run)!r} has no file {path[:200]!r}; list its files again")
    if path.startswith("artifacts/"):
        return run.get(token).data
    found = run.episode(token)
    said = EpisodeConversation()
    for chunk in found.chunks():
        said.take(chunk.raw, run)
    return _trajectory(run, found.record, said)


def _metrics(run: VisibleRun) -> bytes:
    return _json(metrics_file(run, run_name(run)))


def _index(run: VisibleRun) -> bytes:
    return b"".join(msgspec.json.encode(one) + b"\n" for one in _records(run))


def _records(run: VisibleRun) -> Iterator[IndexRecord]:
    return records(run.record, run.all_episodes())


def _log(run: VisibleRun) -> bytes:
    return "\n".join([*run_lines(run), ""]).encode("utf-8", "replace")


def _trajectory(run: VisibleRun, episode: Episode, said: EpisodeConversation) -> bytes:
    document = trajectory(run.record, episode, said)
    return b"" if document is None else _json(document)


def _json(document: Any) -> bytes:
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"
