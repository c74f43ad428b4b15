"""Errors: each has a code of docs/protocol.md, which says what to do about it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


class WarpdexError(Exception):
    """Every error that the client raises on purpose."""

    def __init__(self, code: str, message: str, item: int | None = None, owner: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        #: Which of several things it is about, from 0 on: of ``CONDITION_FAILED`` the condition.
        self.item = item
        #: Of ``NOT_OWNER``: the address of the node to ask, where it is known.
        self.owner = owner

    def again(self) -> WarpdexError:
        """The same for one caller more: a traceback belongs to one."""
        return WarpdexError(self.code, str(self), self.item, self.owner)


class BatchError(WarpdexError):
    """Why a write ended early that was sent in several requests. What was stored before stays."""

    def __init__(self, reason: WarpdexError, codes: npt.NDArray[np.uint8]) -> None:
        stored = len(codes)
        super().__init__(reason.code, f"{reason}; the first {stored} items of the batch are stored")
        #: The first items that are stored and, unless the connection was lost or a deadline passed, no others.
        self.stored = stored
        #: A result code for each of them.
        self.codes = codes


@dataclass(frozen=True)
class LoadCounts:
    """What became of rows that were loaded."""

    rows: int = 0
    inserted: int = 0
    replaced: int = 0
    #: Not inserted: their keys were there already.
    existing: int = 0
    #: Refused: NaN is no key.
    refused: int = 0

    def plus(self, other: LoadCounts) -> LoadCounts:
        return LoadCounts(
            self.rows + other.rows,
            self.inserted + other.inserted,
            self.replaced + other.replaced,
            self.existing + other.existing,
            self.refused + other.refused,
        )


class LoadError(WarpdexError):
    """Why a load ended early. What it stored before stays, so that it can be taken up from there."""

    def __init__(self, reason: WarpdexError, stored: LoadCounts) -> None:
        rows = stored.rows
        stays = f"the first {rows} rows of the load are" if rows > 0 else "no row of the load is"
        super().__init__(reason.code, f"{reason}; {stays} stored")
        #: The first rows that are durable and, unless the connection was lost or a deadline passed, no others.
        self.stored = stored


def bad_request(message: str) -> WarpdexError:
    """For what a caller should have put otherwise."""
    return WarpdexError("BAD_REQUEST", message)


def connection_lost(message: str) -> WarpdexError:
    return WarpdexError("CONNECTION_LOST", message)
