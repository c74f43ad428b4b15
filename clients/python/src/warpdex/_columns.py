"""Columns: rows of one width, or rows of any length that offsets cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _limits
from .errors import WarpdexError

Array = npt.NDArray[Any]

#: Masked arrays, of which numpy says no types before version 2.3.
masked: Any = np.ma

#: Types of numbers as they travel.
DTYPES: dict[str, np.dtype[Any]] = {
    "u8": np.dtype("u1"),
    "u32": np.dtype("<u4"),
    "u64": np.dtype("<u8"),
    "i32": np.dtype("<i4"),
    "i64": np.dtype("<i8"),
    "f32": np.dtype("<f4"),
    "f64": np.dtype("<f8"),
    "bytes": np.dtype("u1"),
}

OFFSETS = DTYPES["u32"]

#: Digits of a decimal of 64 bits at most.
_STORED_DIGITS = 18

_STORAGE = {"string": "u32", "boolean": "u32", "date": "i32", "timestamp": "i64"}


def storage_of(type: str) -> str:
    """What a relation's column is stored as: a date as days and a timestamp as microseconds since 1970, a decimal as so many of its last digit."""
    if type.startswith("decimal("):
        return "i64" if int(type[len("decimal(") :].split(",")[0]) <= _STORED_DIGITS else "i128"
    return _STORAGE.get(type, type)


def dtype_of(type: str) -> np.dtype[Any]:
    """Of values of a result: integers of 128 bits are Python's."""
    storage = storage_of(type)
    return np.dtype(object) if storage == "i128" else DTYPES[storage]


def result_values(data: Array, at: int, rows: int, type: str) -> Array:
    """Values of a result: a view of the reply's memory, but for integers of 128 bits."""
    if storage_of(type) != "i128":
        dtype = DTYPES[storage_of(type)]
        return data[at : at + rows * dtype.itemsize].view(dtype)
    words = data[at : at + rows * 16].tobytes()
    ints = [int.from_bytes(words[i : i + 16], "little", signed=True) for i in range(0, len(words), 16)]
    return np.array(ints, object)


class Column(NamedTuple):
    """Rows, one each of `values`; or bytes, of which row i is values[offsets[i]:offsets[i + 1]]."""

    values: Array
    offsets: Array | None = None

    @property
    def rows(self) -> int:
        return len(self.values) if self.offsets is None else len(self.offsets) - 1

    @property
    def nbytes(self) -> int:
        return self.values.nbytes + (0 if self.offsets is None else self.offsets.nbytes)

    def part(self, start: int, end: int) -> Column:
        """Rows from `start` to before `end`, without a copy of values."""
        if self.offsets is None:
            return Column(self.values[start:end])
        offsets = self.offsets[start : end + 1]
        return Column(self.values[offsets[0] : offsets[-1]], offsets - offsets[0])

    def pick(self, rows: Array) -> Column:
        """The rows of these numbers."""
        if self.offsets is None:
            return Column(self.values[rows])
        return cut_rows([self.row(int(i)) for i in rows])

    def row(self, i: int) -> bytes:
        """The bytes of a row."""
        if self.offsets is None:
            return bytes(self.values[i].tobytes())
        return bytes(self.values[self.offsets[i] : self.offsets[i + 1]].tobytes())

    def bytes_between(self, start: int, end: int) -> int:
        if self.offsets is None:
            return (end - start) * row_bytes(self.values)
        cuts = (end - start + 1) * OFFSETS.itemsize
        return int(self.offsets[end]) - int(self.offsets[start]) + cuts


def row_bytes(values: Array) -> int:
    return values.itemsize * (values.shape[1] if values.ndim > 1 else 1)


def cut_rows(rows: Sequence[bytes]) -> Column:
    """A column of rows of any length."""
    offsets = np.zeros(len(rows) + 1, np.uint64)
    np.cumsum(np.fromiter(map(len, rows), np.uint64, len(rows)), out=offsets[1:])
    if offsets[-1] > 0xFFFFFFFF:
        raise WarpdexError("TOO_LARGE", "a column has more than 4 GiB")
    return Column(np.frombuffer(b"".join(rows), np.uint8), offsets.astype(OFFSETS))


def join_columns(parts: Sequence[Column]) -> Column:
    """Columns one after the other."""
    if len(parts) == 1:
        return parts[0]
    values = np.concatenate([part.values for part in parts])
    if parts[0].offsets is None:
        return Column(values)
    return Column(
        values, join_offsets([part.offsets for part in parts if part.offsets is not None])
    )


def join_offsets(parts: Sequence[Array]) -> Array:
    """Offsets that go on where those before them end."""
    if len(parts) == 1:
        return parts[0]
    bases = np.cumsum([0, *(int(part[-1]) for part in parts)], dtype=np.uint64)
    if bases[-1] > 0xFFFFFFFF:
        raise WarpdexError(
            "TOO_LARGE",
            "the answer has more than 2^32 entries or bytes; ask for fewer keys at a time",
        )
    moved = [part[1:] + OFFSETS.type(base) for part, base in zip(parts, bases)]
    return np.concatenate([parts[0][:1], *moved])


def piece_ends(
    columns: Sequence[Column], count: int, rows: int, size: int, unit: int = 1
) -> Iterator[int]:
    """
    Where pieces of columns end that have at most so many rows and bytes. All but the last have a multiple of
    `unit` rows. A row that is over the limits goes alone: whoever takes it says what is wrong.
    """

    def fits(start: int, end: int) -> bool:
        return sum(column.bytes_between(start, end) for column in columns) <= size

    start = 0
    while True:
        most = min(count, start + rows)
        if not fits(start, most):
            least = start + 1
            while most - least > 1:
                middle = (least + most) // 2
                least, most = (middle, most) if fits(start, middle) else (least, middle)
            whole = (least - start) - (least - start) % unit
            most = min(count, start + max(unit, whole))
        start = most
        yield start
        if start >= count:
            return


def bits(bitmap: Array, count: int) -> npt.NDArray[np.bool_]:
    """The bits of a bitmap, the lowest of each byte first."""
    return np.unpackbits(bitmap, count=count, bitorder="little").view(np.bool_)


def bitmap(flags: npt.NDArray[np.bool_]) -> Array:
    return np.packbits(flags, bitorder="little")


def check_key_bytes(keys: Column) -> None:
    """Raises `TOO_LARGE` for a key that is too long."""
    if keys.offsets is None:
        return
    lengths = np.diff(keys.offsets)
    if len(lengths) > 0 and lengths.max() > _limits.KEY_BYTES:
        i = int(lengths.argmax())
        message = f"key {i} has {lengths[i]} bytes; {_limits.KEY_BYTES} are allowed"
        raise WarpdexError("TOO_LARGE", message)
