"""
Tuples as keys: their parts one after the other, encoded so that bytes are ordered as tuples are. Integers are big-endian, signed ones with
the sign bit flipped; floats are big-endian, positive ones with the sign bit flipped and negative ones with all bits flipped; of
strings and bytes every 0x00 becomes 0x00 0xff, and 0x00 0x00 follows them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

from .errors import WarpdexError, bad_request

_END = b"\0\0"
_ESCAPED = b"\0\xff"


def tuple_parts(key_type: str) -> tuple[str, ...]:
    """The types of the parts of `tuple(…)`."""
    return tuple(part.strip() for part in key_type[len("tuple(") : -1].split(","))


def encode_tuple(parts: Sequence[str], key: Sequence[Any]) -> bytes:
    """A tuple, or leading parts of one. Raises `BAD_REQUEST` for a value that its part cannot hold."""
    if len(key) > len(parts):
        raise bad_request(f"a key has {len(key)} parts; the type has {len(parts)}")
    return b"".join([encode_part(part, value) for part, value in zip(parts, key)])


def encode_part(part: str, value: Any) -> bytes:
    try:
        return _ENCODERS[part](value)
    except (struct.error, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise bad_request(f"{value!r} is no {part}: {error}") from error


def decode_tuple(parts: Sequence[str], key: bytes) -> tuple[Any, ...]:
    """The parts of an encoded tuple, which a server sent."""
    values: list[Any] = []
    at = 0
    try:
        for part in parts:
            if part in ("string", "bytes"):
                end = _text_end(key, at)
                plain = key[at:end].replace(_ESCAPED, b"\0")
                values.append(plain.decode() if part == "string" else plain)
                at = end + len(_END)
            else:
                width = 8 if part.endswith("64") else 4
                values.append(_DECODERS[part](key[at : at + width]))
                at += width
    except (struct.error, ValueError) as error:
        raise WarpdexError("INTERNAL", f"the server sent what is no tuple: {error}") from error
    return tuple(values)


def _text_end(key: bytes, at: int) -> int:
    """Where the end mark of a text begins: at the first zero that is not escaped."""
    zero = key.index(b"\0", at)
    while key[zero + 1 : zero + 2] == b"\xff":
        zero = key.index(b"\0", zero + 2)
    return zero


def _encode_signed(form: str, bias: int) -> Callable[[Any], bytes]:
    return lambda value: struct.pack(form, _whole(value) + bias)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError("it is no whole number")
    return int(value)


def _encode_float(form: str, value: Any) -> bytes:
    # The sum of -0.0 and 0.0 is 0.0.
    encoded = struct.pack(form, float(value) + 0.0)
    if value != value:
        raise ValueError("NaN is not part of a key")
    if encoded[0] & 0x80:
        return bytes(byte ^ 0xFF for byte in encoded)
    return bytes([encoded[0] ^ 0x80]) + encoded[1:]


def _decode_float(form: str, encoded: bytes) -> float:
    if encoded[0] & 0x80:
        plain = bytes([encoded[0] ^ 0x80]) + encoded[1:]
    else:
        plain = bytes(byte ^ 0xFF for byte in encoded)
    return float(struct.unpack(form, plain)[0])


def _encode_bytes(value: Any) -> bytes:
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise TypeError("it is no bytes")
    return bytes(value).replace(b"\0", _ESCAPED) + _END


_ENCODERS: dict[str, Callable[[Any], bytes]] = {
    "u32": _encode_signed(">I", 0),
    "u64": _encode_signed(">Q", 0),
    "i32": _encode_signed(">I", 1 << 31),
    "i64": _encode_signed(">Q", 1 << 63),
    "f32": lambda value: _encode_float(">f", value),
    "f64": lambda value: _encode_float(">d", value),
    "string": lambda value: _encode_bytes(value.encode()),
    "bytes": _encode_bytes,
}

_DECODERS: dict[str, Callable[[bytes], Any]] = {
    "u32": lambda encoded: struct.unpack(">I", encoded)[0],
    "u64": lambda encoded: struct.unpack(">Q", encoded)[0],
    "i32": lambda encoded: struct.unpack(">I", encoded)[0] - (1 << 31),
    "i64": lambda encoded: struct.unpack(">Q", encoded)[0] - (1 << 63),
    "f32": lambda encoded: _decode_float(">f", encoded),
    "f64": lambda encoded: _decode_float(">d", encoded),
}
