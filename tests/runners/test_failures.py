"""What Spark and Java throw, in one sentence; the texts are those of Spark 4.2."""

from __future__ import annotations

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark.errors import PySparkException

from augury.errors import AuguryError, StateError
from augury.runners.process.failures import explained, readable_failures


@pytest.fixture(autouse=True)
def _no_tracebacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AUGURY_TRACEBACK", raising=False)


def sentence(text: str, *, streaming: bool = False) -> str:
    return str(explained(PySparkException(text), streaming=streaming))


WORKER = """\
[STREAM_FAILED] Query terminated with exception: Job aborted
Caused by: org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "worker.py", line 1, in main
{}

\tat org.apache.spark.api.python.BasePythonRunner.read(PythonRunner.scala:1)
"""
TRUNCATED = """\
An error occurred while calling o1847.collectToPython.
: org.apache.spark.SparkException: [FAILED_READ_FILE.NO_HINT] Encountered error while reading file \
file:///in/a.json.gz.  SQLSTATE: KD001
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.cannotReadFilesError(QueryErrors.scala:856)
\tat java.base/java.lang.Thread.run(Thread.java:840)
\tSuppressed: org.apache.spark.util.Utils$OriginalTryStackTraceException: Full stacktrace
\t\tat java.lang.Thread.run(Thread.java:840)
Caused by: java.io.EOFException: Unexpected end of input stream
\tat org.apache.hadoop.io.compress.DecompressorStream.decompress(DecompressorStream.java:165)
\t... 25 more
"""
MISMATCH = """\
An error occurred while calling o832.collectToPython.
: org.apache.spark.SparkException: [FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH] \
Encountered error while reading file file:///in/b.parquet. Data type mismatches when reading \
Parquet column [p]. Expected Spark type double, actual Parquet type BINARY. SQLSTATE: KD001
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.parquetColumn(QueryExecutionErrors.scala:1)
Caused by: org.apache.spark.sql.execution.datasources.SchemaColumnConvertNotSupportedException: \
column: [p], physicalType: BINARY, logicalType: double
\tat org.apache.spark.sql.execution.datasources.parquet.ParquetVectorUpdaterFactory.make(P.java:1)
"""
HEADER = """\
An error occurred while calling o539.collectToPython.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 5.0 failed 1 \
times, most recent failure: Lost task 0.0 in stage 5.0 (TID 5) (127.0.0.1 executor driver): \
org.apache.spark.SparkException: [FAILED_READ_FILE.NO_HINT] Encountered error while reading file \
file:///in/b.csv.  SQLSTATE: KD001
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.cannotReadFilesError(QueryErrors.scala:856)
Caused by: java.lang.IllegalArgumentException: CSV header does not conform to the schema.
 Header: tag, id
 Schema: id, tag
Expected: id but found: tag
CSV file: file:///in/b.csv
\tat org.apache.spark.sql.catalyst.csv.CSVHeaderChecker.checkHeader(CSVHeaderChecker.scala:1)

Driver stacktrace:
\tat org.apache.spark.scheduler.DAGScheduler.abortStage(DAGScheduler.scala:1)
Caused by: java.lang.IllegalArgumentException: CSV header does not conform to the schema.
 Header: tag, id
 Schema: id, tag
Expected: id but found: tag
CSV file: file:///in/b.csv
\tat org.apache.spark.sql.catalyst.csv.CSVHeaderChecker.checkHeader(CSVHeaderChecker.scala:1)
"""
NO_CLASS = """\
An error occurred while calling o4048.load.
: java.lang.RuntimeException: java.lang.ClassNotFoundException: Class \
org.apache.hadoop.fs.s3a.S3AFileSystem not found
\tat org.apache.hadoop.conf.Configuration.getClass(Configuration.java:2724)
Caused by: java.lang.ClassNotFoundException: Class org.apache.hadoop.fs.s3a.S3AFileSystem not found
\tat org.apache.hadoop.conf.Configuration.getClassByName(Configuration.java:2628)
\t... 26 more
"""
OPTION = """\
org.apache.spark.sql.streaming.StreamingQueryException: [STREAM_FAILED] Query [id = 560ac75d, \
runId = 6f283545] terminated with exception: Invalid value 'x' for option 'maxFilesPerTrigger', \
must be a positive integer SQLSTATE: XXKST
\tat org.apache.spark.sql.execution.streaming.StreamExecution.runStream(StreamExecution.scala:1)
Caused by: java.lang.IllegalArgumentException: Invalid value 'x' for option 'maxFilesPerTrigger', \
must be a positive integer
\tat org.apache.spark.sql.execution.streaming.FileStreamOptions.$anonfun$1(FileStreamOptions.scala)
"""
STOPPED = """\
An error occurred while calling None.org.apache.spark.sql.classic.SparkSession.
: java.lang.IllegalStateException: Cannot call methods on a stopped SparkContext.
This stopped SparkContext was created at:

org.apache.spark.api.java.JavaSparkContext.<init>(JavaSparkContext.scala:59)
java.base/jdk.internal.reflect.NativeConstructorAccessorImpl.newInstance0(Native Method)
"""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (TRUNCATED, "EOFException: Unexpected end of input stream, in file:///in/a.json.gz"),
        (
            MISMATCH,
            "Encountered error while reading file file:///in/b.parquet. Data type mismatches when "
            "reading Parquet column [p]. Expected Spark type double, actual Parquet type BINARY",
        ),
        (
            HEADER,
            "CSV header does not conform to the schema. Header: tag, id Schema: id, tag Expected: "
            "id but found: tag CSV file: file:///in/b.csv",
        ),
        (NO_CLASS, "Class org.apache.hadoop.fs.s3a.S3AFileSystem not found"),
        (
            OPTION,
            "Invalid value 'x' for option 'maxFilesPerTrigger', must be a positive integer",
        ),
        ("java.net.UnknownHostException: nohost", "UnknownHostException: nohost"),
        ("starting offset can't be latest", "starting offset can't be latest"),
    ],
)
def test_the_innermost_cause_is_told_and_what_to_do(text: str, reason: str) -> None:
    assert sentence(text) == (
        f"Spark stopped the run: {reason}; correct the cause and start again; AUGURY_TRACEBACK=1 "
        "shows all that Spark says"
    )


