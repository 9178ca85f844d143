"""As whom the runs of a schedule are submitted: the member it belongs to, while they may."""

from mesocosm.server.auth.access_rules import Viewer
from mesocosm.server.auth.principal import Kind, Principal, Role
from mesocosm.server.refusal import Refusal
from mesocosm.server.service import Service
from mesocosm.store.workspaces import ROLES, Workspace


def submitter(service: Service, workspace: Workspace, user_id: int | None) -> Viewer:
    """Return a user as a caller who submits runs in a workspace.

    Raises Refusal 403, saying who they are, if the account is gone or disabled, or no working member of it any more.
    """
    if service.settings.auth_disabled:
        return service.viewer(service.nobody)
    user = None if user_id is None else service.store.users.get(user_id)
    if user is None:
        raise Refusal(403, "the account that it belongs to was deleted")
    if user.disabled:
        raise Refusal(403, f"the account of {user.username}, whose runs these are, is disabled")
    found = service.store.workspaces.membership(workspace.id, user.id)
    role = None if found is None else found.role
    if user.role != "admin" and (role is None or ROLES.index(role) < ROLES.index("member")):
        now = "left the workspace" if role is None else f"is only a {role} of the workspace now"
        raise Refusal(403, f"{user.username}, whose runs these are, {now}")
    return service.viewer(Principal(Kind.MEMBER, user.id, user.username, role=Role(user.role), way="schedule"))
