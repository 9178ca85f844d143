"""The store as one person sees it: what the record of a platform is read through.

Whatever a route asks for passes here, so no route can forget to ask who may see it. Runs that somebody may not read do
not exist for them. Of a public run, those who are outside see everything but prompts, reasoning and replies.
"""

import shlex
from dataclasses import replace
from typing import Any, TypeVar

import msgspec
from sqlalchemy import ColumnElement, Connection, Select, exists, false, func, or_, select

from mesocosm.core.entry import Blob, Chunk
from mesocosm.core.episode import Episode
from mesocosm.core.failure import UnknownName
from mesocosm.core.ports import Page
from mesocosm.core.run import Run
from mesocosm.server.auth.belonging import public as shown_to_all
from mesocosm.server.auth.ownership import ownership
from mesocosm.server.auth.principal import Principal
from mesocosm.server.auth.redaction import Discretion, redact_episode, redact_line, redact_run
from mesocosm.server.refusal import Refusal
from mesocosm.server.runs.commands import repeat_request
from mesocosm.server.runs.public import public
from mesocosm.server.schemas.query import Whose
from mesocosm.server.schemas.run import Reproduction, RunSummary
from mesocosm.server.service import Service
from mesocosm.store import SqlStore
from mesocosm.store.blobs import Artifact
from mesocosm.store.filters import EpisodeFilter, RunFilter
from mesocosm.store.queries import Facet, Line, RunFacets
from mesocosm.store.run_requests import RunRequest, public_order
from mesocosm.store.schema import blobs, run_blobs, run_lines, run_tags
from mesocosm.store.tenancy import memberships, orders

_WHOLE_ID = 36
"""Characters of an id. Beginnings of ids are not looked up here: what they could mean is nobody's business."""
_FACET = 200

Row = TypeVar("Row", bound=RunSummary)


