"""The pages in Chromium on the large store of perf.listing: first content, long tasks, memory.

Chromium of the system is driven, /usr/bin/chromium or what MESOCOSM_TEST_CHROMIUM names; the web app is the built one.
"""

import json
import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perf.large_store import EVENTS, LARGE, LONG
from perf.machine import ROOT, line, started

CHROMIUM = os.environ.get("MESOCOSM_TEST_CHROMIUM", "/usr/bin/chromium")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
CONTENT_MS = 300.0
LONG_TASK_MS = 200.0
MEMORY_MIB = 200.0
OPENINGS = 5
SCROLLING_S = 10.0
STEP = EVENTS // 12
"""The step in the middle of the long episode, which has six events in each."""

_WATCH = """
window.__long = [];
new PerformanceObserver((list) => {
  for (const task of list.getEntries()) window.__long.push(task.duration);
}).observe({ type: 'longtask', buffered: true });
window.__seen = new Promise((seen) => {
  const look = () => {
    const found = document.querySelector(WANTED);
    if (found && found.getBoundingClientRect().height > 0) requestAnimationFrame(() => seen(performance.now()));
    else requestAnimationFrame(look);
  };
  look();
});
"""

_DRAG = """
async ([selector, from, to]) => {
  const box = selector ? document.querySelector(selector) : document.scrollingElement;
  for (let frame = 0; frame <= 40; frame++) {
    const share = from + ((to - from) * frame) / 40;
    box.scrollTop = share * (box.scrollHeight - box.clientHeight);
    await new Promise(requestAnimationFrame);
  }
}
"""

_FRAMES = """
() => {
  window.__frames = [];
  let last = performance.now();
  const next = (now) => {
    window.__frames.push(now - last);
    last = now;
    if (window.__frames) requestAnimationFrame(next);
  };
  requestAnimationFrame(next);
}
"""


@dataclass(frozen=True)
class Place:
    """A page to open: what shows that its content is there, what is scrolled (None: the window), what is typed."""

    name: str
    path: str
    content: str
    scroller: str | None
    words: str


PLACES = (
    Place("Runs, 100,000", "/", "[role=row][aria-rowindex='2'] a", "[role=grid]", "benchmark-01 needle"),
    Place("Run of 1,000,000", f"/runs/{LARGE}", "[role=row][aria-rowindex='2'] a", "[role=grid]", "seed 777"),
    Place(
        f"Episode at step {STEP:,}", f"/episodes/{LONG}?step={STEP}", f"#event-{6 * STEP}", None, "needle in the stack"
    ),
)


def page() -> None:
    """Start `mesocosm view` on the large store and measure its pages."""
    given = Path(os.environ.get("MESOCOSM_PERF_LISTING", str(ROOT / "benchmark_results" / "perf-listing")))
    if not given.exists():
        raise SystemExit(f"there is no large store at {given}; `python -m perf listing` makes it")
    words = ("view", "--no-open", "--json", "--port", "0", "--results-dir", str(given))
    process = started(1, "mesocosm", *words)
    try:
        assert process.stdout is not None
        text = ""
        while not text.endswith("}\n"):
            text += process.stdout.readline()
        measure(json.loads(text)["url"])
    finally:
        process.terminate()
        process.wait(20)


def measure(url: str) -> None:
    """Measure the pages of a server of the large store."""
    for place in PLACES:
        _openings(url, place)
        _use(url, place)


@contextmanager
def _opened(url: str, place: Place) -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        try:
            tab = browser.new_page(viewport={"width": 1440, "height": 900})
            tab.add_init_script(_WATCH.replace("WANTED", json.dumps(place.content)))
            tab.goto(url + place.path, wait_until="commit")
            yield tab
        finally:
            browser.close()


def _openings(url: str, place: Place) -> None:
    """Open the page in new browsers, which have nothing kept, then once more in the last one."""
    cold, again = [], []
    for _ in range(OPENINGS):
        with _opened(url, place) as tab:
            cold.append(float(tab.evaluate("window.__seen")))
            tab.reload(wait_until="commit")
            again.append(float(tab.evaluate("window.__seen")))
    line(f"{place.name}: first content, new browser", statistics.median(cold), "ms", CONTENT_MS, above=False)
    line("  the same, files kept", statistics.median(again), "ms", CONTENT_MS, above=False)
    shown = ", ".join(f"{ms:.0f}" for ms in cold)
    print(f"    each: {shown} ms; kept: {', '.join(f'{ms:.0f}' for ms in again)} ms")


