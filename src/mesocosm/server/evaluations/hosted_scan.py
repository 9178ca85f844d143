"""A scan on a server: workers ask a model about the episodes of a run, and store the answers with that run."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec

from mesocosm.core.run import Run
from mesocosm.core.scan_question import ScanQuestion
from mesocosm.engine.earlier_answers import ANSWERS, AnswerLender
from mesocosm.engine.scan_benchmark import ScanAgent, ScanBenchmark
from mesocosm.engine.scanning import add_scan, scans_of
from mesocosm.interop.scan_episodes import CHARACTERS, tasks_to_scan, transcript
from mesocosm.server.service import Service
from mesocosm.store import Store

OPTION = "scan"
"""Key of a scan in the options of its benchmark and of its agent."""


class HostedScan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A question about the episodes of a run `run`, as part of the options of the kind `hosted` and of its agent.

    `where`, `limit` and `seed` choose episodes as `tasks_to_scan` does; `answers` is what the answers depend on.
    """

    run: str
    name: str
    question: str
    labels: tuple[str, ...] = ()
    number: bool = False
    where: tuple[str, ...] = ()
    limit: int | None = None
    seed: int = 0
    characters: int = CHARACTERS
    answers: str = ""

    @property
    def asked(self) -> ScanQuestion:
        """The question."""
        return ScanQuestion(self.name, self.question, self.labels, self.number)


def open_hosted_scan(service: Service, scan: HostedScan) -> ScanBenchmark:
    """Return the benchmark of a scan. Raises UnknownName if the run was deleted, UsageError if no episode matches."""
    run = service.store.runs.get(scan.run)
    tasks = tasks_to_scan(service.store, run, scan.where, scan.limit, scan.seed)
    return ScanBenchmark(run, scan.asked, tasks, scan.characters)


def hosted_scan_agent(service: Service, options: Mapping[str, Any]) -> ScanAgent:
    """Return the agent of a scan, which takes over what earlier scans were answered to the same question.

    Raises msgspec.ValidationError for invalid options, UnknownName if the run was deleted.
    """
    scan = msgspec.convert(options.get(OPTION), HostedScan)
    lender = AnswerLender(service.store, _earlier(service.store, scan))
    return ScanAgent(scan.asked, partial(transcript, service.store), scan.characters, lender.find)


def _earlier(store: Store, scan: HostedScan) -> list[str]:
    """Return the earlier scans of the run whose answers this one may take over."""
    listed = scans_of(store.runs.get(scan.run)).get(scan.name, {}).get("runs", ())
    known = store.run_requests.runs([str(one) for one in listed])
    return [run.id for run in known.values() if scan.answers and run.provenance.get(ANSWERS) == scan.answers]


def keep_answers(store: Store, run: Run) -> None:
    """Store the answers of the run of a scan with the run that it read.

    Raises RunLeased while a process works on that run, UnknownName if it was deleted, UsageError if the name means
    something else there.
    """
    if run.counts.done:
        scan = msgspec.convert(run.spec.benchmark.options[OPTION], HostedScan)
        add_scan(scan.run, run, scan.asked, store)
