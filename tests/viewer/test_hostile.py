"""Whatever a run recorded is shown and nothing of it happens: no script, no request, no way out of its frame."""

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pytest
from playwright.sync_api import Dialog, Locator, Page, Route, expect
from tests.viewer.conftest import (
    SCRIPT_NAME,
    SCRIPT_TAG,
    MadeOnce,
    Server,
    ask,
    find_episode,
    find_run,
    manifest,
    mesocosm,
    models,
    play,
    serving,
)

from mesocosm.store import open_store

SCRIPT = "<script>window.__ran=1;parent.__ran=1;top.__ran=1</script>"
"""How every hostile text of the gallery begins."""
PLANTED = "</title></script><script>window.__ran=1</script><svg onload=window.__ran=1>\u202e\x07\ud800"
STEPS = 15
TWIN = "twin"
WATCH = """
window.__violations = [];
document.addEventListener('securitypolicyviolation', event => window.__violations.push(event.violatedDirective));
"""


@pytest.fixture
def page(page: Page) -> Iterator[Page]:
    """A page that fails its test when anything recorded ran in it, opened a dialog or met the policy."""
    dialogs: list[str] = []

    def refuse(dialog: Dialog) -> None:
        dialogs.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", refuse)
    page.add_init_script(WATCH)
    yield page
    check_nothing_ran(page)
    assert not dialogs
    assert page.title().endswith("mesocosm")


def check_nothing_ran(page: Page) -> None:
    """Find neither a script that ran in any frame nor anything that the policy forbade."""
    for frame in page.frames:
        assert frame.evaluate("window.__ran === undefined")
    assert page.evaluate("window.__violations") == []


@pytest.fixture(scope="session")
def planted(recorded: Path, made_once: MadeOnce) -> Iterator[Server]:
    """A viewer over the imported gallery, the same with script in all fields, and a model that talks in script."""

    def fill(place: Path) -> None:
        place.mkdir()
        replay = place / "replay.json"
        gallery = find_run(recorded, "content-gallery", "builtin")
        mesocosm("run", "export", gallery, "-o", str(replay), results=recorded)
        mesocosm("import", str(replay), results=place)
        original = json.loads(replay.read_text())
        for other in (poisoned(original), twin(original)):
            replay.write_text(json.dumps(other))
            mesocosm("import", str(replay), results=place)
        with closing(open_store(place)) as store:
            named = next(run for run in store.runs.list().items if run.name == TWIN)
            store.runs.save_terms(msgspec.structs.replace(named, info={**named.info, "view": "html"}))
        # An imported task is one of its own; these are held against each other.
        with closing(sqlite3.connect(place / "orchestrator.sqlite")) as connection, connection:
            connection.execute("UPDATE episodes SET task_digest = task_id WHERE task_id NOT LIKE '%script%'")
        with models() as url:
            play(
                manifest("grid-world"), f"openai/script-<img src=x onerror=window.__ran=1>@{url}", place, "--seeds", "1"
            )

    with serving(made_once("planted", fill)) as running:
        yield running


_ID = re.compile(r"\b([0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-)([0-9a-f]{12})\b")


def poisoned(document: dict[str, Any]) -> dict[str, Any]:
    """Return a replay document as another run, with script wherever a run may say what it likes."""
    run = json.loads(_ID.sub(lambda found: found[1] + found[2][::-1], json.dumps(document)))
    run["domain_name"] = run["domain_id"] = PLANTED
    told = run["run"]
    told.update(model=PLANTED, name=PLANTED, tags=[PLANTED], benchmark=PLANTED, benchmark_title=PLANTED, error=PLANTED)
    told["config"]["domain_id"] = told["config"]["agent_config"]["model"] = told["warnings"] = PLANTED
    told["warnings"] = [PLANTED]
    for episode in run["episodes"]:
        episode["task"] = f"{episode['task']} {PLANTED}"
        if episode.get("failure"):
            episode["failure"].update(message=PLANTED, detail=PLANTED, stderr=PLANTED)
    return dict(run)


