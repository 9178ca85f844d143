"""`/api/workspaces/{workspace}/notifications`: addresses that are told how runs of a workspace end."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from mesocosm.server.permissions.grant import Granted
from mesocosm.server.permissions.route_access import Access, access
from mesocosm.server.problems import refused
from mesocosm.server.routes.workspaces import WorkspaceReference
from mesocosm.server.schemas.notification import (
    DeliveryDocument,
    NotificationDocument,
    NotificationInput,
    NotificationSecretDocument,
)

router = APIRouter(prefix="/api/workspaces", tags=["notifications"])

NotificationReference = Annotated[str, Path(max_length=200, description="ID or name of the notification.")]


@router.get("/{workspace}/notifications", response_model=list[NotificationDocument], **access(Access.OWNER))
def list_notifications(workspace: WorkspaceReference, grant: Granted) -> Sequence[NotificationDocument]:
    """List the notifications of a workspace by name, each with its newest message (its admins and owners)."""
    return grant.managed_workspace(workspace).notifications().list()


@router.post(
    "/{workspace}/notifications",
    status_code=201,
    response_model=NotificationSecretDocument,
    responses=refused(409),
    **access(Access.OWNER),
)
def add_notification(
    workspace: WorkspaceReference, body: NotificationInput, grant: Granted
) -> NotificationSecretDocument:
    """Add an address that is told about events of the workspace (its admins and owners).

    The secret that signs its messages is shown once. 422 for an address that no message may go to.
    """
    return grant.managed_workspace(workspace).notifications().add(body)


@router.get("/{workspace}/notifications/{notification}", response_model=NotificationDocument, **access(Access.OWNER))
def get_notification(
    workspace: WorkspaceReference, notification: NotificationReference, grant: Granted
) -> NotificationDocument:
    """Return a notification with its newest message."""
    return grant.managed_workspace(workspace).notification(notification).document()


@router.delete(
    "/{workspace}/notifications/{notification}", status_code=204, response_class=Response, **access(Access.OWNER)
)
def remove_notification(workspace: WorkspaceReference, notification: NotificationReference, grant: Granted) -> None:
    """Remove a notification, with messages that are not sent yet (admins and owners of the workspace)."""
    grant.managed_workspace(workspace).notification(notification).delete()


@router.post(
    "/{workspace}/notifications/{notification}/test",
    status_code=202,
    response_model=DeliveryDocument,
    responses=refused(429),
    **access(Access.OWNER),
)
def test_notification(
    workspace: WorkspaceReference, notification: NotificationReference, grant: Granted
) -> DeliveryDocument:
    """Queue a message that tries a notification; it is sent once, within seconds. 429 after too many."""
    return grant.managed_workspace(workspace).notification(notification).test()


@router.get(
    "/{workspace}/notifications/{notification}/deliveries",
    response_model=list[DeliveryDocument],
    **access(Access.OWNER),
)
def list_deliveries(
    workspace: WorkspaceReference,
    notification: NotificationReference,
    grant: Granted,
    limit: Annotated[int, Query(ge=1, le=100, description="Maximum number.")] = 20,
) -> Sequence[DeliveryDocument]:
    """List the last messages of a notification, newest first, with the answers to them."""
    return grant.managed_workspace(workspace).notification(notification).deliveries(limit)


@router.get(
    "/{workspace}/notifications/{notification}/deliveries/{message_id}",
    response_model=DeliveryDocument,
    **access(Access.OWNER),
)
def get_delivery(
    workspace: WorkspaceReference,
    notification: NotificationReference,
    message_id: Annotated[str, Path(max_length=100, description="ID of the message.")],
    grant: Granted,
) -> DeliveryDocument:
    """Return one message, and how it went."""
    return grant.managed_workspace(workspace).notification(notification).delivery(message_id)
