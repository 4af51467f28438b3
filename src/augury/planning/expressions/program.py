"""Assemble conjuncts into programs for the kernel's predicate machine.

String functions have no instruction: strings reach kernels as dictionary codes. A subexpression
that needs one, over one event, becomes an `EventColumn` that is computed beforehand by `arrow`.
A `ProgramSet` is independent of data; `link` puts in the dictionary's codes and the tables' rows.

All string columns and constants share one dictionary. Codes must be distinct for distinct strings;
where `orders_strings` is set they must also be in the order of the strings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from augury.analysis.checked import CheckedQuery, Conjunct
from augury.analysis.declarations.catalog import DataType
from augury.kernels.search import opcodes as op
from augury.planning.expressions.arrow import fold
from augury.planning.expressions.lookups import Tables, written_out
from augury.planning.expressions.lower import Scope, lower
from augury.planning.expressions.typed import (
    Aggregated,
    Apply,
    Constant,
    Input,
    Typed,
    nodes_within,
    tables_within,
    with_operands,
)
from augury.planning.expressions.types import refuse

# The component of an Input that belongs to whatever event is at hand.
THIS_EVENT = -1
# Opcode, a, b. Until it is linked, a is the number of a constant (PUSH), of a table (MEMBER), or of
# an instruction (jumps).
Instruction = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class EventColumn:
    """An attribute that programs read: a stream's column, or an expression over one event.

    Inputs of `expression` have the component THIS_EVENT.
    """

    type: DataType
    expression: Typed


@dataclass(frozen=True, slots=True)
class TableUse:
    """A table that programs look into, with the types its columns are compared in."""

    name: str
    types: tuple[DataType, ...]


@dataclass(frozen=True, slots=True)
class Slot:
    """What the caller puts into a slot before a program runs.

    `kind` is one of `opcodes.EACH ... MAX`: an attribute of the current, the previous, the
    `number`-th or the last item of a component, or a value over all its items. A plain component
    has one item and the kind EACH. `column` is -1 for COUNT. An item that is not there is NULL.
    """

    component: int
    kind: int
    column: int = -1
    number: int = 0


# (repetition, first, leader, lag), see Program.
Each = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Program:
    """One conjunct: instructions, slots, what must be bound for it to apply, what it ranges over.

    `needs` are the components without which the conjunct is not applied: those it names, except
    under COUNT and where a default stands in. `each[k]` is (repetition, first, leader, lag): the
    conjunct must be true for every item from number `first` on, 1 for b[i], 2 where it starts at
    i = 2. What is read of one group goes by rounds: k and its `leader` (another row, or itself)
    have one i. With a lag of 1 only b[i-1] is read, which is there one round earlier. `whole` are
    the components that must be complete before it can be tested. `open` is what is assembled when
    the rows of tables are known.
    """

    instructions: tuple[Instruction, ...]
    slots: tuple[Slot, ...]
    needs: tuple[int, ...]
    each: tuple[Each, ...]
    depth: int
    whole: tuple[int, ...] = ()
    open: Typed | None = None


@dataclass(frozen=True, slots=True)
class ProgramSet:
    """Programs that share their constants, columns and tables; program p is conjunct p.

    Where some are open until rows are known, `query` is whose programs they are.
    """

    programs: tuple[Program, ...]
    constants: tuple[Constant, ...]
    columns: tuple[EventColumn, ...]
    tables: tuple[TableUse, ...]
    orders_strings: bool
    query: CheckedQuery | None = None

    @property
    def opened(self) -> tuple[str, ...]:
        """The tables, in lower case, whose rows are written out in programs."""
        return tuple(tables_within(each.open for each in self.programs if each.open is not None))

    def texts_of(self, tables: Tables) -> Iterator[str]:
        """Yield the strings of rows that are written out, which the dictionary must contain."""
        rows = (row for name in self.opened for row in tables.get(name, ()))
        return (value for row in rows for value in row if isinstance(value, str))

    def with_rows(self, tables: Tables) -> tuple[ProgramSet, Tables]:
        """Return the programs with rows written out, and the tables that they look into."""
        if self.query is None:
            return self, tables
        pools = _Pools.of(self)
        programs = tuple(
            each if each.open is None else _program(each.open, self.query, pools, each, tables)
            for each in self.programs
        )
        constants, known = tuple(pools.constants), tuple(pools.tables)
        found = replace(self, programs=programs, constants=constants, tables=known)
        return found, {**tables, **pools.made}

    @property
    def strings(self) -> tuple[str, ...]:
        """The string constants, which the dictionary must contain."""
        values = (constant.value for constant in self.constants)
        return tuple(value for value in values if isinstance(value, str))


def compile_programs(scope: Scope, conjuncts: Sequence[Conjunct]) -> ProgramSet:
    """Return one program per conjunct, in order."""
    pools = _Pools()
    programs = tuple(
        _program(lower(conjunct.expression, scope), scope.query, pools) for conjunct in conjuncts
    )
    return ProgramSet(
        programs,
        tuple(pools.constants),
        tuple(pools.columns),
        tuple(pools.tables),
        pools.orders_strings,
        scope.query if any(each.open is not None for each in programs) else None,
    )


class _Pools:
    """What programs of one set share; each thing is kept once."""

    def __init__(self) -> None:
        self.constants: dict[Constant, int] = {}
        self.columns: dict[EventColumn, int] = {}
        self.tables: dict[TableUse, int] = {}
        self.orders_strings = False
        # Sets of keys that are looked into, as tables.
        self.made: dict[str, list[tuple[object, ...]]] = {}

    @classmethod
    def of(cls, known: ProgramSet) -> _Pools:
        """Return what programs share already."""
        pools = cls()
        pools.constants = {each: k for k, each in enumerate(known.constants)}
        pools.columns = {each: k for k, each in enumerate(known.columns)}
        pools.tables = {each: k for k, each in enumerate(known.tables)}
        return pools

    def constant(self, constant: Constant) -> int:
        return self.constants.setdefault(constant, len(self.constants))

    def column(self, column: EventColumn) -> int:
        return self.columns.setdefault(column, len(self.columns))

    def table(self, table: TableUse) -> int:
        return self.tables.setdefault(table, len(self.tables))


def _program(
    expression: Typed,
    query: CheckedQuery,
    pools: _Pools,
    before: Program | None = None,
    tables: Tables | None = None,
) -> Program:
    """Return a conjunct as a program; with rows, as one that has the slots of that `before`."""
    assembler = _Assembler(query, pools, tables)
    if before is not None:
        assembler.slots = {slot: k for k, slot in enumerate(before.slots)}
    assembler.emit(expression)
    if assembler.deepest > op.STACK_DEPTH:
        raise refuse("the expression is nested too deeply to be evaluated; split the conjunct")
    return Program(
        tuple(assembler.code),
        tuple(assembler.slots),
        _needs(expression),
        _quantified(expression, query),
        assembler.deepest,
        _whole(expression),
        expression if assembler.is_open else None,
    )


def _needs(expression: Typed) -> tuple[int, ...]:
    return tuple(
        sorted(
            {
                n.component
                for n in nodes_within(expression)
                if isinstance(n, Input | Aggregated) and _must_be_bound(n)
            }
        )
    )


def _whole(expression: Typed) -> tuple[int, ...]:
    found = (node for node in nodes_within(expression) if isinstance(node, Input | Aggregated))
    return tuple(sorted({n.component for n in found if _is_whole(n)}))


def _is_whole(node: Input | Aggregated) -> bool:
    return not node.running if isinstance(node, Aggregated) else node.kind == "last"


def _must_be_bound(node: Input | Aggregated) -> bool:
    # A default stands in for an absent component, and the COUNT of one is 0.
    if isinstance(node, Input):
        return node.default is None
    return node.function != "COUNT"


def _quantified(expression: Typed, query: CheckedQuery) -> tuple[Each, ...]:
    """Return what a conjunct ranges over: the items of each repetition, the rounds of a group."""
    uses: dict[int, set[tuple[str, int]]] = {}
    groups: dict[int, str] = {}
    for node in nodes_within(expression):
        if isinstance(node, Input | Aggregated) and query.components[node.component].repeats:
            uses.setdefault(node.component, set()).add(_use(node))
            if node.group is not None:
                groups[node.component] = node.group.lower()
    iterated = [c for c in sorted(uses) if _first(uses[c])]
    rows = []
    for k, component in enumerate(iterated):
        group = groups.get(component)
        members = [c for c in iterated if group is not None and groups.get(c) == group]
        kinds = set().union(*(uses[c] for c in members)) if members else uses[component]
        leader = iterated.index(members[0]) if members else k
        lags = len(members) > 1 and ("each", 0) not in uses[component]
        rows.append((component, _first(kinds), leader, int(lags)))
    return tuple(rows)


def _use(node: Input | Aggregated) -> tuple[str, int]:
    if isinstance(node, Input):
        return node.kind, node.number
    return "each" if node.running else "whole", 0


def _first(kinds: set[tuple[str, int]]) -> int:
    """Return the first i that a repetition's b[i] takes, or 0 where there is no b[i]."""
    if ("previous", 0) in kinds:
        return 2
    if ("each", 0) not in kinds:
        return 0
    return 2 if ("number", 1) in kinds else 1


