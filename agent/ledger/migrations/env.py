"""What Alembic runs: the revisions, on the connection and transaction that ``agent.ledger.file.opening`` opened."""

from alembic import context

from agent.ledger.file.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
