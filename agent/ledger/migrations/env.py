"""What Alembic runs: the revisions, on the connection and transaction that ``agent.ledger.store.tables`` was given."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
with context.begin_transaction():
    context.run_migrations()
