"""Explanations of queries, forecasts and policies; with what was measured or learned, if asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

from augury.errors import AuguryError, Source
from augury.session.declared import blamed

if TYPE_CHECKING:
    from augury.analysis.checked import CheckedQuery
    from augury.analysis.declarations.catalog import PolicySchema
    from augury.session.acted import Acted
    from augury.session.answers import Answers
    from augury.session.bound import BoundRows
    from augury.session.declared import Declared

Format = Literal["text", "json", "svg", "mermaid"]


class Explanations:
    """How what is declared will be evaluated."""

    def __init__(
        self, declared: Declared, bound: BoundRows, acted: Acted, answers: Answers
    ) -> None:
        self._declared, self._bound, self._acted, self._answers = declared, bound, acted, answers

    def explain(self, name: str, shape: Format, *, analyze: bool) -> str:
        """Return how a query, forecast or policy will be evaluated, and why."""
        if shape not in get_args(Format):
            known = ", ".join(get_args(Format))
            raise AuguryError(f"there is no format {shape!r}; expected one of {known}")
        if name.lower() in self._declared.forecasts:
            return self._forecast(name, shape, analyze=analyze)
        if (policy := self._declared.catalog.policies.get(name.lower())) is not None:
            return self._policy(policy, shape, analyze=analyze)
        checked, source = self._declared.query(name)
        return self._query(checked, source, shape, analyze=analyze)

    def _query(self, checked: CheckedQuery, source: Source, shape: Format, *, analyze: bool) -> str:
        from augury.planning.explain import explain

        is_priced = bool(self._bound.sketches.get(checked.name.lower()))
        if analyze or is_priced:
            self._declared.refuse_private(checked.name)
        priced = self._bound.spark_runner("analyze").priced(checked.name) if is_priced else None
        measures = self._measures(checked, source, shape) if analyze else None
        with blamed(source, checked):
            shown = explain(checked, shape, self._declared.catalog, priced, measures)
        return shown + self._settling(checked.name) if shape == "text" else shown

    def _settling(self, query: str) -> str:
        """Return how the candidates of a query are settled; nothing where they are not."""
        from augury.planning.acting.shards import settling_text

        declared = self._declared
        if not (declared.catalog.rules or declared.catalog.tables):
            return ""
        return settling_text(query, declared.acting, declared.catalog, declared.checked_queries)

    def _measures(self, query: CheckedQuery, source: Source, shape: Format) -> list[dict[str, Any]]:
        """Return what the stages of a query do over the bound rows."""
        if shape not in ("text", "json"):
            raise AuguryError(f"what was measured is text or json, and no {shape}")
        with blamed(source, query):
            if self._declared.is_tested(query.name):
                return self._acted.run(query.name).measures(query.name)
            return self._bound.runner().measures(query.name)

    def _forecast(self, name: str, shape: Format, *, analyze: bool) -> str:
        """Return how a forecast will be made, and then how its query is evaluated."""
        from augury.planning.explain.forecast import explain_forecast

        forecast, source = self._declared.forecast(name)
        if shape != "text" or analyze:
            raise AuguryError(f"a forecast is explained as text; explain {forecast.query.name} so")
        with blamed(source, forecast):
            standing = [own for own, _ in self._declared.forecasts.values() if own is not forecast]
            own = explain_forecast(forecast, self._declared.catalog, standing)
            history = (forecast.learn_from or "").lower()
            if self._bound.engine == "local" and history in self._bound.rows:
                own += self._bound.local_runner().explain_learned(forecast)
        return f"{own}\n{self.explain(forecast.query.name, shape, analyze=False)}"

    def _policy(self, policy: PolicySchema, shape: Format, *, analyze: bool) -> str:
        from augury.planning.explain.policies import policy_text

        if shape != "text" or (analyze and self._bound.engine != "local"):
            raise AuguryError(f"policy {policy.name} is explained as text; with data, locally")
        text = policy_text(policy, self._declared.checked_queries)
        if not analyze:
            return text
        from augury.evaluation.policies.explained import learned_text

        decider, audit = self._answers.decided(policy)
        return f"{text}\n\n{learned_text(decider, audit)}"
