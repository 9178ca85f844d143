"""Who calls a platform: guests, what is known of the caller, personal tokens for programs."""

from mesocosm.client.resource import Resource
from mesocosm.client.transport import segment
from mesocosm.server.schemas.account import (
    AccountContext,
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
    """Ways in. How a member logs in is in `mesocosm.client.login`, for that is another server."""

    def ways(self) -> Ways:
        """Return how people get in here."""
        return self._one(Ways, "GET", "/api/auth/ways")

    def sign_up(self, username: str, password: str) -> SignedIn:
        """Create an account, where the operator allows that."""
        return self._one(SignedIn, "POST", "/api/auth/sign-up", {"username": username, "password": password})

    def change_password(self, old: str, new: str) -> SignedIn:
        """Change the caller's password, which ends every login of theirs; return one that holds."""
        body = PasswordInput(old=old, new=new, refresh=True).model_dump()
        return self._one(SignedIn, "POST", "/api/auth/password", body)

    def guest(self) -> GuestToken:
        """Begin a guest's stay and return its token."""
        return self._one(GuestToken, "POST", "/api/auth/guest")

    def end_guest(self) -> None:
        """End the stay of the guest who calls."""
        self._done("POST", "/api/auth/guest/logout")


class AccountResource(Resource):
    """The caller."""

    def get(self, *, context: bool = False) -> Me:
        """Return the caller's account; with `context` also what is theirs."""
        return self._one(Me, "GET", "/api/me", query={"include": "context" if context else None})

    def context(self) -> AccountContext:
        """Return what is the member's own, and what their teams have."""
        return self._one(AccountContext, "GET", "/api/me/context")


class PersonalTokensResource(Resource):
    """The caller's personal tokens."""

    def create(self, name: str, *, scope: Scope = "write", days: int | None = 90) -> PersonalTokenCreated:
        """Make a token; the answer shows it this once. `read` may change nothing; `days` None never ends."""
        body = TokenInput(name=name, scope=scope, days=days)
        return self._one(PersonalTokenCreated, "POST", "/api/tokens", body.model_dump(mode="json"))

    def list(self) -> tuple[PersonalTokenDocument, ...]:
        """Return the tokens, without themselves, newest first."""
        return self._many(PersonalTokenDocument, "/api/tokens")

    def revoke(self, token_id: str) -> None:
        """End a token at once."""
        self._done("DELETE", f"/api/tokens/{segment(token_id)}")
