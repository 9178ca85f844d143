"""What has to be right before a run is accepted, beside its body: team, domain, environment, vow, techniques."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from mesocosm.client.documents.run import RunInput
from mesocosm.core.failure import UsageError
from mesocosm.core.registry import TECHNIQUES, fold
from mesocosm.server.auth.belonging import inside, may_use_team
from mesocosm.server.auth.principal import Principal
from mesocosm.server.domains.domains import may_read
from mesocosm.server.refusal import Refusal
from mesocosm.server.run_requests.spec import Place
from mesocosm.server.service import Service
from mesocosm.store.domains import DomainRow
from mesocosm.store.environments import EnvironmentRow

_PLAYED = ("name", "detail", "tags", "binding_vow", "scoring", "system_prompt")
"""Parts of a domain's document that decide how it is played."""


def check_size(service: Service, episodes: int, trials: int) -> None:
    """Refuse more episodes than this platform plays in one run."""
    most = service.settings.max_episodes_per_run
    if episodes * trials > most:
        what = f"num_episodes {episodes}" + (f" x {trials} trials" if trials > 1 else "")
        raise Refusal(422, f"{what} is more than the {most} episodes that one run may have; ask for at most {most}")


def check_guest(service: Service, caller: Principal, wanted: RunInput) -> None:
    """Refuse what guests may not run."""
    if not caller.guest:
        return
    if wanted.team_id:
        raise Refusal(403, "guests are in no team; sign in to run for one")
    if wanted.domain_id not in service.settings.demo_domains:
        known = ", ".join(service.settings.demo_domains) or "none on this platform"
        raise Refusal(403, f"guests may run demo domains only ({known}); sign in to run domain {wanted.domain_id!r}")


def check_team(service: Service, caller: Principal, team_id: str | None) -> str | None:
    """Return the team that a run belongs to. Refuses one that somebody is not in, known or not."""
    if not team_id:
        return None
    if not _is_uuid(team_id):
        raise Refusal(422, f"{team_id!r} is no id of a team; `mesocosm team list` shows yours")
    if not may_use_team(service, caller, team_id):
        raise Refusal(403, f"you are not a member of team {team_id!r}; `mesocosm team list` shows your teams")
    return team_id


def find_domain(service: Service, caller: Principal, domain_id: str) -> DomainRow:
    """Return a domain that may be run by who asks."""
    domain = service.domains.get(domain_id)
    if domain is None or not may_read(service, caller, domain):
        raise Refusal(422, f"there is no domain {domain_id!r}; `mesocosm domain list` shows those that can be run")
    if domain.status == "archived":
        raise Refusal(422, f"domain {domain_id!r} is archived; its owner can publish it again")
    return domain


def check_vow(domain: DomainRow, wanted: RunInput) -> None:
    """Refuse another version of the vow than the present one, and techniques that it or this platform does not know."""
    vow = domain.document.get("binding_vow")
    vow = vow if isinstance(vow, Mapping) else {}
    version = str(vow.get("version", ""))
    if wanted.binding_vow_version != version:
        raise Refusal(
            422,
            f"domain {domain.id!r} has vow version {version}, not {wanted.binding_vow_version!r}; "
            f"look at its changes and run version {version}",
        )
    declared = [str(item.get("technique_id")) for item in _objects(vow.get("techniques"))]
    known = set(map(fold, declared))
    strange = [item.technique_id for item in wanted.agent_config.techniques if fold(item.technique_id) not in known]
    if strange:
        names = ", ".join(declared) or "none"
        raise Refusal(422, f"technique {strange[0]!r} is not declared by the vow of domain {domain.id!r} ({names})")
    # Only what is registered: the registry would import a module whose name is given, and a vow is foreign text.
    offered = {fold(entry.name): entry.name for entry in TECHNIQUES.entries()}
    unknown = [item.technique_id for item in wanted.agent_config.techniques if fold(item.technique_id) not in offered]
    if unknown:
        listed = ", ".join(offered.values())
        raise Refusal(422, f"there is no technique {unknown[0]!r} on this platform; there are {listed}")


def find_place(
    service: Service,
    caller: Principal,
    domain: DomainRow,
    wanted: RunInput,
    *,
    asked: EnvironmentRow | None = None,
    env_url: str | None = None,
) -> Place:
    """Return where a run is played: the environment asked for, the only one in scope, the domain's own, or its URL."""
    if env_url:
        return _remote(service, domain, env_url)
    if asked is not None:
        return _version(asked)
    own = () if caller.guest else _in_scope(service, caller, domain, wanted.team_id)
    if len(own) > 1:
        listed = ", ".join(f"{row.id} ({row.name})" for row in own[:5])
        raise Refusal(422, f"domain {domain.id!r} has {len(own)} environments of yours; name one as env_id: {listed}")
    if own:
        return _version(own[0])
    return domain_place(service, domain)


def domain_place(service: Service, domain: DomainRow) -> Place:
    """Return where a domain is played as it is published: in its own environment, or at its address."""
    endpoint = domain.document.get("endpoint")
    endpoint = endpoint if isinstance(endpoint, Mapping) else {}
    served = service.environments.get(domain.environment_id) if domain.environment_id else None
    if served is not None and served.ready_version is not None:
        return _version(served)
    url = endpoint.get("url")
    if endpoint.get("mode", "remote") == "remote" and isinstance(url, str) and url:
        return _remote(service, domain, url)
    raise Refusal(
        422,
        f"domain {domain.id!r} has no environment to play in; submit one with `mesocosm env submit`, or set its URL",
    )


def find_environment(service: Service, caller: Principal, wanted: RunInput) -> EnvironmentRow | None:
    """Return the environment that is asked for by its id; None where none is."""
    if not (env_id := wanted.env_id):
        return None
    row = service.environments.get(env_id)
    if row is None or not inside(service, caller, row):
        words = "`mesocosm env list` shows yours; leave env_id out to run the domain as it is published"
        raise Refusal(404, f"you have no environment {env_id!r}; {words}")
    if row.ready_version is None:
        raise Refusal(400, f"environment {env_id!r} is not ready ({row.status}); see `mesocosm env logs {env_id}`")
    if row.domain_id != wanted.domain_id:
        raise Refusal(422, f"environment {env_id!r} belongs to domain {row.domain_id!r}, not to {wanted.domain_id!r}")
    return row


def _in_scope(service: Service, caller: Principal, domain: DomainRow, team_id: str | None) -> Sequence[EnvironmentRow]:
    alone = None if team_id else caller.user_id
    if team_id is None and alone is None:
        return ()
    return service.environments.ready_for_domain(domain.id, user_id=alone, team_id=team_id or None)


def _version(row: EnvironmentRow) -> Place:
    return Place(environment_id=row.id, version=row.ready_version)


def _remote(service: Service, domain: DomainRow, url: str) -> Place:
    check_url(service, url)
    document = {"id": domain.id, **{name: domain.document[name] for name in _PLAYED if domain.document.get(name)}}
    return Place(url=url, document=document)


def check_url(service: Service, url: str) -> None:
    """Refuse an address of an environment that nobody may be sent to. Asks the resolver, so it blocks."""
    if service.settings.private_env_urls:
        return
    from mesocosm.http.public import check_public

    try:
        check_public(url)
    except UsageError as error:
        raise Refusal(422, f"the environment's URL cannot be used: {error}") from error


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []
