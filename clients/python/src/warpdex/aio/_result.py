"""Queries, and their results."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from .._columns import Array
from .._frames import WireColumn, encode_control
from .._optional import frame_of, table_of
from .._queries import batch_of
from .._relations import Cells, join_cells
from .._rows import ColumnBatch
from ..errors import WarpdexError
from ._connection import Connection

#: A query as docs/queries.md describes it. Constants of `in` may be a list, a set or an array in the place of constants one by one.
Tree = Mapping[str, Any]

#: Makes the fields and sections of what is asked.
Question = Callable[[], tuple[dict[str, Any], dict[str, WireColumn]]]


async def ask_query(
    connection: Connection, question: Question, fields: Mapping[str, Any], until: float | None
) -> tuple[Mapping[str, Any], Mapping[str, WireColumn]]:
    own, sections = question()
    return await connection.request("query", {**own, **fields}, until, sections)


class QueryResult:
    """
    A query's result: `async for` goes through its batches, each of which is asked for when the one before was taken, so that whoever reads
    slowly holds up the query and not the memory. Every loop carries the query out anew; one that is left early ends it. The server gives a
    result up that is not read on for half a minute. The deadline is that of each batch.
    """

    def __init__(self, connection: Connection, question: Question, deadline: float | None) -> None:
        self._connection = connection
        self._question = question
        self._deadline = deadline

    async def __aiter__(self) -> AsyncIterator[ColumnBatch]:
        connection = self._connection
        fields, sections = await ask_query(
            connection, self._question, {}, connection.until(self._deadline)
        )
        cursor, batch = fields.get("cursor"), fields.get("batch")
        more = cursor is not None
        try:
            if batch is not None:
                yield batch_of(batch, sections)
            while more:
                until = connection.until(self._deadline)
                fields, sections = await connection.request("queryNext", {"cursor": cursor}, until)
                more = fields["more"]
                yield batch_of(fields["batch"], sections)
        finally:
            if more:
                self._give_up(cursor)

    async def rows(self) -> list[dict[str, Any]]:
        """All rows as Python has them."""
        return [row async for batch in self for row in batch.rows()]

    async def columns(self) -> dict[str, Array]:
        """All rows as arrays by column: masked where numbers are missing, of objects for texts."""
        return {name: values for name, (_, values) in (await self._columns()).items()}

    async def to_arrow(self) -> Any:
        """All rows as a pyarrow table, in which strings are dictionaries. Needs `pyarrow`."""
        return table_of([batch.to_arrow() async for batch in self])

    async def to_pandas(self) -> Any:
        """All rows as a pandas DataFrame. Needs `pandas`."""
        return frame_of(await self._columns())

    async def keep(self, name: str, *, seconds: float | None = None) -> Mapping[str, Any]:
        """
        Carries the query out, and keeps its rows on the server's device as a relation that is not stored, until nobody has used it for so many
        seconds (ten minutes by default). It takes the place of a former result of its name.
        """
        keep: dict[str, Any] = (
            {"name": name} if seconds is None else {"name": name, "seconds": seconds}
        )
        until = self._connection.until(self._deadline)
        fields, _ = await ask_query(self._connection, self._question, {"keep": keep}, until)
        kept: Mapping[str, Any] = fields["kept"]
        return kept

    async def _columns(self) -> dict[str, tuple[str, Array]]:
        parts: dict[str, list[Cells]] = {}
        types: dict[str, str] = {}
        async for batch in self:
            for name, (type, cells) in batch.cells.items():
                types[name] = type
                parts.setdefault(name, []).append(cells)
        columns = {}
        for name, type in types.items():
            values = join_cells(parts[name], type)
            columns[name] = type, values.astype(bool) if type == "boolean" else values
        return columns

    def _give_up(self, cursor: Any) -> None:
        """Whether it comes to pass is the server's business: it gives up what is not read."""
        try:
            ended = self._connection.start(
                "queryEnd",
                lambda id: encode_control({"id": id, "op": "queryEnd", "cursor": cursor}),
                None,
            )
        except WarpdexError:
            return
        ended.add_done_callback(lambda answer: answer.cancelled() or answer.exception())
