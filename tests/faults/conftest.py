"""A PostgreSQL database of one's own."""

import os
from collections.abc import Iterator
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest

from mesocosm.core.ids import new_id


class Server:
    """An own database on the server that the environment names, and ways to make it vanish."""

    def __init__(self, url: str) -> None:
        self.admin = url
        self.name = f"test_{new_id().replace('-', '')}"
        parts = urlsplit(url)
        self.url = urlunsplit(parts._replace(path=f"/{self.name}"))

    def tell(self, statement: str) -> None:
        """Run a statement of the administrator."""
        with psycopg.connect(self.admin, autocommit=True) as connection:
            connection.execute(statement.encode())

    def cut(self) -> None:
        """End every connection to the database."""
        self.tell(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{self.name}'")

    def close(self) -> None:
        """Let nobody connect any more, and end what is connected."""
        self.tell(f"ALTER DATABASE {self.name} ALLOW_CONNECTIONS false")
        self.cut()

    def open(self) -> None:
        """Let everybody connect again."""
        self.tell(f"ALTER DATABASE {self.name} ALLOW_CONNECTIONS true")


@pytest.fixture
def server() -> Iterator[Server]:
    """Return an empty database; skipped where the environment names no server, which fails in CI."""
    url = os.environ.get("MESOCOSM_TEST_POSTGRES")
    if not url:
        reason = "MESOCOSM_TEST_POSTGRES names no PostgreSQL server; tests/postgres.sh starts one"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    made = Server(url)
    made.tell(f"CREATE DATABASE {made.name}")
    yield made
    made.tell(f"DROP DATABASE {made.name} WITH (FORCE)")
