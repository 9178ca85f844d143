"""Runs that the caller may work with: ask a model about their episodes, or ask one of their model calls again.

They are the runs in whose workspace the caller may run evaluations, and those that the caller or their team owns.
"""

import asyncio
import time
from dataclasses import replace
from typing import Self

import msgspec

from mesocosm.core.failure import InfrastructureError, MesocosmError, UnknownName
from mesocosm.core.model import ModelName
from mesocosm.core.run import Run
from mesocosm.core.scan_question import SCAN
from mesocosm.core.usage import Usage
from mesocosm.engine.scanning import SCAN_OF, scans_of
from mesocosm.interop.again import NewAnswer, ask_again, edited, recorded_call
from mesocosm.models.endpoint import is_loopback
from mesocosm.server.auth.access_rules import Viewer
from mesocosm.server.evaluations.scan_submission import forecast_of, forecast_scan, scan_of, submit_scan
from mesocosm.server.evaluations.submission import budget_of_run
from mesocosm.server.model_catalogue import ServedModel
from mesocosm.server.model_check import without_secrets
from mesocosm.server.permissions.owned_runs import requested_run
from mesocosm.server.permissions.run_processes import Workplace, start, workplace
from mesocosm.server.permissions.visible_runs import VisibleRun, readable_run
from mesocosm.server.refusal import Refusal
from mesocosm.server.schemas.episode import AgainInput
from mesocosm.server.schemas.scan import ScanForecast, ScanInput
from mesocosm.server.service import Service
from mesocosm.store.filters import RunFilter
from mesocosm.store.run_requests import RunRequest
from mesocosm.store.workspaces import Workspace

AGAIN_PER_HOUR = 60
"""How many model calls one person may ask again on a server within an hour."""
_HOUR = 3_600.0
_NEWEST = 20


