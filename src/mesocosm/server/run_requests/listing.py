"""Lists of runs, in a handful of queries however long they are."""

from collections.abc import Sequence

from mesocosm.compat.swecc.documents import RunListItem, RunStatus
from mesocosm.core.run import Run
from mesocosm.server.auth.access_rules import Viewer
from mesocosm.server.auth.redaction import Discretion
from mesocosm.server.run_requests.view import run_fields
from mesocosm.server.service import Service
from mesocosm.store.run_requests import RunRequest

_TYPES = {"user": "member", "guest": "guest"}


def run_items(service: Service, viewer: Viewer, orders: Sequence[RunRequest]) -> list[RunListItem]:
    """Return runs that the viewer may read as items of a list, in the order given, without those deleted meanwhile."""
    ids = [order.run_id for order in orders]
    runs, rewards = service.store.run_requests.runs(ids), service.store.run_requests.mean_rewards(ids)
    titles = {row.id: row.name for row in service.store.domains.some({order.domain_id for order in orders}).values()}
    return [
        _item(order, runs[order.run_id], rewards.get(order.run_id), titles, inside=viewer.may_change(order))
        for order in orders
        if order.run_id in runs
    ]


def _item(order: RunRequest, run: Run, reward: float | None, titles: dict[str, str], *, inside: bool) -> RunListItem:
    kind, _, name = order.actor.partition(":")
    fields = run_fields(order, run, inside=inside)
    if fields["error"]:
        # A failure may quote where the operator's models are asked.
        fields["error"] = Discretion(run, ())(str(fields["error"]).encode()).decode()
    unplayed = (
        run.counts.pending if fields["status"] in {RunStatus.CANCELLED, RunStatus.PARTIAL, RunStatus.FAILED} else 0
    )
    return RunListItem.model_validate(
        {
            **fields,
            "completed_count": run.counts.completed + run.counts.truncated,
            "failed_count": run.counts.failed + run.counts.timeout + unplayed,
            "avg_reward": reward,
            "actor_type": _TYPES.get(kind, "system"),
            "actor_id": name if inside else None,
            "actor_username": (order.actor_name or None) if inside else None,
            "domain_name": titles.get(order.domain_id, ""),
        }
    )
