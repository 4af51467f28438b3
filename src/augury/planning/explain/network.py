"""The network of queries: which streams feed which query, down to declared streams."""

from __future__ import annotations

from augury.analysis.checked import CheckedQuery
from augury.analysis.declarations.catalog import Catalog, StreamSchema

Links = tuple[tuple[str, tuple[str, ...]], ...]


def network_of(query: CheckedQuery, catalog: Catalog | None) -> Links:
    """Return (query, what it reads) for the query and all queries below it, itself first."""
    links: dict[str, tuple[str, ...]] = {query.name: tuple(s.name for s in query.streams)}
    waiting = [s.query for s in query.streams if s.query is not None]
    while waiting:
        name = waiting.pop(0)
        if name not in links:
            read = _read_by(name, catalog)
            links[name] = tuple(s.name for s in read)
            waiting += [s.query for s in read if s.query is not None]
    return tuple(links.items())


def _read_by(name: str, catalog: Catalog | None) -> list[StreamSchema]:
    declared = catalog.query(name) if catalog else None
    if catalog is None or declared is None:
        return []
    return [found for stream in declared.streams if (found := catalog.readable(stream))]


def tree_lines(name: str, links: Links) -> list[str]:
    """Return the network as an indented tree, the query first."""
    return [name, *_below(name, dict(links), "")]


def _below(name: str, links: dict[str, tuple[str, ...]], indent: str) -> list[str]:
    lines: list[str] = []
    sources = links.get(name, ())
    for place, source in enumerate(sources):
        is_last = place == len(sources) - 1
        is_query = source in links and source != name
        lines.append(
            f"{indent}{'└─' if is_last else '├─'} {source}{' (query)' if is_query else ''}"
        )
        if is_query:
            lines += _below(source, links, indent + ("   " if is_last else "│  "))
    return lines
