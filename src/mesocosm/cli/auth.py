"""`mesocosm auth …`: your login at the server."""

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from mesocosm.cli.command import options
from mesocosm.cli.remote.connection import LOGIN, NotLoggedIn, RemoteGroup, known_client
from mesocosm.cli.render import answer, emit
from mesocosm.client.urls import without_credentials
from mesocosm.core.failure import UsageError

if TYPE_CHECKING:
    from mesocosm.client.credentials import Credentials
    from mesocosm.client.identity import Identity
    from mesocosm.server.schemas.account import DeviceStarted

TREE = {"token": ("mesocosm.cli.auth_token:token", "Print the saved token, or manage personal ones for programs.")}


@click.group(cls=RemoteGroup, tree=TREE)
def auth() -> None:
    """Log in and out, and see who you are.

    The token is SWECC_BENCH_TOKEN, else SWECC_BENCH_GUEST_TOKEN, else the saved login, which is renewed automatically.
    """


@auth.command()
@click.option("--server-url", metavar="URL", help="Login server  [SWECC_SERVER_URL, else the same server].")
@click.option("--username", metavar="NAME", help="Your user name; asked for if not given.")
@click.option("--password-stdin", is_flag=True, help="Read the password from standard input to its end.")
@click.option("--browser", is_flag=True, help="Log in on a page of the server, here or on another machine.")
def login(server_url: str | None, username: str | None, password_stdin: bool, browser: bool) -> None:
    """Log in as a member; asks for name and password.

    Without a terminal, the lines of standard input are the name (unless --username gives it) and the password.
    With --browser, confirm a code on a page of the server where you are signed in.
    """
    if browser:
        if server_url or username or password_stdin:
            raise UsageError("--browser asks for nothing here; leave --server-url, --username and --password-stdin out")
        _log_in_with_browser()
        return
    from mesocosm.client import credentials
    from mesocosm.client.login import log_in
    from mesocosm.client.urls import login_server

    server = login_server(server_url, base_url=options().base_url, saved=credentials.read().server_url)
    if sys.stdin.isatty():
        click.echo(f"Logging in at {without_credentials(server)}", err=True)
    name, password = _who(username, whole=password_stdin)
    made = log_in(server, name, password, bench_url=options().base_url or "")
    _show_login(replace(made, username=made.username or name))


def _log_in_with_browser() -> None:
    from mesocosm.cli.viewer_link import open_browser
    from mesocosm.client.identity import identify
    from mesocosm.client.login import log_in_with_browser

    def show(started: "DeviceStarted") -> None:
        click.echo(f"Open {started.page_with_code}\nand confirm that it shows the code {started.user_code}", err=True)
        if sys.stdin.isatty():
            open_browser(started.page_with_code)

    _show_login(log_in_with_browser(identify(options().base_url).base_url, show))


def _show_login(made: "Credentials") -> None:
    if options().json:
        known = {"mode": made.mode, "username": made.username, "server_url": made.server_url}
        emit({**known, "bench_url": made.bench_url, "active_team_id": made.active_team_id or None})
        return
    click.echo("Logged in.")
    click.echo(f"{made.username} at {made.bench_url}", err=True)


def _who(username: str | None, *, whole: bool) -> tuple[str, str]:
    """Return name and password, from options, prompts or standard input. Raises NotLoggedIn for an empty one."""
    import getpass

    asked = sys.stdin.isatty() and not whole
    if whole and not username:
        raise UsageError("--password-stdin reads nothing but the password; give the user name with --username NAME")
    if asked:
        name = username or click.prompt("Username", default=_user_here() or None, err=True)
        password = getpass.getpass("Password: ")
    else:
        name = username if username is not None else sys.stdin.readline().strip() or _user_here()
        password = (sys.stdin.read() if whole else sys.stdin.readline()).rstrip("\r\n")
    if not name.strip():
        raise NotLoggedIn("Username cannot be empty.")
    if not password:
        raise NotLoggedIn("Password cannot be empty.")
    return name.strip(), password


def _user_here() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""


@auth.command()
def guest() -> None:
    """Start a guest session: no account, limited rights, for some days."""
    from mesocosm.client import credentials
    from mesocosm.client.client import Client
    from mesocosm.client.identity import Identity, identify
    from mesocosm.client.login import save_guest

    url = identify(options().base_url).base_url
    made = Client(timeout=30.0, identity=Identity(url)).auth.guest()
    before = credentials.read()
    save_guest(made.guest_token, url)
    expires = made.expires_at.isoformat()
    if options().json:
        emit({"mode": "guest", "bench_url": url, "expires_at": expires})
        return
    click.echo(f"Guest session created (expires {expires}).")
    if before.mode == "member":
        click.echo(f"note: it takes the place of the saved login{_of(before.username)}", err=True)


def _of(username: str) -> str:
    return f" of {username}" if username else ""


@auth.command()
def whoami() -> None:
    """Print the account that the server recognizes, as JSON."""
    from mesocosm.client.error import ApiError

    client = known_client()
    try:
        me = client.me.get()
    except ApiError as error:
        if error.status:
            raise
        raise _unreachable(error, client.caller) from error
    if me.type == "anonymous" and client.caller.token:
        raise NotLoggedIn(_stranger(client.caller))
    emit(me)


def _unreachable(error: Exception, caller: "Identity") -> Exception:
    """Return the error with hints, which depend on the caller and the source of the URL."""
    from mesocosm.client import credentials
    from mesocosm.client.error import ApiError
    from mesocosm.client.urls import LOCAL, PRODUCTION, is_local

    assert isinstance(error, ApiError)
    saved = credentials.read()
    again = "mesocosm auth guest" if caller.mode == "guest" else "mesocosm auth login"
    hints = [f"could not connect to the server at {caller.base_url}"]
    if saved.bench_url == caller.base_url:
        hints.append(f"the saved login names that address; {again} again with another one replaces it")
    if is_local(caller.base_url):
        hints.append(f"is it running here? mesocosm serve; the public one: --bench-url {PRODUCTION}")
    else:
        hints.append(f"check the network and the URL; a server on this machine: --bench-url {LOCAL}")
    return ApiError(error.method, error.url, 0, error.detail, hint="\n  ".join(hints), kind=error.kind)


def _stranger(caller: "Identity") -> str:
    """Return why the server rejects a token."""
    import time

    from mesocosm.client.identity import ends_at

    end = ends_at(caller.token)
    if caller.mode == "guest":
        why = "has ended" if end is not None and end < time.time() else "is not recognized by this server"
        return f"The guest session {why} ({caller.base_url}). Run: mesocosm auth guest"
    if caller.way == "variable":
        return f"{caller.base_url} does not accept the token of SWECC_BENCH_TOKEN; set another one"
    if end is not None and end < time.time():
        return f"The login at {caller.base_url} has expired. Run: mesocosm auth login"
    return f"{caller.base_url} does not know the saved login. {LOGIN}"


@auth.command()
def logout() -> None:
    """Delete the saved login, and end it on the server."""
    from mesocosm.client import credentials
    from mesocosm.client.login import LoginFailed, log_out

    try:
        log_out(credentials.read())
    except (LoginFailed, UsageError) as error:
        click.echo(f"note: forgotten here, but not ended at the server: {error}", err=True)
    credentials.forget()
    answer("Credentials cleared.", {"logged_in": False})
