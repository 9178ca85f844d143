"""`mesocosm doctor`: check whether everything that a run needs is present."""

import http.client
import json
import os
import platform
import shutil
import socket
import sys
import urllib.error
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click

from mesocosm.cli.command import MesocosmCommand, options
from mesocosm.cli.remote.login_check import login
from mesocosm.cli.render import emit
from mesocosm.client.urls import PRODUCTION, opener_for, truthy, without_credentials
from mesocosm.core.failure import MesocosmError, UsageError

ADAPTER = "http://127.0.0.1:8765"
LOOPBACK = ("127.0.0.1", "localhost", "[::1]", "::1")
TIMEOUT_S = 30.0
LEAST_FREE = 500 * 1024 * 1024


@dataclass
class DoctorReport:
    """The results: probes by name, problems that make the check fail, and notes."""

    probes: dict[str, Any] = field(default_factory=dict)
    issues: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@click.command(cls=MesocosmCommand)
@click.option("--local", is_flag=True, help="Check this machine: adapter, manifest, Ollama.")
@click.option("--sandbox", is_flag=True, help="Attack the sandboxes on this machine, and report what gets through.")
def doctor(local: bool, sandbox: bool) -> int:
    """Check the setup: what is installed here, the server; with --local the adapter, the manifest and Ollama.

    On a terminal six lines, elsewhere and with --json one document.

    With --sandbox it instead runs hostile programs in the sandboxes of graded programs and of environments. That takes
    about a minute, and fails if anything gets through.
    """
    if sandbox:
        return _attacked()
    profile = "local" if local or truthy(os.environ.get("MESOCOSM_LOCAL")) else "remote"
    report = DoctorReport()
    printed = options().json or not sys.stdout.isatty()
    base = base_url(profile, report)
    if not printed and profile == "remote" and base == PRODUCTION and not options().base_url:
        # No server is configured, so a person asks about this machine.
        lacking = _machine(report)
        _tell_summary(lacking)
        return 1 if lacking else 0
    health = report.probes["health"] = probe(f"{base}/health")
    openapi = report.probes["openapi"] = probe(f"{base}/openapi.json")
    serving = health["status_code"] == 200 and openapi["status_code"] == 200
    if profile == "local":
        ok = _local(report, serving=serving)
    else:
        _remote(report, base, health, openapi)
        ok = serving and login(report, base, lambda: fetch(f"{base}/health")[2])
    lacking = _machine(report)
    if profile == "local":
        report.issues += [] if not printed else lacking
        ok = ok and not lacking
    else:
        report.notes += lacking
    if profile == "remote" and base == PRODUCTION and not options().base_url:
        report.notes.append(
            "no server is configured, so the public one was checked; mesocosm doctor --local checks this machine"
        )
    if printed:
        emit(
            {
                "ok": ok,
                "profile": profile,
                "base_url": without_credentials(base),
                **report.probes,
                "issues": report.issues,
                "notes": report.notes,
            }
        )
    else:
        _tell_summary(lacking)
        if profile == "remote":
            click.echo(f"server   {without_credentials(base)} {'answers' if ok else 'has problems'}")
    # The document contains everything; if it is written elsewhere, a terminal still shows the report.
    if not printed or (sys.stderr.isatty() and not options().json):
        _tell(report)
    return 0 if ok else 1


def _tell_summary(lacking: list[str]) -> None:
    """Print what is installed on this machine in six lines, and problems on standard error."""
    from mesocosm.cli.setup_summary import summary

    for line in summary(options(), lacking):
        click.echo(line)
    for line in lacking:
        click.secho(f"✗ {line}", fg="red", err=True)


def _attacked() -> int:
    import asyncio

    from mesocosm.sandboxes.attacks import holding, play

    tried = asyncio.run(play())
    escaped = [one for one in tried if one.through]
    listed = [{"attack": one.attack, "place": one.place, "through": list(one.through)} for one in tried]
    emit({"ok": not escaped, "profile": "sandbox", "holds": holding(), "attacks": listed})
    if not options().json and sys.stderr.isatty():
        for one in escaped:
            click.secho(f"✗ {one.attack} ({one.place}): {'; '.join(one.through)}", fg="red", err=True)
        if not escaped:
            click.secho(f"✓ none of {len(tried)} attacks got through", fg="green", err=True)
    return 1 if escaped else 0


def _tell(report: DoctorReport) -> None:
    """Print the problems and notes."""
    for line in report.issues:
        click.secho(f"✗ {line}", fg="red", err=True)
    for line in report.notes:
        click.secho(f"! {line}", fg="yellow", err=True)
    if not report.issues:
        click.secho("✓ everything required is installed", fg="green", err=True)


def base_url(profile: str, report: DoctorReport) -> str:
    """Return the server's URL as every command resolves it; with --local, this machine's precedes the saved one."""
    from mesocosm.client import credentials
    from mesocosm.client.urls import LOCAL, URL_VARIABLES, resolve_url, variable

    given = options().base_url or variable(*URL_VARIABLES)
    if given or profile == "local":
        return (given or LOCAL).rstrip("/")  # text that is not a URL is reported with the rest
    try:
        saved = credentials.read()
    except UsageError as error:
        report.issues.append(str(error))
        saved = credentials.Credentials()
    return resolve_url(saved=saved.bench_url, server=saved.server_url)


def probe(url: str) -> dict[str, Any]:
    """Return {url, status_code, error} of a GET; never raises."""
    return fetch(url)[0]


