"""Runs visible to a caller.

Outsiders see the actions and results of a public run, but not prompts, replies and reasoning. Only administrators see
paths and addresses of a server's machines. All methods of these objects return redacted data.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypedDict

import msgspec
from starlette.requests import Request

from mesocosm.core.entry import Blob, Chunk, Entry
from mesocosm.core.episode import Episode
from mesocosm.core.event import Event, Kind
from mesocosm.core.failure import UnknownName
from mesocosm.core.group import Outcome, RunGroup
from mesocosm.core.ports import Page, ResultRow, ScoreRow
from mesocosm.core.run import Run, RunStatus, player
from mesocosm.server.auth.access_rules import Viewer
from mesocosm.server.auth.principal import SERVER
from mesocosm.server.auth.redaction import (
    MARK,
    Discretion,
    public,
    redact_config,
    redact_episode,
    redact_line,
    redact_run,
)
from mesocosm.server.evaluations.run_forecast import forecast_runs
from mesocosm.server.permissions import GrantedObject
from mesocosm.server.permissions.workspaces import VisibleWorkspace, WorkingWorkspace
from mesocosm.server.refusal import Refusal
from mesocosm.server.schemas.document import discreet, instant, moment
from mesocosm.server.schemas.limits import QueuePlace
from mesocosm.server.schemas.run import RunChange, RunSummary
from mesocosm.server.schemas.run_estimate import Forecast, ForecastInput
from mesocosm.server.schemas.run_import import Imported
from mesocosm.server.schemas.run_request import (
    EvaluationDocument,
    RunLog,
    RunLogLine,
    RunOutputPage,
    RunOutputPiece,
    RunRequestDocument,
)
from mesocosm.server.service import Service
from mesocosm.server.web.client_address import counted
from mesocosm.store.blobs import Artifact
from mesocosm.store.bundle import Bundles
from mesocosm.store.changes import ChangeWatch, RunChanges, RunState
from mesocosm.store.conversation import MessagePage
from mesocosm.store.episodes import PlayedTask
from mesocosm.store.event_search import EventPage
from mesocosm.store.filters import EpisodeFilter, RunFilter, VisibleTo, Whose
from mesocosm.store.run_lists import RunFacets
from mesocosm.store.run_requests import RunRequest
from mesocosm.store.search import SearchHit, SearchResult, Sight
from mesocosm.store.search_query import SearchQuery
from mesocosm.store.series import RunSeries
from mesocosm.store.traces import Traces
from mesocosm.store.workspaces import Workspace
from mesocosm.store.wrong_answers import WrongGroup

_WITH_PARAMETERS = frozenset({"benchmark", "scan"})
_PIECES = 50
"""Maximum number of pieces of output in an answer."""
_ID = 36
"""Length of an id. On a server a prefix of an id finds nothing, so that callers cannot probe for hidden runs."""


class RunOwnership(TypedDict):
    """The fields of `schemas.run.RunSummary` that exist only on a server."""

    owner: str | None
    visibility: str | None
    team_id: str | None
    workspace_id: str | None
    domain_id: str | None
    protocol: int | None
    mine: bool | None
    may_change: bool | None
    may_work: bool | None
    request: RunRequestDocument | None
    imported: Imported | None


@dataclass(frozen=True, slots=True)
class VisibleRunPage:
    """A page of runs; `cursor` is None on the last page."""

    items: tuple["VisibleRun", ...]
    cursor: str | None


@dataclass(frozen=True, slots=True)
class EpisodePageOfRun:
    """A page of redacted episodes; `partial` if the search ran out of time before the page was full."""

    items: tuple[Episode, ...]
    cursor: str | None
    partial: bool


class VisibleRun(GrantedObject):
    """A run that the caller may read."""

    def __init__(self, service: Service, viewer: Viewer, run: Run, request: RunRequest | None) -> None:
        super().__init__(service, viewer)
        self._inside = viewer.sees_inside(request)
        self._mask: Discretion | None = None
        if not viewer.sees_all:
            self._mask = Discretion(run, [service.settings.data_dir])
        if request is not None:
            request = msgspec.structs.replace(request, reason=self._shown(request.reason))
        self._request = request
        self._record = self._redacted(run)
        # Ids of the last page of `all_episodes`: an export reads their events next, which need no lookup then.
        self._page_ids: frozenset[str] = frozenset()

    @property
    def id(self) -> str:
        """The id of the run."""
        return self._record.id

    @property
    def record(self) -> Run:
        """The run as the caller may see it."""
        return self._record

    @property
    def redacted(self) -> bool:
        """Whether prompts, replies and reasoning are hidden from the caller."""
        return not self._inside

    @property
    def key(self) -> str:
        """Cache key of the run, unique in this process and the same for all callers."""
        return f"{self._store.place} {self.id}"

    @property
    def view(self) -> str:
        """Cache key of answers that are the same for all callers who see the same parts of this run."""
        side = "in full" if self._viewer.sees_all else "as its owner" if self._inside else "in public"
        return f"{self.key} {side}"

    @property
    def own_view(self) -> str:
        """Cache key of answers that differ for each caller."""
        return f"{self.view} {self._viewer.caller.actor}"

    @property
    def stored_in(self) -> str | None:
        """Location of the store on this machine; None on a server, which hides its paths."""
        return self._store.place if self._viewer.local else None

    @property
    def may_work(self) -> bool:
        """Whether the caller may ask models about the run: scan it, or ask its calls again."""
        known = self._viewer.local or self._request is not None
        return known and self._viewer.may_judge_run(self._request)

    @property
    def request(self) -> RunRequest | None:
        """The request of the run; None on a laptop and for callers who do not see all of the run."""
        return self._request if self._inside else None

    @property
    def repeatable(self) -> bool:
        """Whether the same request would now run the same vow and environment version, or the same code."""
        request = self.request
        if request is None or request.kind != "environment":
            return request is not None and request.kind == "rollout"
        domain = self._service.store.domains.get(request.domain_id)
        vow = (domain.document.get("binding_vow") or {}) if domain is not None else {}
        if vow.get("version") != request.vow_version:
            return False
        if request.environment_id is None:
            return True
        environment = self._service.store.environments.get(request.environment_id)
        return environment is not None and environment.ready_version == request.environment_version

    @property
    def usual_limits(self) -> tuple[float, float]:
        """Default limits of this server: seconds of an outage, and share of missing episodes."""
        return self._service.settings.outage_s, self._service.settings.max_missing

    @property
    def open(self) -> bool:
        """Whether the run is queued or running."""
        if self._request is not None:
            return self._request.open
        return self._record.status in {RunStatus.PENDING, RunStatus.RUNNING}

    def queue_position(self) -> QueuePlace:
        """Return the position of the run in the queue of the server."""
        place = self._store.queue.place(self.id)
        if place is None:
            return QueuePlace(waiting=False, position=None, length=self._store.workers.queue().runs_queued)
        return QueuePlace(waiting=True, position=place.position, length=place.length)

    def ownership(self, *, prompts: bool = False) -> RunOwnership | None:
        """Return the owner and the request of the run; None on a laptop. Prompts are included only with `prompts`."""
        if self._request is None:
            return None
        return ownership(self._viewer, self._request, prompts=prompts)

    def episode(self, reference: str) -> "VisibleEpisode":
        """Return an episode of this run by its id. Raises UnknownName."""
        episode = self._store.episodes.get(reference, run_id=self.id)
        if episode.run_id != self.id:
            raise UnknownName(f"run {self.id} has no episode {reference[:_ID]!r}")
        return self._granted(episode)

    def episodes(
        self,
        wanted: EpisodeFilter | None = None,
        sort: str = "position",
        cursor: str | None = None,
        limit: int = 200,
    ) -> EpisodePageOfRun:
        """Return a page of the matching episodes.

        Raises UsageError for an invalid cursor, limit or sort; Refusal 403 if an outsider filters by text.
        """
        page = self._store.episodes.search(self.id, self._checked(wanted), sort, cursor, limit)
        return EpisodePageOfRun(tuple(map(self._episode, page.items)), page.cursor, page.partial)

    def all_episodes(self) -> Iterator[Episode]:
        """Yield the episodes in the order of the plan."""
        cursor: str | None = None
        while True:
            page = self._store.episodes.list(self.id, cursor=cursor)
            self._page_ids = frozenset(episode.id for episode in page.items)
            yield from map(self._episode, page.items)
            cursor = page.cursor
            if cursor is None:
                return

    def episodes_at(self, first: int, count: int) -> tuple[Episode, ...]:
        """Return `count` episodes from position `first` of the plan on."""
        return tuple(map(self._episode, self._store.episodes.at(self.id, first, count)))

    def count_episodes(self, wanted: EpisodeFilter | None = None) -> tuple[int, bool]:
        """Return the number of matching episodes, and whether it is exact."""
        return self._store.episodes.count(self.id, self._checked(wanted))

    def neighbours(
        self, episode_id: str, wanted: EpisodeFilter | None = None, sort: str = "position"
    ) -> tuple[str | None, str | None]:
        """Return the ids of the previous and next matching episode; None at either end."""
        episode = self.episode(episode_id)
        return self._store.episodes.neighbours(episode.record.id, self._checked(wanted), sort)

    def events(self, episode_id: str, first: int = 0) -> Iterator[Event]:
        """Yield the events of an episode of this run from position `first` on."""
        if episode_id not in self._page_ids:
            return self.episode(episode_id).events(first)
        return self._traces.events(episode_id, first=first)

    def search(
        self, query: SearchQuery, *, verdict: str = "", cursor: str | None = None, limit: int = 20
    ) -> SearchResult:
        """Return a page of the episodes that say something, in what the caller may see. Raises UsageError."""
        found = self._store.search.find(
            query, run_id=self.id, sight=lambda _run: self._sight, verdict=verdict, cursor=cursor, limit=limit
        )
        found.hits = list(map(self._hit, found.hits))
        return found

    @property
    def _sight(self) -> Sight:
        hides = (lambda _word: False) if self._mask is None else self._mask.hides
        return Sight(outside=not self._inside, redact=None if self._exact else self._redact_lines, hides=hides)

    def _hit(self, hit: SearchHit) -> SearchHit:
        return replace(hit, episode=self._episode(hit.episode))

    def failures(self) -> tuple[tuple[str, int, Episode], ...]:
        """Return the causes of failed episodes, each with its count and first episode."""
        found = self._store.episodes.failures(self.id)
        return tuple((cause, count, self._episode(first)) for cause, count, first in found)

    def first_missing(self, score: str, cause: str) -> Episode | None:
        """Return the first episode in which `score` is missing due to `cause`; None if there is none."""
        found = self._store.episodes.first_missing(self.id, score, cause)
        return None if found is None else self._episode(found)

    def episode_means(self) -> tuple[float | None, float | None]:
        """Return mean reward and mean steps."""
        return self._store.episodes.means(self.id)

    def group(self) -> tuple[RunGroup, tuple[Outcome, ...]] | None:
        """Return the group of the run and the outcomes of its benchmarks; None unless the caller sees all runs."""
        group_id = self.record.group_id
        if not group_id or not self._viewer.sees_all:
            return None
        return self._store.groups.get(group_id), tuple(self._store.groups.outcomes(group_id))

    def artifacts(self) -> tuple[Artifact, ...]:
        """Return the files of the run; outsiders see none."""
        return self._store.artifacts.of_run(self.id) if self._inside else ()

    def files(self) -> tuple[tuple[Artifact, int], ...]:
        """Return the files of the run with their sizes in bytes; outsiders see none."""
        sizes = self._store.artifacts.sizes(self.id) if self._inside else {}
        return tuple((one, sizes.get(one.digest, 0)) for one in self.artifacts())

    def file_page(self, cursor: str | None, limit: int) -> Page:
        """Return a page of StoredFile, oldest first.

        Raises Refusal 403 for outsiders, UsageError for an invalid cursor.
        """
        if not self._inside:
            raise Refusal(403, f"run {self.id} belongs to another account; its files are for those who own the run")
        return self._store.artifacts.page(self.id, cursor, limit)

    def previous(self) -> "VisibleRun | None":
        """Return the last earlier finished run of the same configuration in its workspace; None if there is none.

        Raises Refusal 403 for outsiders.
        """
        if not self._inside:
            raise Refusal(403, f"run {self.id} belongs to another account; its history is for those who own the run")
        request = self.request
        earlier = None if request is None else self._service.store.run_requests.finished_before(request)
        if earlier is None:
            return None
        try:
            return VisibleRun(self._service, self._viewer, *readable_run(self._service, self._viewer, earlier.run_id))
        except UnknownName:  # deleted meanwhile
            return None

    def log(self) -> RunLog:
        """Return the progress, warnings and errors of the run, oldest first. Raises Refusal 403 for outsiders."""
        if not self._inside:
            raise Refusal(403, f"run {self.id} belongs to another account; the log is for those who own the run")
        run, request = self.record, self._request
        lines = [RunLogLine(kind="state", at=moment(run.created_at), text=_submitted(run, request))]
        if run.started_at is not None:
            again = f", in session {request.tries}" if request is not None and request.tries > 1 else ""
            lines.append(RunLogLine(kind="state", at=moment(run.started_at), text=f"a worker began to play{again}"))
        elif request is not None and request.state == "queued":
            lines.append(RunLogLine(kind="state", at=None, text="waits for a worker"))
        lines += [RunLogLine(kind="warning", at=None, text=self._shown(text)) for text in run.warnings]
        ended = run.ended_at or (None if request is None else request.ended_at)
        reasons = (run.error, "" if request is None else request.reason)
        for text in dict.fromkeys(text for text in reasons if text):
            lines.append(RunLogLine(kind="error", at=moment(ended), text=self._shown(text)))
        if run.status not in {RunStatus.PENDING, RunStatus.RUNNING} and (request is None or not request.open):
            cancelled = request is not None and request.state == "cancelled"
            status = RunStatus.STOPPED if cancelled and run.status is not RunStatus.FINISHED else run.status
            done = f"{status}: {run.counts.done} of {run.counts.planned} episodes are finished"
            lines.append(RunLogLine(kind="state", at=moment(ended), text=done))
        return RunLog(run_id=run.id, lines=lines)

    def output(self, after: int) -> RunOutputPage:
        """Return what the programs of the run printed after a piece, some pieces. Raises Refusal 403 for outsiders."""
        if not self._inside:
            raise Refusal(403, f"run {self.id} belongs to another account; its output is for those who own the run")
        found = self._store.run_output.after(self.id, after, _PIECES)
        items = [RunOutputPiece(number=one.number, at=instant(one.at), text=self._shown(one.text)) for one in found]
        last = items[-1].number if items else after
        return RunOutputPage(run_id=self.id, items=items, last=last, ended=len(items) < _PIECES and not self.open)

    def series(self, *, plays: bool = False) -> RunSeries:
        """Return the data of the run's charts; see Episodes.series."""
        return self._store.episodes.series(self.id, plays=plays)

    def task_set(self) -> str:
        """Return a digest of the set of tasks that the run has finished."""
        return self._store.episodes.task_set(self.id)

    def score_rows(self, name: str = "") -> Iterator[ScoreRow]:
        """Yield the scores of all finished episodes, or only those named `name`."""
        return self._store.episodes.score_rows(self.id, name)

    def result_rows(self, primary: str) -> Iterator[ResultRow]:
        """Yield the finished episodes in the order of the plan, with their primary score."""
        return self._store.episodes.result_rows(self.id, primary)

    def wrong_groups(self, by: str) -> tuple[WrongGroup, ...]:
        """Return the wrong answers of the run grouped by `by`. Raises Refusal 403 for outsiders, UsageError."""
        if not self._inside:
            raise Refusal(403, f"run {self.id} belongs to another account; why answers are wrong is for its owners")
        return self._store.episodes.wrong_groups(self.id, by)

    def played(self, digests: Sequence[str]) -> dict[str, PlayedTask]:
        """Return the tasks in `digests` that the run has finished, by task digest."""
        return self._store.episodes.played(self.id, digests)

    def entries(self) -> Iterator[Entry]:
        """Yield the episodes with their traces, for a bundle."""
        for entry in Bundles(self._store.database, self._store.episodes, self._traces).entries(self.id):
            episode = self._episode(entry.episode)
            # A checksum is of the recorded trace, so a redacted entry has none.
            yield replace(entry, episode=episode) if self._inside else Entry(episode, entry.chunks)

    def get(self, digest: str) -> Blob:
        """Return a blob as `VisibleRuns.blob` does."""
        return VisibleRuns(self._service, self._viewer).blob(digest)

    def blobs(self) -> Iterator[Blob]:
        """Yield the blobs of the run; outsiders get only images."""
        for blob in self._store.blobs.of_run(self.id):
            if self._inside or blob.content_type.startswith("image/"):
                yield blob

    @property
    def _exact(self) -> bool:
        return self._inside and self._mask is None

    @cached_property
    def _traces(self) -> Traces:
        return Traces(self._store.database, None if self._exact else self._redact_lines)

    def _redact_lines(self, raw: bytes) -> bytes:
        if self._mask is not None:
            raw = self._mask(raw)
        if self._inside:
            return raw
        return b"\n".join(map(redact_line, raw.rstrip(b"\n").split(b"\n"))) + b"\n"

    def _shown(self, text: str) -> str:
        text = discreet(text)
        return text if self._mask is None else self._mask(text.encode()).decode()

    def _granted(self, episode: Episode) -> "VisibleEpisode":
        return VisibleEpisode(self._service, self._viewer, self, self._episode(episode), self._traces)

    def _episode(self, episode: Episode) -> Episode:
        found = episode if self._inside else redact_episode(episode)
        if self._mask is None:
            return found
        return msgspec.json.decode(self._mask(msgspec.json.encode(found)), type=Episode)

    def _checked(self, wanted: EpisodeFilter | None) -> EpisodeFilter | None:
        """Return the filter. Raises Refusal 403 if an outsider filters by text, which would reveal hidden texts."""
        if not self._inside and wanted is not None and (wanted.text or wanted.mistake or wanted.behaviour):
            raise Refusal(403, "episodes of public runs cannot be searched by text; that is for those who own the run")
        return wanted

    def _redacted(self, run: Run) -> Run:
        if self._mask is not None:
            run = msgspec.json.decode(self._mask(msgspec.json.encode(public(run))), type=Run)
        if self._request is not None:
            # Show the requested model name, not the model that the server calls for it.
            run.model = self._request.model
        return run if self._inside else redact_run(run)


