"""What those who run the platform do with accounts; every change is written down."""

from mesocosm.server.auth.accounts import Accounts
from mesocosm.server.auth.passwords import generated
from mesocosm.server.auth.principal import Role
from mesocosm.server.refusal import Refusal
from mesocosm.store.users import User


class People:
    """Accounts in the hands of `actor`, who asks from `address`.

    Nobody takes the platform away from themselves, and one administrator always stays.
    """

    def __init__(self, accounts: Accounts, actor: str, address: str = "") -> None:
        self._accounts = accounts
        self._actor = actor
        self._address = address

    def get(self, user_id: int) -> User:
        """Return somebody. Raises Refusal 404."""
        user = self._accounts.users.get(user_id)
        if user is None:
            raise Refusal(404, f"there is no user {user_id}; `mesocosm admin user list` shows who there is")
        return user

    def named(self, name: str) -> User:
        """Return somebody by name, or by number. Raises Refusal 404."""
        user = self._accounts.users.named(name)
        if user is None and name.isascii() and name.isdigit():
            user = self._accounts.users.get(int(name[:20]))
        if user is None:
            raise Refusal(404, f"there is no user {name!r}; `mesocosm admin user list` shows who there is")
        return user

    def add(self, username: str, password: str | None, role: str) -> tuple[User, str | None]:
        """Add somebody; return them, and their password where it was made up. Raises Refusal 409, 422."""
        made = generated() if password is None else None
        user = self._accounts.add_user(username, made or password or "", role)
        self._note("user.add", user, {"username": user.username, "role": role})
        return user, made

    def disable(self, user_id: int) -> User:
        """Keep somebody out, at once and everywhere. Raises Refusal 404, 409."""
        user = self.get(user_id)
        self._keep_one(user, "disable")
        self._accounts.users.set_disabled(user_id, disabled=True)
        self._accounts.end_sessions(user)
        self._note("user.disable", user)
        return self.get(user_id)

    def enable(self, user_id: int) -> User:
        """Let somebody in again. Raises Refusal 404."""
        user = self.get(user_id)
        self._accounts.users.set_disabled(user_id, disabled=False)
        self._note("user.enable", user)
        return self.get(user_id)

    def set_role(self, user_id: int, role: str) -> User:
        """Give somebody another role. Raises Refusal 404, 409."""
        user = self.get(user_id)
        if role != Role.ADMIN:
            self._keep_one(user, "demote")
        self._accounts.users.set_role(user_id, role)
        self._note("user.role", user, {"role": role})
        return self.get(user_id)

    def set_budget(self, user_id: int, budget_usd: float | None) -> User:
        """Set what somebody may spend in 24 hours, in US dollars. Raises Refusal 404."""
        user = self.get(user_id)
        self._accounts.users.set_budget(user_id, budget_usd)
        self._note("user.budget", user, {"budget_usd": budget_usd})
        return self.get(user_id)

    def reset(self, user_id: int, password: str | None = None) -> tuple[User, str | None]:
        """Give somebody another password, for an account that is lost or stolen: every token of it ends too.

        Returns them, and the password where it was made up. Raises Refusal 404, 422.
        """
        user = self.get(user_id)
        made = generated() if password is None else None
        user = self._accounts.change_password(user, made or password or "")
        self._accounts.personal_tokens.remove_all(user_id)
        self._note("user.reset", user)
        return user, made

    def end_sessions(self, user_id: int) -> User:
        """End every sign-in of somebody; personal tokens stay. Raises Refusal 404."""
        user = self._accounts.end_sessions(self.get(user_id))
        self._note("user.end_sessions", user)
        return user

    def rotate_keys(self, *, at_once: bool) -> str:
        """Sign tokens with a new key and return its id."""
        key = self._accounts.rotate_keys(at_once=at_once)
        self._accounts.audit.note(self._actor, "keys.rotate", f"key:{key}", {"at_once": at_once}, self._address)
        return key

    def _keep_one(self, user: User, what: str) -> None:
        if user.actor == self._actor:
            raise Refusal(409, f"you cannot {what} yourself; ask another administrator")
        if user.role == Role.ADMIN and not user.disabled and self._accounts.users.count_admins() < 2:
            raise Refusal(409, f"{user.username!r} is the only administrator; make another one first")

    def _note(self, action: str, user: User, detail: dict[str, object] | None = None) -> None:
        self._accounts.audit.note(self._actor, action, user.actor, detail or {}, self._address)
