"""Evaluations on a server in Chromium: the way of a team from an empty workspace to a schedule, and its pages.

The server, its worker, the sandbox, git and the browser are real; the models answer on loopback.
"""

import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from tests.viewer import evaluating
from tests.viewer.conftest import Window, watched_page
from tests.viewer.evaluating import STEADY, Door, Team, evaluate
from tests.viewer.hosting import Platform
from tests.viewer.test_axe import NARROW, WIDE, violations
from tests.viewer.test_workspace_pages import sign_in

READY_MS = 90_000
KEY = "judge-key-of-this-test-7c1f"
ROWS = 12


@pytest.fixture
def page(window: Window) -> Iterator[Page]:
    """A page that fails its test when it asks for anything outside, or throws; refusals are no failure."""
    with window.page() as (opened, seen):
        yield opened
    assert not seen.outside
    assert [error for error in seen.errors if not error.startswith("Failed to load resource")] == []


def panel(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=name, exact=True)


def status(page: Page, word: str) -> Locator:
    return page.locator("header").get_by_text(word, exact=True)


# ---- the whole way ---------------------------------------------------------------------------------------------------


@dataclass
class Story:
    """A member who works on a platform with nothing on it."""

    page: Page
    platform: Platform
    door: Door
    repository: Path

    def tab(self, name: str) -> None:
        """Open a page of the workspace."""
        self.page.get_by_role("navigation", name="Workspace").get_by_role("link", name=name, exact=True).click()
        expect(self.page.get_by_role("navigation", name="Workspace").get_by_role("link", name=name)).to_have_attribute(
            "aria-current", "page"
        )

    def finished(self) -> None:
        """Wait until the run of the page is over; its page is not loaded again for that."""
        self.page.evaluate("window.kept = true")
        expect(status(self.page, "finished")).to_be_visible(timeout=READY_MS)
        assert self.page.evaluate("window.kept") is True


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A bare repository whose configuration `strict.toml` needs a secret."""
    work = tmp_path / "work"
    for branch, message, files in list(evaluating.history())[:3]:
        evaluating.commit(work, branch, message, files)
    subprocess.run(["git", "clone", "-q", "--bare", str(work), str(tmp_path / "evals.git")], check=True)
    return tmp_path / "evals.git"


@pytest.fixture
def story(page: Page, bare: Path, tmp_path: Path) -> Iterator[Story]:
    with evaluating.serving(tmp_path / "platform", delay_s=0) as (platform, door):
        yield Story(page, platform, door, bare)
        # It would go on asking a platform that is about to end.
        page.close()


def test_a_team_goes_from_an_empty_workspace_to_a_schedule(story: Story, tmp_path: Path) -> None:
    sign_in_with_the_form(story)
    make_a_workspace_and_connect(story)
    upload_a_dataset(story, tmp_path)
    set_the_secret_that_is_missing(story)
    first = start_a_run_and_watch_it(story)
    look_at_a_sample(story)
    second = run_again_with_another_model(story, first)
    compare_with_the_last_run(story)
    add_failed_rows_to_a_dataset(story, second)
    schedule_the_configuration(story, second)
    stop_a_run(story, second)
    assert KEY not in story.page.content()


def sign_in_with_the_form(story: Story) -> None:
    page, platform = story.page, story.platform
    page.goto(f"{platform.url}/sign-in")
    page.get_by_label("User name").fill(platform.admin)
    page.get_by_label("Password").fill(platform.password)
    page.get_by_role("main").get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("button", name=platform.admin)).to_be_visible()


def make_a_workspace_and_connect(story: Story) -> None:
    page = story.page
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Rollouts").click()
    page.get_by_role("link", name="Create a workspace").click()
    page.get_by_label("Name").fill("Tide pools")
    page.get_by_role("button", name="Create workspace").click()
    expect(page.get_by_role("heading", name="Tide pools")).to_be_visible()
    expect(panel(page, "Repository")).to_contain_text("mesocosm workspace connect")
    expect(panel(page, "Newest runs")).to_contain_text("mesocosm eval submit")
    assert violations(page) == []
    page.get_by_role("link", name="Connect a repository").click()
    form = page.get_by_role("form", name="Connect a repository")
    form.get_by_label("URL").fill(str(story.repository))
    form.get_by_role("button", name="Connect").click()
    expect(status(page, "synced")).to_be_visible(timeout=READY_MS)
    holds = page.get_by_role("region", name="Table of rollouts and configurations")
    expect(holds.get_by_role("row", name="strict.toml")).to_contain_text("valid")


def upload_a_dataset(story: Story, tmp_path: Path) -> None:
    page = story.page
    (tmp_path / "hard.jsonl").write_text(evaluating.rows(ROWS))
    story.tab("Datasets")
    page.get_by_role("button", name="Upload a dataset").click()
    form = page.get_by_role("form", name="Upload a file")
    form.get_by_label("File").set_input_files(tmp_path / "hard.jsonl")
    form.get_by_role("button", name="Upload").click()
    expect(page.get_by_text("uploaded", exact=True).first).to_be_visible(timeout=READY_MS)


def set_the_secret_that_is_missing(story: Story) -> None:
    page = story.page
    story.tab("Overview")
    todo = page.get_by_role("list", name="To do").get_by_role("listitem")
    expect(todo).to_have_count(1)
    expect(todo).to_contain_text("JUDGE_KEY has no value for your runs; strict.toml needs it.")
    todo.get_by_role("link", name="Set it").click()
    page.get_by_role("button", name="Set", exact=True).click()
    form = page.get_by_role("form", name="Set a secret")
    expect(form.get_by_label("Name")).to_have_value("JUDGE_KEY")
    form.get_by_label("Value").fill(KEY)
    form.get_by_role("button", name="Set secret").click()
    names = page.get_by_role("list", name="Names that a run needs").get_by_role("listitem")
    expect(names).to_have_text(["JUDGE_KEYset"])
    assert KEY not in page.content()
    story.tab("Overview")
    expect(panel(page, "Newest runs")).to_be_visible()
    expect(page.get_by_role("list", name="To do")).to_have_count(0)


def start_a_run_and_watch_it(story: Story) -> str:
    """Start a run of a configuration from the page of its rollout; return the address of its page."""
    page = story.page
    story.tab("Rollouts")
    page.get_by_role("link", name="sums", exact=True).click()
    expect(page.get_by_role("heading", name="sums", level=1)).to_be_visible()
    expect(panel(page, "What it needs")).to_contain_text("JUDGE_KEY")
    assert violations(page) == []
    page.get_by_role("link", name="Run strict.toml").click()
    before = panel(page, "What is evaluated")
    expect(before).to_contain_text(f"{ROWS} × 2")
    expect(before.get_by_role("list", name="Secrets")).to_contain_text("yours")
    expect(page.get_by_role("region", name="Table of the first rows")).to_contain_text("What is")
    story.door.shut()
    page.get_by_role("button", name="Start 1 run").click()
    expect(status(page, "running")).to_be_visible(timeout=READY_MS)
    expect(page.get_by_text(f"0 of {2 * ROWS}", exact=True)).to_be_visible()
    story.door.open()
    story.finished()
    expect(page.get_by_text(f"{2 * ROWS} samples", exact=True).first).to_be_visible()
    assert violations(page) == []
    return page.url.partition("?")[0]


def look_at_a_sample(story: Story) -> None:
    page = story.page
    page.get_by_role("tab", name="Samples").click()
    grid = page.get_by_role("grid", name="Samples")
    grid.get_by_role("row").filter(has=page.get_by_role("gridcell")).first.get_by_role("link").first.click()
    expect(panel(page, "Conversation")).to_contain_text("Say only the number")
    file = page.get_by_role("link", name=re.compile("why.txt"))
    with page.expect_download() as downloaded:
        file.click()
    assert downloaded.value.path().read_text().startswith("expected ")


def run_again_with_another_model(story: Story, first: str) -> str:
    """Repeat a run with a better model; return the address of the new one."""
    page = story.page
    page.goto(first)
    page.get_by_role("link", name="Run again").click()
    form = page.get_by_role("form", name="New evaluation")
    form.get_by_label(STEADY, exact=True).check()
    expect(panel(page, "Before it starts")).to_contain_text("unknown")
    form.get_by_role("textbox", name="Name").fill("steady")
    form.get_by_role("button", name="Start 1 run").click()
    expect(page.get_by_role("heading", name="steady")).to_be_visible(timeout=READY_MS)
    story.finished()
    return page.url.partition("?")[0]


def compare_with_the_last_run(story: Story) -> None:
    page = story.page
    since = panel(page, "Since the last run")
    expect(since).to_contain_text("changed: model")
    expect(since).to_contain_text(re.compile("May be chance|beyond chance"))
    since.get_by_role("link", name="Compare task by task").click()
    expect(page.get_by_role("grid", name="Tasks of both runs").get_by_role("link").first).to_be_visible()
    page.go_back()


def add_failed_rows_to_a_dataset(story: Story, run: str) -> None:
    page = story.page
    page.goto(f"{run}?tab=samples&outcome=fail")
    page.get_by_role("button", name="Add to dataset").click()
    form = page.get_by_role("form", name="Add to a dataset")
    form.get_by_label("Name").fill("wrong")
    form.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("heading", name="wrong", level=1)).to_be_visible(timeout=READY_MS)
    expect(page.get_by_text("uploaded", exact=True).first).to_be_visible(timeout=READY_MS)
    expect(page.get_by_role("group", name=re.compile(r"^Table of \d+ rows?$"))).to_contain_text("What is")


def schedule_the_configuration(story: Story, run: str) -> None:
    page = story.page
    page.goto(run)
    page.get_by_role("link", name="configs/eval/strict.toml").click()
    expect(page.get_by_role("heading", name="strict.toml", level=1)).to_be_visible()
    page.get_by_role("link", name="Schedule", exact=True).click()
    form = page.get_by_role("form", name="Add a schedule")
    expect(form.get_by_label("Configuration")).to_have_value("configs/eval/strict.toml")
    form.get_by_label("Name").fill("nightly")
    form.get_by_role("button", name="Add schedule").click()
    expect(page.get_by_role("row", name="nightly")).to_contain_text("every day at 3:00")
    story.tab("Overview")
    expect(page.get_by_role("list", name="What runs next").get_by_role("listitem")).to_contain_text("nightly")


def stop_a_run(story: Story, run: str) -> None:
    page = story.page
    page.goto(run)
    story.door.shut()
    page.get_by_role("link", name="Run again").click()
    page.get_by_role("button", name="Start 1 run").click()
    expect(status(page, "running")).to_be_visible(timeout=READY_MS)
    page.get_by_role("button", name="Stop").click()
    story.door.open()
    expect(status(page, "stopped")).to_be_visible(timeout=READY_MS)
    expect(page.get_by_role("button", name="Resume")).to_be_visible()


# ---- a configuration, a rollout, a workspace -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    """A team that evaluated every commit of its history, which no test may change."""
    with evaluating.evaluating(tmp_path_factory.mktemp("team"), delay_s=0, amount=ROWS) as opened:
        evaluate(opened)
        yield opened


Open = Callable[[Page, Team], None]


def configuration(page: Page, team: Team) -> None:
    page.goto(f"{team.platform.url}{team.path}/configuration?path=configs/eval/sums.toml")
    expect(page.get_by_role("figure")).to_be_visible()
    expect(page.get_by_role("row", name="first")).to_contain_text("the first run")


def rollout(page: Page, team: Team) -> None:
    page.goto(f"{team.platform.url}{team.path}/rollouts/sums")
    expect(panel(page, "Newest runs").get_by_role("link", name="first")).to_be_visible()


def rollouts(page: Page, team: Team) -> None:
    page.goto(f"{team.platform.url}{team.path}/rollouts")
    expect(page.get_by_role("row", name="strict.toml")).to_contain_text("no run yet")
    expect(page.get_by_role("row", name="sums.toml")).to_contain_text(f"with {evaluating.STEADY}")


def overview(page: Page, team: Team) -> None:
    page.goto(f"{team.platform.url}{team.path}")
    expect(panel(page, "Newest runs").get_by_role("link", name="first")).to_be_visible()
    expect(panel(page, "To do")).to_contain_text("JUDGE_KEY")


def evaluation_run(page: Page, team: Team) -> None:
    newest = team.owner.ask("GET", f"/api/runs?workspace={team.workspace}&limit=1")["items"][0]["id"]
    page.goto(f"{team.platform.url}/runs/{newest}")
    expect(panel(page, "Since the last run")).to_contain_text("changed: ")
    expect(page.get_by_role("main").get_by_text("yours, in the workspace")).to_be_visible()


def dataset(page: Page, team: Team) -> None:
    found = team.owner.ask("GET", f"/api{team.path}/datasets/hard")
    page.goto(f"{team.platform.url}{team.path}/datasets/{found['id']}?version=1")
    expect(panel(page, "Runs on version 1").get_by_role("link", name="first")).to_be_visible()


LOOKS: tuple[Open, ...] = (configuration, rollout, rollouts, overview, evaluation_run, dataset)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [WIDE, 800, NARROW])
def test_the_pages_can_be_used_by_everybody(browser: Browser, team: Team, width: int, scheme: str) -> None:
    light = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme, "reduced_motion": "reduce"}
    with watched_page(browser, **light, bypass_csp=True) as (page, _):
        sign_in(page, team.platform)
        for look in LOOKS:
            look(page, team)
            assert violations(page) == [], look.__name__
            wide = page.evaluate("document.documentElement.scrollWidth")
            assert wide <= width, f"{look.__name__} is {wide} pixels wide"


def test_a_configuration_shows_its_runs_over_commits(page: Page, team: Team) -> None:
    sign_in(page, team.platform)
    configuration(page, team)
    drawing = page.get_by_role("img", name=re.compile("^reward of 6 runs at 5 commits"))
    labels = drawing.locator("text").all_text_contents()
    commits = [one["commit"][:7] for one in team.owner.ask("GET", f"/api{team.path}/syncs")]
    assert set(commits) < set(labels)
    runs = page.get_by_role("region", name="Table of runs")
    first_on_it = runs.get_by_role("row").filter(has_text="dataset v2")
    expect(first_on_it).to_have_count(1)
    expect(first_on_it).to_contain_text("Two tries, with a key")
    page.get_by_role("group", name=re.compile("^reward over commits")).focus()
    page.keyboard.press("Home")
    expect(page.get_by_role("figure").locator("output")).to_contain_text("First evaluation, openai/gpt-4o-mini: ")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="first", level=1)).to_be_visible()


def difference(team: Team, earlier: str, later: str) -> float:
    """Return by how much the run of a commit, named by its message, did better than that of an earlier one."""
    runs = team.owner.ask("GET", f"/api/runs?workspace={team.workspace}&limit=10")["items"]
    ids = {run["request"]["evaluation"]["message"]: run["id"] for run in runs}
    found = team.owner.ask("GET", f"/api/compare?run={ids[earlier]}&run={ids[later]}")
    delta: float = found["benchmarks"][0]["pairs"][0]["delta"]
    assert delta > 0
    return delta


def test_two_chosen_runs_are_compared_and_what_changed_is_named(page: Page, team: Team) -> None:
    sign_in(page, team.platform)
    configuration(page, team)
    expect(panel(page, "Since the last run")).to_be_visible()
    page.get_by_role("checkbox", name="Compare first").check()
    expect(page.get_by_text("Choose another run to compare.")).to_be_visible()
    careful = page.get_by_role("row").filter(has_text="careful: check the sum once more")
    careful.get_by_role("checkbox").check()
    chosen = panel(page, "The chosen runs")
    expect(chosen).to_contain_text(re.compile(r"May be chance|beyond chance"))
    before, after = chosen.get_by_role("row", name="Code").get_by_role("cell").all_inner_texts()
    assert before.endswith("First evaluation")
    assert after.endswith("careful: check the sum once more")
    expect(chosen).to_contain_text(f"{difference(team, 'First evaluation', 'careful: check the sum once more'):+.3f}")
    page.reload()
    expect(panel(page, "The chosen runs").get_by_role("row", name="Code")).to_contain_text("First evaluation")
    page.keyboard.press("c")
    expect(page.get_by_role("grid", name="Tasks of both runs").get_by_role("link").first).to_be_visible()


def test_a_dataset_shows_the_runs_on_each_version_with_their_scores(page: Page, team: Team) -> None:
    sign_in(page, team.platform)
    dataset(page, team)
    first = panel(page, "Runs on version 1").get_by_role("row").filter(has_text="first")
    expect(first).to_contain_text("finished")
    expect(first).to_contain_text(re.compile(r"0\.\d+"))
    page.get_by_role("link", name="Version 2").click()
    rows = panel(page, "Runs on version 2").get_by_role("row")
    expect(rows).to_have_count(3)
    expect(rows.filter(has_text="first")).to_have_count(0)
    page.get_by_role("link", name="Runs on all versions").click()
    expect(page.get_by_role("list", name="Active filters").get_by_role("button", name="dataset hard")).to_be_visible()
    expect(page.get_by_text("6 runs found")).to_be_visible()


def test_a_configuration_that_is_not_in_the_code_says_so(page: Page, team: Team) -> None:
    sign_in(page, team.platform)
    page.goto(f"{team.platform.url}{team.path}/configuration?path=configs/eval/none.toml")
    expect(page.get_by_text("There is no configs/eval/none.toml in the code.")).to_be_visible()
    page.goto(f"{team.platform.url}{team.path}/rollouts/none")
    expect(page.get_by_text("It is not in the newest synced code of this workspace.")).to_be_visible()


def test_a_viewer_sees_everything_and_is_offered_nothing_to_start(window: Window, team: Team) -> None:
    password = "correct horse battery staple"
    team.owner.ask("POST", "/api/admin/users", {"username": "vera", "password": password})
    team.owner.ask("POST", f"/api{team.path}/members", {"username": "vera", "role": "viewer"})
    with window.page() as (page, seen):
        sign_in(page, Platform(team.platform.url, "vera", password))
        page.goto(f"{team.platform.url}{team.path}")
        expect(panel(page, "Newest runs").get_by_role("link", name="first")).to_be_visible()
        expect(panel(page, "Budget")).to_contain_text("spent of no limit")
        configuration(page, team)
        expect(page.get_by_role("link", name="Schedule", exact=True)).to_have_count(0)
        expect(page.get_by_role("link", name=re.compile("^Run "))).to_have_count(0)
        rollout(page, team)
        expect(panel(page, "What it needs")).to_contain_text("JUDGE_KEY")
        expect(page.get_by_text("missing")).to_have_count(0)
        expect(page.get_by_role("link", name=re.compile("^Run "))).to_have_count(0)
    assert (seen.outside, seen.errors) == ([], [])


def test_the_list_of_runs_leads_to_a_configuration_it_is_filtered_by(page: Page, team: Team) -> None:
    sign_in(page, team.platform)
    page.goto(f"{team.platform.url}/?workspace={team.workspace}&configuration=configs/eval/sums.toml")
    page.get_by_role("link", name="Its runs over commits").click()
    expect(page.get_by_role("heading", name="sums.toml", level=1)).to_be_visible()
