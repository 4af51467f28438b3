"""Bound rows: what streams and tables were given, and the runner that answers over them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from augury.errors import AuguryError, QueryError

if TYPE_CHECKING:
    from augury.analysis.declarations.catalog import StreamSchema, TableSchema
    from augury.evaluation.asked import Kind
    from augury.evaluation.stream_rows import StreamRows
    from augury.evaluation.suppression import Suppressed
    from augury.planning.distribution.layout import Sketches
    from augury.runners.local.runner import LocalRunner
    from augury.runners.spark.runner import SparkRunner
    from augury.session.declared import Declared, Engine
    from augury.session.notices import Aside


class BoundRows:
    """The rows of a session, and a runner over them that lasts until one of both changes."""

    def __init__(self, declared: Declared, engine: Engine, spark: Any, shards: int | None) -> None:
        self._declared, self.engine, self._spark, self._shards = declared, engine, spark, shards
        self.rows: dict[str, Any] = {}
        self.suppressed: dict[str, Suppressed] | None = None
        # Streams of which a policy has decided something: nothing may bind more of them.
        self.decided: set[str] = set()
        self.sketches: dict[str, Sketches] = {}
        self._runner: LocalRunner | SparkRunner | None = None

    @property
    def spark(self) -> Any:
        """The Spark session; a local one is started when it is first needed."""
        if self.engine != "spark":
            raise AuguryError("the engine 'local' has no Spark session")
        if self._spark is None:
            _refuse_without_spark()
            from augury.runners.process.local_spark import start

            self._spark = start()
        return self._spark

    def bindable(self, name: str) -> StreamSchema | TableSchema:
        """Return the stream or table of a name; raise where its rows come from elsewhere."""
        catalog = self._declared.catalog
        declared = catalog.stream(name) or catalog.table(name)
        if declared is None:
            raise QueryError([self._declared.unbound(name)])
        made = self._made_of(declared.name)
        if made is not None:
            how, source = made
            raise AuguryError(f"stream {declared.name} is {how}; bind the rows of {source}")
        if catalog.table(name) is not None and catalog.tables[name.lower()].store:
            raise AuguryError(
                f"table {declared.name} lies in a STORE; its rows are those that are there"
            )
        return declared

    def _made_of(self, name: str) -> tuple[str, str] | None:
        """Return how a stream is made of another one, and of which."""
        catalog = self._declared.catalog
        if (inferred := catalog.inferred.get(name.lower())) is not None:
            source = inferred.statement.readings
            return f"inferred from {source}", source
        return self.told_by(name)

    def told_by(self, name: str) -> tuple[str, str] | None:
        """Return how a stream gets its owners, or who keeps its rows; None for any other."""
        catalog = self._declared.catalog
        if (known := catalog.identified.get(name.lower())) is not None:
            source = known.statement.readings
            return f"identified from {source}", source
        if (kept := catalog.suppressed.get(name.lower())) is not None:
            return f"what policy {kept.policy} keeps of {kept.stream}", kept.stream
        return None

    def bind(self, declared: StreamSchema | TableSchema, data: Any) -> None:
        """Take the rows of a stream or table in the place of those it had."""
        self.rows[declared.name.lower()] = self._taken(declared, data)
        self._runner, self.suppressed, self.sketches = None, None, {}

    def _taken(self, declared: StreamSchema | TableSchema, data: Any) -> Any:
        """Return what is bound as the engine takes it: an Arrow table, or a DataFrame of Spark."""
        from augury.sources.bound_files import text_rows
        from augury.sources.tables import arrow_table, is_path

        rows = text_rows(declared, data) if is_path(data) else None
        data = data if rows is None else rows
        if is_path(data) and self.engine == "spark":
            from augury.sources.files import bound_folder

            return bound_folder(self.spark, declared.name, os.fsdecode(data))
        if is_path(data):
            from augury.runners.local.stored_rows import stored_rows

            return stored_rows(declared, data)
        keeps = self.engine == "spark" and type(data).__module__.startswith("pyspark.sql")
        kinds = {column.name: column.type.value for column in declared.columns}
        return data if keeps else arrow_table(declared.name, data, kinds)

    def renew(self) -> None:
        """Let the next answer be planned anew, since more is declared."""
        self._runner = None

    def runner(self) -> LocalRunner | SparkRunner:
        """Return the runner over the bound rows."""
        if self._runner is None:
            self._runner = self._new_spark() if self.engine == "spark" else self._new_local()
        return self._runner

    def _new_spark(self) -> SparkRunner:
        _refuse_without_spark()
        from augury.runners.spark.runner import SparkRunner

        declared = self._declared
        return SparkRunner(
            self.spark,
            declared.catalog,
            declared.checked_queries,
            dict(self.rows),
            shards=self._shards,
            sketches=dict(self.sketches),
            forecasts=declared.checked_forecasts,
        )

    def _new_local(self) -> LocalRunner:
        from augury.evaluation.suppression import owners_behind_policies
        from augury.runners.local.runner import LocalRunner

        declared = self._declared
        queries = declared.checked_queries
        bound, checked = self.behind_policies()
        queries |= declared.searched
        forecasts = declared.checked_forecasts
        return LocalRunner(
            declared.catalog,
            queries,
            bound,
            checked,
            forecasts=forecasts,
            identities=owners_behind_policies(declared.catalog, self.suppressed or {}),
        )

    def behind_policies(
        self, instead: Mapping[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, StreamRows]]:
        """Return the rows that readers may see: of streams under a policy, those that are kept.

        Rows that are given `instead` of those of some streams are decided about like these.
        """
        catalog, rows = self._declared.catalog, {**self.rows, **(instead or {})}
        if not catalog.policies:
            return rows, {}
        from augury.evaluation.suppression import behind_policies, gated

        found = None if instead else self.suppressed
        if found is None:
            found = gated(catalog, self._declared.checked_queries, rows)
            self.decided |= set(found)
        if not instead:
            self.suppressed = found
        return behind_policies(catalog, rows, found)

    def local_runner(self) -> LocalRunner:
        """Return the runner of this process; only asked for where the engine is local."""
        from augury.runners.local.runner import LocalRunner

        runner = self.runner()
        assert isinstance(runner, LocalRunner)
        return runner

    def spark_runner(self, asked: str) -> SparkRunner:
        """Return the runner on Spark; raise where the engine is local, by what was `asked` for."""
        from augury.runners.local.runner import LocalRunner

        runner = self.runner()
        if isinstance(runner, LocalRunner):
            raise AuguryError(f"{asked} needs Spark; make a Session(spark) or a Session() for it")
        return runner

    def asked_on_spark(self, kind: Kind, name: str, columns: Sequence[str] | None = None) -> Any:
        """Return the lazy rows of what is no query."""
        from augury.evaluation.asked import Asked

        runner = self.spark_runner(f"the table of {name}")
        return runner.asked(Asked(kind, name.lower()), columns)

    def bad_rows(self) -> dict[tuple[str, str], Aside]:
        """Return how many rows of the bound streams that were read are bad, and why the first is.

        DataFrames of Spark are lazy: nothing is known of their rows before they are asked for.
        """
        if self.engine == "spark":
            return {}
        return {
            (stream.schema.name, "rejected"): (bad.num_rows, bad.column("reason")[0].as_py())
            for stream in self.local_runner().streams_read
            if (bad := stream.rejected).num_rows
        }


def _refuse_without_spark() -> None:
    """Raise where this session is one of Spark, and that is not installed."""
    if find_spec("pyspark") is None:
        raise AuguryError(
            "this session runs on Spark, which is not installed: pip install 'augury[spark]', or "
            "stay in this process with Session(engine='local')"
        )
