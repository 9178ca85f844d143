"""Login through a browser with the published program, on a terminal."""

import os
import pty
import re
import subprocess
from dataclasses import dataclass, field

import pytest
from tests.osmosis.conftest import PATIENCE, Program

CODE = re.compile(r"\b([BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4})\b")


@dataclass
class Terminal:
    """A command of the program on a terminal."""

    process: "subprocess.Popen[bytes]"
    handle: int
    text: str = field(default="", init=False)

    def read(self, until: re.Pattern[str] | None = None) -> str:
        """Return what it writes until a pattern is found, or to its end."""
        while until is None or not until.search(self.text):
            try:
                data = os.read(self.handle, 65_536)
            except OSError:  # Linux: the program has closed it
                data = b""
            if not data:
                break
            self.text += data.decode(errors="replace")
        return self.text

    def code(self) -> int:
        """Return the exit code, after everything was read."""
        self.read()
        os.close(self.handle)
        return self.process.wait(PATIENCE)


@pytest.fixture
def osmosis(osmosis: Program) -> Program:
    """The program without a token."""
    osmosis.token = ""
    return osmosis


def on_terminal(osmosis: Program, *words: str) -> Terminal:
    """Start a command on a terminal; its browser opens nothing."""
    handle, other = pty.openpty()
    variables = {**osmosis.environment(), "BROWSER": "true", "TERM": "xterm", "COLUMNS": "200"}
    process = subprocess.Popen(
        [str(osmosis.path), *words], cwd=osmosis.folder, env=variables, stdin=other, stdout=other, stderr=other
    )
    os.close(other)
    return Terminal(process, handle)


def decided(osmosis: Program, terminal: Terminal, *, approve: bool) -> None:
    """Decide about the code that the terminal shows, as the person whose browser is signed in."""
    found = CODE.search(terminal.read(CODE))
    assert found is not None, terminal.text
    osmosis.server.request("PUT", f"/api/auth/device/{found[1]}", {"approve": approve})


def test_a_person_logs_in_through_a_browser_and_out_again(osmosis: Program) -> None:
    assert osmosis.call("auth", "whoami").error["code"] == "AUTH_REQUIRED"
    terminal = on_terminal(osmosis, "auth", "login")
    decided(osmosis, terminal, approve=True)
    assert terminal.code() == 0, terminal.text
    assert f"{osmosis.server.url}/device?code=" in terminal.text
    assert "Login Successful" in terminal.text
    account = osmosis("auth", "whoami")["data"]
    assert (account["email"], account["workspace"]["name"]) == ("admin", "Reef")
    listed = osmosis.server.request("GET", "/api/tokens")
    (token,) = [one for one in listed if one["id"] == account["account"]["token_id"]]
    assert token["name"].startswith(f"osmosis-cli/{osmosis.release} on ")
    assert account["expires_at"][:10] == token["expires_at"][:10]
    assert osmosis("eval", "list", "--all")["items"] is not None
    assert osmosis("auth", "logout", "--yes")["resource"]["revoked"] is True
    assert token["id"] not in [one["id"] for one in osmosis.server.request("GET", "/api/tokens")]
    assert osmosis.call("auth", "whoami").error["code"] == "AUTH_REQUIRED"


def test_a_login_that_is_refused_says_so(osmosis: Program) -> None:
    terminal = on_terminal(osmosis, "auth", "login")
    decided(osmosis, terminal, approve=False)
    assert terminal.code() == 1
    assert "Authorization was denied." in terminal.text


def test_a_token_that_was_given_is_deleted_at_logout(osmosis: Program) -> None:
    made = osmosis.server.request("POST", "/api/tokens", {"name": "given", "days": 7})
    saved = osmosis("auth", "login", "--token", made["token"])["resource"]
    assert saved["expires_at"][:10] == made["expires_at"][:10]
    assert osmosis("auth", "logout", "--yes")["resource"]["revoked"] is True
    assert osmosis.call("auth", "login", "--token", made["token"]).error["code"] == "AUTH_REQUIRED"


def test_the_login_before_is_ended_by_the_next(osmosis: Program) -> None:
    tokens = [osmosis.server.request("POST", "/api/tokens", {"name": name}) for name in ("one", "two")]
    for token in tokens:
        osmosis("auth", "login", "--token", token["token"])
    left = {one["id"] for one in osmosis.server.request("GET", "/api/tokens")}
    assert [token["id"] in left for token in tokens] == [False, True]
