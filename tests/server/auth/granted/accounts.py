"""Accounts, teams and batch runs: a token and a batch run of the owner, and a team of the owner and the mate."""

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import Any

from fastapi import Request, Response
from tests.server.auth.granted.world import CHANGES, MATE, OWNER, World, mark, secret

from mesocosm.server.permissions.account import OwnAccount
from mesocosm.server.permissions.administration import Administration
from mesocosm.server.permissions.authentication import Authentication
from mesocosm.server.permissions.batch_runs import VisibleBatchRuns
from mesocosm.server.permissions.grant import Grant
from mesocosm.server.permissions.saved_views import OwnSavedViews
from mesocosm.server.permissions.system import SystemInfo
from mesocosm.server.permissions.teams import OwnedTeam, OwnTeams, VisibleTeam
from mesocosm.server.schemas.account import PasswordInput, SignInInput, SignUpInput, TokenInput
from mesocosm.server.schemas.batch_run import BatchReport
from mesocosm.server.schemas.model import ModelInput
from mesocosm.server.schemas.team import TeamChange
from mesocosm.store.batch_runs import BatchRun

BATCH = "batch-of-private"
PASSWORD = "correct horse battery staple"


def _planted(world: World) -> World:
    store = world.service.store
    if not store.personal_tokens.count(OWNER):
        store.personal_tokens.add(OWNER, secret("private"), "write", "fingerprint", None)
        store.batch_runs.add(
            BatchRun(
                id=BATCH,
                environment_id="environment",
                domain_id=None,
                user_id=OWNER,
                source=secret("private"),
                results=[],
                created_at=time.time(),
            )
        )
        team = store.teams.add(secret("team"), OWNER)
        assert team is not None
        store.teams.join(team.join_code, MATE, 4)
        store.teams.set_budget(team.id, 1.0)
    return world


def _team(world: World) -> str:
    teams = _planted(world).service.store.teams.teams_of(OWNER)
    return next(team.id for team in teams if team.name == secret("team"))


def _request() -> Request:
    return Request(
        {"type": "http", "method": "POST", "path": "/", "headers": [], "scheme": "http", "query_string": b""}
    )


def _login(name: str) -> SignInInput:
    return SignInInput(username=name, password=PASSWORD)


Objects = Callable[[World, Grant, str], Iterable[Any]]

OBJECTS: dict[type, Objects] = {
    OwnAccount: lambda world, grant, _role: [grant.account()] if _planted(world) else [],
    Authentication: lambda world, grant, _role: [grant.authentication()] if _planted(world) else [],
    Administration: lambda world, grant, role: (
        [grant.administration()] if role in {"admin", "local"} and _planted(world) else []
    ),
    OwnSavedViews: lambda world, grant, _role: [grant.saved_views()] if _planted(world) else [],
    OwnTeams: lambda world, grant, _role: [grant.teams()] if _planted(world) else [],
    VisibleTeam: lambda world, grant, role: [grant.team(_team(world))] if "team" in CHANGES[role] else [],
    OwnedTeam: lambda world, grant, role: [grant.own_team(_team(world))] if "private" in CHANGES[role] else [],
    VisibleBatchRuns: lambda world, grant, role: (
        [grant.batch_runs()] if role not in {"nobody", "guest"} and _planted(world) else []
    ),
    SystemInfo: lambda world, grant, _role: [grant.system()] if _planted(world) else [],
}

