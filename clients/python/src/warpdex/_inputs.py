"""Keys and payloads that callers give, as columns of an index."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Union

import numpy as np
import numpy.typing as npt

from ._columns import DTYPES, Array, Column, check_key_bytes, cut_rows
from ._tuples import encode_tuple, tuple_parts
from .errors import WarpdexError, bad_request

#: A key: a number, a text, bytes, or a sequence of the parts of a tuple.
Key = Union[int, float, str, bytes, Sequence[Any], np.generic]
#: A payload: a number of kinds u32 and u64, bytes or a text, which becomes UTF-8, and of kind json what `json.dumps` takes.
Payload = Any


class Blob(NamedTuple):
    """Rows of any length as a column: row i is values[offsets[i]:offsets[i + 1]]."""

    values: npt.NDArray[np.uint8]
    offsets: npt.NDArray[np.uint32]


#: A column of keys, or a list of single ones, which costs work for each.
Keys = Union[Array, Blob, Iterable[Key]]
#: Seconds since 1970 as `time.time()` tells them, by the server's clock, at which something expires; 0 for never.
Expiry = float
#: The same for all items, or one for each.
Expiries = Union[Expiry, Iterable[Expiry], Array]
#: One payload a key.
Payloads = Union[Array, Blob, Iterable[Payload]]


class IndexInfo(NamedTuple):
    """What an index is, and which of those that have had its name."""

    name: str
    key_type: str
    payload_kind: str
    handle: int
    generation: int
    #: What it was created as.
    definition: Mapping[str, Any]

    @property
    def wire_key_type(self) -> str:
        return self.key_type if self.key_type in DTYPES and self.key_type != "bytes" else "bytes"

    @property
    def wire_payload_type(self) -> str:
        return self.payload_kind if self.payload_kind in DTYPES else "bytes"

    @property
    def has_fixed_keys(self) -> bool:
        return self.wire_key_type != "bytes"

    @property
    def payload_width(self) -> int | None:
        """Bytes of a payload; None where it differs."""
        return payload_width(self.payload_kind)


def payload_width(kind: str) -> int | None:
    if kind in ("u32", "u64"):
        return DTYPES[kind].itemsize
    return int(kind[len("fixed(") : -1]) if kind.startswith("fixed(") else None


# The codes of Python's arrays, which take no number that they cannot hold.
_ARRAY_CODES = {"u8": "B", "u32": "I", "i32": "i", "u64": "Q", "i64": "q", "f32": "f", "f64": "d"}


def number_column(values: Any, type: str, what: str, code: str = "BAD_REQUEST") -> Array:
    """
    Numbers as an array of a type, without a copy where they are one. Raises `code` for an array whose values are of another kind, and
    `BAD_REQUEST` for numbers that the type cannot hold.
    """
    dtype = DTYPES[type]
    if not isinstance(values, np.ndarray) and hasattr(values, "__array__"):
        values = np.asarray(values)
    if isinstance(values, np.ndarray) and values.dtype != object:
        return _array_of(values, dtype, type, what, code)
    if isinstance(values, (str, bytes, int, float)) or not isinstance(values, Iterable):
        raise bad_request(f"{what} are a list or an array of {type}, one each, not {values!r}")
    try:
        return np.frombuffer(array(_ARRAY_CODES[type], values), dtype)
    except (TypeError, OverflowError, ValueError) as error:
        raise bad_request(f"{what} must be {type}: {error}") from error


def _array_of(values: Array, dtype: np.dtype[Any], type: str, what: str, code: str) -> Array:
    if values.ndim != 1:
        raise bad_request(f"{what} are an array of one dimension, not of {values.ndim}")
    if values.dtype == dtype:
        return values
    is_float = dtype.kind == "f"
    if values.dtype.kind not in ("iuf" if is_float else "iu"):
        raise WarpdexError(code, f"{what} are {values.dtype}; {type} are needed")
    if not is_float and len(values) > 0:
        held = np.iinfo(dtype)
        least, most = int(values.min()), int(values.max())
        if least < held.min or most > held.max:
            raise bad_request(
                f"{what} are from {least} to {most}; {type} are {held.min} to {held.max}"
            )
    return values.astype(dtype)


def key_column(keys: Keys, info: IndexInfo, are_ends: bool = False) -> Column:
    """Keys as a column; ends of ranges may be leading parts of tuples."""
    if info.has_fixed_keys:
        what = f'keys of index "{info.name}"'
        return Column(number_column(keys, info.key_type, what, "WRONG_KEY_TYPE"))
    column = blob_column(keys) or cut_rows(_key_rows(keys, info, are_ends))
    check_key_bytes(column)
    return column


def single_key(key: Key, info: IndexInfo, method: str) -> Column:
    """A key as a column of one. Raises `BAD_REQUEST` for several."""
    is_tuple = info.key_type.startswith("tuple(")
    if (
        key is None
        or isinstance(key, (np.ndarray, list, set, dict))
        or (isinstance(key, tuple) and not is_tuple)
    ):
        raise bad_request(
            f"{method} takes a single key, not {key!r}; {method}_many takes a list of keys"
        )
    return key_column([key], info)


def blob_column(rows: Any) -> Column | None:
    """Rows that come as a column."""
    values, offsets = getattr(rows, "values", None), getattr(rows, "offsets", None)
    if not isinstance(values, np.ndarray) or not isinstance(offsets, np.ndarray):
        return None
    if values.dtype != np.uint8 or offsets.dtype != DTYPES["u32"] or len(offsets) == 0:
        raise bad_request(
            "rows as a column are uint8 values and uint32 offsets, one more than there are rows"
        )
    whole = Column(values, offsets)
    # Keys that came back may be a part of a longer column.
    return whole.part(0, whole.rows)


def _key_rows(keys: Any, info: IndexInfo, are_ends: bool) -> list[bytes]:
    rows = listed(keys, f'keys of index "{info.name}" ({info.key_type})')
    if info.key_type == "string":
        return _utf8(rows, f'keys of index "{info.name}"')
    if info.key_type == "bytes":
        return _bytes(rows, f'keys of index "{info.name}"')
    parts = tuple_parts(info.key_type)
    for i, key in enumerate(rows):
        if (
            isinstance(key, (str, bytes))
            or not isinstance(key, Sequence)
            or (len(key) < len(parts) and not are_ends)
        ):
            raise bad_request(
                f"key {i} is {key!r}; keys of {info.key_type} are tuples of {len(parts)} parts"
            )
    return [encode_tuple(parts, key) for key in rows]


def listed(rows: Any, what: str) -> list[Any]:
    if isinstance(rows, (str, bytes, bytearray, int, float)) or not isinstance(rows, Iterable):
        raise bad_request(
            f"{what} come as a list or an array, one each, not as {rows!r}; a single one is a list of one"
        )
    plain: list[Any] = rows.tolist() if isinstance(rows, np.ndarray) else list(rows)
    return plain


def _utf8(rows: list[Any], what: str) -> list[bytes]:
    try:
        return [str.encode(row) for row in rows]
    except (TypeError, UnicodeEncodeError) as error:
        raise bad_request(f"{what} are texts: {error}") from error


def _bytes(rows: list[Any], what: str) -> list[bytes]:
    if all(isinstance(row, (bytes, bytearray, memoryview)) for row in rows):
        return [bytes(row) for row in rows]
    raise bad_request(f"{what} are bytes")


def _json(rows: list[Any], what: str) -> list[bytes]:
    try:
        # As compact as JavaScript writes it, and without what only Python reads, such as NaN.
        return [
            json.dumps(row, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
            for row in rows
        ]
    except (TypeError, ValueError, RecursionError) as error:
        raise bad_request(f"{what} are what JSON can say: {error}") from error


def payload_column(payloads: Payloads, info: IndexInfo, count: int) -> Column:
    """Payloads as a column, one for each of `count` keys."""
    column = _payloads(payloads, info)
    if column.rows != count:
        raise bad_request(f"{count} keys came with {column.rows} payloads; each needs one")
    return column


def _payloads(payloads: Any, info: IndexInfo) -> Column:
    what = f'payloads of index "{info.name}" ({info.payload_kind})'
    if info.payload_kind in ("u32", "u64"):
        return Column(number_column(payloads, info.payload_kind, what))
    width = info.payload_width
    if width is not None and isinstance(payloads, np.ndarray) and payloads.dtype == np.uint8:
        if payloads.size % width != 0:
            raise bad_request(f"{what} are rows of {width} bytes")
        return Column(payloads.reshape(-1, width))
    if width is None:
        column = blob_column(payloads)
        if column is not None:
            return column
    given = listed(payloads, what)
    if info.payload_kind == "json":
        return cut_rows(_json(given, what))
    if info.payload_kind == "text":
        return cut_rows(_utf8(given, what))
    rows = [row.encode() if isinstance(row, str) else row for row in given]
    if width is None:
        return cut_rows(_bytes(rows, what))
    if any(not isinstance(row, (bytes, bytearray)) or len(row) != width for row in rows):
        raise bad_request(f"{what} are of {width} bytes each")
    return Column(np.frombuffer(b"".join(rows), np.uint8).reshape(-1, width))


def no_payload(info: IndexInfo) -> Payload:
    """The payload of an item that needs none, in a column where others have one."""
    if info.payload_kind in ("u32", "u64"):
        return 0
    return "" if info.payload_width is None else bytes(info.payload_width)


def expiry_column(expire_at: Expiries, count: int) -> Column:
    """When each of `count` items expires, in milliseconds."""
    what = "expire_at is seconds since 1970, such as time.time() + 60, or 0 for never"
    try:
        given = expire_at if isinstance(expire_at, (float, int, np.ndarray)) else list(expire_at)
        seconds = np.asarray(given, np.float64)
    except (TypeError, ValueError) as error:
        raise bad_request(f"{what}: {error}") from error
    if seconds.ndim > 0 and seconds.shape != (count,):
        raise bad_request(f"{count} keys came with expire_at of shape {seconds.shape}")
    if not ((seconds >= 0) & (seconds < 2**53 / 1000)).all():
        raise bad_request(f"{what}, not {expire_at!r}")
    # What is not never stays so, however early it is.
    milliseconds = np.maximum(np.rint(seconds * 1000), seconds > 0)
    return Column(np.broadcast_to(milliseconds, count).astype(DTYPES["u64"]))
