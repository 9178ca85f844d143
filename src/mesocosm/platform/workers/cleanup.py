"""Removing what nobody needs any more: runs of guests, sign-ins that are over, files of environments that are gone."""

import time
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from mesocosm.core.failure import RunHeld, UnknownName
from mesocosm.sandboxes.enclosure.disk import remove
from mesocosm.store.guests import Guests
from mesocosm.store.sessions import Sessions

if TYPE_CHECKING:
    from mesocosm.platform.service import Service

_BATCH = 100
_FORGIVEN_S = 86_400.0
"""Sign-ins and guests are kept a day longer than they hold, for whoever looks into something."""


class Cleaned(msgspec.Struct, frozen=True):
    """How much was removed."""

    guest_runs: int = 0
    guests: int = 0
    sessions: int = 0
    environment_folders: int = 0
    objects: int = 0
    workers: int = 0

    def __bool__(self) -> bool:
        return any(msgspec.structs.astuple(self))

    def __str__(self) -> str:
        counted = msgspec.structs.asdict(self).items()
        return ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counted if count) or "nothing"


def clean(service: "Service") -> Cleaned:
    """Remove what is over; safe to be done by several processes at once. Raises InfrastructureError."""
    before = time.time() - _FORGIVEN_S
    database = service.store.database
    return Cleaned(
        guest_runs=_guest_runs(service),
        guests=Guests(database).remove_expired(before),
        sessions=Sessions(database).remove_expired(before),
        environment_folders=_folders(service),
        objects=service.store.drop_outside(),
        workers=service.workers.forget(),
    )


def _guest_runs(service: "Service") -> int:
    """Delete runs whose time is over; one that somebody works on at this moment comes next time."""
    removed, known = 0, set[str]()
    while True:
        listed = [order for order in service.orders.expired(time.time(), limit=_BATCH) if order.run_id not in known]
        if not listed:
            return removed
        for order in listed:
            known.add(order.run_id)
            service.orders.cancel(order.run_id, "its time is over")
            with suppress(UnknownName, RunHeld):
                run = service.store.get_run(order.run_id)
                service.orders.remember_cost(order, run.usage.cost_usd or 0.0)
                service.store.delete_run(order.run_id)
                removed += 1


def _folders(service: "Service") -> int:
    """Remove what was built of environments that are deleted, or that this platform does not know."""
    place = service.settings.data_dir / "environments"
    if not place.is_dir():
        return 0
    removed = 0
    for folder in sorted(place.iterdir()):
        old = time.time() - folder.stat().st_mtime > _FORGIVEN_S
        if folder.is_dir() and not folder.is_symlink() and old and service.environments.get(folder.name) is None:
            removed += remove(folder)
    return removed
