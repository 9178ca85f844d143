"""What an evaluation would come to, before it is submitted: samples, first rows, missing secrets, cost."""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from mesocosm.core.ids import DIGEST_HEX
from mesocosm.core.run import Run
from mesocosm.datasets.blocks import read_blocks
from mesocosm.datasets.faults import DatasetProblems
from mesocosm.datasets.table import DataTable
from mesocosm.models.prices import Price
from mesocosm.rollouts.dataset_check import CheckedDataset, PreviewRow
from mesocosm.rollouts.opening import RolloutOptions, chosen_rows
from mesocosm.rollouts.rows import RolloutRow, Rows, find_roles
from mesocosm.rollouts.tables import Columns
from mesocosm.server.auth.access_rules import Viewer
from mesocosm.server.evaluations.content import dataset_file
from mesocosm.server.evaluations.hosted_rollout import DatasetVersionRows
from mesocosm.server.evaluations.submission import PlannedEvaluation, earlier_submission, plan_evaluation
from mesocosm.server.schemas.run_estimate import EstimateBasis, EstimatedRow, RunEstimate, TokenPrice
from mesocosm.server.schemas.run_request import RolloutInput
from mesocosm.server.service import Service
from mesocosm.store.datasets import DatasetVersion
from mesocosm.store.workspaces import Workspace

_SHOWN = 5
"""Number of rows in an estimate."""
_LONGEST = 500
_READ_BYTES = 8 << 20
"""Size of files above which only the rows of the stored preview are shown."""


def estimate_evaluation(service: Service, viewer: Viewer, workspace: Workspace, wanted: RolloutInput) -> RunEstimate:
    """Return what an evaluation would come to. Raises Refusal, InvalidInput as submitting it, but for its secrets."""
    known = earlier_submission(service, viewer, workspace, wanted)
    planned = plan_evaluation(service, viewer, workspace, wanted)
    request, run, version = planned.request, planned.run, planned.data.version
    price = service.catalogue.resolve(request.model, viewer.caller, workspace).price
    basis = basis_of(service, planned)
    spec = run.spec
    return RunEstimate(
        workspace=workspace.id,
        workspace_name=workspace.name,
        name=wanted.name,
        run_id=None if known is None else known.run_id,
        configuration=request.configuration,
        rollout=planned.rollout.name,
        entrypoint=str(request.config["entrypoint"]),
        branch=request.branch,
        commit=request.commit_id,
        dirty=bool(request.config["dirty"]),
        snapshot=request.snapshot or "",
        model=request.model,
        dataset=planned.data.dataset.name,
        dataset_id=planned.data.dataset.id,
        dataset_version=version.version,
        dataset_rows=version.rows or 0,
        rows=run.counts.planned // spec.selection.trials,
        rows_chosen=str(run.info.get("description", "")),
        trials=spec.selection.trials,
        samples=run.counts.planned,
        preview=list(_preview(service, planned)),
        secrets=request.config["scopes"],
        missing_secrets=list(planned.missing),
        price=None if price is None else _per_thousand(price),
        basis=None if basis is None else _basis_document(basis),
        tokens=None if basis is None else round(basis.usage.total / basis.counts.done * run.counts.planned),
        usd=estimated_usd(price, basis, run),
        budget_usd=spec.limits.run_usd,
        notes=request.config["notes"],
        warnings=list(run.warnings),
    )


def basis_of(service: Service, planned: PlannedEvaluation) -> Run | None:
    """Return the last finished run of the configuration, with the same model if there is one."""
    requests = service.store.run_requests
    now = msgspec.structs.replace(planned.request, created_at=time.time())
    found = requests.finished_before(now, same_model=True) or requests.finished_before(now)
    run = None if found is None else requests.runs([found.run_id]).get(found.run_id)
    return run if run is not None and run.counts.done and run.usage.calls else None


def _basis_document(basis: Run) -> EstimateBasis:
    return EstimateBasis(run_id=basis.id, name=basis.name, model=basis.model, samples=basis.counts.done)


def estimated_usd(price: Price | None, basis: Run | None, run: Run) -> float | None:
    """Return the cost of as many episodes as planned: the tokens of the basis at today's price.

    With a judge, or without a price, it is what the basis cost if it had the same model; else None.
    """
    judged = run.spec.judge is not None
    if price is not None and price.free and not judged:
        return 0.0
    if basis is None:
        return None
    share, used = run.counts.planned / basis.counts.done, basis.usage
    if price is None or judged or not used.calls:
        return used.cost_usd * share if basis.model == run.model and used.cost_usd is not None else None
    # Where long calls cost more, the usual call is what is charged.
    calls = used.calls if price.long_over is not None else 1
    return price.cost(used.prompt // calls, used.completion // calls, used.cached // calls) * calls * share


def _per_thousand(price: Price) -> TokenPrice:
    return TokenPrice(input_usd=price.input / 1_000, output_usd=price.output / 1_000, as_of=price.as_of)


def _preview(service: Service, planned: PlannedEvaluation) -> Iterator[EstimatedRow]:
    """Yield the first chosen rows; of a large file only those that are stored as its preview."""
    version, options = planned.data.version, msgspec.convert(planned.rollout.options, RolloutOptions)
    places = chosen_rows(
        options, DatasetVersionRows(service, version, options), version.digest[:DIGEST_HEX], options.name
    ).chosen
    wanted = list(places[:_SHOWN])
    stored = msgspec.json.decode(version.preview or b"[]", type=list[PreviewRow])
    raw: dict[int, Mapping[str, Any]] = {place: one.cells for place, one in enumerate(stored)}
    if not raw.keys() >= set(wanted) and version.size <= _READ_BYTES and version.format != "parquet":
        raw |= _read(service, version, wanted)
    columns = _columns(version)
    shown = [place for place in wanted if place in raw]
    table = DataTable(options.name, columns, [raw[place] for place in shown], "")
    rows = Rows(table, find_roles(table, msgspec.convert(options.columns, Columns), extras=options.metadata))
    for at, place in enumerate(shown):
        try:
            row = rows[at]
        except ValueError:
            # The stored preview may have only the beginning of a cell.
            continue
        yield EstimatedRow(row=place, prompt=_prompt(row)[:_LONGEST], label=(row.label or "")[:_LONGEST])


def _read(service: Service, version: DatasetVersion, wanted: Sequence[int]) -> dict[int, Mapping[str, Any]]:
    found: dict[int, Mapping[str, Any]] = {}
    before, last = 0, max(wanted)
    for block in read_blocks(dataset_file(service, version), version.format, DatasetProblems()):
        found.update((place, block.rows[place - before]) for place in wanted if before <= place < before + len(block))
        before += len(block)
        if before > last:
            break
    return found


def _columns(version: DatasetVersion) -> tuple[str, ...]:
    checked = msgspec.json.decode(version.summary, type=CheckedDataset)
    return tuple(column.name for column in checked.columns)


def _prompt(row: RolloutRow) -> str:
    """Return the text that the row asks."""
    asked = [message for message in row.prompt if message.get("role") == "user"] or list(row.prompt)
    if not asked:
        return "" if row.metadata is None else msgspec.json.encode(row.metadata).decode()
    content = asked[-1].get("content")
    return content if isinstance(content, str) else msgspec.json.encode(content).decode()
