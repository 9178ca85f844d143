"""`mesocosm workspace credentials`: token and deploy key of a private repository. They are never arguments or shown."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from mesocosm.cli.command import options
from mesocosm.cli.remote.connection import Remote, document, member_client, workspace_for, workspace_option
from mesocosm.cli.render import answer, emit, table, when
from mesocosm.cli.secret import read_value
from mesocosm.core.failure import UsageError

if TYPE_CHECKING:
    from mesocosm.server.schemas.git_credential import CredentialKind, GitCredentialInput

_FILE = click.Path(path_type=Path, dir_okay=False)
_KEYGEN_S = 10.0


@dataclass(frozen=True, slots=True)
class CredentialOptions:
    """The options by which credentials are given."""

    token_stdin: bool
    username: str | None
    deploy_key: Path | None
    known_hosts: Path | None

    def __bool__(self) -> bool:
        return self.token_stdin or self.deploy_key is not None

    def check(self, *, asks: bool) -> None:
        """Raise UsageError for options that do not go together, or a question that standard input cannot answer."""
        if self.username and not self.token_stdin:
            raise UsageError("--username goes with --token-stdin")
        if self.known_hosts is not None and self.deploy_key is None:
            raise UsageError("--known-hosts goes with --deploy-key")
        if asks and self.token_stdin and sys.stdin is not None and not sys.stdin.isatty():
            raise UsageError("the token comes from standard input, so nothing can be asked; add --yes")

    def read(self, url: str) -> "GitCredentialInput":
        """Return what is sent, for the repository at an address. Raises UsageError, InvalidInput."""
        from mesocosm.server.schemas.git_credential import GitCredentialInput

        fields: dict[str, Any] = {"username": self.username}
        if self.token_stdin:
            fields["token"] = read_value("the token")
        if self.deploy_key is not None:
            fields["deploy_key"] = read_value("the deploy key", None, self.deploy_key)
            fields["host_keys"] = _host_keys(self.known_hosts, url)
        return document(GitCredentialInput, fields)


def credential_options(command: Any) -> Any:
    """Add --token-stdin, --username, --deploy-key and --known-hosts."""
    for added in (
        click.option(
            "--known-hosts", type=_FILE, help="File with the host keys of an SSH host  [what your ssh knows of it]."
        ),
        click.option(
            "--deploy-key", type=_FILE, help="File with a private SSH key without a passphrase, for an SSH address."
        ),
        click.option("--username", metavar="NAME", help="User name for the token, if the host asks for a certain one."),
        click.option(
            "--token-stdin", is_flag=True, help="Read a token that may read the repository from standard input, or ask."
        ),
    ):
        command = added(command)
    return command


@click.command(cls=Remote)
@credential_options
@click.option("--delete", "gone", type=click.Choice(["token", "deploy-key"]), help="Delete it instead.")
@workspace_option
def credentials(gone: "CredentialKind | None", workspace: str | None, **given: Any) -> None:
    """Set the token or the deploy key of the workspace's repository, or list what is set. For admins and owners.

    They are used to read the repository, the token also to set commit statuses. Nobody can read them again.
    """
    chosen = CredentialOptions(**given)
    chosen.check(asks=False)
    if gone and chosen:
        raise UsageError("give --delete, or what to set; not both")
    client = member_client()
    place = workspace_for(client, workspace)
    known = client.repositories.get(place)
    if gone:
        client.repositories.delete_credential(place, gone)
        answer(f"Deleted the {gone.replace('-', ' ')} of {known.identity}.", {"deleted": gone})
        return
    if not chosen:
        _list(known.identity, known.credentials)
        return
    sent = chosen.read(known.url)
    made = client.repositories.set_credentials(place, sent)
    if sent.deploy_key is not None:
        tell_public_key(sent)
    answer(f"Set the credentials of {made.identity}. Try them: mesocosm workspace sync --wait", made.credentials)


def tell_public_key(sent: "GitCredentialInput") -> None:
    """Print the public half of a deploy key, for the settings of the repository at its host."""
    from mesocosm.server.schemas.git_credential import public_key

    if sent.deploy_key is not None:
        click.echo(f"public half, a read-only deploy key at the Git host: {public_key(sent.deploy_key)}", err=True)


def _list(identity: str, found: "list[Any]") -> None:
    if options().json:
        emit(found)
        return
    if not found:
        click.echo(f"{identity} has no credentials; set one with --token-stdin or --deploy-key FILE", err=True)
        return
    rows = [
        [
            one.kind,
            one.created_by or "–",
            when(one.updated_at.timestamp()),
            when(one.last_used_at.timestamp() if one.last_used_at else None),
            "" if one.usable else "its key is missing; set it again",
        ]
        for one in found
    ]
    table(["kind", "set by", "updated", "last used", ""], rows, options(), whole=(0,))


def _host_keys(file: Path | None, url: str) -> str:
    """Return the lines of a known_hosts file: the given one, or those that ssh knows here of the host of an address."""
    if file is not None:
        try:
            return file.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise UsageError(f"{file} cannot be read: {error.strerror or error}; name it with --known-hosts") from error
    parts = urlsplit(url)
    name = parts.hostname or ""
    if parts.scheme != "ssh" or not name:
        return ""
    asked = name if parts.port in (None, 22) else f"[{name}]:{parts.port}"
    try:
        done = subprocess.run(  # noqa: S603 -- ssh-keygen itself, and no shell
            ["ssh-keygen", "-F", asked],  # noqa: S607 -- that of the user's ssh
            capture_output=True,
            text=True,
            timeout=_KEYGEN_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return "".join(f"{line}\n" for line in done.stdout.splitlines() if not line.startswith("#"))