# Assembly ------------------------------------------------------------------------------------

_TYPED = {
    "add": (op.ADD_I, op.ADD_F),
    "subtract": (op.SUBTRACT_I, op.SUBTRACT_F),
    "multiply": (op.MULTIPLY_I, op.MULTIPLY_F),
    "divide": (op.DIVIDE_F, op.DIVIDE_F),
    "modulo": (op.MODULO_I, op.MODULO_F),
    "negate": (op.NEGATE_I, op.NEGATE_F),
    "abs": (op.ABS_I, op.ABS_F),
    "equal": (op.EQUAL_I, op.EQUAL_F),
    "less": (op.LESS_I, op.LESS_F),
    "less_equal": (op.LESS_EQUAL_I, op.LESS_EQUAL_F),
    "least": (op.LEAST_I, op.LEAST_F),
    "greatest": (op.GREATEST_I, op.GREATEST_F),
}
_UNTYPED = {
    "not": op.NOT,
    "is_null": op.IS_NULL,
    "floor": op.FLOOR,
    "ceil": op.CEIL,
    "sqrt": op.SQRT,
    "exp": op.EXP,
    "ln": op.LN,
    "power": op.POWER,
}
_B, _L, _D = DataType.BOOLEAN, DataType.LONG, DataType.DOUBLE
_T, _DAY, _I = DataType.TIMESTAMP, DataType.DATE, DataType.INTERVAL
_CASTS = {
    (_L, _D): op.FLOAT_OF_I,
    (_B, _D): op.FLOAT_OF_I,
    (_I, _D): op.FLOAT_OF_I,
    (_D, _L): op.WHOLE_OF_F,
    (_D, _I): op.WHOLE_OF_F,
    (_L, _B): op.TRUTH_OF_I,
    (_D, _B): op.TRUTH_OF_F,
    (_DAY, _T): op.MOMENT_OF_DATE,
    (_T, _DAY): op.DATE_OF_MOMENT,
    (_B, _L): None,  # already 0 or 1
}
_AGGREGATES = {"COUNT": op.COUNT, "SUM": op.SUM, "AVG": op.AVG, "MIN": op.MIN, "MAX": op.MAX}
_ITEMS = {"each": op.EACH, "previous": op.PREVIOUS, "number": op.NUMBER, "last": op.LAST}
_ORDERING = ("less", "less_equal", "least", "greatest")


