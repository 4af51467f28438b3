"""The question of the building: who went into the coffee room, and when; asked of any stream."""

from __future__ import annotations

from importlib.resources import files


def script() -> str:
    """Return the declarations of the model and the readings."""
    return files(__package__).joinpath("building.sql").read_text(encoding="utf-8")


def coffee(stream: str) -> str:
    """Return the query over one stream: outside for two steps in a row, then inside."""
    return (
        f"CREATE QUERY coffee_{stream} ON {stream}\n"
        f"PATTERN SEQ({stream} a, {stream} b, {stream} c)\n"
        "WHERE [person] AND a.place NOT IN coffee_room\n"
        "AFTER WHERE b.place NOT IN coffee_room AND c.place IN coffee_room\n"
        "USING SKIP TILL NEXT MATCH GROUP BY person RETURN PROBABILITY BY TIME;\n"
    )
