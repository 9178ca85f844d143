"""The schema revision and file name of a database; cheap to import."""

HEAD = "0017"
"""The newest revision in `migrations/versions`; opening a store compares it without importing Alembic."""

VERSION_TABLE = "mesocosm_schema"
"""Not Alembic's default name, so that a PostgreSQL database can be shared with another program that uses Alembic."""

DATABASE_NAME = "orchestrator.sqlite"
"""Name of the SQLite file inside a results directory."""
