"""The caller's own account: limits, logins, personal tokens, password."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from urllib.parse import quote, urlencode

from fastapi import Request, Response

from mesocosm.server.auth.sign_ins import fingerprint
from mesocosm.server.auth.signed_addresses import signed_address
from mesocosm.server.auth.token_signing import BadToken
from mesocosm.server.permissions import GrantedObject
from mesocosm.server.permissions.authentication import create_personal_token, personal_token, signed_in, start_browser
from mesocosm.server.refusal import Refusal
from mesocosm.server.run_requests.submission import budget_of, check_team, spent_of, terms_of
from mesocosm.server.schemas.account import (
    AccountContext,
    DeviceLoginDocument,
    Holdings,
    PasswordInput,
    PersonalTokenCreated,
    PersonalTokenDocument,
    SessionDocument,
    SignedIn,
    TeamContext,
    TokenInput,
)
from mesocosm.server.schemas.document import instant
from mesocosm.server.schemas.limits import BudgetDocument, LimitsDocument
from mesocosm.server.web.cookies import DEVICE_COOKIE
from mesocosm.store.queue import Allowance
from mesocosm.store.sessions import REFRESH, Session
from mesocosm.store.usage import OwnedCounts, TeamUsage
from mesocosm.store.users import User


class OwnAccount(GrantedObject):
    """The account of the caller. Methods for members raise Refusal 401 or 403 for other callers."""

    def limits(self, team_id: str | None) -> LimitsDocument:
        """Return the caller's limits, with the budget of one of their teams; without a login those of a guest.

        Raises Refusal 403 for a team that the caller is not a member of.
        """
        service, caller, settings = self._service, self._viewer.caller, self._service.settings
        team = check_team(service, self._viewer, team_id) if caller.member else None
        left = (
            Allowance() if caller.anonymous else self._store.queue.used(caller.actor, terms_of(service, self._viewer))
        )
        guest = not caller.member
        quota = settings.quota(guest=guest)
        return LimitsDocument(
            episodes_per_run=quota.episodes,
            steps_per_episode=settings.max_steps,
            tokens_per_episode=quota.episode_tokens,
            episode_seconds=settings.episode_s,
            run_seconds=settings.run_s,
            run_usd=settings.run_budget_usd,
            may_run=not caller.anonymous,
            domains=list(settings.demo_domains) if guest else None,
            cooldown_seconds=quota.cooldown_s,
            cooldown_left_seconds=left.cooldown_s,
            runs_per_day=quota.per_day,
            runs_left_today=max(quota.per_day - left.today, 0),
            waiting_at_most=quota.waiting,
            waiting=left.waiting,
            queue_length=self._store.workers.queue().runs_queued,
            budget=self._budget("guest:" if caller.anonymous else caller.actor, None),
            team_budget=None if team is None else self._budget(caller.actor, team),
            environments_per_owner=settings.environments_per_owner,
            team_size=settings.team_size,
            sign_up=settings.sign_up,
            guests=settings.guests,
        )

    def context(self) -> AccountContext:
        """Return how many environments and runs the member has, and those of their teams."""
        user_id, usage = self._viewer.user_id, self._store.quota_usage
        most = self._service.settings.team_size
        return AccountContext(
            solo=_holdings(usage.solo(user_id)), teams=[_team_context(team, most) for team in usage.teams(user_id)]
        )

    def tokens(self) -> Sequence[PersonalTokenDocument]:
        """Return the personal tokens, the newest first."""
        return [personal_token(token) for token in self._store.personal_tokens.of(self._viewer.user_id)]

    def create_token(self, wanted: TokenInput) -> PersonalTokenCreated:
        """Create a personal token. Raises Refusal: 403 if called with a personal token, 409 if there are too many."""
        return create_personal_token(self._service, self._user(), wanted, self._viewer.address)

    def token_in_use(self, secret: str) -> PersonalTokenDocument | None:
        """Return the caller's personal token with this secret; None if it is no personal token of theirs."""
        found = self._store.personal_tokens.find(fingerprint(secret))
        return personal_token(found) if found is not None and found.user_id == self._viewer.user_id else None

    def access_ends(self, secret: str) -> datetime | None:
        """Return when an access token ends; None for anything else."""
        try:
            return instant(self._service.accounts.signer.read(secret)["exp"])
        except BadToken:
            return None

    def signed_address(self, method: str, path: str, query: Mapping[str, str], seconds: float) -> str:
        """Return an address, without its host, that lets whoever has it send one kind of request as the caller.

        Raises Refusal 403 for a change if the caller may only read.
        """
        viewer = self._viewer
        if viewer.caller.scope == "read" and method != "GET":
            raise Refusal(403, "this personal token may only read; create one with the scope write")
        user = self._store.users.get(viewer.user_id)
        if user is None:
            # Without accounts nobody needs a login.
            return f"{quote(path)}?{urlencode(query)}"
        return signed_address(self._service.accounts.signer, user, method, path, query, seconds)

    def delete_token(self, token_id: str) -> None:
        """Delete a personal token. Raises Refusal 404."""
        if not self._store.personal_tokens.remove(self._viewer.user_id, token_id):
            raise Refusal(
                404, f"you have no token {token_id[:100]!r}; it is deleted already, or belongs to another account"
            )
        self._note("token.delete", f"token:{token_id[:100]}")

    def device_login(self, user_code: str) -> DeviceLoginDocument:
        """Return the program that waits for a code. Raises Refusal as `decide_device`."""
        address = self._viewer.address
        found = self._service.accounts.device_flow.find(user_code, self._user(), address)
        return DeviceLoginDocument(
            program=found.program,
            device=found.device,
            address=found.address,
            same_address=found.address == address,
            created_at=instant(found.created_at),
            expires_at=instant(found.expires_at),
        )

    def decide_device(self, user_code: str, *, approve: bool) -> None:
        """Let the program that waits for a code log in as the caller, or refuse it.

        Raises Refusal: 403 if called with a personal token, 404 for an unknown code, 409 if accounts are disabled, 429
        after too many wrong codes.
        """
        user = self._user()
        flow = self._service.accounts.device_flow
        found = flow.decide(user_code, user, self._viewer.address, approve=approve)
        told: dict[str, object] = {"program": found.program, "device": found.device, "from": found.address}
        self._note("device.approve" if approve else "device.deny", user.actor, told)

    def sessions(self, cookie: str) -> Sequence[SessionDocument]:
        """Return the logins, newest first; `cookie` is that of the requesting browser. Raises Refusal 403, 409."""
        user, found = self._user(), self._service.accounts.signins.web(cookie)
        here = None if found is None else found.session.id
        return [_session(session, began, here) for session, began in self._store.sessions.of(user.id)]

    def end_session(self, session_id: str) -> None:
        """End a login. Raises Refusal 403, 404, 409."""
        if not self._store.sessions.end_family(self._user().id, session_id):
            raise Refusal(
                404, f"you have no sign-in {session_id[:100]!r}; it has ended already, or belongs to another account"
            )
        self._note("session.end", f"session:{session_id[:100]}")

    async def change_password(self, body: PasswordInput, request: Request, response: Response) -> SignedIn:
        """Change the password, which ends every other login.

        Raises Refusal: 400 for a wrong old password, 403 if called with a personal token, 409 for an account without a
        password, and as `Accounts.check_password`.
        """
        service, viewer = self._service, self._viewer

        def work() -> SignedIn:
            user = self._with_password(body, request)
            if viewer.caller.way == "web":
                start_browser(service, viewer.address, request, response, user)
            return signed_in(service, user, request, tokens=body.refresh)

        return await service.accounts.passwords.in_turn(work)

    def _with_password(self, body: PasswordInput, request: Request) -> User:
        accounts, user = self._service.accounts, self._user()
        if not user.password:
            oidc = self._service.settings.oidc_name
            raise Refusal(409, f"this account signs in with {oidc}; change the password there")
        device = request.cookies.get(DEVICE_COOKIE, "")
        try:
            accounts.check_password(user.username, body.old, self._viewer.address, device)
        except Refusal as refusal:
            if refusal.status == 401:
                raise Refusal(400, "the old password is wrong") from refusal
            raise
        user = accounts.change_password(user, body.new)
        self._note("user.password", user.actor)
        return user

    def _user(self) -> User:
        """Return the user. Raises Refusal: 403 if called with a personal token, 409 if accounts are disabled."""
        user_id = self._viewer.user_id
        if self._viewer.caller.way == "token":
            raise Refusal(403, "a personal token may not do that; log in with your password")
        user = self._store.users.get(user_id)
        if user is None:
            raise Refusal(409, "accounts are disabled on this server")
        return user

    def _budget(self, actor: str, team_id: str | None) -> BudgetDocument:
        limit, spent = budget_of(self._service, actor, team_id), spent_of(self._service, actor, team_id)
        return BudgetDocument.of_spent(limit, spent)

    def _note(self, action: str, target: str, detail: dict[str, object] | None = None) -> None:
        self._store.audit.note(self._viewer.caller.actor, action, target, detail or {}, self._viewer.address)


def _holdings(held: OwnedCounts) -> Holdings:
    return Holdings(env_count=held.environments, run_count=held.runs)


def _team_context(team: TeamUsage, most: int) -> TeamContext:
    return TeamContext(
        team_id=team.id,
        name=team.name,
        slug=team.slug,
        role=team.role,
        member_count=team.members,
        max_members=most,
        join_code=team.join_code if team.role == "owner" else None,
        env_count=team.held.environments,
        run_count=team.held.runs,
    )


def _session(session: Session, began: float, here: str | None) -> SessionDocument:
    program = session.kind == REFRESH
    return SessionDocument(
        id=session.family,
        kind="program" if program else "browser",
        label=session.label,
        here=session.id == here,
        created_at=instant(began),
        renewed_at=instant(session.created_at) if program else None,
        expires_at=instant(session.expires_at),
    )
