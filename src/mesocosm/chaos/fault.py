"""The faults that a command is played under."""

from dataclasses import dataclass
from enum import StrEnum


class Means(StrEnum):
    """What a fault is done to: the process that plays, the disk under its results, or the model's server."""

    KILL = "kill"
    SIGNAL = "signal"
    DISK = "disk"
    MODEL = "model"


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault by name, and what it is for people."""

    name: str
    means: Means
    about: str


FAULTS = (
    Fault("kill", Means.KILL, "kill -9 at random moments, the next one in what the last one left"),
    Fault("interrupt", Means.SIGNAL, "Ctrl-C at a random moment"),
    Fault("terminate", Means.SIGNAL, "SIGTERM at a random moment"),
    Fault("suspend", Means.SIGNAL, "the process is stopped for some seconds and goes on"),
    Fault("disk-full", Means.DISK, "from a random moment on no file of the results can grow"),
    Fault("down", Means.MODEL, "the model's server refuses connections"),
    Fault("dead", Means.MODEL, "connections are dropped without an answer"),
    Fault("hang", Means.MODEL, "requests are taken and not answered"),
    Fault("503", Means.MODEL, "every answer is 503"),
    Fault("429", Means.MODEL, "every answer is 429 with Retry-After: 1"),
    Fault("400", Means.MODEL, "every answer is 400"),
    Fault("nan", Means.MODEL, "429 and 503 with waits of nan and inf"),
    Fault("half", Means.MODEL, "answers break off in the middle"),
    Fault("html", Means.MODEL, "answers are a web page with status 200"),
    Fault("deep", Means.MODEL, "answers are JSON of 3,000 levels"),
    Fault("gzip", Means.MODEL, "answers are 3 MiB of empty gzip members"),
    Fault("other-model", Means.MODEL, "answers name another model"),
)
BY_NAME = {fault.name: fault for fault in FAULTS}
