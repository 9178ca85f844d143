"""Documents of accounts: the caller, login, tokens, users."""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Scope = Literal["read", "write"]
"""Access of a personal token."""

RoleWord = Literal["member", "admin"]
"""Role of an account."""


class Done(BaseModel):
    """Confirmation of an action."""

    detail: str = Field(default="ok", description="What was done.")


class GuestToken(BaseModel):
    """The token of a guest."""

    guest_token: str = Field(description="Send as `Authorization: Bearer …`.", repr=False)
    expires_at: datetime = Field(description="When the guest session ends.")


class Holdings(BaseModel):
    """Numbers of objects owned by a member or a team."""

    env_count: int = Field(description="Number of environments.")
    run_count: int = Field(description="Number of runs.")


class TeamContext(Holdings):
    """A team of the member, with the numbers of its objects."""

    team_id: str = Field(description="ID of the team.")
    name: str = Field(description="Name of the team.")
    slug: str = Field(description="Name of the team in URLs.")
    role: str = Field(description="Role of the caller: `owner` or `member`.")
    member_count: int = Field(description="Number of members, including the owner.")
    max_members: int = Field(description="Maximum number of members.")
    join_code: str | None = Field(default=None, description="Code to join the team; null unless the caller owns it.")


class AccountContext(BaseModel):
    """Numbers of objects owned by a member, and by their teams."""

    solo: Holdings = Field(description="Objects that belong to the member alone.")
    teams: list[TeamContext] = Field(description="Teams of the member, most recently joined first.")


class Me(BaseModel):
    """The caller."""

    type: Literal["anonymous", "member", "guest"] = Field(description="Kind of caller.")
    user_id: int | None = Field(default=None, description="User ID; null for other callers than members.")
    username: str | None = Field(default=None, description="User name; null for other callers than members.")
    guest_session_id: str | None = Field(
        default=None, description="ID of the guest session; null for other callers than guests."
    )
    role: RoleWord | None = Field(default=None, description="Role of the account; null for other callers than members.")
    scope: Scope = Field(default="write", description="`read` for a personal token that may not change anything.")
    way: str = Field(
        default="",
        description="How the caller was authenticated: `jwt`, `token`, `web`, `guest` or `open`; empty for "
        "anonymous callers.",
    )
    context: AccountContext | None = Field(
        default=None, description="What the member and their teams own; only with `include=context`."
    )


class SignInInput(BaseModel):
    """User name and password."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"username": "ada", "password": "a long secret"}]})

    username: str = Field(description="User name; case is ignored.", max_length=1_000)
    password: str = Field(description="Password.", max_length=10_000, repr=False)
    refresh: bool = Field(default=False, description="Return an access token and a refresh token.")


class TokenPair(BaseModel):
    """An access token, and the refresh token for the next one."""

    token: str = Field(description="Access token. Send as `Authorization: Bearer …`.", repr=False)
    expires_at: datetime = Field(description="When the access token expires.")
    refresh_token: str = Field(description="Send once to `/api/auth/refresh`, which returns the next one.", repr=False)


class SignedIn(BaseModel):
    """A login; the tokens are present if they were requested."""

    detail: str = Field(default="signed in", description="What was done.")
    user_id: int = Field(description="User ID.")
    username: str = Field(description="User name.")
    role: RoleWord = Field(description="Role of the account.")
    token: str | None = Field(
        default=None, description="Access token; null unless requested with `refresh`.", repr=False
    )
    expires_at: datetime | None = Field(default=None, description="When the access token expires.")
    refresh_token: str | None = Field(
        default=None, description="Send once to `/api/auth/refresh`; null unless requested with `refresh`.", repr=False
    )


class DeviceInput(BaseModel):
    """A program that wants to log in through a browser."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"device": "ada-laptop"}]})

    device: str = Field(default="", description="Name of the machine, shown to the person.", max_length=200)


