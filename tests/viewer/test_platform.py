"""The pages of a platform in Chromium: the whole way from signing in to a public leaderboard."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.viewer.conftest import ROOT

PASSWORD = "correct horse battery staple"
AXE = ROOT / "viewer" / "node_modules" / "axe-core" / "axe.min.js"
READY_MS = 60_000


@dataclass
class Platform:
    """A `mesocosm serve` with one worker."""

    url: str
    admin: str
    password: str


def repository(folder: Path, *, manifest: bool = True) -> Path:
    """Return a git repository with an environment that works, or with nothing in it."""
    folder.mkdir()
    if manifest:
        subprocess.run(
            [sys.executable, "-m", "mesocosm", "init", "--dir", str(folder)], check=True, capture_output=True
        )
    else:
        (folder / "README.md").write_text("nothing here")
    who = ("-c", "user.name=nobody", "-c", "user.email=nobody@example.org")
    for words in (("init", "-q"), ("add", "-A"), (*who, "commit", "-q", "-m", "first")):
        subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """A platform that takes repositories of this machine; what it prints when it is ready says where it is."""
    folder = tmp_path_factory.mktemp("platform")
    words = ("--port", "0", "--login-port", "0", "--sandbox", "plain", "--unsafe-sandbox", "--data-dir", str(folder))
    variables = {"MESOCOSM_LOCAL_GIT": "1", "MESOCOSM_COOLDOWN_S": "0"}
    with (
        (folder / "serve.log").open("w") as log,
        subprocess.Popen(
            [sys.executable, "-m", "mesocosm", "serve", "--json", *words],
            env={**os.environ, **variables},
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as process,
    ):
        assert process.stdout is not None
        told = "".join(iter(process.stdout.readline, "}\n")) + "}"
        made: dict[str, Any] = json.loads(told)
        first = made["first_admin"]
        try:
            yield Platform(made["url"], first["username"], first["password"])
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


@pytest.fixture
def visitor(browser: Browser) -> Iterator[Page]:
    """A browser that nobody has used; errors of the page fail the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce", bypass_csp=True)
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    yield page
    context.close()
    assert wrong == []


def sign_in(page: Page, platform: Platform) -> None:
    """Sign in on the page for that."""
    page.goto(f"{platform.url}/sign-in")
    page.get_by_label("User name").fill(platform.admin)
    page.get_by_label("Password").fill(platform.password)
    page.get_by_role("main").get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("button", name=platform.admin)).to_be_visible()


def submit(page: Page, platform: Platform, name: str, source: Path) -> None:
    """Submit an environment and wait on its page."""
    page.goto(f"{platform.url}/environments/new")
    page.get_by_label("Repository").fill(str(source))
    page.get_by_label("Name").fill(name)
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("heading", name="Build of version 1")).to_be_visible()


def check_axe(page: Page) -> None:
    """Find nothing that axe would call a barrier."""
    page.add_script_tag(path=AXE)
    found = page.evaluate("axe.run().then((result) => result.violations.map((one) => one.id + ' ' + one.help))")
    assert found == []


def test_from_signing_in_to_a_public_leaderboard(
    visitor: Page, platform: Platform, browser: Browser, tmp_path: Path
) -> None:
    page = visitor
    sign_in(page, platform)
    submit(page, platform, "Number game", repository(tmp_path / "good"))
    expect(page.get_by_text("ready", exact=True).first).to_be_visible(timeout=READY_MS)
    expect(page.get_by_label("Build log").last).to_contain_text("ready")
    check_axe(page)

    page.get_by_role("main").get_by_role("link", name="New run").click()
    page.get_by_label("Model").select_option("builtin/oracle")
    page.get_by_label("Episodes").fill("3")
    page.get_by_label("public", exact=True).check()
    expect(page.get_by_text("--model builtin/oracle")).to_be_visible()
    check_axe(page)
    page.get_by_role("button", name="Start the run").click()

    expect(page.get_by_text("finished", exact=True).first).to_be_visible(timeout=READY_MS)
    expect(page.get_by_text("yours")).to_be_visible()
    check_axe(page)
    page.get_by_role("link", name="Leaderboard", exact=True).click()
    board = page.get_by_role("region", name="Places")
    expect(board.get_by_role("link", name="builtin/oracle")).to_be_visible()
    domain = page.url

    stranger = browser.new_page()
    stranger.goto(platform.url)
    expect(stranger.get_by_role("region", name="Table of public runs").get_by_role("link").first).to_be_visible()
    stranger.goto(domain)
    stranger.get_by_role("region", name="Places").get_by_role("link", name="builtin/oracle").click()
    expect(stranger.get_by_text("Prompts and reasoning are hidden")).to_be_visible()
    expect(stranger.get_by_role("button", name="Cancel")).to_have_count(0)
    stranger.close()


