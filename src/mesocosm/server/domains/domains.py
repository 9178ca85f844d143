"""Documents and versions of domains, and publishing the domain of a built environment."""

import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from mesocosm.core.failure import InvalidInput, Problem
from mesocosm.core.ids import new_id
from mesocosm.core.scoring import ScoringConfig
from mesocosm.core.vow import BindingVow
from mesocosm.environments.domain import EnvironmentEndpoint, VersionEntry
from mesocosm.environments.manifest import Manifest, served_manifest
from mesocosm.server.schemas.document import instant
from mesocosm.server.schemas.domain import Domain, DomainStatus
from mesocosm.server.schemas.environment import EnvironmentCheck
from mesocosm.store.domains import DomainRow

if TYPE_CHECKING:
    from mesocosm.server.service import Service
    from mesocosm.store.environments import EnvironmentRow, VersionRow

PUBLISHED = DomainStatus.PUBLISHED.value
ARCHIVED = DomainStatus.ARCHIVED.value
DRAFT = DomainStatus.DRAFT.value

_KEPT_ELSEWHERE = {"owner_id", "status", "created_at", "updated_at", "environment_id", "team_id", "check"}


def document_of(row: DomainRow) -> Domain:
    """Return the document of a domain."""
    return Domain.model_validate(
        {
            **row.document,
            "id": row.id,
            "name": row.name,
            "owner_id": "" if row.owner_id is None else str(row.owner_id),
            "status": row.status,
            "environment_id": row.environment_id,
            "team_id": row.team_id,
            "check": None if row.verdict is None else EnvironmentCheck.read(row.verdict),
            "created_at": instant(row.created_at),
            "updated_at": instant(row.updated_at),
        }
    )


def kept_of(document: Domain) -> dict[str, Any]:
    """Return the part of a domain that is stored as JSON, without the fields that have columns."""
    return document.model_dump(mode="json", exclude=_KEPT_ELSEWHERE)


def same_rules(a: tuple[BindingVow, ScoringConfig], b: tuple[BindingVow, ScoringConfig]) -> bool:
    """Return whether runs under two pairs of vow and scoring are comparable: all is equal but ids and metadata."""
    return _rules(*a) == _rules(*b)


def frozen(service: "Service", row: DomainRow, vow: BindingVow, scoring: ScoringConfig) -> str:
    """Return the reason why a domain cannot get this vow and scoring; empty if it can.

    The rules of a vow version are fixed after its first run, or leaderboards would mix incomparable runs.
    """
    present = document_of(row)
    if same_rules((present.binding_vow, present.scoring), (vow, scoring)):
        return ""
    if not service.store.domains.played(row.id, vow.version):
        return ""
    what = "the vow or scoring differs from it" if vow.version == present.binding_vow.version else "it is an old one"
    return f"runs were made by version {vow.version} of the binding vow, and {what}; give the changed vow a new version"


def with_entry(history: Sequence[VersionEntry], version: str, changes: str) -> list[VersionEntry]:
    """Return a history with an entry for a version; add one with today's date (UTC) if it is missing."""
    if any(entry.version == version for entry in history):
        return list(history)
    return [*history, VersionEntry(version=version, date=datetime.now(UTC).date().isoformat(), changes=changes)]


def joined_history(known: Iterable[VersionEntry], given: Iterable[VersionEntry]) -> list[VersionEntry]:
    """Return both histories merged; a given entry replaces a known one of the same version."""
    return list({entry.version: entry for entry in (*known, *given)}.values())


def publish_environment(service: "Service", environment: "EnvironmentRow", version: "VersionRow") -> str:
    """Create the domain of a built environment, or update it to the manifest of `version`; return its id.

    A new domain is published immediately; a draft stays a draft. The call is idempotent. Raises InvalidInput if the
    manifest is invalid, or changes the rules of a vow version that has runs.
    """
    known = service.store.domains.get(environment.domain_id) if environment.domain_id else None
    known = known or service.store.domains.of_environment(environment.id)
    domain_id = known.id if known is not None else new_id()
    raw = msgspec.json.decode(version.manifest)
    manifest = served_manifest(environment.id, raw if isinstance(raw, dict) else {}, domain_id=domain_id)
    row = _row(environment, version, manifest, domain_id, known)
    if known is None:
        service.store.domains.add(row)
        return domain_id
    reason = frozen(service, known, manifest.vow, manifest.scoring)
    if reason:
        raise InvalidInput("the manifest", [Problem("binding_vow.version", reason)])
    if msgspec.structs.replace(row, updated_at=known.updated_at) != known:
        service.store.domains.replace(row)
    return domain_id


def retire_environment(service: "Service", environment: "EnvironmentRow") -> None:
    """Archive all domains of a deleted environment, and make their public runs private."""
    row = service.store.domains.of_environment(environment.id)
    former = [str(entry["domain_id"]) for entry in environment.domain_history if entry.get("domain_id")]
    wanted = [environment.domain_id, None if row is None else row.id, *former]
    for domain_id in dict.fromkeys(one for one in wanted if one):
        service.store.domains.archive(domain_id)


def _row(
    environment: "EnvironmentRow",
    version: "VersionRow",
    manifest: Manifest,
    domain_id: str,
    known: DomainRow | None,
) -> DomainRow:
    before = None if known is None else document_of(known)
    changes = f"submission {version.version}" + (f", commit {version.commit_id[:12]}" if version.commit_id else "")
    status = DRAFT if known is not None and known.status == DRAFT else PUBLISHED
    raw = manifest.raw
    document = Domain(
        id=domain_id,
        name=manifest.name,
        binding_vow=manifest.vow.model_copy(update={"domain_id": domain_id}),
        endpoint=EnvironmentEndpoint(mode="sandbox"),
        scoring=manifest.scoring,
        tags=list(manifest.tags),
        detail=manifest.description or environment.description,
        version_history=with_entry(before.version_history if before else [], manifest.vow.version, changes),
        image_url=_text(raw.get("image_url")) or (before.image_url if before else None),
        profile_picture_url=before.profile_picture_url if before else None,
        has_gold_benchmark=before.has_gold_benchmark if before else False,
        published_at=before.published_at if before and before.published_at else datetime.now(UTC),
    )
    now = time.time()
    return DomainRow(
        id=domain_id,
        owner_id=environment.owner_id,
        environment_id=environment.id,
        status=status,
        name=manifest.name,
        document=kept_of(document),
        created_at=now if known is None else known.created_at,
        updated_at=now,
        team_id=environment.team_id,
        verdict=None if known is None else known.verdict,
    )


def _rules(vow: BindingVow, scoring: ScoringConfig) -> dict[str, Any]:
    notes = {"id", "domain_id", "metadata"}
    return {"vow": vow.model_dump(mode="json", exclude=notes), "scoring": scoring.model_dump(mode="json")}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
