"""What people do with their environments: submit, look at, try again, delete."""

import time

from mesocosm.core.ids import new_id
from mesocosm.server.auth.belonging import inside, may_use_team
from mesocosm.server.auth.principal import Principal
from mesocosm.server.builds.source import read_source
from mesocosm.server.domains.domains import retire_environment
from mesocosm.server.problems import Refusal
from mesocosm.server.run_requests.lifecycle import cancel_run
from mesocosm.server.schemas.environment import EnvironmentInput
from mesocosm.server.service import Service
from mesocosm.store.environments import EnvironmentRow, Submitted, Verdict
from mesocosm.store.run_requests import OPEN, RunRequestFilter

_PAGE = 100


def submit(service: Service, caller: Principal, body: EnvironmentInput) -> Submitted:
    """Queue the build of a new environment, or of the next version of one that its holder has already.

    Raises Refusal: 422 for an address that cannot work, 403 for a team of others, 409 while the version before is being
    built and for who has as many environments as they may.
    """
    source = read_source(body.github_url, service.settings, ref=body.ref, folder=body.folder)
    if not body.name.strip():
        raise Refusal(422, "the name of the environment is empty; give it a title")
    team_id = _team(service, caller, body.team_id)
    wanted = EnvironmentRow(
        id=new_id(),
        holder_key=f"team:{team_id}" if team_id else caller.actor,
        owner_id=_account(caller),
        team_id=team_id,
        name=body.name.strip(),
        description=body.description.strip(),
        source=source.url,
        ref=source.ref,
        folder=source.folder,
        created_at=time.time(),
    )
    most = service.settings.environments_per_owner
    done = service.store.environments.submit(wanted, most=most)
    if done.verdict is Verdict.FULL:
        whose = "the team has" if team_id else "you have"
        raise Refusal(409, f"{whose} {most} environments, and more are not allowed; delete one first")
    assert done.environment is not None
    if done.verdict is Verdict.BUILDING:
        raise being_built(done.environment)
    detail = {"source": source.url, "ref": source.ref, "folder": source.folder, "version": done.environment.version}
    service.store.audit.note(caller.actor, "environment.submit", f"environment:{done.environment.id}", detail)
    return done


def being_built(environment: EnvironmentRow) -> Refusal:
    """Return the refusal of a change while a version is being built."""
    words = (
        f"version {environment.version} of this environment is being built; wait until it is ready or failed, "
        "or delete the environment"
    )
    return Refusal(409, words, more={"environment_id": environment.id})


def own_environment(service: Service, caller: Principal, environment_id: str) -> EnvironmentRow:
    """Return an environment of the caller, or of a team of theirs. Raises Refusal (404), alike for others' and none."""
    row = service.store.environments.get(environment_id)
    if row is None or not inside(service, caller, row):
        raise Refusal(404, f"you have no environment {environment_id!r}; `mesocosm env list` shows yours")
    return row


def retry(service: Service, caller: Principal, environment: EnvironmentRow) -> EnvironmentRow:
    """Queue a failed environment once more, as its next version. Raises Refusal (409)."""
    if environment.status == "ready":
        raise Refusal(409, "the environment is ready; submit it again to build what was pushed since")
    again = service.store.environments.retry(environment.id, by=_account(caller), at=time.time())
    if again is None:
        raise being_built(environment)
    service.store.audit.note(caller.actor, "environment.retry", f"environment:{again.id}", {"version": again.version})
    return again


def delete(service: Service, environment: EnvironmentRow, by: str) -> None:
    """Delete an environment: nobody builds or runs it any more, its domain is archived. Its row and runs stay.

    Workers remove its files. `by` is the actor that asked for it.
    """
    service.store.environments.delete(environment.id, time.time())
    retire_environment(service, environment)
    wanted = RunRequestFilter(environment_id=environment.id, states=OPEN)
    while going := service.store.run_requests.list(wanted, limit=_PAGE):
        for order in going:
            cancel_run(service, order, "its environment was deleted")
    service.store.audit.note(by, "environment.delete", f"environment:{environment.id}", {"source": environment.source})


def _team(service: Service, caller: Principal, team_id: str | None) -> str | None:
    if not team_id:
        return None
    if not may_use_team(service, caller, team_id):
        raise Refusal(403, f"you are not in a team {team_id!r}; join it, or leave `team_id` out to submit for yourself")
    return team_id


def _account(caller: Principal) -> int | None:
    """Return the number of an account: with accounts switched off, the one who may do everything has none."""
    return None if caller.way == "open" else caller.user_id
