"""Webhooks of repositories: a Git host that knows the secret of one may ask for a sync."""

import hashlib
import hmac
import re
from collections.abc import Mapping
from typing import Any, Self
from urllib.parse import parse_qs

import msgspec
from pydantic import SecretStr

from mesocosm.core.foreign import read_json
from mesocosm.server.auth.access_rules import Viewer
from mesocosm.server.builds.git_credentials import credential_holder
from mesocosm.server.builds.sync import read_repository
from mesocosm.server.permissions import GrantedObject
from mesocosm.server.refusal import Refusal
from mesocosm.server.schemas.repository import RepositoryHookAnswer
from mesocosm.server.service import Service
from mesocosm.server.workspace_secrets import open_secrets
from mesocosm.store.repositories import Repository, Sync, SyncCause

HOOK_SECRET = "GIT_WEBHOOK_SECRET"  # noqa: S105 -- a name
_HEADS = "refs/heads/"
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REFUSED = "there is no such webhook, or its secret is another one"


class RepositoryHook(GrantedObject):
    """The webhook of a repository, for anybody who can prove that they know its secret."""

    def __init__(self, service: Service, viewer: Viewer, repository: Repository | None) -> None:
        super().__init__(service, viewer)
        self._repository = repository

    @classmethod
    def find(cls, service: Service, viewer: Viewer, repository_id: str) -> Self:
        """Return the webhook with an id, whether there is one or not: `receive` refuses both in the same words."""
        return cls(service, viewer, service.store.repositories.get(repository_id))

    def receive(self, headers: Mapping[str, str], body: bytes) -> RepositoryHookAnswer:
        """Queue a sync of the branch that was pushed, if it is followed and its newest commit is not synced.

        What is synced is what the repository says, so that repeated or old calls change nothing. Raises Refusal 404
        unless the call is signed with the secret, or has it as a token.
        """
        repository = self._repository
        if repository is None or not self._proven(repository, headers, body):
            raise Refusal(404, _REFUSED)
        if "ping" in (headers.get("x-github-event"), headers.get("x-gitea-event")):
            return RepositoryHookAnswer(sync=None)
        ref, commit = _pushed(body)
        branch = ref.removeprefix(_HEADS) if ref else repository.branch
        if (ref and not ref.startswith(_HEADS)) or (commit and not commit.strip("0")):
            return RepositoryHookAnswer(sync=None)
        try:
            branch = read_repository(self._service.settings, repository.url, "", branch).ref
        except Refusal:
            return RepositoryHookAnswer(sync=None)
        syncs = self._store.syncs
        if repository.branch and branch != repository.branch and branch not in syncs.branches(repository.id):
            return RepositoryHookAnswer(sync=None)
        newest = syncs.newest(repository.id, branch)
        if newest is not None and commit == newest.commit_id:
            return RepositoryHookAnswer(sync=None)
        # Before the first sync the default branch is not known; the worker asks for it.
        wanted = branch if repository.branch else ""
        queued = syncs.add(Sync(repository_id=repository.id, number=0, branch=wanted, cause=SyncCause.PUSH))
        return RepositoryHookAnswer(sync=None if queued is None else queued.number)

    def _proven(self, repository: Repository, headers: Mapping[str, str], body: bytes) -> bool:
        secret = self._secret(repository)
        if secret is None:
            return False
        key = secret.get_secret_value().encode()
        signed = f"sha256={hmac.new(key, body, hashlib.sha256).hexdigest()}".encode()
        proofs = [
            (headers.get("x-hub-signature-256"), signed),
            *((headers.get(name), key) for name in ("x-gitlab-token", "x-mesocosm-token")),
        ]
        return any(given is not None and hmac.compare_digest(given.encode(), known) for given, known in proofs)

    def _secret(self, repository: Repository) -> SecretStr | None:
        holder = credential_holder(repository.id)
        return open_secrets(self._service, repository.workspace_id, holder, [HOOK_SECRET]).get(HOOK_SECRET)


def _pushed(body: bytes) -> tuple[str, str]:
    """Return the ref and the commit in the body of a push, empty if it does not say."""
    if body.startswith(b"payload="):
        body = parse_qs(body.decode(errors="replace"), max_num_fields=10).get("payload", [""])[0].encode()
    try:
        document: Any = read_json(body)
    except msgspec.DecodeError:
        return "", ""
    if not isinstance(document, dict):
        return "", ""
    ref, commit = (document.get(name) for name in ("ref", "after"))
    told = commit if isinstance(commit, str) and _COMMIT.fullmatch(commit) else ""
    return (ref if isinstance(ref, str) else ""), told
