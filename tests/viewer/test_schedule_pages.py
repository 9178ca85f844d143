"""Schedules and notifications of a workspace in Chromium: from the form to the run, and to the message about it.

The server has a worker, a Git repository and a receiver on this machine; what is scheduled is really played.
"""

import hashlib
import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.server.evaluations.conftest import CONFIG, FILES
from tests.viewer.conftest import Window
from tests.viewer.hosting import Member, Platform, commit, hosting
from tests.viewer.test_axe import violations
from tests.viewer.test_workspace_pages import sign_in

READY_MS = 90_000
ROWS = b"".join(b'{"user_prompt": "what is %d + 1?", "ground_truth": "%d"}\n' % (n, n + 1) for n in range(4))
WHO = ("-c", "user.name=nobody", "-c", "user.email=nobody@example.org")


@dataclass
class Outside:
    """What is outside of the server: a model, and a receiver of messages."""

    url: str = ""
    messages: list[Any] = field(default_factory=list)


class _Handler(BaseHTTPRequestHandler):
    outside: Outside

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.endswith("/chat/completions"):
            number = int("".join(filter(str.isdecimal, str(body["messages"][-1]["content"]).partition("+")[0])) or 0)
            said = {"role": "assistant", "content": str(number + 1)}
            usage = {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6}
            choice = {"index": 0, "message": said, "finish_reason": "stop"}
            self._answer(
                {"id": "1", "object": "chat.completion", "created": 1, "model": "tiny", "usage": usage}, choice
            )
        else:
            self.outside.messages.append(body)
            self._answer({"ok": True})

    def do_GET(self) -> None:
        self._answer({"object": "list", "data": [{"id": "tiny", "object": "model"}]})

    def _answer(self, document: dict[str, Any], *choices: Any) -> None:
        data = json.dumps({**document, **({"choices": choices} if choices else {})}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def outside() -> Iterator[Outside]:
    """A model and a receiver on loopback."""
    made = Outside()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"outside": made}))
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    made.url = f"http://127.0.0.1:{server.server_address[1]}"
    yield made
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory, outside: Outside) -> Iterator[Platform]:
    models = {"openai/tiny": f"openai/tiny@{outside.url}/v1"}
    folder = tmp_path_factory.mktemp("platform")
    with hosting(folder, models, confined=True, MESOCOSM_PRIVATE_WEBHOOKS="1") as running:
        yield running


@pytest.fixture(scope="module")
def admin(platform: Platform) -> Member:
    return Member(platform, platform.admin, platform.password)


@dataclass
class Place:
    """A workspace whose repository is on this machine."""

    path: str
    repository: Path
    admin: Member

    def sync(self) -> None:
        """Sync the newest commit, and wait."""
        number = self.admin.ask("POST", f"/api{self.path}/syncs", {})["number"]
        self.wait(f"syncs/{number}", lambda found: found["sync"]["status"] not in ("pending", "syncing"))

    def wait(self, what: str, ready: Callable[[Any], bool]) -> None:
        """Wait until what a worker does is done."""
        until = time.monotonic() + READY_MS / 1000
        while not ready(self.admin.ask("GET", f"/api{self.path}/{what}")):
            assert time.monotonic() < until
            time.sleep(0.2)

    def push(self, text: str) -> None:
        """Make another commit, and sync it."""
        (self.repository / "README.md").write_text(text)
        for words in (("add", "-A"), (*WHO, "commit", "-q", "-m", text)):
            subprocess.run(["git", "-C", str(self.repository), *words], check=True, capture_output=True)
        self.sync()


@pytest.fixture
def place(admin: Member, tmp_path: Path, request: pytest.FixtureRequest) -> Place:
    """A workspace with code that is synced and a dataset."""
    made = admin.ask("POST", "/api/workspaces", {"name": request.node.name[:60]})
    path = f"/workspaces/{made['id']}"
    for name, text in {**FILES, "configs/eval/other.toml": CONFIG}.items():
        (tmp_path / "repo" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "repo" / name).write_text(text)
    repository = commit(tmp_path / "repo")
    admin.ask("PUT", f"/api{path}/repository", {"url": str(repository)})
    digest = hashlib.sha256(ROWS).hexdigest()
    begun = admin.ask("POST", f"/api{path}/datasets", {"file_name": "hard.jsonl", "size": len(ROWS), "digest": digest})
    part = f"/api{path}/datasets/{begun['id']}/versions/1/parts/1?digest={digest}"
    admin.send("PUT", part, ROWS)
    admin.ask("POST", f"/api{path}/datasets/{begun['id']}/versions/1/complete")
    found = Place(path, repository, admin)
    found.wait("datasets/hard", lambda dataset: dataset["status"] == "uploaded")
    found.sync()
    return found