def twin(document: dict[str, Any]) -> dict[str, Any]:
    """Return a replay document as another run of the same tasks, whose agent acts and reasons in script."""
    run = json.loads(_ID.sub(lambda found: found[1] + found[2][6:] + found[2][:6], json.dumps(document)))
    run["run"].update(name=TWIN, model=f"{TWIN}/agent", tags=[PLANTED])
    run["run"]["config"]["agent_config"]["model"] = f"{TWIN}/agent"
    for event in (event for events in run["traces"].values() for event in events):
        if event["event_type"] == "action":
            event["payload"].update(action=SCRIPT, reasoning=f"# {SCRIPT}\n[a](javascript:window.__ran=1) {PLANTED}")
    return dict(run)


class Gallery:
    """The episode that showed every kind of content, a kind at each step."""

    def __init__(self, page: Page, server: Server, name: str = "builtin") -> None:
        self._page = page
        episode = find_episode(server, find_run(server.results, "content-gallery", name), state="completed")
        self._address = f"{server.url}/episodes/{episode}"
        events = ask(server, f"/api/episodes/{episode}/events?limit=100")["items"]
        self._places = {event["step"]: event["seq"] for event in events if event["kind"] == "observation"}

    def open(self, step: int) -> Locator:
        """Open the episode at a step; return what that step showed."""
        self._page.goto(f"{self._address}?step={step}")
        return self.shown(step)

    def next(self, step: int) -> Locator:
        """Go on to the next step, which is this one; return what it showed."""
        self._page.keyboard.press("j")
        return self.shown(step)

    def shown(self, step: int) -> Locator:
        """Return what the step showed that the page is at."""
        timeline = self._page.get_by_role("region", name="Timeline")
        expect(timeline.get_by_role("heading", name=f"Step {step} ")).to_be_in_viewport()
        return timeline.locator(f"[id='event-{self._places[step]}']").get_by_role("article").first


def gallery(page: Page, server: Server, step: int) -> Locator:
    """Open the gallery at a step; return what that step showed."""
    return Gallery(page, server).open(step)


def test_a_run_with_script_in_name_and_tags_is_listed_as_text(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/?columns=tags&builtin=shown")
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name=SCRIPT_NAME))
    expect(row).to_contain_text(SCRIPT_TAG)
    row.get_by_role("link").click()
    expect(page.get_by_role("heading", level=1, name=SCRIPT_NAME)).to_be_visible()


