"""OPTIONS of FROM: they go to Spark as they are, but for those that augury has decided itself.

Another value of such an option would be overridden or ignored, so it is an error. Whatever else is
not known goes to Spark, which ignores what it does not know; one that is nearly a known one is most
likely misspelt, so there is a warning.
"""

from __future__ import annotations

from dataclasses import dataclass

from augury.analysis.findings import Findings
from augury.language.nearest import nearest
from augury.language.tree import External, Option


@dataclass(frozen=True, slots=True)
class _Decided:
    """An option with the values that it can have, if any, and what to do instead."""

    option: str
    values: tuple[str, ...]
    instead: str


_BIND = "or bind a DataFrame that is read otherwise"
_TEXTS = (
    _Decided("mode", ("permissive",), "leave it out: what cannot be read is put aside as rejected"),
    _Decided("columnNameOfCorruptRecord", (), "leave it out: rejected rows have it as raw"),
    _Decided("timestampNTZFormat", (), "write timestampFormat"),
)
_TRUTHS = ("true", "false")
# Those that Spark decodes; lines of the wide ones end in several bytes.
_ENCODINGS = ("utf-8", "us-ascii", "iso-8859-1")
_WIDE = ("utf-16", "utf-16be", "utf-16le", "utf-32")
_DECODES = f"write the files in one of these, {_BIND}"
_DECIDED = {
    "csv": (
        _Decided("header", _TRUTHS, "write true, or false for the declared columns in their order"),
        _Decided("enforceSchema", ("false",), "leave it out: columns are known by the header"),
        *_TEXTS,
    ),
    "json": (
        _Decided("multiLine", _TRUTHS, "write true where a file is one object or one list"),
        _Decided("encoding", _ENCODINGS, _DECODES),
        _Decided("charset", _ENCODINGS, _DECODES),
        *_TEXTS,
    ),
}

_FOLDERS = (
    "basePath cleanSource discardCachedInputRatio fileNameOnly ignoreCorruptFiles "
    "ignoreMissingFiles latestFirst maxBytesPerTrigger maxCachedFiles maxFileAge "
    "maxFilesPerTrigger modifiedAfter modifiedBefore pathGlobFilter recursiveFileLookup "
    "sourceArchiveDir "
)
_KNOWN = {
    "parquet": _FOLDERS + "datetimeRebaseMode int96RebaseMode mergeSchema",
    "csv": _FOLDERS + "charset charToEscapeQuoteEscaping codec columnNameOfCorruptRecord comment "
    "compression dateFormat delimiter emptyValue enableDateTimeParsingFallback encoding "
    "enforceSchema escape extension header ignoreLeadingWhiteSpace ignoreTrailingWhiteSpace "
    "inferSchema lineSep locale maxCharsPerColumn maxColumns maxMalformedLogPerPartition mode "
    "multiLine nanValue negativeInf nullValue positiveInf preferDate quote quoteAll samplingRatio "
    "sep timestampFormat timestampNTZFormat timeZone unescapedQuoteHandling",
    "json": _FOLDERS + "allowBackslashEscapingAnyCharacter allowComments allowNonNumericNumbers "
    "allowNumericLeadingZeros allowSingleQuotes allowUnquotedControlChars allowUnquotedFieldNames "
    "charset columnNameOfCorruptRecord compression dateFormat dropFieldIfAllNull "
    "enableDateTimeParsingFallback encoding lineSep locale mode multiLine prefersDecimal "
    "primitivesAsString samplingRatio timestampFormat timestampNTZFormat timeZone wholetext",
    "kafka": "assign endingOffsets endingOffsetsByTimestamp endingTimestamp failOnDataLoss "
    "fetchOffset.numRetries fetchOffset.retryIntervalMs groupIdPrefix includeHeaders "
    "kafka.bootstrap.servers kafkaConsumer.pollTimeoutMs maxOffsetsPerTrigger "
    "maxRecordsPerPartition maxTriggerDelay minOffsetsPerTrigger minPartitions servers "
    "startingOffsets startingOffsetsByTimestamp startingOffsetsByTimestampStrategy "
    "startingTimestamp subscribe subscribePattern",
}
# The Kafka client has hundreds of options; one alone is needed by every stream.
_CLIENT, _SERVERS = "kafka.", "bootstrap.servers"


def source_options_are_heeded(source: External, findings: Findings) -> None:
    """Report options that would be overridden or ignored."""
    for option in source.options:
        _value_can_be_heeded(source, option, findings)
        meant = meant_option(source.format, option.key)
        if meant is not None:
            message = f"option {option.key} is unknown to {source.format} sources"
            findings.warning("W016", message, option.span, f"did you mean {meant}?")


def _value_can_be_heeded(source: External, option: Option, findings: Findings) -> None:
    for decided in _DECIDED.get(source.format, ()):
        is_it = decided.option.lower() == option.key.lower()
        values = _possible(decided, source)
        if is_it and str(option.value).lower() not in values:
            are = "always " if len(values) == 1 else "one of "
            is_always = f", which is {are}{', '.join(values)}" if values else ""
            message = f"FROM {source.format} cannot heed option {option.key}{is_always}"
            findings.error("A083", message, option.span, decided.instead)


def _possible(decided: _Decided, source: External) -> tuple[str, ...]:
    """Return the values that an option may have; where files are read as a whole, no line ends."""
    given = {option.key.lower(): str(option.value).lower() for option in source.options}
    is_whole = decided.values == _ENCODINGS and given.get("multiline") == "true"
    return (*decided.values, *_WIDE) if is_whole else decided.values


def meant_option(kind: str, key: str) -> str | None:
    """Return the option that a key is most likely meant to be; None where it is one, or like none.

    >>> meant_option("json", "maxFilePerTrigger"), meant_option("json", "my.own.option")
    ('maxFilesPerTrigger', None)
    """
    known, lowered = _KNOWN[kind].split(), key.lower()
    if lowered in map(str.lower, known):
        return None
    if kind == "kafka" and lowered.startswith(_CLIENT):
        found = nearest(lowered.removeprefix(_CLIENT), [_SERVERS])
        return found and _CLIENT + found
    return nearest(key, known)
