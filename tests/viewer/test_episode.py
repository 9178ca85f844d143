"""An episode: stepped through, searched, replayed, its model calls as they were sent, and next to another one."""

import re

import pytest
from playwright.sync_api import Locator, Page, Route, expect
from tests.viewer.conftest import Server, ask, find_episode, find_run

SHORT_FOR_A_MOMENT = """
() => new Promise((done) => {
  const look = () => {
    const head = [...document.querySelectorAll('h2')].find((one) => one.textContent.startsWith('Step 17'))
    const list = head?.closest('ol')
    const top = head?.getBoundingClientRect().top
    if (!list || !(top > 0 && top < window.innerHeight)) return requestAnimationFrame(look)
    Object.assign(list.style, { height: '1px', overflow: 'clip' })
    setTimeout(() => {
      Object.assign(list.style, { height: '', overflow: '' })
      requestAnimationFrame(() => requestAnimationFrame(done))
    })
  }
  requestAnimationFrame(look)
})
"""
"""Shortens the page once step 17 is seen; the browser moves it to its end before the event of scrolling comes."""


@pytest.fixture
def long(page: Page, server: Server) -> Page:
    """The longest episode of a model."""
    run = find_run(server.results, "grid-world", "openai/small")
    return opened(page, server, find_episode(server, run, sort="-steps"))


@pytest.fixture
def broken(page: Page, server: Server) -> Page:
    """An episode whose environment crashed."""
    run = find_run(server.results, "content-gallery", "builtin/random")
    return opened(page, server, find_episode(server, run, state="failed"))


def opened(page: Page, server: Server, episode: str, search: str = "") -> Page:
    page.goto(f"{server.url}/episodes/{episode}{search}")
    expect(outline(page, 0)).to_be_visible()
    expect(head(page, "Before the first action")).to_be_visible()
    return page


def head(page: Page, step: str) -> Locator:
    return page.get_by_role("region", name="Timeline").get_by_role("heading", name=re.compile(f"^{step} "))


def outline(page: Page, step: int) -> Locator:
    return page.get_by_role("complementary", name="Outline").get_by_role("button", name=re.compile(rf"^{step}\b"))


def last_step(page: Page) -> int:
    text = page.get_by_text(re.compile(r"^Step \d+ of \d+$")).inner_text()
    return int(text.rsplit(" ", 1)[1])


def events(page: Page, label: str) -> Locator:
    return page.get_by_role("article", name=label, exact=True)


