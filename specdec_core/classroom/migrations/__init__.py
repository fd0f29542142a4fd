"""The history of the tables, run by schema.py. Alembic reads this folder; nothing imports it."""
