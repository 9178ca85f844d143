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

    guest_token: str = Field(description="Goes into `Authorization: Bearer …`.", repr=False)
    expires_at: datetime = Field(description="When the guest's stay ends.")


class Holdings(BaseModel):
    """Numbers of objects owned by a member or a team."""

    env_count: int = Field(description="Environments.")
    run_count: int = Field(description="Runs.")


class TeamContext(Holdings):
    """A team of the member, with the numbers of its objects."""

    team_id: str = Field(description="The team.")
    name: str = Field(description="Its name.")
    slug: str = Field(description="Its name in addresses.")
    role: str = Field(description="`owner` or `member`.")
    member_count: int = Field(description="How many are in it.")
    max_members: int = Field(description="How many may be in it.")
    join_code: str | None = Field(default=None, description="The code that others join with; only its owner sees it.")


class AccountContext(BaseModel):
    """Numbers of objects owned by a member, and by their teams."""

    solo: Holdings = Field(description="What belongs to the member alone.")
    teams: list[TeamContext] = Field(description="Their teams, the last joined first.")


class Me(BaseModel):
    """The caller."""

    type: Literal["anonymous", "member", "guest"] = Field(description="How they are known.")
    user_id: int | None = Field(default=None, description="The number of a member.")
    username: str | None = Field(default=None, description="The name of a member.")
    guest_session_id: str | None = Field(default=None, description="The id of a guest.")
    role: RoleWord | None = Field(default=None, description="What a member may do; null for others.")
    scope: Scope = Field(default="write", description="`read` for a personal token that may change nothing.")
    way: str = Field(default="", description="What they were recognised by: jwt, token, web, guest, open, or nothing.")
    context: AccountContext | None = Field(
        default=None, description="What is theirs; for members who ask with `include=context`."
    )


class SignInInput(BaseModel):
    """User name and password."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"username": "ada", "password": "a long secret"}]})

    username: str = Field(description="The user name, whatever its case.", max_length=1_000)
    password: str = Field(description="The password.", max_length=10_000, repr=False)
    refresh: bool = Field(default=False, description="Answer with an access token and a refresh token.")


class TokenPair(BaseModel):
    """An access token, and the refresh token for the next one."""

    token: str = Field(description="Goes into `Authorization: Bearer …`.", repr=False)
    expires_at: datetime = Field(description="When the access token ends.")
    refresh_token: str = Field(description="For `/api/auth/refresh`, once; the answer has the next one.", repr=False)


class SignedIn(BaseModel):
    """A login; the tokens are present if they were requested."""

    detail: str = Field(default="signed in", description="What was done.")
    user_id: int = Field(description="The number of the member.")
    username: str = Field(description="The name of the member.")
    role: RoleWord = Field(description="What the member may do.")
    token: str | None = Field(default=None, description="An access token.", repr=False)
    expires_at: datetime | None = Field(default=None, description="When the access token ends.")
    refresh_token: str | None = Field(default=None, description="For `/api/auth/refresh`, once.", repr=False)


class AccessToken(BaseModel):
    """A short-lived token that identifies its bearer."""

    token: str = Field(description="Goes into `Authorization: Bearer …`.", repr=False)
    expires_at: datetime = Field(description="When it ends.")


class RefreshInput(BaseModel):
    """A refresh token."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"refresh_token": "Zk3…"}]})

    refresh_token: str = Field(description="As the last answer gave it.", max_length=1_000, repr=False)


class SignOutInput(BaseModel):
    """Refresh token to revoke in addition to the browser's login."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"refresh_token": "Zk3…"}]})

    refresh_token: str | None = Field(default=None, description="A refresh token to end.", max_length=1_000, repr=False)


class SignUpInput(BaseModel):
    """A new account."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"username": "ada", "password": "a long secret"}]})

    username: str = Field(description="1 to 64 letters, digits and . _ @ + -.", max_length=1_000)
    password: str = Field(description="At least 8 characters.", min_length=8, max_length=256, repr=False)


