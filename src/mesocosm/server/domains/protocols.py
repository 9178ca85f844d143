"""Protocols: the terms of official runs of a domain, and the seeds that are drawn for them.

Seeds are drawn for each run when it is accepted. A list shared by all runs would give narrower intervals of
differences, but participants know it after their first run, and could fit prompts to its tasks before the attempt that
counts (docs/decisions/014-official-boards.md).
"""

import secrets
import time
from collections.abc import Mapping
from typing import Any

from mesocosm.core.ids import digest
from mesocosm.server.domains.domains import ARCHIVED, document_of
from mesocosm.server.domains.location import EnvironmentLocation, check_size, domain_location
from mesocosm.server.refusal import Refusal
from mesocosm.server.schemas.document import instant
from mesocosm.server.schemas.environment import EnvironmentCheck
from mesocosm.server.schemas.protocol import OfficialProtocol, OfficialProtocolInput
from mesocosm.server.schemas.run_request import AgentInput, RunInput
from mesocosm.server.service import Service
from mesocosm.store.domains import DomainRow, ProtocolRow
from mesocosm.store.environments import BuildState
from mesocosm.store.run_requests import PUBLIC

_SEEDS = 2**31
"""Exclusive upper bound of seeds: every random generator accepts them, and they are too many to try beforehand."""


def protocols_of(service: Service, domain_id: str) -> tuple[OfficialProtocol, ...]:
    """Return the protocols of a domain, the newest first."""
    return tuple(map(_document, service.store.protocols.all(domain_id)))


def declare_protocol(service: Service, actor: str, row: DomainRow, given: OfficialProtocolInput) -> OfficialProtocol:
    """Declare the protocol of later official runs and return it; the same terms again change nothing.

    It is bound to the environment version that runs use now. Raises Refusal: 409 if the domain is archived, takes no
    seeds, or failed its author's check; 422 for terms that this server does not allow, or a domain without an
    environment.
    """
    domain = document_of(row)
    if row.status == ARCHIVED:
        raise Refusal(409, f"the domain {row.id!r} is archived; publish it before you declare a protocol")
    if not domain.binding_vow.episode.supports_seed:
        raise Refusal(
            409, f"the environment of {row.id!r} takes no seeds, so the server cannot draw the tasks of a run"
        )
    _check_terms(service, given)
    location = domain_location(service, row)
    if location.environment_id is not None and row.verdict is not None:
        report = EnvironmentCheck.read(row.verdict)
        if report.state == "failed":
            raise Refusal(
                409,
                f"version {location.version} of the environment failed its author's check "
                f"({'; '.join(report.problems)}); mend it, run `mesocosm check`, and submit it again",
            )
    terms = {
        **given.model_dump(mode="json"),
        "vow_version": domain.binding_vow.version,
        "environment_id": location.environment_id,
        "environment_version": location.version,
        "digest": _digest(service, location),
    }
    known = service.store.protocols.add(row.id, terms, actor, round(time.time(), 6))
    detail = {"version": known.version}
    service.store.audit.note(actor, "domain.protocol", f"domain:{row.id}", detail)
    return _document(known)


def by_protocol(
    service: Service, domain: DomainRow, wanted: RunInput
) -> tuple[RunInput, EnvironmentLocation, OfficialProtocol]:
    """Return the request with the terms of the protocol and new random seeds, its location, and the protocol.

    The participant chooses the agent: model, prompt, techniques. Raises Refusal: 409 if the domain has changed since
    the declaration, 422 without a protocol or for a request that contradicts it.
    """
    known = protocols_of(service, domain.id)
    if not known:
        raise Refusal(
            422,
            f"domain {domain.id!r} has no official board; its owner declares one with `mesocosm domain declare`, or "
            "leave `official` out",
        )
    protocol = known[0]
    check_size(service, protocol.episodes, protocol.trials)
    _check_choice(wanted, protocol)
    location = _location(service, domain, protocol)
    seeds = secrets.SystemRandom().sample(range(_SEEDS), protocol.episodes)
    agent = wanted.agent_config.model_copy(
        update={"temperature": protocol.temperature, "max_tokens": protocol.max_tokens}
    )
    fixed = {
        "agent_config": agent,
        "num_episodes": protocol.episodes,
        "seed_set": seeds,
        "trials": protocol.trials,
        "visibility": PUBLIC,
        "binding_vow_version": protocol.vow_version,
    }
    return wanted.model_copy(update=fixed), location, protocol


def _check_terms(service: Service, given: OfficialProtocolInput) -> None:
    check_size(service, given.episodes, given.trials)
    most = service.settings.max_steps
    if given.max_steps is not None and given.max_steps > most:
        raise Refusal(422, f"max_steps is {given.max_steps}, but this server ends episodes after {most} steps")


def _check_choice(wanted: RunInput, protocol: OfficialProtocol) -> None:
    """Raise Refusal 422 for a request that contradicts the protocol."""
    if wanted.seed_set is not None:
        raise Refusal(422, "the server draws the seeds of an official run; leave seed_set out")
    if wanted.env_id:
        raise Refusal(422, "the protocol says which environment an official run is played in; leave env_id out")
    agent = wanted.agent_config
    fixed: list[tuple[RunInput | AgentInput, str, object]] = [
        (wanted, "binding_vow_version", protocol.vow_version),
        (wanted, "num_episodes", protocol.episodes),
        (wanted, "trials", protocol.trials),
        (wanted, "visibility", PUBLIC),
        (agent, "temperature", protocol.temperature),
        (agent, "max_tokens", protocol.max_tokens),
    ]
    for given, name, right in fixed:
        value = getattr(given, name)
        if name in given.model_fields_set and value not in (None, right):
            raise Refusal(
                422,
                f"{name} of an official run is {right!r} by protocol {protocol.version}, not {value!r}; leave it out",
            )


def _location(service: Service, domain: DomainRow, protocol: OfficialProtocol) -> EnvironmentLocation:
    """Return the location of official runs. Raises Refusal (409) if it has changed since the declaration."""
    again = f"its owner has to declare a new protocol; protocol {protocol.version} keeps its board"
    if document_of(domain).binding_vow.version != protocol.vow_version:
        raise Refusal(409, f"domain {domain.id!r} has other rules than vow {protocol.vow_version} by now; {again}")
    if protocol.environment_id is None:
        location = domain_location(service, domain)
        if location.environment_id is not None or _digest(service, location) != protocol.digest:
            raise Refusal(409, f"domain {domain.id!r} is played otherwise than it was declared; {again}")
        return location
    number = protocol.environment_version or 0
    version = service.store.environments.version(protocol.environment_id, number)
    gone = service.store.environments.get(protocol.environment_id) is None
    if gone or version is None or version.state is not BuildState.READY:
        raise Refusal(409, f"version {number} of the environment of {domain.id!r} is not there any more; {again}")
    return EnvironmentLocation(environment_id=protocol.environment_id, version=number)


def _digest(service: Service, location: EnvironmentLocation) -> str:
    if location.environment_id is not None and location.version is not None:
        version = service.store.environments.version(location.environment_id, location.version)
        return version.digest if version is not None else ""
    document: Mapping[str, Any] = location.document or {}
    return digest({"url": location.url, "document": document})


def _document(row: ProtocolRow) -> OfficialProtocol:
    fields = {"domain_id": row.domain_id, "version": row.version, "created_at": instant(row.created_at)}
    return OfficialProtocol.model_validate({**row.terms, **fields})
