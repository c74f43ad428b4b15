"""Kinds of one item of a mixed write."""

from __future__ import annotations

from enum import IntEnum

from .errors import bad_request


class WriteOp(IntEnum):
    ADD = 0
    REPLACE = 1
    ADD_IF_ABSENT = 2
    DELETE_KEY = 3
    DELETE_PAYLOAD = 4


def insert_op(if_exists: str, choices: tuple[str, ...]) -> WriteOp:
    """How an item is inserted whose key may be there."""
    if if_exists not in choices:
        raise bad_request(f"if_exists is one of {', '.join(choices)}, not {if_exists!r}")
    return WriteOp.ADD if if_exists == "add" else WriteOp.ADD_IF_ABSENT
