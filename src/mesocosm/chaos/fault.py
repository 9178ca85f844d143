"""The faults that a command is run under."""

from dataclasses import dataclass
from enum import StrEnum


class FaultTarget(StrEnum):
    """What a fault affects: the running process, the disk of its results, or the model's server."""

    KILL = "kill"
    SIGNAL = "signal"
    DISK = "disk"
    MODEL = "model"


@dataclass(frozen=True, slots=True)
class ChaosFault:
    """A fault and what it affects."""

    name: str
    means: FaultTarget


FAULTS = (
    ChaosFault("kill", FaultTarget.KILL),
    ChaosFault("interrupt", FaultTarget.SIGNAL),
    ChaosFault("terminate", FaultTarget.SIGNAL),
    ChaosFault("suspend", FaultTarget.SIGNAL),
    ChaosFault("disk-full", FaultTarget.DISK),
    ChaosFault("down", FaultTarget.MODEL),
    ChaosFault("dead", FaultTarget.MODEL),
    ChaosFault("hang", FaultTarget.MODEL),
    ChaosFault("503", FaultTarget.MODEL),
    ChaosFault("429", FaultTarget.MODEL),
    ChaosFault("400", FaultTarget.MODEL),
    ChaosFault("nan", FaultTarget.MODEL),
    ChaosFault("half", FaultTarget.MODEL),
    ChaosFault("html", FaultTarget.MODEL),
    ChaosFault("deep", FaultTarget.MODEL),
    ChaosFault("gzip", FaultTarget.MODEL),
    ChaosFault("other-model", FaultTarget.MODEL),
)
BY_NAME = {fault.name: fault for fault in FAULTS}
