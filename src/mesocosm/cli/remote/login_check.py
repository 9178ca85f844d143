"""Check a login at a server: its validity and expiry, the active team, the clocks."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from mesocosm.client.client import Client

SKEW_S = 30.0
"""Clocks that differ by more than this make logins expire too early, or fail."""


class Report(Protocol):
    """Collects findings."""

    probes: dict[str, Any]
    issues: list[str]
    notes: list[str]


def login(report: Report, base: str, date: Callable[[], str]) -> bool:
    """Add the state of the login to a report; return whether it is valid, or there is none.

    `date` returns the server's time, as in the header of an answer.
    """
    from mesocosm.client.client import Client
    from mesocosm.client.error import ApiError
    from mesocosm.client.identity import identify
    from mesocosm.core.failure import UsageError

    try:
        client = Client(timeout=10.0, identity=identify(base))
        if client.caller.token:
            clock(report, date())
        return _known(report, client)
    except UsageError as error:
        if str(error) not in report.issues:
            report.issues.append(str(error))
        return False
    except ApiError as error:
        report.issues.append(f"the login cannot be checked: {error}")
        return False


def _known(report: Report, client: "Client") -> bool:
    from mesocosm.client.identity import ends_at

    caller = client.caller
    found = report.probes["login"] = {"mode": caller.mode or None, "from": caller.way or None}
    if not caller.token:
        report.notes.append("not logged in; use mesocosm auth login or mesocosm auth guest")
        return True
    me = client.me.get()
    end = ends_at(caller.token)
    until = None if end is None else datetime.fromtimestamp(end, UTC).isoformat(timespec="seconds")
    found |= {"valid": me.type != "anonymous", "username": me.username, "expires_at": until}
    found["renewed_by_itself"] = caller.renewable
    if me.type == "anonymous":
        again = "mesocosm auth guest" if caller.mode == "guest" else "mesocosm auth login"
        ended = end is not None and end < time.time()
        report.issues.append(f"the login {'has expired' if ended else 'is unknown to this server'}: {again}")
        return False
    checks = ((_team, caller.team_id), (_workspace, caller.workspace_id)) if me.type == "member" else ()
    found_all = [check(report, client) for check, chosen in checks if chosen]
    return all(found_all)


def _team(report: Report, client: "Client") -> bool:
    team_id = client.caller.team_id
    teams = {team.team_id: team.name for team in client.teams.list()}
    report.probes["active_team"] = {"team_id": team_id, "name": teams.get(team_id), "exists": team_id in teams}
    if team_id in teams:
        return True
    report.issues.append(
        f"you are not in the active team {team_id} here: mesocosm team clear, or mesocosm team use another one"
    )
    return False


def _workspace(report: Report, client: "Client") -> bool:
    workspace_id = client.caller.workspace_id
    names = {one.id: one.name for one in client.workspaces.list()}
    name = names.get(workspace_id)
    report.probes["active_workspace"] = {"id": workspace_id, "name": name, "exists": name is not None}
    if name is None:
        report.issues.append(
            f"you are not in the active workspace {workspace_id} here: mesocosm workspace clear, or mesocosm workspace "
            "use another one"
        )
    return name is not None


def clock(report: Report, date: str) -> None:
    """Add the difference between this machine's clock and the server's, whose answer was dated `date`."""
    try:
        skew = time.time() - parsedate_to_datetime(date).timestamp()
    except (TypeError, ValueError):
        return
    report.probes["clock_skew_s"] = round(skew)
    if abs(skew) > SKEW_S:
        report.issues.append(
            f"this machine's clock is {abs(skew):.0f} s {'ahead of' if skew > 0 else 'behind'} the server's; set it "
            "right, logins depend on it"
        )
