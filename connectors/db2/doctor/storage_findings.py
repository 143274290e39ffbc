"""What doctor says of table spaces and storage groups. Pure."""

from __future__ import annotations

from connectors.db2.reading.names import identifier
from connectors.db2.reading.storage import AT_REST, Storage
from connectors.db2.routes.statements import rebalance
from connectors.findings import Finding, Severity


def storage_findings(storage: Storage) -> list[Finding]:
    """A finding for each table space that needs a second look, and what every storage group says of itself."""
    found: list[Finding] = []
    for space in storage.spaces.values():
        if space.state != "NORMAL":
            found.append(
                _space(Severity.WARNING, "space_state", space.name, f"is in state {space.state}", "Bring it to NORMAL.")
            )
        if space.mode == AT_REST and (space.paths_dropped or space.hybrid):
            what = f"has containers that it should have left for storage group {space.group}, and nothing moves them"
            found.append(_space(Severity.WARNING, "space_half_moved", space.name, what, rebalance(space.name)))
        if space.os_cached and space.permanent:
            found.append(
                _space(
                    Severity.INFO,
                    "space_os_cached",
                    space.name,
                    "is cached by the operating system: a physical read may never reach a disk, its time decides",
                    f"ALTER TABLESPACE {identifier(space.name)} NO FILE SYSTEM CACHING, where that is wanted.",
                )
            )
        if space.caching_tier:
            found.append(
                _space(
                    Severity.WARNING,
                    "space_caching_tier",
                    space.name,
                    "has a caching tier: what misses the pool may come from a local SSD already",
                    "Keep it out of the tiers, or watch its read times first.",
                )
            )
    found += [
        Finding.info(
            "storage_group",
            f"storage group {group.name}: OVERHEAD {group.overhead:g} ms, DEVICE READ RATE "
            f"{group.read_rate:g} MB/s, DATA TAG {group.datatag}, paths {', '.join(group.paths) or 'hidden'}",
            "These were typed in, not measured; say in the configuration which tier it is.",
            values={"group": group.name},
        )
        for group in storage.groups.values()
    ]
    return found


def _space(severity: Severity, code: str, name: str, what: str, remedy: str) -> Finding:
    return Finding(
        severity=severity, code=code, sentence=f"table space {name} {what}", remedy=remedy, values={"space": name}
    )
