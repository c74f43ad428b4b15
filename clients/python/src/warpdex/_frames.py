"""Frames of docs/protocol.md: requests to bytes, and bytes of replies to what they say."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgpack
import numpy as np

from . import _limits
from ._columns import DTYPES, OFFSETS, Array, Column
from .errors import WarpdexError, bad_request

PROTOCOL_VERSION = 2

#: Operations on data by code, from 1 on.
DATA_OPS = (
    *("get", "getAll", "count", "getNext", "scan", "explain"),
    *("insert", "delete", "write", "load", "countRanges", "deleteRange", "expect"),
    "watch",
)
#: Kinds of columns.
COLUMN_KINDS = {
    **{"keys": 1, "from": 2, "to": 3, "tokens": 4, "sequences": 5, "ops": 6, "payloads": 7},
    **{"after": 8, "found": 9, "offsets": 10, "counts": 11, "more": 12, "codes": 13},
    **{"position": 33, "expireAt": 34, "conditions": 35},
}
_COLUMN_NAMES = {kind: name for name, kind in COLUMN_KINDS.items()}
#: Types of the columns of requests that are the same for all indexes.
REQUEST_TYPES = {
    **{"tokens": "bytes", "sequences": "u32", "ops": "u8", "after": "u64"},
    **{"expireAt": "u64", "conditions": "u8"},
}
#: Types of sections and columns, from 0 on.
TYPES = ("u8", "u32", "u64", "i32", "i64", "f32", "f64", "bytes")
STRATEGIES = ("sequential", "speculative", "hierarchical", "directed")
RESOLUTIONS = ("serial", "reversed")
MODES = ("append", "replace", "ifAbsent")

REPLY, REVERSE, FROM_EXCLUSIVE, TO_EXCLUSIVE, WRITE_ID, WITH_SEQUENCES = 1, 2, 4, 8, 16, 32
WITHOUT_KEYS, WITHOUT_PAYLOADS, WITH_EXPIRE_AT = 64, 128, 32768
VERSION, OPENS_VERSION, POSITION = 1024, 2048, 16384
MODE_SHIFT = 8

# Zeros, op, strategy, resolution, columns, id, handle, generation, flags, count, limit, deadline, number.
_HEAD = struct.Struct("<4x4BQ6IQ")
# Kind, type, 0, bytes of the offsets, bytes of the values.
_ENTRY = struct.Struct("<BBHII")
_LENGTH = struct.Struct("<I")


class WireColumn(NamedTuple):
    """A column as it travels, or a section."""

    type: str
    values: Array
    offsets: Array | None = None


@dataclass(frozen=True)
class DataRequest:
    """A request for data, but for the index that it means and for what a connection says of it."""

    op: str
    count: int
    columns: Mapping[str, Column]
    #: Entries of a range.
    limit: int | None = None
    reverse: bool = False
    from_exclusive: bool = False
    to_exclusive: bool = False
    with_sequences: bool = False
    without_keys: bool = False
    without_payloads: bool = False
    with_expire_at: bool = False
    mode: str = "append"
    strategy: str | None = None
    resolution: str | None = None
    write_id: int | None = None
    version: int | None = None
    opens_version: bool = False
    position: int | None = None


class Reply(NamedTuple):
    """A server's answer: a control frame has fields and sections, a data frame columns. One has either an error or the others."""

    id: int | None
    fields: Mapping[str, Any]
    columns: Mapping[str, WireColumn]
    error: WarpdexError | None = None


class Envelope(NamedTuple):
    """What a frame says beside its request."""

    id: int
    handle: int
    generation: int
    #: Types of columns of keys, and of payloads.
    key_type: str
    payload_type: str
    #: Milliseconds that are left for the answer; 0 for any time.
    deadline: int = 0


def encode_request(request: DataRequest, envelope: Envelope) -> bytes:
    """The frame of a request for data."""
    id, handle, generation, key_type, payload_type, deadline = envelope
    types = {**REQUEST_TYPES, "payloads": payload_type}
    parts: list[Any] = [b""]
    entries = []
    end = _align8(_HEAD.size + _ENTRY.size * len(request.columns))
    head_bytes = end
    for name, (values, offsets) in request.columns.items():
        kind = types.get(name, key_type)
        cuts = 0 if offsets is None else offsets.nbytes
        entries.append(_ENTRY.pack(COLUMN_KINDS[name], TYPES.index(kind), 0, cuts, values.nbytes))
        for part in (values,) if offsets is None else (offsets, values):
            parts += (bytes(_align8(end) - end), np.ascontiguousarray(part))
            end = _align8(end) + part.nbytes
    _check_length(end)
    head = _HEAD.pack(
        DATA_OPS.index(request.op) + 1,
        0 if request.strategy is None else STRATEGIES.index(request.strategy) + 1,
        0 if request.resolution is None else RESOLUTIONS.index(request.resolution) + 1,
        len(entries),
        id,
        handle,
        generation,
        _flags(request),
        request.count,
        request.limit or 0,
        deadline,
        request.write_id or request.version or request.position or 0,
    )
    parts[0] = b"".join((head, *entries)).ljust(head_bytes, b"\0")
    return b"".join(parts)


