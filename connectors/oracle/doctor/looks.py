"""Whether this login may look at the buffer cache, and what a look would cost."""

from __future__ import annotations

from connectors.blocks import BLOCK_HEAT
from connectors.findings import Capability, Finding
from connectors.oracle.doctor.grants import missing_views, select_remedy
from connectors.oracle.session.queries import query
from connectors.oracle.session.sessions import ReadSession

QUERIES = ("blocks", "blocks_extents", "blocks_pool", "blocks_read")


def block_capability(session: ReadSession, login: str) -> Capability:
    """Whether this login may look at the buffer cache, and the statements that let it."""
    missing = missing_views(session, QUERIES)
    needs = "the right to read V$BH and where segments lie"
    return Capability.of(BLOCK_HEAT, not missing, needs, select_remedy(missing, login))


def block_finding(session: ReadSession, login: str, *, cluster: bool) -> Finding:
    """For the doctor; nothing else of hotplace needs it, so that it is no warning."""
    missing = missing_views(session, QUERIES)
    if missing:
        views = " and ".join(missing)
        sentence = f"large tables are not looked into: {login} may not read {views}"
        return Finding.info("block_looks", sentence, select_remedy(missing, login))
    instance, _, buffers = session.rows(query("blocks_pool"), doing="looking at the buffer pool")[0]
    seen = f"; of the cluster only instance {instance}'s are seen" if cluster else ""
    return Finding.ok(
        "block_looks",
        f"the hot blocks of large tables can be looked for; a look walks the headers of {int(buffers or 0):,} buffers, "
        f"each under its latch for an instant{seen}",
    )
