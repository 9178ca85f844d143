"""The repository of a workspace in Chromium, on a server with a worker that syncs from a git host on loopback."""

import shutil
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from playwright.sync_api import Page, expect
from tests.git_host import PEM, TOKEN, served
from tests.viewer.conftest import Window
from tests.viewer.hosting import Member, Platform, commit, hosting
from tests.viewer.test_axe import violations

PASSWORD = "correct horse battery staple"
READY_MS = 60_000
CONFIG = (
    '[experiment]\nrollout = "words"\nentrypoint = "main.py"\nmodel_path = "openai/gpt-5-mini"\ndataset = "hard"\n'
    "[evaluation]\nlimt = 3\n"
)


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimpleNamespace]:
    """A git host with a private repository, whose workspace is the folder `evals`, and a copy of it for everybody."""
    root = tmp_path_factory.mktemp("host")
    for name, content in {"rollouts/words/main.py": "print()\n", "configs/eval/hard.toml": CONFIG}.items():
        path = root / "private" / "evals" / name
        path.parent.mkdir(parents=True)
        path.write_text(content)
    commit(root / "private")
    shutil.copytree(root / "private", root / "public")
    with served(root) as place:
        yield SimpleNamespace(place=place, root=root)


@pytest.fixture(scope="module")
def platform(host: SimpleNamespace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    folder = tmp_path_factory.mktemp("platform")
    hosts = f"github.com,{host.place}"
    with hosting(folder, GIT_SSL_CAINFO=str(PEM), MESOCOSM_GIT_HOSTS=hosts, MESOCOSM_GIT_POLL_S="0") as running:
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


def test_a_private_repository_is_connected_mended_and_synced(
    signed_in: Page, platform: Platform, place: str, host: SimpleNamespace
) -> None:
    page = signed_in
    page.goto(f"{platform.url}{place}")
    page.get_by_role("navigation", name="Workspace").get_by_role("link", name="Repository").click()
    expect(page.get_by_text("No repository yet")).to_be_visible()
    form = page.get_by_role("form", name="Connect a repository")
    form.get_by_role("button", name="Connect").click()
    expect(form.get_by_text("Enter the address of a repository.")).to_be_visible()
    form.get_by_label("URL").fill(f"https://{host.place}/private/.git")
    form.get_by_label("Folder").fill("evals")
    form.get_by_label("It is private").check()
    form.get_by_role("button", name="Connect").click()
    expect(form.get_by_text("Enter it.")).to_be_visible()
    assert violations(page) == []
    form.get_by_label("Token").fill("another-0123456789")
    form.get_by_role("button", name="Connect").click()

    syncs = page.get_by_role("region", name="Table of syncs")
    expect(syncs.get_by_role("row", name="Sync 1")).to_contain_text(
        "Set another token on the page of the repository", timeout=READY_MS, ignore_case=True
    )
    credentials = page.get_by_role("form", name="Set credentials")
    credentials.get_by_label("Token").fill(TOKEN)
    credentials.get_by_role("button", name="Set credentials").click()
    expect(credentials.get_by_label("Token")).to_have_value("")
    page.get_by_role("button", name="Sync now").click()
    expect(syncs.get_by_role("row", name="first")).to_contain_text("in part", timeout=READY_MS)
    expect(syncs.get_by_role("row", name="first")).to_contain_text("1 rollout, 1 configuration, 1 to mend")
    holds = page.get_by_role("region", name="Table of rollouts and configurations")
    expect(holds.get_by_role("row", name="words")).to_contain_text("main.py")
    expect(holds.get_by_role("row", name="hard.toml")).to_contain_text("invalid")
    page.reload()
    expect(page.get_by_role("list", name="Credentials")).to_contain_text(platform.admin)
    assert violations(page) == []
    assert TOKEN not in page.content()

    syncs.get_by_role("link", name="first").click()
    faults = page.get_by_role("list", name="Faults")
    expect(faults).to_contain_text("configs/eval/hard.toml, line 7")
    expect(faults).to_contain_text("Did you mean `limit`?")
    expect(page.get_by_text("by nobody")).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="first")).to_be_visible()
    assert violations(page) == []


