"""Tell the Git host of a workspace how a run of a commit is: pending, then its end.

Statuses have the forms that the hosts document:

* GitHub and Gitea (also Forgejo): `POST …/repos/OWNER/REPO/statuses/SHA` with state, context, description, target_url.
* GitLab: `POST …/projects/ID/statuses/SHA` with state, name, description, target_url; the ID is the path, encoded.

They are sent with the token of the repository, and again with growing pauses if the host does not answer. A host that
refuses is not asked again; why stands in the document of the repository.
"""

import asyncio
import json
import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final, Literal, cast
from urllib.parse import quote, urlsplit

import msgspec

from mesocosm import __version__
from mesocosm.core.failure import InfrastructureError, UnknownName
from mesocosm.core.foreign import read_json
from mesocosm.core.redact import Redactor
from mesocosm.core.run import Run, RunStatus
from mesocosm.core.score import interval_text, number_text
from mesocosm.http.client import HttpClient
from mesocosm.http.errors import HttpError
from mesocosm.http.retry_after import retry_after
from mesocosm.server.builds.git_credentials import GitCredentials, read_credentials
from mesocosm.server.builds.repository_address import RepositorySource
from mesocosm.server.builds.sync import read_repository
from mesocosm.server.refusal import Refusal
from mesocosm.server.service import Service
from mesocosm.server.settings import Settings
from mesocosm.store.commit_statuses import CommitStatus
from mesocosm.store.repositories import Repository
from mesocosm.store.run_requests import RunRequest

HostKind = Literal["github", "gitlab", "gitea"]
State = Literal["pending", "success", "failure", "error"]

ATTEMPT_S: Final = 15.0
PAUSES_S: Final = (5.0, 30.0, 120.0, 600.0, 1_800.0, 7_200.0)
"""Seconds after each attempt that failed, before the next; after one more it is given up."""
_KNOWN: Final[Mapping[str, HostKind]] = {"github.com": "github", "gitlab.com": "gitlab", "codeberg.org": "gitea"}
_STATES: Final[Mapping[RunStatus, State]] = {
    RunStatus.FINISHED: "success",
    RunStatus.FAILED: "failure",
    RunStatus.STOPPED: "error",
    RunStatus.PARTIAL: "error",
}
_GITLAB_STATES: Final[Mapping[State, str]] = {
    "pending": "pending",
    "success": "success",
    "failure": "failed",
    "error": "canceled",
}
_LONGEST_DESCRIPTION, _LONGEST_ANSWER = 140, 200
_AGAIN = frozenset({408, 425, 429})
_NO_CHANGE = "cannot transition status"
"""What GitLab says with 400 of a status that is there already."""


@dataclass(frozen=True, slots=True)
class _Message:
    """A status to send. `final`: the run has ended."""

    repository: Repository
    host: str
    url: str
    headers: Mapping[str, str]
    body: Mapping[str, str]
    credentials: GitCredentials
    final: bool


@dataclass(frozen=True, slots=True)
class _Answer:
    """How an attempt went: `error` is empty if it is done; `again` says that it may go better later, after `wait_s`."""

    error: str = ""
    again: bool = False
    wait_s: float = 0.0


def kind_of_host(settings: Settings, url: str) -> HostKind | None:
    """Return which API the host of a repository has; None if it is not known."""
    known = {**_KNOWN, **dict(entry.rpartition("=")[::2] for entry in settings.git_host_kinds)}
    parts = urlsplit(url)
    place = parts.netloc.rpartition("@")[2]
    return cast(HostKind | None, known.get(place) or known.get(parts.hostname or ""))


async def send_commit_status(service: Service, status: CommitStatus) -> None:
    """Make one attempt to send a claimed status, and store how it went. Raises InfrastructureError."""
    statuses = service.store.commit_statuses
    try:
        message = await asyncio.to_thread(_message, service, status)
    except InfrastructureError:
        await asyncio.to_thread(statuses.postpone, status, PAUSES_S[1])
        raise
    if message is None:
        await asyncio.to_thread(statuses.drop, status)
        return
    answer = await _send(service.settings, message)
    await asyncio.to_thread(_store, service, status, message, answer)


def _store(service: Service, status: CommitStatus, message: _Message, answer: _Answer) -> None:
    store = service.store
    store.repositories.note_status(message.repository.id, answer.error)
    if answer.again and status.attempts <= len(PAUSES_S):
        pause = max(PAUSES_S[max(status.attempts, 1) - 1], min(answer.wait_s, PAUSES_S[-1]))
        store.commit_statuses.postpone(status, pause)
    elif message.final:
        store.commit_statuses.drop(status)
    else:
        store.commit_statuses.told(status)


