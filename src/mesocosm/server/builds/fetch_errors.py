"""What it means, and what to do, when a Git host does not let git read a repository."""

import re

from mesocosm.server.builds.git_credentials import GitCredentials
from mesocosm.server.builds.repository_address import RepositorySource

SET_TOKEN = "mesocosm workspace credentials --token-stdin"  # noqa: S105 -- a command
SET_KEY = "mesocosm workspace credentials --deploy-key FILE --known-hosts FILE"

_HIDDEN = "could not read username|authentication failed|repository .*not found|error: 40[134]|terminal prompts"
_ABSENT = "does not appear to be a git repository|not a git repository|is this a git repository"
_CHANGED_HOST = "remote host identification has changed|host key for .* has changed"
_UNKNOWN_HOST = "host key verification failed|no .* host key is known"
_REFUSED_KEY = r"permission denied \(.*publickey"
_NO_SSH = "ssh: (?:command )?not found"
_UNREACHABLE = (
    "could not resolve|couldn't connect|failed to connect|connection (?:refused|reset|timed out)|proxy|unable to access"
)
_WORDS = {
    _CHANGED_HOST: "the host key of {host} is another one than is known here, so it may not be {host} that answers. If "
    f"it has a new key, set the deploy key again, with that: {SET_KEY}",
    _UNKNOWN_HOST: "the host key of {host} is not known here; set the deploy key again, with the lines of your "
    f"known_hosts file for that host: {SET_KEY}",
    _NO_SSH: "this server has no program ssh; ask its administrators to install the OpenSSH client",
    _REFUSED_KEY: "{host} refuses the deploy key; enter its public half at the settings of the repository there, or "
    f"set another key: {SET_KEY}",
    _ABSENT: "{url} is not a Git repository; correct the URL",
}


def host_refusal(source: RepositorySource, credentials: GitCredentials | None, said: str) -> str | None:
    """Return why a host did not let git read a repository, from what git said; None for other failures.

    `credentials` are None where none can be stored.
    """
    for pattern, words in _WORDS.items():
        if re.search(pattern, said, re.IGNORECASE):
            return words.format(host=source.host, url=source.url)
    if re.search(_HIDDEN, said, re.IGNORECASE):
        return _hidden(source, credentials)
    if re.search(_UNREACHABLE, said, re.IGNORECASE):
        lines = [line for line in said.splitlines() if re.search(_UNREACHABLE, line, re.IGNORECASE)]
        return f"{source.url} could not be reached: {lines[-1].strip().removeprefix('fatal: ')}; try again later"
    return None


def _hidden(source: RepositorySource, credentials: GitCredentials | None) -> str:
    if source.ssh:
        return (
            f"{source.host} does not show {source.url} to the deploy key; correct the address, enter the public half "
            f"of the key at the settings of the repository there, or set another key: {SET_KEY}"
        )
    if credentials is not None and credentials.token is not None:
        return (
            f"{source.host} does not show {source.url} with the token of this workspace: the token has expired or may "
            f"not read it, or there is no such repository. Correct the address, or set another token: {SET_TOKEN}"
        )
    remedy = "make the repository public" if credentials is None else f"give a token that may read it: {SET_TOKEN}"
    return (
        f"there is no public repository at {source.url}: it does not exist, or is private. Correct the address, or "
        f"{remedy}"
    )
