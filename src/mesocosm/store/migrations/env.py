"""Alembic's entry point: run migrations on the connection passed by `migrate`, inside its transaction."""

from alembic import context

from mesocosm.store.revision import VERSION_TABLE
from mesocosm.store.schema import metadata
from mesocosm.store.views import create_views, drop_views

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, version_table=VERSION_TABLE, render_as_batch=True)
drop_views(connection)
context.run_migrations()
create_views(connection)