def test_an_ssh_address_asks_for_a_deploy_key(signed_in: Page, platform: Platform, place: str) -> None:
    page = signed_in
    page.goto(f"{platform.url}{place}/repository")
    form = page.get_by_role("form", name="Connect a repository")
    form.get_by_label("URL").fill("git@github.com:you/evals.git")
    expect(form.get_by_label("It is private")).to_have_count(0)
    form.get_by_label("Deploy key").fill("ssh-ed25519 AAAA")
    form.get_by_role("button", name="Connect").click()
    expect(form.get_by_text("is not a private SSH key; make one with: ssh-keygen")).to_be_visible()
    assert violations(page) == []


def test_the_secret_of_a_webhook_is_shown_once(
    signed_in: Page, platform: Platform, place: str, host: SimpleNamespace, admin: Member
) -> None:
    page = signed_in
    admin.ask("PUT", f"/api{place}/repository", {"url": f"https://{host.place}/public/.git", "folder": "evals"})
    page.goto(f"{platform.url}{place}/repository")
    page.get_by_role("button", name="New secret").click()
    page.get_by_role("dialog").get_by_role("button", name="New secret").click()
    panel = page.get_by_role("region", name="Webhook")
    expect(panel.get_by_role("status")).to_contain_text("You will not be able to see it again.")
    secret = panel.get_by_role("status").locator("code").inner_text()
    expect(panel).to_contain_text(f"{platform.url}/api/hooks/git/")
    hook = panel.locator("p code").last.inner_text()
    assert violations(page) == []
    page.reload()
    expect(panel).to_be_visible()
    assert secret not in page.content()
    answer = page.request.post(hook, data={"ref": "refs/heads/master"}, headers={"x-mesocosm-token": secret})
    assert answer.status == 202


def test_a_repository_is_disconnected(
    signed_in: Page, platform: Platform, place: str, host: SimpleNamespace, admin: Member
) -> None:
    page = signed_in
    admin.ask("PUT", f"/api{place}/repository", {"url": f"https://{host.place}/public/.git"})
    page.goto(f"{platform.url}{place}/repository")
    holds = page.get_by_text("There is no folder rollouts/: connect the repository with the folder evals")
    expect(holds).to_be_visible(timeout=READY_MS)
    page.get_by_role("button", name="Disconnect").click()
    page.get_by_role("dialog").get_by_role("button", name="Disconnect").click()
    expect(page.get_by_text("No repository yet")).to_be_visible()


def test_viewers_of_a_workspace_only_read(
    page: Page, platform: Platform, place: str, host: SimpleNamespace, admin: Member
) -> None:
    name = "viewer-of-" + place[-8:]
    admin.ask("POST", "/api/admin/users", {"username": name, "password": PASSWORD, "role": "member"})
    admin.ask("POST", f"/api{place}/members", {"username": name, "role": "viewer"})
    sign_in(page, Platform(platform.url, name, PASSWORD))
    page.goto(f"{platform.url}{place}/repository")
    expect(page.get_by_text("Admins of the workspace connect it.")).to_be_visible()
    expect(page.get_by_role("form")).to_have_count(0)
    admin.ask("PUT", f"/api{place}/repository", {"url": f"https://{host.place}/public/.git", "folder": "evals"})
    page.reload()
    expect(page.get_by_role("region", name="Table of syncs")).to_be_visible()
    for button in ("Sync now", "Disconnect", "New secret", "Set credentials"):
        expect(page.get_by_role("button", name=button)).to_have_count(0)


def test_what_is_not_there_says_so(signed_in: Page, platform: Platform, place: str) -> None:
    for path in (f"{place}/repository/syncs/9", "/workspaces/nothing/repository"):
        signed_in.goto(f"{platform.url}{path}")
        expect(signed_in.get_by_role("alert")).to_contain_text("could not be loaded")
