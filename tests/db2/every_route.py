"""A route of every form that Db2 has, made from tables and storage that stand still."""

from __future__ import annotations

from dataclasses import replace

from connectors.db2.space_move import Instance, route_out, space_route
from connectors.db2.storage import ServerStorage
from connectors.db2.table_move import table_route
from connectors.model.moves import Route
from tests.db2.facts import FAST_SPACE, SETTINGS, SPACE, STORAGE, bundle, space, table

FOLDERS = {"SSD_FILES": "/ssd/files", "HDD_FILES": "/hdd/files"}
FILES = {"/hdd/files/a": 488, "/hdd/files/it's": 240, "/hdd/files/c": 300}
DMS = space(
    automatic=False, group="", grows=False, containers=tuple(FILES), container_pages=FILES, total_bytes=1028 * 4096,
    used_bytes=300 * 4096, top_page=320,
)  # fmt: skip


def every_route() -> dict[str, Route]:
    """By a name for each form."""
    site = ServerStorage(STORAGE.spaces, STORAGE.groups, FOLDERS)
    whole, of_files = replace(bundle(), space="SLOW"), replace(bundle(), space="HDD_FILES")
    taken = replace(
        bundle(), key="/hdd/files/it's of TS_SLOW", unit_keys=(), physical_ids=(), container="/hdd/files/it's"
    )
    odd = table(name='it\'s a "table"', space='TS "1"')
    found = {
        "table": table_route(table(), bundle(), SPACE, FAST_SPACE, SETTINGS),
        "table of an odd name": table_route(
            odd, bundle('APP."it\'s a ""table"""', space='TS "1"'), replace(SPACE, name='TS "1"'), FAST_SPACE, SETTINGS
        ),
        "storage group": space_route(STORAGE, SPACE, whole, "FAST", SETTINGS, Instance()),
        "swap containers": space_route(site, DMS, of_files, "SSD_FILES", SETTINGS, Instance()),
        "convert": space_route(site, DMS, of_files, "FAST", SETTINGS, Instance()),
        "drop container": route_out(ServerStorage({4: DMS}, STORAGE.groups), taken, SETTINGS, Instance()),
    }
    return {name: route for name, route in found.items() if isinstance(route, Route)}
