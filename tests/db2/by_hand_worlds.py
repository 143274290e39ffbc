"""An IBM i and a z/OS that play what their documentation says of scripts: a statement that it lacks is refused.

Each answers the connector's own queries with rows in the shape of documented columns, and carries a script out as the
program does that the script names: RUNSQLSTM, and a command line processor with ``-t``. Neither knows how hotplace
writes its statements; the grammar is that of the pages in ``sources.md``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.db2.hand_made import GIB, Double

FAST, SLOW = 1, 2  # numbers of disk units


class Refused(Exception):
    """The system does not have such a statement, or not now."""


def statements(script: str) -> Iterator[str]:
    """The statements of a script: comments begin with two hyphens, a semicolon outside quotation marks ends each."""
    text = "\n".join(line for line in script.split("\n") if not line.startswith("--"))
    found = re.findall(r"""(?:[^;'"]|'(?:[^']|'')*'|"(?:[^"]|"")*")+;?""", text)
    compound = ""
    for each in (part.strip() for part in found):
        if each:
            assert each.endswith(";"), f"nothing ends {each!r}"
            compound = f"{compound} {each}".strip()
            if not compound.startswith("BEGIN ") or each == "END;":  # a dynamic compound statement goes to its END
                yield compound[:-1]
                compound = ""
    assert not compound, f"nothing ends {compound!r}"


@dataclass(slots=True)
class Held:
    """A table, or an index (of ``table``), of one member of its own name."""

    name: str
    random_reads: int  # in an interval
    table: str = ""
    size: int = GIB
    unit: int = SLOW
    preferred: bool = False  # for SSD
    reads: int = 0  # since the IPL


NAME = r'(?:[A-Z$#@][A-Z0-9$#@_.]{0,9}|"[^*?\'"/\x00-\x3f]{1,8}")'  # *NAME; of a quoted one see ``_bare``
SQL_NAME = r'"((?:[^"]|"")+)"'


@dataclass
class SimulatedI(Double):
    """ASP 1 with an SSD and a hard disk."""

    held: dict[str, Held] = field(default_factory=dict)
    ran: list[str] = field(default_factory=list)
    balancing: bool = False
    tracing: bool = False
    shows_asps: bool = True  # 7.6: to those who may see them
    spare: tuple[str, ...] = ()  # SSDs that are fitted, and in no ASP; until they are added there is no other SSD

    def __init__(self, *held: Held, spare: tuple[str, ...] = ()) -> None:
        super().__init__({})
        self.spare = spare
        self.held = {each.name: each for each in held}
        self.ran, self.balancing, self.tracing, self.shows_asps = [], False, False, True
        self.look()

    def execute(self, operation: str) -> None:
        """Reads go on between two looks."""
        if "SYSPARTITIONSTAT" in operation and "WHERE 1=0" not in operation:
            for each in self.held.values():
                each.reads += each.random_reads
        self.look()
        super().execute(operation)

    def look(self) -> None:
        """What the views show now."""
        tables = [each for each in self.held.values() if not each.table]
        indexes = [each for each in self.held.values() if each.table]
        self.rows = {
            "QSYS2.SYSPARTITIONDISK": [{**self._table(each), **self._on(each)} for each in tables],
            "QSYS2.SYSPARTITIONSTAT": [{**self._table(each), **self._counted(each)} for each in tables],
            "QSYS2.SYSPARTITIONINDEXDISK": [{**self._index(each), **self._on(each)} for each in indexes],
            "QSYS2.SYSPARTITIONINDEXSTAT": [{**self._index(each), **self._counted(each)} for each in indexes],
            "QSYS2.SYSPARTITIONINDEXES": [
                {**self._index(each), "SYSTEM_INDEX_SCHEMA": "SHOP", "SYSTEM_INDEX_NAME": each.name[:10]}
                for each in indexes
            ],
            "QSYS2.SYSDISKSTAT": [
                {"ASP_NUMBER": 1, "UNIT_NUMBER": unit, "UNIT_TYPE": int(unit == FAST),
                 "RESOURCE_NAME": f"DMP00{unit}", "UNIT_STORAGE_CAPACITY": 100 * GIB,
                 "UNIT_SPACE_AVAILABLE": 100 * GIB - sum(e.size for e in self.held.values() if e.unit == unit)}
                for unit in ((SLOW,) if self.spare else (FAST, SLOW))
            ] + [
                {"ASP_NUMBER": 0, "UNIT_NUMBER": 0, "UNIT_TYPE": 1, "RESOURCE_NAME": name,
                 "UNIT_STORAGE_CAPACITY": 100 * GIB, "UNIT_SPACE_AVAILABLE": 0} for name in self.spare
            ],
            "QSYS2.ASP_INFO": [],
        }  # fmt: skip

    @staticmethod
    def _table(each: Held) -> dict[str, Any]:
        return {
            "TABLE_SCHEMA": "SHOP", "TABLE_NAME": each.name, "TABLE_PARTITION": each.name,
            "SYSTEM_TABLE_SCHEMA": "SHOP", "SYSTEM_TABLE_NAME": each.name, "SYSTEM_TABLE_MEMBER": each.name,
        }  # fmt: skip

    @staticmethod
    def _index(each: Held) -> dict[str, Any]:
        return {
            "INDEX_SCHEMA": "SHOP", "INDEX_NAME": each.name, "INDEX_MEMBER": each.name[:10], "INDEX_TYPE": "INDEX",
            "TABLE_SCHEMA": "SHOP", "TABLE_NAME": each.table, "TABLE_PARTITION": each.table,
        }  # fmt: skip

    @staticmethod
    def _counted(each: Held) -> dict[str, Any]:
        return {
            "LOGICAL_READS": 2 * each.reads, "PHYSICAL_READS": each.reads, "SEQUENTIAL_READS": 0,
            "RANDOM_READS": each.reads,
        }  # fmt: skip

    @staticmethod
    def _on(each: Held) -> dict[str, Any]:
        return {
            "ASP_NUMBER": 1, "UNIT_NUMBER": each.unit, "UNIT_TYPE": int(each.unit == FAST),
            "UNIT_SPACE_USED": each.size,
            "UNIT_MEDIA_CAPACITY": 100 * GIB, "UNIT_SPACE_AVAILABLE": 50 * GIB,
        }  # fmt: skip

    def run(self, script: str) -> None:
        """As RUNSQLSTM: the first statement that is refused ends it.

        Raises:
            Refused: it is.
        """
        for each in statements(script):
            self.ran.append(each)
            if each.startswith("CL: "):
                self._command(each.removeprefix("CL: "))
            elif found := re.fullmatch(rf"ALTER TABLE {SQL_NAME}\.{SQL_NAME} ALTER UNIT (SSD|ANY)", each):
                self._prefer(found[1], found[2], found[3])
            elif each.startswith("BEGIN "):
                self._compound(each)
            else:
                raise Refused(each)

    def _compound(self, text: str) -> None:
        """The one kind that is known here: a look into ASP_INFO, and SIGNAL unless a row is as it asks."""
        found = re.fullmatch(
            r"BEGIN IF NOT EXISTS \(SELECT 1 FROM QSYS2\.ASP_INFO WHERE ASP_NUMBER = (\d+) AND (.+)\) "
            r"THEN SIGNAL SQLSTATE '([0-9A-Z]{5})' SET MESSAGE_TEXT = '([^']{1,70})'; END IF; END",
            text,
        )
        asked = r"COALESCE\((\w+), ''\) IN \(([^()]*)\)"
        if found is None or re.sub(asked, "?", found[2]) != "? AND ?":
            raise Refused(text)
        row = {
            "BALANCE_STATUS": "IN PROGRESS" if self.balancing else "",
            "TRACE_STATUS": "IN PROGRESS" if self.tracing else "",
        }
        shown = self.shows_asps and found[1] == "1"
        if not (
            shown and all(f"'{row[column]}'" in words.split(", ") for column, words in re.findall(asked, found[2]))
        ):
            raise Refused(f"{found[3]}: {found[4]}")

    def _command(self, command: str) -> None:
        file = rf"FILE\(({NAME})/({NAME})\)"
        if found := re.fullmatch(rf"CHG[PL]F(?:M {file} MBR\({NAME}\)| {file}) UNIT\(\*(SSD|ANY)\)", command):
            self._prefer(_bare(found[1] or found[3]), _bare(found[2] or found[4]), found[5])
        elif re.fullmatch(
            r"STRASPBAL TYPE\(\*MP\) ASP\(1\)( SUBTYPE\(\*(CALC|SSD|HDD)\))? TIMLMT\((\*NOMAX|\d{1,4})\)"
            r"( PRIORITY\(\*(LOW|MEDIUM|HIGH)\))?",
            command,
        ):
            if self.balancing:
                raise Refused("a balance runs in ASP 1 already")
            self.balancing = True
        else:
            raise Refused(command)

    def add_units(self) -> None:
        """In SST, by someone with *SERVICE: what was spare is in ASP 1 from now on."""
        self.spare = ()
        self.look()

    def _prefer(self, schema: str, name: str, media: str) -> None:
        found = next((each for each in self.held.values() if (schema, each.name[: len(name)]) == ("SHOP", name)), None)
        if found is None:
            raise Refused(f"{schema}.{name} does not exist")
        found.preferred = media == "SSD"

    def balance(self) -> None:
        """The balance runs to its end."""
        assert self.balancing, "nothing was started"
        for each in self.held.values():
            each.unit = FAST if each.preferred else SLOW
        self.balancing = False
        self.look()


def _bare(name: str) -> str:
    return name.strip('"')


@dataclass(slots=True)
class Space:
    """Data sets of a table space, its partitions, or an index space."""

    database: str
    name: str
    group: str
    kind: str = ""  # of SYSTABLESPACE.TYPE
    partition: int = 0
    index: tuple[str, str] | None = None  # creator and name
    kilobytes: int = 1 << 20
    defined: str = ""  # group that an ALTER has given and no REORG has taken yet
    stopped: bool = False


class SimulatedZ(Double):
    """Db2 for z/OS: the catalog shows the group that was given; the data sets move with the REORG that follows."""

    def __init__(self, *spaces: Space) -> None:
        super().__init__({})
        self.spaces = spaces
        self.groups: dict[str, tuple[tuple[str, ...], str]] = {"SGHDD": (("HDD001", "HDD002"), "")}  # volumes, class
        self.ran: list[str] = []
        self.look()

    def look(self) -> None:
        """What the catalog shows now."""
        tables = [each for each in self.spaces if each.index is None]
        indexes = [(each, each.index) for each in self.spaces if each.index is not None]
        self.rows = {
            "SYSIBM.SYSTABLESPACESTATS": [
                {"DBNAME": e.database, "NAME": e.name, "PARTITION": e.partition, "INSTANCE": 1, "SPACE": e.kilobytes,
                 "UPDATESTATSTIME": None} for e in tables
            ],
            "SYSIBM.SYSSTOGROUP": [
                {"NAME": name, "VCATNAME": "DSNCAT", "STORCLAS": self.groups.get(name, ((), ""))[1]}
                for name in sorted({*self.groups, *(e.group for e in self.spaces)})
            ],
            "SYSIBM.SYSVOLUMES": [
                {"SGNAME": name, "VOLID": volume} for name, (volumes, _) in self.groups.items() for volume in volumes
            ],
            "SYSIBM.SYSTABLEPART": [
                {"DBNAME": e.database, "TSNAME": e.name, "PARTITION": e.partition, "STORTYPE": "I",
                 "STORNAME": e.defined or e.group} for e in tables
            ],
            "SYSIBM.SYSTABLESPACE": [
                {"DBNAME": e.database, "NAME": e.name, "PARTITIONS": e.partition, "TYPE": e.kind} for e in tables
            ],
            "SYSIBM.SYSINDEXSPACESTATS": [
                {"DBNAME": e.database, "NAME": i[1], "CREATOR": i[0], "INDEXSPACE": e.name, "PARTITION": e.partition,
                 "INSTANCE": 1, "SPACE": e.kilobytes, "UPDATESTATSTIME": None} for e, i in indexes
            ],
            "SYSIBM.SYSINDEXPART": [
                {"IXCREATOR": i[0], "IXNAME": i[1], "PARTITION": e.partition, "STORTYPE": "I",
                 "STORNAME": e.defined or e.group} for e, i in indexes
            ],
        }  # fmt: skip

    def run(self, script: str) -> None:
        """As a command line processor that stops at the first error.

        Raises:
            Refused: a statement is.
        """
        for each in statements(script):
            self.ran.append(each)
            self._statement(each)
        self.look()

    def _statement(self, text: str) -> None:
        if text == "COMMIT":
            return
        if found := re.fullmatch(
            r"CALL SYSPROC\.ADMIN_COMMAND_DB2\('([^']*)', (\d+), ' ', NULL, \?, \?, \?, \?, \?, \?, \?, \?\)", text
        ):
            assert len(found[1]) == int(found[2])
            self._command(found[1])
        elif found := re.fullmatch(r"CALL SYSPROC\.DSNUTILU\('(\w{1,16})', 'NO', '([^']*)', \?\)", text):
            self._utility(found[2])
        elif found := re.fullmatch(
            rf"ALTER (TABLESPACE|INDEX) {SQL_NAME}\.{SQL_NAME}( ALTER PARTITION (\d+))? USING STOGROUP {SQL_NAME}", text
        ):
            self._alter(found[1] == "INDEX", found[2], found[3], int(found[5] or 0), found[6])
        else:
            self._group(text)

    def _group(self, text: str) -> None:
        volume = r"(?:'\*'|'[A-Z0-9$#@]{1,6}')"
        made = re.fullmatch(
            rf"CREATE STOGROUP {SQL_NAME}( VOLUMES \(({volume}(?:, {volume})*)\))? VCAT ([A-Z$#@]\w{{0,7}})"
            r"( STORCLAS ([A-Z$#@]\w{0,7}))?",
            text,
        )
        dropped = re.fullmatch(rf"DROP STOGROUP {SQL_NAME}", text)
        if made is not None and (made[2] or made[5]):
            name = made[1].replace('""', '"')
            if name in self.groups:
                raise Refused(f"-601 {name}")
            self.groups[name] = tuple(re.findall(r"'([^']+)'", made[3] or "")), made[6] or ""
        elif dropped is not None and dropped[1].replace('""', '"') in self.groups:
            name = dropped[1].replace('""', '"')
            if any(name in (each.group, each.defined) for each in self.spaces):
                raise Refused(f"-616 {name}")
            del self.groups[name]
        else:
            raise Refused(text)

    def _command(self, text: str) -> None:
        found = re.fullmatch(
            r"-(STOP|START|DISPLAY) DATABASE\(([A-Z0-9$#@]{1,8})\) SPACENAM\(([A-Z0-9$#@]{1,8})\)"
            r"( PART\((\d+)\))?( ACCESS\((RW|RO|UT)\))?",
            text,
        )
        if found is None or (found[6] and found[1] != "START"):
            raise Refused(text)
        hit = [e for e in self.spaces if (e.database, e.name) == (found[2], found[3])]
        for each in hit if found[5] is None else [e for e in hit if e.partition == int(found[5])]:
            each.stopped = each.stopped if found[1] == "DISPLAY" else found[1] == "STOP"

    def _alter(self, index: bool, first: str, name: str, partition: int, group: str) -> None:
        hit = [
            each
            for each in self.spaces
            if (
                (each.index == (first, name))
                if index
                else ((each.database, each.name) == (first, name) and not each.index)
            )
        ]
        if not hit:
            raise Refused(f"-204 {first}.{name}")
        if partition and hit[0].kind == "G":
            raise Refused("-665")
        for each in [e for e in hit if e.partition == partition] if partition else hit:
            if not each.stopped:
                raise Refused("-626: the page set is not stopped")
            each.defined = group

    def _utility(self, text: str) -> None:
        *templates, reorg = re.split(r" (?=TEMPLATE |REORG )", f" {text}")[1:]
        names = set()
        for each in templates:
            found = re.fullmatch(r"TEMPLATE (\w{1,8}) DSN\([A-Z&.]+\) UNIT\(\w+\) DISP\((NEW|MOD|OLD),\w+,\w+\)", each)
            if found is None:
                raise Refused(each)
            names.add(found[1])
        found = re.fullmatch(
            r"REORG (?:TABLESPACE (\w+)\.(\w+)|INDEX \"([^\"]+)\"\.\"([^\"]+)\")( PART (\d+))?( LOG NO)?"
            r" SHRLEVEL REFERENCE((?: (?:COPYDDN|UNLDDN|WORKDDN)\(\w+\))*)( SORTDEVT \w+)?",
            reorg,
        )
        if found is None or not set(re.findall(r"\((\w+)\)", found[8])) <= names:
            raise Refused(reorg)
        for each in self.spaces:
            own = (each.database, each.name) == (found[1], found[2]) if found[1] else each.index == (found[3], found[4])
            if own and (not found[6] or each.partition == int(found[6])):
                if each.stopped:
                    raise Refused("the space is stopped")
                if each.kind == "O" and (found[5] or found[9] or not found[7]):
                    raise Refused("REORG of a LOB table space does not take that")
                each.group, each.defined = each.defined or each.group, ""