class DeviceStarted(BaseModel):
    """A login that waits for a person to confirm it."""

    device_code: str = Field(description="Secret of the program, for `/api/auth/device/token`.", repr=False)
    user_code: str = Field(description="Code that the person enters or compares.")
    page: str = Field(description="Page on which the person enters the code.")
    page_with_code: str = Field(description="The same page with the code filled in.")
    expires_at: datetime = Field(description="When the codes expire.")
    interval_seconds: int = Field(description="Seconds to wait between two requests for the token.")


class DeviceCodeInput(BaseModel):
    """The secret of a program that waits for its login."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"device_code": "Zk3…"}]})

    device_code: str = Field(description="`device_code` of the login.", max_length=200, repr=False)


class DeviceLoginDocument(BaseModel):
    """A program that waits for a person to confirm its login."""

    program: str = Field(description="Name that the program gave.")
    device: str = Field(description="Name of the machine that the program gave; may be empty.")
    address: str = Field(description="Network address from which the program called.")
    same_address: bool = Field(description="Whether the caller has this address, too.")
    created_at: datetime = Field(description="When the program asked.")
    expires_at: datetime = Field(description="When the code expires.")


class DeviceDecision(BaseModel):
    """Whether a program may log in as the caller."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"approve": True}]})

    approve: bool = Field(description="True: the program may log in. False: it is refused.")


class DeviceAnswer(BaseModel):
    """What became of the login of a program."""

    state: Literal["pending", "approved", "denied", "expired"] = Field(
        description="`pending`: ask again later; `expired` also for codes that were used."
    )
    slow_down: bool = Field(default=False, description="Whether the program asked again too soon.")
    login: SignedIn | None = Field(default=None, description="The login, with tokens; null unless `approved`.")


class AccessToken(BaseModel):
    """A short-lived token that identifies its bearer."""

    token: str = Field(description="Send as `Authorization: Bearer …`.", repr=False)
    expires_at: datetime = Field(description="When the token expires.")


class RefreshInput(BaseModel):
    """A refresh token."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"refresh_token": "Zk3…"}]})

    refresh_token: str = Field(description="Refresh token of the last response.", max_length=1_000, repr=False)


class SignOutInput(BaseModel):
    """Refresh token to revoke in addition to the browser's login."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"refresh_token": "Zk3…"}]})

    refresh_token: str | None = Field(
        default=None, description="Refresh token to revoke.", max_length=1_000, repr=False
    )


class SignUpInput(BaseModel):
    """A new account."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"username": "ada", "password": "a long secret"}]})

    username: str = Field(description="1 to 64 letters, digits and . _ @ + -.", max_length=1_000)
    password: str = Field(description="8 to 256 characters.", min_length=8, max_length=256, repr=False)


class PasswordInput(BaseModel):
    """A change of the caller's password."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"old": "a long secret", "new": "a longer secret"}]})

    old: str = Field(description="Current password.", max_length=10_000, repr=False)
    new: str = Field(description="New password, 8 to 256 characters.", min_length=8, max_length=256, repr=False)
    refresh: bool = Field(default=False, description="Return an access token and a refresh token.")


class Ways(BaseModel):
    """Available ways of getting access."""

    password: bool = Field(description="Whether members can log in with user name and password.")
    guests: bool = Field(description="Whether guests are allowed: access without an account for some days.")
    sign_up: bool = Field(description="Whether anyone may create an account.")
    oidc: str | None = Field(
        default=None, description="Display name of the OpenID Connect provider; null if there is none."
    )
    open: bool = Field(
        default=False, description="Whether accounts are disabled, so that every caller is the administrator."
    )


class SessionDocument(BaseModel):
    """A login of a browser or a program."""

    id: str = Field(description="ID of the login.")
    kind: Literal["browser", "program"] = Field(
        description="`browser`: identified by a cookie; `program`: renews its tokens."
    )
    label: str = Field(description="Name that the browser or program gave at login.")
    here: bool = Field(description="Whether it is the login of the requesting browser.")
    created_at: datetime = Field(description="Time of the login.")
    renewed_at: datetime | None = Field(
        default=None, description="When the program last renewed its token; null for browsers."
    )
    expires_at: datetime = Field(description="When the login expires.")


