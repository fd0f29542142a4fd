"""First tables: assignments, students, answers, and tries of keys and codes.

Spelled out rather than taken from tables.py, which will move on. Times are plain timestamps on SQLite (in UTC) and
timestamps with a zone on PostgreSQL; JSON is text.
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "assignments",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("code", sa.String(12), nullable=False),
        sa.Column("secret", sa.LargeBinary, nullable=False),
        sa.Column("title", sa.String(200), nullable=False),
        sa.Column("questions", sa.Text, nullable=False),
        sa.Column("question_count", sa.Integer, nullable=False),
        sa.Column("per_student", sa.Boolean, nullable=False),
        sa.Column("hints", sa.Boolean, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("counts", sa.String(8), nullable=False),
        sa.Column("feedback", sa.String(16), nullable=False),
        sa.Column("new_variant_on_retry", sa.Boolean, nullable=False),
        sa.Column("opens_at", _TIME),
        sa.Column("closes_at", _TIME),
        sa.Column("revealed_at", _TIME),
        sa.Column("created_at", _TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_assignments"),
        sa.UniqueConstraint("code", name="uq_assignments_code"),
    )
    op.create_table(
        "students",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("assignment_id", sa.String(32), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("name", sa.String(60), nullable=False),
        sa.Column("token_hash", sa.String(64), nullable=False),
        sa.Column("joined_at", _TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_students"),
        sa.ForeignKeyConstraint(
            ["assignment_id"], ["assignments.id"], name="fk_students_assignment_id", ondelete="CASCADE"
        ),
        sa.UniqueConstraint("token_hash", name="uq_students_token_hash"),
        sa.UniqueConstraint("assignment_id", "number", name="uq_students_assignment_id_number"),
    )
    op.create_index("ix_students_joined_at", "students", ["joined_at"])
    op.create_table(
        "answers",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("student_id", sa.String(32), nullable=False),
        sa.Column("question", sa.Integer, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("idempotency_key", sa.String(100), nullable=False),
        sa.Column("answers", sa.Text, nullable=False),
        sa.Column("score", sa.Float(53), nullable=False),
        sa.Column("max_score", sa.Float(53), nullable=False),
        sa.Column("misconceptions", sa.Text, nullable=False),
        sa.Column("result", sa.Text, nullable=False),
        sa.Column("submitted_at", _TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_answers"),
        sa.ForeignKeyConstraint(["student_id"], ["students.id"], name="fk_answers_student_id", ondelete="CASCADE"),
        sa.UniqueConstraint("student_id", "question", "attempt", name="uq_answers_student_id_question_attempt"),
        sa.UniqueConstraint("student_id", "idempotency_key", name="uq_answers_student_id_idempotency_key"),
        sa.CheckConstraint("attempt >= 1", name="ck_answers_attempt"),
        sa.CheckConstraint("score >= 0 AND score <= max_score", name="ck_answers_score"),
    )
    op.create_table(
        "tries",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("source_hash", sa.String(64), nullable=False),
        sa.Column("at", _TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_tries"),
    )
    op.create_index("ix_tries_kind_at", "tries", ["kind", "at"])


def downgrade() -> None:
    for table in ("tries", "answers", "students", "assignments"):
        op.drop_table(table)
