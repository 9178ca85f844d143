"""The frameworks that run as guests: what they are called, which packages bring them, which module speaks for them."""

from dataclasses import dataclass

from mesocosm.core.failure import UnknownName
from mesocosm.core.registry import Located, OptionRoles, suggestion
from mesocosm.guests.places import (
    INCLUDED,
    OURS,
    ROWS,
    inspect_place,
    lm_eval_place,
    python_place,
    skyrl_place,
    verifiers_place,
)


@dataclass(frozen=True, slots=True)
class GuestKind:
    """One framework.

    `source` says what follows its name in `NAME:SOURCE`. `imports` are the modules that an interpreter must have,
    `requirements` what `guests install` installs, `python` the versions of Python that they support. `module` is the
    module of `inside/` that speaks for it. Environments of a `stepped` one are played step by step by our agents; the
    others play their episodes by themselves. `local` options only say where files are; `located` gives them and a
    source paths from the root.
    """

    name: str
    title: str
    source: str
    imports: tuple[str, ...]
    requirements: tuple[str, ...]
    module: str
    python: str = ">=3.11"
    stepped: bool = False
    local: frozenset[str] = OURS
    located: Located = python_place

    @property
    def roles(self) -> OptionRoles:
        """What options mean to code that handles runs of any kind."""
        return OptionRoles(local=self.local, located=self.located)


KINDS = {
    kind.name: kind
    for kind in (
        GuestKind(
            "inspect",
            "Inspect",
            "PACKAGE/TASK or FILE.py@TASK",
            ("inspect_ai",),
            ("inspect_ai>=0.3.285,<0.4", "inspect_evals>=0.26", "openai>=1.70"),
            "inspect_tasks",
            located=inspect_place,
        ),
        GuestKind(
            "lm-eval",
            "lm-evaluation-harness",
            "TASK[,TASK]",
            ("lm_eval",),
            ("lm_eval[api]>=0.4.13,<0.5",),
            "lm_eval_tasks",
            local=OURS | {INCLUDED},
            located=lm_eval_place,
        ),
        GuestKind(
            "verifiers",
            "verifiers",
            "TASKSET[,harness=ID]",
            ("verifiers",),
            ("verifiers>=0.4,<0.5", "uv"),
            "verifiers_tasksets",
            located=verifiers_place,
        ),
        GuestKind(
            "gym",
            "Gymnasium",
            "ID",
            ("gymnasium",),
            ("gymnasium[toy-text,classic-control,box2d,mujoco]>=1.4,<2",),
            "gymnasium_envs",
            stepped=True,
        ),
        GuestKind(
            "pettingzoo",
            "PettingZoo",
            "MODULE",
            ("pettingzoo",),
            ("pettingzoo>=1.27,<2", "pygame"),
            "pettingzoo_envs",
            stepped=True,
        ),
        GuestKind(
            "textarena",
            "TextArena",
            "GAME",
            ("textarena",),
            ("textarena>=0.7.4,<0.8",),
            "textarena_games",
            stepped=True,
        ),
        GuestKind(
            "skyrl",
            "SkyRL-gym",
            "ENVIRONMENT",
            ("skyrl_gym",),
            ("skyrl_gym>=0.4,<0.5",),
            "skyrl_envs",
            stepped=True,
            local=OURS | {ROWS},
            located=skyrl_place,
        ),
    )
}
"""All frameworks by name."""


def guest_kind(name: str) -> GuestKind:
    """Return the framework called `name`. Raises UnknownName."""
    found = KINDS.get(name)
    if found is None:
        raise UnknownName(f"no guest is called {name!r}{suggestion(name, list(KINDS))}")
    return found
