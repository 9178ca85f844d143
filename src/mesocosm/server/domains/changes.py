"""Register domains of remote environments, and change, publish and archive domains."""

import time
from datetime import UTC, datetime

import msgspec

from mesocosm.core.failure import Problem
from mesocosm.server.domains.domains import (
    ARCHIVED,
    DRAFT,
    PUBLISHED,
    document_of,
    frozen,
    joined_history,
    kept_of,
    same_rules,
    with_entry,
)
from mesocosm.server.domains.validation import check, endpoint_problems, scoring_problems, size_problems, vow_problems
from mesocosm.server.refusal import Refusal
from mesocosm.server.schemas.domain import Domain, DomainChange, DomainInput
from mesocosm.server.service import Service
from mesocosm.store.domains import DomainRow

MOST_DOMAINS = 200
"""Maximum number of domains that one member may register."""


def register_domain(service: Service, actor: str, user_id: int | None, given: DomainInput) -> DomainRow:
    """Add a domain, published immediately, and return it.

    Raises RequestValidationError (422) with all problems, Refusal (409) if the id is taken or the caller has too many
    domains.
    """
    # With accounts disabled the user id is 0, which is not in the store, so the domain gets no owner.
    owner_id = user_id or None
    if service.store.domains.get(given.id) is not None:
        raise _taken(given.id)
    if owner_id is not None and service.store.domains.owned_by(owner_id) >= MOST_DOMAINS:
        raise Refusal(409, f"you have {MOST_DOMAINS} domains already; use one of them for other versions of its vow")
    problems = [*vow_problems(given.binding_vow, given.id), *scoring_problems(given.scoring)]
    check([*problems, *endpoint_problems(service, given.endpoint)])
    vow = given.binding_vow
    names = {"domain_id": given.id, "id": vow.id or f"{given.id}-v{vow.version}"}
    document = Domain.model_validate(
        {
            **given.model_dump(),
            "binding_vow": vow.model_copy(update=names),
            "version_history": with_entry(given.version_history, vow.version, "first version"),
            "published_at": datetime.now(UTC),
        }
    )
    check(size_problems(kept_of(document)))
    now = time.time()
    row = DomainRow(given.id, owner_id, None, PUBLISHED, given.name, kept_of(document), now, now)
    if not service.store.domains.add(row):
        raise _taken(given.id)
    service.store.audit.note(actor, "domain.create", f"domain:{row.id}")
    return row


def change_domain(service: Service, actor: str, row: DomainRow, given: DomainChange) -> DomainRow:
    """Change the given fields of a domain and return it.

    Raises RequestValidationError (422) with all problems; Refusal (409) if the domain is archived or was changed
    meanwhile, for fields that come from the manifest of its environment, and for changed rules under a vow version that
    has runs.
    """
    if row.status == ARCHIVED:
        raise Refusal(409, f"the domain {row.id!r} is archived; publish it before you change it")
    before = document_of(row)
    after = _changed(before, given)
    _check_change(service, row, before, after, given)
    kept = kept_of(after)
    if kept == row.document:
        return row
    check(size_problems(kept))
    new = _replaced(service, msgspec.structs.replace(row, name=after.name, document=kept))
    service.store.audit.note(actor, "domain.change", f"domain:{row.id}", {"version": after.binding_vow.version})
    return new


def publish_domain(service: Service, actor: str, row: DomainRow) -> DomainRow:
    """Publish a domain and return it. Raises Refusal (409) if its environment was deleted."""
    if row.environment_id is not None and service.store.environments.get(row.environment_id) is None:
        raise Refusal(409, f"the environment of the domain {row.id!r} was deleted; submit it again to get a new domain")
    if row.status == PUBLISHED:
        return row
    document = {**row.document, "published_at": row.document.get("published_at") or datetime.now(UTC).isoformat()}
    shown = _replaced(service, msgspec.structs.replace(row, status=PUBLISHED, document=document))
    service.store.audit.note(actor, "domain.publish", f"domain:{row.id}")
    return shown


def unpublish_domain(service: Service, actor: str, row: DomainRow) -> DomainRow:
    """Make a domain a draft again and return it. Raises Refusal (409) if it is not published."""
    if row.status != PUBLISHED:
        raise Refusal(409, f"the domain {row.id!r} is not published but {row.status}")
    hidden = _replaced(service, msgspec.structs.replace(row, status=DRAFT))
    service.store.audit.note(actor, "domain.unpublish", f"domain:{row.id}")
    return hidden


def _replaced(service: Service, row: DomainRow) -> DomainRow:
    """Store a changed domain and return it. Raises Refusal (409) if it was changed since it was read."""
    new = msgspec.structs.replace(row, updated_at=time.time())
    if not service.store.domains.replace(new, seen_at=row.updated_at):
        raise Refusal(409, f"the domain {row.id!r} has just been changed by another request; look at it and try again")
    return new


def archive_domain(service: Service, actor: str, row: DomainRow) -> DomainRow:
    """Archive a domain, make its public runs private, and return it. Lists and leaderboards omit it."""
    if row.status == ARCHIVED:
        return row
    service.store.domains.archive(row.id)
    service.store.audit.note(actor, "domain.archive", f"domain:{row.id}")
    return service.store.domains.get(row.id) or row


def _changed(before: Domain, given: DomainChange) -> Domain:
    new = {name: getattr(given, name) for name in given.model_fields_set}
    # Null removes a picture; for any other field it means no change.
    new = {name: value for name, value in new.items() if value is not None or name.endswith("_url")}
    new.pop("id", None)
    vow = given.binding_vow
    if vow is not None:
        new["binding_vow"] = vow.model_copy(
            update={"domain_id": vow.domain_id or before.id, "id": vow.id or f"{before.id}-v{vow.version}"}
        )
    history = joined_history(before.version_history, given.version_history or [])
    if vow is not None:
        history = with_entry(history, vow.version, "a new version of the binding vow")
    return before.model_copy(update={**new, "version_history": history})


def _check_change(service: Service, row: DomainRow, before: Domain, after: Domain, given: DomainChange) -> None:
    problems: list[Problem] = []
    if given.id not in (None, row.id):
        problems.append(Problem("id", f"is {given.id!r}, but this is {row.id!r}", "an id cannot be changed"))
    if given.binding_vow is not None:
        problems += vow_problems(given.binding_vow, row.id)
    if given.scoring is not None:
        problems += scoring_problems(given.scoring)
    if given.endpoint is not None and given.endpoint != before.endpoint:
        problems += endpoint_problems(service, given.endpoint)
    check(problems)
    rules, new = (before.binding_vow, before.scoring), (after.binding_vow, after.scoring)
    if row.environment_id is not None and (not same_rules(rules, new) or after.endpoint != before.endpoint):
        raise Refusal(
            409,
            f"binding vow, scoring and endpoint of the domain {row.id!r} come from the manifest of the environment "
            f"{row.environment_id}; change them there and submit it again",
        )
    reason = frozen(service, row, *new)
    if reason:
        raise Refusal(409, f"the domain {row.id!r} cannot be changed so: {reason}")


def _taken(domain_id: str) -> Refusal:
    return Refusal(409, f"there is a domain {domain_id!r} already; PATCH it if it is yours, or choose another id")
