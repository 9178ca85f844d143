"""Models that administrators set on a server get a table; they were saved views of an owner that no caller can be."""

import json

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"

_WORD = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_OWNER = "system:models"


def upgrade() -> None:
    """Create the table and move the models; a row that is none stays a saved view."""
    op.create_table(
        "models",
        sa.Column("name", _WORD, nullable=False),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("entry", "sealed")),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_models"),
    )
    connection = op.get_bind()
    kept = sa.text("SELECT name, search, created_at FROM saved_views WHERE owner = :owner")
    insert = sa.text(
        "INSERT INTO models (name, entry, sealed, created_at) VALUES (:name, :entry, :sealed, :created_at)"
    )
    delete = sa.text("DELETE FROM saved_views WHERE owner = :owner AND name = :name")
    for name, search, created_at in connection.execute(kept, {"owner": _OWNER}).all():
        found = _read(search)
        if found is not None:
            entry, sealed = found
            row = {"name": name, "entry": entry, "sealed": sealed, "created_at": created_at}
            connection.execute(insert, row)
            connection.execute(delete, {"owner": _OWNER, "name": name})


def _read(search: str) -> tuple[str, str] | None:
    try:
        document = json.loads(search)
    except ValueError:
        return None
    if not isinstance(document, dict) or "entry" not in document:
        return None
    return json.dumps(document["entry"], ensure_ascii=False), str(document.get("sealed", ""))
