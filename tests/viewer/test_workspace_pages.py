"""The datasets and secrets of a workspace in Chromium, on a server with a worker that checks uploads."""

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.viewer.conftest import Window
from tests.viewer.hosting import Member, Platform, hosting
from tests.viewer.test_axe import violations

PASSWORD = "correct horse battery staple"
READY_MS = 60_000
ROWS = [{"user_prompt": f"How much is {n} + {n}?", "ground_truth": str(2 * n)} for n in range(6)]


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    with hosting(tmp_path_factory.mktemp("platform")) as running:
        yield running


@pytest.fixture(scope="module")
def admin(platform: Platform) -> Member:
    return Member(platform, platform.admin, platform.password)


@pytest.fixture
def place(admin: Member, request: pytest.FixtureRequest) -> str:
    """The path of the pages of a new workspace."""
    made = admin.ask("POST", "/api/workspaces", {"name": request.node.name.replace("/", " ")[:60]})
    return f"/workspaces/{made['id']}"


@pytest.fixture
def page(window: Window) -> Iterator[Page]:
    """A page that fails its test when it asks for anything outside, or throws; refusals are no failure."""
    with window.page() as (opened, seen):
        yield opened
    assert not seen.outside
    assert [error for error in seen.errors if not error.startswith("Failed to load resource")] == []


@pytest.fixture
def signed_in(page: Page, platform: Platform) -> Page:
    sign_in(page, platform)
    return page


def sign_in(page: Page, platform: Platform) -> None:
    login = {"username": platform.admin, "password": platform.password}
    answer = page.request.post(f"{platform.url}/api/auth/login", data=login, headers={"x-mesocosm": "1"})
    assert answer.ok, answer.text()


def json_lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def upload(page: Page, file: Path) -> None:
    """Fill the form that the page shows, and send it."""
    form = page.get_by_role("form", name="Upload a file")
    form.get_by_label("File").set_input_files(file)
    form.get_by_role("button", name="Upload").click()


def test_a_file_becomes_a_dataset_with_versions(
    signed_in: Page, platform: Platform, place: str, tmp_path: Path
) -> None:
    page = signed_in
    page.goto(f"{platform.url}{place}")
    page.get_by_role("navigation", name="Workspace").get_by_role("link", name="Datasets").click()
    expect(page.get_by_text("No datasets yet")).to_be_visible()
    assert violations(page) == []
    page.get_by_role("button", name="Upload a dataset").click()
    page.get_by_role("button", name="Upload", exact=True).click()
    expect(page.get_by_text("Choose a file.")).to_be_visible()
    upload(page, json_lines(tmp_path / "sums.jsonl", ROWS))

    expect(page.get_by_text("uploaded", exact=True).first).to_be_visible(timeout=READY_MS)
    expect(page).to_have_title("sums · mesocosm")
    rows = page.get_by_role("group", name="Table of 6 rows")
    expect(rows.get_by_text("How much is 3 + 3?")).to_be_visible()
    expect(rows.get_by_role("columnheader", name="Row, from 0")).to_be_visible()
    columns = page.get_by_role("region", name="Table of columns")
    expect(columns.get_by_role("row", name="ground_truth")).to_contain_text("ground truth")
    assert violations(page) == []

    with page.expect_download() as downloaded:
        page.get_by_role("link", name="Download").click()
    assert downloaded.value.path().read_bytes() == (tmp_path / "sums.jsonl").read_bytes()
    assert downloaded.value.suggested_filename == "sums.jsonl"

    page.get_by_role("button", name="Upload a version").click()
    upload(page, json_lines(tmp_path / "sums.jsonl", ROWS[:5]))
    expect(page.get_by_role("group", name="Table of 5 rows")).to_be_visible(timeout=READY_MS)
    versions = page.get_by_role("list", name="Versions").get_by_role("listitem")
    expect(versions).to_have_count(2)
    page.get_by_role("link", name="Version 1").click()
    expect(page.get_by_role("group", name="Table of 6 rows")).to_be_visible()
    page.reload()
    expect(page.get_by_role("group", name="Table of 6 rows")).to_be_visible()


def test_a_dataset_is_renamed_and_deleted(signed_in: Page, platform: Platform, place: str, tmp_path: Path) -> None:
    page = signed_in
    page.goto(f"{platform.url}{place}/datasets")
    page.get_by_role("button", name="Upload a dataset").click()
    upload(page, json_lines(tmp_path / "old.jsonl", ROWS))
    expect(page.get_by_text("uploaded", exact=True).first).to_be_visible(timeout=READY_MS)
    page.get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name="Rename…").click()
    page.get_by_role("dialog").get_by_label("Name").fill("a/b")
    page.get_by_role("dialog").get_by_role("button", name="Rename").click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("no slash")
    page.get_by_role("dialog").get_by_label("Name").fill("new name")
    page.get_by_role("dialog").get_by_role("button", name="Rename").click()
    expect(page.get_by_role("heading", name="new name")).to_be_visible()
    page.get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name="Delete…").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete dataset").click()
    expect(page.get_by_text("No datasets yet")).to_be_visible()


