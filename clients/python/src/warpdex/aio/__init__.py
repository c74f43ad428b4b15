"""The client for asyncio: `client = await connect(url)`."""

from ._client import Client, connect
from ._connection import ConnectOptions
from ._index import Index
from ._load import Batch
from ._ranges import Ranges, RangesOptions
from ._relation import Relation, RowBatch
from ._result import QueryResult
from ._scan import Scan, ScanOptions
from ._snapshot import Snapshot
from ._write_batch import WriteBatch

__all__ = [
    "Batch",
    "Client",
    "ConnectOptions",
    "Index",
    "QueryResult",
    "Ranges",
    "RangesOptions",
    "Relation",
    "RowBatch",
    "Scan",
    "ScanOptions",
    "Snapshot",
    "WriteBatch",
    "connect",
]