class _Assembler:
    """Emits one program; follows the depth of the stack so that it can be refused.

    Without `tables`, what they are asked by several events, or by none, is emitted for some row.
    """

    def __init__(self, query: CheckedQuery, pools: _Pools, tables: Tables | None = None) -> None:
        self.query, self.pools, self.tables = query, pools, tables
        self.is_open = False
        self.code: list[Instruction] = []
        self.slots: dict[Slot, int] = {}
        self.depth = self.deepest = 0

    def emit(self, node: Typed) -> None:
        if isinstance(node, Constant):
            self._constant(node)
        elif isinstance(node, Input):
            self._input(node)
        elif isinstance(node, Aggregated):
            self._aggregate(node)
        elif is_native(node):
            self._apply(node)
        else:
            self._derived(node)

    def _put(self, opcode: int, a: int = 0, b: int = 0, *, grow: int = 0) -> int:
        self.code.append((opcode, a, b))
        self.depth += grow
        self.deepest = max(self.deepest, self.depth)
        return len(self.code) - 1

    def _aim(self, at: int) -> None:
        opcode, _, b = self.code[at]
        self.code[at] = (opcode, len(self.code), b)

    def _constant(self, node: Constant) -> None:
        if node.value is None:
            self._put(op.PUSH_NULL, grow=1)
        else:
            self._put(op.PUSH, self.pools.constant(node), grow=1)

    def _slot(self, slot: Slot) -> int:
        return self.slots.setdefault(slot, len(self.slots))

    def _load(self, slot: Slot) -> None:
        self._put(op.LOAD, self._slot(slot), grow=1)

    def _input(self, node: Input) -> None:
        slot = self._item(node, _of_this_event(node))
        if node.default is None:
            self._load(slot)
            return
        held = self._slot(Slot(node.component, op.COUNT))
        absent = self._put(op.JUMP_IF_ZERO, 0, held)
        self._load(slot)
        end = self._put(op.JUMP, grow=-1)
        self._aim(absent)
        self.emit(node.default)
        self._aim(end)

    def _item(self, node: Input, expression: Typed) -> Slot:
        column = self.pools.column(EventColumn(expression.type, expression))
        if not self.query.components[node.component].repeats:
            return Slot(node.component, op.EACH, column)
        return Slot(node.component, _ITEMS[node.kind], column, node.number)

    def _aggregate(self, node: Aggregated) -> None:
        kind = _AGGREGATES[node.function] + (op.RUNNING if node.running else 0)
        if node.column is None:
            self._load(Slot(node.component, kind))
            return
        source = self.query.type_of_attribute(node.component, node.column)
        if node.function in ("SUM", "AVG") and not (source.is_number or source is _I):
            raise refuse(f"{node.function} needs numbers, not {source.value}")
        self._note_order(source)
        column = self.pools.column(EventColumn(source, Input(source, THIS_EVENT, node.column)))
        self._load(Slot(node.component, kind, column))

    def _note_order(self, kind: DataType) -> None:
        if kind is DataType.STRING:
            self.pools.orders_strings = True

    def _apply(self, node: Apply) -> None:
        special = {
            "and": self._connective,
            "or": self._connective,
            "in_list": self._in_list,
            "case": self._case,
            "coalesce": self._coalesce,
            "member": self._member,
            "cast": self._cast,
        }.get(node.operator)
        if special is not None:
            special(node)
            return
        self.emit(node.operands[0])
        self._typed(node, node.operands[0].type)

    def _typed(self, node: Apply, kind: DataType) -> None:
        if node.operator in _ORDERING:
            self._note_order(kind)
        if node.operator in _UNTYPED:
            opcode = _UNTYPED[node.operator]
        else:
            opcode = _TYPED[node.operator][kind is _D]
        if opcode >= op.CONVERSIONS:
            self._put(opcode)
        for operand in node.operands[1:]:
            self.emit(operand)
            self._put(opcode, grow=-1)

    def _connective(self, node: Apply) -> None:
        keep = op.KEEP_IF_FALSE if node.operator == "and" else op.KEEP_IF_TRUE
        join = op.AND if node.operator == "and" else op.OR
        jumps = []
        self.emit(node.operands[0])
        for operand in node.operands[1:]:
            jumps.append(self._put(keep))
            self.emit(operand)
            self._put(join, grow=-1)
        for jump in jumps:
            self._aim(jump)

    def _in_list(self, node: Apply) -> None:
        value, *items = node.operands
        tests = tuple(Apply(_B, "equal", (value, item)) for item in items)
        self.emit(tests[0] if len(tests) == 1 else Apply(_B, "or", tests))

    def _case(self, node: Apply) -> None:
        ends = []
        for condition, value in zip(node.operands[:-1:2], node.operands[1:-1:2], strict=True):
            self.emit(condition)
            otherwise = self._put(op.JUMP_UNLESS, grow=-1)
            self.emit(value)
            ends.append(self._put(op.JUMP, grow=-1))
            self._aim(otherwise)
        self.emit(node.operands[-1])
        for end in ends:
            self._aim(end)

    def _coalesce(self, node: Apply) -> None:
        ends = []
        for operand in node.operands[:-1]:
            self.emit(operand)
            ends.append(self._put(op.KEEP_IF_VALUE, grow=-1))
        self.emit(node.operands[-1])
        for end in ends:
            self._aim(end)

    def _member(self, node: Apply) -> None:
        for operand in node.operands:
            self.emit(operand)
            if operand.type is _D:
                self._put(op.SETTLE)
        types = tuple(operand.type for operand in node.operands)
        table = self.pools.table(TableUse(node.detail, types))
        self._put(op.MEMBER, table, grow=1 - len(types))

    def _cast(self, node: Apply) -> None:
        self.emit(node.operands[0])
        opcode = _CASTS[node.operands[0].type, node.type]
        if opcode is not None:
            self._put(opcode)

    def _derived(self, node: Apply) -> None:
        reads = [n for n in nodes_within(node) if isinstance(n, Input | Aggregated)]
        if not reads:
            self._folded(node)
            return
        sources = {_event_of(n) for n in reads}
        if len(sources) != 1 or None in sources:
            if node.operator == "lookup":
                self.is_open = True
                self.emit(written_out(node, self.tables, self.pools.made))
                return
            raise refuse(
                f"{node.operator} works on the strings of one event; compare them after applying "
                "it to each component alone"
            )
        first = reads[0]
        assert isinstance(first, Input)
        self._load(self._item(first, of_this_event(node)))

    def _folded(self, node: Apply) -> None:
        if next(iter(tables_within([node])), None) is None:
            self.emit(fold(node))
            return
        self.is_open = True
        known = Constant(node.type, None) if self.tables is None else fold(node, self.tables)
        self.emit(known)


def _event_of(node: Input | Aggregated) -> tuple[int, str, int] | None:
    if isinstance(node, Input) and node.default is None:
        return node.component, node.kind, node.number
    return None


def is_native(node: Apply) -> bool:
    """Return whether the machine has instructions for the node itself."""
    if node.operator == "cast":
        return (node.operands[0].type, node.type) in _CASTS
    return node.operator in _NATIVE


_NATIVE = frozenset({*_TYPED, *_UNTYPED, "and", "or", "in_list", "case", "coalesce", "member"})


def of_this_event(expression: Typed) -> Typed:
    """Return the expression with its inputs read from the event at hand."""
    if isinstance(expression, Input):
        return _of_this_event(expression)
    if isinstance(expression, Apply):
        return with_operands(expression, of_this_event)
    return expression


def _of_this_event(node: Input) -> Input:
    return Input(node.type, THIS_EVENT, node.column)
