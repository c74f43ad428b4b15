"""A server's client, for asyncio."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from .._closing import AsyncClosing
from .._queries import pack_query
from .._sql import SqlValues, pack_sql
from ..errors import bad_request
from ..results import Position
from ._atomic_write import BatchPart, PartResult, write_parts
from ._connection import Connection, ConnectOptions
from ._index import Index
from ._index_calls import IndexCalls, request_in_turn
from ._relation import Relation
from ._result import QueryResult, Question, Tree, ask_query
from ._snapshot import Snapshot


class Batched(Protocol):
    """A batch of an index, or rows of a relation."""

    @property
    def part(self) -> BatchPart:
        ...


class Client(AsyncClosing):
    """
    A server's client. Any number of calls may be under way; those to one index are carried out in the order in which they begin. After a lost
    connection it connects again: reads are sent again, writes once more under the same write id (which the server applies once), and
    what creates or drops something fails with `CONNECTION_LOST`. `deadline` of a method is in seconds.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._indexes: dict[str, Index] = {}
        self._calls: dict[str, IndexCalls] = {}
        self._relations: dict[str, Relation] = {}

    @property
    def server(self) -> Mapping[str, Any]:
        """What the server said of itself when the connection was last made."""
        return self._connection.server

    def index(self, name: str) -> Index:
        """An index by name. Nothing is sent: the first call on it says whether it exists."""
        if name not in self._indexes:
            self._calls[name] = IndexCalls(self._connection, name)
            self._indexes[name] = Index(self._calls[name])
        return self._indexes[name]

    async def create_index(
        self,
        /,
        name: str,
        key_type: str,
        payload_kind: str,
        *,
        unique: bool = False,
        ttl: int | None = None,
        if_not_exists: bool = False,
        deadline: float | None = None,
        **layout: Any,
    ) -> Index:
        """
        Creates an index. With a `ttl` what it holds expires, by default so many seconds after its write (0 for never). With `if_not_exists`
        an equal index that is there already is right. `layout` may have structure, layout, allocation,
        partitionLevels and linked, as docs/protocol.md has them. Raises `INDEX_EXISTS`.
        """
        types = {"keyType": key_type, "payloadKind": payload_kind, "unique": unique, "ttl": ttl}
        fields = {"index": name, **types, "ifNotExists": if_not_exists, **layout}
        await self._request("createIndex", fields, deadline, [name])
        return self.index(name)

    async def drop_index(
        self, name: str, *, if_exists: bool = False, deadline: float | None = None
    ) -> bool:
        """Drops an index with all that it holds. Returns whether it was there. Raises `UNKNOWN_INDEX`."""
        fields = {"index": name, "ifExists": if_exists}
        reply = await self._request("dropIndex", fields, deadline, [name])
        self._forget(name)
        return bool(reply["dropped"])

    async def rename_index(self, name: str, to: str, *, deadline: float | None = None) -> None:
        """
        Gives an index a name that none has. Calls on `index(name)` go on in what has that name then, if there is one. Raises
        `UNKNOWN_INDEX`, `INDEX_EXISTS`.
        """
        await self._move("renameIndex", name, "to", to, deadline)

    async def swap_indexes(self, one: str, other: str, *, deadline: float | None = None) -> None:
        """
        Gives two indexes each other's names in one step, so that one that was built aside takes the place of another without a gap.
        """
        await self._move("swapIndexes", one, "with", other, deadline)

    async def list_indexes(self, *, deadline: float | None = None) -> Sequence[Mapping[str, Any]]:
        """The definitions of all indexes."""
        indexes: Sequence[Mapping[str, Any]] = (await self._request("listIndexes", {}, deadline))[
            "indexes"
        ]
        return indexes

    def relation(self, name: str) -> Relation:
        """A relation by name. Nothing is sent: the first call on it says whether it exists."""
        if name not in self._relations:
            self._relations[name] = Relation(self._connection, name, self.index)
        return self._relations[name]

    async def create_relation(
        self,
        name: str,
        columns: Mapping[str, str] | Sequence[Mapping[str, Any]],
        *,
        if_not_exists: bool = False,
        deadline: float | None = None,
    ) -> Relation:
        """
        Creates a relation. Columns are types by name, a nullable one's with a question mark as in `{"id": "u64", "city": "string?"}`, or maps
        as docs/protocol.md has them. Raises `RELATION_EXISTS`.
        """
        fields = {"relation": name, "columns": _columns(columns), "ifNotExists": if_not_exists}
        await self._request("createRelation", fields, deadline)
        return self.relation(name)

    async def drop_relation(
        self, name: str, *, if_exists: bool = False, deadline: float | None = None
    ) -> bool:
        """Drops a relation with all its rows. Returns whether it was there. Raises `UNKNOWN_RELATION`."""
        self.relation(name).forget()
        reply = await self._request(
            "dropRelation", {"relation": name, "ifExists": if_exists}, deadline
        )
        return bool(reply["dropped"])

    async def list_relations(self, *, deadline: float | None = None) -> Sequence[Mapping[str, Any]]:
        """The definitions of all relations."""
        relations: Sequence[Mapping[str, Any]] = (
            await self._request("listRelations", {}, deadline)
        )["relations"]
        return relations

    async def stats(self, *, deadline: float | None = None) -> Mapping[str, Any]:
        """Figures of the server, its indexes and its relations."""
        return await self._request("stats", {}, deadline)

    async def write(
        self,
        batches: Sequence[Batched],
        *,
        strategy: str | None = None,
        resolution: str | None = None,
        deadline: float | None = None,
    ) -> list[PartResult]:
        """
        Writes batches of several indexes, and rows of relations, all or none, and only if all is as they expect: nobody ever sees a part of it.
        They go out in one request, and each index or relation has one of them, as `index.batch()` and `relation.batch(rows)` give them. Returns
        for each its result codes, or the numbers of its rows. Raises `CONDITION_FAILED` where a key is not as expected: `item` of the error
        is the number of the `expect` among all.
        """
        if not isinstance(batches, Sequence) or not all(hasattr(one, "part") for one in batches):
            raise bad_request(
                f"write takes a list of batches, as index.batch() and relation.batch(rows) give them, not {batches!r}"
            )
        traversal = {"strategy": strategy, "resolution": resolution}
        until = self._connection.until(deadline)
        return await write_parts([batch.part for batch in batches], traversal, until)

    async def snapshot(
        self, *, seconds: float | None = None, deadline: float | None = None
    ) -> Snapshot:
        """
        Opens a moment of all indexes, after what was called before, for reads that name it as their option `snapshot`. It lasts until it is
        closed, or was not read for `seconds`: 60 by default, 3600 at most. Raises `OVERLOADED` where too many are open.
        """
        version = self._connection.session.new_version()
        fields = {"version": version, "seconds": seconds}
        await self._request("openVersion", fields, deadline, list(self._calls))
        return Snapshot(self._connection, version)

    async def position(self, *, deadline: float | None = None) -> Position:
        """
        What the node has that the client is connected to. Raises `BAD_REQUEST` for a server of no cluster, and for a cluster of several
        replica sets, one of which the address has to name, as in `ws://a:7070?set=0`.
        """
        return _position(await self._request("position", {}, deadline))

    async def reached(self, position: Position, *, deadline: float | None = None) -> Position:
        """Waits until the node has what `position()` of another client told, for reads by `reads="any"`. Returns what it has then."""
        until = self._connection.until(deadline)
        while True:
            # The server waits for some time only.
            fields, _ = await self._connection.request(
                "position", {"atLeast": position.position}, until
            )
            if fields["position"] >= position.position:
                return _position(fields)

    async def take_snapshot(
        self, name: str | None = None, *, deadline: float | None = None
    ) -> Sequence[Mapping[str, Any]]:
        """Has a snapshot of one index, or of all indexes and relations, written to disk, so that a restart need not replay their logs."""
        names = [] if name is None else [name]
        reply = await self._request("snapshot", {"index": name}, deadline, names)
        snapshots: Sequence[Mapping[str, Any]] = reply["snapshots"]
        return snapshots

    async def back_up(
        self, name: str | None = None, *, deadline: float | None = None
    ) -> Mapping[str, Any]:
        """Makes a backup of all indexes on the server's host while requests go on; by default its folder's name tells the time."""
        return await self._request("backup", {"name": name}, deadline)

    async def slow_requests(
        self, *, after: int = 0, deadline: float | None = None
    ) -> Mapping[str, Any]:
        """The last requests that took longer than the server's threshold; with `after` those behind the one of that number."""
        return await self._request("slowRequests", {"after": after}, deadline)

    async def calibration(
        self, *, again: bool = False, deadline: float | None = None
    ) -> Mapping[str, Any]:
        """What the costs that the server plans by were measured to be; `again` measures anew, which takes seconds."""
        return await self._request("calibrate", {"again": again}, deadline)

    def query(self, query: Tree, *, deadline: float | None = None) -> QueryResult:
        """
        A query over relations: a tree as docs/queries.md describes it. Nothing is sent before its result is read; the deadline is that of
        each batch.
        """
        return QueryResult(self._connection, partial(pack_query, query), deadline)

    def sql(
        self, text: str, parameters: SqlValues = (), *, deadline: float | None = None
    ) -> QueryResult:
        """
        A SELECT over relations, as docs/queries.md describes it. `parameters` are values for `?` or `$1` in their order, or for `$name` by names.
        Raises `BAD_REQUEST` with the place in the text, when its result is read.
        """
        return QueryResult(self._connection, partial(pack_sql, text, parameters), deadline)

    async def explain_query(
        self, query: Tree, *, deadline: float | None = None
    ) -> Mapping[str, Any]:
        """Carries a query out, and says what each of its operators did. Its rows are dropped."""
        return await self._explain(partial(pack_query, query), deadline)

    async def explain_sql(
        self, text: str, parameters: SqlValues = (), *, deadline: float | None = None
    ) -> Mapping[str, Any]:
        """As `explain_query`, of a statement."""
        return await self._explain(partial(pack_sql, text, parameters), deadline)

    async def close(self, *, now: bool = False) -> None:
        """Closes the client, after all calls are answered that were made before; with `now` they fail with `CANCELLED`."""
        for calls in self._calls.values():
            calls.lane.flush()
        await self._connection.close(now)

    async def _explain(self, question: Question, deadline: float | None) -> Mapping[str, Any]:
        until = self._connection.until(deadline)
        fields, _ = await ask_query(self._connection, question, {"explain": True}, until)
        explanation: Mapping[str, Any] = fields["explanation"]
        return explanation

    async def _move(
        self, op: str, name: str, field: str, other: str, deadline: float | None
    ) -> None:
        """A request that gives two names another meaning, after what was called on both before."""
        await self._request(op, {"index": name, field: other}, deadline, (name, other))
        for moved in (name, other):
            self._forget(moved)

    def _forget(self, name: str) -> None:
        """The name means another index from now on, or none."""
        if name in self._calls:
            self._calls[name].definition.forget()

    async def _request(
        self, op: str, fields: Mapping[str, Any], deadline: float | None, names: Iterable[str] = ()
    ) -> Mapping[str, Any]:
        """Sends a request, and one for indexes of these names after what was called on them before."""
        about = [self._calls[name] for name in names if name in self._calls]
        return await request_in_turn(self._connection, about, op, fields, deadline)


async def connect(url: str | Sequence[str], **options: Any) -> Client:
    """
    Connects to a server, at a URL such as `ws://127.0.0.1:7070`, `wss://…` or `ws+unix:/run/warpdex.sock`, or to the nodes of a
    cluster, at several; options are those of `ConnectOptions`. Raises `WarpdexError`: `CONNECTION_LOST` when there is no answer, `UNAUTHORISED`,
    `BAD_REQUEST`.
    """
    connection = Connection(url, ConnectOptions(**options))
    await connection.open()
    return Client(connection)


def _position(fields: Mapping[str, Any]) -> Position:
    behind = fields.get("behind")
    return Position(fields["position"], None if behind is None else behind / 1000)


def _columns(
    columns: Mapping[str, str] | Sequence[Mapping[str, Any]]
) -> Sequence[Mapping[str, Any]]:
    if not isinstance(columns, Mapping):
        return columns
    return [
        {"name": name, "type": type.removesuffix("?"), "nullable": type.endswith("?")}
        for name, type in columns.items()
    ]
