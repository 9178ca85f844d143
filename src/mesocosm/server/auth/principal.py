"""The caller of a request: a member, a guest, or anonymous."""

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """Kinds of callers."""

    ANONYMOUS = "anonymous"
    GUEST = "guest"
    MEMBER = "member"


class Role(StrEnum):
    """Roles of members. Administrators may also change objects of others."""

    MEMBER = "member"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Principal:
    """A caller. `way` is how they were authenticated: jwt, token, web, address, guest, open, server, or empty.

    `scope` is that of a personal token; `read` allows no changes.
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
        """Whether the caller is unknown."""
        return self.kind is Kind.ANONYMOUS

    @property
    def admin(self) -> bool:
        """Whether this is an administrator."""
        return self.member and self.role is Role.ADMIN

    @property
    def actor(self) -> str:
        """The id of the caller in the store: `user:ID`, `guest:ID`, or `anonymous`."""
        if self.member:
            return f"user:{self.user_id}"
        return f"guest:{self.guest_id}" if self.guest else "anonymous"


SERVER = Principal(Kind.MEMBER, user_id=0, username="server", role=Role.ADMIN, way="server")
"""The server itself, for work outside of a request."""

NOBODY = Principal()
"""An anonymous caller."""
