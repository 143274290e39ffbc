"""Which rights a login lacks to split a table or close its open part, by name, with the statement that gives each."""

from __future__ import annotations

from connectors.postgresql.rights import read_powers
from connectors.postgresql.session.queries import query
from connectors.postgresql.session.sessions import ReadSession
from connectors.route import NoRoute, Route

_OWNER = 1  # number of the owner's rights in ``sql/split_may.sql``


def refuse_rights(session: ReadSession, route: Route) -> NoRoute | None:
    """A refusal that names each right which the session's login lacks for the way there and back; None: none.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    operation, space = route.steps[0].operation, route.to_space
    # A closing changes the table that its part belongs to as well.
    key = route.bundle.key if operation is None else operation.text("whole") or route.bundle.key
    values = {"key": key, "space": space, "moves": route.bundle.size_bytes > 0}
    rows = session.rows(query("split_may"), values, doing=f"looking at the rights to split {key}")
    if not rows:
        return None
    owner, named = rows[0][4], rows[0][5]
    powers = read_powers(session, [owner]).get(owner, ()) if rows[0][0] == _OWNER else ()
    if powers:
        return NoRoute(
            code="rights",
            sentence=f"the login that would do it lacks the rights of its owner {owner}, which are never handed "
            f"over, for it has {', '.join(powers)}: change the owner, or leave it as it is: "
            f"ALTER TABLE {named} OWNER TO ...;",
        )
    lacked = ", ".join(f"{what} (giving away {gives})" for _, what, _, gives, *_ in rows)
    remedies = " ".join(f"{row[2]};" for row in rows)
    return NoRoute(code="rights", sentence=f"the login that would do it lacks {lacked}: {remedies}")
