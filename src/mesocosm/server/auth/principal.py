"""Who asks: a member, a guest, or nobody that is known."""

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """How somebody is known."""

    ANONYMOUS = "anonymous"
    GUEST = "guest"
    MEMBER = "member"


class Role(StrEnum):
    """What a member may do beyond what is theirs."""

    MEMBER = "member"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Principal:
    """Somebody who asks for something. `way` is how they were recognised: jwt, token, web, guest, open, or nothing.

    `scope` is that of a personal token: `read` may change nothing.
    """

    kind: Kind = Kind.ANONYMOUS
    user_id: int | None = None
    username: str | None = None
    guest_id: str | None = None
    role: Role = Role.MEMBER
    scope: str = "write"
    way: str = ""

    @property
    def member(self) -> bool:
        """Whether this is a member."""
        return self.kind is Kind.MEMBER

    @property
    def guest(self) -> bool:
        """Whether this is a guest."""
        return self.kind is Kind.GUEST

    @property
    def anonymous(self) -> bool:
        """Whether nothing is known of who this is."""
        return self.kind is Kind.ANONYMOUS

    @property
    def admin(self) -> bool:
        """Whether this is a member who runs the platform."""
        return self.member and self.role is Role.ADMIN

    @property
    def actor(self) -> str:
        """What identifies them in the store: `user:ID`, `guest:ID`, or `anonymous`."""
        if self.member:
            return f"user:{self.user_id}"
        return f"guest:{self.guest_id}" if self.guest else "anonymous"


SERVER = Principal(Kind.MEMBER, user_id=0, username="server", role=Role.ADMIN, way="server")
"""The server itself, where it works without being asked."""

NOBODY = Principal()
"""Somebody of whom nothing is known."""
