"""The pages of a platform in Chromium: the whole way from signing in to a public leaderboard."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.viewer.hosting import Member, Platform, commit, forks, hosting
from tests.viewer.test_axe import violations

PASSWORD = "correct horse battery staple"
READY_MS = 60_000


def repository(folder: Path, *, manifest: bool = True) -> Path:
    """Return a git repository with an environment that works, or with nothing in it."""
    folder.mkdir()
    if manifest:
        command = [sys.executable, "-m", "mesocosm", "init", "--dir", str(folder)]
        with forks():
            subprocess.run(command, check=True, capture_output=True)
    else:
        (folder / "README.md").write_text("nothing here")
    return commit(folder)


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """A platform that takes repositories of this machine."""
    with hosting(tmp_path_factory.mktemp("platform")) as running:
        yield running


@pytest.fixture(scope="module")
def environment(platform: Platform, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """An environment that the administrator submitted and that was built."""
    admin = Member(platform, platform.admin, platform.password)
    return admin.built(admin.submit("Word game", repository(tmp_path_factory.mktemp("built") / "game")))


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


def fill_sign_in(page: Page, platform: Platform) -> None:
    """Sign in with the form that the page shows."""
    page.get_by_label("User name").fill(platform.admin)
    page.get_by_label("Password").fill(platform.password)
    page.get_by_role("main").get_by_role("button", name="Sign in").click()


def sign_in(page: Page, platform: Platform) -> None:
    """Sign in without a page, as the form does."""
    login = {"username": platform.admin, "password": platform.password}
    answer = page.request.post(f"{platform.url}/api/auth/login", data=login, headers={"x-mesocosm": "1"})
    assert answer.ok, answer.text()


def submit(page: Page, platform: Platform, name: str, source: Path) -> None:
    """Submit an environment and wait on its page."""
    page.goto(f"{platform.url}/environments/new")
    page.get_by_label("Repository").fill(str(source))
    page.get_by_label("Name").fill(name)
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("heading", name="Build of version 1")).to_be_visible()


def check_axe(page: Page, part: str = "") -> None:
    """Find nothing that axe would call a barrier, on the page or in a part of it."""
    assert violations(page, part) == []


def declare_protocol(page: Page) -> None:
    """Declare the official board of the domain that the page shows."""
    page.get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name="Declare an official protocol…").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Seeds per run").fill("0")
    expect(form.get_by_text("Enter a whole number of at least 1.")).to_be_visible()
    form.get_by_label("Seeds per run").fill("5")
    check_axe(page, "dialog")
    form.get_by_role("button", name="Declare").click()
    expect(page.get_by_role("region", name="Official leaderboard")).to_contain_text("5 seeds drawn by the server")


def test_from_signing_in_to_a_public_leaderboard(
    visitor: Page, platform: Platform, browser: Browser, tmp_path: Path
) -> None:
    page = visitor
    page.goto(f"{platform.url}/sign-in")
    fill_sign_in(page, platform)
    expect(page.get_by_role("button", name=platform.admin)).to_be_visible()
    submit(page, platform, "Number game", repository(tmp_path / "good"))
    expect(page.get_by_text("ready", exact=True).first).to_be_visible(timeout=READY_MS)
    expect(page.get_by_label("Build log").last).to_contain_text("ready")
    check_axe(page)

    page.get_by_role("main").get_by_role("link", name="New run").click()
    page.get_by_label("builtin/oracle").check()
    page.get_by_label("Episodes", exact=True).fill("3")
    page.get_by_label("public", exact=True).check()
    expect(page.get_by_text("--model builtin/oracle")).to_be_visible()
    check_axe(page)
    page.get_by_role("button", name="Start 1 run").click()

    expect(page.get_by_text("finished", exact=True).first).to_be_visible(timeout=READY_MS)
    expect(page.get_by_text("yours")).to_be_visible()
    check_axe(page)
    page.get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name="Rescore").click()
    expect(page.get_by_text("Run rescored.")).to_be_visible()
    page.get_by_role("link", name="Leaderboard", exact=True).click()
    board = page.get_by_role("region", name="Ranking")
    expect(board.get_by_role("link", name="builtin/oracle")).to_be_visible()
    domain = page.url
    declare_protocol(page)

    stranger = browser.new_page()
    stranger.goto(platform.url)
    expect(stranger.get_by_role("region", name="Table of public runs").get_by_role("link").first).to_be_visible()
    stranger.goto(domain)
    stranger.get_by_role("region", name="Ranking").get_by_role("link", name="builtin/oracle").click()
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
    visitor.get_by_role("link", name="Sign in to continue").click()
    visitor.get_by_label("User name").fill(platform.admin)
    visitor.get_by_label("Password").fill("wrong")
    visitor.get_by_role("main").get_by_role("button", name="Sign in").click()
    expect(visitor.get_by_role("alert")).to_be_visible()
    fill_sign_in(visitor, platform)
    expect(visitor).to_have_url(re.compile(r"/teams\?join=ABCD2345$"))
    expect(visitor.get_by_label("Code")).to_have_value("ABCD2345")


def test_a_refusal_names_a_page_and_no_command(visitor: Page, platform: Platform) -> None:
    sign_in(visitor, platform)
    visitor.goto(f"{platform.url}/environments/missing")
    expect(visitor.get_by_role("alert")).to_contain_text("the page “Environments” shows yours")
    expect(visitor.get_by_role("alert")).not_to_contain_text("mesocosm env")


def test_a_team_is_made_and_a_token_is_shown_once(visitor: Page, platform: Platform) -> None:
    sign_in(visitor, platform)
    visitor.goto(f"{platform.url}/teams")
    visitor.get_by_label("Name").fill("Red pandas")
    visitor.get_by_role("button", name="Create team").click()
    expect(visitor.get_by_role("heading", name="Red pandas")).to_be_visible()
    expect(visitor.get_by_role("button", name="Copy code")).to_be_visible()
    visitor.goto(f"{platform.url}/account")
    visitor.get_by_label("Name").fill("CI")
    visitor.get_by_role("button", name="Create token").click()
    expect(visitor.get_by_text("mct_")).to_be_visible()
    visitor.reload()
    expect(visitor.get_by_role("rowheader", name="CI")).to_be_visible()
    expect(visitor.get_by_text("mct_")).to_have_count(0)


def test_members_of_a_workspace_come_and_go(visitor: Page, platform: Platform) -> None:
    sign_in(visitor, platform)
    visitor.goto(f"{platform.url}/admin?tab=users")
    visitor.get_by_label("User name").fill("joan")
    visitor.get_by_role("textbox", name="Password").fill(PASSWORD)
    visitor.get_by_role("button", name="Add user").click()
    expect(visitor.get_by_role("rowheader", name="joan")).to_be_visible()
    visitor.get_by_role("button", name=platform.admin, exact=True).click()
    visitor.get_by_role("menuitem", name="Workspaces").click()
    expect(visitor.get_by_role("heading", name="Workspaces")).to_be_visible()
    check_axe(visitor)
    visitor.get_by_label("Name").fill("Coral reefs")
    visitor.get_by_role("button", name="Create workspace").click()
    expect(visitor.get_by_role("heading", name="Coral reefs")).to_be_visible()
    visitor.get_by_role("navigation", name="Workspace").get_by_role("link", name="Members").click()
    visitor.get_by_label("User name").fill("nobody-here")
    visitor.get_by_role("button", name="Add member").click()
    expect(visitor.get_by_role("alert")).to_contain_text("no active account 'nobody-here'")
    visitor.get_by_label("User name").fill("joan")
    visitor.get_by_label("Role").select_option("viewer")
    visitor.get_by_role("button", name="Add member").click()
    row = visitor.get_by_role("row", name="joan")
    expect(row).to_contain_text("viewer")
    check_axe(visitor)
    visitor.get_by_role("button", name="Change joan").click()
    visitor.get_by_role("menuitem", name="Make owner").click()
    expect(row).to_contain_text("owner")
    overview = visitor.get_by_role("navigation", name="Workspace").get_by_role("link", name="Overview")
    overview.click()
    choose(visitor, "Leave…")
    visitor.get_by_role("dialog").get_by_role("button", name="Leave").click()
    card = visitor.get_by_role("listitem").filter(has_text="Coral reefs")
    expect(card).to_contain_text("not a member")
    card.get_by_role("link").click()
    visitor.get_by_role("navigation", name="Workspace").get_by_role("link", name="Members").click()
    visitor.get_by_role("button", name="Change joan").click()
    visitor.get_by_role("menuitem", name="Remove…").click()
    visitor.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(visitor.get_by_text("make another member an owner first").first).to_be_visible()
    visitor.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    overview.click()
    choose(visitor, "Delete…")
    visitor.get_by_role("dialog").get_by_role("button", name="Delete workspace").click()
    expect(visitor.get_by_text("You are not in a workspace yet")).to_be_visible()


def choose(page: Page, action: str) -> None:
    """Choose what is to be done with the workspace of the page."""
    page.get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name=action).click()


def test_a_workspace_is_renamed_and_gets_a_budget(visitor: Page, platform: Platform) -> None:
    admin = Member(platform, platform.admin, platform.password)
    path = f"/workspaces/{admin.ask('POST', '/api/workspaces', {'name': 'Shoals'})['id']}"
    admin.ask("POST", "/api/workspaces", {"name": "Kelp"})
    sign_in(visitor, platform)
    visitor.goto(f"{platform.url}{path}")
    expect(visitor.get_by_role("region", name="Budget")).to_contain_text("$0 spent of no limit")
    choose(visitor, "Rename…")
    dialog = visitor.get_by_role("dialog")
    dialog.get_by_label("Name").fill("kelp")
    dialog.get_by_role("button", name="Rename").click()
    expect(dialog.get_by_role("alert")).to_contain_text("taken on this server")
    dialog.get_by_label("Name").fill("Tide pools")
    dialog.get_by_role("button", name="Rename").click()
    expect(visitor.get_by_role("heading", name="Tide pools")).to_be_visible()
    choose(visitor, "Set the budget…")
    dialog.get_by_label("US dollars").fill("a lot")
    dialog.get_by_role("button", name="Set the budget").click()
    expect(dialog.get_by_text("Enter an amount")).to_be_visible()
    dialog.get_by_label("US dollars").fill("12.50")
    dialog.get_by_role("button", name="Set the budget").click()
    expect(visitor.get_by_role("region", name="Budget")).to_contain_text("$12.50 left of $12.50")
    check_axe(visitor)


def test_an_administrator_adds_somebody_who_signs_out_again(
    visitor: Page, platform: Platform, browser: Browser
) -> None:
    sign_in(visitor, platform)
    visitor.goto(f"{platform.url}/admin?tab=users")
    visitor.get_by_label("User name").fill("ada")
    visitor.get_by_role("textbox", name="Password").fill(PASSWORD)
    visitor.get_by_role("button", name="Add user").click()
    expect(visitor.get_by_role("rowheader", name="ada")).to_be_visible()
    check_axe(visitor)
    other = browser.new_page()
    sign_in(other, Platform(platform.url, "ada", PASSWORD))
    other.goto(platform.url)
    expect(other.get_by_role("link", name="Admin")).to_have_count(0)
    other.get_by_role("button", name="ada").click()
    other.get_by_role("menuitem", name="Sign out").click()
    expect(other.get_by_role("banner").get_by_role("link", name="Sign in")).to_be_visible()
    other.close()


def test_what_an_administrator_does_to_people_fits_the_window(visitor: Page, platform: Platform) -> None:
    name = "somebody-with-a-name-as-long-as-names-can-be"
    admin = Member(platform, platform.admin, platform.password)
    admin.ask("POST", "/api/admin/users", {"username": name, "password": PASSWORD, "role": "member"})
    sign_in(visitor, platform)
    visitor.set_viewport_size({"width": 1440, "height": 900})
    visitor.goto(f"{platform.url}/admin?tab=users")
    more = visitor.get_by_role("button", name=f"Change {name}")
    expect(more).to_be_visible()
    assert hidden_pixels(visitor, "Table of users") == 0
    more.press("Enter")
    expect(visitor.get_by_role("menuitem", name="Reset password")).to_be_focused()
    visitor.keyboard.press("End")
    last = visitor.get_by_role("menuitem", name="Disable account")
    expect(last).to_be_focused()
    # Nothing lies above it, and the table that it belongs to does not cut it off.
    last.click(trial=True)
    check_axe(visitor, "[role=menu]")
    visitor.keyboard.press("Enter")
    expect(visitor.get_by_role("dialog")).to_contain_text("sessions and tokens")
    visitor.keyboard.press("Escape")
    expect(more).to_be_focused()


def hidden_pixels(page: Page, table: str) -> int:
    """Return how far a table scrolls sideways."""
    scrolled = page.get_by_role("region", name=table)
    return int(scrolled.evaluate("(box) => Math.max(0, box.scrollWidth - box.clientWidth)"))


def test_the_audit_log_names_people_and_is_stacked_on_a_phone(visitor: Page, platform: Platform) -> None:
    name = "auditor-with-a-name-as-long-as-names-can-be"
    admin = Member(platform, platform.admin, platform.password)
    admin.ask("POST", "/api/admin/users", {"username": name, "password": PASSWORD, "role": "member"})
    sign_in(visitor, platform)
    visitor.goto(f"{platform.url}/admin?tab=audit")
    row = visitor.get_by_role("row").filter(has=visitor.get_by_role("cell", name=name, exact=True))
    expect(row).to_contain_text("user.add")
    expect(row.get_by_role("cell", name=platform.admin, exact=True)).to_be_visible()
    visitor.set_viewport_size({"width": 390, "height": 800})
    entry = visitor.get_by_role("list", name="Audit log").get_by_role("listitem").filter(has_text=name).first
    expect(entry).to_contain_text(re.compile(f"user.add.*{platform.admin} → {name}", re.DOTALL))
    assert visitor.evaluate("document.documentElement.scrollWidth") <= 390
    check_axe(visitor)


def test_the_bar_of_an_administrator_fits_while_runs_are_watched(visitor: Page, platform: Platform) -> None:
    sign_in(visitor, platform)
    visitor.goto(f"{platform.url}/")
    expect(visitor.get_by_role("status").filter(has_text="Live")).to_be_attached()
    pages = visitor.get_by_role("navigation", name="Pages").get_by_role("link")
    for width in (1440, 1200, 1024, 390):
        visitor.set_viewport_size({"width": width, "height": 800})
        expect(pages).to_have_count(8 if width > 1024 else 0)
        expect(visitor.get_by_role("button", name="Pages")).to_have_count(0 if width > 1024 else 1)
        assert visitor.evaluate("document.documentElement.scrollWidth") <= width


def check_both_themes(page: Page) -> None:
    """Find nothing that axe would call a barrier: wide and light, narrow and dark; no phone scrolls sideways."""
    check_axe(page)
    page.set_viewport_size({"width": 390, "height": 800})
    page.emulate_media(color_scheme="dark")
    check_axe(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.set_viewport_size({"width": 1280, "height": 800})
    page.emulate_media(color_scheme="light")


def test_runs_of_a_benchmark_are_started_for_two_models_at_once(visitor: Page, platform: Platform) -> None:
    sign_in(visitor, platform)
    visitor.goto(f"{platform.url}/benchmarks")
    benchmark = visitor.get_by_role("link", name="eliza-format: structured answers")
    expect(benchmark).to_be_visible()
    check_both_themes(visitor)
    benchmark.click()
    visitor.get_by_role("link", name="Run it").click()
    visitor.get_by_label("Workspace").select_option("")
    visitor.get_by_label("Tasks").fill("3")
    visitor.get_by_role("button", name="Start 0 runs").click()
    expect(visitor.get_by_text("Choose at least one model.")).to_be_visible()
    for model in ("builtin/empty", "builtin/oracle"):
        visitor.get_by_label(model).check()
    side = visitor.get_by_role("region", name="Before it starts")
    expect(side).to_contain_text("$0")
    expect(side).to_contain_text("workers are free")
    commands = visitor.get_by_role("region", name="The same as a command")
    expect(commands).to_contain_text("--solo --model builtin/oracle --max-examples 3 --parallel 32 --fresh")
    check_both_themes(visitor)
    visitor.get_by_role("button", name="Start 2 runs").click()
    expect(visitor).to_have_url(re.compile("benchmark=eliza-format"))
    expect(visitor.get_by_role("link", name=re.compile("oracle")).first).to_be_visible()


def test_rollouts_and_datasets_are_listed_for_all_workspaces(visitor: Page, platform: Platform) -> None:
    Member(platform, platform.admin, platform.password).ask("POST", "/api/workspaces", {"name": "Sea grass"})
    sign_in(visitor, platform)
    for name in ("Rollouts", "Datasets"):
        visitor.goto(f"{platform.url}/benchmarks")
        visitor.get_by_role("navigation", name="Pages").get_by_role("link", name=name).click()
        expect(visitor.get_by_role("link", name="Sea grass")).to_be_visible()
        expect(visitor.get_by_text(f"No {name.lower()} yet").first).to_be_visible()
        check_both_themes(visitor)


def test_an_administrator_adds_checks_and_disables_a_model(visitor: Page, platform: Platform) -> None:
    sign_in(visitor, platform)
    visitor.goto(f"{platform.url}/admin?tab=models")
    visitor.get_by_role("button", name="Add a model").click()
    visitor.get_by_label("Name").fill("house/tiny")
    visitor.get_by_label("Served as").fill("replay//etc/passwd")
    visitor.get_by_label("API key").fill("sk-of-the-house-0123")
    check_both_themes(visitor)
    visitor.get_by_role("button", name="Save").click()
    expect(visitor.get_by_text("reads a file or a terminal of the server").first).to_be_visible()
    visitor.get_by_label("Served as").fill("openai/tiny@http://127.0.0.1:9/v1")
    visitor.get_by_role("button", name="Save").click()
    row = visitor.get_by_role("row", name="house/tiny")
    expect(row).to_contain_text("stored")
    row.get_by_role("button", name="Change house/tiny").click()
    visitor.get_by_role("menuitem", name="Ask it one word").click()
    expect(row).to_contain_text("no answer", timeout=READY_MS)
    check_both_themes(visitor)
    row.get_by_role("button", name="Change house/tiny").click()
    visitor.get_by_role("menuitem", name="Disable").click()
    row.get_by_role("button", name="Change house/tiny").click()
    expect(visitor.get_by_role("menuitem", name="Enable")).to_be_visible()
    visitor.get_by_role("menuitem", name="Remove…").click()
    visitor.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(row).to_have_count(0)


def test_a_guest_goes_on_with_the_page_they_came_for(visitor: Page, platform: Platform) -> None:
    visitor.goto(f"{platform.url}/sign-in?next=%2Fnew-run")
    visitor.get_by_role("button", name="Continue as a guest").click()
    expect(visitor).to_have_url(re.compile("/new-run$"))
    expect(visitor.get_by_role("button", name="Guest")).to_be_visible()


def test_a_list_of_runs_says_whose_they_are(visitor: Page, platform: Platform, environment: dict[str, Any]) -> None:
    admin = Member(platform, platform.admin, platform.password)
    for name in ("grace", "linus"):
        admin.ask("POST", "/api/admin/users", {"username": name, "password": PASSWORD, "role": "member"})
    admin.ask("POST", f"/api/domains/{environment['domain_id']}/publish")
    grace = Member(platform, "grace", PASSWORD)
    public = grace.run(environment, "builtin/oracle", 1, visibility="gallery_public", name="for everybody")
    hidden = grace.run(environment, "builtin/oracle", 1, name="for herself")
    for run in (public, hidden):
        grace.ended(run)

    page = visitor
    sign_in(page, Platform(platform.url, "grace", PASSWORD))
    page.goto(f"{platform.url}/")
    expect(page.get_by_role("link", name="for herself")).to_be_visible()
    page.get_by_role("button", name="Filters").click()
    page.get_by_label("Whose runs").select_option("public")
    expect(page).to_have_url(re.compile("whose=public"))
    expect(page.get_by_role("link", name="for herself")).to_have_count(0)
    page.get_by_role("checkbox", name="Select row 2").check()
    check_axe(page)
    page.get_by_role("button", name=re.compile("^Remove whose|whose")).click()
    expect(page.get_by_role("link", name="for herself")).to_be_visible()
    page.context.clear_cookies()

    sign_in(page, Platform(platform.url, "linus", PASSWORD))
    page.goto(f"{platform.url}/")
    expect(page.get_by_role("link", name="for everybody")).to_be_visible()
    expect(page.get_by_role("link", name="for herself")).to_have_count(0)
    page.get_by_role("checkbox", name="Select row 2").check()
    expect(page.get_by_role("region", name="Selected runs")).to_be_visible()
    expect(page.get_by_role("button", name="Delete")).to_have_count(0)
    page.goto(f"{platform.url}/runs/{hidden}")
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.get_by_role("link", name="Sign in to continue")).to_have_count(0)
    page.context.clear_cookies()
    page.goto(f"{platform.url}/runs/{hidden}")
    page.get_by_role("link", name="Sign in to continue").click()
    expect(page).to_have_url(re.compile(rf"next=.*{hidden}"))


def test_a_sign_in_elsewhere_is_listed_and_ended(visitor: Page, platform: Platform, browser: Browser) -> None:
    elsewhere = browser.new_page()
    sign_in(elsewhere, platform)
    sign_in(visitor, platform)
    visitor.goto(f"{platform.url}/account")
    table = visitor.get_by_role("region", name="Table of sessions")
    expect(table.get_by_text("this browser")).to_have_count(1)
    check_axe(visitor)
    while (button := table.get_by_role("button", name="Sign out")).count():
        before = button.count()
        button.first.click()
        visitor.get_by_role("dialog").get_by_role("button", name="Sign out").click()
        expect(button).to_have_count(before - 1)
    elsewhere.goto(f"{platform.url}/account")
    expect(elsewhere.get_by_role("main").get_by_role("link", name="Sign in")).to_be_visible()
    elsewhere.close()
    visitor.reload()
    expect(visitor.get_by_text("this browser")).to_be_visible()


def test_the_form_says_what_one_may_do(visitor: Page, platform: Platform, environment: dict[str, Any]) -> None:
    sign_in(visitor, platform)
    visitor.goto(f"{platform.url}/new-run?domain={environment['domain_id']}")
    left = visitor.get_by_role("region", name="Your limits")
    expect(left.get_by_text(re.compile(r"[\d,]+ of 10,000"))).to_be_visible()
    visitor.get_by_label("builtin/oracle").check()
    visitor.get_by_label("Episodes", exact=True).fill("10001")
    visitor.get_by_role("button", name="Start 1 run").click()
    expect(visitor.get_by_text("A run can have at most 10,000 episodes.")).to_be_visible()
    check_axe(visitor)