def test_what_is_wrong_with_a_file_is_shown_with_its_row(
    signed_in: Page, platform: Platform, place: str, tmp_path: Path
) -> None:
    page = signed_in
    page.goto(f"{platform.url}{place}/datasets")
    page.get_by_role("button", name="Upload a dataset").click()
    upload(page, json_lines(tmp_path / "bad.jsonl", [*ROWS, {"user_prompt": "", "ground_truth": "1"}]))
    faults = page.get_by_role("region", name="Faults")
    expect(faults).to_contain_text("row 7, column user_prompt", timeout=READY_MS)
    expect(faults).to_contain_text("is empty")
    assert violations(page) == []
    page.goto(f"{platform.url}{place}/datasets")
    expect(page.get_by_role("row", name="bad")).to_contain_text("error")


def test_columns_are_named_where_they_have_other_names(
    signed_in: Page, platform: Platform, place: str, tmp_path: Path
) -> None:
    page = signed_in
    (tmp_path / "named.csv").write_text("question,answer\n" + "".join(f"q{n},{n}\n" for n in range(4)))
    page.goto(f"{platform.url}{place}/datasets")
    page.get_by_role("button", name="Upload a dataset").click()
    page.get_by_label("The columns have other names").check()
    page.get_by_label("Prompt", exact=True).fill("question")
    page.get_by_label("Ground truth", exact=True).fill("answer")
    upload(page, tmp_path / "named.csv")
    columns = page.get_by_role("region", name="Table of columns")
    expect(columns.get_by_role("row", name="question")).to_contain_text("user prompt", timeout=READY_MS)
    expect(columns.get_by_role("row", name="answer")).to_contain_text("ground truth")


def test_an_upload_that_stopped_continues_with_the_same_file(
    signed_in: Page, platform: Platform, place: str, admin: Member, tmp_path: Path
) -> None:
    page = signed_in
    file = json_lines(
        tmp_path / "large.jsonl", [{"user_prompt": "x" * 1_000, "ground_truth": str(n)} for n in range(5_000)]
    )
    data = file.read_bytes()
    begin = {"file_name": file.name, "size": len(data), "digest": hashlib.sha256(data).hexdigest()}
    begun = admin.ask("POST", f"/api{place}/datasets", begin)
    first = data[: begun["part_size"]]
    part = f"{platform.url}/api{place}/datasets/{begun['id']}/versions/1/parts/1"
    digest: dict[str, str | float | bool] = {"digest": hashlib.sha256(first).hexdigest()}
    assert page.request.put(part, params=digest, data=first, headers={"x-mesocosm": "1"}).ok
    page.goto(f"{platform.url}{place}/datasets/{begun['id']}")
    expect(page.get_by_role("heading", name="The upload is incomplete")).to_be_visible()
    assert violations(page) == []
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "PUT" else None)
    page.get_by_role("button", name="Upload a version").click()
    upload(page, file)
    expect(page.get_by_text("uploaded", exact=True).first).to_be_visible(timeout=READY_MS)
    assert [re.findall(r"parts/(\d+)", url) for url in sent] == [["2"]]


def test_an_upload_is_given_up(signed_in: Page, platform: Platform, place: str, admin: Member) -> None:
    begun = admin.ask("POST", f"/api{place}/datasets", {"file_name": "a.csv", "size": 9, "digest": "0" * 64})
    signed_in.goto(f"{platform.url}{place}/datasets/{begun['id']}")
    signed_in.get_by_role("button", name="Give up").click()
    expect(signed_in.get_by_text("No datasets yet")).to_be_visible()


def test_a_name_that_is_taken_is_told(signed_in: Page, platform: Platform, place: str, tmp_path: Path) -> None:
    page = signed_in
    page.goto(f"{platform.url}{place}/datasets")
    page.get_by_role("button", name="Upload a dataset").click()
    upload(page, json_lines(tmp_path / "sums.jsonl", ROWS))
    expect(page.get_by_text("uploaded", exact=True).first).to_be_visible(timeout=READY_MS)
    other = json_lines(tmp_path / "other.jsonl", ROWS[1:])
    answer = page.request.post(
        f"{platform.url}/api{place}/datasets",
        data={"file_name": "sums.jsonl", "size": 5, "digest": "0" * 64},
        headers={"x-mesocosm": "1"},
    )
    assert answer.status == 409
    page.goto(f"{platform.url}{place}/datasets")
    page.get_by_role("button", name="Upload a dataset").click()
    page.get_by_label("Name", exact=False).first.fill("sums")
    page.get_by_label("New version if the name exists").check()
    upload(page, other)
    expect(page.get_by_role("list", name="Versions").get_by_role("listitem")).to_have_count(2)


