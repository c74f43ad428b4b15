"""Requests for data, cut into what a frame holds, and their replies put together again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from . import _limits
from ._columns import DTYPES, OFFSETS, Array, Column, bits, join_columns, join_offsets, piece_ends
from ._frames import DataRequest, Envelope, Reply, encode_request
from ._inputs import IndexInfo
from .errors import WarpdexError
from .results import RowsColumn, key_rows, payload_rows

WRITES = ("insert", "delete", "deleteRange", "write", "load")

#: Parts are multiples of this, so that their bitmaps can be put one after the other.
_PART_UNIT = 8


class DataCall(DataRequest):
    """A request for data that can be taken apart."""

    def encode(self, info: IndexInfo, id: int = 0, deadline: int = 0) -> bytes:
        """Its frame. The deadline is the milliseconds that are left for it, 0 for any."""
        types = info.wire_key_type, info.wire_payload_type
        return encode_request(self, Envelope(id, info.handle, info.generation, *types, deadline))

    def pick(self, rows: Array) -> DataCall:
        """The same for some of its rows."""
        columns = {name: column.pick(rows) for name, column in self.columns.items()}
        return replace(self, count=len(rows), columns=columns)

    @property
    def pieces(self) -> list[DataCall]:
        """Calls that are within the limits of a request; one of a mixed write, which is a unit."""
        if self.op == "write":
            return [self]
        return self._cut(self._most_rows)

    @property
    def halves(self) -> list[DataCall]:
        """Smaller parts of a read whose answer would be too large; none where it has no smaller ones."""
        if self.op in WRITES:
            return []
        if self.count > self._unit:
            half = -(-self.count // 2 // self._unit) * self._unit
            return self._cut(max(half, self._unit))
        return (
            [replace(self, limit=self.limit // 2)]
            if self.limit is not None and self.limit > 1
            else []
        )

    @property
    def _unit(self) -> int:
        return _PART_UNIT if self.limit is None else 1

    @property
    def _most_rows(self) -> int:
        return _limits.BATCH_ITEMS if self.limit is None else _limits.SCAN_ENTRIES // self.limit

    def _cut(self, rows: int) -> list[DataCall]:
        size = sum(column.nbytes for column in self.columns.values())
        if self.count <= rows and size <= _limits.COLUMN_BYTES:
            return [self]
        unit = 1 if self.op in WRITES else self._unit
        pieces, start = [], 0
        for end in piece_ends(
            list(self.columns.values()), self.count, rows, _limits.COLUMN_BYTES, unit
        ):
            columns = {name: column.part(start, end) for name, column in self.columns.items()}
            pieces.append(replace(self, count=end - start, columns=columns))
            start = end
        return pieces


@dataclass(frozen=True)
class Part:
    """
    A reply, and what was asked for. All that is read out of it is as long as that makes right, or the reading fails with `INTERNAL`: what
    belongs to another request, or to an index of another kind, does not pass for an answer.
    """

    asked: DataCall
    reply: Reply

    def plain(self, name: str, count: int, dtype: np.dtype[np.generic]) -> Array:
        """A column of so many values of that type."""
        column = self.reply.columns.get(name)
        size = -1 if column is None else column.values.nbytes
        if column is None or size != count * dtype.itemsize:
            raise self._misfit(f'"{name}" has {size} bytes, not {count * dtype.itemsize}')
        return column.values.view(dtype)

    def cut(self, name: str, count: int) -> Column:
        """A column of so many rows of any length."""
        column = self.reply.columns.get(name)
        if column is None or column.offsets is None or len(column.offsets) != count + 1:
            raise self._misfit(f'"{name}" is not cut into {count} rows')
        self._check_offsets(name, column.offsets, 0xFFFFFFFF)
        if column.offsets[-1] != column.values.nbytes:
            raise self._misfit(f'the offsets of "{name}" do not end with it')
        return Column(column.values.view(np.uint8), column.offsets)

    @property
    def groups(self) -> Array:
        """Where the entries of each key, or range, begin."""
        groups = self.plain("offsets", self.asked.count + 1, OFFSETS)
        self._check_offsets("offsets", groups, self.asked.limit or 0xFFFFFFFF)
        return groups

    def _check_offsets(self, name: str, offsets: Array, most: int) -> None:
        descends = bool((offsets[1:] < offsets[:-1]).any())
        if offsets[0] != 0 or descends or (len(offsets) > 1 and int(np.diff(offsets).max()) > most):
            raise self._misfit(
                f'the offsets of "{name}" do not start with 0, descend, or have more than {most}'
            )

    def _misfit(self, what: str) -> WarpdexError:
        message = f"the server's reply to {self.asked.op} does not fit the request: {what}"
        return WarpdexError("INTERNAL", message)


Count = Callable[[Part], int]


def each(part: Part) -> int:
    """As many as there are keys, or ranges."""
    return part.asked.count


def each_entry(part: Part) -> int:
    """As many as the groups of the reply have together."""
    return int(part.groups[-1])


@dataclass(frozen=True)
class Answer:
    """The replies to a call, in the order of its parts, which are read as one."""

    info: IndexInfo
    parts: Sequence[Part]

    def flags(self, name: str) -> Array:
        """One bit for each key."""
        return np.concatenate(
            [
                bits(part.plain(name, (part.asked.count + 7) // 8, DTYPES["u8"]), part.asked.count)
                for part in self.parts
            ]
        )

    def numbers(self, name: str, type: str) -> Array:
        """One number for each key, or range."""
        return self._plain(name, each, DTYPES[type])

    @property
    def groups(self) -> Array:
        return join_offsets([part.groups for part in self.parts])

    def keys(self, rows: Count, name: str = "keys") -> RowsColumn:
        if self.info.has_fixed_keys:
            return self._plain(name, rows, DTYPES[self.info.key_type])
        return key_rows(self._cut(name, rows), self.info.key_type)

    def payloads(self, rows: Count) -> RowsColumn:
        kind, width = self.info.payload_kind, self.info.payload_width
        if width is None:
            return payload_rows(self._cut("payloads", rows), kind)
        if kind in DTYPES:
            return self._plain("payloads", rows, DTYPES[kind])
        values = join_columns(
            [
                Column(part.plain("payloads", rows(part) * width, DTYPES["u8"]))
                for part in self.parts
            ]
        ).values
        return values.reshape(-1, width)

    @property
    def tokens(self) -> Column:
        """Where each range goes on."""
        if not self.info.has_fixed_keys:
            return self._cut("tokens", each)
        width = DTYPES[self.info.key_type].itemsize + 4
        values = self._plain("tokens", lambda part: part.asked.count * width, DTYPES["u8"])
        return Column(values.reshape(-1, width))

    def _plain(self, name: str, rows: Count, dtype: np.dtype[np.generic]) -> Array:
        return join_columns(
            [Column(part.plain(name, rows(part), dtype)) for part in self.parts]
        ).values

    def _cut(self, name: str, rows: Count) -> Column:
        return join_columns([part.cut(name, rows(part)) for part in self.parts])
