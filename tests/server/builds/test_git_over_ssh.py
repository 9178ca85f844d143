"""Repositories behind a real sshd on loopback, read with a deploy key by ssh in its sandbox."""

import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic import SecretStr
from tests.server.builds.conftest import Repositories

from mesocosm.server.builds.checkout import fetch_commit, list_branches
from mesocosm.server.builds.directory import BuildDirectory
from mesocosm.server.builds.errors import BuildError
from mesocosm.server.builds.git_credentials import OPERATORS_HOST_KEYS, GitCredentials
from mesocosm.server.builds.log import BuildLog
from mesocosm.server.builds.repository_address import RepositorySource, read_source
from mesocosm.server.settings import Settings, read_settings

SSHD = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
pytestmark = pytest.mark.skipif(
    SSHD is None or shutil.which("ssh-keygen") is None, reason="needs openssh-server (apt-get install openssh-server)"
)


def keygen(path: Path, *more: str) -> str:
    """Make a key without a passphrase; return its public half."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path), *more], check=True)
    return path.with_name(f"{path.name}.pub").read_text().strip()


@dataclass
class Host:
    """A running sshd with one deploy key, and its place as an operator lists it."""

    place: str
    folder: Path
    host_key: str

    @property
    def credentials(self) -> GitCredentials:
        """Credentials that the host accepts."""
        return GitCredentials(
            deploy_key=SecretStr((self.folder / "deploy").read_text()), host_keys=self.known(self.host_key)
        )

    def known(self, key: str) -> str:
        """Return the line of a known_hosts file with a key of this host."""
        name, _, port = self.place.partition(":")
        return f"[{name}]:{port} {' '.join(key.split()[:2])}\n"

    def source(self, path: Path, ref: str = "") -> RepositorySource:
        """Return the source of a repository of this host."""
        return RepositorySource(f"ssh://{getpass.getuser()}@{self.place}{path}", ref)


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    """An SSH host on loopback that accepts one deploy key, for git alone."""
    folder = tmp_path / "sshd"
    folder.mkdir(mode=0o700)
    host_key = keygen(folder / "host")
    authorized = folder / "authorized"
    only_git = 'restrict,command="git shell -c \\"$SSH_ORIGINAL_COMMAND\\""'
    authorized.write_text(f"{only_git} {keygen(folder / 'deploy')}\n")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (folder / "config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder / 'host'}\nAuthorizedKeysFile {authorized}\n"
        f"PidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\n"
    )
    if os.getuid() == 0:
        # Where it has never been started as a service, the folder of its unprivileged half is missing.
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    assert SSHD is not None
    process = subprocess.Popen([SSHD, "-D", "-e", "-f", str(folder / "config")], stderr=subprocess.PIPE)
    try:
        for _ in range(1000):
            assert process.poll() is None, process.stderr and process.stderr.read()
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except ConnectionRefusedError:
                time.sleep(0.01)
        yield Host(f"127.0.0.1:{port}", folder, host_key)
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def settings(host: Host) -> Settings:
    return read_settings(git_hosts=(host.place,), source_mb=2)


async def fault(
    settings: Settings,
    source: RepositorySource,
    directory: BuildDirectory,
    log: BuildLog,
    credentials: GitCredentials | None,
) -> str:
    with pytest.raises(BuildError) as caught:
        await fetch_commit(settings, source, directory, log, credentials=credentials)
    return str(caught.value)


@pytest.mark.parametrize("sandbox", ["auto", "plain"])
async def test_a_repository_is_read_with_its_deploy_key(
    sandbox: str, host: Host, repository: Repositories, directory: BuildDirectory, log: BuildLog
) -> None:
    settings = read_settings(git_hosts=(host.place,), source_mb=2, sandbox=sandbox, unsafe_sandbox=True)
    known = repository({"a.txt": "a"})
    source = host.source(known.path, "main")
    assert read_source(source.url, settings, ref="main", credentials=True) == source
    branches = await list_branches(settings, source, directory.folder, log, host.credentials)
    assert branches.default == "main"
    found = await fetch_commit(settings, source, directory, log, credentials=host.credentials)
    assert found.id == known.git("rev-parse", "main")
    assert (directory.source / "a.txt").read_text() == "a"
    secret = (host.folder / "deploy").read_bytes().splitlines()[1]
    files = [path for path in directory.folder.rglob("*") if path.is_file()]
    assert not [path for path in files if secret in path.read_bytes()]


async def test_another_key_is_refused_and_not_shown(
    host: Host, settings: Settings, repository: Repositories, directory: BuildDirectory, log: BuildLog
) -> None:
    known = repository({"a.txt": "a"})
    keygen(host.folder / "other")
    other = GitCredentials(
        deploy_key=SecretStr((host.folder / "other").read_text()), host_keys=host.known(host.host_key)
    )
    words = await fault(settings, host.source(known.path), directory, log, other)
    assert "127.0.0.1 refuses the deploy key; enter its public half at the settings of the repository" in words
    assert "PRIVATE KEY" not in words + log.text()


async def test_a_host_without_its_key_or_with_another_one_is_not_trusted(
    host: Host, settings: Settings, repository: Repositories, directory: BuildDirectory, log: BuildLog
) -> None:
    known = repository({"a.txt": "a"})
    key = host.credentials.deploy_key
    unknown = GitCredentials(deploy_key=key, host_keys="elsewhere.example ssh-ed25519 AAAA")
    words = await fault(settings, host.source(known.path), directory, log, unknown)
    assert "the host key of 127.0.0.1 is not known here" in words
    again = BuildDirectory(directory.folder.with_name("again"))
    again.folder.mkdir()
    changed = GitCredentials(deploy_key=key, host_keys=host.known(keygen(host.folder / "changed")))
    words = await fault(settings, host.source(known.path), again, log, changed)
    assert "the host key of 127.0.0.1 is another one than is known here" in words


async def test_a_missing_repository_and_a_missing_key_are_told(
    host: Host, settings: Settings, tmp_path: Path, directory: BuildDirectory, log: BuildLog
) -> None:
    source = host.source(tmp_path / "nowhere")
    assert f"{source.url} is not a Git repository" in await fault(settings, source, directory, log, host.credentials)
    again = BuildDirectory(directory.folder.with_name("again"))
    again.folder.mkdir()
    words = await fault(settings, source, again, log, GitCredentials())
    assert "is read over SSH, and there is no deploy key for it; set one: mesocosm workspace credentials" in words


async def test_only_the_host_of_the_repository_is_reached(
    host: Host, repository: Repositories, directory: BuildDirectory, log: BuildLog
) -> None:
    known = repository({"a.txt": "a"})
    elsewhere = read_settings(git_hosts=("git.example.org",))
    words = await fault(elsewhere, host.source(known.path), directory, log, host.credentials)
    assert "could not be reached: 127.0.0.1" in words
    assert "not an address of the public internet" in words


def test_the_operators_host_keys_are_where_ssh_looks_for_them() -> None:
    assert Path("/etc/ssh/ssh_known_hosts") == OPERATORS_HOST_KEYS
