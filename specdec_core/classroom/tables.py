"""The tables, the same on SQLite and PostgreSQL.

Times and JSON are stored in a form of our own, because the two databases differ: PostgreSQL refuses NaN and \\u0000 in
JSON, SQLite has neither a JSON nor a time type.

Does not know: who may read what. A change here needs a migration (a test compares the two).
"""

import json
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
)


class UtcTime(TypeDecorator[datetime]):
    """A moment. Goes in and comes out aware, in UTC."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a time without a zone")
        moment = value.astimezone(UTC)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class JsonText(TypeDecorator[Any]):
    """JSON as plain ASCII text: any string survives, on either database, byte for byte."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str:
        return json.dumps(value, allow_nan=False, separators=(",", ":"))

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        return None if value is None else json.loads(value)


metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)

assignments = Table(
    "assignments",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("code", String(12), nullable=False, unique=True),
    Column("secret", LargeBinary, nullable=False),  # variants are derived from it
    Column("title", String(200), nullable=False),
    Column("questions", JsonText, nullable=False),
    Column("question_count", Integer, nullable=False),
    Column("per_student", Boolean, nullable=False),
    Column("hints", Boolean, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("counts", String(8), nullable=False),  # best | last
    Column("feedback", String(16), nullable=False),  # at_once | after_reveal
    Column("new_variant_on_retry", Boolean, nullable=False),
    Column("opens_at", UtcTime),
    Column("closes_at", UtcTime),
    Column("revealed_at", UtcTime),
    Column("created_at", UtcTime, nullable=False),
)

students = Table(
    "students",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("assignment_id", String(32), ForeignKey("assignments.id", ondelete="CASCADE"), nullable=False),
    Column("number", Integer, nullable=False),  # 1, 2, 3 ... within the assignment
    Column("name", String(60), nullable=False),  # as typed; "" when the student gave none
    Column("token_hash", String(64), nullable=False, unique=True),
    Column("joined_at", UtcTime, nullable=False, index=True),
    UniqueConstraint("assignment_id", "number"),
)

answers = Table(
    "answers",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("student_id", String(32), ForeignKey("students.id", ondelete="CASCADE"), nullable=False),
    Column("question", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("idempotency_key", String(100), nullable=False),
    Column("answers", JsonText, nullable=False),
    Column("score", Float(53), nullable=False),
    Column("max_score", Float(53), nullable=False),
    Column("misconceptions", JsonText, nullable=False),  # sorted ids, for the histogram
    Column("result", JsonText, nullable=False),  # the whole grade, step by step
    Column("submitted_at", UtcTime, nullable=False),
    UniqueConstraint("student_id", "question", "attempt"),
    UniqueConstraint("student_id", "idempotency_key"),
    CheckConstraint("attempt >= 1", name="attempt"),
    CheckConstraint("score >= 0 AND score <= max_score", name="score"),
)

# Tries of the teacher key and of join codes that failed or are still being checked (limits.py).
tries = Table(
    "tries",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("kind", String(20), nullable=False),
    Column("source_hash", String(64), nullable=False),
    Column("at", UtcTime, nullable=False),
    Index(None, "kind", "at"),
)
