"""Rows of relations as columns: what callers give, and what comes back."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _limits
from ._columns import DTYPES, Array, Column, bitmap, bits, cut_rows, dtype_of, masked, storage_of
from ._frames import WireColumn
from ._inputs import number_column
from ._optional import arrow_values, is_arrow, is_frame, is_series, series_values
from .errors import WarpdexError, bad_request

Mask = npt.NDArray[np.bool_]

#: The types of columns, by name.
Types = Mapping[str, str]


class Cells(NamedTuple):
    """Values of a column: of strings numbers of texts."""

    values: Array
    #: Whether each row has a value; None where all have one.
    validity: Mask | None
    #: Of strings: the distinct ones, ascending by their bytes.
    texts: Sequence[str] | None

    @property
    def nbytes(self) -> int:
        texts = sum(len(text.encode()) + 4 for text in self.texts or ())
        return (
            self.values.nbytes + (0 if self.validity is None else len(self.validity) // 8) + texts
        )

    def part(self, start: int, end: int) -> Cells:
        validity = None if self.validity is None else self.validity[start:end]
        if self.texts is None:
            return Cells(self.values[start:end], validity, None)
        # A part names only the texts that it has.
        used, numbers = np.unique(self.values[start:end], return_inverse=True)
        texts = [self.texts[int(number)] for number in used]
        return Cells(numbers.astype(DTYPES["u32"]), validity, texts)

    def to_numpy(self) -> Array:
        """Numbers as an array, masked where some are missing; texts as objects, None where they are missing."""
        if self.texts is None:
            if self.validity is None:
                return self.values
            array: Array = masked.MaskedArray(self.values, mask=~self.validity)
            return array
        texts = np.array([*self.texts, None], dtype=object)
        numbers = self.values.astype(np.int64)
        if self.validity is not None:
            numbers[~self.validity] = len(self.texts)
        chosen: Array = texts[numbers]
        return chosen


def pack_rows(rows: Any, types: Types) -> tuple[int, dict[str, Cells]]:
    """
    Rows that a caller gives, as columns by name: a mapping of lists and arrays, a pandas DataFrame, or a pyarrow table or record batch.
    Returns how many they are, and the columns. Raises `BAD_REQUEST` for what a column cannot hold.
    """
    if is_arrow(rows):
        given = dict(zip(rows.schema.names, rows.columns))
    elif is_frame(rows):
        given = {str(name): rows[name] for name in rows.columns}
    elif isinstance(rows, Mapping):
        given = dict(rows)
    else:
        raise bad_request(
            f"rows come as values by column, a DataFrame or an Arrow table, not as {rows!r}"
        )
    for name in given:
        if name not in types:
            raise bad_request(f'there is no column "{name}"; there are {", ".join(types)}')
    cells = {name: _cells(given[name], type, name) for name, type in types.items() if name in given}
    counts = {name: len(column.values) for name, column in cells.items()}
    if len(set(counts.values())) > 1:
        raise bad_request(f"all columns need as many rows; they have {counts}")
    return next(iter(counts.values()), 0), cells


def _cells(values: Any, type: str, name: str) -> Cells:
    what = f'values of column "{name}" ({type})'
    validity: Mask | None = None
    if is_series(values):
        values, validity = series_values(values, type)
    elif is_arrow(values):
        values, validity = arrow_values(values, type, what)
    elif isinstance(values, masked.MaskedArray):
        validity = ~masked.getmaskarray(values)
        values = values.filled(0)
    elif not isinstance(values, np.ndarray) or values.dtype == object:
        values, validity = _listed(values, type, what)
    if validity is not None and validity.all():
        validity = None
    if type == "string":
        return _strings(values, validity, what)
    storage = storage_of(type)
    if type == "boolean":
        values = np.asarray(values, np.bool_).astype(DTYPES[storage])
    numbers = number_column(values, storage, what)
    if validity is not None:
        numbers = np.where(validity, numbers, DTYPES[storage].type(0))
    return Cells(np.ascontiguousarray(numbers), validity, None)


def _listed(values: Any, type: str, what: str) -> tuple[list[Any], Mask | None]:
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise bad_request(f"{what} are a list or an array, one a row, not {values!r}")
    listed = list(values)
    if None not in listed:
        return listed, None
    missing = "" if type == "string" else 0
    validity = np.fromiter((value is not None for value in listed), np.bool_, len(listed))
    return [missing if value is None else value for value in listed], validity


def _strings(values: Any, validity: Mask | None, what: str) -> Cells:
    listed = values.tolist() if isinstance(values, np.ndarray) else values
    kept = listed if validity is None else [text for text, has in zip(listed, validity) if has]
    try:
        # Python orders texts by code points, and so by the bytes of their UTF-8.
        texts = sorted(set(kept))
        "".join(texts).encode()
    except (TypeError, UnicodeEncodeError) as error:
        raise bad_request(f"{what} are texts: {error}") from error
    numbers = {text: number for number, text in enumerate(texts)}
    ranks = array("I", (numbers.get(text, 0) for text in listed))
    return Cells(np.frombuffer(ranks, DTYPES["u32"]), validity, texts)


def batches(rows: int, columns: Mapping[str, Cells]) -> Iterator[tuple[int, Mapping[str, Cells]]]:
    """The rows in order, in batches that fit in a request; one at least."""
    start = 0
    while True:
        size = min(rows - start, _limits.BATCH_ITEMS)
        while True:
            part = {name: column.part(start, start + size) for name, column in columns.items()}
            if size <= 1 or sum(column.nbytes for column in part.values()) <= _limits.COLUMN_BYTES:
                break
            size = (size + 1) // 2
        yield size, part
        start += size
        if start >= rows:
            return


def sections_of(columns: Mapping[str, Cells], types: Types) -> dict[str, WireColumn]:
    """The sections of a batch; the field `columns` has the names in their order."""
    sections = {}
    for i, (name, (values, validity, texts)) in enumerate(columns.items()):
        sections[f"{i}.values"] = WireColumn(storage_of(types[name]), values)
        if validity is not None:
            sections[f"{i}.validity"] = WireColumn("u8", bitmap(validity))
        if texts is not None:
            strings = cut_rows([text.encode() for text in texts])
            assert strings.offsets is not None
            sections[f"{i}.strings"] = WireColumn("bytes", strings.values)
            sections[f"{i}.offsets"] = WireColumn("u32", strings.offsets)
    return sections


def cells_of(i: int, type: str, rows: int, sections: Mapping[str, WireColumn]) -> Cells:
    """Column i of a reply."""
    try:
        values = sections[f"{i}.values"].values
        given = sections.get(f"{i}.validity")
        texts = None
        if type == "string":
            empty = WireColumn("u32", np.zeros(1, DTYPES["u32"]))
            strings = sections.get(f"{i}.strings", WireColumn("bytes", np.empty(0, np.uint8)))
            texts = decode_texts(Column(strings.values, sections.get(f"{i}.offsets", empty).values))
    except KeyError as error:
        raise WarpdexError("INTERNAL", f"the server's reply has no section {error}") from error
    return Cells(values, None if given is None else bits(given.values, rows), texts)


def decode_texts(column: Column) -> list[str]:
    return [column.row(i).decode() for i in range(column.rows)]


def join_cells(parts: Sequence[Cells], type: str) -> Array:
    """The values of batches one after the other."""
    arrays = [part.to_numpy() for part in parts]
    if not arrays:
        return np.empty(0, object if type == "string" else dtype_of(type))
    if any(isinstance(one, masked.MaskedArray) for one in arrays):
        joined: Array = masked.concatenate(arrays)
        return joined
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