def _use(url: str, place: Place) -> None:
    with _opened(url, place) as tab:
        tab.evaluate("window.__seen")
        memory = _Memory(tab)
        tasks = {"opening": _long(tab)}
        for name, work in (("wheel", _wheel), ("jumps", _jumps), ("keys", _keys), ("typing", _typing)):
            work(tab, place, memory.look)
            tasks[name] = _long(tab)
        memory.look()
        longest = max((ms, name) for name, some in tasks.items() for ms in [*some, 0.0])
        line(f"{place.name}: longest task", longest[0] or 1.0, "ms", LONG_TASK_MS, above=False)
        each = "; ".join(f"{name} {len(some)}, {max(some, default=0):.0f} ms" for name, some in tasks.items())
        print(f"    tasks over 50 ms, and the longest: {each}")
        line("  its process afterwards, garbage collected", memory.settled(), "MiB", MEMORY_MIB, above=False)
        line("  its process at most, garbage included", memory.process, "MiB", MEMORY_MIB, above=False)
        print(f"    JavaScript objects at most, garbage included: {memory.script:.0f} MiB")


def _long(tab: Any) -> list[float]:
    return [float(ms) for ms in tab.evaluate("() => window.__long.splice(0)")]


def _middle(tab: Any, place: Place) -> None:
    if place.scroller is None:
        tab.mouse.move(900, 500)
        return
    tab.locator(place.scroller).first.scroll_into_view_if_needed()
    box = tab.locator(place.scroller).first.bounding_box()
    tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + min(box["height"], 400) / 2)


def _wheel(tab: Any, place: Place, look: Callable[[], None]) -> None:
    _middle(tab, place)
    tab.evaluate(_FRAMES)
    until, next_look = time.monotonic() + SCROLLING_S, time.monotonic()
    turned = 0
    while time.monotonic() < until:
        tab.mouse.wheel(0, 360 if turned % 200 < 150 else -360)
        turned += 1
        if time.monotonic() > next_look:
            look()
            next_look = time.monotonic() + 1.0
    frames = sorted(tab.evaluate("() => { const all = window.__frames; window.__frames = null; return all }"))
    late = frames[int(len(frames) * 0.95)]
    seconds = SCROLLING_S
    print(
        f"  {place.name}: {turned} turns of the wheel, {len(frames) / seconds:.0f} frames/s, 95 % within {late:.0f} ms"
    )


def _jumps(tab: Any, place: Place, look: Callable[[], None]) -> None:
    for begin, end in ((0.0, 0.5), (0.5, 1.0), (1.0, 0.1), (0.1, 0.9), (0.9, 0.0)):
        tab.evaluate(_DRAG, [place.scroller, begin, end])
        tab.wait_for_timeout(500)
        look()


def _keys(tab: Any, place: Place, look: Callable[[], None]) -> None:
    if place.scroller is not None:
        tab.locator(place.scroller).first.focus()
    for key in ("End", "Home", *["PageDown"] * 30, "End", *["PageUp"] * 30):
        tab.keyboard.press(key)
    tab.wait_for_timeout(500)
    look()


def _typing(tab: Any, place: Place, look: Callable[[], None]) -> None:
    field = tab.locator("input[type=search]").first
    for _ in range(2):
        field.click()
        field.press_sequentially(place.words, delay=30)
        tab.wait_for_timeout(700)
        field.fill("")
        tab.wait_for_timeout(300)
    look()


class _Memory:
    """The most that a page took: its JavaScript objects, and what its process has for itself.

    Most of the latter is what the browser has not collected yet: it does so late while there is memory.
    """

    def __init__(self, tab: Any) -> None:
        self._session = tab.context.new_cdp_session(tab)
        self._session.send("Performance.enable")
        self._browser = tab.context.browser.new_browser_cdp_session()
        self.script = 0.0
        self.process = 0.0

    def look(self) -> None:
        """Note what it is now, in MiB."""
        script, process = self._now()
        self.script, self.process = max(self.script, script), max(self.process, process)

    def settled(self) -> float:
        """Collect garbage and return what the process then has for itself, in MiB."""
        self._session.send("HeapProfiler.collectGarbage")
        return self._now()[1]

    def _now(self) -> tuple[float, float]:
        metrics = {item["name"]: item["value"] for item in self._session.send("Performance.getMetrics")["metrics"]}
        processes = self._browser.send("SystemInfo.getProcessInfo")["processInfo"]
        sizes = [_private(item["id"]) for item in processes if item["type"] == "renderer"]
        return metrics["JSHeapUsedSize"] / 2**20, max(sizes)


def _private(process: int) -> float:
    try:
        text = Path(f"/proc/{process}/smaps_rollup").read_text()
    except OSError:
        return 0.0
    return sum(int(row.split()[1]) for row in text.splitlines() if row.startswith("Private_Dirty")) / 1024
