"""The rows that answers are made of: those of live events, stream by stream, by their number.

Rows come in the order of time and are numbered as they come. They stay in the pieces they came in,
which are joined now and then, and go piece by piece (`RowStore`), or those go that nobody asks for
(`PickedRows`).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from augury.records import Words

# Pieces after which rows are put together: a look-up goes through all of them.
MOST_PIECES = 64


class RowStore:
    """The rows of one stream from number `first` on."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self.first = 0
        self.following = 0
        self._pieces: list[tuple[pa.Table, int]] = []

    @property
    def nbytes(self) -> int:
        """How many bytes the rows take."""
        return sum(piece.nbytes for piece, _ in self._pieces)

    @property
    def rows(self) -> pa.Table:
        """All rows, the oldest first."""
        if len(self._pieces) > MOST_PIECES:
            newest = max(latest for _, latest in self._pieces)
            joined = pa.concat_tables([piece for piece, _ in self._pieces]).combine_chunks()
            self._pieces = [(joined, newest)]
        pieces = [piece for piece, _ in self._pieces]
        return pa.concat_tables(pieces) if pieces else self.schema.empty_table()

    def append(self, rows: pa.Table, latest: int) -> int:
        """Add rows, of which the last is of time `latest`; return the number of the first."""
        number = self.following
        if rows.num_rows:
            self._pieces.append((rows, latest))
            self.following += rows.num_rows
        return number

    def drop_before(self, time: int) -> None:
        """Let pieces go whose rows are all before a time."""
        while self._pieces and self._pieces[0][1] < time:
            self.first += self._pieces.pop(0)[0].num_rows

    def take(self, numbers: Words) -> pa.Table:
        """Return the rows of the given numbers."""
        return self.rows.take(pa.array(numbers - self.first)) if len(numbers) else self.rows[:0]


class PickedRows:
    """The rows of one stream of which some are still asked for, by their numbers."""

    def __init__(self, schema: pa.Schema) -> None:
        self.rows: pa.Table = schema.empty_table()
        self.numbers: Words = np.zeros(0, np.int64)
        self.following = 0

    @property
    def nbytes(self) -> int:
        """How many bytes the rows take."""
        return int(self.rows.nbytes + self.numbers.nbytes)

    def append(self, rows: pa.Table) -> int:
        """Add rows; return the number of the first."""
        first, self.following = self.following, self.following + rows.num_rows
        self.rows = pa.concat_tables([self.rows, rows])
        self.numbers = np.concatenate([self.numbers, np.arange(first, self.following)])
        return first

    def keep_only(self, numbers: Words) -> None:
        """Let all rows go but those of some numbers."""
        self.rows = self.take(numbers).combine_chunks()
        self.numbers = numbers

    def take(self, numbers: Words) -> pa.Table:
        """Return the rows of the given numbers."""
        return self.rows.take(pa.array(np.searchsorted(self.numbers, numbers)))