@pytest.fixture
def page(window: Window, platform: Platform) -> Iterator[Page]:
    """A page of the administrator that fails its test when it asks for anything outside, or throws."""
    with window.page() as (opened, seen):
        sign_in(opened, platform)
        yield opened
    assert not seen.outside
    assert [error for error in seen.errors if not error.startswith("Failed to load resource")] == []


def test_a_schedule_is_made_with_its_next_times_in_view(page: Page, platform: Platform, place: Place) -> None:
    page.goto(f"{platform.url}{place.path}")
    page.get_by_role("navigation", name="Workspace").get_by_role("link", name="Schedules").click()
    expect(page.get_by_text("No schedules yet")).to_be_visible()
    assert violations(page) == []
    page.get_by_role("button", name="Add a schedule").click()
    form = page.get_by_role("form", name="Add a schedule")
    coming = form.get_by_role("status", name="Next times").get_by_role("listitem")
    expect(coming).to_have_count(5)
    form.get_by_label("Time zone").fill("Asia/Tokyo")
    form.get_by_label("Times", exact=True).fill("30 4 * * 1")
    expect(coming.first).to_contain_text("Mon")
    expect(coming.first).to_contain_text("04:30")
    form.get_by_label("Times", exact=True).fill("61 * * * *")
    expect(form.get_by_role("status", name="Next times")).to_contain_text("bad minute")
    form.get_by_role("button", name="Add schedule").click()
    expect(form.get_by_text("Choose a configuration.")).to_be_visible()
    assert violations(page) == []
    form.get_by_label("Times", exact=True).fill("30 4 * * 1")
    form.get_by_label("Name").fill("weekly")
    form.get_by_label("Configuration").fill("configs/eval/none.toml")
    form.get_by_role("button", name="Add schedule").click()
    expect(form.get_by_role("alert")).to_contain_text("it has: configs/eval/other.toml, configs/eval/sums.toml")
    form.get_by_label("Configuration").fill("configs/eval/sums.toml")
    form.get_by_label("Rows").fill("2")
    form.get_by_role("button", name="Add schedule").click()

    row = page.get_by_role("row", name="weekly")
    expect(row).to_contain_text("30 4 * * 1 (Asia/Tokyo)")
    expect(row).to_contain_text(platform.admin)
    assert violations(page) == []
    row.get_by_role("button", name="Change weekly").click()
    page.get_by_role("menuitem", name="Pause").click()
    expect(row).to_contain_text("paused")
    row.get_by_role("button", name="Change weekly").click()
    page.get_by_role("menuitem", name="Resume").click()
    expect(row).not_to_contain_text("paused")
    row.get_by_role("button", name="Change weekly").click()
    page.get_by_role("menuitem", name="Edit…").click()
    changed = page.get_by_role("form", name="Change weekly")
    expect(changed.get_by_label("Rows")).to_have_value("2")
    changed.get_by_label("Times", exact=True).fill("0 3 * * *")
    changed.get_by_role("button", name="Save changes").click()
    expect(row).to_contain_text("every day at 3:00 (Asia/Tokyo)")
    row.get_by_role("link", name="weekly").click()
    expect(page.get_by_role("heading", name="weekly", level=1)).to_be_visible()
    expect(page.get_by_text("Nothing was due yet.")).to_be_visible()
    expect(page.get_by_role("region", name="Next", exact=True).get_by_role("listitem")).to_have_count(5)
    page.reload()
    expect(page.get_by_role("region", name="What it runs")).to_contain_text("the first 2")
    assert violations(page) == []
    page.get_by_role("navigation", name="Workspace").get_by_role("link", name="Schedules").click()
    row.get_by_role("button", name="Change weekly").click()
    page.get_by_role("menuitem", name="Remove…").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove schedule").click()
    expect(page.get_by_text("No schedules yet")).to_be_visible()


