"""RETURN and GROUP BY: result columns, their names, the key columns, and the output as a stream."""

from __future__ import annotations

from dataclasses import replace

from augury.analysis.checked import Component, Output
from augury.analysis.clauses.shapes import always_present
from augury.analysis.declarations.catalog import Column, DataType, StreamSchema
from augury.analysis.draft import Draft
from augury.analysis.expressions.attributes import report_bare
from augury.analysis.expressions.query_checker import TypeChecker
from augury.analysis.expressions.walk import attributes, walk_into
from augury.analysis.findings import listing
from augury.errors import Span
from augury.language import expressions as ex
from augury.language.tree import ReturnColumn

RESERVED = (
    "query",
    "match_id",
    "revision",
    "start_ts",
    "end_ts",
    "confidence",
    "n_missed",
    "events",
)

# What ALL EVENTS PER MATCH has in place of `events`.
RESERVED_OF_EVENTS = ("component", "item", "event_id", "event_ts")
# An attribute of the event that a row is about; no component has that name.
THE_EVENT = ""
MATCH_NUMBER = "MATCH_NUMBER"

RESERVED_OF_GROUPS = ("query", "ts", "probability", "method", "error_bound")


def keys_are_what_is_equated(draft: Draft) -> None:
    """Fill the key columns of a match: KEY attributes that all positive components share."""
    keys: dict[str, Column] = {}
    positive = draft.positive
    if len(positive) == 1 and positive[0].maximum == 1:
        members = [
            (positive[0].index, k) for s in draft.streams_of(positive[0].index) for k in s.key
        ]
    else:
        needed = {c.index for c in positive}
        members = [
            e.members[0]
            for e in draft.equalities
            if needed <= {c for c, _ in e.members} and _is_key(draft, e.members)
        ]
    for component, name in members:
        column = draft.column_of(component, name)
        if column is not None:
            keys.setdefault(column.name.lower(), column)
    draft.keys = tuple(keys.values())


def _is_key(draft: Draft, members: tuple[tuple[int, str], ...]) -> bool:
    positive = [(c, n) for c, n in members if not draft.components[c].negated]
    return all(n in s.key for c, n in positive for s in draft.streams_of(c))


# RETURN ---------------------------------------------------------------------------------------


def columns_have_names(draft: Draft) -> None:
    """Fill the RETURN columns; each has a name of its own."""
    returns = draft.statement.returns
    if returns is None:
        return
    if returns.kind == "STAR":
        draft.outputs = tuple(_star(draft))
    elif returns.kind == "COLUMNS":
        draft.outputs = tuple(_written(draft, returns.columns))


def _star(draft: Draft) -> list[Output]:
    if draft.statement.each_event:
        return _all_of_the_event(draft)
    left_out = [c.name for c in draft.positive if c.maximum != 1]
    if left_out:
        verb = "repeats and has" if len(left_out) == 1 else "repeat and have"
        message = f"RETURN * leaves out {listing(left_out)}, which {verb} no single value"
        hint = (
            f"name what you need, for example LAST({left_out[0]}).attribute or COUNT({left_out[0]})"
        )
        draft.findings.warning("W005", message, draft.clause("RETURN"), hint)
    return [o for c in draft.positive if c.maximum == 1 for o in _all_of(draft, c)]


def _all_of_the_event(draft: Draft) -> list[Output]:
    """Return the columns that every event of a match has, whichever component it plays."""
    keys = {key.name.lower() for key in draft.keys}
    reserved = {*RESERVED, *RESERVED_OF_EVENTS}
    return [
        Output(
            Column(f"event_{c.name}" if c.name.lower() in reserved else c.name, c.type),
            ex.Attribute(THE_EVENT, c.name),
        )
        for c in _columns_of_all(draft)
        if c.name.lower() not in keys
    ]


def _columns_of_all(draft: Draft) -> list[Column]:
    first, *others = draft.positive
    streams = draft.streams_of(first.index)
    found = streams[0].columns if streams else ()
    rest = [*streams[1:], *(s for c in others for s in draft.streams_of(c.index))]
    return [c for c in found if all(_same_type(s.column(c.name), c) for s in rest)]


def _same_type(column: Column | None, other: Column) -> bool:
    return column is not None and column.type is other.type


def _all_of(draft: Draft, component: Component) -> list[Output]:
    streams = draft.streams_of(component.index)
    shared = (
        [c for c in streams[0].columns if all(s.column(c.name) for s in streams)] if streams else []
    )
    return [
        Output(Column(f"{component.name}_{c.name}", c.type), ex.Attribute(component.name, c.name))
        for c in shared
    ]


