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
    """The rows of one stream of which some are still asked for, by their numbers.

    Those that were picked are in `kept`, under their numbers; all from `fresh` on are there as they
    came, piece by piece.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self.kept: pa.Table = schema.empty_table()
        self.picked: Words = np.zeros(0, np.int64)
        self.fresh = 0
        self.following = 0
        self._pieces: list[pa.Table] = []

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(self.picked) + self.following - self.fresh

    @property
    def nbytes(self) -> int:
        """How many bytes the rows take."""
        pieces = sum(piece.nbytes for piece in self._pieces)
        return int(self.kept.nbytes + self.picked.nbytes + pieces)

    @property
    def rows(self) -> pa.Table:
        """All rows, in the order of their numbers."""
        return pa.concat_tables([self.kept, *self._pieces])

    @property
    def numbers(self) -> Words:
        """The numbers of all rows."""
        return np.concatenate([self.picked, np.arange(self.fresh, self.following)])

    def put(self, kept: pa.Table, picked: Words, following: int) -> None:
        """Have these rows, under their numbers."""
        self.kept, self.picked, self._pieces = kept, picked, []
        self.fresh = self.following = following

    def append(self, rows: pa.Table) -> int:
        """Add rows; return the number of the first."""
        first, self.following = self.following, self.following + rows.num_rows
        if rows.num_rows:
            self._pieces.append(rows)
        if len(self._pieces) > MOST_PIECES:
            self._pieces = [pa.concat_tables(self._pieces).combine_chunks()]
        return first

    def keep_only(self, numbers: Words) -> None:
        """Let all rows go but those of some numbers, which are in order."""
        self.put(self.take(numbers).combine_chunks(), numbers, self.following)

    def take(self, numbers: Words) -> pa.Table:
        """Return the rows of the given numbers."""
        if (numbers[1:] < numbers[:-1]).any():
            used, places = np.unique(numbers, return_inverse=True)
            return self.take(used).take(pa.array(places))
        # Arrow would put all pieces together first, for one row of each.
        begin = int(np.searchsorted(numbers, self.fresh))
        found = [self.kept.take(pa.array(np.searchsorted(self.picked, numbers[:begin])))]
        first = self.fresh
        for piece in self._pieces:
            end = int(np.searchsorted(numbers, first + piece.num_rows))
            if end > begin:
                found.append(piece.take(pa.array(numbers[begin:end] - first)))
            begin, first = end, first + piece.num_rows
        return pa.concat_tables(found)
