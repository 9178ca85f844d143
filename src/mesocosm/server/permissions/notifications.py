"""Notifications of a workspace, for those who manage it. No URL and, after it was made, no secret is returned."""

from collections.abc import Sequence
from typing import Self
from urllib.parse import urlsplit

from sqlalchemy.exc import IntegrityError

from mesocosm.core.ids import new_id
from mesocosm.server.auth.access_rules import Viewer
from mesocosm.server.notifications.delivery import TEST, check_target, remove_target, store_target
from mesocosm.server.notifications.messages import body_of, trial_message
from mesocosm.server.notifications.signing import new_secret
from mesocosm.server.permissions import GrantedObject
from mesocosm.server.refusal import Refusal
from mesocosm.server.schemas.document import instant, moment
from mesocosm.server.schemas.notification import (
    DeliveryDocument,
    NotificationDocument,
    NotificationInput,
    NotificationSecretDocument,
)
from mesocosm.server.service import Service
from mesocosm.store.notifications import Delivery, Notification
from mesocosm.store.schedules import is_name_taken
from mesocosm.store.workspaces import Workspace

MOST = 20
"""Maximum number of notifications of a workspace."""
MOST_TRIALS = 30
"""How many test messages a workspace sends in an hour, so that nobody uses it to call others."""
_HOUR = 3_600.0


class ManagedNotifications(GrantedObject):
    """The notifications of a workspace that the caller manages."""

    def __init__(self, service: Service, viewer: Viewer, workspace: Workspace) -> None:
        super().__init__(service, viewer)
        self._workspace = workspace

    def list(self) -> Sequence[NotificationDocument]:
        """Return the notifications by name, with the newest message of each."""
        rows = self._store.notifications.list(self._workspace.id)
        last = self._store.deliveries.last([row.id for row in rows])
        return [_document(row, last.get(row.id)) for row in rows]

    def add(self, given: NotificationInput) -> NotificationSecretDocument:
        """Add a notification and return it with its secret, which is not shown again.

        Raises Refusal: 422 for a URL that no message may go to, 409 for a name that is taken, and if there are too
        many; InfrastructureError without a key for secrets.
        """
        if self._service.local:
            raise Refusal(409, "notifications are sent by servers only")
        url = given.url.get_secret_value().strip()
        host = check_target(self._service.settings, url)
        row = Notification(
            id=new_id(),
            workspace_id=self._workspace.id,
            name=given.name or self._free_name(host),
            host=host,
            format=given.format,
            events=tuple(dict.fromkeys(given.events)),
            created_by=self._viewer.account_id,
        )
        secret = new_secret()
        try:
            made = self._store.notifications.add(row, MOST)
        except IntegrityError as error:
            raise self._conflict(error, row.name) from None
        if made is None:
            raise Refusal(409, f"the workspace has {MOST} notifications already, the most there may be; remove one")
        try:
            store_target(self._service, made, type(given.url)(url), secret)
        except BaseException:
            self._store.notifications.delete(made.id)
            raise
        detail = {"name": made.name, "host": host, "format": made.format, "events": list(made.events)}
        self._store.audit.note(
            self._viewer.caller.actor, "notification.create", f"workspace:{self._workspace.id}", detail
        )
        return NotificationSecretDocument(notification=_document(made, None), secret=secret)

    def _free_name(self, host: str) -> str:
        base = (urlsplit(host).hostname or "webhook").strip("[]").replace(":", "-").lstrip("._-")[:80] or "webhook"
        taken = {row.name for row in self._store.notifications.list(self._workspace.id)}
        names = (base if number == 1 else f"{base}-{number}" for number in range(1, MOST + 2))
        return next(name for name in names if name not in taken)

    def _conflict(self, error: IntegrityError, name: str) -> Refusal:
        place = f"the workspace {self._workspace.name!r}"
        if is_name_taken(error):
            return Refusal(409, f"{place} has a notification {name!r} already; choose another name")
        return Refusal(404, f"{place} was deleted, or your account is gone")


class ManagedNotification(GrantedObject):
    """A notification of a workspace that the caller manages."""

    def __init__(self, service: Service, viewer: Viewer, workspace: Workspace, notification: Notification) -> None:
        super().__init__(service, viewer)
        self._workspace = workspace
        self._notification = notification

    @classmethod
    def find(cls, service: Service, viewer: Viewer, workspace: Workspace, reference: str) -> Self:
        """Return a notification by its id or name. Raises Refusal 404."""
        found = service.store.notifications.get(workspace.id, reference)
        if found is None:
            raise Refusal(404, f"the workspace {workspace.name!r} has no notification {reference[:200]!r}; list them")
        return cls(service, viewer, workspace, found)

    def document(self) -> NotificationDocument:
        """Return the notification with its newest message."""
        found = self._store.deliveries.last([self._notification.id])
        return _document(self._notification, found.get(self._notification.id))

    def deliveries(self, limit: int) -> Sequence[DeliveryDocument]:
        """Return its last messages, the newest first."""
        return [_delivery(one) for one in self._store.deliveries.list(self._notification.id, limit=limit)]

    def delivery(self, message_id: str) -> DeliveryDocument:
        """Return one message. Raises Refusal 404."""
        found = self._store.deliveries.get(self._notification.id, message_id)
        if found is None:
            raise Refusal(404, f"{self._notification.name!r} has no message {message_id[:100]!r}, or not any more")
        return _delivery(found)

    def test(self) -> DeliveryDocument:
        """Queue a message that tries it. Raises Refusal 404 if it was removed, 429 after too many."""
        wait = self._store.rate_limits.allow_all({f"notify:{self._workspace.id}": MOST_TRIALS}, _HOUR)
        if wait:
            raise Refusal(
                429,
                f"the workspace sent {MOST_TRIALS} test messages within an hour; wait {wait:.0f} s",
                headers={"Retry-After": str(int(wait) + 1)},
            )
        message = trial_message(self._workspace, self._notification.name)
        body = body_of(message, self._notification.format)
        try:
            queued = self._store.deliveries.add(
                Delivery(id="", notification_id=self._notification.id, event=TEST, body=body)
            )
        except IntegrityError:
            raise Refusal(404, f"the notification {self._notification.name!r} was removed") from None
        return _delivery(queued)

    def delete(self) -> None:
        """Remove the notification with its messages, also those that are not sent yet."""
        remove_target(self._service, self._notification)
        if self._store.notifications.delete(self._notification.id):
            self._store.audit.note(
                self._viewer.caller.actor,
                "notification.delete",
                f"workspace:{self._workspace.id}",
                {"name": self._notification.name},
            )


def _document(row: Notification, last: Delivery | None) -> NotificationDocument:
    return NotificationDocument.model_validate(
        {
            "id": row.id,
            "name": row.name,
            "host": row.host,
            "format": row.format,
            "events": row.events,
            "created_at": instant(row.created_at),
            "last": None if last is None else _delivery(last),
        }
    )


def _delivery(row: Delivery) -> DeliveryDocument:
    return DeliveryDocument(
        id=row.id,
        event=row.event,
        run_id=row.run_id,
        status=row.state.value,
        attempts=row.attempts,
        answer_status=row.status,
        answer=row.answer,
        created_at=instant(row.created_at),
        next_at=moment(row.next_at),
        ended_at=moment(row.ended_at),
    )
