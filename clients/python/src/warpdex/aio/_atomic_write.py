"""What is written to several indexes and relations as a whole."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, Union

import numpy as np
import numpy.typing as npt

from .._columns import DTYPES
from .._frames import Reply, WireColumn, encode_control
from ..errors import WarpdexError, bad_request
from ._connection import Connection
from ._index_calls import Codes
from ._lane import Lane, Turns

#: What becomes of a part: a result code for each item, or the numbers of its rows.
PartResult = Union[Codes, range]


class BatchPart(Protocol):
    """What is to be written to an index or a relation together with others, and what is expected of it."""

    @property
    def connection(self) -> Connection:
        ...

    @property
    def index(self) -> str | None:
        """The index, which no other part may be of; None of a relation."""

    @property
    def lane(self) -> Lane | None:
        """Where the requests to the index keep their order."""

    def __len__(self) -> int:
        """How many result codes it gets."""

    def learn(self, until: float | None) -> asyncio.Future[Any]:
        """What it is written to, as those calls learn it that wait for it now."""

    async def learn_again(self, error: WarpdexError, known: Any, until: float | None) -> Any:
        """What it is written to now, if the error may be for that."""

    def frames(self, known: Any, traversal: Mapping[str, Any]) -> list[bytes]:
        """The frames of it, by what was learnt."""


async def write_parts(
    parts: Sequence[BatchPart], traversal: Mapping[str, Any], until: float | None
) -> list[PartResult]:
    """Writes all parts in one request, after what was called before on their indexes, and ahead of what is called after it."""
    if not parts:
        return []
    connection = parts[0].connection
    if any(part.connection is not connection for part in parts):
        raise bad_request("batches that are written together are of one client")
    indexes = [part.index for part in parts if part.index is not None]
    if len(set(indexes)) < len(indexes):
        raise bad_request(
            "batches that are written together are of different indexes; gather what is for one in one batch"
        )
    turns = Turns(connection)
    try:
        learning = []
        for part in parts:
            learning.append(part.learn(until))
            if part.lane is not None:
                turns.take_behind(learning[-1], part.lane)
        known = await asyncio.gather(*learning)
        await turns.come(until)
        while True:
            reply = _send(connection, parts, known, traversal, until)
            turns.leave()
            try:
                return _results(parts, await reply)
            except WarpdexError as error:
                before = known
                known = [
                    await part.learn_again(error, of, until) for part, of in zip(parts, before)
                ]
                if known == before:
                    raise
    finally:
        turns.leave()


def _send(
    connection: Connection,
    parts: Sequence[BatchPart],
    known: Sequence[Any],
    traversal: Mapping[str, Any],
    until: float | None,
) -> asyncio.Future[Reply]:
    frames = [frame for part, of in zip(parts, known) for frame in part.frames(of, traversal)]
    sections = {
        f"{i}": WireColumn("bytes", np.frombuffer(frame, np.uint8))
        for i, frame in enumerate(frames)
    }
    fields = {"op": "batch", "writeId": connection.session.new_write_id()}
    return connection.start(
        "batch", lambda id: encode_control({"id": id, **fields}, sections), until
    )


def _results(parts: Sequence[BatchPart], reply: Reply) -> list[PartResult]:
    section = reply.columns.get("codes")
    codes: npt.NDArray[np.uint8] = (
        np.empty(0, np.uint8) if section is None else section.values.view(DTYPES["u8"])
    )
    places = [
        range(place["first"], place["first"] + place["rows"])
        for place in reply.fields.get("appended") or ()
    ]
    items = [len(part) for part in parts if part.index is not None]
    if len(codes) != sum(items) or len(places) != len(parts) - len(items):
        raise WarpdexError("INTERNAL", "the server answered a batch as if it were another")
    own_codes, own_rows = iter(np.split(codes, np.cumsum(items))), iter(places)
    return [next(own_rows) if part.index is None else next(own_codes) for part in parts]
