"""pandas and pyarrow, which are imported when they are used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._columns import DTYPES, bitmap, masked
from .errors import bad_request

if TYPE_CHECKING:
    from ._relations import Cells


def is_frame(value: Any) -> bool:
    return _module(value) == "pandas" and type(value).__name__ == "DataFrame"


def is_series(value: Any) -> bool:
    return _module(value) == "pandas" and hasattr(value, "isna")


def is_arrow(value: Any) -> bool:
    return _module(value) == "pyarrow"


def _module(value: Any) -> str:
    return type(value).__module__.split(".")[0]


def series_values(series: Any, type: str) -> tuple[Any, Any]:
    """Values of a pandas Series, and whether each row has one. NaN is a missing value, as pandas has it."""
    validity = ~series.isna().to_numpy(dtype=np.bool_)
    if validity.all():
        return series.to_numpy(), validity
    if type == "string":
        return series.astype(object).where(validity, "").to_numpy(), validity
    if series.dtype.kind == "f" and type[0] != "f":
        # Whole numbers with gaps are floats in pandas unless its nullable types are used.
        values = series.to_numpy(dtype=np.float64, na_value=0)
        if (values != np.floor(values)).any() or abs(values).max(initial=0) > 2**53:
            raise bad_request(f"a column of {series.dtype} has numbers that are no {type}")
        return values.astype(np.int64), validity
    # Pandas' own types say which of numpy's their values have; objects are taken for numbers of the column's type.
    dtype = getattr(series.dtype, "numpy_dtype", DTYPES[type] if series.dtype == object else None)
    return series.to_numpy(dtype=dtype, na_value=0), validity


def arrow_values(values: Any, type: str, what: str) -> tuple[Any, Any]:
    """Values of an Arrow array, and whether each row has one."""
    import pyarrow as pa

    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if isinstance(values, pa.ChunkedArray):
        values = pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], values.type)
    if isinstance(values, pa.DictionaryArray):
        values = values.dictionary_decode()
    validity = values.is_valid().to_numpy(zero_copy_only=False)
    if type == "string":
        return [text or "" for text in values.to_pylist()], validity
    try:
        numbers = values.cast(arrow_type(type))
        # Days and microseconds since 1970 are what such columns hold.
        if type in ("date", "timestamp"):
            numbers = numbers.cast(pa.int32() if type == "date" else pa.int64())
        elif type.startswith("decimal"):
            raise bad_request(f"{what} are integers, so many of the last digit each, not {values.type}")
        numbers = numbers.fill_null(False if type == "boolean" else 0)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise bad_request(f"{what}: {error}") from error
    return numbers.to_numpy(zero_copy_only=False), validity


def arrow_type(type: str) -> Any:
    import pyarrow as pa

    types = {
        "u32": pa.uint32(),
        "i32": pa.int32(),
        "f32": pa.float32(),
        "u64": pa.uint64(),
        "i64": pa.int64(),
        "f64": pa.float64(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us", "UTC"),
        "boolean": pa.bool_(),
        "string": pa.dictionary(pa.uint32(), pa.string()),
        "i128": pa.decimal128(38, 0),
    }
    if type.startswith("decimal"):
        precision, scale = type[len("decimal(") : -1].split(",")
        return pa.decimal128(int(precision), int(scale))
    return types[type]


def arrow_batch(columns: Mapping[str, tuple[str, Cells]]) -> Any:
    """Columns, each with its type, as a record batch: numbers share their memory with it, and strings are dictionaries."""
    import pyarrow as pa

    arrays = [_arrow_array(type, cells) for type, cells in columns.values()]
    return pa.record_batch(arrays, names=list(columns))


def _arrow_array(type: str, cells: Cells) -> Any:
    import pyarrow as pa

    values, validity, texts = cells
    missing = None if validity is None else pa.py_buffer(bitmap(validity))
    kept = bitmap(values != 0) if type == "boolean" else np.ascontiguousarray(values)
    # Arrow's decimals have 128 bits.
    if values.dtype == object:
        kept = np.frombuffer(b"".join(one.to_bytes(16, "little", signed=True) for one in values), np.uint8)
    elif type.startswith("decimal"):
        kept = np.stack([values, values >> 63], axis=1)
    storage = pa.uint32() if type == "string" else arrow_type(type)
    array = pa.Array.from_buffers(storage, len(values), [missing, pa.py_buffer(kept)])
    return (
        array
        if texts is None
        else pa.DictionaryArray.from_arrays(array, pa.array(texts, pa.string()))
    )


def frame_of(columns: Mapping[str, tuple[str, Any]]) -> Any:
    """Columns, each with its type and values as numpy has them, as a pandas DataFrame; nullable numbers have pandas' types for such."""
    import pandas as pd

    return pd.DataFrame({name: _series(type, values) for name, (type, values) in columns.items()})


def _series(type: str, values: Any) -> Any:
    import pandas as pd

    if type == "boolean":
        plain = masked.getdata(values).astype(np.bool_)
        mask = masked.getmaskarray(values)
        return pd.Series(pd.arrays.BooleanArray(plain, mask) if mask.any() else plain)
    if not isinstance(values, masked.MaskedArray):
        return pd.Series(values)
    plain, mask = masked.getdata(values), masked.getmaskarray(values)
    if plain.dtype == object:
        return pd.Series(np.where(mask, None, plain), dtype=object)
    kind = pd.arrays.FloatingArray if type[0] == "f" else pd.arrays.IntegerArray
    return pd.Series(kind(plain, mask))


def table_of(batches: Sequence[Any]) -> Any:
    """Record batches as a table, whose dictionaries are one."""
    import pyarrow as pa

    return pa.Table.from_batches(batches).unify_dictionaries()
