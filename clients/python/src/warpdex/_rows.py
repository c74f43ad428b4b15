"""Some rows of a relation, or of a query's result, as columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ._columns import Array
from ._optional import arrow_batch, frame_of
from ._relations import Cells


class ColumnBatch:
    """Rows in columns: numbers as arrays, masked where some are missing, texts as arrays of objects."""

    def __init__(self, rows: int, cells: Mapping[str, tuple[str, Cells]]) -> None:
        self._rows = rows
        #: The type and the values of each column as they came.
        self.cells = cells

    def __len__(self) -> int:
        return self._rows

    def __getitem__(self, name: str) -> Array:
        """The values of a column."""
        type, cells = self.cells[name]
        values = cells.to_numpy()
        return values.astype(np.bool_) if type == "boolean" else values

    @property
    def columns(self) -> dict[str, Array]:
        """The values of all columns, by name."""
        return {name: self[name] for name in self.cells}

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows as Python has them, None where there is no value."""
        names = list(self.cells)
        return (dict(zip(names, row)) for row in zip(*(self[name].tolist() for name in names)))

    def to_arrow(self) -> Any:
        """As a pyarrow record batch, in which strings are dictionaries. Needs `pyarrow`."""
        return arrow_batch(self.cells)

    def to_pandas(self) -> Any:
        """As a pandas DataFrame. Needs `pandas`."""
        return frame_of({name: (type, self[name]) for name, (type, _) in self.cells.items()})
