"""The models of several roles as one model `roles/<name>`: each call goes to the model of its role."""

from collections.abc import Mapping
from dataclasses import replace

from bench_common.runtime.multi_agent_loop import ROLE
from mesocosm.core.failure import RunAborted
from mesocosm.core.ids import digest
from mesocosm.core.model import Capabilities, ModelReply, ModelRequest, ModelSettings
from mesocosm.core.ports import Model
from mesocosm.core.registry import MODELS
from mesocosm.models.catalogue import open_model

PROVIDER = "roles"


def role_settings(models: Mapping[str, str]) -> ModelSettings:
    """Return the settings of a run in which each role calls its own model."""
    return ModelSettings(f"{PROVIDER}/{'+'.join(sorted(models))}", extra={"models": dict(models)})


@MODELS.register(PROVIDER)
def open_roles(settings: ModelSettings) -> "RoleModels":
    """Return the models by role in `settings.extra["models"]`. Raises UsageError as the catalogue does."""
    return RoleModels(settings.extra["models"])


class RoleModels:
    """Implements core.ports.Model. Roles with the same model share its connections."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names
        self._models: dict[str, Model] = {name: open_model(ModelSettings(name)) for name in sorted(set(names.values()))}

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities that all models have."""
        each = [model.capabilities for model in self._models.values()]
        return Capabilities(
            structured=all(one.structured for one in each),
            images=all(one.images for one in each),
            tools=all(one.tools for one in each),
            local=all(one.local for one in each),
            content=digest([one.content for one in each]) if any(one.content for one in each) else "",
        )

    async def check(self) -> None:
        """Verify that every model can answer. Raises as each of them does."""
        for model in self._models.values():
            await model.check()

    async def ask(self, request: ModelRequest) -> ModelReply:
        """Call the model of the acting role. Raises EpisodeError, RunAborted."""
        role = str(request.extra.get(ROLE))
        if role not in self._names:
            known = ", ".join(self._names)
            raise RunAborted(f"no model is given for role {role!r}, only for {known}")
        return await self._models[self._names[role]].ask(replace(request, extra={}))

    async def close(self) -> None:
        """Close connections."""
        for model in self._models.values():
            await model.close()
