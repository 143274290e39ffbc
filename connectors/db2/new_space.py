"""Making a storage group on an empty path, and dropping it while no table space uses it.

``CREATE STOGROUP ... ON``; back ``DROP STOGROUP ... RESTRICT``, which the server refuses as long as a table space uses
the group. Source: IBM's SQL Reference, CREATE STOGROUP and DROP. Where tiers name table spaces (``move_by: table``)
the group gets a table space of its name. ``DROP TABLESPACE`` drops what is in it, and nothing could keep a table from
coming between a look and the statement: a person makes that one and takes it back, after a look that fails unless it is
empty.
"""

from __future__ import annotations

from pathlib import PurePosixPath, PureWindowsPath

from connectors.db2.names import identifier, literal
from connectors.db2.operations import CREATE_GROUP, DROP_GROUP, Statement, Tagged
from connectors.db2.settings import Db2Settings
from connectors.db2.storage import ServerStorage
from connectors.db2.table_move import lock_timeout
from connectors.kit.clients import CLP
from connectors.kit.places import not_checked
from connectors.model.formatting import with_semicolon
from connectors.model.moves import ByHand, Locked, NoRoute, Operation, Parameter, Route
from connectors.model.new_space import (
    DEVICE,
    DROP_SPACE,
    NEW_SPACE,
    Check,
    CheckState,
    SpaceAnswer,
    WantedSpace,
    accepted_of,
    bundle_of_space,
    notes_of,
    refuse_place,
)
from connectors.model.observation import Home, Inspection

NAME_BYTES, PATH_BYTES = 128, 175
NO_VIEW = "Db2 documents no function that looks into a folder of its host"
NEEDS = "it takes SYSADM or SYSCTRL; without it the server refuses (SQL0552N)"
NO_SAFE_WAY_BACK = (
    "the tiers name table spaces (move_by: table), and DROP TABLESPACE drops what is in one: a person sees to it that "
    "nothing comes to it meanwhile"
)


def routes_new_space(wanted: WantedSpace, storage: ServerStorage, settings: Db2Settings) -> SpaceAnswer:
    """See ``MakesSpaces``. Pure."""
    refusal = _refuse(wanted, storage)
    if refusal is not None:
        return SpaceAnswer(answer=refusal)
    checks = _checks(wanted.location, storage)
    refusal = refuse_place(wanted, checks)
    if refusal is not None:
        return SpaceAnswer(answer=refusal, checks=checks)
    name = identifier(wanted.name)
    create = _create_group(wanted.name, wanted.location)
    if not settings.by_group:
        return SpaceAnswer(answer=_table_space(wanted, create, checks), checks=checks)
    known: dict[str, Parameter] = {"group": wanted.name, "path": wanted.location, "accepted": wanted.accepted}
    there = Statement(create, f"make the storage group {wanted.name}", Operation(CREATE_GROUP, known))
    back = Statement(
        f"DROP STOGROUP {name} RESTRICT", f"drop the storage group {wanted.name}, refused while a table space uses it",
        Operation(DROP_GROUP, known),
    )  # fmt: skip
    tagged = Tagged((there,), (back,), settings.move_timeout)
    tables = f"single tables need a table space of it: CREATE TABLESPACE ... USING STOGROUP {name}"
    route = Route(
        name=NEW_SPACE,
        bundle=bundle_of_space(wanted.name),
        to_space=wanted.name,
        prologue=(lock_timeout(settings),),
        steps=tagged.steps(),
        undo_steps=tagged.undo_steps(),
        online=True,
        locks="none on any table",
        locked=Locked.NOTHING,
        log_bytes=0,
        transient_bytes=0,
        notes=(*notes_of(checks, wanted.accepted), NEEDS, tables),
    )
    return SpaceAnswer(answer=route, checks=checks)


def _create_group(name: str, path: str) -> str:
    return f"CREATE STOGROUP {identifier(name)} ON {literal(path)}"


def _table_space(wanted: WantedSpace, create: str, checks: tuple[Check, ...]) -> Route:
    """A storage group and a table space in it, both of one name, for a person."""
    name = identifier(wanted.name)
    space = f"CREATE TABLESPACE {name} MANAGED BY AUTOMATIC STORAGE USING STOGROUP {name}"
    hand = ByHand(
        statements=(with_semicolon(create), with_semicolon(space)), because=NO_SAFE_WAY_BACK, run_with=CLP.run_with,
        undo=(
            with_semicolon(_fail_unless_empty(wanted.name)),
            f"DROP TABLESPACE {name};", f"DROP STOGROUP {name} RESTRICT;",
        ),
    )  # fmt: skip
    return Route(
        name=NEW_SPACE, bundle=bundle_of_space(wanted.name), to_space=wanted.name, prologue=(), steps=(), undo_steps=(),
        online=True, locks="none on any table", locked=Locked.NOTHING, log_bytes=0, transient_bytes=0,
        notes=(*notes_of(checks, wanted.accepted), NEEDS), by_hand=hand,
    )  # fmt: skip


