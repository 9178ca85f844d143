"""A notification in each planted workspace, whose name, host and message hold the secret, and its URL another one."""

from collections.abc import Callable, Iterable
from typing import Any

from pydantic import SecretStr
from tests.server.auth.granted import workspaces
from tests.server.auth.granted.world import World, secret

from mesocosm.core.ids import new_id
from mesocosm.server.permissions.grant import Grant
from mesocosm.server.permissions.notifications import ManagedNotification, ManagedNotifications
from mesocosm.server.schemas.notification import NotificationInput
from mesocosm.store.notifications import Delivery, Notification


def _plant(world: World) -> None:
    store = world.service.store
    workspaces.planted(world)
    for name in workspaces.NAMES:
        membership, word = store.workspaces.membership(secret(name), None), secret(name)
        assert membership is not None
        if store.notifications.list(membership.workspace.id):
            continue
        row = Notification(
            id=new_id(),
            workspace_id=membership.workspace.id,
            name=word,
            host=word,
            format="slack",
            events=("failed",),
        )
        made = store.notifications.add(row, 9)
        assert made is not None
        store.deliveries.add(Delivery(id="", notification_id=made.id, event=word, body=word, answer=word))


def _all(world: World, way: Callable[[str], Any]) -> Iterable[Any]:
    _plant(world)
    return [workspace.notifications() for workspace in workspaces.granted_workspaces(world, way)]


def _each(world: World, way: Callable[[str], Any]) -> Iterable[Any]:
    """Return the notification of each workspace, which has its name."""
    _plant(world)
    found = workspaces.granted_workspaces(world, way)
    return [workspace.notification(workspace.document().name) for workspace in found]


def _first(notification: Any) -> Any:
    (message, *_) = notification.deliveries(9)
    return notification.delivery(message.id)


OBJECTS: dict[type, Callable[[World, Grant, str], Iterable[Any]]] = {
    ManagedNotifications: lambda world, grant, _role: _all(world, grant.managed_workspace),
    ManagedNotification: lambda world, grant, _role: _each(world, grant.managed_workspace),
}

_NEW = NotificationInput(url=SecretStr("https://8.8.8.8/hook"))

CALLS: dict[str, Callable[[Any, World], Any]] = {
    "ManagedNotifications.list": lambda notifications, _world: notifications.list(),
    "ManagedNotifications.add": lambda notifications, _world: notifications.add(_NEW),
    "ManagedNotification.document": lambda notification, _world: notification.document(),
    "ManagedNotification.deliveries": lambda notification, _world: notification.deliveries(9),
    "ManagedNotification.delivery": lambda notification, _world: _first(notification),
    "ManagedNotification.test": lambda notification, _world: notification.test(),
    "ManagedNotification.delete": lambda notification, _world: notification.delete(),
    "ManagedWorkspace.notifications": lambda workspace, _world: workspace.notifications().list(),
    "ManagedWorkspace.notification": lambda workspace, _world: workspace.notification(
        workspace.document().name
    ).document(),
}

TELLS = {
    *("ManagedNotifications.list", "ManagedNotification.document"),
    *("ManagedNotification.deliveries", "ManagedNotification.delivery"),
}
"""What shows the planted secret to the owner."""
