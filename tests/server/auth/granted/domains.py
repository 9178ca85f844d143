"""Domains and submitted environments: one of each for every run of the world, with the same owners."""

import json
from collections.abc import Callable, Iterable
from typing import Any

from tests.server.auth.granted.world import ADMIN, CHANGES, NAMES, OWNER, READS, REFUSED, World, dump, mark, secret

from mesocosm.core.ids import new_id
from mesocosm.server.domains.domains import publish_environment
from mesocosm.server.permissions.domains import OwnedDomain, VisibleDomain, VisibleDomains
from mesocosm.server.permissions.environments import OwnedEnvironment, OwnedEnvironments
from mesocosm.server.permissions.grant import Grant
from mesocosm.server.schemas.domain import DomainChange, DomainInput
from mesocosm.server.schemas.environment import EnvironmentInput
from mesocosm.server.schemas.protocol import OfficialProtocolInput
from mesocosm.store.environments import BuildState, EnvironmentRow, VersionRow

VOW = {
    "version": "1.0.0",
    "tier": "tier1",
    "observation_space": {"type": "json"},
    "action_space": {"type": "text"},
    "reward": {"type": "binary", "range": {"low": 0, "high": 1}},
    "episode": {"max_steps": 10, "supports_seed": True},
}
SCORING = {
    "primary_metric": "solved",
    "metrics": [{"name": "solved", "type": "episode_reward", "aggregation": "pass_rate"}],
}


def environment_id(name: str) -> str:
    """Return the id of the environment that belongs to the owners of a run."""
    return f"environment-{mark(name)}"


def domain_id(world: World, name: str) -> str:
    """Return the id of the domain of that environment."""
    row = world.service.store.domains.of_environment(environment_id(name))
    assert row is not None
    return row.id


def planted(world: World) -> World:
    """Add the environments and their domains: published for the public run, drafts for the others."""
    if world.service.store.environments.get(environment_id("public"), deleted=True) is None:
        while world.service.store.users.add(new_id()).id < ADMIN:
            pass
        for name in NAMES:
            _plant(world, name)
    return world


def _plant(world: World, name: str) -> None:
    service, hidden = world.service, secret(name)
    team = service.store.teams.teams_of(OWNER)[-1].id if name == "team" else None
    draft = name != "public"
    manifest = {
        "id": "words",
        "name": mark(name),
        "description": hidden if draft else "Guess a word",
        "binding_vow": VOW,
        "scoring": SCORING,
        "adapter": "adapter.py",
    }
    row = EnvironmentRow(
        id=environment_id(name),
        holder_key=f"team:{team}" if team else f"user:{OWNER}",
        owner_id=OWNER,
        team_id=team,
        name=hidden,
        description=hidden,
        source=f"https://github.com/reefs/{hidden}",
        status="ready",
        ready_version=1,
    )
    version = VersionRow(
        environment_id=row.id,
        version=1,
        state=BuildState.READY,
        source=row.source,
        manifest=json.dumps(manifest),
        log=hidden,
    )
    service.store.environments.add(row, version)
    published = publish_environment(service, row, version)
    if draft:
        world.grant("owner").own_domain(published).unpublish()


def _all(world: World, ask: Callable[[str], Any], reference: Callable[[str], str]) -> list[Any]:
    """Return the answers about all three, those that are refused left out."""
    found = []
    for name in NAMES:
        try:
            found.append(dump(ask(reference(name))))
        except REFUSED:
            continue
    return found


def _new_domain() -> DomainInput:
    endpoint = {"mode": "remote", "url": "https://8.8.8.8/environment"}
    return DomainInput.model_validate(
        {"id": "new", "name": "New", "binding_vow": VOW, "scoring": SCORING, "endpoint": endpoint}
    )


Objects = Callable[[World, Grant, str], Iterable[Any]]

OBJECTS: dict[type, Objects] = {
    VisibleDomains: lambda world, grant, _role: [grant.domains()] if planted(world) else [],
    VisibleDomain: lambda world, grant, role: [grant.domain(domain_id(planted(world), name)) for name in READS[role]],
    OwnedDomain: lambda world, grant, role: [
        grant.own_domain(domain_id(planted(world), name)) for name in CHANGES[role]
    ],
    OwnedEnvironments: lambda world, grant, _role: [grant.environments()] if planted(world) else [],
    OwnedEnvironment: lambda world, grant, role: [
        grant.environment(environment_id(name)) for name in CHANGES[role] if planted(world)
    ],
}

CALLS: dict[str, Callable[[Any, World], Any]] = {
    "VisibleDomains.list": lambda domains, _world: domains.list(published=None, archived=True, after=None, limit=9),
    "VisibleDomains.register": lambda domains, _world: domains.register(_new_domain()),
    "VisibleDomains.leaderboards": lambda domains, world: domains.leaderboards(
        [domain_id(world, name) for name in READS["nobody"]], 9
    ),
    "VisibleDomains.gallery": lambda domains, world: [
        *domains.gallery(domain_id=None, by_score=False, cursor=None, limit=9),
        *_all(
            world,
            lambda domain: domains.gallery(domain_id=domain, by_score=True, cursor=None, limit=9),
            lambda name: domain_id(world, name),
        ),
    ],
    "VisibleDomain.document": lambda domain, _world: domain.document(),
    "VisibleDomain.usage": lambda domain, _world: domain.usage(),
    "VisibleDomain.protocols": lambda domain, _world: domain.protocols(),
    "VisibleDomain.leaderboard": lambda domain, _world: domain.leaderboard(9),
    "VisibleDomain.official_board": lambda domain, _world: domain.official_board(None, 9),
    "OwnedDomain.change": lambda domain, _world: domain.change(DomainChange(tags=["seen"])),
    "OwnedDomain.publish": lambda domain, _world: domain.publish(),
    "OwnedDomain.unpublish": lambda domain, _world: domain.unpublish(),
    "OwnedDomain.archive": lambda domain, _world: domain.archive(),
    "OwnedDomain.declare_protocol": lambda domain, _world: domain.declare_protocol(OfficialProtocolInput(episodes=2)),
    "OwnedEnvironments.list": lambda environments, world: [
        environments.list(scope, team_id=team, domain_id=None, limit=9, cursor=None)
        for scope, team in (("solo", None), ("mine", None))
        if planted(world)
    ],
    "OwnedEnvironments.submit": lambda environments, _world: environments.submit(
        EnvironmentInput(name="New", github_url="https://github.com/reefs/new")
    ),
    "OwnedEnvironment.document": lambda environment, _world: environment.document(),
    "OwnedEnvironment.detail": lambda environment, _world: environment.detail(),
    "OwnedEnvironment.poll": lambda environment, _world: environment.poll(),
    "OwnedEnvironment.versions": lambda environment, _world: environment.versions(9, None),
    "OwnedEnvironment.version": lambda environment, _world: environment.version(1),
    "OwnedEnvironment.logs": lambda environment, _world: environment.logs(),
    "OwnedEnvironment.retry": lambda environment, _world: environment.retry(),
    "OwnedEnvironment.submit_batch_run": lambda environment, _world: environment.submit_batch_run(),
    "OwnedEnvironment.delete": lambda environment, _world: environment.delete(),
}

TELLS = {"VisibleDomains.list", "VisibleDomain.document"}
"""What shows the planted secret to the owner: drafts."""
