"""Making a storage group on an empty path, and dropping it while no table space uses it.

``CREATE STOGROUP ... ON``; back ``DROP STOGROUP ... RESTRICT``, which the server refuses as long as a table space uses
the group. Source: IBM's SQL Reference, CREATE STOGROUP and DROP. ``DROP TABLESPACE`` drops what is in it: a table space
has no such way back, so a person makes it where the tiers name table spaces.
"""

from __future__ import annotations

from pathlib import PurePosixPath, PureWindowsPath

from connectors.db2.names import identifier, literal
from connectors.db2.operations import Statement, Tagged
from connectors.db2.settings import Db2Settings
from connectors.db2.storage import ServerStorage
from connectors.db2.table_move import lock_timeout
from connectors.kit.places import not_checked
from connectors.model.moves import ByHand, Locked, NoRoute, Operation, Parameter, Route
from connectors.model.new_space import (
    DEVICE,
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

CREATE_GROUP, DROP_GROUP = "db2.create_storage_group", "db2.drop_storage_group"
NAME_BYTES, PATH_BYTES = 128, 175
NO_VIEW = "Db2 documents no function that looks into a folder of its host"
NEEDS = "it takes SYSADM or SYSCTRL, which hotplace cannot ask for; without it the server refuses (SQL0552N)"
NO_WAY_BACK = (
    "the tiers name table spaces (move_by: table), and DROP TABLESPACE would drop what is in one, so that there is no "
    "safe way back"
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
    create = f"CREATE STOGROUP {name} ON {literal(wanted.location)}"
    if not settings.by_group:
        space = f"CREATE TABLESPACE {name} MANAGED BY AUTOMATIC STORAGE USING STOGROUP {name}"
        return SpaceAnswer(answer=ByHand(statements=(create, space), because=NO_WAY_BACK), checks=checks)
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
    return Inspection(
        home=home, sentence=sentence, size_bytes=0, on_disk=None, running=False, finished=home is Home.TARGET
    )  # fmt: skip