class TokenInput(BaseModel):
    """A personal token to create."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "CI", "scope": "write", "days": 90}]})

    name: str = Field(description="Label that says what the token is for.", min_length=1, max_length=100)
    scope: Scope = Field(default="write", description="`read`: the token may not change anything.")
    days: int | None = Field(default=90, ge=1, le=3_650, description="Lifetime in days; null: until it is deleted.")


class PersonalTokenDocument(BaseModel):
    """A personal token without its secret."""

    id: str = Field(description="ID of the token.")
    name: str = Field(description="Label that says what the token is for.")
    scope: Scope = Field(description="`read`: the token may not change anything.")
    created_at: datetime = Field(description="When the token was created.")
    expires_at: datetime | None = Field(default=None, description="When the token expires; null: never.")
    last_used_at: datetime | None = Field(
        default=None, description="When the token was last used, to the minute; null: never."
    )


class PersonalTokenCreated(PersonalTokenDocument):
    """A new personal token with its secret."""

    token: str = Field(description="The token. It cannot be retrieved again.", repr=False)


class UserInput(BaseModel):
    """An account to create."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"username": "ada", "role": "member"}]})

    username: str = Field(description="1 to 64 letters, digits and . _ @ + -.", max_length=1_000)
    password: str | None = Field(
        default=None,
        description="8 to 256 characters; null: one is generated.",
        min_length=8,
        max_length=256,
        repr=False,
    )
    role: RoleWord = Field(default="member", description="Role of the account.")


class RoleInput(BaseModel):
    """A role."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"role": "admin"}]})

    role: RoleWord = Field(description="New role of the account.")


class BudgetInput(BaseModel):
    """A budget."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"budget_usd": 5.0}]})

    budget_usd: float | None = Field(
        description="US dollars in 24 hours; null: the server's default.", ge=0, le=1e9, allow_inf_nan=False
    )


class UserRow(BaseModel):
    """An account, as shown to administrators."""

    id: int = Field(description="User ID.")
    username: str = Field(description="User name.")
    role: RoleWord = Field(description="Role of the account.")
    disabled: bool = Field(description="Whether the account is disabled.")
    oidc: bool = Field(description="Whether the account logs in with the OpenID Connect provider.")
    budget_usd: float | None = Field(default=None, description="US dollars in 24 hours; null: the server's default.")
    created_at: datetime = Field(description="When the account was created.")
    last_login_at: datetime | None = Field(default=None, description="When the user last logged in; null: never.")


class UserCreated(UserRow):
    """A new account, or one with a new password."""

    password: str | None = Field(
        default=None,
        description="Generated password, which cannot be retrieved again; null if it was given.",
        repr=False,
    )


class UserPage(BaseModel):
    """A page of accounts, newest first."""

    users: list[UserRow] = Field(description="The accounts.")
    next_cursor: int | None = Field(default=None, description="Cursor of the next page; null on the last page.")


class AuditRow(BaseModel):
    """An entry of the audit log."""

    id: str = Field(description="ID of the entry.")
    at: datetime = Field(description="When it happened.")
    actor: str = Field(description="Who did it: `user:ID`, `guest:ID`, `system:WORD`, or `anonymous`.")
    action: str = Field(description="What was done, as `noun.verb`.")
    object: str = Field(description="The object that it was done to.")
    detail: dict[str, Any] = Field(description="Further facts, by name.")
    address: str = Field(description="Network address of the client.")


class AuditPage(BaseModel):
    """A page of the audit log, newest first."""

    entries: list[AuditRow] = Field(description="The entries.")
    next_cursor: str | None = Field(default=None, description="Cursor of the next page; null on the last page.")


class RotateInput(BaseModel):
    """How to rotate the key that signs tokens."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"at_once": False}]})

    at_once: bool = Field(
        default=False, description="Invalidate everything signed with older keys now, instead of letting it expire."
    )


class KeyRotated(BaseModel):
    """The new signing key."""

    key_id: str = Field(description="ID of the key, the `kid` of tokens.")