class WorkingRun(VisibleRun):
    """A run that the caller may work with."""

    @classmethod
    def find(cls, service: Service, viewer: Viewer, run_id: str) -> Self:
        """Return a run.

        Raises UnknownName if the caller may not read it; Refusal: 403 if they may only read it, 409 if it was not
        requested on this server.
        """
        return cls(service, viewer, *requested_run(service, viewer, run_id, viewer.may_judge_run))

    def forecast(self, wanted: ScanInput) -> ScanForecast:
        """Return what a scan would read and cost; nothing is stored. Raises as `scan`."""
        run, request = self._whole()
        if request is not None:
            return forecast_scan(self._service, self._viewer, run, request, wanted)
        name = model_here(wanted.model.strip(), run.spec.model.name)
        return forecast_of(self._service, run, wanted, ServedModel(name, name), wanted.budget_usd, [])

    def scan(self, wanted: ScanInput, place: Workplace | None = None) -> str:
        """Let a model answer a question about the episodes of the run; return the id of the run that asks.

        On a server workers ask; on a laptop a new process does, in the store at `place`. Raises Refusal, UsageError;
        RunLeased while a process works on the run.
        """
        run, request = self._whole()
        if request is not None:
            return submit_scan(self._service, self._viewer, run, request, wanted).run_id
        name = scan_of(run, wanted).name
        model = model_here(wanted.model.strip(), run.spec.model.name)
        words = ["scan", run.id, f"--ask={wanted.question}", f"--name={name}", f"--model={model}", "--quiet"]
        words += [f"--parallel={wanted.parallel}", f"--seed={wanted.seed}", *(f"--where={one}" for one in wanted.where)]
        words += [f"--labels={','.join(wanted.answers)}"] if wanted.answers else []
        words += ["--number"] if wanted.number else []
        words += [] if wanted.limit is None else [f"--limit={wanted.limit}"]
        words += [] if wanted.budget_usd is None else [f"--budget={wanted.budget_usd}"]
        start(run.id, lambda: self._scan_of(name) or run, place or workplace(self.stored_in or ""), words)
        found = self._scan_of(name)
        if found is None:
            raise InfrastructureError(f"the scan of run {run.id} was started and is not seen yet; look at the runs")
        return found.id

    def ask_again(self, episode_id: str, seq: int, wanted: AgainInput) -> NewAnswer:
        """Ask a model call of an episode again; the answer is stored nowhere.

        On a laptop with the keys of this machine. On a server a model that it offers is asked, by default that of the
        run; what it cost counts against budgets. Raises Refusal: 429 above a limit or without budget, 403 for a model
        that may not be asked, on a server 409 if it does not answer; UnknownName; UsageError; on a laptop EpisodeError.
        """
        episode = self._store.episodes.get(episode_id)
        if episode.run_id != self.id:
            raise UnknownName(f"run {self.id} has no episode {episode_id}")
        run, request = self._whole()
        settings = run.spec.model
        call = recorded_call(self._store.traces, self._store.blobs, episode.id, seq)
        messages = edited(call.messages, wanted.system, wanted.prompt)
        if request is None:
            if wanted.model:
                name = model_here(wanted.model.strip(), settings.name)
                settings = msgspec.structs.replace(settings, name=name, extra={})
            return asyncio.run(ask_again(call, episode, settings, messages))
        model = self._offered(request, wanted.model or request.model)
        if model.name != settings.name:
            settings = msgspec.structs.replace(settings, name=model.name, extra={})
        settings = msgspec.structs.replace(settings, timeout_s=min(settings.timeout_s, self._service.settings.model_s))
        detail = {"episode": episode.id, "call": seq, "model": model.asked}
        self._store.audit.note(self._viewer.caller.actor, "call.again", f"run:{self.id}", detail, self._viewer.address)
        self._service.assign_model_keys()
        try:
            answer = asyncio.run(ask_again(call, episode, settings, messages))
        except MesocosmError as error:
            raise Refusal(409, f"the model did not answer: {without_secrets(str(error), model)}") from None
        self._count(request, model, answer.reply.usage)
        return replace(answer, model=model.asked)

    def _whole(self) -> tuple[Run, RunRequest | None]:
        """Return the run and its request as they are stored."""
        return readable_run(self._service, self._viewer, self.id)

    def _scan_of(self, name: str) -> Run | None:
        """Return the newest run that asked the question `name` about this one; None without one."""
        listed = self._store.runs.list(RunFilter(kinds=(SCAN,)), limit=_NEWEST).items
        mine = [one for one in listed if one.provenance.get(SCAN_OF) == self.id and one.benchmark == f"{SCAN}:{name}"]
        newest: Run | None = next(iter(mine), None)
        if newest is not None:
            return newest
        kept = scans_of(self._store.runs.get(self.id)).get(name, {}).get("runs", ())
        return self._store.runs.get(str(kept[-1])) if kept else None

    def _workspace(self, request: RunRequest) -> Workspace | None:
        return None if request.workspace_id is None else self._store.workspaces.get(request.workspace_id)

    def _team(self, request: RunRequest) -> str | None:
        return request.team_id if self._viewer.is_member(request.team_id) else None

    def _offered(self, request: RunRequest, name: str) -> ServedModel:
        """Return the model to ask again, within the caller's limits. Raises Refusal."""
        workspace = self._workspace(request)
        model = self._service.catalogue.resolve(name, self._viewer.caller, workspace)
        budget_of_run(self._service, self._viewer, workspace, [model], self._team(request))
        wait = self._store.rate_limits.allow(f"again:{self._viewer.caller.actor}", AGAIN_PER_HOUR, _HOUR)
        if wait:
            words = f"you asked {AGAIN_PER_HOUR} calls again within an hour; go on in {round(wait / 60) + 1} min"
            raise Refusal(429, words, headers={"Retry-After": str(round(wait) + 1)})
        return model

    def _count(self, request: RunRequest, model: ServedModel, usage: Usage) -> None:
        """Count the cost of a call against the budgets of the caller, their team and the workspace."""
        price = model.price
        cost = 0.0 if price is None else price.cost(usage.prompt, usage.completion, usage.cached)
        if cost:
            actor = self._viewer.caller.actor
            spent = self._store.run_requests.add_cost
            spent(actor, cost, time.time(), team_id=self._team(request), workspace_id=request.workspace_id)


def model_here(asked: str, of_run: str) -> str:
    """Return the name of a model that a page may ask. A page must not send a key to an address that it makes up.

    Raises UsageError for what is no model; Refusal 403.
    """
    name = ModelName.parse(asked)
    if name.base_url and name.base_url != ModelName.parse(of_run).base_url and not is_loopback(name.base_url):
        raise Refusal(403, f"the address {name.base_url} is not of this machine; ask there with: mesocosm run again")
    if name.file:
        raise Refusal(403, "a model that reads a file is asked on the command line: mesocosm run again")
    return str(name)
