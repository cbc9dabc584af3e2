"""The trace points of a run as they come, of which there may be hundreds of thousands."""

import math
from array import array


class Rows:
    """Rows {column: number} in their order, kept as `columns` {name: array of float64}: eight bytes a number.

    As dicts they would take a kilobyte each, in the one process that waits for all runs. A column that a row does not
    have is NaN there.
    """

    def __init__(self, rows=()):
        self.columns, self._length = {}, 0
        for row in rows:
            self.append(row)

    def append(self, row):
        """Add a row."""
        for name in row:
            if name not in self.columns:
                self.columns[name] = array("d", [math.nan]) * self._length
        for name, column in self.columns.items():
            column.append(row.get(name, math.nan))
        self._length += 1

    def __len__(self):
        return self._length

    def __getitem__(self, place):
        """The row at a place, or the Rows of a slice."""
        if isinstance(place, slice):
            return Rows(self[i] for i in range(*place.indices(len(self))))
        at = range(self._length)[place]  # which ends an iteration, also where there is no column
        return {name: column[at] for name, column in self.columns.items()}
