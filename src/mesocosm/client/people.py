"""Accounts: guest sessions, the caller's account, personal tokens for programs."""

from mesocosm.client.resource import Resource
from mesocosm.client.transport import segment
from mesocosm.server.schemas.account import (
    AccountContext,
    DeviceAnswer,
    DeviceCodeInput,
    DeviceInput,
    DeviceStarted,
    GuestToken,
    Me,
    PasswordInput,
    PersonalTokenCreated,
    PersonalTokenDocument,
    Scope,
    SignedIn,
    TokenInput,
    Ways,
)


class AuthResource(Resource):
    """Guest sessions, sign-up and passwords. Members log in with `mesocosm.client.login`: that is another server."""

    def ways(self) -> Ways:
        """Return the available ways of getting access."""
        return self._one(Ways, "GET", "/api/auth/ways")

    def sign_up(self, username: str, password: str) -> SignedIn:
        """Create an account, if the operator allows sign-up."""
        return self._one(SignedIn, "POST", "/api/auth/sign-up", {"username": username, "password": password})

    def change_password(self, old: str, new: str) -> SignedIn:
        """Change the caller's password, which ends all their logins; return a new one."""
        body = PasswordInput(old=old, new=new, refresh=True).model_dump()
        return self._one(SignedIn, "POST", "/api/auth/password", body)

    def start_device(self, device: str = "") -> DeviceStarted:
        """Start a login that a person confirms in a browser; `device` is the name of this machine."""
        return self._one(DeviceStarted, "POST", "/api/auth/device", DeviceInput(device=device))

    def poll_device(self, device_code: str) -> DeviceAnswer:
        """Return what became of such a login, once it is decided; its tokens are returned once."""
        return self._one(DeviceAnswer, "POST", "/api/auth/device/token", DeviceCodeInput(device_code=device_code))

    def guest(self) -> GuestToken:
        """Start a guest session and return its token."""
        return self._one(GuestToken, "POST", "/api/auth/guest")

    def end_guest(self) -> None:
        """End the guest session of the caller."""
        self._done("POST", "/api/auth/guest/logout")


class AccountResource(Resource):
    """The caller."""

    def get(self, *, context: bool = False) -> Me:
        """Return the caller's account; with `context`, also what they own."""
        return self._one(Me, "GET", "/api/me", query={"include": "context" if context else None})

    def context(self) -> AccountContext:
        """Return what the member owns, and what their teams own."""
        return self._one(AccountContext, "GET", "/api/me/context")


class PersonalTokensResource(Resource):
    """The caller's personal tokens."""

    def create(self, name: str, *, scope: Scope = "write", days: int | None = 90) -> PersonalTokenCreated:
        """Create a token, which only this response contains. Scope `read` allows no changes; `days` None: no expiry."""
        body = TokenInput(name=name, scope=scope, days=days)
        return self._one(PersonalTokenCreated, "POST", "/api/tokens", body.model_dump(mode="json"))

    def list(self) -> tuple[PersonalTokenDocument, ...]:
        """Return the tokens without their secrets, newest first."""
        return self._many(PersonalTokenDocument, "/api/tokens")

    def revoke(self, token_id: str) -> None:
        """Revoke a token immediately."""
        self._done("DELETE", f"/api/tokens/{segment(token_id)}")
