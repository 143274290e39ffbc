"""How much of a unit is in memory, on demand: what is read from memory gains nothing from a faster disk.

``sys.dm_os_buffer_descriptors`` has a row for each cached page, and a look through a large pool is a burden. So it is
asked for the few units that a plan names, only where the configuration allows a pool of that size, and not for long.
"""

from __future__ import annotations

from connectors.base import ConnectorError
from connectors.sqlserver.reading.definition import Definition
from connectors.sqlserver.reading.spaces import PAGE
from connectors.sqlserver.session.sessions import ReadSession
from connectors.sqlserver.settings import SqlserverSettings

GIB = 2**30
LONGEST_SECONDS = 10.0


def resident_note(session: ReadSession, definition: Definition | None, settings: SqlserverSettings) -> tuple[str, ...]:
    """One sentence for the notes of a route; none where it is not wanted, costs too much, or cannot be read.

    Args:
        session: to ask how large the pool is; the look itself has a session with a time limit of its own.
        definition: of the unit.
        settings: ``residency_up_to_gib`` is the largest pool that may be looked through, 0 for none.
    """
    index = None if definition is None else definition.index
    if settings.residency_up_to_gib <= 0 or definition is None or index is None:
        return ()
    limited = settings.model_copy(update={"statement_timeout": min(LONGEST_SECONDS, settings.statement_timeout)})
    look = session.look(limited, name="hotplace residency")
    try:
        pool = session.rows("pool_size", doing="looking how large the buffer pool is")[0][0]
        if pool is None or pool * PAGE > settings.residency_up_to_gib * GIB:
            return ()
        number = definition.owner.object_id
        cached = look.rows("residency", number, index.index_id, doing=f"counting cached pages of {definition.name.key}")
    except ConnectorError:  # a plan must not fail for want of a remark
        return ()
    finally:
        look.close()
    whole = sum(partition.row_pages for partition in index.partitions)
    share = min(1.0, cached[0][0] / whole) if whole else 0.0
    return (f"{share:.0%} of the index was in memory when this was planned",)
