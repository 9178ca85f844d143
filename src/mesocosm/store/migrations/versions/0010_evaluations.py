"""Run requests of every kind, in workspaces, with their output; imports of runs, uploads of snapshots; schedules and
notifications; rows added to datasets; logins of programs through a browser.
"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"

# Frozen: later changes of tenancy.py are later revisions.
_WORD = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_DIGEST = sa.String(32).with_variant(sa.String(32, collation="C"), "postgresql")


def upgrade() -> None:
    """Add the columns and create the table."""
    _extend_requests()
    _create_output()
    _create_imports()
    _create_uploads()
    _create_statuses()
    _create_schedules()
    _create_notifications()
    _extend_datasets()
    _create_device_logins()


def _extend_requests() -> None:
    op.add_column("orders", sa.Column("kind", _WORD, nullable=False, server_default=sa.text("'environment'")))
    for name in ("name", "commit_id", "branch", "configuration"):
        op.add_column("orders", sa.Column(name, _WORD, nullable=False, server_default=sa.text("''")))
    op.add_column("orders", sa.Column("workspace_id", _WORD))
    op.add_column("orders", sa.Column("dataset_id", _WORD))
    op.add_column("orders", sa.Column("dataset_version", sa.Integer))
    op.add_column("orders", sa.Column("snapshot", _DIGEST))
    named = sa.text("name <> ''")
    op.create_index(
        "ix_orders_workspace_id_name",
        "orders",
        ["workspace_id", "name"],
        unique=True,
        sqlite_where=named,
        postgresql_where=named,
    )
    op.create_index("ix_orders_workspace_id_created_at", "orders", ["workspace_id", "created_at"])
    op.create_index("ix_orders_dataset_id", "orders", ["dataset_id"])
    op.create_index("ix_orders_snapshot", "orders", ["snapshot"])


def _create_output() -> None:
    op.create_table(
        "run_output",
        sa.Column("run_id", _WORD, nullable=False),
        sa.Column("number", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("run_id", "number", name="pk_run_output"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_run_output_run_id", ondelete="CASCADE"),
    )


def _create_imports() -> None:
    op.create_table(
        "run_imports",
        *(sa.Column(name, kind, nullable=False) for name, kind in (("id", _WORD), ("actor", _WORD))),
        sa.Column("actor_name", sa.Text, nullable=False),
        *(sa.Column(name, _WORD) for name in ("team_id", "workspace_id")),
        *(sa.Column(name, _WORD, nullable=False) for name in ("visibility", "source")),
        sa.Column("host", sa.Text, nullable=False),
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in ("size", "part_size")),
        *(sa.Column(name, _WORD, nullable=False) for name in ("digest", "state")),
        sa.Column("run_id", _WORD),
        sa.Column("faults", sa.Text, nullable=False),
        sa.Column("evaluation", sa.Text, nullable=False, server_default=sa.text("''")),
        *(sa.Column(name, sa.Double, nullable=False) for name in ("created_at", "updated_at")),
        sa.Column("ended_at", sa.Double),
        sa.Column("claimed_by", _WORD),
        sa.Column("lease_until", sa.Double),
        sa.Column("tries", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_run_imports"),
        _reference("run_imports", "team_id", "teams", "SET NULL"),
        _reference("run_imports", "workspace_id", "workspaces", "SET NULL"),
        _reference("run_imports", "run_id", "runs", "CASCADE"),
    )
    for names in (["actor", "source"], ["state", "updated_at"], ["run_id"]):
        op.create_index(f"ix_run_imports_{'_'.join(names)}", "run_imports", names)
    op.create_table(
        "run_import_parts",
        sa.Column("import_id", _WORD, nullable=False),
        sa.Column("number", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("digest", _DIGEST, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("import_id", "number", name="pk_run_import_parts"),
        _reference("run_import_parts", "import_id", "run_imports", "CASCADE"),
        sa.ForeignKeyConstraint(["digest"], ["blobs.digest"], name="fk_run_import_parts_digest"),
    )
    op.create_index("ix_run_import_parts_digest", "run_import_parts", ["digest"])


def _create_uploads() -> None:
    op.create_table(
        "snapshot_uploads",
        sa.Column("id", _WORD, nullable=False),
        sa.Column("workspace_id", _WORD, nullable=False),
        sa.Column("digest", _DIGEST, nullable=False),
        sa.Column("snapshot", _DIGEST),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("repository", "branch")),
        sa.Column("commit_id", _WORD, nullable=False),
        sa.Column("dirty", sa.Boolean, nullable=False),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("changes", "rollouts", "configurations", "faults")),
        sa.Column("created_by", sa.Integer),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("completed_at", sa.Double),
        sa.PrimaryKeyConstraint("id", name="pk_snapshot_uploads"),
        _reference("snapshot_uploads", "workspace_id", "workspaces", "CASCADE"),
        sa.ForeignKeyConstraint(["snapshot"], ["snapshots.digest"], name="fk_snapshot_uploads_snapshot"),
        _reference("snapshot_uploads", "created_by", "users", "SET NULL"),
    )
    op.create_index("ix_snapshot_uploads_workspace_id_digest", "snapshot_uploads", ["workspace_id", "digest"])
    op.create_index("ix_snapshot_uploads_snapshot", "snapshot_uploads", ["snapshot"])
    op.create_table(
        "snapshot_upload_blobs",
        sa.Column("upload_id", _WORD, nullable=False),
        sa.Column("digest", _DIGEST, nullable=False),
        sa.PrimaryKeyConstraint("upload_id", "digest", name="pk_snapshot_upload_blobs"),
        _reference("snapshot_upload_blobs", "upload_id", "snapshot_uploads", "CASCADE"),
        sa.ForeignKeyConstraint(["digest"], ["blobs.digest"], name="fk_snapshot_upload_blobs_digest"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_snapshot_upload_blobs_digest", "snapshot_upload_blobs", ["digest"])


def _create_statuses() -> None:
    op.add_column("repositories", sa.Column("status_error", sa.Text, nullable=False, server_default=sa.text("''")))
    op.create_table(
        "commit_statuses",
        sa.Column("run_id", _WORD, nullable=False),
        sa.Column("sent", _WORD, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("next_at", sa.Double, nullable=False),
        sa.Column("claimed_by", _WORD),
        sa.Column("lease_until", sa.Double),
        sa.PrimaryKeyConstraint("run_id", name="pk_commit_statuses"),
        _reference("commit_statuses", "run_id", "runs", "CASCADE"),
    )
    op.create_index("ix_commit_statuses_next_at", "commit_statuses", ["next_at"])


def _create_schedules() -> None:
    op.create_table(
        "schedules",
        *(sa.Column(name, _WORD, nullable=False) for name in ("id", "workspace_id", "name")),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("configuration", "branch", "overrides")),
        sa.Column("trigger", _WORD, nullable=False),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("cron", "timezone")),
        sa.Column("enabled", sa.Boolean, nullable=False),
        sa.Column("created_by", sa.Integer),
        sa.Column("created_at", sa.Double, nullable=False),
        *(sa.Column(name, sa.Double) for name in ("next_at", "last_at")),
        sa.Column("last_run", _WORD),
        sa.Column("last_fault", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_schedules"),
        sa.UniqueConstraint("workspace_id", "name", name="uq_schedules_workspace_id_name"),
        _reference("schedules", "workspace_id", "workspaces", "CASCADE"),
        _reference("schedules", "created_by", "users", "SET NULL"),
    )
    op.create_index("ix_schedules_next_at", "schedules", ["next_at"])
    op.create_table(
        "scheduled_runs",
        *(sa.Column(name, _WORD, nullable=False) for name in ("id", "schedule_id")),
        sa.Column("run_id", _WORD),
        sa.Column("commit_id", _WORD, nullable=False),
        sa.Column("due_at", sa.Double, nullable=False),
        sa.Column("state", _WORD, nullable=False),
        sa.Column("fault", sa.Text, nullable=False),
        *(sa.Column(name, sa.Double) for name in ("retry_at", "ended_at")),
        sa.Column("claimed_by", _WORD),
        sa.Column("lease_until", sa.Double),
        sa.Column("tries", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_scheduled_runs"),
        _reference("scheduled_runs", "schedule_id", "schedules", "CASCADE"),
    )
    for names in (["run_id"], ["schedule_id", "due_at"], ["state", "due_at"]):
        op.create_index(f"ix_scheduled_runs_{'_'.join(names)}", "scheduled_runs", names)


def _create_notifications() -> None:
    op.create_table(
        "unannounced_runs",
        sa.Column("run_id", _WORD, nullable=False),
        sa.PrimaryKeyConstraint("run_id", name="pk_unannounced_runs"),
        _reference("unannounced_runs", "run_id", "runs", "CASCADE"),
    )
    op.create_table(
        "notifications",
        *(sa.Column(name, _WORD, nullable=False) for name in ("id", "workspace_id", "name")),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("format", _WORD, nullable=False),
        sa.Column("events", sa.Text, nullable=False),
        sa.Column("created_by", sa.Integer),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_notifications"),
        sa.UniqueConstraint("workspace_id", "name", name="uq_notifications_workspace_id_name"),
        _reference("notifications", "workspace_id", "workspaces", "CASCADE"),
        _reference("notifications", "created_by", "users", "SET NULL"),
    )
    op.create_table(
        "notification_deliveries",
        *(sa.Column(name, _WORD, nullable=False) for name in ("id", "notification_id", "event")),
        sa.Column("run_id", _WORD),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("state", _WORD, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("status", sa.Integer),
        sa.Column("answer", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        *(sa.Column(name, sa.Double) for name in ("next_at", "ended_at")),
        sa.Column("claimed_by", _WORD),
        sa.Column("lease_until", sa.Double),
        sa.PrimaryKeyConstraint("id", name="pk_notification_deliveries"),
        _reference("notification_deliveries", "notification_id", "notifications", "CASCADE"),
    )
    for names in (["state", "next_at"], ["notification_id", "created_at"]):
        op.create_index(f"ix_notification_deliveries_{'_'.join(names)}", "notification_deliveries", names)


def _extend_datasets() -> None:
    op.add_column("dataset_versions", sa.Column("source", sa.Text, nullable=False, server_default=sa.text("''")))
    op.create_table(
        "dataset_additions",
        sa.Column("dataset_id", _WORD, nullable=False),
        *(sa.Column(name, sa.Integer, nullable=False, autoincrement=False) for name in ("version", "number")),
        sa.Column("digest", _DIGEST, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("dataset_id", "version", "number", name="pk_dataset_additions"),
        sa.ForeignKeyConstraint(
            ["dataset_id", "version"],
            ["dataset_versions.dataset_id", "dataset_versions.version"],
            ondelete="CASCADE",
            name="fk_dataset_additions_dataset_id_version",
        ),
        sa.ForeignKeyConstraint(["digest"], ["blobs.digest"], name="fk_dataset_additions_digest"),
    )
    op.create_index("ix_dataset_additions_digest", "dataset_additions", ["digest"])


def _create_device_logins() -> None:
    op.create_table(
        "device_logins",
        *(sa.Column(name, _WORD, nullable=False) for name in ("digest", "code_digest")),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("program", "device", "address")),
        *(sa.Column(name, sa.Double, nullable=False) for name in ("created_at", "expires_at")),
        sa.Column("polled_at", sa.Double),
        sa.Column("state", _WORD, nullable=False),
        *(sa.Column(name, sa.Integer) for name in ("user_id", "epoch")),
        sa.PrimaryKeyConstraint("digest", name="pk_device_logins"),
        sa.UniqueConstraint("code_digest", name="uq_device_logins_code_digest"),
        _reference("device_logins", "user_id", "users", "CASCADE"),
    )
    op.create_index("ix_device_logins_expires_at", "device_logins", ["expires_at"])


def _reference(table: str, column: str, target: str, ondelete: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [f"{target}.id"], ondelete=ondelete, name=f"fk_{table}_{column}")