def _message(service: Service, status: CommitStatus) -> _Message | None:
    """Return what to send; None if there is nobody to tell, or another run speaks for the commit."""
    store, settings = service.store, service.settings
    request = store.run_requests.get(status.run_id)
    if request is None or request.workspace_id is None:
        return None
    repository = store.repositories.of(request.workspace_id)
    if repository is None or not _of_commit(service, repository, request):
        return None
    try:
        source = read_repository(settings, repository.url, "", "")
        run = store.runs.get(request.run_id)
    except (UnknownName, Refusal):
        return None
    credentials = read_credentials(service, repository)
    kind = kind_of_host(settings, source.url)
    if kind is None or credentials.token is None or store.commit_statuses.superseded(request):
        return None
    final = not request.open and run.status in _STATES
    state: State = _STATES[run.status] if final else "pending"
    configuration = PurePosixPath(request.configuration).stem or str(request.config.get("rollout") or "run")
    fields = {
        "context": f"mesocosm/{configuration}",
        "description": _described(run)[:_LONGEST_DESCRIPTION] if final else "the evaluation has been submitted",
    }
    if settings.public_url:
        fields["target_url"] = f"{settings.public_url.rstrip('/')}/runs/{run.id}"
    url, headers, body = status_request(
        kind, source, request.commit_id, state, fields, credentials.token.get_secret_value()
    )
    return _Message(repository, source.host, url, headers, body, credentials, final)


def _of_commit(service: Service, repository: Repository, request: RunRequest) -> bool:
    """Return whether the code of a run is that of its commit, as it was synced; an upload may have other files."""
    synced = service.store.syncs.of_commit(repository.id, request.commit_id)
    return synced is not None and synced.snapshot is not None and synced.snapshot == request.snapshot


def status_request(
    kind: HostKind, source: RepositorySource, commit: str, state: State, fields: Mapping[str, str], token: str
) -> tuple[str, Mapping[str, str], Mapping[str, str]]:
    """Return the URL, the headers and the body of a status."""
    parts = urlsplit(source.url)
    host = source.host if source.ssh else parts.netloc
    path = quote(parts.path.strip("/"))
    plain = {"User-Agent": f"mesocosm/{__version__}", "Content-Type": "application/json"}
    if kind == "gitlab":
        renamed = {"name" if name == "context" else name: value for name, value in fields.items()}
        project = quote(parts.path.strip("/"), safe="")
        url = f"https://{host}/api/v4/projects/{project}/statuses/{commit}"
        return url, {**plain, "PRIVATE-TOKEN": token}, {"state": _GITLAB_STATES[state], **renamed}
    if kind == "gitea":
        url = f"https://{host}/api/v1/repos/{path}/statuses/{commit}"
        return url, {**plain, "Authorization": f"token {token}"}, {"state": state, **fields}
    api = "https://api.github.com" if host == "github.com" else f"https://{host}/api/v3"
    accepted = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
    headers = {**plain, **accepted, "Authorization": f"Bearer {token}"}
    return f"{api}/repos/{path}/statuses/{commit}", headers, {"state": state, **fields}


def _described(run: Run) -> str:
    """Return how a run ended in one line. Whoever may read the repository sees it, so it has no texts of the run."""
    ended = run.counts.done
    if run.status is RunStatus.FAILED:
        return "the evaluation failed"
    if run.status is not RunStatus.FINISHED:
        word = "stopped" if run.status is RunStatus.STOPPED else "incomplete"
        return f"{word}: {ended:,} of {run.counts.planned:,} episodes"
    score = run.primary
    if score is None or score.value is None:
        return f"finished without a score, {ended:,} episodes"
    said = f"{number_text(score.value)} {interval_text(score.low, score.high, weak=score.weak)}".rstrip()
    return f"{score.name} {said}, n={score.n_scored:,}/{score.n_planned:,}"


async def _send(settings: Settings, message: _Message) -> _Answer:
    redactor, place = Redactor(message.credentials.hidden()), urlsplit(message.url)
    private = f"{place.hostname}:{place.port or 443}" in settings.git_hosts
    trusted = os.environ.get("GIT_SSL_CAINFO") or None
    tls = await asyncio.to_thread(ssl.create_default_context, cafile=trusted)
    client = HttpClient(public_only=not private, tls=tls, max_response=1024 * 1024)
    try:
        response = await client.request(
            "POST", message.url, headers=message.headers, body=json.dumps(message.body).encode(), timeout=ATTEMPT_S
        )
    except HttpError as error:
        return _Answer(f"{message.host} was not told the status of a commit: {redactor.text(error.cause)}", again=True)
    finally:
        await client.close()
    if 200 <= response.status < 300:
        return _Answer()
    told = " ".join(redactor.text(_told(response.body)).split())[:_LONGEST_ANSWER]
    if response.status == 400 and told.lower().startswith(_NO_CHANGE):
        return _Answer()
    words = f"{message.host} answered {response.status} to the status of a commit{f': {told}' if told else ''}"
    if response.status in (401, 403, 404):
        words += ". The token needs the right to set commit statuses: mesocosm workspace credentials --token-stdin"
    again = response.status in _AGAIN or response.status >= 500
    return _Answer(words, again=again, wait_s=retry_after(response.headers.get) or 0.0)


def _told(body: bytes) -> str:
    """Return the message in an error of a host's API; empty if there is none."""
    try:
        document: Any = read_json(body)
    except msgspec.DecodeError:
        return ""
    said = document.get("message") or document.get("error") if isinstance(document, dict) else None
    return said if isinstance(said, str) else "" if said is None else json.dumps(said)
