"""Find what a rollout's entry file defines: a backend, or a workflow with grader and configurations."""

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import CellType, ModuleType
from typing import Any, TypeVar

from mesocosm.core.failure import UsageError
from mesocosm.rollouts.sdk.backend import LocalBackend
from mesocosm.rollouts.sdk.config import AgentWorkflowConfig, GraderConfig
from mesocosm.rollouts.sdk.grader import Grader
from mesocosm.rollouts.sdk.workflow import AgentWorkflow

SDK = "mesocosm.rollouts.sdk"

DEPTH = 4
"""So deep an app is searched for its backend: endpoint, cell, what is in it, what that holds."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Found:
    """What an entry file defines by itself, without a backend."""

    workflow: type[AgentWorkflow[Any]]
    workflow_config: AgentWorkflowConfig | None
    grader: type[Grader] | None
    grader_config: GraderConfig | None

    def backend(self) -> LocalBackend:
        """Return a backend for it."""
        return LocalBackend(
            workflow=self.workflow,
            workflow_config=self.workflow_config,
            grader=self.grader,
            grader_config=self.grader_config,
        )


def find_backend(module: ModuleType) -> LocalBackend:
    """Return the backend of a loaded entry file: its own, else one for the workflow class that it defines.

    Raises UsageError when there is none, or more than one.
    """
    names = {name: value for name, value in vars(module).items() if not name.startswith("__")}
    named = _instances(names, LocalBackend)
    backends = list(named.values()) or _held(names.get("app"))
    if len(backends) > 1:
        raise UsageError(
            f"{_file(module)} makes {len(backends)} backends ({', '.join(named) or 'in its app'}); keep one, or move "
            "the others to another file"
        )
    if backends:
        return backends[0]
    return _found(module, names).backend()


def _found(module: ModuleType, names: Mapping[str, Any]) -> Found:
    workflow = _class(module, names, AgentWorkflow, "workflow")
    if workflow is None:
        raise UsageError(
            f"{_file(module)} has no rollout: there is neither a LocalBackend nor a class derived from AgentWorkflow "
            f"with a run method; found: {', '.join(sorted(names)) or 'nothing'}"
        )
    grader = _class(module, names, Grader, "grader")
    return Found(
        workflow,
        _only(module, _instances(names, AgentWorkflowConfig), "workflow_config"),
        grader,
        _only(module, _instances(names, GraderConfig), "grader_config"),
    )


def _class(module: ModuleType, names: Mapping[str, Any], kind: type, noun: str) -> Any:
    """Return the one class of a kind that is no other's base; of several the one that this file itself defines."""
    classes = {
        value
        for value in names.values()
        if isinstance(value, type)
        and issubclass(value, kind)
        and not inspect.isabstract(value)
        and not value.__module__.startswith(SDK)
    }
    leaves = [one for one in classes if not any(other is not one and issubclass(other, one) for other in classes)]
    own = [one for one in leaves if one.__module__ == module.__name__]
    chosen = own if len(leaves) > 1 and own else leaves
    if len(chosen) > 1:
        found = ", ".join(sorted(one.__name__ for one in chosen))
        raise UsageError(
            f"{_file(module)} has several {noun} classes ({found}); say which one: backend = LocalBackend({noun}=…)"
        )
    return chosen[0] if chosen else None


def _only(module: ModuleType, values: Mapping[str, T], noun: str) -> T | None:
    if len(values) > 1:
        raise UsageError(
            f"{_file(module)} has several configurations ({', '.join(values)}); say which one: "
            f"backend = LocalBackend(workflow=…, {noun}=…)"
        )
    return next(iter(values.values()), None)


def _instances(names: Mapping[str, Any], kind: type[T]) -> dict[str, T]:
    """Return the instances of a kind by name, each once."""
    found: dict[int, tuple[str, T]] = {}
    for name, value in names.items():
        if isinstance(value, kind):
            found.setdefault(id(value), (name, value))
    return dict(found.values())


def _held(thing: Any) -> list[LocalBackend]:
    """Return the backends that an app's endpoints close over."""
    found: dict[int, LocalBackend] = {}
    seen: set[int] = set()
    level: list[Any] = [getattr(route, "endpoint", None) for route in getattr(thing, "routes", ())]
    for _ in range(DEPTH + 1):
        following: list[Any] = []
        for value in level:
            if isinstance(value, LocalBackend):
                found[id(value)] = value
            elif id(value) not in seen:
                seen.add(id(value))
                following.extend(_parts(value))
        level = following
    return list(found.values())


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, CellType):
        try:
            return [value.cell_contents]
        except ValueError:
            return []
    if inspect.ismethod(value):
        return [value.__self__, value.__func__]
    if inspect.isfunction(value):
        return [*(value.__closure__ or ()), *(value.__defaults__ or ())]
    if isinstance(value, (str, bytes, type, ModuleType)) or not hasattr(value, "__dict__"):
        return []
    return list(vars(value).values())


def _file(module: ModuleType) -> str:
    return str(getattr(module, "__file__", None) or module.__name__)
