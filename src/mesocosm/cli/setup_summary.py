"""The six lines of `mesocosm doctor` on a terminal: what is installed, and what is missing for which work."""

import importlib.util
import platform
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click

from mesocosm import __version__
from mesocosm.cli.command import CommonOptions, plural
from mesocosm.core.failure import MesocosmError

EXTRAS = {"hub": "huggingface_hub", "postgres": "psycopg", "objects": "obstore", "ray": "ray"}
"""Extras by the module that each of them brings."""


def summary(chosen: CommonOptions, lacking: list[str]) -> Iterator[str]:
    """Yield the lines; `lacking` is what runs on this machine miss."""
    mark = click.style("ok  ", fg="green") if not lacking else click.style("✗   ", fg="red")
    yield f"{mark}     mesocosm {__version__}, Python {platform.python_version()}, {_results(chosen)}"
    yield _viewer(chosen)
    yield f"models   {_models()}"
    yield f"sandbox  {_sandbox()}"
    yield f"data     {_data()}"
    yield f"project  {_project()}"


def _results(chosen: CommonOptions) -> str:
    from mesocosm.cli.results import open_results

    place = (chosen.database() and "the database") or _relative(chosen.results())
    try:
        store = open_results(chosen, create=False)
    except MesocosmError:
        return f"results in {place} (none yet)"
    try:
        count, exact = store.runs.count()
    finally:
        store.close()
    return f"results in {place} ({plural(count, 'run')}{'' if exact else ' and more'})"


def _relative(path: Path) -> str:
    return str(path) if path.is_absolute() else f"./{path}"


def _viewer(chosen: CommonOptions) -> str:
    import mesocosm

    here = (Path(mesocosm.__file__).parent / "viewer" / "index.html").is_file()
    results = chosen.results().resolve()
    place = next(parent for parent in (results, *results.parents) if parent.exists())
    free = shutil.disk_usage(place).free
    size = f"{free / 2**30:,.0f} GB" if free >= 2**30 else f"{free // 2**20} MB"
    if here:
        return f"{click.style('ok  ', fg='green')}     browser view, {size} free"
    return f"{click.style('!   ', fg='yellow')}     no browser view in this checkout (make build), {size} free"


def _models() -> str:
    from mesocosm.cli.reachable_models import answers, ollama_models, providers_with_keys

    known = providers_with_keys()
    with ThreadPoolExecutor(len(known) + 1) as pool:
        ollama = pool.submit(ollama_models)
        found = [f"{one.name} (key set, {said})" for one, said in zip(known, pool.map(answers, known), strict=True)]
        own = ollama.result()
    if not found:
        found = ["no provider has a key"]
    if own is None:
        return "   ".join([*found, "ollama: not running (ollama serve)"])
    shown = ", ".join(name.removesuffix(":latest") for name in own[:3])
    more = f" and {len(own) - 3} more" if len(own) > 3 else ""
    return "   ".join([*found, f"ollama: {shown}{more}" if own else "ollama: no model (ollama pull llama3.2)"])


def _sandbox() -> str:
    from mesocosm.sandboxes.bubblewrap import available

    works = available()
    if works:
        return "bubblewrap"
    other = "docker" if shutil.which("docker") else "none"
    return f"{other}: {works.reason}"


def _data() -> str:
    parts = []
    for extra, module in EXTRAS.items():
        if importlib.util.find_spec(module) is not None:
            parts.append(f"{extra} ok")
        elif extra == "hub":
            parts.append("hub: missing (pip install 'mesocosm[hub]')")
    return "   ".join(parts)


def _project() -> str:
    here = Path()
    files = [*sorted(here.glob("*.toml")), *sorted(here.glob("configs/eval/*.toml"))]
    parts = [part for path in files if (part := _configuration(path))]
    return " · ".join([*(parts or ["no configuration here"]), _environment()])


def _configuration(path: Path) -> str:
    """Return whether an evaluation's configuration is right; empty for another TOML file."""
    import tomllib

    from mesocosm.cli.eval.ask_file import DATA, problems_of
    from mesocosm.rollouts.configuration import read_config

    try:
        tables = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return ""
    if DATA in tables:
        problems = problems_of(tables)
        return f"{path} ✗ {problems[0]}" if problems else f"{path} ok"
    if not {"experiment", "eval"} & set(tables):
        return ""
    try:
        read_config(path, check_out=False)
    except MesocosmError as error:
        return f"{path} ✗ {str(error).splitlines()[0]}"
    return f"{path} ok"


def _environment() -> str:
    from mesocosm.environments.manifest import find_manifest, load_manifest

    try:
        path = find_manifest(Path.cwd())
    except MesocosmError:
        return "no environment here"
    shown = path.relative_to(Path.cwd())
    try:
        load_manifest(path)
    except MesocosmError:
        return f"{shown} ✗ (mesocosm validate {shown})"
    return f"{shown} ok"
