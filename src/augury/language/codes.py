"""The codes of the language's own diagnostics: everything that can be wrong before names are known.

Codes are stable: once published, a code keeps its meaning.
"""

from __future__ import annotations

SYNTAX = "A001"
CHARACTER = "A002"
UNCLOSED = "A003"
NUMBER = "A004"
TWICE = "A005"
INCOMPLETE = "A006"
TOO_DEEP = "A007"
SPELLING = "A008"
FORM = "A009"

TITLES: dict[str, str] = {
    SYNTAX: "the text does not follow the grammar here",
    CHARACTER: "a character that the language does not use",
    UNCLOSED: "a string, a quoted name or a comment that does not end",
    NUMBER: "a number that no column can hold",
    TWICE: "a clause is given twice",
    INCOMPLETE: "a statement lacks a part that it needs",
    TOO_DEEP: "an expression or a pattern is nested too deeply",
    SPELLING: "a spelling that can be read in two ways, or that is not read at all",
    FORM: "a part is not of the form that its place asks for",
}
