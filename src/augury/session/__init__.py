"""The session: what is declared, bound and pushed, and the one facade over it."""

from augury.session.declared import Engine
from augury.session.explained import Format
from augury.session.facade import Session

__all__ = ["Engine", "Format", "Session"]
