"""What comes back: columns, which are views of the reply's memory where the layout allows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple, Union, overload

import numpy as np
import numpy.typing as npt

from ._columns import Array, Column
from ._tuples import decode_tuple, tuple_parts
from .errors import WarpdexError


class Rows(Sequence[Any]):
    """Rows of any length that came back: texts, bytes or tuples, which are decoded when they are asked for."""

    def __init__(self, column: Column, decode: Callable[[bytes], Any]) -> None:
        assert column.offsets is not None
        #: The rows one after the other: UTF-8, bytes, or tuples as they are encoded.
        self.values: npt.NDArray[np.uint8] = column.values
        #: Where in `values` each row starts, and the end of the last.
        self.offsets: npt.NDArray[np.uint32] = column.offsets
        self._decode = decode

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, i: int) -> Any:
        ...

    @overload
    def __getitem__(self, i: slice) -> Rows:
        ...

    def __getitem__(self, i: int | slice) -> Any:
        if isinstance(i, slice):
            start, end, step = i.indices(len(self))
            if step != 1:
                raise ValueError("rows are sliced in steps of one")
            return Rows(
                Column(self.values, self.offsets[start : max(start, end) + 1]), self._decode
            )
        if not -len(self) <= i < len(self):
            raise IndexError(i)
        i %= len(self)
        return self._decode(self.values[self.offsets[i] : self.offsets[i + 1]].tobytes())

    def __iter__(self) -> Iterator[Any]:
        first = int(self.offsets[0])
        held = self.values[first : int(self.offsets[-1])].tobytes()
        cuts = (self.offsets - self.offsets[0]).tolist()
        decode = self._decode
        return (decode(held[start:end]) for start, end in zip(cuts, cuts[1:]))

    def tolist(self) -> list[Any]:
        return list(self)

    def __repr__(self) -> str:
        return f"Rows({self[:10].tolist()}{'…' if len(self) > 10 else ''})"


#: A column: numbers as an array, payloads of kind fixed(n) as an array of rows of n bytes, and others as Rows.
RowsColumn = Union[Array, Rows]


def key_rows(column: Column, key_type: str) -> Rows:
    if key_type == "string":
        return Rows(column, bytes.decode)
    if key_type == "bytes":
        return Rows(column, bytes)
    parts = tuple_parts(key_type)
    return Rows(column, lambda key: decode_tuple(parts, key))


def payload_rows(column: Column, kind: str) -> Rows:
    decoders: dict[str, Callable[[bytes], Any]] = {"text": bytes.decode, "json": _parsed}
    return Rows(column, decoders.get(kind, bytes))


def _parsed(payload: bytes) -> Any:
    # Of a payload that is missing there are no bytes.
    try:
        return json.loads(payload) if payload else None
    except ValueError as error:
        raise WarpdexError("INTERNAL", "a payload of kind json is not JSON") from error


def value_at(column: RowsColumn, i: int) -> Any:
    """A value as Python has it: a number, a text, bytes or a tuple."""
    if isinstance(column, Rows):
        return column[i]
    return column[i].item() if column.ndim == 1 else column[i].tobytes()


def values_of(column: RowsColumn) -> Iterator[Any]:
    """All values as Python has them."""
    if isinstance(column, Rows):
        return iter(column)
    return iter(column.tolist()) if column.ndim == 1 else (row.tobytes() for row in column)


@dataclass(frozen=True)
class GetResult:
    """The first payload of each key of a batch."""

    #: Whether each key has a payload.
    found: npt.NDArray[np.bool_]
    #: One payload a key: zeros, or no bytes, where there is none.
    payloads: RowsColumn
    #: Sequence number of each payload among its key's, where they were asked for.
    sequences: npt.NDArray[np.uint32] | None = None

    def __len__(self) -> int:
        return len(self.found)

    def __getitem__(self, i: int) -> Any:
        """The payload of key i, or None."""
        return value_at(self.payloads, i) if self.found[i] else None

    def __iter__(self) -> Iterator[Any]:
        found = self.found.tolist()
        return (payload if has else None for has, payload in zip(found, values_of(self.payloads)))


@dataclass(frozen=True)
class GetAllResult:
    """All payloads of each key of a batch."""

    #: Those of key i are number offsets[i] to offsets[i + 1] of `payloads`.
    offsets: npt.NDArray[np.uint32]
    payloads: RowsColumn

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, i: int) -> list[Any]:
        """The payloads of key i, in the order in which they were inserted."""
        return list(values_of(self.payloads[int(self.offsets[i]) : int(self.offsets[i + 1])]))


class Position(NamedTuple):
    """What a node of a replica set has."""

    #: In the log: everything up to it.
    position: int
    #: Reads see what was acknowledged so many seconds ago, or before: 0 from the owner, None where the node does not know yet.
    behind: float | None


class Entry(NamedTuple):
    key: Any
    payload: Any


@dataclass(frozen=True)
class Page:
    """Keys with a payload each, in columns."""

    keys: RowsColumn
    payloads: RowsColumn
    #: Where the page ends; a scan with it as `after` continues there, also much later.
    token: bytes

    def __len__(self) -> int:
        return len(self.keys)

    def __iter__(self) -> Iterator[Entry]:
        return map(Entry, values_of(self.keys), values_of(self.payloads))


@dataclass(frozen=True)
class KeysPage:
    """Keys without their payloads, one for each payload."""

    keys: RowsColumn
    #: As of a `Page`.
    token: bytes

    def __len__(self) -> int:
        return len(self.keys)

    def __iter__(self) -> Iterator[Any]:
        return values_of(self.keys)


@dataclass(frozen=True)
class ValuesPage:
    """Payloads without their keys."""

    payloads: RowsColumn
    #: As of a `Page`.
    token: bytes

    def __len__(self) -> int:
        return len(self.payloads)

    def __iter__(self) -> Iterator[Any]:
        return values_of(self.payloads)


class RangeEntry(NamedTuple):
    #: Number of the range.
    range: int
    key: Any
    payload: Any


@dataclass(frozen=True)
class RangesPage:
    """The next entries of each of many ranges, which keep their numbers over all pages; a finished one has no entries."""

    keys: RowsColumn
    payloads: RowsColumn
    #: Entries of range i are number offsets[i] to offsets[i + 1] of `keys` and `payloads`.
    offsets: npt.NDArray[np.uint32]
    #: Whether each range may have more entries behind this page.
    more: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.keys)

    def __iter__(self) -> Iterator[RangeEntry]:
        numbers = np.repeat(np.arange(len(self.more)), np.diff(self.offsets)).tolist()
        return map(RangeEntry, numbers, values_of(self.keys), values_of(self.payloads))


class NextEntry(NamedTuple):
    key: Any
    payload: Any
    #: Its number among the payloads of the key.
    sequence: int


@dataclass(frozen=True)
class NextResult:
    """The entry after, or before, each key of a batch."""

    #: Whether there is an entry.
    found: npt.NDArray[np.bool_]
    keys: RowsColumn
    payloads: RowsColumn
    #: Sequence number of each entry among its key's payloads: with its key, where to continue.
    sequences: npt.NDArray[np.uint32]

    def __len__(self) -> int:
        return len(self.found)

    def __getitem__(self, i: int) -> NextEntry | None:
        """The entry after key i, or None."""
        if not self.found[i]:
            return None
        return NextEntry(value_at(self.keys, i), value_at(self.payloads, i), int(self.sequences[i]))


class ResultCode(IntEnum):
    """What became of one item of a write."""

    INSERTED = 0
    REPLACED = 1
    #: Not inserted: the key is there already.
    EXISTS = 2
    DELETED = 3
    NOT_FOUND = 4
    #: NaN is no key.
    REFUSED = 5
