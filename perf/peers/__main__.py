"""`python -m perf.peers`: run the same work through other runners and this one, and compare what it takes.

Rounds alternate: in each, every runner works once. A runner that reports another score than the model earns makes the
comparison void (exit 1). The result is written after every measurement, the table of docs/performance.md at the end.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from perf.machine import ROOT, machine
from perf.peers import runners
from perf.peers.installing import Unavailable, cache, installed, version
from perf.peers.measure import bytes_below
from perf.peers.runners import OURS, PEERS, Runner, Work
from perf.peers.table import PAGE, RESULT, put, table
from perf.peers.work import score

CELLS = ("0:20", "0:100", "50:20", "50:100")
LIMIT_S = 900.0
WARM = 20
TOLERANCE = 1e-6


def main() -> None:
    """Install, measure, compare."""
    given = _arguments()
    with ExitStack() as stack:
        missing: dict[str, str] = {}
        chosen = [one(runners.own_environment()) for one in OURS]
        for peer in PEERS:
            if given.peers and peer.name not in given.peers:
                continue
            try:
                chosen.append(peer(installed(peer.name, given.folder)))
            except Unavailable as error:
                missing[peer.title] = str(error)
                print(f"  {peer.name} is left out: {error}")
        needed = {one.ours for one in chosen}
        chosen = [one for one in chosen if one.ours or one.name in needed]
        for one in chosen:
            stack.callback(one.close)
        result = _result(given, chosen, missing)
        _measure(given, chosen, result, stack)
    wrong = [one for one in result["measurements"] if abs(one["score"] - result["score"]) > TOLERANCE]
    for one in wrong:
        print(f"void: {one['runner']} reports {one['score']}, and {result['score']} of the answers are right")
    print(table(result))
    if wrong:
        raise SystemExit(1)
    if given.write:
        shutil.copy(given.result, RESULT)
        PAGE.write_text(put(PAGE.read_text(), table(result)))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m perf.peers", description=__doc__)
    names = [one.name for one in PEERS]
    parser.add_argument("--peers", nargs="+", choices=names, help="only these")
    parser.add_argument("--questions", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cells", nargs="+", default=CELLS, help="delay of the model in ms : questions at a time")
    parser.add_argument("--folder", type=Path, default=cache(), help="where environments are made")
    parser.add_argument("--result", type=Path, help="where to write the result  [FOLDER/result.json]")
    parser.add_argument("--write", action="store_true", help="keep the result and write docs/performance.md")
    given = parser.parse_args()
    given.folder = given.folder.absolute()
    given.result = given.result or given.folder / "result.json"
    return given


def _result(given: argparse.Namespace, chosen: list[Any], missing: dict[str, str]) -> dict[str, Any]:
    titles = {one.name: one.title for one in chosen}
    peers = [
        {"name": one.name, "title": f"{one.title} {version(one.name).split()[1]}", "ours": one.ours}
        | {"ours_title": titles[one.ours]}
        for one in chosen
        if one.ours
    ]
    cells = [{"delay_ms": float(cell.split(":")[0]), "at_once": int(cell.split(":")[1])} for cell in given.cells]
    return {
        "machine": machine(),
        "questions": given.questions,
        "rounds": given.rounds,
        "score": score(given.questions),
        "cells": cells,
        "peers": peers,
        "missing": missing,
        "measurements": [],
    }


def _measure(given: argparse.Namespace, chosen: list[Any], result: dict[str, Any], stack: ExitStack) -> None:
    urls = {cell["delay_ms"]: _served(cell["delay_ms"], stack) for cell in result["cells"]}
    first = result["cells"][0]
    for one in list(chosen):
        # Once after an installation: byte code is written and caches are filled before anything is measured.
        mark = _place(given, one) / "warm"
        if not mark.exists() and _tried(
            given, chosen, result, one, Work(urls[first["delay_ms"]], WARM, first["at_once"])
        ):
            mark.touch()
    for number in range(given.rounds):
        for cell in result["cells"]:
            work = Work(urls[cell["delay_ms"]], given.questions, cell["at_once"])
            for one in list(chosen):
                found = _tried(given, chosen, result, one, work)
                if found is None:
                    continue
                result["measurements"].append({"runner": one.name, "round": number, **cell, **found})
                given.result.write_text(json.dumps(result, indent=1) + "\n")
                print(f"  {number} {cell['delay_ms']:g} ms {cell['at_once']:>3} {_shown(one.name, found)}", flush=True)


def _place(given: argparse.Namespace, one: Any) -> Path:
    found: Path = given.folder / one.name.replace(" ", "-")
    return found


def _tried(
    given: argparse.Namespace, chosen: list[Any], result: dict[str, Any], one: Any, work: Work
) -> dict[str, Any] | None:
    """Do the work once. A peer that cannot is named and left out from now on; one of ours ends the program."""
    try:
        return _once(one, _place(given, one) / "home", work)
    except Unavailable as error:
        print(f"  {one.name} is left out: {error}", flush=True)
        if not one.ours:
            raise SystemExit(1) from error
        chosen.remove(one)
        result["missing"][one.title] = str(error)
        return None


def _once(runner: Runner, home: Path, work: Work) -> dict[str, Any]:
    """Do the work once in an empty folder, and return what it took. Raises Unavailable."""
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder, figures = Path(name) / "work", Path(name) / "figures.json"
        folder.mkdir()
        runner.prepare(folder, work)
        before = bytes_below(folder)
        command = [sys.executable, "-m", "perf.peers.measure", str(figures), str(LIMIT_S), str(folder)]
        variables = {**runners.base_variables(home), **runner.variables(work)}
        said = Path(name) / "said"
        with said.open("wb") as out, (Path(name) / "complaints").open("wb") as err:
            subprocess.run(
                [*command, json.dumps(variables), *runner.command(work)],
                cwd=ROOT, stdin=subprocess.DEVNULL, stdout=out, stderr=err, check=True
            )  # fmt: skip
        found: dict[str, Any] = json.loads(figures.read_text())
        if found.pop("code"):
            raise Unavailable(f"it failed after {found['seconds']:.0f} s: {_last(Path(name), 'complaints', 'said')}")
        found["disk"] = bytes_below(folder) - before
        try:
            found["score"] = runner.score(folder, said.read_text())
        except (ValueError, LookupError, OSError, subprocess.CalledProcessError) as error:
            raise Unavailable(f"its score cannot be read: {error!r}: {_last(Path(name), 'complaints')}") from error
        return found


def _last(folder: Path, *names: str) -> str:
    for name in names:
        words = (folder / name).read_text(errors="replace").split()
        if words:
            return " ".join(words)[-300:]
    return "it said nothing"


def _served(delay_ms: float, stack: ExitStack) -> str:
    command = [sys.executable, "-m", "perf.peers.work", "--delay", str(delay_ms / 1000)]
    process = stack.enter_context(subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True))
    stack.callback(process.terminate)
    assert process.stdout is not None
    return process.stdout.readline().strip()


def _shown(name: str, found: dict[str, Any]) -> str:
    left = f", {found['left_behind']} processes left behind" if found["left_behind"] else ""
    return (
        f"{name:<15} {found['seconds']:6.1f} s, {found['processor']:6.1f} s, {found['peak'] / 2**20:5.0f} MiB, "
        f"{found['disk'] / 2**20:6.1f} MiB on disk, score {found['score']:.3f}{left}"
    )


if __name__ == "__main__":
    main()
