"""The table of docs/performance.md from a result file.

`python -m perf.peers.table [FILE]` writes it between the two comments of that page.
"""

import json
import statistics
import sys
from pathlib import Path
from typing import Any

RESULT = Path(__file__).with_name("result.json")
PAGE = Path(__file__).parents[2] / "docs" / "performance.md"
BEGIN = "<!-- written by python -m perf.peers: begin -->"
END = "<!-- written by python -m perf.peers: end -->"

Measurement = dict[str, Any]


def table(result: dict[str, Any]) -> str:
    """Return the block: what was measured, a table of ratios, and who is missing from it."""
    rows = [row for cell in result["cells"] for peer in result["peers"] if (row := _row(result, cell, peer))]
    rounds = len({one["round"] for one in result["measurements"]})
    head = (
        f"{result['questions']:,} questions, one call each; ours / peer, medians of {rounds} rounds that "
        f"alternated, on {result['machine']}. Ratios are taken within a round; below 1, ours takes less. "
        f"Every runner reported the same score, {result['score']:.3f}."
    )
    lines = [
        head,
        "",
        "| peer | ours | model | at a time | time | processor time of a sample | peak memory | on disk |",
        "|---|---|--:|--:|--:|--:|--:|--:|",
        *rows,
    ]
    for name, why in sorted(result["missing"].items()):
        lines += ["", f"Not measured: {name}, because {why}."]
    return "\n".join(lines)


def put(page: str, block: str, first: str = BEGIN, last: str = END) -> str:
    """Return a page with the block between the two comments. Raises ValueError without them."""
    before, begin, rest = page.partition(first)
    _, end, after = rest.partition(last)
    if not begin or not end:
        raise ValueError(f"the page lacks {first} and {last}")
    return f"{before}{first}\n{block}\n{last}{after}"


def _row(result: dict[str, Any], cell: dict[str, Any], peer: dict[str, str]) -> str:
    ours, theirs = _rounds(result, cell, peer["ours"]), _rounds(result, cell, peer["name"])
    both = sorted(ours.keys() & theirs.keys())
    if not both:
        return ""
    count = result["questions"]

    def compared(what: str, unit: float, form: str) -> str:
        ratio = statistics.median(ours[one][what] / theirs[one][what] for one in both)
        mine, other = (statistics.median(side[one][what] for one in both) * unit for side in (ours, theirs))
        return f"**{ratio:.2f}** ({mine:{form}} / {other:{form}}"

    return (
        f"| {peer['title']} | {peer['ours_title']} | {cell['delay_ms']:g} ms | {cell['at_once']} "
        f"| {compared('seconds', 1, '.1f')} s) | {compared('processor', 1000 / count, '.1f')} ms) "
        f"| {compared('peak', 2**-20, '.0f')} MiB) | {compared('disk', 2**-20, '.1f')} MiB) |"
    )


def _rounds(result: dict[str, Any], cell: dict[str, Any], runner: str) -> dict[int, Measurement]:
    return {
        one["round"]: one
        for one in result["measurements"]
        if one["runner"] == runner and (one["delay_ms"], one["at_once"]) == (cell["delay_ms"], cell["at_once"])
    }


def main() -> None:
    """Write the block of a result file into the page."""
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else RESULT
    PAGE.write_text(put(PAGE.read_text(), table(json.loads(file.read_text()))))


if __name__ == "__main__":
    main()
