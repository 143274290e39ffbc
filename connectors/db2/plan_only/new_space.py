"""New spaces by hand: a storage group on z/OS, disk units of an ASP on IBM i.

Both are routes by hand, approved and looked for in the catalog like any other. On z/OS the place is a list of volumes
(``SSD001,SSD002``), ``*`` where SMS chooses them, or an SMS storage class (``STORCLAS(FAST)``). On IBM i the space is a
medium of an ASP (``ASP1 SSD``) and the place a list of disk units that no ASP uses (``DMP002,DMP019``); units are added
in SST, for which there is no command, so the file says what to choose there. An independent ASP is a database of its
own: what makes one is printed, and no proposal.

Sources of each statement: ``tests/db2/sources.md``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from connectors.db2.names import identifier, literal
from connectors.db2.plan_only import ibm_i, zos
from connectors.db2.plan_only.ibm_i import LAST_NUMBERED, cl_name
from connectors.db2.plan_only.look import NOT_CONFIGURED, SSD, pool_name
from connectors.db2.plan_only.session import PlanSession, Row
from connectors.kit.places import not_checked
from connectors.model.formatting import comment
from connectors.model.moves import ByHand, Locked, NoRoute, Route
from connectors.model.new_space import (
    DEVICE,
    DROP_SPACE,
    EMPTY,
    NEW_SPACE,
    OWNER,
    RESTART,
    Check,
    CheckState,
    SpaceAnswer,
    WantedSpace,
    bundle_of_space,
    notes_of,
    refuse_place,
)
from connectors.model.observation import Home, Inspection

SMS = "*"  # in place of volumes
NAME_BYTES = 128
_VOLUME = re.compile(r"[A-Z0-9$#@]{1,6}")
_CLASS = re.compile(r"STORCLAS\(([A-Z$#@][A-Z0-9$#@]{0,7})\)")
_CATALOG = re.compile(r"[A-Z$#@][A-Z0-9$#@]{0,7}")
_MEDIUM = re.compile(r"ASP([1-9][0-9]{0,2}) (SSD|HDD)")
OWN_DATABASE = (
    "an independent ASP is a database of its own, which takes a configuration of its own; what is in this one moves "
    "there by save and restore only"
)


def _propose(wanted: WantedSpace, checks: Sequence[Check], by_hand: ByHand, *notes: str) -> SpaceAnswer:
    """The route by hand, or why not: a check fails."""
    refusal = refuse_place(wanted, checks)
    if refusal is not None:
        return SpaceAnswer(answer=refusal, checks=tuple(checks))
    route = Route(
        name=NEW_SPACE, bundle=bundle_of_space(wanted.name), to_space=wanted.name, prologue=(), steps=(), undo_steps=(),
        online=True, locks="none on any table", locked=Locked.NOTHING, log_bytes=0, transient_bytes=0,
        notes=(*notes_of(checks, wanted.accepted), *notes), by_hand=by_hand,
    )  # fmt: skip
    return SpaceAnswer(answer=route, checks=tuple(checks))


def _inspection(home: Home, sentence: str) -> Inspection:
    return Inspection(home=home, sentence=sentence, size_bytes=0, on_disk=None)


# -- z/OS ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """A storage group as the catalog has it."""

    catalog: str
    volumes: tuple[str, ...]
    storage_class: str | None  # None: not shown here


def _groups(session: PlanSession) -> dict[str, _Group]:
    volumes: dict[str, list[str]] = {}
    for row in session.rows("z_volumes"):
        volumes.setdefault(str(row[0]), []).append(str(row[1]))
    return {
        str(name): _Group(
            catalog=str(catalog or ""),
            volumes=tuple(sorted(volumes.get(str(name), ()))),
            storage_class=None if of_class is None else str(of_class),
        )
        for name, catalog, of_class in session.rows("z_new_groups")
    }


def _create_group(name: str, group: _Group) -> str:
    volumes = f" VOLUMES ({', '.join(map(literal, group.volumes))})" if group.volumes else ""
    of_class = f" STORCLAS {group.storage_class}" if group.storage_class else ""
    return f"CREATE STOGROUP {identifier(name)}{volumes} VCAT {group.catalog}{of_class};"


def new_storage_group(wanted: WantedSpace, session: PlanSession) -> SpaceAnswer:
    """``CREATE STOGROUP`` for a person; back ``DROP STOGROUP``, which drops nothing that lies in a group.

    Raises:
        ConnectorError: the engine did not answer.
    """
    groups = _groups(session)
    catalogs = Counter(group.catalog for group in groups.values() if _CATALOG.fullmatch(group.catalog))
    refusal = _refuse_group(wanted, groups, catalogs)
    if refusal is not None:
        return SpaceAnswer(answer=refusal)
    (catalog, having), *_ = catalogs.most_common(1)
    of_class = _CLASS.fullmatch(wanted.location)
    volumes = () if of_class else tuple(sorted(_names_in(wanted.location)))
    group = _Group(catalog=catalog, volumes=volumes, storage_class=of_class[1] if of_class else "")
    name = identifier(wanted.name)
    by_hand = ByHand(
        statements=(
            _create_group(wanted.name, group), "COMMIT;",
            comment(f"who moves spaces to it needs USE of it: GRANT USE OF STOGROUP {name} TO ...;"),
            comment(f"a new table space in it: CREATE TABLESPACE ... IN ... USING STOGROUP {name};"),
        ),
        because="hotplace opens no session on z/OS that may write", run_with=zos.RUN_WITH,
        undo=(f"DROP STOGROUP {name};", "COMMIT;"),
    )  # fmt: skip
    alike = f"VCAT {catalog}, as {having} of {len(groups)} storage groups have it"
    return _propose(wanted, _checks_of_volumes(group, groups), by_hand, alike)


def _names_in(location: str) -> tuple[str, ...]:
    return tuple(part.strip(" ") for part in location.split(","))


def _refuse_group(wanted: WantedSpace, groups: Mapping[str, _Group], catalogs: Counter[str]) -> NoRoute | None:
    name, place = wanted.name, wanted.location
    listed = _names_in(place)
    volumes = all(map(_VOLUME.fullmatch, listed)) and len(set(listed)) == len(listed)
    known = place == SMS or volumes or _CLASS.fullmatch(place) is not None
    reasons = (
        (not name or not name.isprintable(), "name", "the name of a storage group has printable characters only"),
        (len(name.encode()) > NAME_BYTES, "name", f"the name of a storage group has at most {NAME_BYTES} bytes"),
        (name in groups, "exists", f"there is a storage group {name} already"),
        (not known, "location", "the location is volumes (SSD001,SSD002), * or STORCLAS(NAME) where SMS chooses them"),
        (not catalogs, "catalog", "no storage group is shown here whose catalog (VCAT) a new one could have"),
    )
    return next((NoRoute(code=code, sentence=sentence) for applies, code, sentence in reasons if applies), None)


def _checks_of_volumes(group: _Group, groups: Mapping[str, _Group]) -> tuple[Check, ...]:
    """Only what storage groups have is seen: a volume of one that data is in is no other device."""
    states = {check.name: check for check in not_checked("Db2 for z/OS does not look at volumes")}
    used = sorted((volume, name) for name, each in groups.items() for volume in each.volumes if volume in group.volumes)
    if not group.volumes or SMS in group.volumes:
        sentence = "SMS chooses the volumes"
        states[DEVICE] = Check(name=DEVICE, state=CheckState.NOT_CHECKED, sentence=sentence)
    elif used:
        sentence = f"the storage group {used[0][1]} has the volume {used[0][0]}, too"
        states[DEVICE] = Check(name=DEVICE, state=CheckState.FAILS, sentence=sentence)
    elif any(SMS in each.volumes or not each.volumes for each in groups.values()):
        sentence = "no other storage group names these volumes, but SMS chooses those of some groups"
        states[DEVICE] = Check(name=DEVICE, state=CheckState.NOT_CHECKED, sentence=sentence)
    else:
        sentence = f"no other storage group has {', '.join(group.volumes)}"
        states[DEVICE] = Check(name=DEVICE, state=CheckState.HOLDS, sentence=sentence)
    return tuple(states.values())


def inspect_storage_group(route: Route, session: PlanSession) -> Inspection:
    """Whether the storage group is there as it was approved.

    Raises:
        ConnectorError: the engine did not answer.
    """
    name, drops = route.to_space, route.name == DROP_SPACE
    group = _groups(session).get(name)
    if group is None:
        return _inspection(Home.TARGET if drops else Home.SOURCE, f"there is no storage group {name}")
    there = f"there is the storage group {name}"
    if drops:
        return _inspection(Home.SOURCE, there)
    approved = () if route.by_hand is None else route.by_hand.statements
    if group.storage_class is None or _create_group(name, group) in approved:
        return _inspection(Home.TARGET, there)
    return _inspection(Home.ELSEWHERE, f"{there}, with other volumes, catalog or class than was approved")


# -- IBM i -----------------------------------------------------------------------------------------------------------


def new_units(wanted: WantedSpace, session: PlanSession) -> SpaceAnswer:
    """Disk units for an ASP, added in SST by a person; for another name than that of a medium an independent ASP.

    Raises:
        ConnectorError: the engine did not answer.
    """
    names, medium = _names_in(wanted.location), _MEDIUM.fullmatch(wanted.name)
    if not all(map(cl_name, names)):
        return _no("location", "the location is disk units by their resource names, as in DMP002,DMP019")
    if medium is None:
        return _independent(wanted.name, names)
    asp, fast = int(medium[1]), medium[2] == "SSD"
    if asp > LAST_NUMBERED:
        return _no("name", f"ASP {asp} is independent and goes by the name of its device, as in: space create IASP1")
    rows = session.rows("i_all_units")
    if _has_medium(rows, asp, fast=fast):
        return _no("exists", f"{wanted.name} is there already: units that are added to it make it larger by themselves")
    slow = [str(row[0]) for row in rows if str(row[0]) in names and fast and int(row[3] or 0) != SSD]
    if slow:
        return _no("location", f"{slow[0]} is no SSD: its UNIT_TYPE in QSYS2.SYSDISKSTAT is another one")
    units = ", ".join(map(cl_name, names))
    by_hand = ByHand(
        statements=(
            comment("In SST (CL: STRSST): Work with disk units, Work with disk configuration, Add units to ASPs:"),
            comment(f"{units} to ASP {asp}. Where the ASP is protected, start parity or mirroring for them first."),
            comment("Data need not be balanced for it: what is preferred for SSD moves with STRASPBAL TYPE(*MP)."),
            comment("hotplace sees the units in QSYS2.SYSDISKSTAT."),
        ),
        because="disk units are configured in SST, for which there is no command",
        run_with="nothing of it is a statement: it is done in SST by someone with *SERVICE",
        undo=(
            comment("By their unit numbers: CL: STRASPBAL TYPE(*ENDALC) UNIT(...); then CL: STRASPBAL TYPE(*MOVDTA);"),
            comment(f"once {units} are empty, in SST: Remove units from configuration."),
        ),
    )  # fmt: skip
    return _propose(wanted, _checks_of_units(names, rows), by_hand)


def _no(code: str, sentence: str) -> SpaceAnswer:
    return SpaceAnswer(answer=NoRoute(code=code, sentence=sentence))


def _independent(name: str, units: Sequence[str]) -> SpaceAnswer:
    device = cl_name(name)
    if not device:
        return _no(
            "name", "the name is that of a medium of an ASP, as in 'ASP1 SSD', or of an independent ASP's device"
        )
    create = f"CL: CFGDEVASP ASPDEV({device}) ACTION(*CREATE) TYPE(*PRIMARY) UNITS({' '.join(map(cl_name, units))});"
    return SpaceAnswer(answer=ByHand(statements=(create,), because=OWN_DATABASE, run_with=ibm_i.RUN_WITH))


def _has_medium(rows: Sequence[Row], asp: int, *, fast: bool) -> bool:
    return any(
        int(row[1] or 0) == asp and int(row[2] or 0) != NOT_CONFIGURED and (int(row[3] or 0) == SSD) == fast
        for row in rows
    )


def _checks_of_units(names: Sequence[str], rows: Sequence[Row]) -> tuple[Check, ...]:
    known = {str(row[0]): row for row in rows}
    if not known:
        return not_checked("QSYS2.SYSDISKSTAT shows no disk unit here")
    gone = [name for name in names if name not in known]
    used = [name for name in names if name in known and int(known[name][2] or 0) != NOT_CONFIGURED]
    if gone:
        empty, sentence = CheckState.FAILS, f"QSYS2.SYSDISKSTAT shows no unit {gone[0]}"
    elif used:
        row = known[used[0]]
        empty, sentence = CheckState.FAILS, f"{used[0]} is unit {int(row[2])} of ASP {int(row[1])} already"
    else:
        empty, sentence = CheckState.HOLDS, "no ASP uses any of the units"
    other = CheckState.HOLDS if empty is CheckState.HOLDS else CheckState.NOT_CHECKED
    return (
        Check(name=EMPTY, state=empty, sentence=sentence),
        Check(name=OWNER, state=CheckState.NOT_CHECKED, sentence="disk units have no owner; SST takes *SERVICE"),
        Check(name=DEVICE, state=other, sentence="what lies below units (SAN, VIOS) is not seen; no ASP is on them"),
        Check(name=RESTART, state=other, sentence="the disk configuration is kept over an IPL"),
    )


def inspect_units(route: Route, session: PlanSession) -> Inspection:
    """Whether the ASP has the medium.

    Raises:
        ConnectorError: the engine did not answer.
    """
    medium, drops = _MEDIUM.fullmatch(route.to_space), route.name == DROP_SPACE
    there = medium is not None and _has_medium(session.rows("i_all_units"), int(medium[1]), fast=medium[2] == "SSD")
    name = route.to_space if medium is None else pool_name(int(medium[1]), fast=medium[2] == "SSD")
    sentence = f"there is {'' if there else 'no '}{name}"
    return _inspection(Home.TARGET if there != drops else Home.SOURCE, sentence)