class Sight(SqlStore):
    """The store through the eyes of `who`; made for one request."""

    def __init__(self, service: Service, who: Principal) -> None:
        super().__init__(service.store.database)
        self._service = service
        self._who = who
        self._orders: dict[str, RunRequest | None] = {}
        self._in_public = False
        self._discretion: Discretion | None = None
        self._teams: frozenset[str] | None = None
        self._whose: Whose = ""

    @property
    def place(self) -> str:
        """A name that tells from which side something was read; of the database it says nothing."""
        if self._who.admin:
            return "platform, in full"
        return "platform, in public" if self._in_public else "platform"

    @property
    def view(self) -> str:
        """What answers over all runs are kept under."""
        return f"{self.place} {self._who.actor}"

    @property
    def outside(self) -> bool:
        """Whether something was read that its reader sees from outside only."""
        return self._in_public

    def get_run(self, run_id: str) -> Run:
        """Return a run that may be read, by its whole id. Raises UnknownName."""
        run = self._known(run_id)
        order = self.order(run.id)
        if not self.readable(order, run):
            raise UnknownName(f"there is no run {run_id[:_WHOLE_ID]!r} that you may see; sign in, or ask its owner")
        return self._shown(run, order)

    def order(self, run_id: str) -> RunRequest | None:
        """Return what is known of whose a run is."""
        if run_id not in self._orders:
            self._orders[run_id] = self._service.run_requests.get(run_id)
        return self._orders[run_id]

    def readable(self, order: RunRequest | None, run: Run) -> bool:
        """Return whether a run may be read; one that nobody ordered is for those who run the platform."""
        return self._who.admin if order is None else shown_to_all(order, run) or self.inside(order)

    def inside(self, order: RunRequest | None) -> bool:
        """Return whether a run is theirs, or that of a team they are in."""
        if order is None or self._who.admin:
            return self._who.admin
        own = not self._who.anonymous and order.actor == self._who.actor
        return own or (order.team_id is not None and order.team_id in self._in_teams())

    def _in_teams(self) -> frozenset[str]:
        if self._teams is None:
            user_id = self._who.user_id if self._who.member else None
            self._teams = frozenset() if user_id is None else self._service.teams_of(user_id)
        return self._teams

    def narrow(self, whose: Whose) -> None:
        """List from now on only runs that are one's own, of one's teams, or public."""
        self._whose = whose

    def owned(self, row: Row) -> Row:
        """Return a row of a list with whose run it is; of one that nobody ordered nothing is told."""
        order = self.order(row.id)
        return row if order is None else row.model_copy(update=ownership(self._who, order, inside=self.inside(order)))

    def own_run(self, run_id: str) -> tuple[Run, RunRequest]:
        """Return a run to do something with it. Raises UnknownName, or Refusal when it may only be read."""
        run = self.get_run(run_id)
        order = self.order(run.id)
        if order is None:
            raise Refusal(409, f"run {run.id} was not asked for here; use the command line on this machine")
        if not self.inside(order):
            raise Refusal(403, f"run {run.id} belongs to somebody else; you may only look at it")
        return run, order

    def _known(self, run_id: str) -> Run:
        if len(run_id) != _WHOLE_ID:
            raise UnknownName(f"there is no run {run_id[:_WHOLE_ID]!r}; give its whole id")
        found = self._service.run_requests.found(run_id)
        if found is None:
            raise UnknownName(f"there is no run {run_id!r} that you may see; sign in, or ask its owner")
        run, self._orders[run_id] = found
        return run

    def _shown(self, run: Run, order: RunRequest | None) -> Run:
        """Return a run without what tells of the machines here, and from outside without what is its owner's."""
        if not self._who.admin:
            self._discretion = Discretion(run, [self._service.settings.data_dir])
            run = msgspec.json.decode(self._discretion(msgspec.json.encode(public(run))), type=Run)
        if order is not None:
            run.model = order.model
        if self.inside(order):
            return run
        self._in_public = True
        return redact_run(run)

    def _visible(self) -> Select[Any] | None:
        """Return the ids of all runs that may be seen; None for those who see everything."""
        if self._who.admin:
            return None
        return select(orders.c.run_id).where(or_(self._own(), public_order()))

    def _own(self) -> ColumnElement[bool]:
        """Return the condition on orders that are theirs."""
        if self._who.anonymous:
            return false()
        mine = orders.c.actor == self._who.actor
        if not self._who.member:
            return mine
        team = select(memberships.c.team_id).where(memberships.c.user_id == self._who.user_id)
        return or_(mine, orders.c.team_id.in_(team))

    def _conditions(self, wanted: RunFilter, columns: Line) -> list[ColumnElement[bool]]:
        found = super()._conditions(wanted, columns)
        if self._whose in {"mine", "team"}:
            # Few, and all of them may be seen: they are looked up by whose they are.
            return [*found, columns.run_id.in_(select(orders.c.run_id).where(self._asked()))]
        seen = self._asked() if self._whose else None if self._who.admin else or_(self._own(), public_order())
        if seen is None:
            return found
        # One by one, until a page is full: how many there are besides does not matter.
        return [*found, exists().where(orders.c.run_id == columns.run_id, seen)]

    def _asked(self) -> ColumnElement[bool]:
        """Return the condition on orders that a list was narrowed to."""
        if self._whose == "public":
            return public_order()
        if self._who.anonymous:
            return false()
        if self._whose == "mine":
            return orders.c.actor == self._who.actor
        return orders.c.team_id.in_(self._in_teams())

    def list_runs(self, *given: Any, **named: Any) -> Page:
        """Return a page of the runs that may be seen."""
        page = super().list_runs(*given, **named)
        found = self._service.run_requests.of([run.id for run in page.items])
        self._orders |= {run.id: found.get(run.id) for run in page.items}
        outside = self._in_public
        shown = tuple(self._shown(run, found.get(run.id)) for run in page.items)
        # A list holds nothing that differs between inside and outside.
        self._in_public = outside
        return Page(shown, page.cursor, page.partial)

    def run_facets(self) -> RunFacets:
        """Return the values that the runs which may be seen can be filtered by."""
        visible = self._visible()
        if visible is None:
            return super().run_facets()

        def facet(connection: Connection, column: Any, run_id: Any) -> Facet:
            number = func.count()
            wanted = select(column, number).where(run_id.in_(visible)).group_by(column)
            rows = connection.execute(wanted.order_by(number.desc(), column).limit(_FACET))
            return tuple((value, count) for value, count in rows)

        def work(connection: Connection) -> RunFacets:
            lines = run_lines.c
            named = (lines.status, lines.benchmark, lines.model, lines.agent, lines.kind)
            status, benchmark, model, agent, kind = (facet(connection, column, lines.run_id) for column in named)
            tag = facet(connection, run_tags.c.tag, run_tags.c.run_id)
            return RunFacets(status, benchmark, model, agent, kind, tag)

        return self._database.read(work)

    def episode(self, reference: str, *, run_id: str = "") -> Episode:
        """Return an episode of a run that may be read, by its whole id. Raises UnknownName."""
        if len(reference) != _WHOLE_ID:
            raise UnknownName(f"there is no episode {reference[:_WHOLE_ID]!r}; give its whole id")
        unknown = f"there is no episode {reference!r} that you may see; sign in, or ask its owner"
        try:
            episode = super().episode(reference)
            self.get_run(episode.run_id)
        except UnknownName:
            raise UnknownName(unknown) from None
        return self._of(episode)

    def _of(self, episode: Episode) -> Episode:
        if self._in_public:
            return redact_episode(episode)
        if self._discretion is None:
            return episode
        return msgspec.json.decode(self._discretion(msgspec.json.encode(episode)), type=Episode)

    def _page(self, page: Page) -> Page:
        return Page(tuple(map(self._of, page.items)), page.cursor, page.partial)

    def episodes(self, *given: Any, **named: Any) -> Page:
        """Return a page of the episodes of a run that was asked for before."""
        return self._page(super().episodes(*given, **named))

    def list_episodes(
        self,
        run_id: str,
        filter: EpisodeFilter | None = None,  # noqa: A002
        *given: Any,
        **named: Any,
    ) -> Page:
        """Return a page of the episodes of a run that was asked for before."""
        return self._page(super().list_episodes(run_id, self._checked(filter), *given, **named))

    def episodes_at(self, run_id: str, first: int, count: int) -> tuple[Episode, ...]:
        """Return the episodes at places of the plan."""
        return tuple(map(self._of, super().episodes_at(run_id, first, count)))

    def episodes_of_task(self, run_id: str, task_digest: str) -> tuple[Episode, ...]:
        """Return the tries of one task."""
        return tuple(map(self._of, super().episodes_of_task(run_id, task_digest)))

    def failures(self, run_id: str) -> tuple[tuple[str, int, Episode], ...]:
        """Return failures by cause with the first episode of each."""
        return tuple((cause, count, self._of(first)) for cause, count, first in super().failures(run_id))

    def first_missing(self, run_id: str, score: str, cause: str) -> Episode | None:
        """Return the first episode whose score is missing for a cause."""
        found = super().first_missing(run_id, score, cause)
        return None if found is None else self._of(found)

    def count_episodes(self, run_id: str, filter: EpisodeFilter | None = None, *given: Any) -> tuple[int, bool]:  # noqa: A002
        """Return how many episodes fit."""
        return super().count_episodes(run_id, self._checked(filter), *given)

    def neighbours(
        self,
        episode_id: str,
        filter: EpisodeFilter | None = None,  # noqa: A002
        *given: Any,
        **named: Any,
    ) -> tuple[str | None, str | None]:
        """Return the episodes before and after one."""
        return super().neighbours(episode_id, self._checked(filter), *given, **named)

    def _checked(self, wanted: EpisodeFilter | None) -> EpisodeFilter | None:
        """Return a filter that tells nobody outside what is hidden from them."""
        if self._in_public and wanted is not None and wanted.text:
            raise Refusal(403, "episodes of public runs cannot be searched by text; that is for those who own the run")
        return wanted

    def _chunk(self, episode_id: str, seq: int, *fields: Any) -> Chunk:
        chunk = super()._chunk(episode_id, seq, *fields)
        if self._discretion is not None:
            chunk = replace(chunk, raw=self._discretion(chunk.raw))
        if not self._in_public:
            return chunk
        lines = chunk.raw.rstrip(b"\n").split(b"\n")
        return replace(chunk, raw=b"\n".join(map(redact_line, lines)) + b"\n")

    def artifacts(self, run_id: str) -> tuple[Artifact, ...]:
        """Return the files of a run; none to those outside."""
        return () if self._in_public else super().artifacts(run_id)

    def get(self, digest: str) -> Blob:
        """Return content that a run refers to which may be seen: pictures of public runs, everything of one's own."""
        unknown = UnknownName(f"there is no content {digest[:64]!r} that you may see")
        own = self._who.admin or self._needed(digest, self._own())
        # Asked before anything is read: what may not be seen takes no longer to refuse than what is not there.
        if not own and not self._needed(digest, blobs.c.content_type.startswith("image/")):
            raise unknown
        try:
            blob = super().get(digest)
        except UnknownName:
            # The store's words say where it lies.
            raise unknown from None
        self._in_public = self._in_public or not own
        return blob

    def _needed(self, digest: str, condition: ColumnElement[bool]) -> bool:
        wanted = (
            select(run_blobs.c.run_id)
            .join(orders, orders.c.run_id == run_blobs.c.run_id)
            .join(blobs, blobs.c.digest == run_blobs.c.digest)
            .where(run_blobs.c.digest == digest, condition)
        )
        visible = self._visible()
        if visible is not None:
            wanted = wanted.where(run_blobs.c.run_id.in_(visible))
        return self._database.read(lambda connection: connection.scalar(wanted.limit(1))) is not None

    def commands(self, run: Run, *, failed: bool) -> Reproduction:
        """Return the commands that apply to a run of this platform; those outside are only shown it.

        `failed` tells whether it has failures that are worth another try.
        """
        order = self.order(run.id)
        repeat = resume = None
        if order is not None and self.inside(order):
            repeat = repeat_request(order, run, self._service.settings) if self._is_present(order) else None
            if not order.open and (run.counts.owed or failed):
                again = ["--retry-failed"] if failed else []
                resume = shlex.join(["mesocosm", "run", "resume", run.id, *again])
        return Reproduction(repeat=repeat, resume=resume, show=shlex.join(["mesocosm", "run", "get", run.id]))

    def _is_present(self, order: RunRequest) -> bool:
        """Return whether the vow and the version of the environment that were played are those of today."""
        domain = self._service.domains.get(order.domain_id)
        vow = (domain.document.get("binding_vow") or {}) if domain is not None else {}
        if vow.get("version") != order.vow_version:
            return False
        if order.environment_id is None:
            return True
        environment = self._service.environments.get(order.environment_id)
        return environment is not None and environment.ready_version == order.environment_version
