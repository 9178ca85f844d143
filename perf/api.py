"""The API over HTTP on the large store of perf.listing: p95 of lists, numbers and steps, alone and beside others.

`python -m perf.api PLACE` is the server that is measured; `python -m perf api` starts it on a core of its own.
"""

import http.client
import os
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import msgspec

from mesocosm.server.serving import listen, new_server, url_of
from mesocosm.store import open_store
from mesocosm.store.episode_lists import EPISODE_SORTS
from mesocosm.store.run_lists import SORTS
from perf.large_store import EPISODES, EVENTS, LARGE, LONG
from perf.machine import ROOT, line, started

LISTS_MS = 50.0
STEP_MS = 100.0
CLIENTS = 8
PAGE = 200
STEPS = EVENTS // 6

RUNS_BY: dict[str, dict[str, Any]] = {
    "all": {},
    "finished": {"state": "finished"},
    "running": {"state": "running"},
    "interrupted": {"state": "interrupted"},
    "rare model": {"model": "provider-x/rare"},
    "benchmark and model": {"benchmark": "benchmark-007", "model": "provider-1/model-21"},
    "two tags": {"tag": ["tag-11", "tag-12"]},
    "rare text": {"q": "needle"},
    "no such text": {"q": "nowhere to be found"},
}
EPISODES_BY: dict[str, dict[str, Any]] = {
    "all": {},
    "failed": {"state": "failed"},
    "rare cause": {"cause": "environment_unreachable"},
    "passed": {"outcome": "pass"},
    "narrow scores": {"low": 0.5, "high": 0.5005},
    "rare text": {"q": "seed 77777"},
    "not passed": {"outcome": "fail"},
    "a common mistake": {"mistake": "kind of mistake 1"},
    "a mistake that is nowhere": {"mistake": "kind of mistake 99"},
    "a behaviour": {"behaviour": "cut_off"},
    "a label": {"label": "level=3"},
}
LISTED = 100
"""Rows that a page of the app asks for, of which it compares each with a baseline."""

Request = tuple[str, str]
Answer = dict[str, Any]


class Client:
    """One connection that stays open, as a browser's does."""

    def __init__(self, url: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)

    def get(self, path: str) -> bytes:
        """Return the body of an answer, packed or not. Raises SystemExit for one that is not a success."""
        self._connection.request("GET", path, headers={"Accept-Encoding": "gzip"})
        answer = self._connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise SystemExit(f"{path}: {answer.status} {body[:300]!r}")
        return body

    def document(self, path: str) -> Answer:
        """Return an answer as it was meant."""
        self._connection.request("GET", path)
        return msgspec.json.decode(self._connection.getresponse().read(), type=Answer)


def api() -> None:
    """Start a server of the large store, and measure every kind of request."""
    given = os.environ.get("MESOCOSM_PERF_LISTING", str(ROOT / "benchmark_results" / "perf-listing"))
    if "://" not in given and not Path(given).exists():
        raise SystemExit(f"there is no large store at {given}; `python -m perf listing` makes it")
    process = started(1, "perf.api", given)
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        _measure(url, process.pid)
    finally:
        process.terminate()
        process.wait(20)


def cold() -> None:
    """Measure the first request after the start of a server, for each kind of list, the store not in memory.

    Beside the time stands the server's processor time, which other work on the machine leaves as it is.
    """
    given = os.environ.get("MESOCOSM_PERF_LISTING", str(ROOT / "benchmark_results" / "perf-listing"))
    base = f"/api/runs/{LARGE}/episodes"
    wanted = [(f"runs, {name}", _path("/api/runs", limit=PAGE, **query)) for name, query in RUNS_BY.items()]
    wanted += [(f"episodes, {name}", _path(base, limit=PAGE, **query)) for name, query in EPISODES_BY.items()]
    wanted += [("runs by score", _path("/api/runs", limit=PAGE, sort="-score")), ("facets", "/api/runs/facets")]
    wanted += [
        ("the run of a million", f"/api/runs/{LARGE}"),
        ("its episode 500,000", _path(base, at=500_000, limit=PAGE)),
    ]
    taken = []
    for what, path in wanted:
        _forget(Path(given))
        process = started(1, "perf.api", given)
        try:
            assert process.stdout is not None
            client = Client(process.stdout.readline().strip())
            before, began = _processor_ms(process.pid), time.perf_counter()
            client.get(path)
            taken.append(((time.perf_counter() - began) * 1000, _processor_ms(process.pid) - before, what))
            print(f"    {what:<28} {taken[-1][0]:6.0f} ms, {taken[-1][1]:5.0f} ms of processor time")
        finally:
            process.terminate()
            process.wait(20)
    _report("lists, the first request after a start", LISTS_MS, taken)


