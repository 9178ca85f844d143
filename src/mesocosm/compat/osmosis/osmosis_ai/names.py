"""Which module of osmosis-ai has which names, where mesocosm has them, and which modules have no counterpart here."""

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from .removed_names import refuse

SDK = "mesocosm.rollouts.sdk"

_SECTIONS: Mapping[str, str] = {
    "config": "AgentWorkflowConfig BaseConfig ConcurrencyConfig GraderConfig",
    "protocol": (
        "CancelRolloutsRequest CancelRolloutsResponse GraderCompleteRequest GraderInitRequest GraderInitResponse "
        "GraderStatus POLLING_LEASE_HEADER RolloutCompleteRequest RolloutInitRequest RolloutInitResponse "
        "RolloutLifecycle RolloutResultResponse RolloutStatusResponse"
    ),
    "sample": (
        "ExecutionOutcome ExecutionRequest ExecutionResult MessageDict RolloutErrorCategory RolloutSample RolloutStatus"
    ),
    "contexts": "AgentWorkflowContext GraderContext RolloutContext SampleSource get_rollout_context",
    "rubric": "MissingAPIKeyError ModelNotFoundError ProviderRequestError RubricResult",
    "report": "LlmCallMetrics SampleReport TrajectoryReport report_from_response",
}

PLACES: Mapping[str, str] = {
    "backend": "ExecutionBackend LocalBackend ResultCallback",
    "config": _SECTIONS["config"],
    "context": (
        f"{_SECTIONS['contexts']} API_KEY_ENV CHAT_COMPLETIONS_URL_ENV HarborAgentWorkflowContext ROLLOUT_ID_ENV "
        "RolloutProgress rollout_contextvar"
    ),
    "execution": "coerce_output",
    "polling": (
        "DEFAULT_POLLING_LEASE_TIMEOUT_SEC:LEASE_S DEFAULT_RESULT_RETENTION_SEC:RETENTION_S "
        "DEFAULT_RESULT_WAIT_TIMEOUT_SEC:WAIT_S"
    ),
    "request": (
        "CancelRolloutsRequest CancelRolloutsResponse ExecutionOutcome ExecutionRequest ExecutionResult "
        "GraderCompleteRequest GraderInitRequest GraderInitResponse POLLING_LEASE_HEADER RolloutCompleteRequest "
        "RolloutInitRequest RolloutInitResponse RolloutLifecycle RolloutResultResponse RolloutStatusResponse"
    ),
    "rubric": f"{_SECTIONS['rubric']} evaluate_rubric",
    "sample": "MessageDict Messages RolloutSample",
    "server": "ControllerAuth create_rollout_server",
    "status": "GraderStatus MultiTurnMode RolloutErrorCategory RolloutStatus",
    "trajectory": f"{_SECTIONS['report']} ATIF_PRODUCER_NAME:AGENT convert_sample_to_trajectory save_trajectory",
    "workflow": "AgentWorkflow AgentWorkflowOutput Grader",
    "adapters.strands": "OsmosisRolloutModel OsmosisStrandsAgent",
}
"""The modules of the SDK with their names; `A:B` is B there."""

MODULES: Mapping[str, str] = {
    "": f"{_SECTIONS['rubric']} evaluate_rubric",
    "eval": "",
    "eval.rubric": f"{_SECTIONS['rubric']} evaluate_rubric",
    "eval.rubric.engine": "evaluate_rubric",
    "eval.rubric.types": _SECTIONS["rubric"],
    "rollout": (
        f"{_SECTIONS['config']} {_SECTIONS['sample']} {_SECTIONS['contexts']} AgentWorkflow AgentWorkflowOutput "
        "ExecutionBackend Grader GraderCompleteRequest GraderInitRequest GraderInitResponse GraderStatus LocalBackend "
        "RolloutCompleteRequest RolloutInitRequest RolloutInitResponse RolloutResultResponse "
        "-ControllerAuth -HarborAgentWorkflowContext -MultiTurnMode -OsmosisRolloutModel -OsmosisStrandsAgent "
        "-create_rollout_server"
    ),
    "rollout.agent_workflow": "AgentWorkflow",
    "rollout.backend": "ExecutionBackend LocalBackend ResultCallback",
    "rollout.backend.base": "ExecutionBackend ResultCallback",
    "rollout.backend.local": "LocalBackend",
    "rollout.backend.local.backend": "LocalBackend",
    "rollout.client.client": (
        "@osmosis_ai.rollout.client RolloutAdmissionTimeoutError RolloutClient RolloutHandle RolloutProtocolError"
    ),
    "rollout.context": PLACES["context"],
    "rollout.grader": "Grader",
    "rollout.integrations": "",
    "rollout.integrations.agents": "",
    "rollout.integrations.agents.openai_agents": (
        f"@{SDK}.adapters.openai_agents OsmosisAgent OsmosisLitellmModel OsmosisMemorySession OsmosisRolloutModel "
        "SessionSampleSource"
    ),
    "rollout.integrations.agents.strands": PLACES["adapters.strands"],
    "rollout.server": "ControllerAuth create_rollout_server",
    "rollout.server.app": f"{PLACES['polling']} POLLING_LEASE_HEADER create_rollout_server",
    "rollout.server.auth": "ControllerAuth",
    "rollout.trajectory": "TrajectoryReport convert_sample_to_trajectory report_from_response save_trajectory",
    "rollout.trajectory.atif": "",
    "rollout.trajectory.converter": "ATIF_PRODUCER_NAME convert_sample_to_trajectory",
    "rollout.trajectory.report": _SECTIONS["report"],
    "rollout.trajectory.save": "save_trajectory",
    "rollout.types": (
        f"{_SECTIONS['config']} {_SECTIONS['protocol']} {_SECTIONS['sample']} AgentWorkflowOutput Messages "
        "-MultiTurnMode"
    ),
    "rollout.types.config": _SECTIONS["config"],
    "rollout.types.output": "AgentWorkflowOutput Messages coerce_output",
    "rollout.types.protocol": _SECTIONS["protocol"],
    "rollout.types.sample": _SECTIONS["sample"],
}
"""The modules without code of their own, with their names; `-` leaves a name out of `import *`, `@` says its place."""

