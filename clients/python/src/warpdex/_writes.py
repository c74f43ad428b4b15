"""Kinds of one item of a mixed write, and of what is expected before it."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from .errors import bad_request


class WriteOp(IntEnum):
    ADD = 0
    REPLACE = 1
    ADD_IF_ABSENT = 2
    DELETE_KEY = 3
    DELETE_PAYLOAD = 4


class Condition(IntEnum):
    """What a key must be like."""

    ABSENT = 0
    PRESENT = 1
    PAYLOAD = 2
    SEQUENCE = 3


class _Unset:
    def __repr__(self) -> str:
        return "unset"


#: Stands for a payload that is not given: None is one, of kind json.
UNSET: Any = _Unset()


def insert_op(if_exists: str, choices: tuple[str, ...]) -> WriteOp:
    """How an item is inserted whose key may be there."""
    if if_exists not in choices:
        raise bad_request(f"if_exists is one of {', '.join(choices)}, not {if_exists!r}")
    return WriteOp.ADD if if_exists == "add" else WriteOp.ADD_IF_ABSENT