def test_places_in_sparks_own_code_are_left_out() -> None:
    assert "Cannot call methods on a stopped SparkContext; correct" in sentence(STOPPED)


def test_of_long_advice_the_first_sentences_are_told() -> None:
    found = sentence(f"Could not read footer. Check it. {'Or convert it. ' * 40}Or give up.")
    assert "Could not read footer. Check it. Or convert it" in found
    assert "Or give up" not in found


def test_a_stream_is_told_that_what_was_written_stays() -> None:
    assert "; what was written stays; correct the cause" in sentence(OPTION, streaming=True)


KILLED = """\
Job aborted due to stage failure: Task 0 in stage 5.0 failed 1 times, most recent failure: \
Lost task 0.0 in stage 5.0 (TID 5) (127.0.0.1 executor driver): org.apache.spark.SparkException: \
Python worker exited unexpectedly (crashed)
\tat org.apache.spark.api.python.BasePythonRunner.read(PythonRunner.scala:1)
Caused by: java.io.EOFException
\tat java.base/java.io.DataInputStream.readInt(DataInputStream.java:1)
"""


def test_a_failure_that_may_pass_is_worth_another_start() -> None:
    found = sentence(KILLED, streaming=True)
    assert "Python worker exited unexpectedly (crashed); what was written stays; this may" in found
    gone = "org.apache.kafka.common.errors.TimeoutException: Timed out waiting for a node"
    assert "this may pass: start again" in sentence(gone)


def test_a_java_that_is_gone_is_named() -> None:
    for problem in (Py4JNetworkError("Answer from Java side is empty"), ConnectionRefusedError(1)):
        found = str(explained(problem))
        assert found.startswith("Spark stopped the run: Java has ended, or was killed; this may")


def test_data_that_kafka_has_no_more_are_not_said_to_be_safe() -> None:
    text = (
        "org.apache.spark.sql.kafka010.KafkaIllegalStateException: Some data may have been lost "
        "because they are not available in Kafka any more; either the data was aged out"
    )
    found = sentence(text, streaming=True)
    assert found.startswith("Spark stopped the run: Some data may have been lost")
    assert "set failOnDataLoss = false in OPTIONS" in found
    assert "start again" not in found


def test_notes_on_an_exception_say_where_it_was() -> None:
    problem = PySparkException("java.net.UnknownHostException: nohost")
    problem.add_note("reads is read from json 'hdfs://nohost/x'")
    assert "nohost (reads is read from json 'hdfs://nohost/x'); correct" in str(explained(problem))


def test_an_error_of_augury_crosses_spark_as_itself() -> None:
    raised = "augury.errors.StateError: the state of shard 3 is damaged"
    found = explained(PySparkException(WORKER.format(raised)))
    assert isinstance(found, StateError)
    assert str(found) == "the state of shard 3 is damaged"


def test_an_error_that_another_one_caused_is_the_one_that_is_told() -> None:
    chain = """augury.rules.contents.RefusedKeyError: key ('w7',) is there already

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "worker.py", line 1, in main
augury.errors.DataError: rule note, match m1 at 9: key ('w7',) is there already"""
    said = "rule note, match m1 at 9: key ('w7',) is there already"
    assert sentence(WORKER.format(chain)) == said


def test_a_refusal_of_augury_crosses_spark_as_one() -> None:
    raised = "augury.planning.refusal.PlanError: query q uses a MARKOV stream"
    assert sentence(WORKER.format(raised)) == "query q uses a MARKOV stream"


def test_the_error_of_a_worker_is_named_and_may_be_ours() -> None:
    found = sentence(WORKER.format("ZeroDivisionError: division by zero"))
    assert found.startswith("Spark stopped the run: ZeroDivisionError: division by zero; correct")
    assert "report it if it lies in augury" in found


def test_an_error_with_another_name_is_named_too() -> None:
    found = sentence(WORKER.format("pyarrow.lib.ArrowInvalid: no such value"))
    assert found.startswith("Spark stopped the run: pyarrow.lib.ArrowInvalid: no such value; ")


def test_with_tracebacks_spark_speaks_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUGURY_TRACEBACK", "1")
    with pytest.raises(PySparkException):
        explained(PySparkException("Job aborted"))


def test_a_fault_of_augury_is_not_taken_for_one_of_spark() -> None:
    with pytest.raises(KeyError), readable_failures():
        raise KeyError("x")
    with (
        pytest.raises(AuguryError, match="Spark did not start: oh"),
        readable_failures("Spark did not start"),
    ):
        raise PySparkException("oh")