def test_a_new_commit_is_played_and_told(page: Page, platform: Platform, place: Place, outside: Outside) -> None:
    page.goto(f"{platform.url}{place.path}/notifications")
    expect(page.get_by_text("No notifications yet")).to_be_visible()
    form = page.get_by_role("form", name="Add a notification")
    form.get_by_role("button", name="Add notification").click()
    expect(form.get_by_text("Enter a URL.")).to_be_visible()
    form.get_by_label("URL").fill("ftp://127.0.0.1/")
    form.get_by_role("button", name="Add notification").click()
    expect(form.get_by_role("alert")).to_contain_text("http")
    form.get_by_label("URL").fill(f"{outside.url}/secret-part")
    form.get_by_role("button", name="Add notification").click()
    expect(page.get_by_text("whsec_")).to_be_visible()
    assert violations(page) == []
    row = page.get_by_role("region", name="Table of notifications").get_by_role("row", name="127.0.0.1")
    row.get_by_role("button", name="Change 127.0.0.1").click()
    page.get_by_role("menuitem", name="Send a test").click()
    messages = page.get_by_role("region", name="Table of messages")
    expect(messages.get_by_role("row", name="test")).to_contain_text("delivered")
    page.reload()
    expect(row).to_contain_text("delivered")
    expect(page.get_by_text("whsec_")).to_have_count(0)
    assert "secret-part" not in page.content()

    page.goto(f"{platform.url}{place.path}/schedules")
    page.get_by_role("button", name="Add a schedule").click()
    form = page.get_by_role("form", name="Add a schedule")
    form.get_by_label("Name").fill("each-commit")
    form.get_by_label("Configuration").fill("configs/eval/sums.toml")
    form.get_by_label("after each sync with a new commit").check()
    form.get_by_role("button", name="Add schedule").click()
    expect(page.get_by_role("row", name="each-commit")).to_contain_text("at a sync")
    place.push("second")
    page.get_by_role("link", name="each-commit").click()
    runs = page.get_by_role("region", name="Table of scheduled runs")
    expect(runs.get_by_text("finished")).to_be_visible(timeout=READY_MS)
    expect(runs).to_contain_text("1")
    assert violations(page) == []
    runs.get_by_role("link", name="each-commit").click()
    expect(page.get_by_role("heading", name="each-commit-")).to_be_visible()
    page.goto(f"{platform.url}{place.path}/notifications")
    row.get_by_role("button", name="Change 127.0.0.1").click()
    page.get_by_role("menuitem", name="Show its messages").click()
    expect(messages.get_by_role("row", name="finished")).to_contain_text("delivered", timeout=READY_MS)
    assert violations(page) == []
    told = outside.messages[-1]
    assert (told["type"], told["data"]["schedule"], told["data"]["score"]["value"]) == (
        "run.finished",
        "each-commit",
        1,
    )


def test_what_was_refused_is_told_at_the_schedule(page: Page, platform: Platform, place: Place) -> None:
    body = {"name": "each", "configuration": "configs/eval/other.toml", "trigger": "sync"}
    place.admin.ask("POST", f"/api{place.path}/schedules", body)
    (place.repository / "configs/eval/other.toml").unlink()
    place.push("without it")
    page.goto(f"{platform.url}{place.path}/schedules")
    row = page.get_by_role("row", name="each")
    expect(row).to_contain_text("has no file configs/eval/other.toml", timeout=READY_MS)
    assert violations(page) == []


def test_on_a_phone_schedules_fold_and_their_tab_is_in_view(page: Page, platform: Platform, place: Place) -> None:
    body = {"name": "each-night-with-a-long-name", "configuration": "configs/eval/other.toml", "cron": "0 3 * * *"}
    place.admin.ask("POST", f"/api{place.path}/schedules", {**body, "trigger": "cron"})
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(f"{platform.url}{place.path}/schedules")
    expect(page.get_by_role("row", name="each")).to_contain_text("every day at 3:00")
    table = page.get_by_role("region", name="Table of schedules")
    assert table.evaluate("table => table.scrollWidth - table.clientWidth") == 0
    tab = page.get_by_role("navigation", name="Workspace").get_by_role("link", name="Schedules")
    assert tab.evaluate("tab => tab.getBoundingClientRect().right <= innerWidth")
