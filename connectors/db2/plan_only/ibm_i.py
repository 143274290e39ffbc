"""What a person runs on IBM i: preferences for a medium, and the system's own balancer that follows them.

``UNIT SSD`` is a wish that the system follows when it allocates; ``STRASPBAL TYPE(*MP)`` moves what lies elsewhere. It
is one command for each ASP, so it stands once at the end of a file (``ByHand.after``) however many objects are moved.
CL stands in the file as ``CL:`` lines, which RUNSQLSTM and Run SQL Scripts take.

CL knows objects by their system names, at most ten characters. ``cl_name`` writes one by IBM's rules of names: as it is
where it is basic, in quotation marks with at most eight characters between them where it is not. A name that neither
form can hold has no command. Sources of each rule and command: ``tests/db2/sources.md``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from connectors.db2.names import identifier, literal
from connectors.model.formatting import comment
from connectors.model.moves import ByHand

Media = Literal["SSD", "ANY"]
BALANCE_MINUTES = 120
TRACE_SECONDS = 86_400  # DLYJOB takes at most 999,999
LAST_NUMBERED = 32  # ASP: those beyond are independent and go by the name of their device
LONGEST_SYSTEM_NAME = 10
_BASIC = re.compile(r"[A-Z$#@][A-Z0-9$#@_.]{0,9}")
# IBM forbids * ? ' " in a quoted name; a semicolon would end the CL: line, a comment begin in it.
_QUOTED = re.compile(r"""(?!.*(?:--|/\*))[^*?'";/]{1,8}""")
ENDED = ("COMPLETED", "ENDED", "STOPPED", "CLEARED")  # BALANCE_STATUS and TRACE_STATUS of what does not run
BECAUSE = "Db2 for i moves data by its own balancer, and hotplace opens no session that may write there"
RUN_WITH = "RUNSQLSTM SRCSTMF('FILE') COMMIT(*NONE) NAMING(*SQL), which stops at the first error; or Run SQL Scripts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One member of a file, by its system names; CL knows no others."""

    library: str
    file: str
    member: str


@dataclass(frozen=True, slots=True)
class Asp:
    """An auxiliary storage pool, as CL calls it."""

    number: int
    device: str = ""  # description of an independent one; "": not known, or none

    @property
    def argument(self) -> str:
        """Of TRCASPBAL, STRASPBAL and ENDASPBAL; "" where its device has no name here."""
        if self.device:
            name = cl_name(self.device)
            return f"ASPDEV({name})" if name else ""
        return f"ASP({self.number})" if self.number <= LAST_NUMBERED else ""


def cl_name(name: str) -> str:
    """A system name as CL takes it; "" where it takes none such.

    >>> cl_name("ORDERS_IX"), cl_name("odd"), cl_name('"odd"'), cl_name("too long a name"), cl_name("a;b")
    ('ORDERS_IX', '"odd"', '"odd"', '', '')
    """
    bare = name[1:-1] if len(name) > 2 and name[0] == name[-1] == '"' else name
    if _BASIC.fullmatch(bare):
        return bare
    return f'"{bare}"' if bare.isprintable() and _QUOTED.fullmatch(bare) else ""


def system_name(name: str) -> str:
    """The system name that an object with this SQL name has; "" where only the catalog can tell.

    >>> system_name("ORDERS_IX"), system_name("ORDERS_BY_CUSTOMER")
    ('ORDERS_IX', '')
    """
    ordinary = name.isascii() and name.replace("_", "").isalnum() and not name[:1].isdigit() and name == name.upper()
    return name if ordinary and len(name) <= LONGEST_SYSTEM_NAME else ""


def prefer_table(schema: str, table: str, media: Media) -> str:
    """All of a table; since 7.1. Takes the table for a moment."""
    return f"ALTER TABLE {identifier(schema)}.{identifier(table)} ALTER UNIT {media};"


def prefer_member(of: Member, media: Media, *, index: bool = False) -> str:
    """One partition or one index, by a CL command: concurrent, where the newest PTFs are on; "" without its names."""
    name, member = _qualify(of.library, of.file), cl_name(of.member)
    command = "CHGLFM" if index else "CHGPFM"
    return _line(f"{command} FILE({name}) MBR({member}) UNIT(*{media})") if name and member else ""


def prefer_file(library: str, file: str, media: Media, *, index: bool = False) -> str:
    """A whole physical or logical file; "" without its names."""
    name = _qualify(library, file)
    return _line(f"{'CHGLF' if index else 'CHGPF'} FILE({name}) UNIT(*{media})") if name else ""


def _qualify(library: str, file: str) -> str:
    parts = cl_name(library), cl_name(file)
    return "/".join(parts) if all(parts) else ""


def _line(command: str) -> str:
    return f"CL: {command};"


def move_by_hand(there: str, back: str, asp: Asp) -> ByHand:
    """An object to another medium of its ASP.

    Args:
        there: prefers the medium that it goes to.
        back: prefers the one that it comes from.
        asp: in which both media are.
    """
    return ByHand(
        statements=(there,), because=BECAUSE, run_with=RUN_WITH, before=_before(asp), after=follow_preferences(asp),
        undo=(back,),
    )  # fmt: skip


def _before(asp: Asp) -> tuple[str, ...]:
    """What is looked at first: an ASP has one balance or one trace at a time."""
    of_it = asp.argument or f"independent ASP {asp.number}"
    return (
        comment(
            "First a check that neither a balance nor a trace runs: an ASP has one at a time. Where one runs, or what"
        ),
        comment(
            "runs is not shown (QSYS2.ASP_INFO; in 7.6 with *IOSYSCFG or QIBM_IOSYSCFG_VIEW), it fails with SQLSTATE"
        ),
        comment(
            "75001, and nothing is run. ENDASPBAL or TRCASPBAL SET(*OFF) ends what runs; DSPLOG LOG(QHST) shows when"
        ),
        comment("each began and ended. A word in BALANCE_STATUS or TRACE_STATUS that is not known here fails, too."),
        comment("CHKASPBAL lists units that are marked *ENDALC, which take nothing: resume or remove them first."),
        comment(
            "Lines that begin with CL: are taken by Run SQL Scripts. Where RUNSQLSTM of a release does not take them,"
        ),
        comment("CALL QSYS2.QCMDEXC('command') does the same."),
        comment(f"Balanced at the end: {of_it}."),
        _check_idle(asp),
    )


def _check_idle(asp: Asp) -> str:
    """Fails unless the system shows the ASP without a balance and a trace; what cannot be seen fails, too."""
    idle = ", ".join(map(literal, ("", *ENDED)))
    seen = " AND ".join(f"COALESCE({column}, '') IN ({idle})" for column in ("BALANCE_STATUS", "TRACE_STATUS"))
    return (
        f"BEGIN IF NOT EXISTS (SELECT 1 FROM QSYS2.ASP_INFO WHERE ASP_NUMBER = {asp.number} AND {seen}) "  # noqa: S608
        f"THEN SIGNAL SQLSTATE '75001' SET MESSAGE_TEXT = 'ASP {asp.number} is balanced or traced, or cannot be seen'; "
        "END IF; END;"
    )


def follow_preferences(asp: Asp, minutes: int = BALANCE_MINUTES) -> tuple[str, ...]:
    """Let the system move what lies elsewhere than its preference says, once for an ASP, and what else IBM has for it.

    Args:
        asp: the pool.
        minutes: at most; what is left goes on with the next balance.
    """
    of_it = asp.argument
    if not of_it:
        device = "as QSYS2.ASP_INFO has it" if not asp.device else "whose name CL does not take"
        return (
            comment(f"then STRASPBAL TYPE(*MP) with the device of independent ASP {asp.number} in ASPDEV, {device}"),
        )
    limit = f"TIMLMT({minutes})"
    return (
        comment("Last, and once for each ASP: what lies elsewhere than it is preferred moves, for all of the above."),
        comment(
            "Sessions feel it, so run it off the busy hours. TIMLMT (minutes, or *NOMAX) ends it; the next goes on."
        ),
        _line(f"STRASPBAL TYPE(*MP) {of_it} SUBTYPE(*CALC) {limit} PRIORITY(*LOW)"),
        comment(f"to end it at once: CL: ENDASPBAL {of_it};"),
        comment("SUBTYPE(*HDD) moves only what is preferred from HDD to SSD, SUBTYPE(*SSD) only what is not off SSD."),
        comment("In place of all this, where it is the better tool, IBM's own balancer:"),
        comment("- hot up and cold down by extents, not by objects; it forgets with each balance, so trace again:"),
        comment(f"CL: TRCASPBAL SET(*ON) {of_it} TIMLMT(*NOMAX);", indent="  "),
        comment(f"CL: DLYJOB DLY({TRACE_SECONDS});", indent="  "),
        comment(f"CL: TRCASPBAL SET(*OFF) {of_it};", indent="  "),
        comment(f"CL: STRASPBAL TYPE(*HSM) {of_it} {limit} PRIORITY(*LOW);", indent="  "),
        comment("- arms evenly busy, by the same trace:"),
        comment(f"CL: STRASPBAL TYPE(*USAGE) {of_it} {limit};", indent="  "),
        comment("- units evenly full, after some were added; without a trace:"),
        comment(f"CL: STRASPBAL TYPE(*CAPACITY) {of_it} TIMLMT(*NOMAX);", indent="  "),
        comment("- a unit that is to be taken out, by its number, takes nothing more, then gives up what it has:"),
        comment("CL: STRASPBAL TYPE(*ENDALC) UNIT(11);", indent="  "),
        comment("CL: STRASPBAL TYPE(*MOVDTA);", indent="  "),
    )


def traced_balance(asp: Asp, minutes: int = BALANCE_MINUTES) -> tuple[str, ...]:
    """The balancer's own way, in one line each: watch for a day, end the trace, then hot up and cold down."""
    of_it = asp.argument
    if not of_it:
        return ()
    return (
        f"TRCASPBAL SET(*ON) {of_it} TIMLMT(*NOMAX)",
        f"after a usual day TRCASPBAL SET(*OFF) {of_it}",
        f"STRASPBAL TYPE(*HSM) {of_it} TIMLMT({minutes}) PRIORITY(*LOW)",
    )