def test_a_secret_is_set_and_never_shown(signed_in: Page, platform: Platform, place: str) -> None:
    page = signed_in
    page.goto(f"{platform.url}{place}/secrets?needs=OPENAI_API_KEY&needs=JUDGE_KEY")
    expect(page.get_by_text("No secrets yet")).to_be_visible()
    needs = page.get_by_role("list", name="Names that a run needs").get_by_role("listitem")
    expect(needs.filter(has_text="JUDGE_KEY")).to_contain_text("missing")
    needs.filter(has_text="OPENAI_API_KEY").get_by_role("button", name="Set").click()
    form = page.get_by_role("form", name="Set a secret")
    expect(form.get_by_label("Name")).to_have_value("OPENAI_API_KEY")
    form.get_by_role("button", name="Set secret").click()
    expect(form.get_by_text("Enter a value.")).to_be_visible()
    form.get_by_label("Value").fill("sk-hidden-value")
    form.get_by_label("every run of the workspace").check()
    form.get_by_role("button", name="Set secret").click()
    row = page.get_by_role("row", name="OPENAI_API_KEY")
    expect(row).to_contain_text("every run")
    expect(needs.filter(has_text="OPENAI_API_KEY")).to_contain_text("set")
    expect(form.get_by_label("Value")).to_have_value("")
    assert violations(page) == []
    page.reload()
    expect(row).to_contain_text(platform.admin)
    assert "sk-hidden-value" not in page.content()
    row.get_by_role("button", name="Change OPENAI_API_KEY").click()
    page.get_by_role("menuitem", name="Delete…").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete secret").click()
    expect(page.get_by_text("No secrets yet")).to_be_visible()


def test_a_name_that_no_secret_can_have_is_told(signed_in: Page, platform: Platform, place: str) -> None:
    signed_in.goto(f"{platform.url}{place}/secrets")
    form = signed_in.get_by_role("form", name="Set a secret")
    form.get_by_label("Name").fill("openai key")
    form.get_by_role("button", name="Set secret").click()
    expect(form.get_by_text("Capital letters, digits and _")).to_be_visible()


def test_viewers_of_a_workspace_change_nothing(page: Page, platform: Platform, place: str, admin: Member) -> None:
    name = "viewer-of-" + place[-8:]
    admin.ask("POST", "/api/admin/users", {"username": name, "password": PASSWORD, "role": "member"})
    admin.ask("POST", f"/api{place}/members", {"username": name, "role": "viewer"})
    sign_in(page, Platform(platform.url, name, PASSWORD))
    page.goto(f"{platform.url}{place}/datasets")
    expect(page.get_by_text("your role is viewer")).to_be_visible()
    expect(page.get_by_role("button", name="Upload a dataset")).to_have_count(0)
    page.get_by_role("link", name="Secrets").click()
    expect(page.get_by_text("Members of the workspace set them")).to_be_visible()
    expect(page.get_by_role("form", name="Set a secret")).to_have_count(0)
    page.goto(f"{platform.url}/new-run?workspace={place.rsplit('/', 1)[1]}")
    expect(page.get_by_text("You may not start runs in")).to_be_visible()
    expect(page.get_by_text("Your role there is viewer")).to_be_visible()
    page.goto(f"{platform.url}/admin")
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.get_by_role("link", name="Sign in to continue")).to_have_count(0)


def test_after_a_wrong_password_the_form_is_the_way_to_sign_in(page: Page, platform: Platform) -> None:
    page.goto(f"{platform.url}/sign-in")
    page.get_by_label("User name").fill(platform.admin)
    page.get_by_label("Password").fill("not this one")
    page.get_by_role("main").get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("Sign-in failed")
    expect(page.get_by_role("link", name="Sign in to continue")).to_have_count(0)


@pytest.mark.parametrize("path", ["/datasets/nothing", "/datasets", "/secrets"])
def test_what_is_not_there_says_so(page: Page, platform: Platform, place: str, path: str) -> None:
    sign_in(page, platform)
    page.goto(f"{platform.url}{place if 'nothing' in path else '/workspaces/nothing'}{path}")
    expect(page.get_by_role("alert")).to_contain_text("could not be loaded")
