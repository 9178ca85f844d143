"""Workspaces with their members, datasets, secrets, repositories and syncs."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

# Frozen: later changes of tenancy.py are later revisions.
_WORD = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_DIGEST = sa.String(32).with_variant(sa.String(32, collation="C"), "postgresql")


def upgrade() -> None:
    """Create the tables."""
    _create_workspaces()
    _create_datasets()
    _create_secrets()
    _create_repositories()
    _create_syncs()


def _create_workspaces() -> None:
    op.create_table(
        "workspaces",
        sa.Column("id", _WORD, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("name_key", _WORD, nullable=False),
        sa.Column("budget_usd", sa.Double),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_workspaces"),
        sa.UniqueConstraint("name_key", name="uq_workspaces_name_key"),
    )
    op.create_table(
        "workspace_members",
        sa.Column("workspace_id", _WORD, nullable=False),
        sa.Column("user_id", sa.Integer, nullable=False),
        sa.Column("role", _WORD, nullable=False),
        sa.Column("joined_at", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("workspace_id", "user_id", name="pk_workspace_members"),
        _reference("workspace_members", "workspace_id", "workspaces"),
        _reference("workspace_members", "user_id", "users"),
    )
    op.create_index("ix_workspace_members_user_id", "workspace_members", ["user_id"])


def _create_datasets() -> None:
    op.create_table(
        "datasets",
        sa.Column("id", _WORD, nullable=False),
        sa.Column("workspace_id", _WORD, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("name_key", _WORD, nullable=False),
        sa.Column("version", sa.Integer),
        sa.Column("created_by", sa.Integer),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("updated_at", sa.Double, nullable=False),
        sa.Column("deleted_at", sa.Double),
        sa.PrimaryKeyConstraint("id", name="pk_datasets"),
        _reference("datasets", "workspace_id", "workspaces"),
        _reference("datasets", "created_by", "users", ondelete="SET NULL"),
    )
    living = sa.text("deleted_at IS NULL")
    op.create_index(
        "ix_datasets_workspace_id_name_key",
        "datasets",
        ["workspace_id", "name_key"],
        unique=True,
        sqlite_where=living,
        postgresql_where=living,
    )
    op.create_table(
        "dataset_versions",
        sa.Column("dataset_id", _WORD, nullable=False),
        sa.Column("version", sa.Integer, autoincrement=False, nullable=False),
        *(sa.Column(name, kind, nullable=False) for name, kind in (("state", _WORD), ("file_name", sa.Text))),
        sa.Column("format", _WORD, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("part_size", sa.BigInteger, nullable=False),
        sa.Column("digest", _WORD, nullable=False),
        sa.Column("rows_digest", _WORD, nullable=False),
        sa.Column("rows", sa.Integer),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("columns", "summary", "preview", "faults")),
        sa.Column("overwrite", sa.Boolean, nullable=False),
        sa.Column("created_by", sa.Integer),
        *(sa.Column(name, sa.Double, nullable=False) for name in ("created_at", "updated_at")),
        sa.Column("ended_at", sa.Double),
        sa.Column("claimed_by", _WORD),
        sa.Column("lease_until", sa.Double),
        sa.Column("tries", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("dataset_id", "version", name="pk_dataset_versions"),
        _reference("dataset_versions", "dataset_id", "datasets"),
        _reference("dataset_versions", "created_by", "users", ondelete="SET NULL"),
    )
    op.create_index("ix_dataset_versions_state_updated_at", "dataset_versions", ["state", "updated_at"])
    op.create_table(
        "dataset_parts",
        sa.Column("dataset_id", _WORD, nullable=False),
        sa.Column("version", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("digest", _DIGEST, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("dataset_id", "version", "number", name="pk_dataset_parts"),
        sa.ForeignKeyConstraint(["digest"], ["blobs.digest"], name="fk_dataset_parts_digest"),
        sa.ForeignKeyConstraint(
            ["dataset_id", "version"],
            ["dataset_versions.dataset_id", "dataset_versions.version"],
            ondelete="CASCADE",
            name="fk_dataset_parts_dataset_id_version",
        ),
    )
    op.create_index("ix_dataset_parts_digest", "dataset_parts", ["digest"])


def _create_secrets() -> None:
    op.create_table(
        "workspace_secrets",
        sa.Column("id", _WORD, nullable=False),
        sa.Column("workspace_id", _WORD, nullable=False),
        sa.Column("holder", _WORD, nullable=False),
        sa.Column("name", _WORD, nullable=False),
        sa.Column("value", sa.Text, nullable=False),
        sa.Column("created_by", sa.Integer),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("updated_at", sa.Double, nullable=False),
        sa.Column("used_at", sa.Double),
        sa.PrimaryKeyConstraint("id", name="pk_workspace_secrets"),
        sa.UniqueConstraint("workspace_id", "holder", "name", name="uq_workspace_secrets_workspace_id_holder_name"),
        _reference("workspace_secrets", "workspace_id", "workspaces"),
        _reference("workspace_secrets", "created_by", "users", ondelete="SET NULL"),
    )


def _create_repositories() -> None:
    op.create_table(
        "repositories",
        *(sa.Column(name, _WORD, nullable=False) for name in ("id", "workspace_id", "identity")),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("url", "folder", "branch")),
        sa.Column("syncs", sa.Integer, nullable=False),
        sa.Column("checked_at", sa.Double),
        sa.Column("error", sa.Text, nullable=False),
        sa.Column("created_by", sa.Integer),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("deleted_at", sa.Double),
        sa.PrimaryKeyConstraint("id", name="pk_repositories"),
        _reference("repositories", "workspace_id", "workspaces"),
        _reference("repositories", "created_by", "users", ondelete="SET NULL"),
    )
    living = sa.text("deleted_at IS NULL")
    op.create_index(
        "ix_repositories_workspace_id",
        "repositories",
        ["workspace_id"],
        unique=True,
        sqlite_where=living,
        postgresql_where=living,
    )
    op.create_index("ix_repositories_identity", "repositories", ["identity"])


def _create_syncs() -> None:
    op.create_table(
        "snapshots",
        sa.Column("digest", _DIGEST, nullable=False),
        sa.Column("files", sa.Integer, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_snapshots"),
        sa.ForeignKeyConstraint(["digest"], ["blobs.digest"], name="fk_snapshots_digest"),
    )
    op.create_table(
        "snapshot_blobs",
        sa.Column("snapshot", _DIGEST, nullable=False),
        sa.Column("digest", _DIGEST, nullable=False),
        sa.PrimaryKeyConstraint("snapshot", "digest", name="pk_snapshot_blobs"),
        sa.ForeignKeyConstraint(
            ["snapshot"], ["snapshots.digest"], ondelete="CASCADE", name="fk_snapshot_blobs_snapshot"
        ),
        sa.ForeignKeyConstraint(["digest"], ["blobs.digest"], name="fk_snapshot_blobs_digest"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_snapshot_blobs_digest", "snapshot_blobs", ["digest"])
    op.create_table(
        "syncs",
        sa.Column("repository_id", _WORD, nullable=False),
        sa.Column("number", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("branch", sa.Text, nullable=False),
        *(sa.Column(name, _WORD, nullable=False) for name in ("wanted", "cause", "state", "commit_id")),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("author", "message")),
        sa.Column("committed_at", sa.Double),
        sa.Column("snapshot", _DIGEST),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("rollouts", "configurations", "faults", "error")),
        sa.Column("requested_by", sa.Integer),
        sa.Column("created_at", sa.Double, nullable=False),
        *(sa.Column(name, sa.Double) for name in ("started_at", "ended_at")),
        sa.Column("claimed_by", _WORD),
        sa.Column("lease_until", sa.Double),
        sa.Column("tries", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("repository_id", "number", name="pk_syncs"),
        sa.ForeignKeyConstraint(["snapshot"], ["snapshots.digest"], name="fk_syncs_snapshot"),
        _reference("syncs", "repository_id", "repositories"),
        _reference("syncs", "requested_by", "users", ondelete="SET NULL"),
    )
    op.create_index("ix_syncs_state_created_at", "syncs", ["state", "created_at"])
    op.create_index("ix_syncs_repository_id_commit_id", "syncs", ["repository_id", "commit_id"])
    op.create_index("ix_syncs_snapshot", "syncs", ["snapshot"])


def _reference(table: str, column: str, target: str, ondelete: str = "CASCADE") -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [f"{target}.id"], ondelete=ondelete, name=f"fk_{table}_{column}")
