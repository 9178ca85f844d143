"""The afternoon of docs/platform.md: an operator starts a server, a member moves in; what is shown is printed."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.docs.test_docs_examples import DOCS, missing_lines
from tests.forked import ForkServer

from mesocosm.sandboxes.bubblewrap import available
from mesocosm.testing.model_server import ModelServer

pytestmark = [
    pytest.mark.usefixtures("forked"),
    pytest.mark.skipif(not available(), reason="there is no bubblewrap"),
]

TITLE = "## Move in on a Friday afternoon\n"
BLOCK = re.compile(r"^```(?P<language>toml|console)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
SECONDS = 120


@dataclass
class Afternoon:
    """The folder of the operator and that of the member, who has a clone of a repository; what the page calls them."""

    place: Path
    variables: dict[str, str]
    python: str
    called: dict[str, str] = field(default_factory=dict)
    passwords: dict[str, str] = field(default_factory=dict)
    told: str = ""
    server: "subprocess.Popen[str] | None" = None

    def __post_init__(self) -> None:
        for folder in (self.ops, self.clone, self.place / "ada", self.place / "bob"):
            folder.mkdir()
        self.run("mesocosm eval init my-rollout", self.clone, "ada")
        self.git("init -q -b main")
        self.commit()
        bare = self.place / "evals.git"
        subprocess.run(["git", "clone", "-q", "--bare", str(self.clone), str(bare)], check=True)
        self.git(f"remote add origin {bare}")
        self.git("fetch -q origin")
        (self.clone / "key.txt").write_text("tok-0123456789\n")
        (self.clone / ".git" / "info" / "exclude").write_text("key.txt\n")
        self.called = {"https://github.com/acme/evals.git": str(bare), "github.com/acme/evals": f"local{bare}"[:-4]}

    @property
    def ops(self) -> Path:
        return self.place / "ops"

    @property
    def clone(self) -> Path:
        return self.place / "clone"

    def git(self, words: str) -> None:
        """Run git in the clone."""
        subprocess.run(["git", *words.split()], cwd=self.clone, check=True)

    def commit(self) -> None:
        """Commit what is in the clone."""
        self.git("add -A")
        self.git("-c user.name=Ada -c user.email=a@example.org commit -qm Change")

    def configure(self, shown: str) -> None:
        """Write lines of a table of the configuration over those that are there, commented out or not, and push."""
        name, _, lines = shown.removeprefix("# ").partition("\n")
        text = (self.clone / name).read_text()
        for line in lines.splitlines():
            there = rf"^(# )?{re.escape(line.partition(' = ')[0])}( .*)?$"
            text, found = re.subn(there, line, text, count=1, flags=re.MULTILINE)
            assert found, line
        (self.clone / name).write_text(text)
        self.commit()
        self.git("push -q origin main")

    def named(self, text: str) -> str:
        """Return a text of the page with the names of this afternoon."""
        for there, here in self.called.items():
            text = text.replace(there, here)
        return text

    def serve(self, command: str, expected: str) -> None:
        """Start the server, and check what it prints."""
        self.server = subprocess.Popen(
            [sys.executable, "-m", *command.split()],
            cwd=self.ops,
            env=self.variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self.server.stdout is not None
        printed = ""
        for line in self.server.stdout:
            printed += line
            if line.startswith("Ctrl-C"):
                break
        found = re.search(r"http://\S+", printed)
        assert found is not None, printed
        self.called["https://bench.example.org"] = found[0]
        told = re.search(r"mesocosm admin user add NAME( .*?)  +#", printed)
        assert told is not None, printed
        self.told = told[1]
        assert missing_lines(self.named(expected), printed) == [], printed

    def run(self, command: str, folder: Path, person: str, stdin: str = "") -> str:
        """Run a command line of a person, and return all that it printed."""
        done = subprocess.run(
            ["sh", "-c", command.replace("mesocosm ", f"'{self.python}' -m mesocosm ", 1)],
            cwd=folder,
            env={**self.variables, "HOME": str(self.place / person), "XDG_CONFIG_HOME": ""},
            input=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}"
        return done.stdout


@pytest.fixture
def afternoon(tmp_path: Path, fork_server: ForkServer | None) -> Iterator[Afternoon]:
    python = str(fork_server.scripts / "python") if fork_server else sys.executable
    with ModelServer() as model:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("MESOCOSM_", "SWECC_"))}
        served = f'[{{"name": "openai/gpt-5-mini", "served_as": "openai/gpt-5-mini@{model.openai_url}"}}]'
        given = {"PORT": "0", "LOGIN_PORT": "none", "LOCAL_GIT": "1", "GIT_POLL_S": "0", "MODELS": served}
        found = Afternoon(tmp_path, {**kept, **{f"MESOCOSM_{name}": value for name, value in given.items()}}, python)
        try:
            yield found
        finally:
            if found.server is not None:
                found.server.send_signal(signal.SIGINT)
                found.server.communicate(timeout=SECONDS)


def test_a_team_moves_in_as_the_page_shows_it(afternoon: Afternoon) -> None:
    page = (DOCS / "platform.md").read_text(encoding="utf-8")
    shown = page.partition(TITLE)[2].partition("\n## ")[0]
    person, folder, commands = "", afternoon.ops, 0
    for block in BLOCK.finditer(shown):
        if block["language"] == "toml":
            if block["text"].startswith("# server.toml"):
                (afternoon.ops / "server.toml").write_text(block["text"])
            else:
                afternoon.configure(block["text"])
            continue
        for step in block["text"].removeprefix("$ ").split("\n$ "):
            command, _, expected = step.partition("\n")
            commands += 1
            if command.startswith("mesocosm serve"):
                afternoon.serve(command, expected)
                continue
            if command.startswith("mesocosm auth login"):
                person, folder = "ada", afternoon.clone
            elif command == "mesocosm eval list":
                person, folder = "bob", afternoon.place / "bob"
                login = afternoon.named("mesocosm auth login --base-url https://bench.example.org --username bob")
                afternoon.run(login, folder, person, afternoon.passwords[person])
            if command == "mesocosm admin user add bob":
                # As the server told it, from anywhere.
                command, folder = command + afternoon.told, afternoon.place
            printed = afternoon.run(afternoon.named(command), folder, person, afternoon.passwords.get(person, ""))
            assert missing_lines(afternoon.named(expected), printed) == [], f"{command}\n{printed}"
            if added := re.search(r"^added (\w+) .*\n.*: (\S+)$", printed, re.MULTILINE):
                afternoon.passwords[added[1]] = f"{added[2]}\n"
    assert commands == 15
