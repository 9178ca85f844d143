"""Static sites: what is in them, read back through a plain web server."""

import functools
import json
import re
import sys
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

import mesocosm
from mesocosm.core.entry import Blob
from mesocosm.core.episode import EpisodeStatus
from mesocosm.core.event import Kind
from mesocosm.core.failure import Boundary, Cause, Failure, UsageError
from mesocosm.core.ids import digest_bytes
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import BenchmarkRef, Counts, Run, RunSpec, RunStatus
from mesocosm.server.runs.published_runs import PublishedRuns
from mesocosm.server.site.data import EVENTS, file_name
from mesocosm.server.site.site import MOST_EPISODES, write_site
from mesocosm.store import Store

PAGE = """<!doctype html>
<html lang="en">
  <head>
    <base href="/" />
    <title>mesocosm</title>
    <script type="application/json" id="place">{"mode":"laptop"}</script>
    <script type="module" src="./assets/index.js"></script>
  </head>
</html>
"""


@pytest.fixture(scope="session")
def app(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a build of the web app with nothing in it."""
    place = tmp_path_factory.mktemp("viewer")
    (place / "assets").mkdir()
    (place / "index.html").write_text(PAGE)
    (place / "licences.txt").write_text("react 19 (MIT)")
    (place / "sources.digest").write_text("0" * 64)
    (place / "assets" / "index.js").write_text("export {}\n")
    (place / "assets" / "index.js.gz").write_bytes(b"packed")
    return place


def listed(store: Store) -> list[Run]:
    return [store.runs.get(run.id) for run in store.runs.list().items]


class Quiet(SimpleHTTPRequestHandler):
    """A plain web server that says nothing."""

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="session")
def site(store: Store, app: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of a site of all recorded runs, below a path of a plain web server."""
    root = tmp_path_factory.mktemp("public")
    write_site(PublishedRuns(store, listed(store)), root / "some" / "where", viewer=app)
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(root)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/some/where"
    server.shutdown()
    thread.join()
    server.server_close()


def read(site: str, name: str) -> Any:
    answer = httpx.get(f"{site}/data/{name}.json", trust_env=False)
    assert answer.status_code == 200, name
    return answer.json()


def test_the_page_is_told_that_it_reads_files_below_any_address(site: str) -> None:
    page = httpx.get(f"{site}/", trust_env=False).text
    assert '<base href="./" />' in page
    assert '{"mode":"site"}' in page
    assert "script-src 'self';" in page
    assert httpx.get(f"{site}/assets/index.js", trust_env=False).text == "export {}\n"
    assert httpx.get(f"{site}/frame.html", trust_env=False).status_code == 200


def test_its_runs_are_what_the_api_answers(site: str, client: Any) -> None:
    mine, api = read(site, "runs")["items"], client.get("/api/runs").json()["items"]
    assert [run["id"] for run in mine] == [run["id"] for run in api]
    for name in ("state", "counts", "primary", "benchmark_title"):
        assert [run[name] for run in mine] == [run[name] for run in api]


def test_a_run_has_its_detail_its_series_and_its_episodes(site: str, client: Any) -> None:
    for run in read(site, "runs")["items"]:
        detail, api = read(site, f"runs/{run['id']}/detail"), client.get(f"/api/runs/{run['id']}").json()
        assert detail["metrics"] == api["metrics"]
        series = client.get(f"/api/runs/{run['id']}/series?curves=true").json()
        assert read(site, f"runs/{run['id']}/series") == series
        rows = client.get(f"/api/runs/{run['id']}/episodes").json()["items"]
        assert read(site, f"runs/{run['id']}/episodes-0") == {
            "items": rows, "cursor": None, "total": None, "total_exact": False
        }  # fmt: skip


def test_an_episode_has_its_events_and_its_outline(site: str, client: Any, episode_id: str) -> None:
    file = read(site, f"episodes/{episode_id}")
    detail = client.get(f"/api/episodes/{episode_id}").json()
    detail.pop("run")
    assert file["detail"] == detail
    assert file["windows"] == [0]
    assert file["events"] == client.get(f"/api/episodes/{episode_id}/events?limit=1000").json()["items"]
    assert file["steps"] == client.get(f"/api/episodes/{episode_id}/steps?limit=500").json()


def test_the_task_of_an_episode_is_there_over_all_runs(site: str, client: Any, episode_id: str) -> None:
    found = client.get(f"/api/episodes/{episode_id}").json()
    benchmark, digest = found["run"]["benchmark"], found["task_digest"]
    told = read(site, f"tasks/{file_name(benchmark)}/{file_name(digest)}")
    assert told == client.get(f"/api/benchmarks/{benchmark}/tasks/{digest}").json()


def test_every_two_runs_are_compared(site: str, client: Any) -> None:
    ids = [run["id"] for run in read(site, "runs")["items"]]
    for first, a in enumerate(ids):
        for second, b in enumerate(ids):
            if a != b:
                found = read(site, f"compare/{first}-{second}")
                api = client.get("/api/compare", params={"run": [a, b]}).json()
                assert found["benchmarks"] == api["benchmarks"]


def test_benchmarks_come_in_the_order_of_their_list(site: str) -> None:
    for place, item in enumerate(read(site, "benchmarks")["items"]):
        detail = read(site, f"benchmarks/{place}")
        assert detail["id"] == item["id"]
        assert detail["leaderboard"]


def everything(place: Path) -> bytes:
    return b"\n".join(path.read_bytes() for path in sorted(place.rglob("*")) if path.is_file())


async def test_only_what_belongs_to_the_chosen_runs_is_in_it(
    changing: Store, app: Path, tmp_path: Path, records: Any
) -> None:
    other = await records.write(changing, records.run(name="not-for-anybody", model="builtin/secretive"), [])
    chosen = [run for run in listed(changing) if run.id != other.id][:1]
    write_site(PublishedRuns(changing, chosen), tmp_path / "site", viewer=app)
    written = everything(tmp_path / "site")
    assert other.id.encode() not in written
    assert b"not-for-anybody" not in written
    assert b"builtin/secretive" not in written


async def test_a_site_names_no_path_process_or_address_of_this_machine(
    changing: Store, app: Path, tmp_path: Path, records: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/anna-secret")
    spec = RunSpec(
        BenchmarkRef("environment", "/srv/projects-secret/env/benchanything.json", {"env_url": "http://10.1.2.3:9000"}),
        ModelSettings("openai/mine@http://10.9.8.7:8000/v1", cache="/home/anna-secret/cache.sqlite"),
    )
    run = records.run(spec=spec, model="openai/mine@http://10.9.8.7:8000/v1")
    run.provenance = {"mesocosm": "0.3", "command": ["/home/anna-secret/bin/mesocosm", "run"]}
    run.error = "cannot read /srv/projects-secret/env/words.txt"
    failure = Failure(
        Cause.ENVIRONMENT_ERROR, Boundary.ENVIRONMENT, "it died", stderr='File "/home/anna-secret/env/adapter.py"'
    )
    events = [(0, Kind.LOG, {"text": "asked http://10.9.8.7:8000/v1/chat in /srv/projects-secret/env"})]
    episode = records.episode(run, status=EpisodeStatus.FAILED, failure=failure)
    await records.write(changing, run, [episode], events)
    write_site(PublishedRuns(changing, [changing.runs.get(run.id)]), tmp_path / "site", viewer=app)
    written = everything(tmp_path / "site")
    assert b"anna-secret" not in written
    assert b"projects-secret" not in written
    assert b"10.9.8.7" not in written
    assert b"10.1.2.3" not in written
    assert str(Path(changing.place).parent).encode() not in written
    assert b"benchanything.json" in written


async def test_a_site_does_not_tell_where_this_machine_has_its_programs(
    changing: Store, app: Path, tmp_path: Path, records: Any
) -> None:
    run, ours, theirs = records.run(), mesocosm.__file__, f"{sys.prefix}/lib/site-packages/other/thing.py"
    trace = f'File "{ours}", line 1\nFile "{theirs}", line 2\nFile "/elsewhere/own.py", line 3'
    failure = Failure(Cause.ENVIRONMENT_ERROR, Boundary.ENVIRONMENT, "it died", stderr=trace)
    await records.write(changing, run, [records.episode(run, status=EpisodeStatus.FAILED, failure=failure)])
    write_site(PublishedRuns(changing, [changing.runs.get(run.id)]), tmp_path / "site", viewer=app)
    written = everything(tmp_path / "site")
    assert str(Path(ours).parent).encode() not in written
    assert sys.prefix.encode() not in written
    assert b"mesocosm/__init__.py" in written
    assert b"site-packages/other/thing.py" in written
    assert b"/elsewhere/own.py" in written


async def test_a_long_trace_comes_in_pieces_that_together_are_all_of_it(
    changing: Store, app: Path, tmp_path: Path, records: Any
) -> None:
    run = records.run()
    episode = records.episode(run)
    events = [(step, Kind.LOG, {"text": f"word {step}"}) for step in range(3 * EVENTS + 7)]
    await records.write(changing, run, [episode], events)
    write_site(PublishedRuns(changing, [changing.runs.get(run.id)]), tmp_path / "site", viewer=app)
    place = tmp_path / "site" / "data" / "episodes"
    file = json.loads((place / f"{episode.id}.json").read_bytes())
    assert file["windows"] == [0, EVENTS, 2 * EVENTS, 3 * EVENTS]
    found = file["events"]
    for number in range(1, 4):
        found += json.loads((place / f"{episode.id}-{number}.json").read_bytes())
    assert [event["seq"] for event in found] == list(range(len(events)))
    assert len(file["pages"]) > 1
    second = json.loads((place / f"{episode.id}-steps-1.json").read_bytes())
    assert second["items"][0]["step"] == file["pages"][1]


async def test_hostile_names_and_content_make_no_path_and_no_script(
    changing: Store, app: Path, tmp_path: Path, records: Any
) -> None:
    run = records.run(id="../../<script>alert(1)</script>", name="</script><script>alert(1)</script>")
    episode = records.episode(run, id="/etc/passwd\n", task_id="<img src=x onerror=alert(1)>")
    data = b"<script>alert(1)</script>"
    blob = Blob(digest_bytes(data), "text/html", data)
    await records.write(changing, run, [episode], [(0, Kind.OBSERVATION, {"data": "<b>"})], [blob])
    write_site(PublishedRuns(changing, [changing.runs.get(run.id)]), tmp_path / "deep" / "site", viewer=app)
    site = tmp_path / "deep" / "site"
    names = [path.relative_to(site).as_posix() for path in site.rglob("*")]
    assert all(re.fullmatch(r"[\w.~/-]+", name) for name in names)
    assert (site / "data" / "runs" / file_name(run.id) / "detail.json").is_file()
    assert (site / "data" / "blobs" / blob.digest).read_bytes() == data
    assert "alert" not in (site / "index.html").read_text()
    assert {path.name for path in (tmp_path / "deep").iterdir()} == {"site"}


def test_names_that_differ_only_by_case_are_different_files() -> None:
    assert file_name("Abc") != file_name("abc")
    assert file_name("Abc").lower() != file_name("abc").lower()


def test_a_directory_with_something_else_is_refused_and_untouched(store: Store, app: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(UsageError, match=r"thesis\.tex"):
        write_site(PublishedRuns(store, listed(store)[:1]), tmp_path, viewer=app)
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


def test_an_earlier_site_is_replaced_and_what_publishing_needs_stays(store: Store, app: Path, tmp_path: Path) -> None:
    place = tmp_path / "site"
    write_site(PublishedRuns(store, listed(store)), place, viewer=app)
    (place / ".git").mkdir()
    (place / ".git" / "HEAD").write_text("ref: refs/heads/pages\n")
    (place / "CNAME").write_text("results.example.org\n")
    write_site(PublishedRuns(store, listed(store)[:1]), place, viewer=app)
    assert len(json.loads((place / "data" / "runs.json").read_bytes())["items"]) == 1
    assert (place / ".git" / "HEAD").read_text() == "ref: refs/heads/pages\n"
    assert (place / "CNAME").is_file()
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_a_site_that_cannot_be_finished_leaves_the_earlier_one(changing: Store, app: Path, tmp_path: Path) -> None:
    place = tmp_path / "site"
    write_site(PublishedRuns(changing, listed(changing)), place, viewer=app)
    before = everything(place)

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        write_site(PublishedRuns(changing, listed(changing)[:1]), place, viewer=app, progress=fail)
    assert everything(place) == before
    assert {path.name for path in tmp_path.iterdir()} == {"results", "site"}


def test_a_place_that_cannot_be_written_is_told(store: Store, app: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written"):
        write_site(PublishedRuns(store, listed(store)[:1]), tmp_path / "file" / "site", viewer=app)


async def test_more_episodes_than_a_browser_sorts_are_refused_with_another_way(
    changing: Store, app: Path, tmp_path: Path, records: Any
) -> None:
    run = await records.write(changing, records.run(), [])
    large = msgspec.structs.replace(run, counts=Counts(MOST_EPISODES + 1, MOST_EPISODES + 1))
    with pytest.raises(UsageError, match="hand on a bundle"):
        write_site(PublishedRuns(changing, [large]), tmp_path / "site", viewer=app)
    assert not (tmp_path / "site").exists()


async def test_a_run_that_goes_on_is_refused(changing: Store, app: Path, tmp_path: Path, records: Any) -> None:
    run = msgspec.structs.replace(
        await records.write(changing, records.run(), []), status=RunStatus.RUNNING, holder=changing.leases.owner()
    )
    with pytest.raises(UsageError, match="is going on"):
        write_site(PublishedRuns(changing, [run]), tmp_path / "site", viewer=app)


def test_without_a_built_web_app_it_says_how_to_build_it(store: Store, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="make viewer"):
        write_site(PublishedRuns(store, listed(store)[:1]), tmp_path / "site", viewer=tmp_path)
