"""Where an MCP server is: a command to start, or a URL; and the variables that it needs.

Credentials are named, never held: `$NAME` in a command, a URL or a header stands for the variable NAME of this process.
"""

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from itertools import pairwise
from urllib.parse import parse_qsl, urlsplit

import msgspec

from mesocosm.core.failure import UsageError
from mesocosm.core.redact import Redactor, secret_values
from mesocosm.core.secret import is_secret
from mesocosm.http.target import check_head, target, visible

STDIO = "stdio:"
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))", re.ASCII)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FORMS = "write stdio:COMMAND ARGUMENTS… or http(s)://HOST/PATH"


class ServerAddress(msgspec.Struct, frozen=True, omit_defaults=True):
    """An MCP server as runs store it: `stdio:COMMAND …` or a URL, headers for a URL, names of variables for a command.

    Values of `headers`, and the address, may contain `$NAME`; `expanded` puts the variable's value there.
    """

    server: str
    headers: dict[str, str] = {}
    env: tuple[str, ...] = ()

    @property
    def local(self) -> bool:
        """Whether it is a command that is started here."""
        return self.server.startswith(STDIO)

    @property
    def shown(self) -> str:
        """The address for messages and records; variables are named, not expanded."""
        if self.local:
            return self.server
        plain = _VARIABLE.sub("VARIABLE", self.server)
        return self.server if plain == self.server and not urlsplit(plain).query else visible(self.server)

    def words(self, environment: Mapping[str, str]) -> list[str]:
        """Return the words of its command. Raises UsageError for an unset variable."""
        return [expanded(word, environment) for word in shlex.split(self.server.removeprefix(STDIO))]

    def variables(self) -> set[str]:
        """Return the names of all variables that it refers to."""
        texts = (self.server, *self.headers.values())
        found = {one[1] or one[2] for text in texts for one in _VARIABLE.finditer(text)}
        return {*found, *self.env}

    def secrets(self, environment: Mapping[str, str]) -> set[str]:
        """Return the values of its variables: nothing that comes back from the server may hold them."""
        return {environment[name] for name in self.variables() if environment.get(name)}

    def check(self, environment: Mapping[str, str] | None = None) -> None:
        """Raise UsageError for an address that cannot work, or that holds a credential instead of naming it."""
        known = os.environ if environment is None else environment
        if self.local:
            self._check_command(known)
        else:
            self._check_url(known)
        for name in self.env:
            if not _NAME.fullmatch(name):
                raise UsageError(f"MCP: {name!r:.40} is no name of a variable; pass the name alone, without its value")
            if name not in known:
                raise UsageError(f"MCP: the variable {name} is not set")

    def _check_command(self, known: Mapping[str, str]) -> None:
        try:
            words = shlex.split(self.server.removeprefix(STDIO))
        except ValueError as error:
            raise UsageError(f"the command of the MCP server cannot be read: {error}; {_FORMS}") from error
        if not words:
            raise UsageError(f"the MCP server has no command; {_FORMS}")
        pairs = [word.lstrip("-").partition("=")[::2] for word in words]
        pairs += [(flag.lstrip("-"), word) for flag, word in pairwise(words) if flag[:1] == "-"]
        literal = any(value and not _VARIABLE.search(value) and is_secret(name, value) for name, value in pairs)
        if literal or Redactor(secret_values(known)).text(self.server) != self.server:
            raise UsageError(
                "the command of the MCP server holds a credential, and commands are stored with the results; put it "
                "into a variable, and write '$NAME' in the command, or add --mcp-env NAME"
            )
        if self.headers:
            raise UsageError(f"{self.shown}: headers are for MCP servers with a URL; a command takes --mcp-env NAME")
        self.words(known)

    def _check_url(self, known: Mapping[str, str]) -> None:
        url = expanded(self.server, known)
        try:
            target(url)
        except ValueError as error:
            raise UsageError(f"the MCP server {visible(self.server)}: {error}; {_FORMS}") from error
        parts = urlsplit(self.server)
        literal = [
            name for name, value in parse_qsl(parts.query) if not _VARIABLE.search(value) and is_secret(name, value)
        ]
        if "@" in parts.netloc or literal:
            raise UsageError(
                f"the URL {visible(self.server)} of the MCP server holds a credential, and URLs are stored with the "
                "results; put it into a variable and write '$NAME', or use --mcp-header NAME='$VARIABLE'"
            )
        if self.env:
            raise UsageError(f"{self.shown}: variables are passed to commands; a URL takes --mcp-header")
        for name, value in self.headers.items():
            if not _VARIABLE.search(value):
                raise UsageError(
                    f"the header {name} of the MCP server must name a variable, because headers are not stored: "
                    f"{name}='$VARIABLE', in single quotes so that the shell leaves it alone"
                )
            try:
                check_head("POST", ((name, expanded(value, known)),))
            except ValueError as error:
                raise UsageError(f"MCP: {error}") from error


def expanded(text: str, environment: Mapping[str, str]) -> str:
    """Return `text` with the value of each `$NAME`. Raises UsageError for a variable that is not set."""

    def value(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        if name not in environment:
            raise UsageError(f"MCP: the variable {name} is not set")
        return environment[name]

    return _VARIABLE.sub(value, text)


def read_addresses(
    servers: Sequence[str], headers: Sequence[str] = (), env: Sequence[str] = ()
) -> tuple[ServerAddress, ...]:
    """Return the addresses that the flags `--mcp`, `--mcp-header` and `--mcp-env` give. Raises UsageError.

    A header is `NAME=$VARIABLE`. With several URLs it must say which one gets it: `URL NAME=$VARIABLE`.
    """
    twice = next((one for one in servers if servers.count(one) > 1), None)
    if twice is not None:
        raise UsageError("the same MCP server is named twice; leave one out")
    urls = [one for one in servers if not one.startswith(STDIO)]
    commands = [one for one in servers if one.startswith(STDIO)]
    if headers and not urls:
        raise UsageError("--mcp-header is for MCP servers with a URL, and there is none")
    if env and not commands:
        raise UsageError("--mcp-env is for MCP servers that are started by a command, and there is none")
    fields: dict[str, dict[str, str]] = {url: {} for url in urls}
    for given in headers:
        url, space, rest = given.rpartition(" ") if given.partition(" ")[0] in fields else ("", "", given)
        name, equals, value = rest.partition("=")
        if not equals or not name.strip():
            # The text may be a credential, so it is not repeated.
            raise UsageError("--mcp-header is NAME='$VARIABLE'")
        if not space and len(urls) > 1:
            raise UsageError(f"which server gets the header {name}? Write --mcp-header 'URL {name}=$VARIABLE'")
        fields[url if space else urls[0]][name.strip()] = value
    found = tuple(
        ServerAddress(one, env=tuple(env)) if one.startswith(STDIO) else ServerAddress(one.rstrip("/"), fields[one])
        for one in servers
    )
    for one in found:
        one.check()
    return found
