"""The graph that runs, as EXPLAIN shows it: what Spark does first, then the engine's stages."""

from __future__ import annotations

from collections.abc import Iterator

from augury.analysis.declarations.catalog import Catalog
from augury.planning.graph import STREAMS, Graph, Stage, graph_of
from augury.planning.operators import Operator
from augury.planning.physical import PhysicalPlan


def stages_of(plan: PhysicalPlan, catalog: Catalog | None) -> Graph:
    """Return the stages that answer a query."""
    query = plan.query
    return graph_of([query.name], {query.name.lower(): query}, catalog or Catalog())


def plan_steps(plan: PhysicalPlan, catalog: Catalog | None) -> tuple[Operator, ...]:
    """Return all steps of a plan in data order: on Spark, and stage by stage in the engine."""
    on_spark = [each for each in plan.operators if each.runs_on == "Spark"]
    if any(each.kind == "suppress" for each in stages_of(plan, catalog).stages):
        # A policy decides about every row: none is dropped before it.
        on_spark = [each for each in on_spark if each.name != "mask"]
    own = {each.name: each.does for each in plan.operators if each.runs_on != "Spark"}
    stages = stages_of(plan, catalog).stages
    steps = (_step(each, plan, own) for each in stages)
    return (*on_spark, *steps, *_act(plan), *_answer(own))


def stage_names(plan: PhysicalPlan, catalog: Catalog | None) -> list[str]:
    """Return the names of the stages that the engine enters, in order."""
    acts = (f"{each.name} {plan.query.name}" for each in _act(plan))
    return [*stages_of(plan, catalog).names, *acts]


def _act(plan: PhysicalPlan) -> Iterator[Operator]:
    """Yield what is done where tables decide which of the matches stand."""
    if plan.query.lookups:
        does = "test what reads tables, one moment after another"
        yield Operator("act", "engine", f"{plan.query.name}: {does}")


def _step(stage: Stage, plan: PhysicalPlan, own: dict[str, str]) -> Operator:
    """Return a stage as a step; the query's own says how it searches, too."""
    does = stage.does
    if stage.of == plan.query.name and stage.kind not in STREAMS:
        how = own.get("match") or own.get("marginalise")
        does = f"{how}; {does}" if how else does
    return Operator(stage.kind, "engine", f"{stage.of}: {does}")


def _answer(own: dict[str, str]) -> Iterator[Operator]:
    if "return" in own:
        yield Operator("answer", "engine", own["return"])
