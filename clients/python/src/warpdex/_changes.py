"""Changes of an index, as its feed tells them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ._calls import Answer, each_entry
from ._columns import DTYPES, Array
from ._inputs import IndexInfo
from .errors import WarpdexError, bad_request
from .results import RowsColumn, value_at, values_of

# What stands in the place of an op, of a batch that deletes a range, with a bit for each end that does not belong to it.
_RANGE, _FROM_EXCLUSIVE, _TO_EXCLUSIVE = 8, 1, 2


class ChangeOp(IntEnum):
    """What a write did, in the terms of `Index`."""

    #: Added a payload to those of its key.
    INSERT = 0
    #: Put a payload in the place of all that its key had.
    PUT = 1
    #: Deleted all payloads of a key.
    DELETE = 3
    #: Deleted the payloads of a key that equal this one.
    DELETE_PAYLOAD = 4
    #: Deleted a range of keys.
    DELETE_RANGE = 8


@dataclass(frozen=True)
class DeletedRange:
    """A range of keys that was deleted; an end that is None is open."""

    from_: Any
    to: Any
    from_exclusive: bool
    to_exclusive: bool


class Change(NamedTuple):
    """One change, with the key and the payload that it has; of a deleted range the `range`."""

    op: ChangeOp
    key: Any = None
    payload: Any = None
    range: DeletedRange | None = None


@dataclass(frozen=True)
class ChangeBatch:
    """The changes that became durable together, in their order: columns, and a loop goes through them one by one."""

    #: From which a feed goes on behind this batch, also much later.
    position: str
    #: A `ChangeOp` for each change.
    ops: npt.NDArray[np.uint8]
    keys: RowsColumn
    #: Zeros, or no bytes, where a change has none; None where none has one.
    payloads: RowsColumn | None
    #: The range that was deleted, which comes alone and has no keys.
    range: DeletedRange | None = None

    def __len__(self) -> int:
        return len(self.ops)

    def __getitem__(self, i: int) -> Change:
        op = ChangeOp(self.ops[i])
        if self.range is not None:
            return Change(op, range=self.range)
        key = value_at(self.keys, i)
        if self.payloads is None or op == ChangeOp.DELETE:
            return Change(op, key)
        return Change(op, key, value_at(self.payloads, i))

    def __iter__(self) -> Iterator[Change]:
        if self.range is not None:
            return iter([self[0]])
        ops = map(ChangeOp, self.ops.tolist())
        if self.payloads is None:
            return map(Change, ops, values_of(self.keys))
        rows = zip(ops, values_of(self.keys), values_of(self.payloads))
        return (
            Change(op, key, None if op == ChangeOp.DELETE else payload) for op, key, payload in rows
        )


def change_batches(answer: Answer, after: int) -> Iterator[ChangeBatch]:
    """The batches of a reply that have changes, of which the first comes after a position."""
    [part] = answer.parts
    groups = answer.groups.tolist()
    ops = part.cut("ops", part.asked.count)
    keys = answer.keys(each_entry)
    payloads = answer.payloads(each_entry) if "payloads" in part.reply.columns else None
    for i, (first, end) in enumerate(zip(groups, groups[1:])):
        own = ops.part(i, i + 1).values
        position = _position_text(answer.info, after + i + 1)
        if len(own) == 1 and own[0] & _RANGE:
            range = _deleted_range(answer, int(own[0]))
            alone = np.array([ChangeOp.DELETE_RANGE], np.uint8)
            yield ChangeBatch(position, alone, keys[first:end], None, range)
        elif first < end:
            each_op = _each_op(own, end - first)
            has_payloads = bool((each_op != ChangeOp.DELETE).any())
            if has_payloads and payloads is None:
                raise _misfit("changes with payloads come without them")
            own_payloads = payloads[first:end] if has_payloads and payloads is not None else None
            yield ChangeBatch(position, each_op, keys[first:end], own_payloads)


def _each_op(ops: Array, count: int) -> Array:
    """One for each change, where one may stand for all."""
    if len(ops) not in (1, count) or not np.isin(ops, list(ChangeOp)).all():
        raise _misfit(f"{count} changes came with the ops {ops}")
    return np.broadcast_to(ops, count)


def _deleted_range(answer: Answer, op: int) -> DeletedRange:
    def end(name: str) -> Any:
        if name not in answer.parts[0].reply.columns:
            return None
        return value_at(answer.keys(lambda _: 1, name), 0)

    return DeletedRange(
        end("from"), end("to"), bool(op & _FROM_EXCLUSIVE), bool(op & _TO_EXCLUSIVE)
    )


def _position_text(info: IndexInfo, position: int) -> str:
    """A position, and the index that it is of: none has another one's, whatever its name."""
    return f"{info.handle}.{info.generation}.{position}"


def parse_position(text: str, info: IndexInfo) -> tuple[IndexInfo, int]:
    """The index that a position is of, of the types that are known, and where it is."""
    if re.fullmatch(r"\d+\.\d+\.\d+", text, re.ASCII):
        handle, generation, position = map(int, text.split("."))
        if max(handle, generation) < 2**32 and position < 2**53:
            return info._replace(handle=handle, generation=generation), position
    raise bad_request(f"{text!r} is no position; each batch of a feed has one")


def _misfit(what: str) -> WarpdexError:
    message = f"the server's reply to watch does not fit the request: {what}"
    return WarpdexError("INTERNAL", message)
