"""Everybody can use every page: axe finds nothing in either theme, wide or narrow; no phone scrolls sideways."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Page, expect
from tests.viewer.conftest import Server, ask, find_episode, find_run, serving

WIDE, NARROW = 1440, 360
AXE = Axe()
Open = Callable[[Page, Server], None]


def run_of(server: Server, benchmark: str, model: str) -> str:
    return find_run(server.results, benchmark, model)


def runs(page: Page, server: Server) -> None:
    page.goto(server.url)
    expect(page.get_by_role("link", name="sweep").first).to_be_visible()


def chosen_runs(page: Page, server: Server) -> None:
    runs(page, server)
    for row in (2, 3):
        page.get_by_role("checkbox", name=f"Select row {row}").check()


def matrix(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/?view=matrix")
    expect(page.get_by_role("grid", name="Runs by benchmark and model").get_by_role("rowheader").first).to_be_visible()


def said(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/search?q=maze")
    expect(page.get_by_role("grid", name="Episodes that say this").get_by_role("link").first).to_be_visible()


def said_nowhere(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/search?q=zebraquest")
    expect(page.get_by_text("Nobody said this")).to_be_visible()


def filter_open(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/?benchmark=grid-world&model=builtin/random")
    expect(page.get_by_role("searchbox", name="Search runs")).to_be_visible()
    more = page.get_by_role("button", name="Filters")
    if more.is_visible():
        more.click()
    page.get_by_role("button", name=re.compile("^Benchmark")).first.click()
    expect(page.get_by_role("checkbox", name=re.compile("^grid-world ")).first).to_be_visible()


def nothing_found(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/?q=nothing-is-called-so")
    expect(page.get_by_role("main")).to_contain_text(re.compile("no run", re.IGNORECASE))
    expect(page.locator("[data-stale]")).to_have_count(0)


def shortcuts(page: Page, server: Server) -> None:
    runs(page, server)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()


def hint(page: Page, server: Server) -> None:
    run(page, server)
    page.keyboard.press("i")
    expect(page.get_by_role("tooltip")).to_be_visible()


def palette(page: Page, server: Server) -> None:
    runs(page, server)
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Search or jump to").fill("grid")
    expect(page.get_by_role("option", name=re.compile("Benchmark$")).first).to_be_visible()


def delete_dialog(page: Page, server: Server) -> None:
    chosen_runs(page, server)
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("dialog")).to_be_visible()


def run(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/runs/{run_of(server, 'grid-world', 'openai/small')}")
    expect(page.get_by_role("link", name="seed-0", exact=True)).to_be_visible()


def run_with_failures(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/runs/{run_of(server, 'content-gallery', 'builtin')}?cause=environment_error")
    expect(page.get_by_role("grid", name="Episodes").get_by_role("link")).to_have_count(1)


def run_charts(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/runs/{run_of(server, 'grid-world', 'openai/small')}?tab=charts")
    expect(page.get_by_role("figure", name="Tokens over time")).to_be_visible()


def run_configuration(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/runs/{run_of(server, 'grid-world', 'openai/small')}?tab=configuration")
    expect(page.get_by_role("tree")).to_be_visible()


def run_menu(page: Page, server: Server) -> None:
    run(page, server)
    page.get_by_role("button", name="Download").click()
    expect(page.get_by_role("menu")).to_be_visible()


def scan_form(page: Page, server: Server) -> None:
    run(page, server)
    page.get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name="Ask about every episode").click()
    page.get_by_label("Answer", exact=True).select_option("labels")
    expect(page.get_by_label("Words")).to_be_visible()


def run_said(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/runs/{run_of(server, 'grid-world', 'openai/small')}?said=maze")
    expect(page.get_by_role("button", name="Save as a group")).to_be_visible()


def episode(page: Page, server: Server) -> None:
    found = find_episode(server, run_of(server, "grid-world", "openai/small"), sort="-steps")
    page.goto(f"{server.url}/episodes/{found}?step=2&q=way")
    expect(page.get_by_role("heading", name=re.compile("^Step 2 "))).to_be_visible()


def failed_episode(page: Page, server: Server) -> None:
    found = find_episode(server, run_of(server, "content-gallery", "builtin"), state="failed")
    page.goto(f"{server.url}/episodes/{found}")
    expect(page.get_by_role("group", name="The environment crashed").first).to_be_visible()
    page.keyboard.press("e")
    expect(page.get_by_role("article", name="Error")).to_be_visible()


def gallery(page: Page, server: Server) -> None:
    found = find_episode(server, run_of(server, "content-gallery", "builtin"), state="completed")
    page.goto(f"{server.url}/episodes/{found}?step=11")
    expect(page.get_by_role("heading", name=re.compile("^Step 11 "))).to_be_visible()


def replay(page: Page, server: Server) -> None:
    found = find_episode(server, run_of(server, "grid-world", "openai/small"), sort="-steps")
    page.goto(f"{server.url}/episodes/{found}?step=2&view=replay")
    expect(page.get_by_role("region", name="Replay").get_by_role("table")).to_be_visible()


def model_call(page: Page, server: Server) -> None:
    found = find_episode(server, run_of(server, "grid-world", "openai/small"), sort="-steps")
    page.goto(f"{server.url}/episodes/{found}")
    page.get_by_role("button", name="Request and reply").first.click()
    expect(page.get_by_role("dialog").get_by_text("You walk through a maze").first).to_be_visible()


def call_asked_again(page: Page, server: Server) -> None:
    model_call(page, server)
    page.get_by_role("tab", name="Ask again").click()
    expect(page.get_by_role("button", name="Ask again")).to_be_visible()


def compare(page: Page, server: Server) -> None:
    ids = [run_of(server, "grid-world", model) for model in ("openai/small", "openai/large", "builtin/oracle")]
    page.goto(f"{server.url}/compare?" + "&".join(f"run={one}" for one in ids))
    expect(page.get_by_role("grid", name="Tasks of both runs").get_by_role("link").first).to_be_visible()


def compare_nothing(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/compare")
    expect(page.get_by_role("button", name=re.compile("^Add")).first).to_be_visible()


def compare_episodes(page: Page, server: Server) -> None:
    ids = [run_of(server, "grid-world", model) for model in ("openai/small", "builtin/oracle")]
    one, other = (find_episode(server, found, q="seed-11") for found in ids)
    page.goto(f"{server.url}/compare/episodes?a={one}&b={other}&step=1")
    expect(page.get_by_role("region", name="Episode B", exact=True)).to_contain_text("reward")


def task(page: Page, server: Server) -> None:
    found = find_episode(server, run_of(server, "grid-world", "openai/small"), q="seed-11")
    digest = ask(server, f"/api/episodes/{found}")["task_digest"]
    page.goto(f"{server.url}/benchmarks/grid-world/tasks/{digest}")
    expect(page.get_by_role("region", name="Who tried it").get_by_role("link").first).to_be_visible()


def changed_call(page: Page, server: Server) -> None:
    found = find_episode(server, run_of(server, "grid-world", "openai/small"), sort="-steps")
    calls = ask(server, f"/api/episodes/{found}/events?kind=model_call&limit=2")["items"]
    page.goto(f"{server.url}/episodes/{found}?call={calls[1]['seq']}")
    page.get_by_role("tab", name="Change to the previous call").click()
    expect(page.get_by_role("dialog").get_by_role("heading", name="Added").first).to_be_visible()


def benchmarks(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/benchmarks")
    expect(page.get_by_role("link", name="Grid world", exact=True)).to_be_visible()


def benchmark(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/benchmarks/grid-world")
    expect(page.get_by_role("region", name="Binding vow")).to_be_visible()


PAGES: tuple[tuple[Open, str], ...] = (
    (runs, ""),
    (chosen_runs, "[aria-label='Selected runs'], [role=row][aria-selected=true]"),
    (matrix, ""),
    (said, ""),
    (said_nowhere, ""),
    (filter_open, "div:has(> fieldset)"),
    (nothing_found, ""),
    (shortcuts, "dialog"),
    (hint, "[role=tooltip]"),
    (palette, "dialog"),
    (delete_dialog, "dialog"),
    (run, ""),
    (run_with_failures, ""),
    (run_charts, "[role=tabpanel]"),
    (run_configuration, "[role=tabpanel]"),
    (run_menu, "[role=menu]"),
    (scan_form, "dialog"),
    (run_said, ""),
    (episode, ""),
    (failed_episode, ""),
    (gallery, ""),
    (replay, "[aria-label='Replay']"),
    (model_call, "dialog"),
    (call_asked_again, "dialog"),
    (compare, ""),
    (compare_nothing, ""),
    (compare_episodes, ""),
    (task, ""),
    (changed_call, "dialog"),
    (benchmarks, ""),
    (benchmark, ""),
)
"""Pages, and the part of each that is examined; empty for the whole page. What is beside a part is examined once."""


def violations(page: Page, part: str = "") -> list[str]:
    """Return what axe has to say about a page or a part of it, a line for each rule and place."""
    context = {"include": [[part]]} if part else None
    found = AXE.run(page, context=context, options={"resultTypes": ["violations"]}).response["violations"]
    return [
        f"{rule['id']}: {node['target']}: {node['html'][:200]}: {node['failureSummary']}"
        for rule in found
        for node in rule["nodes"]
    ]


def examine(page: Page, server: Server, open_page: Open, part: str = "") -> list[str]:
    """Look at a page wide and light, then narrow and dark: themes differ by colours, which do not depend on width."""
    page.set_viewport_size({"width": WIDE, "height": 900})
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    open_page(page, server)
    found = [f"light {WIDE}: {line}" for line in violations(page, part)]
    page.set_viewport_size({"width": NARROW, "height": 900})
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    page.evaluate("new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
    if part and not page.locator(part).first.is_visible():
        open_page(page, server)
    found += [f"dark {NARROW}: {line}" for line in violations(page, part)]
    across = page.evaluate("document.documentElement.scrollWidth")
    if across > NARROW:
        found.append(f"a phone of {NARROW} pixels scrolls sideways: the page is {across} wide")
    return found


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path / "results") as running:
        yield running


@pytest.mark.parametrize(("open_page", "part"), PAGES, ids=[open_page.__name__ for open_page, _ in PAGES])
def test_axe_finds_nothing_and_no_phone_scrolls_sideways(
    page: Page, server: Server, open_page: Open, part: str
) -> None:
    assert examine(page, server, open_page, part) == []


def test_axe_finds_nothing_where_there_are_no_results(page: Page, empty: Server) -> None:
    def first_page(page: Page, server: Server) -> None:
        page.goto(server.url)
        expect(page.get_by_role("heading", name="No runs yet")).to_be_visible()

    assert examine(page, empty, first_page) == []