class VisibleEpisode(GrantedObject):
    """An episode of a run that the caller may read, with its trace."""

    def __init__(self, service: Service, viewer: Viewer, run: VisibleRun, episode: Episode, traces: Traces) -> None:
        super().__init__(service, viewer)
        self._run = run
        self._record = episode
        self._traces = traces

    @property
    def id(self) -> str:
        """The id of the episode."""
        return self._record.id

    @property
    def record(self) -> Episode:
        """The episode as the caller may see it."""
        return self._record

    @property
    def run(self) -> VisibleRun:
        """The run of the episode."""
        return self._run

    def events(self, first: int = 0, limit: int | None = None) -> Iterator[Event]:
        """Yield events from position `first` on."""
        return self._traces.events(self.id, first=first, limit=limit)

    def chunks(self, first: int = 0) -> Iterator[Chunk]:
        """Yield events as JSON lines, in chunks, beginning with the chunk that contains position `first`."""
        return self._traces.chunks(self.id, first)

    def find_events(self, *, first: int, kinds: frozenset[Kind] | None, text: str, limit: int) -> EventPage:
        """Return a page of matching events; `text` is searched only in what the caller may see."""
        return self._traces.find(self.id, first=first, kinds=kinds, text=text, limit=limit)

    def first_event_of_step(self, step: int) -> int | None:
        """Return the position of the first event of a step; None if it has none."""
        return self._traces.first_event_of_step(self.id, step)

    def messages(
        self, indexes: Sequence[Sequence[int]], before_seq: int, *, limit: int, budget_s: float
    ) -> MessagePage:
        """Return the messages that the event at `before_seq` refers to."""
        return self._traces.messages(self.id, indexes, before_seq, limit=limit, budget_s=budget_s)


