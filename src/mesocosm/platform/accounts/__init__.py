"""Who there is: passwords, tokens, guests, and recognising who asks."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mesocosm.platform.service import Service

FIRST_ADMIN = "admin"
"""The name of the administrator that a new platform begins with."""


def first_admin(service: "Service") -> tuple[str, str] | None:
    """Return name and password of the first administrator, made where there is nobody yet; None where somebody is."""
    from mesocosm.platform.accounts.passwords import generated
    from mesocosm.platform.refusal import Refusal

    accounts = service.accounts
    if accounts.users.count() > 0:
        return None
    password = generated()
    try:
        user = accounts.add_user(FIRST_ADMIN, password, role="admin")
    except Refusal:
        # Another server of the same database was quicker.
        return None
    accounts.audit.note("system:serve", "user.add", user.actor, {"username": FIRST_ADMIN, "role": "admin"})
    return FIRST_ADMIN, password
