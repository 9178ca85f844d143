"""Submit, retry and delete environments. `permissions.environments` checks who may."""

import time

from mesocosm.core.ids import new_id
from mesocosm.server.builds.repository_address import read_source
from mesocosm.server.domains.domains import retire_environment
from mesocosm.server.refusal import Refusal
from mesocosm.server.run_requests.lifecycle import cancel_run
from mesocosm.server.schemas.environment import EnvironmentInput
from mesocosm.server.service import Service
from mesocosm.store.environments import EnvironmentRow, SubmissionOutcome
from mesocosm.store.run_requests import OPEN, RunRequestFilter

_PAGE = 100


def submit(
    service: Service, body: EnvironmentInput, *, actor: str, account: int | None, team_id: str | None
) -> tuple[EnvironmentRow, bool]:
    """Queue the build of a new environment, or of the next version of an existing one; return whether it is new.

    Raises Refusal: 422 for an invalid address or an empty name, 409 while the previous version is being built or if the
    owner has reached the limit.
    """
    source = read_source(body.github_url, service.settings, ref=body.ref, folder=body.folder)
    if not body.name.strip():
        raise Refusal(422, "the name of the environment is empty; give it a title")
    wanted = EnvironmentRow(
        id=new_id(),
        holder_key=f"team:{team_id}" if team_id else actor,
        owner_id=account,
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
    if done.verdict is SubmissionOutcome.FULL:
        whose = "the team has" if team_id else "you have"
        raise Refusal(409, f"{whose} {most} environments, and no more are allowed; delete one first")
    assert done.environment is not None
    if done.verdict is SubmissionOutcome.BUILDING:
        raise being_built(done.environment)
    detail = {"source": source.url, "ref": source.ref, "folder": source.folder, "version": done.environment.version}
    service.store.audit.note(actor, "environment.submit", f"environment:{done.environment.id}", detail)
    return done.environment, done.verdict is SubmissionOutcome.NEW


def being_built(environment: EnvironmentRow) -> Refusal:
    """Return the Refusal for a change while a version is being built."""
    words = (
        f"version {environment.version} of environment {environment.id} is being built; wait until it is ready or "
        "failed, or delete the environment"
    )
    return Refusal(409, words, more={"environment_id": environment.id})


def retry(service: Service, environment: EnvironmentRow, *, actor: str, account: int | None) -> EnvironmentRow:
    """Queue a failed environment again, as its next version. Raises Refusal (409) if it is ready or being built."""
    if environment.status == "ready":
        raise Refusal(409, "the environment is ready; submit it again to build what was pushed since")
    again = service.store.environments.retry(environment.id, by=account, at=time.time())
    if again is None:
        raise being_built(environment)
    service.store.audit.note(actor, "environment.retry", f"environment:{again.id}", {"version": again.version})
    return again


def delete(service: Service, environment: EnvironmentRow, by: str) -> None:
    """Delete an environment: cancel its builds and open runs, and archive its domain. Its row and runs stay.

    Workers remove its files. `by` is the actor for the audit log.
    """
    service.store.environments.delete(environment.id, time.time())
    retire_environment(service, environment)
    wanted = RunRequestFilter(environment_id=environment.id, states=OPEN)
    while going := service.store.run_requests.list(wanted, limit=_PAGE):
        for request in going:
            cancel_run(service, request, "its environment was deleted")
    service.store.audit.note(by, "environment.delete", f"environment:{environment.id}", {"source": environment.source})
