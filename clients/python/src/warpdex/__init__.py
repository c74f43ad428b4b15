"""
A client of warpdex, a GPU secondary-index server. `connect(url)` gives a blocking client, `warpdex.aio.connect(url)` one for asyncio.
"""

from . import aio
from ._blocking import (
    Client,
    Index,
    QueryResult,
    Relation,
    Scan,
    Snapshot,
    WriteBatch,
    connect,
)
from ._changes import Change, ChangeBatch, ChangeOp, DeletedRange
from ._inputs import Blob
from ._rows import ColumnBatch
from .aio import Batch, ConnectOptions, RangesOptions, RowBatch, ScanOptions
from .errors import BatchError, LoadCounts, LoadError, WarpdexError
from .results import (
    Entry,
    GetAllResult,
    GetResult,
    KeysPage,
    NextEntry,
    NextResult,
    Page,
    Position,
    RangeEntry,
    RangesPage,
    ResultCode,
    Rows,
    ValuesPage,
)

__all__ = [
    "Batch",
    "BatchError",
    "Blob",
    "Change",
    "ChangeBatch",
    "ChangeOp",
    "Client",
    "ColumnBatch",
    "ConnectOptions",
    "DeletedRange",
    "Entry",
    "GetAllResult",
    "GetResult",
    "Index",
    "KeysPage",
    "LoadCounts",
    "LoadError",
    "NextEntry",
    "NextResult",
    "Page",
    "Position",
    "QueryResult",
    "RangeEntry",
    "RangesOptions",
    "RangesPage",
    "Relation",
    "ResultCode",
    "RowBatch",
    "Rows",
    "Scan",
    "ScanOptions",
    "Snapshot",
    "ValuesPage",
    "WarpdexError",
    "WriteBatch",
    "aio",
    "connect",
]