def _forget(place: Path) -> None:
    """Take the files of a store out of the system's memory, as far as the system follows."""
    for file in place.glob("*.sqlite*") if hasattr(os, "posix_fadvise") else ():
        with file.open("rb") as opened:
            os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _processor_ms(process: int) -> float:
    """Return the processor time of a process's threads so far, or 0 where the system does not tell."""
    spent = 0
    for told in Path(f"/proc/{process}/task").glob("*/schedstat"):
        with suppress(OSError):  # the thread has ended
            spent += int(told.read_text().split()[0])
    return spent / 1e6


def _measure(url: str, process: int) -> None:
    client = Client(url)
    for name, budget, requests in (
        ("lists of runs, every order and filter, 200 rows", LISTS_MS, _run_lists(client)),
        ("facets, a run, its series", LISTS_MS, _runs(client)),
        ("100 runs against their baselines", LISTS_MS, _standings(client)),
        ("wrong answers, grouped", LISTS_MS, _wrong_answers()),
        ("lists of episodes, every order and filter, 200 rows", LISTS_MS, _episode_lists(client)),
        ("an episode, its neighbours, the task's other attempts", LISTS_MS, _episodes()),
        ("other lists, each first page", LISTS_MS, _others()),
        ("200 events from any step on", STEP_MS, _events()),
        ("200 steps of the outline", STEP_MS, _outlines()),
        ("a search in events, one request", STEP_MS, _searches()),
        ("a model call with all its messages", STEP_MS, _calls(client)),
    ):
        _report(name, budget, _timed(client, requests, process))
    _together(url, process)


def _timed(client: Client, requests: Iterable[Request], process: int) -> list[tuple[float, float, str]]:
    """Return the time of each request and the server's processor time for it, in ms."""
    taken = []
    for what, path in requests:
        before, began = _processor_ms(process), time.perf_counter()
        client.get(path)
        seconds = time.perf_counter() - began
        taken.append((seconds * 1000, _processor_ms(process) - before, what))
    return taken


def _report(name: str, budget: float, taken: list[tuple[float, float, str]]) -> None:
    times, worked = [ms for ms, _worked, _what in taken], [worked for _ms, worked, _what in taken]
    line(f"{name}, p95 of {len(times):,}", _p95(times), "ms", budget, above=False)
    slowest, _, what = max(taken)
    print(f"    median {statistics.median(times):.1f} ms, slowest {slowest:.1f} ms ({what})")
    hardest, what = max((worked, what) for _ms, worked, what in taken)
    print(f"    processor time of the server: p95 {_p95(worked):.1f} ms, most {hardest:.1f} ms ({what})")


def _p95(values: list[float]) -> float:
    return statistics.quantiles(values, n=20)[-1]


def _path(base: str, **query: Any) -> str:
    return f"{base}?{urlencode(query, doseq=True)}" if query else base


def _pages(client: Client, what: str, base: str, pages: int, query: dict[str, Any]) -> Iterator[Request]:
    cursor = None
    for page in range(pages):
        path = _path(base, limit=PAGE, **query, **({"cursor": cursor} if cursor else {}))
        yield f"{what}, page {page + 1}", path
        cursor = client.document(path)["cursor"] if page + 1 < pages else None
        if cursor is None:
            return


def _orders(sorts: tuple[str, ...]) -> list[str]:
    words = {"status": "state", "position": "index"}
    return [direction + words.get(sort, sort) for sort in sorts for direction in ("", "-")]


def _run_lists(client: Client) -> Iterator[Request]:
    for name, wanted in RUNS_BY.items():
        for sort in _orders(SORTS):
            yield from _pages(client, f"{name} by {sort}", "/api/runs", 2, {"sort": sort, **wanted})


def _runs(client: Client) -> Iterator[Request]:
    ids = [run["id"] for run in client.document("/api/runs?limit=20")["items"]]
    for run_id in ids:
        yield "facets", "/api/runs/facets"
        yield "run", f"/api/runs/{run_id}"
        yield "series", f"/api/runs/{run_id}/series"


