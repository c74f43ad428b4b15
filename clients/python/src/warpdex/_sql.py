"""Statements in SQL as they travel."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import numpy as np

from .errors import bad_request

#: Values for `?` and `$1` in their order, or for `$name` by names.
SqlValues = Sequence[Any] | Mapping[str, Any]


def pack_sql(text: str, parameters: SqlValues) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields of a statement; it has no sections."""
    if not isinstance(text, str):
        raise bad_request(f"sql takes the text of a SELECT, not {text!r}")
    if isinstance(parameters, Mapping):
        named = {name: _parameter(value, name) for name, value in parameters.items()}
        return {"sql": {"text": text, "parameters": named}}, {}
    if isinstance(parameters, str) or not isinstance(parameters, Sequence):
        raise bad_request(
            f"sql takes a list of parameters, or a map by their names, not {parameters!r}"
        )
    listed = [_parameter(value, i + 1) for i, value in enumerate(parameters)]
    return {"sql": {"text": text, "parameters": listed}}, {}


def _parameter(value: Any, name: str | int) -> dict[str, Any]:
    """A value as it travels: what plain values cannot say are texts with a type."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (str, bool)):
        return {"value": value}
    if isinstance(value, int):
        if abs(value) < 2**53:
            return {"value": value}
        return {"value": str(value), "type": "i64" if value < 2**63 else "u64"}
    if isinstance(value, float):
        if math.isfinite(value):
            return {"value": value}
        text = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        return {"value": text, "type": "f64"}
    if isinstance(value, Decimal) and value.is_finite():
        return {"value": f"{value:f}"}
    if isinstance(value, datetime):
        utc = value.astimezone(timezone.utc) if value.tzinfo else value
        return {"value": utc.strftime("%Y-%m-%d %H:%M:%S.%f"), "type": "timestamp"}
    if isinstance(value, date):
        return {"value": value.isoformat(), "type": "date"}
    raise bad_request(
        f"parameter ${name} must be None, a bool, a number, a text, a date or a datetime, not {value!r}"
    )