def test_a_filter_of_the_address_that_is_script_is_text(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/?q=%3Cscript%3Ewindow.__ran%3D1%3C/script%3E&model=%3Cimg%20src=x%20onerror=alert(1)%3E")
    expect(page.get_by_role("list", name="Active filters")).to_contain_text("<img src=x onerror=alert(1)>")


def test_a_step_stays_where_it_is_while_the_page_is_shorter_for_a_moment(page: Page, server: Server) -> None:
    shown = gallery(page, server, STEPS - 3)
    expect(shown).to_be_visible()
    moved = shown.evaluate(
        """async (article) => {
            const frames = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
            const row = article.closest('[data-row]')
            const rows = [...document.querySelectorAll('[data-row]')]
            const later = rows.filter((one) => +one.dataset.row > +row.dataset.row)
            const before = row.getBoundingClientRect().top
            for (const one of later) one.style.display = 'none'
            const shorter = before - row.getBoundingClientRect().top
            await frames()
            for (const one of later) one.style.display = ''
            await frames()
            return { shorter, away: row.getBoundingClientRect().top - before }
        }"""
    )
    assert abs(moved["shorter"]) > 50
    assert abs(moved["away"]) < 2


def test_every_kind_of_content_is_drawn_and_does_nothing(page: Page, server: Server) -> None:
    episode = Gallery(page, server)
    for step in range(1, STEPS + 1):
        shown = episode.open(step)
        expect(shown).to_be_visible()
        expect(shown).not_to_contain_text("could not be drawn")
        for view in shown.get_by_role("group", name="Shown as").get_by_role("button").all():
            if view.get_attribute("aria-pressed") is not None:
                view.click()
        expect(shown).to_be_visible()
        check_nothing_ran(page)


def test_markdown_keeps_its_script_as_text_and_its_links_dead(page: Page, server: Server) -> None:
    shown = gallery(page, server, 1)
    expect(shown).to_contain_text(SCRIPT)
    expect(shown.get_by_text("Heading", exact=True)).to_be_visible()
    expect(shown.get_by_role("cell", name="x")).to_be_visible()
    expect(shown.locator("a[href^='javascript' i]")).to_have_count(0)


def test_a_page_is_shown_in_a_frame_without_its_script(page: Page, server: Server) -> None:
    shown = gallery(page, server, 4)
    inside = shown.frame_locator("iframe")
    expect(inside.get_by_role("heading", name="Report")).to_be_visible()
    expect(inside.locator("script, iframe, [onload], [onerror], a[href^='javascript' i]")).to_have_count(0)
    sandbox = shown.locator("iframe").get_attribute("sandbox")
    assert sandbox is not None
    assert "allow-scripts" not in sandbox
    inside.get_by_text("press").click()
    expect(inside.locator("[action]")).to_have_count(0)
    expect(inside.get_by_role("heading", name="Report")).to_be_visible()


def test_a_picture_is_a_picture_and_what_is_none_says_so(page: Page, server: Server) -> None:
    picture = gallery(page, server, 5).get_by_role("img")
    expect(picture).to_be_visible()
    page.wait_for_function("image => image.complete && image.naturalWidth === 16", arg=picture.element_handle())
    expect(gallery(page, server, 7)).to_contain_text("No image")


def test_hidden_characters_are_named(page: Page, server: Server) -> None:
    shown = gallery(page, server, 12)
    for sign in ("BEL", "NUL", "RLO", "\ufffd"):
        expect(shown).to_contain_text(sign)


def test_ten_megabytes_are_opened_without_freezing_the_page(page: Page, server: Server) -> None:
    shown = gallery(page, server, 14)
    expect(shown).to_contain_text(SCRIPT)
    shown.get_by_role("button", name=re.compile("Show all|Load|whole", re.IGNORECASE)).first.click()
    expect(shown).to_contain_text("A long line.")
    page.keyboard.press("k")
    expect(page.get_by_text(re.compile("^Step 13 of"))).to_be_visible()
    assert len(page.get_by_role("main").inner_text()) < 2_000_000


def test_a_failure_shows_message_and_error_output_as_text(page: Page, server: Server) -> None:
    run = find_run(server.results, "content-gallery", "builtin")
    page.goto(f"{server.url}/episodes/{find_episode(server, run, state='failed')}")
    failure = page.get_by_role("group", name="The environment crashed").first
    expect(failure).to_contain_text(f"board {SCRIPT}")
    expect(failure).to_contain_text(f"the board is gone {SCRIPT}")


def test_a_model_that_talks_in_script_is_quoted(page: Page, planted: Server) -> None:
    run = find_run(planted.results, "grid-world", "openai/script")
    page.goto(planted.url)
    page.get_by_role("row").filter(has_text="script-<img src=x").get_by_role("link").click()
    expect(page.get_by_role("main")).to_contain_text("script-<img src=x onerror=window.__ran=1>")
    page.goto(f"{planted.url}/episodes/{find_episode(planted, run)}?step=1")
    expect(page.get_by_role("article", name="Model").first).to_contain_text("<script>window.__ran=1</script>")
    page.get_by_role("button", name="Request and reply").first.click()
    page.get_by_role("tab", name="Reply").click()
    expect(page.get_by_role("tabpanel")).to_contain_text("<script>window.__ran=1</script>")


def test_an_imported_replay_file_looks_the_same(page: Page, server: Server, planted: Server) -> None:
    def texts(shown_by: Server) -> list[str]:
        episode = Gallery(page, shown_by)
        return [episode.open(step).inner_text() for step in (1, 2, 3, 5, 12)]

    assert texts(planted) == texts(server)


def test_script_in_every_field_of_a_replay_file_is_text(page: Page, planted: Server) -> None:
    page.goto(f"{planted.url}/?builtin=shown")
    links = page.get_by_role("grid", name="Runs").get_by_role("link")
    expect(links).to_have_count(4)
    links.filter(has_text="</title>").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("</title></script><script>window.__ran=1</script>")
    for tab in ("Charts and metrics", "Configuration", "Episodes"):
        page.get_by_role("tab", name=tab).click()
        expect(page.get_by_role("tabpanel", name=tab)).to_be_visible()
    page.get_by_role("grid", name="Episodes").get_by_role("link").last.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("<svg onload=window.__ran=1>")
    page.goto(f"{planted.url}/benchmarks")
    expect(page.get_by_role("main")).to_contain_text("<svg onload=window.__ran=1>")
    ids = [run["id"] for run in ask(planted, "/api/runs")["items"] if not run["model"].startswith(("openai/", TWIN))]
    page.goto(f"{planted.url}/compare?run={ids[0]}&run={ids[1]}")
    expect(page.get_by_role("region", name="Compared runs")).to_contain_text("<svg onload=window.__ran=1>")
    episodes = [ask(planted, f"/api/runs/{run}/episodes?limit=1")["items"][0] for run in ids[:2]]
    page.goto(f"{planted.url}/compare/episodes?a={episodes[0]['id']}&b={episodes[1]['id']}")
    expect(page.get_by_role("main")).to_contain_text("of different tasks")
    for run, episode in zip(ids, episodes, strict=False):
        benchmark = quote(ask(planted, f"/api/runs/{run}")["benchmark"], safe="")
        page.goto(f"{planted.url}/benchmarks/{benchmark}/tasks/{episode['task_digest']}")
        expect(page.get_by_role("region", name="Who tried it")).to_be_visible()


def test_what_a_manifest_names_a_page_acts_no_more_than_one(page: Page, planted: Server) -> None:
    left: list[str] = []

    def stop(route: Route) -> None:
        left.append(route.request.url)
        route.abort()

    page.context.route("https://example.org/**", stop)
    page.context.add_cookies([{"name": "session", "value": "kept", "url": planted.url}])
    episode = Gallery(page, planted, TWIN)
    for step in (1, 4, 6):
        shown = episode.open(step)
        address = page.url
        inside = shown.frame_locator("iframe")
        expect(inside.locator("body > *")).not_to_have_count(0)
        expect(inside.locator("script, iframe, base, meta[http-equiv=refresh i], [onload], [onerror]")).to_have_count(0)
        for link in inside.locator("a").all():
            link.click(force=True)
        frame = page.frames[-1]
        assert frame.url == f"{planted.url}/frame.html"
        assert page.url == address
        check_nothing_ran(page)
    assert left == []
    assert page.evaluate("document.cookie") == "session=kept"


def test_aligned_steps_that_are_script_are_text(page: Page, planted: Server) -> None:
    first, second = (
        find_episode(planted, find_run(planted.results, "content-gallery", name), state="completed")
        for name in ("builtin", TWIN)
    )
    page.goto(f"{planted.url}/compare/episodes?a={first}&b={second}")
    steps = page.get_by_role("main")
    expect(steps).to_contain_text(SCRIPT)
    for _ in range(STEPS):
        page.keyboard.press("j")
        check_nothing_ran(page)
    expect(steps.locator("a[href^='javascript' i]")).to_have_count(0)