_NEWEST = 10
"""Runs that are looked through for one that an estimate can be made from."""
_OF_TASK = 50
"""Runs that are looked through for episodes of one task."""


@dataclass(frozen=True, slots=True)
class FoundInRuns:
    """Episodes of several runs, and these runs by id."""

    result: SearchResult
    runs: dict[str, VisibleRun]


class VisibleRuns(GrantedObject):
    """All runs that the caller may read."""

    @property
    def view(self) -> str:
        """Cache key of answers about all these runs. Callers who see all runs share one."""
        viewer = self._viewer
        if viewer.sees_all:
            return f"{self._store.place} in full"
        # Who has left a team or a workspace gets no answer from before.
        return f"{self._store.place} {viewer.caller.actor} {sorted(viewer.teams)} {sorted(viewer.roles)}"

    def get(self, run_id: str) -> VisibleRun:
        """Return a run by its id, on a laptop also by a prefix. Raises UnknownName if the caller may not read it."""
        return self._visible(*readable_run(self._service, self._viewer, run_id))

    def several(self, run_ids: Iterable[str]) -> dict[str, VisibleRun]:
        """Return those of the runs with these whole ids that the caller may read, by id."""
        found = self._service.store.runs.several(run_ids)
        if self._viewer.local:
            return {run_id: self._visible(run, None) for run_id, run in found.items()}
        requests = self._service.store.run_requests.of(list(found))
        return {
            run_id: self._visible(run, requests[run_id])
            for run_id, run in found.items()
            if run_id in requests and self._viewer.may_read_run(requests[run_id], run.status)
        }

    def page(
        self,
        wanted: RunFilter | None = None,
        *,
        whose: Whose = "",
        cursor: str | None = None,
        limit: int = 50,
        sort: str = "-created_at",
    ) -> VisibleRunPage:
        """Return a page of runs.

        Raises UsageError for an invalid cursor, limit or sort; Refusal: 403 for a team of others, 404 for their
        workspace.
        """
        page = self._store.runs.list(self._narrowed(wanted, whose), cursor=cursor, limit=limit, sort=sort)
        requests = {} if self._viewer.local else self._service.store.run_requests.of([run.id for run in page.items])
        return VisibleRunPage(tuple(self._visible(run, requests.get(run.id)) for run in page.items), page.cursor)

    def of_task(self, benchmark: str, digest: str) -> tuple[list["VisibleEpisode"], bool]:
        """Return the finished episodes of a task in the newest 50 runs of its benchmark, and whether those are all."""
        page = self.page(RunFilter(benchmarks=(benchmark,)), limit=_OF_TASK)
        found = self._store.episodes.of_task([run.id for run in page.items], digest)
        # A run in a list does not say what passes.
        runs = self.several(one.run_id for one in found)
        order = {run.id: place for place, run in enumerate(page.items)}
        mine = sorted((one for one in found if one.run_id in runs), key=lambda one: order[one.run_id])
        return [runs[one.run_id]._granted(one) for one in mine], page.cursor is None  # noqa: SLF001

    @property
    def visible_to(self) -> VisibleTo:
        """The condition that a run is one of these."""
        return self._visible_to("")

    def shown(self, runs: Mapping[str, Run]) -> dict[str, Run]:
        """Return those of some stored runs that the caller may read, as they may see them."""
        requests = self._service.store.run_requests.of(list(runs))
        return {
            run_id: self._visible(run, requests.get(run_id)).record
            for run_id, run in runs.items()
            if self._viewer.may_read_run(requests.get(run_id), run.status)
        }

    def forecast(self, wanted: ForecastInput) -> Forecast:
        """Return what runs would come to, from earlier ones of these; nothing is submitted."""

        def workspace_of(reference: str) -> Workspace | None:
            return WorkingWorkspace.find(self._service, self._viewer, reference).record if reference else None

        return forecast_runs(self._service, self._viewer, wanted.runs, workspace_of, self.newest_finished)

    def newest_finished(self, benchmark: str, model: str) -> Run | None:
        """Return the newest finished run of a benchmark and a model that the caller sees all of, None without one."""
        wanted = RunFilter(benchmarks=(benchmark,), models=(model,), statuses=(RunStatus.FINISHED,))
        found = (one.record for one in self.page(wanted, limit=_NEWEST).items if not one.redacted)
        return next((run for run in found if run.counts.done), None)

    def count(self, wanted: RunFilter | None = None, *, whose: Whose = "") -> tuple[int, bool]:
        """Return the number of matching runs, and whether it is exact. Raises Refusal as `page` does."""
        return self._store.runs.count(self._narrowed(wanted, whose))

    def search(
        self,
        query: SearchQuery,
        wanted: RunFilter | None = None,
        *,
        whose: Whose = "",
        verdict: str = "",
        cursor: str | None = None,
        limit: int = 20,
    ) -> FoundInRuns:
        """Return a page of the episodes of matching runs that say something, in what the caller may see.

        Raises UsageError; Refusal as `page` does.
        """
        runs: dict[str, VisibleRun] = {}

        def sight(run_id: str) -> Sight:
            try:
                runs[run_id] = self.get(run_id)
            except UnknownName:  # hidden or deleted meanwhile
                return Sight(outside=True, redact=lambda _lines: b"")
            return runs[run_id]._sight  # noqa: SLF001 - a run says what it shows

        found = self._store.search.find(
            query, self._narrowed(wanted, whose), sight=sight, verdict=verdict, cursor=cursor, limit=limit
        )
        found.hits = [runs[hit.episode.run_id]._hit(hit) for hit in found.hits]  # noqa: SLF001
        return FoundInRuns(found, runs)

    def facets(self) -> RunFacets:
        """Return the values that the runs can be filtered by, with their counts."""
        return self._store.runs.facets(None if self._viewer.sees_all else self._visible_to(""))

    def changes(self, since: float) -> RunChanges:
        """Return the runs that changed or were deleted since `since`, and those that have not ended."""
        found = self._store.changes.since(since)
        if self._viewer.sees_all:
            return found
        seen = self._seen_ids([*found.changed, *found.active])
        changed = tuple(run_id for run_id in found.changed if run_id in seen)
        return replace(found, changed=changed, active=tuple(run_id for run_id in found.active if run_id in seen))

    def states(self, run_ids: Sequence[str]) -> tuple[RunState, ...]:
        """Return the changing fields of several runs, at most 1,000."""
        if self._viewer.sees_all:
            return self._store.changes.states(list(run_ids))
        seen = self._seen_ids(run_ids)
        states = self._store.changes.states([run_id for run_id in run_ids if run_id in seen])
        return tuple(msgspec.structs.replace(state, error="", holder=None) for state in states)

    def watch(self) -> ChangeWatch:
        """Return a watch of changes of all runs. Raises Refusal 403 unless the caller sees all runs."""
        if not self._viewer.sees_all:
            raise Refusal(403, "only those who see all runs may watch them all")
        return self._store.changes.watch()

    def episode(self, episode_id: str) -> VisibleEpisode:
        """Return an episode of one of the runs, as `get` returns a run. Raises UnknownName."""
        if self._viewer.local:
            episode = self._store.episodes.get(episode_id)
            return self.get(episode.run_id)._granted(episode)  # noqa: SLF001 - a run grants its episodes
        whole = "" if len(episode_id) == _ID else "; give its whole id"
        words = f"there is no episode {episode_id[:_ID]!r} that you may see; {_advice(self._viewer)}{whole}"
        if whole:
            raise UnknownName(words)
        try:
            episode = self._store.episodes.get(episode_id)
            return self.get(episode.run_id)._granted(episode)  # noqa: SLF001
        except UnknownName:
            raise UnknownName(words) from None

    def blob(self, digest: str) -> Blob:
        """Return a blob: any of a run that the caller sees all of, and images of public runs. Raises UnknownName."""
        if self._viewer.local:
            return self._store.blobs.get(digest)
        unknown = UnknownName(f"there is no content {digest[:64]!r} that you may see")
        # Check before reading, so that the response time does not reveal whether hidden content exists.
        if not self._viewer.sees_all and not self._store.blobs.is_visible(digest, self._visible_to("")):
            raise unknown
        try:
            return self._store.blobs.get(digest)
        except UnknownName:
            # The store's message contains a path of the server.
            raise unknown from None

    def stream(self) -> AbstractContextManager[None]:
        """Return a context for a stream of changes. Raises Refusal 429 if too many streams are open."""
        if self._viewer.local:
            return nullcontext()
        caller, audience = self._viewer.caller, self._service.audience
        name = counted(self._viewer.address) if caller.anonymous else caller.actor
        if audience.full(name, known=not caller.anonymous):
            raise Refusal(429, "too many streams are open; close one", headers={"Retry-After": "30"})
        return audience.slot(name)

    def recognised(self, request: Request) -> bool:
        """Return whether a request is still authenticated as the caller, who may have logged out or been disabled."""
        return self._service.recognise(request) == self._viewer.caller

    def seen(self, change: RunChange) -> RunChange | None:
        """Return the part of a change that the caller may see; None if there is none."""
        if self._viewer.local:
            return change
        # Create a new viewer each time, because teams and workspaces change while a stream is open.
        viewer = self._service.viewer(self._viewer.caller)
        requests = self._service.recent_requests([run.id for run in change.runs])
        runs = [
            self._seen_by(viewer, run, requests.get(run.id))
            for run in change.runs
            if viewer.may_read_run(requests.get(run.id), run.state)
        ]
        # Deleted ids are sent to all callers: an id alone reveals nothing about a run.
        return RunChange(runs=runs, deleted=change.deleted) if runs or change.deleted else None

    def _seen_by(self, viewer: Viewer, run: RunSummary, request: RunRequest | None) -> RunSummary:
        if request is None:
            return run
        owned = ownership(viewer, msgspec.structs.replace(request, reason=""))
        changed = {**owned, "model": request.model}
        title = {"model": discreet(player(request.model))}
        if not viewer.sees_all and (run.error or not viewer.sees_inside(request)):
            # What is hidden from the caller may be part of the message, and of what sets the run apart.
            record = self._record_for(viewer, run.id, request)
            changed["error"] = (MARK if run.error else "") if record is None else discreet(record.error)
            title["differs"] = "" if record is None else discreet(record.differs)
        return run.model_copy(update={**changed, "title": run.title.model_copy(update=title)})

    def _record_for(self, viewer: Viewer, run_id: str, request: RunRequest) -> Run | None:
        try:
            run = self._store.runs.get(run_id)
        except UnknownName:  # deleted meanwhile
            return None
        return VisibleRun(self._service, viewer, run, request).record

    def _seen_ids(self, run_ids: Sequence[str]) -> frozenset[str]:
        """Return the ids of the runs that the caller may read."""
        requests = self._service.store.run_requests.of(run_ids)
        statuses = {state.id: state.status for state in self._store.changes.states(list(requests)[:1_000])}
        return frozenset(
            run_id
            for run_id, request in requests.items()
            if run_id in statuses and self._viewer.may_read_run(request, statuses[run_id])
        )

    def _visible(self, run: Run, request: RunRequest | None) -> VisibleRun:
        return VisibleRun(self._service, self._viewer, run, request)

    def _narrowed(self, wanted: RunFilter | None, whose: Whose) -> RunFilter:
        wanted = wanted or RunFilter()
        if wanted.team and not (self._viewer.is_member(wanted.team) or self._viewer.sees_all):
            words = "`mesocosm team list` shows your teams"
            raise Refusal(403, f"you are not a member of team {wanted.team[:_ID]!r}; {words}")
        if wanted.workspace and not self._viewer.local:
            workspace = VisibleWorkspace.find(self._service, self._viewer, wanted.workspace)
            wanted = replace(wanted, workspace=workspace.document().id)
        if self._viewer.local or (self._viewer.sees_all and not whose):
            return wanted
        return replace(wanted, visible_to=self._visible_to(whose))

    def _visible_to(self, whose: Whose) -> VisibleTo:
        caller = self._viewer.caller
        actor = "" if caller.anonymous else caller.actor
        user_id = caller.user_id if caller.member else None
        return VisibleTo(actor, user_id, whose, every_workspace=self._viewer.sees_all)


