"""What Spark or Java threw, as one sentence: what is wrong, where, and whether to start again.

Spark wraps what happened several times over, and Java prints the wrappings outermost first. The
innermost one that says something is the cause, unless Spark has a message of its own for it.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

from py4j.protocol import Py4JJavaError, Py4JNetworkError
from pyspark.errors import PySparkException

from augury import errors
from augury.errors import AuguryError

# Whoever calls a Java that was killed is refused by the system.
_GONE = (Py4JNetworkError, ConnectionRefusedError)
OF_SPARK = (PySparkException, Py4JJavaError, *_GONE)
STOPPED = "Spark stopped the run"
_ENDED = "Java has ended, or was killed"
_LONG, _LONGEST = 250, 500

_OURS = re.compile(r"augury\.[\w.]+\.(\w+Error): (.+)")
_CALLED = re.compile(r"\AAn error occurred while calling [^\n]*\n: ")
_STACK = re.compile(r"\s+at |\t|\s*\.\.\. \d+ more|Driver stacktrace:")
_THROWN = re.compile(r"((?:[\w$]+\.)+[\w$]+): +", re.ASCII)
_IN_PYTHON = re.compile(r"^((?:\w+\.)*\w+): (.+)", re.MULTILINE | re.DOTALL)
_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_.]+)\] ")
_WRAPPING = re.compile(
    r"\[STREAM_FAILED\] |Query \[id = [^\]]*\] terminated with exception: "
    r"|Job aborted due to stage failure: .*? executor \w+\): ",
    re.DOTALL,
)
_FILE = re.compile(r"while (?:reading|writing)[a-z ]* (\w+:/\S+?)\.?(?=\s|\Z)")
# After an empty line, and the line that announces it, Spark goes on with places in its own code.
_PLACES = re.compile(r"(\n[^\n]*:)?\n\n.*", re.DOTALL)
_STATE = re.compile(r"\s*SQLSTATE: \w+")
# Conditions that say only that something went wrong, and leave the rest to the cause.
_VAGUE = (
    "STREAM_FAILED",
    "FAILED_READ_FILE.NO_HINT",
    "TASK_WRITE_FAILED",
    "INTERNAL_ERROR",
    "FAILED_EXECUTE_UDF",
    "CANNOT_LOAD_STATE_STORE",
    "CANNOT_WRITE_STATE_STORE",
)
# Names that add nothing to their message; others (UnknownHostException: x) are half of it.
_PLAIN = re.compile(
    r"(Spark\w*|Runtime|IO|IllegalArgument|\w*IllegalState|ClassNotFound|\w*Analysis|StreamingQuery|)"
    r"Exception"
)
_PASSING = re.compile(
    r"worker exited unexpectedly|worker failed to connect|ExecutorLost|executor \w+ lost"
    r"|Connection (refused|reset)|Java has ended"
    r"|[Tt]imed out|Timeout|DisconnectException|Broken pipe|BrokerNotAvailable|No route to host"
)
_LOST = re.compile(r"data may have been lost|KAFKA_DATA_LOSS|OffsetOutOfRange")


@dataclass(frozen=True)
class _Cause:
    """One exception of a chain: its name without packages, and what it says."""

    name: str
    message: str
    in_python: bool = False

    @property
    def condition(self) -> str | None:
        found = _CONDITION.match(self.message)
        return found[1] if found else None

    @property
    def says_most(self) -> bool:
        return self.condition is not None and not self.condition.startswith(_VAGUE)

    def sentence(self) -> str:
        paragraph = _PLACES.sub("", self.message.strip())
        said = _CONDITION.sub("", _STATE.sub("", paragraph), count=1)
        said = " ".join(said.split()).rstrip(".;")
        return said if _PLAIN.fullmatch(self.name) or not self.name else f"{self.name}: {said}"


@contextlib.contextmanager
def readable_failures(what: str = STOPPED, *, streaming: bool = False) -> Iterator[None]:
    """Turn what Spark throws into an error of augury that says it in one sentence."""
    try:
        yield
    except OF_SPARK as problem:
        raise explained(problem, what, streaming=streaming) from problem


def explained(problem: Exception, what: str = STOPPED, *, streaming: bool = False) -> AuguryError:
    """Return an error of augury that crossed Spark as itself, any other in one sentence."""
    if os.environ.get("AUGURY_TRACEBACK"):
        raise problem
    text = _text(problem)
    if ours := _OURS.findall(text):
        # Python prints causes first: the last is the error that was raised.
        name, said = ours[-1]
        # What stands elsewhere in augury is a kind of DataError.
        kind = getattr(errors, name, errors.DataError)
        return kind(said) if kind is not errors.QueryError else AuguryError(said)
    notes = "".join(f" ({note})" for note in getattr(problem, "__notes__", ()))
    kept = "what was written stays; " if streaming else ""
    return AuguryError(
        f"{what}: {reason(text)}{notes}; {kept}{_advice(text)}; AUGURY_TRACEBACK=1 shows all that "
        "Spark says"
    )


def _text(problem: Exception) -> str:
    """Return all that is known of an exception; Spark keeps the causes apart from the message."""
    if isinstance(problem, _GONE):
        return _ENDED
    try:
        text = getattr(problem, "_stackTrace", None) or str(problem)
    except _GONE:  # what Java threw is asked for only now
        return _ENDED
    return _CALLED.sub("", text)


def reason(text: str) -> str:
    """Return what says most in the text of an exception, with the file if Spark names one."""
    cause = _telling(text)
    said = _shortened(cause.sentence())
    file = _FILE.search(text)
    if file is None or file[1].split("/")[-1] in said:
        return said
    return f"{said}, in {file[1]}"


def _shortened(said: str) -> str:
    """Return the first sentences: Spark's later ones are advice that seldom fits."""
    kept, *others = said.split(". ")
    for sentence in others:
        if len(kept) + len(sentence) > _LONG:
            break
        kept = f"{kept}. {sentence}"
    return kept[:_LONGEST]