def fetch(url: str) -> tuple[dict[str, Any], bytes, str]:
    """Return the probe of `url`, the first megabyte of the answer, and its date header; never raises."""
    found: dict[str, Any] = {"url": without_credentials(url), "status_code": None, "error": None}
    try:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"}:
            return {**found, "error": "no http or https URL"}, b"", ""
        with opener_for(url).open(url, timeout=TIMEOUT_S) as answer:
            return {**found, "status_code": answer.status}, answer.read(1_000_000), answer.headers.get("Date", "")
    except urllib.error.HTTPError as error:
        return {**found, "status_code": error.code, "error": str(error.reason)}, b"", ""
    except (OSError, ValueError, http.client.HTTPException) as error:
        return {**found, "error": str(getattr(error, "reason", error))}, b"", ""


def _remote(report: DoctorReport, base: str, health: dict[str, Any], openapi: dict[str, Any]) -> None:
    if health["status_code"] is None:
        here = any(f"//{host}" in base for host in LOOPBACK)
        advice = (
            "start your server, or omit --base-url to use the public one"
            if here
            else "check the network and the URL; for a server on this machine use --base-url http://127.0.0.1:8010"
        )
        report.issues.append(f"{without_credentials(base)} does not answer ({health['error']}): {advice}")
    elif health["status_code"] != 200:
        report.issues.append(f"{health['url']} answered {health['status_code']}")
    if health["status_code"] is None or openapi["status_code"] == 200:
        return
    if openapi["status_code"] is None:
        report.issues.append(f"{openapi['url']} does not answer ({openapi['error']}): try again")
    else:
        hint = (
            ""
            if base.endswith("/bench")
            else f"; the public API is below /bench: try {without_credentials(base)}/bench"
        )
        report.issues.append(f"{openapi['url']} answered {openapi['status_code']}{hint}")


def _local(report: DoctorReport, *, serving: bool) -> bool:
    url = (os.environ.get("MESOCOSM_ENV_URL") or os.environ.get("MESOCOSM_ADAPTER_URL") or ADAPTER).rstrip("/")
    adapter = report.probes["env_adapter"] = probe(f"{url}/health")
    manifest = report.probes["manifest"] = _manifest()
    report.probes["ollama"] = _ollama(report)
    running = adapter["status_code"] == 200
    if running:
        report.notes.append(
            f"an adapter runs at {without_credentials(url)}; `run local` will "
            "use it, and a second one needs another port"
        )
    elif manifest["ok"]:
        report.notes.append(
            f"no adapter runs at {without_credentials(url)}; `run local` starts the manifest's adapter by itself"
        )
    else:
        report.issues.append(
            f"no adapter runs at {without_credentials(url)} "
            f"({adapter['error'] or adapter['status_code']}): python adapter.py"
        )
    if manifest["path"] and not manifest["ok"]:
        report.issues += [f"{manifest['path']}: {problem}" for problem in manifest["problems"]]
    elif not manifest["path"]:
        report.notes.append(manifest["problems"][0])
    if not serving:
        report.notes.append("no server runs here; local runs do not need one")
    return running or bool(manifest["ok"])


def _manifest() -> dict[str, Any]:
    from mesocosm.core.failure import InvalidInput
    from mesocosm.environments.manifest import find_manifest, load_manifest

    path: Path | None = None
    try:
        path = find_manifest(Path.cwd())
        load_manifest(path)
    except InvalidInput as error:
        return {"path": str(path), "ok": False, "problems": [str(problem) for problem in error.problems]}
    except MesocosmError as error:
        return {"path": str(path) if path else None, "ok": False, "problems": [str(error)]}
    return {"path": str(path), "ok": True, "problems": []}


def _ollama(report: DoctorReport) -> dict[str, Any]:
    from mesocosm.cli.local import DEFAULT_MODEL
    from mesocosm.core.model import ModelName
    from mesocosm.models.ollama import base_url as ollama_url

    name = ModelName.parse(DEFAULT_MODEL)
    url, wanted = ollama_url(name), name.model
    found, body, _ = fetch(f"{url}/api/tags")
    if found["status_code"] != 200:
        report.notes.append(
            f"Ollama does not answer at {without_credentials(url)} ({found['error'] or found['status_code']}); "
            "models ollama/… need it: `ollama serve`. builtin/random and builtin/oracle need nothing"
        )
        return {**found, "models": []}
    try:
        models = [str(item["name"]) for item in json.loads(body)["models"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        report.notes.append(f"the server at {without_credentials(url)} does not speak Ollama's protocol")
        return {**found, "models": []}
    if wanted not in {name.removesuffix(":latest") for name in models}:
        report.notes.append(f"the default model is not installed: ollama pull {wanted}")
    return {**found, "models": models}


def _machine(report: DoctorReport) -> list[str]:
    """Add facts about this machine; return what local runs lack on it."""
    report.probes["python"] = platform.python_version()
    results = options().results()
    place = next((parent for parent in (results, *results.resolve().parents) if parent.exists()), Path("/"))
    free = shutil.disk_usage(place).free
    report.probes["disk"] = {"path": str(results), "free_bytes": free}
    report.probes["host"] = socket.gethostname()
    lacking = []
    if free < LEAST_FREE:
        lacking.append(f"only {free // 2**20} MiB are free for {results}; results need room")
    if not (place.is_dir() and os.access(place, os.W_OK)):
        lacking.append(f"results cannot be written to {place}; choose another place with --results-dir")
    return lacking
