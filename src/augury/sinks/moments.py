"""Moments as text, also those that Python's own dates end before."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def moment_text(microseconds: int) -> str:
    """Return a moment as text in UTC.

    >>> moment_text(-62135596800000000), moment_text(1_500_000)
    ('0001-01-01T00:00:00Z', '1970-01-01T00:00:01.500000Z')
    >>> moment_text(253402300800000000)
    '10000-01-01T00:00:00.000000Z'
    """
    try:
        moment = _EPOCH + timedelta(microseconds=microseconds)
    except OverflowError:
        # Python's years end at 9999.
        return f"{np.datetime64(microseconds, 'us')}Z"
    return moment.isoformat().replace("+00:00", "Z")
