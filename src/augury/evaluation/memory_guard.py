"""What happens when memory ends: an error that names the queries, instead of a traceback of numpy.

Limits (`matching.step_limits`) refuse what is known to be too much. What they cannot know, such as
how much memory the machine has left, ends here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import pyarrow as pa

from augury.errors import DataError


@contextmanager
def memory_errors_named(queries: Iterable[str]) -> Iterator[None]:
    """Turn the end of memory, or of what a column can hold, into an error of augury."""
    try:
        yield
    except (MemoryError, pa.ArrowCapacityError) as error:
        names = ", ".join(queries)
        said = " ".join(str(error).split()).rstrip(".") or "no more could be had"
        raise DataError(
            f"query {names}: one step needs more memory than there is ({said}); narrow WITHIN, add "
            "conjuncts, raise HAVING CONFIDENCE, write a MATCH LIMIT, or lower the settings "
            "step_match_limit and step_byte_limit so that it is refused sooner"
        ) from None