def _submitted(run: Run, request: RunRequest | None) -> str:
    if request is None:
        return f"created: {run.benchmark}, {run.model}"
    done = "pushed" if request.kind == "imported" else "submitted"
    words = f"{done} by {request.actor_name or request.actor}"
    if request.kind == "benchmark":
        return f"{words}: benchmark {run.benchmark}"
    if request.kind == "scan":
        return f"{words}: {run.benchmark_title}"
    if request.kind == "rollout":
        code = f" at commit {request.commit_id[:12]}" if request.commit_id else ""
        return f"{words}: {run.agent}{code}, dataset {run.benchmark}"
    if not request.domain_id:
        return words
    words += f": domain {request.domain_id}, vow {request.vow_version}"
    where = f", environment {request.environment_id} version {request.environment_version}"
    return words + (where if request.environment_id else "")


def readable_run(service: Service, viewer: Viewer, run_id: str) -> tuple[Run, RunRequest | None]:
    """Return a run that the viewer may read, not redacted, with its request (None on a laptop).

    Raises UnknownName. On a server its message is the same for hidden and for unknown runs.
    """
    if viewer.local:
        return service.store.runs.get(run_id), None
    found = service.store.run_requests.found(run_id) if len(run_id) == _ID else None
    if found is not None:
        run, request = found
        if viewer.may_read_run(request, run.status):
            return run, request
    whole = "" if len(run_id) == _ID else "; give its whole id"
    raise UnknownName(f"there is no run {run_id[:_ID]!r} that you may see; {_advice(viewer)}{whole}")


