"""URLs of a server and its login server: the same rules for every command and program."""

import os
import re
import urllib.request
from urllib.parse import SplitResult, urlsplit

from mesocosm import __version__
from mesocosm.core.failure import UsageError

PRODUCTION = "https://api.swecc.org/bench"
SERVER = "https://api.swecc.org"
LOCAL = "http://127.0.0.1:8010"
LOCAL_SERVER = "http://127.0.0.1:8000"
URL_VARIABLES = ("MESOCOSM_BASE_URL", "SWECC_BENCH_URL", "BENCH_API_URL")
SERVER_VARIABLE = "SWECC_SERVER_URL"
LOCAL_VARIABLE = "MESOCOSM_LOCAL"

_TRUE = frozenset({"1", "true", "yes", "on"})
_LOOPBACK = re.compile(r"127(\.[0-9]{1,3}){1,3}")
_LOCAL_NAMES = frozenset({"localhost", "ip6-localhost", "::1", "0.0.0.0"})  # noqa: S104 - a name that people write


def truthy(value: str | None) -> bool:
    """Return whether the value of a variable means yes."""
    return (value or "").strip().lower() in _TRUE


def variable(*names: str) -> str:
    """Return the value of the first of these variables that is not empty; an empty string if there is none."""
    return next((os.environ[name] for name in names if os.environ.get(name)), "")


def is_local(url: str) -> bool:
    """Return whether a URL refers to this machine."""
    host = (_parts(url).hostname or "").rstrip(".")
    return host in _LOCAL_NAMES or host.endswith(".localhost") or _LOOPBACK.fullmatch(host) is not None


def opener_for(url: str, *handlers: urllib.request.BaseHandler) -> urllib.request.OpenerDirector:
    """Return a URL opener for a server, which lists logins by our name; this machine is never reached by a proxy."""
    direct = (urllib.request.ProxyHandler({}),) if is_local(url) else ()
    opener = urllib.request.build_opener(*handlers, *direct)
    opener.addheaders = [("User-Agent", f"mesocosm/{__version__}")]
    return opener


def same_host(url: str, other: str) -> bool:
    """Return whether two URLs refer to the same host, regardless of ports."""
    if is_local(url) and is_local(other):
        return True
    return (_parts(url).hostname or "").rstrip(".") == (_parts(other).hostname or "").rstrip(".")


def without_credentials(url: str) -> str:
    """Return a URL without the user name and password that it may contain."""
    parts = _parts(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl() if parts.netloc else url


def checked(url: str, what: str = "a server", like: str = LOCAL) -> str:
    """Return a URL without trailing slashes. Raises UsageError if it cannot be the address of `what`."""
    parts = _parts(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{url!r} is not a URL of {what}; it looks like {like}")
    return url.rstrip("/")


def url_of_login_server(server: str) -> str:
    """Return the base URL of the server that belongs to a login server."""
    parts = _parts(server)
    if parts.hostname == _parts(SERVER).hostname:
        return PRODUCTION
    if is_local(server) and parts.port == _parts(LOCAL_SERVER).port:
        return LOCAL
    return f"{server.rstrip('/')}/bench"


def resolve_url(given: str | None = None, *, saved: str = "", server: str = "") -> str:
    """Return the base URL of the server: the given one, that of a variable, that of the saved login, or the default.

    `saved` and `server` are the server and the login server of the saved login. A local server saved before a login
    elsewhere is ignored. Raises UsageError if the result is not a URL.
    """
    named = given or variable(*URL_VARIABLES)
    if named:
        return checked(named)
    if server and (not saved or (is_local(saved) and not is_local(server))):
        return checked(url_of_login_server(server))
    return checked(saved or default_url())


def default_url() -> str:
    """Return the server to use when none is named: this machine's with MESOCOSM_LOCAL, otherwise production."""
    return LOCAL if truthy(os.environ.get(LOCAL_VARIABLE)) else PRODUCTION


def login_server(given: str | None = None, *, base_url: str | None = None, saved: str = "") -> str:
    """Return the URL of the login server, which receives passwords.

    It is the given one, SWECC_SERVER_URL, the named server itself (`base_url` or that of a variable), this machine's
    with MESOCOSM_LOCAL, that of the `saved` login, or production. Raises UsageError if it is not a URL.
    """
    server = given or variable(SERVER_VARIABLE)
    named = base_url or variable(*URL_VARIABLES)
    if not server and named:
        server = SERVER if _parts(checked(named)).hostname == _parts(SERVER).hostname else named
    local = LOCAL_SERVER if truthy(os.environ.get(LOCAL_VARIABLE)) else ""
    return (server or local or saved or SERVER).rstrip("/")


def _parts(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises ValueError for an invalid port
    except ValueError:
        return SplitResult("", "", "", "", "")
    return parts