_COMMAND = "part of its command line; use the command `mesocosm` instead (`mesocosm eval`, `mesocosm dataset`)"
_PLATFORM = "the client of its hosted platform; use `mesocosm.client` with a server of your own"
_EVALUATION = "its local evaluation; use `mesocosm eval run-local`"
_RUBRICS = "its rubric command; use `mesocosm eval rubric`"
_CONTAINERS = 'for tasks in containers, which only the package itself runs: pip install "osmosis-ai[harbor]"'
_INTERNAL = "internal to the package; mesocosm.rollouts.sdk is the SDK to write rollouts and backends with"

ABSENT: Mapping[str, str] = {
    "cli": _COMMAND,
    "consts": _COMMAND,
    "templates": _COMMAND,
    "packaging": _COMMAND,
    "platform": _PLATFORM,
    "eval.local": _EVALUATION,
    "eval.request_policy": _EVALUATION,
    "eval.rubric.cli": _RUBRICS,
    "eval.rubric.dataset": _RUBRICS,
    "eval.rubric.report": _RUBRICS,
    "harbor_images": _CONTAINERS,
    "rollout.backend.harbor": _CONTAINERS,
    "rollout.container": _CONTAINERS,
    "rollout.types.harbor": _CONTAINERS,
    "source_images": _CONTAINERS,
    "source_scan": _INTERNAL,
    "rollout.controller.openai_responses": _INTERNAL,
    "rollout.server.lease": _INTERNAL,
    "rollout.server.observability": _INTERNAL,
    "rollout.server.result_registry": _INTERNAL,
    "rollout.trajectory.preview": _INTERNAL,
    "rollout.utils": _INTERNAL,
}
"""The modules that are not here, with what to use instead."""

_PLACE_OF = {word.partition(":")[0]: (place, word) for place, names in PLACES.items() for word in names.split()}


class NameFinder(MetaPathFinder, Loader):
    """Makes the modules of the tables importable below the package `root`."""

    def __init__(self, root: str) -> None:
        self._root = root

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module of MODULES. Raises ModuleNotFoundError for one of ABSENT."""
        package, _, short = fullname.partition(f"{self._root}.")
        if package or not short:
            return None
        if short in ABSENT or short.startswith("_"):
            told = ABSENT.get(short, _INTERNAL)
            raise ModuleNotFoundError(
                f"mesocosm's stand-in for osmosis-ai has no {fullname}: it is {told}", name=fullname
            )
        if short not in MODULES:
            return None
        spec = ModuleSpec(fullname, self, is_package=any(name.startswith(f"{short}.") for name in (*MODULES, *ABSENT)))
        folder = Path(__file__).parent.joinpath(*short.split("."))
        if spec.submodule_search_locations is not None and folder.is_dir():
            spec.submodule_search_locations.append(str(folder))
        return spec

    def exec_module(self, module: ModuleType) -> None:
        """Give a module its names; each is imported on first access."""
        short = module.__name__.removeprefix(f"{self._root}.")
        module.__doc__ = f"Names of `osmosis_ai.{short}`."
        vars(module).update(__all__=self.exported(short), __getattr__=self.getter(short))

    def exported(self, short: str) -> list[str]:
        """Return the names that `import *` takes from a module."""
        return sorted(word.partition(":")[0] for word in MODULES[short].split() if word[0] not in "-@")

    def getter(self, short: str) -> Callable[[str], Any]:
        """Return the `__getattr__` of a module."""
        words = MODULES[short].split()
        own = words.pop(0)[1:] if MODULES[short].startswith("@") else ""
        names = {word.removeprefix("-").partition(":")[0] for word in words}
        fullname = f"{self._root}.{short}".rstrip(".")

        def get(name: str) -> Any:
            if name not in names:
                if short in {"", "rollout"}:
                    refuse(name)
                raise AttributeError(f"module {fullname!r} has no attribute {name!r}")
            place, word = (own, name) if own else _PLACE_OF[name]
            if not own:
                place = f"{SDK}.{place}"
            elif own.startswith("osmosis_ai."):
                place = f"{self._root}{own.removeprefix('osmosis_ai')}"
            value = getattr(importlib.import_module(place), word.partition(":")[2] or name)
            setattr(sys.modules[fullname], name, value)
            return value

        return get