def _written(draft: Draft, columns: tuple[ReturnColumn, ...]) -> list[Output]:
    outputs: list[Output] = []
    aliases = [c.alias for c in columns if c.alias is not None]
    reserved = (*RESERVED, *RESERVED_OF_EVENTS) if draft.statement.each_event else RESERVED
    taken = dict.fromkeys(reserved, "a column of every match")
    for position, column in enumerate(columns, 1):
        value, type_ = _value(draft, column.value)
        if value is None:
            continue
        name = column.alias or _default_name(
            value, {*taken, *(a.lower() for a in aliases)}, position
        )
        if _same_key(draft, name, value):
            taken.setdefault(name.lower(), "another RETURN column")
            continue
        _claim(draft, column, name, taken)
        outputs.append(Output(Column(name, type_ or DataType.NULL), value))
    return outputs


def _value(draft: Draft, node: ex.Expression) -> tuple[ex.Expression | None, DataType | None]:
    before = draft.findings.error_count
    if isinstance(node, ex.Call) and node.function == MATCH_NUMBER:
        return _numbered(draft, node)
    own = _of_the_event(draft, node)
    if own is not None:
        return own
    node = _with_component(draft, node)
    checker = TypeChecker(draft)
    value, type_ = checker.read(node)
    if draft.findings.error_count > before or checker.unknown:
        return None, None
    for attribute in attributes(value):
        _has_one_value(draft, attribute, "RETURN")
    for part in walk_into(value):
        if isinstance(part, ex.Aggregate) and part.running:
            message = f"RETURN asks for a running {part.function}, which has a value for each i"
            hint = f"write {part.function}({part.component}), over all its events"
            draft.findings.error("A053", message, part.span, hint)
    return (value, type_) if draft.findings.error_count == before else (None, None)


def _numbered(draft: Draft, node: ex.Call) -> tuple[ex.Expression | None, DataType | None]:
    """Return MATCH_NUMBER(), which counts the matches that are taken, where all is certain."""
    why = ""
    uncertain = next((s.name for s in draft.streams if s.is_uncertain), None)
    if node.arguments:
        why, hint = "takes no arguments", "write MATCH_NUMBER()"
    elif draft.statement.after_match is None:
        why = "counts the matches that are taken one after the other"
        hint = "add AFTER MATCH SKIP PAST LAST EVENT, or another place to go on"
    elif uncertain is not None:
        why = f"differs from world to world, because events of {uncertain} may not have happened"
        hint = "leave it out, or ask over a stream without PROBABILITY"
    if not why:
        return node, DataType.LONG
    draft.findings.error("A084", f"MATCH_NUMBER() {why}", node.span, hint)
    return None, None


def _of_the_event(draft: Draft, node: ex.Expression) -> tuple[ex.Expression, DataType] | None:
    """Return a bare column of ALL EVENTS PER MATCH: that of the event which a row is about."""
    if not draft.statement.each_event or not isinstance(node, ex.Attribute):
        return None
    if node.component is not None:
        return None
    for column in _columns_of_all(draft):
        if column.name.lower() == node.name.lower():
            return replace(node, component=THE_EVENT, name=column.name), column.type
    return None


def _with_component(draft: Draft, node: ex.Expression) -> ex.Expression:
    """Return a bare column with the component that every match takes it from, if one is clear.

    Of components that need not be there, such as the branches of an OR, each is the default of the
    one before it: what is there tells the value.
    """
    if not isinstance(node, ex.Attribute) or node.component is not None:
        return node
    found: ex.Attribute | None = None
    for component in reversed(_holders(draft, node.name)):
        own = draft.components[component]
        found = replace(node, component=own.name, default=found)
        if own.maximum != 1 and len(draft.positive) > 1:
            found = replace(found, index=ex.Index("number", 1))
    return node if found is None else found


def _holders(draft: Draft, name: str) -> list[int]:
    """Return the components of which the first that is there has the attribute of all."""
    holders = [c.index for c in draft.positive if draft.column_of(c.index, name)]
    if len(holders) == 1:
        return holders
    for equality in draft.equalities:
        members = [c for c, n in equality.members if n.lower() == name.lower() and c in holders]
        if set(members) == set(holders) and members:
            return _until_one_is_sure(draft, members)
    return []


def _until_one_is_sure(draft: Draft, members: list[int]) -> list[int]:
    """Return single components first, up to one that is read in every match."""
    assert draft.shape is not None
    sure = always_present(draft.shape, draft.components) - set(draft.may_miss)
    ordered = sorted(members, key=lambda c: (c not in sure, draft.components[c].maximum != 1))
    return ordered[:1] if ordered[0] in sure else ordered


def _has_one_value(draft: Draft, attribute: ex.Attribute, clause: str) -> None:
    component = draft.component_named(attribute.component or "")
    if component is None:
        return
    label = f"{component.name}.{attribute.name}"
    if component.negated:
        message = f"{clause} asks for {label}, but {component.name} is negated and has no event"
        draft.findings.error("A054", message, attribute.span, "name a positive component")
    elif component.maximum != 1 and (
        attribute.index is None or attribute.index.kind in ("each", "previous")
    ):
        message = f"{clause} asks for {label}, but {component.name} repeats and has many"
        first, last = f"{component.name}[1]", f"LAST({component.name})"
        hint = f"write {first}.{attribute.name}, {last}.{attribute.name} or an aggregate"
        draft.findings.error("A053", message, attribute.span, hint)


