"""Which schema a database has; it costs nothing to import."""

HEAD = "0008"
"""The newest revision in `migrations/versions`; opening a store compares it without importing Alembic."""

VERSION_TABLE = "mesocosm_schema"
"""Our own name, so that a PostgreSQL database may be shared with a program that keeps Alembic's default one."""

DATABASE_NAME = "orchestrator.sqlite"
"""Name of the SQLite file inside a results directory."""