def _advice(text: str) -> str:
    cause = _telling(text)
    text = f"{cause.name}: {cause.message}"
    if _LOST.search(text):
        return (
            "what Kafka has no more is not read; to go on without it, set failOnDataLoss = false "
            "in OPTIONS"
        )
    if _PASSING.search(text):
        return "this may pass: start again to go on"
    if cause.in_python:
        return "correct the cause, or report it if it lies in augury, and start again"
    return "correct the cause and start again"


def _telling(text: str) -> _Cause:
    """Return the innermost cause that says something, or else the one that Spark has words for."""
    causes = [cause for cause in _causes(text) if cause.message.strip()]
    worded = [cause for cause in causes if cause.says_most or cause.in_python]
    return (worded or causes or [_Cause("", text.strip() or "it gave no reason")])[-1]


def _causes(text: str) -> list[_Cause]:
    """Return the chain of exceptions, outermost first."""
    blocks: list[list[str]] = [[]]
    for line in text.splitlines():
        if _STACK.match(line) or line.startswith("Caused by: "):
            blocks.append([])
        if not _STACK.match(line):
            blocks[-1].append(line.removeprefix("Caused by: "))
    return [_cause("\n".join(block)) for block in blocks if any(map(str.strip, block))]


def _cause(block: str) -> _Cause:
    """Read `package.Name: message`, whose message may begin with another name."""
    name, block = "", _WRAPPING.sub("", block)
    while (thrown := _THROWN.match(block)) is not None:
        name, block = thrown[1].rpartition(".")[2], _WRAPPING.sub("", block[thrown.end() :])
    python = block.rpartition("Traceback (most recent call last):")
    if python[1]:
        return _in_python(python[2])
    # A name alone says nothing, such as that of the exception at the end of a stream.
    return _Cause(name, "" if re.fullmatch(r"[\w.$]+(Exception|Error)", block) else block)


def _in_python(traceback: str) -> _Cause:
    raised = _IN_PYTHON.search(traceback)
    if raised is None:
        return _Cause("", traceback.strip().splitlines()[-1], in_python=True)
    return _Cause(raised[1], raised[2], in_python=True)
