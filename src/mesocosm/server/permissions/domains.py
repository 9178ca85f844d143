"""Domains visible to a caller, with their leaderboards.

Every caller may read a published domain, and an archived one that was published, because runs and links refer to it.
Only its owner, their team and administrators may read a draft.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Self

from mesocosm.server.auth.access_rules import Viewer
from mesocosm.server.domains import changes, protocols
from mesocosm.server.domains.domains import ARCHIVED, DRAFT, PUBLISHED, document_of
from mesocosm.server.environments.usage import domain_usage
from mesocosm.server.leaderboards.boards import domain_board, gallery_runs
from mesocosm.server.leaderboards.official import official_board
from mesocosm.server.permissions import GrantedObject
from mesocosm.server.refusal import Refusal
from mesocosm.server.schemas.domain import Domain, DomainChange, DomainInput
from mesocosm.server.schemas.environment import DomainUsage
from mesocosm.server.schemas.gallery import GalleryRun
from mesocosm.server.schemas.protocol import OfficialBoard, OfficialProtocol, OfficialProtocolInput
from mesocosm.server.service import Service
from mesocosm.store.domains import DomainRow


class VisibleDomain(GrantedObject):
    """A domain that the caller may read."""

    def __init__(self, service: Service, viewer: Viewer, row: DomainRow) -> None:
        super().__init__(service, viewer)
        self._row = row

    @classmethod
    def find(cls, service: Service, viewer: Viewer, domain_id: str) -> Self:
        """Return a domain. Raises Refusal 404 for one that is unknown or that the caller may not read."""
        return cls(service, viewer, _readable(service, viewer, domain_id))

    @property
    def id(self) -> str:
        """The id of the domain."""
        return self._row.id

    @property
    def published(self) -> bool:
        """Whether it is public and has a leaderboard."""
        return self._row.status == PUBLISHED

    def document(self) -> Domain:
        """Return the domain."""
        return document_of(self._row)

    def usage(self) -> DomainUsage:
        """Return its usage: of all runs for callers who may change it; for others of public runs and their own."""
        inside = self._viewer.may_change(self._row)
        found = domain_usage(self._service, self._viewer.caller.actor, self._row, inside=inside)
        return DomainUsage(domain_id=self.id, **found.model_dump())

    def protocols(self) -> tuple[OfficialProtocol, ...]:
        """Return the protocols of its official runs, the newest first."""
        return protocols.protocols_of(self._service, self.id)

    def leaderboard(self, limit: int) -> bytes:
        """Return its leaderboard as JSON, a list of LeaderboardEntry; empty if it is not published."""
        return domain_board(self._service, self.id, limit) if self.published else b"[]"

    def official_board(self, version: int | None, limit: int) -> OfficialBoard:
        """Return its official leaderboard for a version of its protocol; without entries if it is not published."""
        board = official_board(self._service, self.id, version, limit)
        return board if self.published else board.model_copy(update={"entries": [], "others": []})


class OwnedDomain(VisibleDomain):
    """A domain that the caller may change: their own, their team's, and for administrators all."""

    @classmethod
    def find(cls, service: Service, viewer: Viewer, domain_id: str) -> Self:
        """Return a domain. Raises Refusal: 404 as for a VisibleDomain, 403 if the caller may only read it."""
        row = _readable(service, viewer, domain_id)
        if not viewer.may_change(row):
            raise Refusal(403, f"not allowed to modify the domain {domain_id!r}; it belongs to another account")
        return cls(service, viewer, row)

    def change(self, given: DomainChange) -> Domain:
        """Change the given fields. Raises the errors of `domains.changes.change_domain`."""
        return self._now(changes.change_domain(self._service, self._viewer.caller.actor, self._row, given))

    def publish(self) -> Domain:
        """Publish the domain. Raises Refusal 409 if its environment was deleted."""
        return self._now(changes.publish_domain(self._service, self._viewer.caller.actor, self._row))

    def unpublish(self) -> Domain:
        """Make the domain a draft again. Raises Refusal 409 if it is not published."""
        return self._now(changes.unpublish_domain(self._service, self._viewer.caller.actor, self._row))

    def archive(self) -> Domain:
        """Remove the domain from lists and leaderboards, and make its public runs private."""
        return self._now(changes.archive_domain(self._service, self._viewer.caller.actor, self._row))

    def declare_protocol(self, terms: OfficialProtocolInput) -> OfficialProtocol:
        """Declare a protocol for later official runs. Raises the errors of `domains.protocols.declare_protocol`."""
        return protocols.declare_protocol(self._service, self._viewer.caller.actor, self._row, terms)

    def _now(self, row: DomainRow) -> Domain:
        self._row = row
        return document_of(row)


class VisibleDomains(GrantedObject):
    """The domains that the caller may read, and their public runs."""

    def list(self, *, published: bool | None, archived: bool, after: str | None, limit: int) -> "Sequence[Domain]":
        """Return domains, newest first; `after` is the last id seen. Raises Refusal 422 if it is unknown.

        Drafts are listed only for callers who may change them.
        """
        statuses = {DRAFT, "testing", PUBLISHED, *([ARCHIVED] if archived else [])}
        if published is not None:
            statuses &= {PUBLISHED} if published else {DRAFT, "testing", ARCHIVED}
        last = None if after is None else self._service.store.domains.get(after)
        if after is not None and last is None:
            raise Refusal(422, f"there is no domain {after!r} to list from; give the id of the last one that you have")
        caller = self._viewer.caller
        owner = (caller.user_id if caller.member else None, tuple(sorted(self._viewer.teams)))
        insider = None if self._viewer.sees_all else owner
        rows = self._service.store.domains.list(statuses=statuses, insider=insider, after=last, limit=limit)
        return [document_of(row) for row in rows]

    def register(self, given: DomainInput) -> Domain:
        """Register and publish a domain of the caller. Raises the errors of `domains.changes.register_domain`."""
        caller = self._viewer.caller
        return document_of(changes.register_domain(self._service, caller.actor, caller.user_id, given))

    def leaderboards(self, domain_ids: "Iterable[str]", limit: int) -> bytes:
        """Return the leaderboards of several domains as JSON, a DomainLeaderboards; empty for unpublished domains."""
        wanted = list(dict.fromkeys(domain_ids))
        rows = self._service.store.domains.some(wanted)
        shown = {domain_id for domain_id, row in rows.items() if row.status == PUBLISHED}
        boards = {name: domain_board(self._service, name, limit) if name in shown else b"[]" for name in wanted}
        ordered = sorted(boards, key=lambda name: name not in shown)
        return (
            b'{"leaderboards":{'
            + b",".join(json.dumps(name).encode() + b":" + boards[name] for name in ordered)
            + b"}}"
        )

    def gallery(
        self, *, domain_id: str | None, by_score: bool, cursor: str | None, limit: int
    ) -> "Sequence[GalleryRun]":
        """Return public runs of published domains, newest first, or with `by_score` best first.

        Raises Refusal 404 if `domain_id` is unknown or hidden from the caller, UnknownName if the run `cursor` has no
        place by score.
        """
        if domain_id is not None:
            VisibleDomain.find(self._service, self._viewer, domain_id)
        return gallery_runs(self._service, domain_id=domain_id, by_score=by_score, cursor=cursor, limit=limit)


def _readable(service: Service, viewer: Viewer, domain_id: str) -> DomainRow:
    row = service.store.domains.get(domain_id)
    if row is None or not viewer.may_read_domain(row):
        raise Refusal(404, f"there is no domain {domain_id!r}; `mesocosm domain list` shows those there are")
    return row
