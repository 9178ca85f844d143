"""Documents of benchmarks that other frameworks offer."""

from pydantic import Field

from mesocosm.server.schemas.document import Document


class FrameworkBenchmark(Document):
    """A benchmark of another framework, as that framework describes it."""

    run: str = Field(description="Its name for `mesocosm bench run`.", examples=["gym:FrozenLake-v1"])
    title: str
    description: str
    tasks: int | None = Field(description="Number of its tasks; null if unknown or unlimited.")
    needs: list[str] = Field(description="What else the machine must have.")
    licence: str
    tags: list[str]


class Framework(Document):
    """A framework: its name before the colon, and how many benchmarks it offers here; null if that is not known."""

    name: str
    title: str
    benchmarks: int | None


class FrameworkBenchmarks(Document):
    """The first benchmarks with all words in name, description or tags, the best first; `found` is their number."""

    items: list[FrameworkBenchmark]
    found: int
    frameworks: list[Framework]
