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
    """A named fault and its description for users."""

    name: str
    means: FaultTarget
    about: str


FAULTS = (
    ChaosFault("kill", FaultTarget.KILL, "kill -9 at random moments, the next one in what the last one left"),
    ChaosFault("interrupt", FaultTarget.SIGNAL, "Ctrl-C at a random moment"),
    ChaosFault("terminate", FaultTarget.SIGNAL, "SIGTERM at a random moment"),
    ChaosFault("suspend", FaultTarget.SIGNAL, "the process is stopped for some seconds and goes on"),
    ChaosFault("disk-full", FaultTarget.DISK, "from a random moment on no file of the results can grow"),
    ChaosFault("down", FaultTarget.MODEL, "the model's server refuses connections"),
    ChaosFault("dead", FaultTarget.MODEL, "connections are dropped without an answer"),
    ChaosFault("hang", FaultTarget.MODEL, "requests are taken and not answered"),
    ChaosFault("503", FaultTarget.MODEL, "every answer is 503"),
    ChaosFault("429", FaultTarget.MODEL, "every answer is 429 with Retry-After: 1"),
    ChaosFault("400", FaultTarget.MODEL, "every answer is 400"),
    ChaosFault("nan", FaultTarget.MODEL, "429 and 503 with waits of nan and inf"),
    ChaosFault("half", FaultTarget.MODEL, "answers break off in the middle"),
    ChaosFault("html", FaultTarget.MODEL, "answers are a web page with status 200"),
    ChaosFault("deep", FaultTarget.MODEL, "answers are JSON of 3,000 levels"),
    ChaosFault("gzip", FaultTarget.MODEL, "answers are 3 MiB of empty gzip members"),
    ChaosFault("other-model", FaultTarget.MODEL, "answers name another model"),
)
BY_NAME = {fault.name: fault for fault in FAULTS}