def _default_name(value: ex.Expression, taken: set[str], position: int) -> str:
    if isinstance(value, ex.Call) and value.function == MATCH_NUMBER:
        return MATCH_NUMBER.lower()
    if isinstance(value, ex.Attribute) and value.component == THE_EVENT:
        return value.name if value.name.lower() not in taken else f"event_{value.name}"
    if isinstance(value, ex.Attribute):
        return value.name if value.name.lower() not in taken else f"{value.component}_{value.name}"
    if isinstance(value, ex.Aggregate):
        parts = (value.function.lower(), value.component, value.attribute)
        return "_".join(p for p in parts if p)
    return f"column_{position}"


def _same_key(draft: Draft, name: str, value: ex.Expression) -> bool:
    """Return whether the column repeats a key column, which every match has anyway."""
    if not isinstance(value, ex.Attribute) or name.lower() not in {
        k.name.lower() for k in draft.keys
    }:
        return False
    if value.component == THE_EVENT:
        return True
    component = draft.component_named(value.component or "")
    if component is None:
        return False
    member = (component.index, value.name)
    classes = [e.members for e in draft.equalities if member in e.members]
    return name.lower() in {n.lower() for members in classes for _, n in members} | (
        {value.name.lower()} if len(draft.positive) == 1 else set()
    )


def _claim(draft: Draft, column: ReturnColumn, name: str, taken: dict[str, str]) -> None:
    for key in draft.keys:
        taken.setdefault(key.name.lower(), "a key column of every match")
    owner = taken.get(name.lower())
    if owner is not None:
        message = f"the result column {name} has the name of {owner}"
        draft.findings.error("A067", message, _span(draft, column), "give it another name with AS")
    taken[name.lower()] = "another RETURN column"


def _span(draft: Draft, column: ReturnColumn) -> Span:
    return column.span if column.span.end else draft.clause("RETURN")


# GROUP BY -------------------------------------------------------------------------------------


def groups_are_values(draft: Draft) -> None:
    """Fill GROUP BY; each group is one attribute of one positive component."""
    groups: list[ex.Attribute] = []
    names: dict[str, str] = {}
    for written in draft.statement.group_by:
        before = draft.findings.error_count
        node = _with_component(draft, written)
        if isinstance(node, ex.Attribute) and node.component is None:
            if draft.complete:
                report_bare(draft, node)
            continue
        checker = TypeChecker(draft)
        value, _ = checker.read(node)
        faulty = checker.unknown or draft.findings.error_count > before
        if isinstance(value, ex.Attribute) and not faulty:
            _check_group(draft, value)
            _name_group(draft, value, names, repeated=value in groups)
            groups.append(value)
    draft.group_by = tuple(groups)
    draft.group_names = tuple(names.values())


def _name_group(draft: Draft, value: ex.Attribute, names: dict[str, str], repeated: bool) -> None:
    """Give a group its result column: the attribute's name, with the component where taken."""
    taken = {*names, *RESERVED_OF_GROUPS}
    name = _default_name(value, taken, len(names) + 1)
    if repeated or name.lower() in taken:
        message = (
            f"GROUP BY names {value.component}.{value.name}, whose result column is there already"
        )
        span = value.span if value.span.end else draft.clause("GROUP BY")
        draft.findings.error("A067", message, span, "name each group once")
    names[name.lower()] = name


def _check_group(draft: Draft, value: ex.Attribute) -> None:
    component = draft.component_named(value.component or "")
    if component is None:
        return
    shared = any((component.index, value.name) in e.members for e in draft.equalities)
    if not (shared and not component.negated):
        _has_one_value(draft, value, "GROUP BY")


# The output as a stream -----------------------------------------------------------------------


def output_schema(draft: Draft, certain: bool) -> StreamSchema | None:
    """Return the schema under which other queries read the matches; None if there are none."""
    returns = draft.statement.returns
    if returns is not None and returns.kind not in ("COLUMNS", "STAR"):
        return None
    if draft.statement.each_event:
        return None
    time = DataType.LONG if draft.time_is_ticks else DataType.TIMESTAMP
    columns = (
        Column("match_id", DataType.STRING),
        *draft.keys,
        Column("start_ts", time),
        Column("end_ts", time),
        Column("confidence", DataType.DOUBLE),
        *(o.column for o in draft.outputs),
    )
    return StreamSchema(
        name=draft.name,
        columns=columns,
        id="match_id",
        key=tuple(k.name for k in draft.keys),
        time="end_ts",
        probability="confidence",
        query=draft.name,
        certain=certain,
    )
