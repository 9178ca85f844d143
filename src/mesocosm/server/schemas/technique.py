"""Documents of techniques."""

from typing import Any

from pydantic import BaseModel, Field


class TechniqueDocument(BaseModel):
    """A technique that runs can use if the binding vow of the domain declares it."""

    id: str = Field(description="Name in vows and runs.", examples=["memory"])
    version: str = Field(description="Version of the technique.", examples=["1.0.0"])
    description: str = Field(description="What the technique does.")
    config_schema: dict[str, Any] = Field(description="Parameters as a JSON Schema; each has a default.")
