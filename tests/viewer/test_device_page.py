"""The page on which a person lets a program log in, in Chromium."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect
from tests.viewer.hosting import Platform, hosting
from tests.viewer.test_axe import violations
from tests.viewer.test_platform import fill_sign_in, sign_in, visitor

__all__ = ["visitor"]


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """A platform with nothing on it."""
    with hosting(tmp_path_factory.mktemp("platform")) as running:
        yield running


def ask(platform: Platform, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """Return what a program is answered."""
    headers = {"user-agent": "osmosis-cli/0.3.8"}
    answer = httpx.post(f"{platform.url}{path}", json=body, headers=headers).raise_for_status()
    found: dict[str, Any] = answer.json()
    return found


def started(platform: Platform, device: str = "laptop") -> dict[str, Any]:
    """Return the codes of a program that waits."""
    return ask(platform, "/api/auth/device", {"device": device})


def state(platform: Platform, codes: dict[str, Any]) -> Any:
    """Return what became of the login."""
    return ask(platform, "/api/auth/device/token", {"device_code": codes["device_code"]})["state"]


def test_a_link_leads_through_the_login_to_the_question(platform: Platform, visitor: Page) -> None:
    codes = started(platform)
    visitor.goto(codes["page_with_code"])
    visitor.get_by_role("main").get_by_role("link", name="Sign in").click()
    fill_sign_in(visitor, platform)
    expect(visitor.get_by_role("heading", name="Does this program belong to you?")).to_be_visible()
    main = visitor.get_by_role("main")
    for words in (codes["user_code"], "osmosis-cli/0.3.8", "laptop", "127.0.0.1 the same as yours"):
        expect(main).to_contain_text(words)
    expect(main).to_contain_text("act as admin")
    assert state(platform, codes) == "pending"
    visitor.get_by_role("button", name="Let it log in").click()
    expect(visitor.get_by_role("main")).to_contain_text("Return to your terminal")
    assert state(platform, codes) == "approved"


def test_a_typed_code_is_refused(platform: Platform, visitor: Page) -> None:
    sign_in(visitor, platform)
    codes = started(platform)
    visitor.goto(codes["page"])
    visitor.get_by_role("button", name="Continue").click()
    expect(visitor.get_by_text("Enter the code.")).to_be_visible()
    visitor.get_by_role("textbox", name="Code").fill(codes["user_code"].lower().replace("-", " "))
    visitor.keyboard.press("Enter")
    expect(visitor.get_by_role("main")).to_contain_text(codes["user_code"])
    visitor.get_by_role("button", name="Refuse").click()
    expect(visitor.get_by_role("main")).to_contain_text("no access")
    assert state(platform, codes) == "denied"


def test_a_code_that_is_used_says_so_and_another_can_be_entered(platform: Platform, visitor: Page) -> None:
    sign_in(visitor, platform)
    visitor.goto(f"{platform.url}/device?code=BBBB-BBBB")
    expect(visitor.get_by_role("alert")).to_contain_text("start the login again")
    visitor.get_by_role("link", name="Enter another code").click()
    expect(visitor.get_by_role("textbox", name="Code")).to_have_value("")


def test_a_machine_with_a_name_of_markup_is_shown_as_it_is(platform: Platform, visitor: Page) -> None:
    sign_in(visitor, platform)
    name = "<img src=x onerror=alert(1)> Approved by your administrator"
    visitor.goto(started(platform, name)["page_with_code"])
    expect(visitor.get_by_text(name)).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 800, 1440])
def test_the_page_is_accessible_and_fits(platform: Platform, browser: Browser, width: int, scheme: Any) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    sign_in(page, platform)
    codes = started(platform, "a-machine-with-a-rather-long-name.internal.example.org" * 2)
    for address in (codes["page"], codes["page_with_code"]):
        page.goto(address)
        expect(page.get_by_role("main").get_by_role("heading", level=2)).to_be_visible()
        page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")
        assert violations(page) == []
    context.close()
