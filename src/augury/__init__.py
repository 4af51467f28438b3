"""augury: complex events over streams that cannot be fully trusted.

What this module exports is the whole public interface. Names are loaded when first used, so that
`import augury` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from augury.errors import AuguryError, DataError, ModelError, QueryError, StateError
    from augury.runners.process.warm_up import warm_up
    from augury.session import Session

    __version__: str

__all__ = [
    "AuguryError",
    "DataError",
    "ModelError",
    "QueryError",
    "Session",
    "StateError",
    "__version__",
    "warm_up",
]


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("augury")
    if name == "Session":
        from augury.session import Session

        return Session
    if name == "warm_up":
        from augury.runners.process.warm_up import warm_up

        return warm_up
    if name in __all__:
        from augury import errors

        return getattr(errors, name)
    raise AttributeError(f"module 'augury' has no attribute {name!r}")


def load_ipython_extension(shell: object) -> None:
    """Let a notebook have `%%augury` cells; `%load_ext augury` calls it."""
    from augury.notebook import load

    load(shell)


def __dir__() -> list[str]:
    return sorted(__all__)