def test_an_episode_that_is_on_its_way_has_its_outline_drawn(page: Page, server: Server) -> None:
    episode = find_episode(server, find_run(server.results, "grid-world", "openai/small"))
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/api/episodes/*", hold)
    with page.expect_request("**/api/episodes/*"):
        page.goto(f"{server.url}/episodes/{episode}")
    expect(page.get_by_role("main").locator("[aria-busy='true']")).to_be_visible()
    expect(page.get_by_role("heading", name="Episode")).to_have_count(0)
    for route in held:
        route.continue_()
    expect(outline(page, 0)).to_be_visible()


def test_an_episode_tells_its_run_scores_and_numbers(long: Page) -> None:
    expect(long.get_by_role("navigation", name="Breadcrumb")).to_contain_text("of 60")
    for term in ("goal_rate", "reward", "steps", "tokens", "duration", "seed"):
        expect(long.get_by_role("term").filter(has_text=re.compile(f"^{term}$", re.IGNORECASE)).first).to_be_visible()


def test_keys_step_through_and_the_address_keeps_the_step(long: Page) -> None:
    for step in (1, 2, 3):
        long.keyboard.press("j")
        expect(long.get_by_text(re.compile(f"^Step {step} of"))).to_be_visible()
        expect(head(long, f"Step {step}")).to_be_in_viewport()
    long.keyboard.press("k")
    expect(long).to_have_url(re.compile(r"step=2\b"))
    expect(outline(long, 2)).to_have_attribute("aria-current", "step")


def test_the_outline_leads_to_a_step(long: Page) -> None:
    outline(long, 9).click()
    expect(head(long, "Step 9")).to_be_in_viewport()
    expect(outline(long, 9)).to_have_attribute("aria-current", "step")


def test_keys_in_the_outline_stay_where_they_are_while_the_page_moves(long: Page) -> None:
    last = last_step(long)
    outline(long, 2).click()
    long.keyboard.press("End")
    expect(outline(long, last)).to_be_in_viewport()
    long.mouse.move(700, 500)
    long.mouse.wheel(0, 3000)
    expect(head(long, "Step 2")).not_to_be_in_viewport()
    long.evaluate("() => new Promise((done) => setTimeout(() => requestAnimationFrame(done)))")
    expect(outline(long, last)).to_be_focused()
    expect(outline(long, last)).to_be_in_viewport(timeout=1)


def test_the_outline_is_one_tab_stop_with_arrow_keys(long: Page) -> None:
    last = last_step(long)
    assert last > 3
    stops = long.get_by_role("complementary", name="Outline").locator("[data-step][tabindex='0']")
    outline(long, 2).click()
    expect(stops).to_have_count(1)
    expect(outline(long, 2)).to_be_focused()
    for key, step in (("ArrowDown", 3), ("ArrowUp", 2), ("End", last), ("Home", 0), ("ArrowUp", 0), ("ArrowDown", 1)):
        long.keyboard.press(key)
        expect(outline(long, step)).to_be_focused()
        expect(outline(long, step)).to_be_in_viewport()
        expect(stops).to_have_count(1)
    expect(outline(long, 2)).to_have_attribute("aria-current", "step")
    long.keyboard.press("Enter")
    expect(outline(long, 1)).to_have_attribute("aria-current", "step")
    long.keyboard.press("Tab")
    expect(long.locator("[data-step]:focus")).to_have_count(0)
    long.keyboard.press("Shift+Tab")
    expect(stops).to_be_focused()


def test_a_link_to_a_step_opens_there(page: Page, server: Server) -> None:
    run = find_run(server.results, "grid-world", "openai/small")
    episode = find_episode(server, run, sort="-steps")
    page.goto(f"{server.url}/episodes/{episode}?step=17")
    expect(head(page, "Step 17")).to_be_in_viewport()
    expect(page.get_by_text(re.compile("^Step 17 of"))).to_be_visible()


def test_a_page_that_is_short_for_a_moment_stays_at_its_step(page: Page, server: Server) -> None:
    run = find_run(server.results, "grid-world", "openai/small")
    page.goto(f"{server.url}/episodes/{find_episode(server, run, sort='-steps')}?step=17")
    page.evaluate(SHORT_FOR_A_MOMENT)
    expect(head(page, "Step 17")).to_be_in_viewport()
    page.mouse.wheel(0, -5000)
    expect(head(page, "Step 17")).not_to_be_in_viewport()


def test_a_link_to_a_step_opens_there_for_readers_who_want_no_motion(page: Page, server: Server) -> None:
    page.emulate_media(reduced_motion="reduce")
    run = find_run(server.results, "grid-world", "openai/small")
    page.goto(f"{server.url}/episodes/{find_episode(server, run, sort='-steps')}?step=6")
    expect(head(page, "Step 6")).to_be_in_viewport()


def test_a_step_shows_what_was_seen_thought_done_and_gained(long: Page) -> None:
    expect(events(long, "Observation").first.get_by_role("table", name=re.compile("^Board of"))).to_be_visible()
    outline(long, 1).click()
    expect(events(long, "Model").first).to_contain_text(re.compile(r"openai/small.*tokens", re.DOTALL))
    expect(events(long, "Action").first).to_contain_text(re.compile("up|down|left|right"))
    expect(events(long, "Result").first).to_contain_text("reward")


def test_search_inside_finds_counts_and_visits_the_hits(long: Page) -> None:
    long.keyboard.press("/")
    long.keyboard.type("not sure")
    told = long.get_by_role("status").filter(has_text=re.compile("found|of"))
    expect(told).to_contain_text(re.compile(r"^\d+ found"))
    long.get_by_role("button", name="Next hit (n)").click()
    expect(told).to_contain_text(re.compile(r"^1 of \d+"))
    expect(long.locator("mark").filter(has_text="not sure").first).to_be_in_viewport()
    expect(long).to_have_url(re.compile(r"q=not\+sure|q=not%20sure"))


def test_search_for_what_is_not_there_says_so(long: Page) -> None:
    long.get_by_role("searchbox", name="Search in this episode").fill("no such words anywhere")
    expect(long.get_by_text("no matches")).to_be_visible()


def test_kinds_leave_only_those_events(long: Page) -> None:
    long.get_by_role("button", name="Event types").click()
    long.get_by_role("checkbox", name="Action").check()
    expect(events(long, "Action").first).to_be_visible()
    expect(events(long, "Observation")).to_have_count(0)
    expect(long).to_have_url(re.compile("kind=action"))


def test_the_failure_is_told_first_and_a_key_jumps_to_where_it_happened(broken: Page) -> None:
    failure = broken.get_by_role("group", name="The environment crashed").first
    expect(failure).to_contain_text("missing, not zero")
    expect(failure).to_contain_text("the board is gone")
    expect(events(broken, "Error")).not_to_be_in_viewport()
    broken.keyboard.press("e")
    expect(events(broken, "Error")).to_be_in_viewport()


def test_problems_are_listed_and_lead_to_their_event(broken: Page) -> None:
    broken.get_by_role("button", name="Problems").click()
    broken.get_by_role("complementary", name="Outline").get_by_role("button").last.click()
    expect(events(broken, "Error")).to_be_in_viewport()


def test_a_model_call_shows_its_request_reply_and_raw_json(long: Page) -> None:
    outline(long, 1).click()
    events(long, "Model").first.get_by_role("button", name="Request and reply").click()
    dialog = long.get_by_role("dialog", name=re.compile("^Model call"))
    expect(dialog).to_contain_text("POST /chat/completions")
    expect(dialog.get_by_role("button", name="Copy as curl")).to_be_visible()
    dialog.get_by_role("tab", name=re.compile("^Messages")).click()
    expect(dialog).to_contain_text("You walk through a maze")
    expect(long).to_have_url(re.compile(r"call=\d+"))
    dialog.get_by_role("tab", name="Reply").click()
    expect(dialog.get_by_role("tabpanel")).to_contain_text(re.compile("up|down|left|right"))
    dialog.get_by_role("tab", name="Record").click()
    expect(dialog.get_by_role("treeitem", name=re.compile("^messages"))).to_be_visible()
    long.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(long).not_to_have_url(re.compile("call="))


def test_an_event_is_shown_as_it_was_recorded(long: Page) -> None:
    events(long, "Observation").first.get_by_role("button", name=re.compile("as recorded")).click()
    expect(long.get_by_role("tree", name="Event 1 as recorded")).to_contain_text("observation")


def test_the_replay_plays_to_the_end(page: Page, server: Server) -> None:
    run = find_run(server.results, "word-game", "builtin/oracle", "example")
    opened(page, server, find_episode(server, run))
    last = last_step(page)
    page.get_by_role("button", name="Replay", exact=True).click()
    page.get_by_role("combobox", name="Speed").select_option("16")
    page.get_by_role("button", name="Play (Space)").click()
    player = page.get_by_role("region", name="Replay")
    expect(player.get_by_text(f"{last} / {last}")).to_be_visible()
    expect(player).to_contain_text("ended here")
    expect(page.get_by_role("button", name="Play (Space)")).to_be_visible()


def test_the_replay_is_scrubbed_by_slider_and_keys(long: Page) -> None:
    last = last_step(long)
    long.get_by_role("button", name="Replay", exact=True).click()
    player = long.get_by_role("region", name="Replay")
    player.get_by_role("slider", name="Step").fill("7")
    expect(player.get_by_text(f"7 / {last}")).to_be_visible()
    expect(long).to_have_url(re.compile("view=replay.*step=7|step=7.*view=replay"))
    long.reload()
    expect(player.get_by_text(f"7 / {last}")).to_be_visible()
    long.locator("body").press("ArrowLeft")
    expect(player.get_by_text(f"6 / {last}")).to_be_visible()


def test_next_and_previous_stay_within_the_filter_of_the_run(page: Page, server: Server) -> None:
    run = find_run(server.results, "grid-world", "openai/small")
    failed = ask(server, f"/api/runs/{run}/episodes?outcome=fail&limit=2")["items"]
    first, second = (episode["task_id"] for episode in failed)
    page.goto(f"{server.url}/runs/{run}?outcome=fail")
    page.get_by_role("grid", name="Episodes").get_by_role("link", name=first, exact=True).click()
    expect(page.get_by_role("heading", level=1, name=first)).to_be_visible()
    expect(page.get_by_role("button", name="Previous wrong answer ([)")).to_be_disabled()
    page.get_by_role("button", name="Next wrong answer").click()
    expect(page.get_by_role("heading", level=1, name=second)).to_be_visible()
    expect(page.get_by_role("button", name="Previous wrong answer ([)")).to_be_enabled()
    page.keyboard.press("[")
    expect(page.get_by_role("heading", level=1, name=first)).to_be_visible()


def test_a_text_that_filtered_the_run_is_not_searched_inside_the_episode(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/runs/{find_run(server.results, 'grid-world', 'openai/small')}?q=seed-5")
    page.get_by_role("grid", name="Episodes").get_by_role("link", name="seed-5", exact=True).click()
    expect(page.get_by_role("heading", level=1, name="seed-5")).to_be_visible()
    expect(page.get_by_role("searchbox", name="Search in this episode")).to_have_value("")
    expect(page.get_by_role("button", name="Next episode of the filtered list (])")).to_be_enabled()


def test_a_picture_is_shown_as_a_picture(page: Page, server: Server) -> None:
    run = find_run(server.results, "grid-world-image", "builtin/oracle")
    opened(page, server, find_episode(server, run))
    picture = events(page, "Observation").first.get_by_role("img")
    expect(picture).to_be_visible()
    page.wait_for_function("image => image.complete && image.naturalWidth > 0", arg=picture.element_handle())


def test_two_episodes_open_where_they_part_ways_and_keys_lead_on(page: Page, server: Server) -> None:
    one, other = (find_run(server.results, "grid-world", model) for model in ("openai/tiny", "builtin/oracle"))
    a, b = (find_episode(server, run, q="seed-11") for run in (one, other))
    page.goto(f"{server.url}/compare/episodes?a={a}&b={b}")
    left, right = (page.get_by_role("region", name=f"Episode {letter}", exact=True) for letter in "AB")
    expect(left).to_contain_text("tiny")
    expect(right).to_contain_text("oracle")
    expect(page.get_by_role("region", name=re.compile(r"^Step \d+, first difference"))).to_be_visible()
    expect(page.get_by_role("region", name=re.compile("equal tasks"))).to_contain_text("McNemar")
    steps = page.get_by_role("region", name="Steps of both episodes")
    expect(steps.locator("[aria-current=step]")).to_contain_text("another action")
    page.keyboard.press("d")
    expect(page).to_have_url(re.compile(r"step=\d+"))
    page.keyboard.press("s")
    expect(left).to_contain_text("oracle")
    expect(page.get_by_role("button", name="Next flip")).to_be_visible()
    page.keyboard.press("n")
    expect(page.get_by_role("heading", level=1)).not_to_contain_text("seed-11:")


def test_a_call_shows_what_it_changed_against_the_one_before(page: Page, server: Server) -> None:
    run = find_run(server.results, "grid-world", "openai/small")
    found = find_episode(server, run, sort="-steps")
    calls = ask(server, f"/api/episodes/{found}/events?kind=model_call&limit=2")["items"]
    page.goto(f"{server.url}/episodes/{found}?call={calls[1]['seq']}")
    page.get_by_role("tab", name="Change to the previous call").click()
    change = page.get_by_role("dialog")
    expect(change.get_by_text(re.compile("messages added"))).to_be_visible()
    expect(change.get_by_role("heading", name="Added").first).to_be_visible()


def test_a_task_is_shown_over_all_models(page: Page, server: Server) -> None:
    run = find_run(server.results, "grid-world", "openai/small")
    opened(page, server, find_episode(server, run, q="seed-11"))
    page.get_by_role("link", name="All models").click()
    tried = page.get_by_role("region", name="Who tried it")
    expect(tried.get_by_role("row")).to_have_count(6)
    expect(tried.get_by_role("row").last).to_contain_text("built-in")
    expect(page.get_by_role("region", name="Question and what the trials say")).to_contain_text("models")
    page.get_by_role("button", name="Compare…").first.click()
    page.get_by_role("link", name="With this").first.click()
    expect(page.get_by_role("region", name="Episode A", exact=True)).to_be_visible()