def test_a_build_that_fails_says_what_to_do(visitor: Page, platform: Platform, tmp_path: Path) -> None:
    sign_in(visitor, platform)
    submit(visitor, platform, "Nothing", repository(tmp_path / "bad", manifest=False))
    expect(visitor.get_by_role("alert")).to_contain_text("mesocosm init", timeout=READY_MS)
    expect(visitor.get_by_role("button", name="Try again")).to_be_visible()
    check_axe(visitor)


def test_who_may_not_see_a_page_signs_in_and_comes_back(visitor: Page, platform: Platform) -> None:
    visitor.goto(f"{platform.url}/teams?join=ABCD2345")
    visitor.get_by_role("link", name="Sign in and come back here").click()
    visitor.get_by_label("User name").fill(platform.admin)
    visitor.get_by_label("Password").fill("wrong")
    visitor.get_by_role("main").get_by_role("button", name="Sign in").click()
    expect(visitor.get_by_role("alert")).to_be_visible()
    visitor.get_by_label("Password").fill(platform.password)
    visitor.get_by_role("main").get_by_role("button", name="Sign in").click()
    expect(visitor).to_have_url(re.compile(r"/teams\?join=ABCD2345$"))
    expect(visitor.get_by_label("Code")).to_have_value("ABCD2345")


def test_a_team_is_made_and_a_token_is_shown_once(visitor: Page, platform: Platform) -> None:
    sign_in(visitor, platform)
    visitor.goto(f"{platform.url}/teams")
    visitor.get_by_label("Name").fill("Red pandas")
    visitor.get_by_role("button", name="Make the team").click()
    expect(visitor.get_by_role("heading", name="Red pandas")).to_be_visible()
    expect(visitor.get_by_role("button", name="Copy the code")).to_be_visible()
    visitor.goto(f"{platform.url}/account")
    visitor.get_by_label("Name").fill("CI")
    visitor.get_by_role("button", name="Make the token").click()
    expect(visitor.get_by_text("mct_")).to_be_visible()
    visitor.reload()
    expect(visitor.get_by_role("rowheader", name="CI")).to_be_visible()
    expect(visitor.get_by_text("mct_")).to_have_count(0)


def test_an_administrator_adds_somebody_who_signs_out_again(
    visitor: Page, platform: Platform, browser: Browser
) -> None:
    sign_in(visitor, platform)
    visitor.goto(f"{platform.url}/admin?tab=users")
    visitor.get_by_label("User name").fill("ada")
    visitor.get_by_role("textbox", name="Password").fill(PASSWORD)
    visitor.get_by_role("button", name="Add", exact=True).click()
    expect(visitor.get_by_role("rowheader", name="ada")).to_be_visible()
    check_axe(visitor)
    other = browser.new_page()
    sign_in(other, Platform(platform.url, "ada", PASSWORD))
    expect(other.get_by_role("link", name="Admin")).to_have_count(0)
    other.get_by_role("button", name="ada").click()
    other.get_by_role("menuitem", name="Sign out").click()
    expect(other.get_by_role("banner").get_by_role("link", name="Sign in")).to_be_visible()
    other.close()


def test_a_guest_goes_on_with_the_page_they_came_for(visitor: Page, platform: Platform) -> None:
    visitor.goto(f"{platform.url}/sign-in?next=%2Fnew-run")
    visitor.get_by_role("button", name="Go on as a guest").click()
    expect(visitor).to_have_url(re.compile("/new-run$"))
    expect(visitor.get_by_role("button", name="Guest")).to_be_visible()