def _advice(viewer: Viewer) -> str:
    """Return what to do about a run that is hidden from the viewer, or unknown."""
    return "log in, or ask its owner" if viewer.caller.anonymous else "if it is somebody else's, ask them for access"


def all_runs(service: Service) -> VisibleRuns:
    """Return all runs of a server, not redacted, for work of the server itself."""
    return VisibleRuns(service, service.viewer(SERVER))


def ownership(viewer: Viewer, request: RunRequest, *, prompts: bool = False) -> RunOwnership:
    """Return the owner and the request of a run. For outsiders the owner is `member` or `guest`, and the team None."""
    inside = viewer.sees_inside(request)
    kind = "guest" if request.actor.startswith("guest:") else "member"
    return RunOwnership(
        owner=(request.actor_name or kind) if inside else kind,
        visibility=request.visibility,
        # A run in a workspace does not belong to a team.
        team_id=request.team_id if inside and request.workspace_id is None else None,
        workspace_id=request.workspace_id if inside else None,
        domain_id=request.domain_id,
        protocol=request.protocol,
        mine=viewer.is_owner(request),
        may_change=viewer.may_change_run(request),
        may_work=viewer.may_judge_run(request),
        request=_request_document(request, inside=inside, prompts=prompts),
        imported=_imported(request, inside=inside),
    )