def _fail_unless_empty(name: str) -> str:
    """One statement that ends with SQLSTATE 75001 while a table, an index or a data partition is in the table space."""
    own = f"(SELECT TBSPACEID FROM SYSCAT.TABLESPACES WHERE TBSPACE = {literal(name)})"  # noqa: S608  # a literal
    held = " OR ".join(
        f"EXISTS (SELECT 1 FROM {view} WHERE {wanted} IN ({columns}))"  # noqa: S608  # names of ours
        for view, wanted, columns in (
            ("SYSCAT.TABLES", literal(name), "TBSPACE, INDEX_TBSPACE, LONG_TBSPACE"),
            ("SYSCAT.INDEXES", own, "TBSPACEID"),
            ("SYSCAT.DATAPARTITIONS", own, "TBSPACEID, INDEX_TBSPACEID, LONG_TBSPACEID"),
        )
    )
    return f"VALUES CASE WHEN {held} THEN RAISE_ERROR('75001', 'the table space is not empty') ELSE 0 END"


def _refuse(wanted: WantedSpace, storage: ServerStorage) -> NoRoute | None:
    name, path = wanted.name, wanted.location
    absolute = path.startswith("/") or PureWindowsPath(path).is_absolute()
    reasons = (
        (not name or not name.isprintable(), "name", "the name of a storage group has printable characters only"),
        (len(name.encode()) > NAME_BYTES, "name", f"the name of a storage group has at most {NAME_BYTES} bytes"),
        (name.upper().startswith("SYS"), "name", "names that begin with SYS are the server's own"),
        (not path.isprintable(), "location", "the location has printable characters only"),
        (not absolute, "location", "the location is an absolute path of the server's host"),
        (len(path.encode()) > PATH_BYTES, "location", f"a storage path has at most {PATH_BYTES} bytes"),
        (name in storage.groups, "exists", f"there is a storage group {name} already"),
        (storage.space_named(name) is not None, "exists", f"there is a table space {name} already"),
    )
    return next((NoRoute(code=code, sentence=sentence) for applies, code, sentence in reasons if applies), None)


def _checks(path: str, storage: ServerStorage) -> tuple[Check, ...]:
    """What paths say: within one that the database uses, the place is on the same device."""
    here = PurePosixPath(path)
    for group in storage.groups.values():
        for used in group.paths:
            if here.is_relative_to(used) or PurePosixPath(used).is_relative_to(here):
                words = f"the storage group {group.name} uses {used} already"
                mine = Check(name=DEVICE, state=CheckState.FAILS, sentence=words)
                return tuple(mine if check.name == DEVICE else check for check in not_checked(NO_VIEW))
    return not_checked(NO_VIEW)


def space_of(route: Route) -> Operation | None:
    """What the route does to a storage group as a whole; None: it is a route of another kind."""
    made = route.steps[0].operation if route.steps else None
    return made if made is not None and made.name in {CREATE_GROUP, DROP_GROUP} else None


def inspect_table_space(storage: ServerStorage, route: Route) -> Inspection:
    """Whether the table space that a person makes is there, in its own group on the path that was approved."""
    name, drops = route.to_space, route.name == DROP_SPACE
    space, group = storage.space_named(name), storage.groups.get(name)
    if space is None:
        # Half of it is not there and not gone: the group alone.
        home = Home.ELSEWHERE if drops and group is not None else Home.TARGET if drops else Home.SOURCE
        return _there(home, f"there is no table space {name}{'' if group is None else ', but its storage group'}")
    if drops:
        return _there(Home.SOURCE, f"there is the table space {name}")
    approved = () if route.by_hand is None else route.by_hand.statements
    if group is None or space.group != name:
        return _there(Home.ELSEWHERE, f"the table space {name} is not in the storage group {name}")
    if group.paths and tuple(with_semicolon(_create_group(name, path)) for path in group.paths) != approved[:1]:
        return _there(Home.ELSEWHERE, f"the storage group {name} is on {', '.join(group.paths)}, not as approved")
    return _there(Home.TARGET, f"the table space {name} is in its storage group")


def _there(home: Home, sentence: str) -> Inspection:
    return Inspection(
        home=home, sentence=sentence, size_bytes=0, on_disk=None, running=False, finished=home is Home.TARGET
    )  # fmt: skip


def inspect_group(storage: ServerStorage, made: Operation) -> Inspection:
    """Whether the storage group is there, on the path that was approved and no other."""
    name, path = made.text("group"), made.text("path")
    group, drops = storage.groups.get(name), made.name == DROP_GROUP
    home, sentence = (Home.TARGET if drops else Home.SOURCE), f"there is no storage group {name}"
    if group is not None and group.paths and group.paths != (path,):
        home, sentence = Home.ELSEWHERE, f"the storage group {name} is on {', '.join(group.paths)}, not on {path} alone"
    elif group is not None:
        home, sentence = (Home.SOURCE if drops else Home.TARGET), f"the storage group {name} is on {path}"
    elif not drops:
        against = refuse_place(
            WantedSpace(name=name, location=path, accepted=accepted_of(made)), _checks(path, storage)
        )
        if against is not None:
            home, sentence = Home.ELSEWHERE, against.sentence
    used = [space.name for space in storage.spaces.values() if space.group == name]
    if drops and home is Home.SOURCE and used:
        home, sentence = Home.ELSEWHERE, f"the storage group {name} is used by the table space {used[0]}"
    return _there(home, sentence)
