"""Alembic's entry: runs migrations on the connection that `migrate` hands over, inside its transaction."""

from alembic import context

from mesocosm.store.schema import VERSION_TABLE, metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    render_as_batch=True,
)
context.run_migrations()
