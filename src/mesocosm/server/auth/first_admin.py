"""The administrator that a new server begins with."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mesocosm.server.service import Service

FIRST_ADMIN = "admin"
"""The name of the administrator that a new platform begins with."""


def first_admin(service: "Service") -> tuple[str, str] | None:
    """Return name and password of an administrator, made where there is none who may sign in; else None."""
    from mesocosm.server.auth.passwords import generated
    from mesocosm.server.refusal import Refusal

    accounts = service.accounts
    password = generated()
    for name in _names():
        # Another server of the same database may have been quicker.
        if accounts.users.count_admins() > 0:
            return None
        try:
            user = accounts.add_user(name, password, role="admin")
        except Refusal:
            continue
        accounts.audit.note("system:serve", "user.add", user.actor, {"username": name, "role": "admin"})
        return name, password
    return None


def _names() -> "Iterator[str]":
    """Return the names to try: somebody without rights may have the first ones."""
    yield FIRST_ADMIN
    yield from (f"{FIRST_ADMIN}-{number}" for number in range(2, 100))