def _imported(request: RunRequest, *, inside: bool) -> Imported | None:
    """Return where a run comes from that was played elsewhere; None for every other run."""
    known = request.config.get("imported")
    if request.kind != "imported" or not isinstance(known, dict):
        return None
    return Imported(
        at=instant(request.created_at),
        last_at=instant(known["at"]),
        by=(request.actor_name or request.actor) if inside else None,
        host=known["host"] if inside else None,
        run_id=known["run"] if inside else None,
        signature=known["signature"],
        chain=known["chain"] if inside else None,
        recomputed=known["recomputed"],
    )


def _request_document(request: RunRequest, *, inside: bool, prompts: bool) -> RunRequestDocument:
    kind, _, name = request.actor.partition(":")
    return RunRequestDocument.model_validate(
        {
            "kind": request.kind,
            "config": _environment_config(request, inside=inside, prompts=prompts),
            "evaluation": _evaluation(request) if inside else None,
            "parameters": request.config.get("parameters") if inside and request.kind in _WITH_PARAMETERS else None,
            "state": request.state,
            "reason": discreet(request.reason) if inside else "",
            "ended_at": moment(request.ended_at),
            "expires_at": moment(request.expires_at),
            "requester_id": (request.actor if kind == "guest" else name) if inside else None,
            "purpose": request.purpose,
            "environment_id": request.environment_id,
            "environment_version": request.environment_version,
            "redacted": not inside,
        }
    )


def _environment_config(request: RunRequest, *, inside: bool, prompts: bool) -> dict[str, object] | None:
    if request.kind != "environment":
        return None
    config = request.config if inside else redact_config(request.config)
    agent = {"model": request.model, **config.get("agent_config", {})}
    if not prompts:
        agent["system_prompt"] = None
    # These columns of the request may be missing from its configuration.
    named = {"domain_id": request.domain_id, "binding_vow_version": request.vow_version}
    return {**named, **config, "agent_config": agent}


def _evaluation(request: RunRequest) -> EvaluationDocument | None:
    if request.kind != "rollout":
        return None
    given = {name: request.config[name] for name in EvaluationDocument.model_fields if name in request.config}
    return EvaluationDocument(
        **given,
        workspace=request.workspace_id or "",
        name=request.name,
        configuration=request.configuration,
        branch=request.branch,
        commit=request.commit_id,
        snapshot=request.snapshot or "",
        dataset_id=request.dataset_id or "",
        dataset_version=request.dataset_version or 0,
    )
