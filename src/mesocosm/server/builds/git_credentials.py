"""Credentials of the repositories of workspaces: a token for https, and a deploy key for SSH with its host keys.

They are stored encrypted among the secrets of the workspace, where runs do not look, and are given to git alone, as
variables inside of its sandbox: neither arguments nor files of this machine have them.
"""

import base64
import shlex
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from mesocosm.server.builds.repository_address import RepositorySource
from mesocosm.server.service import Service
from mesocosm.server.workspace_secrets import open_secrets
from mesocosm.store.repositories import Repository

TOKEN, DEPLOY_KEY, HOST_KEYS = "GIT_TOKEN", "GIT_DEPLOY_KEY", "GIT_KNOWN_HOSTS"
"""Names of the secrets of a repository; that of the webhook is elsewhere."""
OPERATORS_HOST_KEYS = Path("/etc/ssh/ssh_known_hosts")
"""Where the operator of a worker puts host keys, as for every program that uses OpenSSH."""

_THROUGH_PROXY = Path(__file__).with_name("ssh_through_proxy.py")
_ASKPASS = """#!/bin/sh
case "$1" in
Username*) printf '%s\\n' "$GIT_USERNAME" ;;
*) printf '%s\\n' "$GIT_PASSWORD" ;;
esac
"""
# An agent has the key, so that it is in no file, and ends with ssh.
_SSH = """#!/bin/sh
exec ssh-agent sh -c '
printf "%s\\n" "$GIT_DEPLOY_KEY" | ssh-add -q - || exit 1
unset GIT_DEPLOY_KEY
exec ssh -F "$@"
' sh {config} "$@"
"""
_SSH_CONFIG = """Host *
BatchMode yes
IdentityFile none
PreferredAuthentications publickey
StrictHostKeyChecking yes
UserKnownHostsFile "{known_hosts}"
GlobalKnownHostsFile {operators}
UpdateHostKeys no
CheckHostIP no
ForwardAgent no
ConnectTimeout 30
LogLevel ERROR
ProxyCommand {proxy} %h %p
"""


@dataclass(frozen=True, slots=True)
class GitCredentials:
    """What gives access to a private repository. Without anything, git asks without a password."""

    username: str = ""
    token: SecretStr | None = None
    deploy_key: SecretStr | None = None
    host_keys: str = ""

    def hidden(self) -> Iterator[str]:
        """Yield the texts that no output may show."""
        if self.token is not None:
            token = self.token.get_secret_value()
            yield token
            yield base64.b64encode(f"{self.username}:{token}".encode()).decode()
        if self.deploy_key is not None:
            yield from (line for line in self.deploy_key.get_secret_value().splitlines() if not line.startswith("---"))

    def prepare(self, source: RepositorySource, work: Path) -> "GitAccess":
        """Write what git needs for a source into its folder `work`, without any secret."""
        if source.ssh and self.deploy_key is not None:
            return _over_ssh(self.deploy_key, self.host_keys, work)
        if not source.ssh and not source.local and self.token is not None:
            askpass = _script(work / "askpass", _ASKPASS)
            secrets = {"GIT_USERNAME": self.username, "GIT_PASSWORD": self.token.get_secret_value()}
            return GitAccess({"GIT_ASKPASS": str(askpass)}, secrets)
        return GitAccess({}, {})


@dataclass(frozen=True, slots=True)
class GitAccess:
    """Variables of git, those that only its sandbox may see, and files outside of its folder that it reads."""

    variables: Mapping[str, str]
    secrets: Mapping[str, str]
    readable: tuple[Path, ...] = ()


def read_credentials(service: Service, repository: Repository) -> GitCredentials:
    """Return the credentials of a repository. Raises InfrastructureError if they cannot be decrypted."""
    found = open_secrets(
        service, repository.workspace_id, credential_holder(repository.id), (TOKEN, DEPLOY_KEY, HOST_KEYS)
    )
    username, _, token = found[TOKEN].get_secret_value().partition(":") if TOKEN in found else ("", "", "")
    return GitCredentials(
        username,
        SecretStr(token) if token else None,
        found.get(DEPLOY_KEY),
        found[HOST_KEYS].get_secret_value() if HOST_KEYS in found else "",
    )


def credential_holder(repository_id: str) -> str:
    """Return the holder of a repository's credentials among the secrets of its workspace."""
    return f"repository:{repository_id}"


def _over_ssh(key: SecretStr, host_keys: str, work: Path) -> GitAccess:
    known_hosts, config, proxy = work / "known_hosts", work / "ssh_config", work / "through_proxy.py"
    known_hosts.write_text(f"{host_keys.strip()}\n")
    proxy.write_text(_THROUGH_PROXY.read_text(encoding="utf-8"), encoding="utf-8")
    python = str(Path(sys.executable).resolve())
    operators = OPERATORS_HOST_KEYS if OPERATORS_HOST_KEYS.is_file() else None
    config.write_text(
        _SSH_CONFIG.format(
            known_hosts=known_hosts,
            operators=operators or "none",
            proxy=shlex.join([python, "-I", "-S", str(proxy)]),
        )
    )
    ssh = _script(work / "ssh", _SSH.format(config=shlex.quote(str(config))))
    secrets = {"GIT_DEPLOY_KEY": key.get_secret_value().strip()}
    return GitAccess(
        {"GIT_SSH": str(ssh), "GIT_SSH_VARIANT": "ssh"}, secrets, (operators,) if operators is not None else ()
    )


def _script(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path
