"""Notifications of workspaces."""

import time

from mesocosm.client.resource import Resource
from mesocosm.client.transport import segment
from mesocosm.client.workspaces import workspace_path
from mesocosm.server.schemas.notification import (
    DeliveryDocument,
    NotificationDocument,
    NotificationInput,
    NotificationSecretDocument,
)


class NotificationsResource(Resource):
    """The notifications of each workspace, for its admins and owners. `notification` is an id or a name."""

    def list(self, workspace: str) -> tuple[NotificationDocument, ...]:
        """Return the notifications of a workspace by name."""
        return self._many(NotificationDocument, _path(workspace))

    def add(self, workspace: str, wanted: NotificationInput) -> NotificationSecretDocument:
        """Add a notification and return it with its secret, which is shown once."""
        # Dumping the document would send asterisks.
        body = wanted.model_dump(mode="json") | {"url": wanted.url.get_secret_value()}
        return self._one(NotificationSecretDocument, "POST", _path(workspace), body)

    def get(self, workspace: str, notification: str) -> NotificationDocument:
        """Return a notification."""
        return self._one(NotificationDocument, "GET", _path(workspace, notification))

    def remove(self, workspace: str, notification: str) -> None:
        """Remove a notification."""
        self._done("DELETE", _path(workspace, notification))

    def deliveries(self, workspace: str, notification: str, *, limit: int = 20) -> tuple[DeliveryDocument, ...]:
        """Return the last messages of a notification, the newest first."""
        return self._many(DeliveryDocument, _path(workspace, notification, "deliveries"), {"limit": limit})

    def test(self, workspace: str, notification: str, *, wait_s: float = 0.0, every_s: float = 0.2) -> DeliveryDocument:
        """Send a message that tries a notification; return it once it is over, or after `wait_s` seconds as it is."""
        found = self._one(DeliveryDocument, "POST", _path(workspace, notification, "test"))
        until = time.monotonic() + wait_s
        while found.status == "pending" and time.monotonic() < until:
            time.sleep(every_s)
            found = self._one(DeliveryDocument, "GET", _path(workspace, notification, "deliveries", found.id))
        return found


def _path(workspace: str, *parts: str) -> str:
    return "/".join((f"{workspace_path(workspace)}/notifications", *map(segment, parts)))
