"""Alembic's entry: runs the migrations on the connection, and inside the transaction, that schema.py hands over."""

from alembic import context

from specdec_core.classroom.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=True,  # true of SQLite as well: database.py says BEGIN itself
    render_as_batch=True,  # SQLite alters a table by copying it
)
with context.begin_transaction():
    context.run_migrations()