def _flags(request: DataRequest) -> int:
    return (
        REVERSE * request.reverse
        | FROM_EXCLUSIVE * request.from_exclusive
        | TO_EXCLUSIVE * request.to_exclusive
        | WITH_SEQUENCES * request.with_sequences
        | WITHOUT_KEYS * request.without_keys
        | WITHOUT_PAYLOADS * request.without_payloads
        | WITH_EXPIRE_AT * request.with_expire_at
        | VERSION * (request.version is not None)
        | OPENS_VERSION * request.opens_version
        | POSITION * (request.position is not None)
        | (0 if request.write_id is None else WRITE_ID)
        | MODES.index(request.mode) << MODE_SHIFT
    )


def encode_control(
    header: Mapping[str, Any], sections: Mapping[str, WireColumn] | None = None
) -> bytes:
    """The frame of a control request. Fields that are None are left out."""
    given = {name: value for name, value in header.items() if value is not None}
    sections = sections or {}
    # The header holds offsets that depend on its own length: guess where the sections start, and mend a short guess.
    start = _align8(48 + 40 * len(sections)) if sections else 0
    while True:
        table: list[dict[str, Any]] = []
        parts: list[Any] = []
        end = start
        for name, (kind, values, _) in sections.items():
            offset = _align8(end)
            parts += [bytes(offset - end), np.ascontiguousarray(values)]
            end = offset + values.nbytes
            table.append({"name": name, "type": kind, "offset": offset, "length": values.nbytes})
        try:
            packed = msgpack.packb({**given, "sections": table})
        except (TypeError, ValueError, OverflowError) as error:
            raise bad_request(f"a request cannot hold this: {error}") from error
        if len(packed) > _limits.HEADER_BYTES:
            message = (
                f"the frame header has {len(packed)} bytes; {_limits.HEADER_BYTES} are allowed"
            )
            raise WarpdexError("TOO_LARGE", message)
        header_end = _LENGTH.size + len(packed)
        if not sections or header_end <= start:
            break
        start = _align8(header_end)
    _check_length(end)
    head = (_LENGTH.pack(len(packed)) + packed).ljust(start, b"\0")
    return b"".join((head, *parts))


def decode_reply(frame: bytes) -> Reply:
    """
    Reads a server's frame. Columns and sections are views of its memory.
    Raises `WarpdexError` for what is no frame of a reply.
    """
    try:
        if frame[:4] == b"\0\0\0\0":
            return _decode_data(frame)
        return _decode_control(frame)
    except WarpdexError:
        raise
    except Exception as error:  # Whatever bytes that are no frame lead to, in msgpack too.
        raise bad_request(f"{type(error).__name__}: {error}") from error


def _decode_data(frame: bytes) -> Reply:
    _, _, _, count, id, _, _, flags, *_ = _HEAD.unpack_from(frame)
    if flags & REPLY == 0:
        raise ValueError("a reply lacks its flag")
    end = _HEAD.size + _ENTRY.size * count
    columns = {}
    for i in range(count):
        kind, type, _, cuts, length = _ENTRY.unpack_from(frame, _HEAD.size + _ENTRY.size * i)
        offsets = None
        if cuts > 0:
            offsets = _view(frame, OFFSETS, _align8(end), cuts)
            end = _align8(end) + cuts
        values = _view(frame, DTYPES[TYPES[type]], _align8(end), length)
        end = _align8(end) + length
        columns[_COLUMN_NAMES[kind]] = WireColumn(TYPES[type], values, offsets)
    return Reply(id, {}, columns)


def _decode_control(frame: bytes) -> Reply:
    header, sections = decode_control(frame)
    id = header.pop("id")
    if header.pop("ok") is True:
        return Reply(id, header, sections)
    error = header["error"]
    refusal = WarpdexError(str(error["code"]), str(error["message"]), error.get("item"), error.get("owner"))
    return Reply(id, {}, {}, refusal)


def decode_control(frame: bytes) -> tuple[dict[str, Any], dict[str, WireColumn]]:
    """The header of a control frame without its table of sections, and the sections, which are views of the frame's memory."""
    (length,) = _LENGTH.unpack_from(frame)
    if length > min(_limits.REPLY_HEADER_BYTES, len(frame) - _LENGTH.size):
        raise ValueError("the header is cut off, or too long")
    header = msgpack.unpackb(memoryview(frame)[_LENGTH.size : _LENGTH.size + length])
    if not isinstance(header, dict):
        raise ValueError("the header is no map")
    sections = {
        section["name"]: WireColumn(
            section["type"],
            _view(frame, DTYPES[section["type"]], section["offset"], section["length"]),
        )
        for section in header.pop("sections", ())
    }
    return header, sections


def _view(frame: bytes, dtype: np.dtype[Any], offset: int, length: int) -> Array:
    if length == 0:
        return np.empty(0, dtype)
    return np.frombuffer(frame, dtype, length // dtype.itemsize, offset)


def _check_length(length: int) -> None:
    if length > _limits.FRAME_BYTES:
        message = f"the frame has {length} bytes; {_limits.FRAME_BYTES} are allowed"
        raise WarpdexError("TOO_LARGE", message)


def _align8(length: int) -> int:
    return (length + 7) // 8 * 8
