"""The rows of what is asked for beside the answers of queries, and their columns before any row."""

from __future__ import annotations

import pyarrow as pa

from augury.evaluation.acting.letters import letters_of, with_letters
from augury.evaluation.acting.written import written
from augury.evaluation.answers.forecast_answers import forecast_schema
from augury.evaluation.answers.schemas import answer_schema
from augury.evaluation.asked import Asked
from augury.evaluation.network import Network
from augury.evaluation.stages.act import Acted, ActStage, ActState, shown
from augury.evaluation.stages.suppress import audit_schema
from augury.planning.forecast_plan import plan_forecast
from augury.planning.match_plan import plan_possible
from augury.sources.columns import ARROW_TYPES


def asked_schema(network: Network, asked: Asked) -> pa.Schema:
    """Return the columns of what is asked for."""
    catalog = network.catalog
    if network.act is not None:
        return _act_schema(network.act, asked)
    if asked.kind == "audit":
        return audit_schema(catalog.streams[catalog.policies[asked.name].stream.lower()])
    if asked.kind == "forecast":
        return forecast_schema(plan_forecast(network.forecasts[asked.name], catalog))
    if asked.name not in catalog.streams:
        return answer_schema(network.plans[asked.name])
    columns = catalog.streams[asked.name].columns
    return pa.schema([(column.name, ARROW_TYPES[column.type.value]) for column in columns])


def acted_rows(stage: ActStage, state: ActState, acted: Acted, asked: Asked) -> pa.Table:
    """Return what is asked for of a step: matches that stand, firings, changes, contents."""
    if asked.kind == "settled":
        found = acted.found.get(stage.acting.candidates[asked.name].name)
        return _act_schema(stage, asked).empty_table() if found is None else found
    if asked.kind == "contents":
        return stage.contents(state, asked.name)
    if asked.kind == "written":
        rows = written(acted.firings, stage.stored_tables)
        return with_letters(rows, letters_of(acted.firings, stage.catalog, stage.queries))
    made = {"firings": stage.firings, "aside": stage.rejected, "changes": stage.changes}
    return made[asked.kind](acted, asked.name)


def _act_schema(stage: ActStage, asked: Asked) -> pa.Schema:
    if asked.kind == "settled":
        plan = plan_possible(stage.acting.candidates[asked.name].query, stage.catalog)
        return shown(answer_schema(plan).empty_table()).schema
    found = acted_rows(stage, stage.start(), Acted({}, [], []), asked).schema
    in_worlds = asked.kind == "contents" and stage.catalog.tables[asked.name].uncertain
    return found.append(pa.field("probability", pa.float64())) if in_worlds else found