def _standings(client: Client) -> Iterator[Request]:
    """Yield what the list of runs asks beside its pages; each page is new to the server."""
    for number in range(10):
        query = {"limit": LISTED, "sort": ("-created_at", "score", "-cost", "benchmark", "model")[number % 5]}
        document = client.document(_path("/api/runs", **query, **({"state": "finished"} if number >= 5 else {})))
        path = _path("/api/runs/baseline", run=[run["id"] for run in document["items"]])
        yield f"{query['sort']}, first time", path
        yield f"{query['sort']}, again", path


def _wrong_answers() -> Iterator[Request]:
    for by in ("mistake", "behaviour", "why", "answer", "cause", "trial", "label:level"):
        for time_ in ("first time", "again"):
            yield f"by {by}, {time_}", _path(f"/api/runs/{LARGE}/wrong-answers", by=by)


def _others() -> Iterator[Request]:
    for path in ("benchmarks", "batch-runs", "reviews", "views", "models"):
        for _ in range(3):
            yield path, f"/api/{path}"


def _episode_lists(client: Client) -> Iterator[Request]:
    base = f"/api/runs/{LARGE}/episodes"
    for name, wanted in EPISODES_BY.items():
        for sort in _orders(EPISODE_SORTS):
            yield from _pages(client, f"{name} by {sort}", base, 2, {"sort": sort, **wanted})
    for place in range(0, EPISODES, EPISODES // 50):
        yield f"at {place}", _path(base, at=place, limit=PAGE)


def _episodes() -> Iterator[Request]:
    for place in range(0, EPISODES, EPISODES // 50):
        episode_id = f"019f{place:08x}"[:8] + f"-{place % 65536:04x}-7000-9000-{place:012x}"
        yield f"episode {place}", f"/api/episodes/{episode_id}"
        yield f"neighbours of {place}", f"/api/episodes/{episode_id}/neighbours?sort=-score&outcome=fail"
        yield f"attempts of {place}", f"/api/episodes/{episode_id}/attempts"


def _events() -> Iterator[Request]:
    for step in range(0, STEPS, STEPS // 100):
        yield f"step {step}", f"/api/episodes/{LONG}/events?step={step}&limit={PAGE}"


def _outlines() -> Iterator[Request]:
    for step in range(0, STEPS, STEPS // 100):
        yield f"from {step}", f"/api/episodes/{LONG}/steps?from={step}&limit={PAGE}"


def _searches() -> Iterator[Request]:
    for text in ("needle", "Größe", "no such"):
        for first in range(0, EVENTS, EVENTS // 20):
            yield f"{text!r} from {first}", _path(f"/api/episodes/{LONG}/events", **{"from": first, "q": text})


def _calls(client: Client) -> Iterator[Request]:
    for first in range(0, EVENTS, EVENTS // 50):
        path = f"/api/episodes/{LONG}/events?kind=model_call&limit=1&from={first}"
        for event in client.document(path)["items"]:
            yield f"call {event['seq']}", f"/api/episodes/{LONG}/calls/{event['seq']}"


def _together(url: str, process: int) -> None:
    """Measure several clients at once, each with requests of another kind."""
    kinds: list[Callable[[], Iterable[Request]]] = [
        lambda: _run_lists(Client(url)),
        lambda: _episode_lists(Client(url)),
        _events,
        _searches,
    ]
    taken: list[list[tuple[float, float, str]]] = [[] for _ in range(CLIENTS)]

    def work(place: int) -> None:
        requests = list(kinds[place % len(kinds)]())[:60]
        taken[place] = _timed(Client(url), requests, process)

    threads = [threading.Thread(target=work, args=(place,)) for place in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    medians = [statistics.median(ms for ms, _worked, _what in some) for some in taken]
    every = [item for some in taken for item in some]
    _report(f"the same with {CLIENTS} clients at once", CLIENTS * LISTS_MS, every)
    print(f"    medians of the clients: {', '.join(f'{ms:.0f}' for ms in medians)} ms")


def main() -> None:
    """Serve a large store until the process is ended."""
    listening = listen(port=0)
    store = open_store(sys.argv[1])
    new_server(store, ready=lambda: print(url_of(listening), flush=True)).run([listening])
    store.close()


if __name__ == "__main__":
    main()
