"""Documents of techniques."""

from typing import Any

from pydantic import BaseModel, Field


class TechniqueDocument(BaseModel):
    """A technique that runs can use if the binding vow of the domain declares it."""

    id: str = Field(description="its name in vows and runs", examples=["memory"])
    version: str = Field(description="its version", examples=["1.0.0"])
    description: str = Field(description="what it does")
    config_schema: dict[str, Any] = Field(description="its parameters as a JSON Schema; each has a default")