class PasswordInput(BaseModel):
    """A change of the caller's password."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"old": "a long secret", "new": "a longer secret"}]})

    old: str = Field(description="The password until now.", max_length=10_000, repr=False)
    new: str = Field(description="The password from now on.", min_length=8, max_length=256, repr=False)
    refresh: bool = Field(default=False, description="Answer with an access token and a refresh token.")


class Ways(BaseModel):
    """Available ways of getting access."""

    password: bool = Field(description="With a name and a password.")
    guests: bool = Field(description="Without an account, for some days.")
    sign_up: bool = Field(description="Everybody may make an account.")
    oidc: str | None = Field(default=None, description="What to call the other provider that they can sign in with.")
    open: bool = Field(default=False, description="Accounts are switched off: everybody is the administrator.")


class SessionDocument(BaseModel):
    """A login of a browser or a program."""

    id: str = Field(description="The sign-in's id.")
    kind: Literal["browser", "program"] = Field(description="A browser with a cookie, or a program that renews tokens.")
    label: str = Field(description="What it called itself when it signed in.")
    here: bool = Field(description="Whether it is the browser that asks.")
    created_at: datetime = Field(description="When it signed in.")
    renewed_at: datetime | None = Field(default=None, description="When a program last renewed its token.")
    expires_at: datetime = Field(description="When it ends by itself.")


class TokenInput(BaseModel):
    """A personal token to create."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "CI", "scope": "write", "days": 90}]})

    name: str = Field(description="What it is for.", min_length=1, max_length=100)
    scope: Scope = Field(default="write", description="`read` may change nothing.")
    days: int | None = Field(default=90, ge=1, le=3_650, description="How long it lasts; null: until it is deleted.")


class PersonalTokenDocument(BaseModel):
    """A personal token without its secret."""

    id: str = Field(description="The token's id.")
    name: str = Field(description="What it is for.")
    scope: Scope = Field(description="What it may do.")
    created_at: datetime = Field(description="When it was made.")
    expires_at: datetime | None = Field(default=None, description="When it ends; null: never.")
    last_used_at: datetime | None = Field(default=None, description="When it was last used, to the minute.")


class PersonalTokenCreated(PersonalTokenDocument):
    """A new personal token with its secret."""

    token: str = Field(description="The token itself. It is shown this once.", repr=False)


class UserInput(BaseModel):
    """An account to create."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"username": "ada", "role": "member"}]})

    username: str = Field(description="1 to 64 letters, digits and . _ @ + -.", max_length=1_000)
    password: str | None = Field(
        default=None, description="Null: one is made up.", min_length=8, max_length=256, repr=False
    )
    role: RoleWord = Field(default="member", description="What they may do.")


class RoleInput(BaseModel):
    """A role."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"role": "admin"}]})

    role: RoleWord = Field(description="What they may do from now on.")


class BudgetInput(BaseModel):
    """A budget."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"budget_usd": 5.0}]})

    budget_usd: float | None = Field(
        description="US dollars in 24 hours; null: as the settings say.", ge=0, le=1e9, allow_inf_nan=False
    )


class UserRow(BaseModel):
    """An account, as shown to administrators."""

    id: int = Field(description="Their number.")
    username: str = Field(description="Their name.")
    role: RoleWord = Field(description="What they may do.")
    disabled: bool = Field(description="Whether they are kept out.")
    oidc: bool = Field(description="Whether they sign in with another provider.")
    budget_usd: float | None = Field(default=None, description="US dollars in 24 hours; null: as the settings say.")
    created_at: datetime = Field(description="Since when they are there.")
    last_login_at: datetime | None = Field(default=None, description="When they last signed in.")


class UserCreated(UserRow):
    """A new account, or one with a new password."""

    password: str | None = Field(
        default=None, description="The password where it was made up. It is shown this once.", repr=False
    )


class UserPage(BaseModel):
    """A page of accounts, newest first."""

    users: list[UserRow] = Field(description="The people.")
    next_cursor: int | None = Field(default=None, description="For the next page; null on the last one.")


class AuditRow(BaseModel):
    """An entry of the audit log."""

    id: str = Field(description="The entry's id.")
    at: datetime = Field(description="When.")
    actor: str = Field(description="Who: `user:ID`, `guest:ID`, `system:WORD`, or anonymous.")
    action: str = Field(description="What, as `noun.verb`.")
    object: str = Field(description="To what.")
    detail: dict[str, Any] = Field(description="What else is known.")
    address: str = Field(description="From where.")


class AuditPage(BaseModel):
    """A page of the audit log, newest first."""

    entries: list[AuditRow] = Field(description="The entries.")
    next_cursor: str | None = Field(default=None, description="For the next page; null on the last one.")


class RotateInput(BaseModel):
    """How to rotate the key that signs tokens."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"at_once": False}]})

    at_once: bool = Field(
        default=False, description="End everything that older keys signed, instead of letting it expire by itself."
    )


class KeyRotated(BaseModel):
    """The new signing key."""

    key_id: str = Field(description="Its id, the `kid` of tokens.")