CALLS: dict[str, Callable[[Any, World], Any]] = {
    "OwnAccount.limits": lambda account, _world: account.limits(None),
    "OwnAccount.context": lambda account, _world: account.context(),
    "OwnAccount.tokens": lambda account, _world: account.tokens(),
    "OwnAccount.create_token": lambda account, _world: account.create_token(TokenInput(name="CI")),
    "OwnAccount.signed_address": lambda account, _world: account.signed_address("GET", "/api/me", {}, 60.0),
    "OwnAccount.delete_token": lambda account, world: account.delete_token(
        world.service.store.personal_tokens.of(OWNER)[0].id
    ),
    "OwnAccount.sessions": lambda account, _world: account.sessions(""),
    "OwnAccount.end_session": lambda account, _world: account.end_session("other"),
    "OwnAccount.change_password": lambda account, _world: asyncio.run(
        account.change_password(PasswordInput(old=PASSWORD, new=f"{PASSWORD}!"), _request(), Response())
    ),
    "OwnAccount.token_in_use": lambda account, _world: account.token_in_use("mct_other"),
    "OwnAccount.access_ends": lambda account, _world: account.access_ends("of-nobody"),
    "OwnAccount.device_login": lambda account, _world: account.device_login("BBBB-BBBB"),
    "OwnAccount.decide_device": lambda account, _world: account.decide_device("BBBB-BBBB", approve=True),
    "Authentication.start_device": lambda authentication, _world: authentication.start_device(_request(), "laptop"),
    "Authentication.log_in_device": lambda authentication, _world: authentication.log_in_device(_request(), "of-none"),
    "Authentication.create_device_token": lambda authentication, _world: authentication.create_device_token(
        "of-nobody", 90
    ),
    "Authentication.ways": lambda authentication, _world: authentication.ways(),
    "Authentication.start_guest": lambda authentication, _world: authentication.start_guest(_request(), Response()),
    "Authentication.end_guest": lambda authentication, _world: authentication.end_guest(Response()),
    "Authentication.login": lambda authentication, _world: asyncio.run(
        authentication.login(_login("owner"), _request(), Response())
    ),
    "Authentication.sign_up": lambda authentication, _world: asyncio.run(
        authentication.sign_up(SignUpInput(username="new", password=PASSWORD), _request(), Response())
    ),
    "Authentication.logout": lambda authentication, _world: authentication.logout(_request(), Response(), None),
    "Authentication.access_token": lambda authentication, _world: authentication.access_token(""),
    "Authentication.refresh": lambda authentication, _world: authentication.refresh("mcr_other"),
    "Authentication.begin_oidc": lambda authentication, _world: asyncio.run(authentication.begin_oidc(_request(), "/")),
    "Authentication.end_oidc": lambda authentication, _world: asyncio.run(
        authentication.end_oidc(_request(), "", "", "denied")
    ),
    "Administration.users": lambda administration, _world: administration.users(9),
    "Administration.find": lambda administration, _world: administration.find("owner"),
    "Administration.add": lambda administration, _world: administration.add("added", PASSWORD, "member"),
    "Administration.disable": lambda administration, _world: administration.disable(MATE),
    "Administration.enable": lambda administration, _world: administration.enable(MATE),
    "Administration.set_role": lambda administration, _world: administration.set_role(MATE, "member"),
    "Administration.set_budget": lambda administration, _world: administration.set_budget(MATE, 1.0),
    "Administration.reset_password": lambda administration, _world: administration.reset_password(MATE, PASSWORD),
    "Administration.end_sessions": lambda administration, _world: administration.end_sessions(MATE),
    "Administration.rotate_keys": lambda administration, _world: administration.rotate_keys(at_once=False),
    "Administration.audit": lambda administration, _world: administration.audit(None, 9),
    "Administration.models": lambda administration, _world: administration.models(),
    "Administration.set_model": lambda administration, _world: administration.set_model("openai/added", ModelInput()),
    "Administration.delete_model": lambda administration, _world: administration.delete_model("openai/added"),
    "Administration.status": lambda administration, _world: administration.status(),
    "OwnSavedViews.list": lambda views, _world: views.list(),
    "OwnSavedViews.save": lambda views, _world: views.save("Mine", "model=a"),
    "OwnSavedViews.delete": lambda views, _world: views.delete("None"),
    "OwnTeams.list": lambda teams, _world: teams.list(None, None),
    "OwnTeams.create": lambda teams, _world: teams.create("New", None),
    "OwnTeams.join": lambda teams, _world: teams.join("WRONGONE"),
    "OwnTeams.leave": lambda teams, _world: teams.leave("other"),
    "VisibleTeam.document": lambda team, _world: team.document(),
    "VisibleTeam.members": lambda team, _world: team.members(),
    "VisibleTeam.leaderboard": lambda team, _world: team.leaderboard(None, 9),
    "VisibleTeam.environments": lambda team, _world: team.environments(9, None),
    "OwnedTeam.change": lambda team, _world: team.change(TeamChange(name=secret("team"))),
    "OwnedTeam.new_join_code": lambda team, _world: team.new_join_code(),
    "OwnedTeam.remove": lambda team, _world: team.remove(99),
    "OwnedTeam.transfer": lambda team, _world: team.transfer(OWNER),
    "OwnedTeam.delete": lambda team, _world: team.delete(),
    "VisibleBatchRuns.list": lambda batches, _world: batches.list(
        environment_id=None, status=None, limit=9, cursor=None
    ),
    "VisibleBatchRuns.get": lambda batches, _world: batches.get(BATCH),
    "VisibleBatchRuns.claim": lambda batches, _world: batches.claim(BATCH),
    "VisibleBatchRuns.complete": lambda batches, _world: batches.complete(
        BATCH, BatchReport(model_results=[{"model": mark("private")}])
    ),
    "SystemInfo.models": lambda system, _world: system.models(),
    "SystemInfo.check_model": lambda system, _world: system.check_model("builtin/random"),
    "SystemInfo.ping": lambda system, _world: system.ping(),
    "SystemInfo.health": lambda system, _world: system.health(),
    "SystemInfo.metrics": lambda system, _world: system.metrics("", on_this_machine=False),
}

TELLS = {"OwnAccount.tokens", "VisibleBatchRuns.list", "VisibleBatchRuns.get"}
"""What shows the planted secret to the owner."""
