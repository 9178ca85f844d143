"""Queue the messages about runs that have ended, and about scheduled runs that were refused."""

from mesocosm.core.failure import UnknownName
from mesocosm.server.notifications.messages import EVENTS, body_of, run_message
from mesocosm.server.schemas.notification import NotificationMessage
from mesocosm.server.service import Service
from mesocosm.store.notifications import Delivery

_BATCH = 20


def announce_ended(service: Service) -> int:
    """Queue the messages about runs of workspaces that have ended; return how many runs. Raises InfrastructureError.

    Safe to call in several workers at once: each end is announced once.
    """
    run_ids = service.store.deliveries.ended(_BATCH)
    for run_id in run_ids:
        service.store.deliveries.announce(run_id, _messages(service, run_id))
    return len(run_ids)


def messages_for(service: Service, workspace_id: str, event: str, message: NotificationMessage) -> list[Delivery]:
    """Return a message for each notification of a workspace that is told about an event, to be queued."""
    return [
        Delivery(
            id="",
            notification_id=notification.id,
            event=event,
            run_id=getattr(message.data, "run_id", None),
            body=body_of(message, notification.format),
        )
        for notification in service.store.notifications.list(workspace_id)
        if event in notification.events
    ]


def _messages(service: Service, run_id: str) -> list[Delivery]:
    request = service.store.run_requests.get(run_id)
    if request is None or request.workspace_id is None:
        return []
    found = service.store.workspaces.membership(request.workspace_id, None)
    if found is None or not service.store.notifications.list(request.workspace_id):
        return []
    try:
        run = service.store.runs.get(run_id)
    except UnknownName:
        return []  # deleted meanwhile, and its note with it
    event = EVENTS.get(run.status)
    if event is None:
        return []
    message = run_message(service, found.workspace, request, run)
    return messages_for(service, request.workspace_id, event, message)
