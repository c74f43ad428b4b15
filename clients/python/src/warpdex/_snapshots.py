"""Moments that reads can name."""

from __future__ import annotations

from .errors import bad_request


class ReadVersion:
    """
    A moment of all indexes, which reads see that name it as their option `snapshot`, whatever is written later. It ends when it is closed, or
    when it was not read for as long as it lasts; reads that name it then fail with `VERSION_GONE`.
    """

    def __init__(self, version: int) -> None:
        #: The number that requests have for it.
        self.version = version
        self.is_closed = False


def version_of(snapshot: ReadVersion | None) -> int | None:
    """What a request says of the moment that it is to see. Raises `BAD_REQUEST` for a closed one."""
    if snapshot is None:
        return None
    if not isinstance(snapshot, ReadVersion):
        raise bad_request(f"the option snapshot is what client.snapshot() opens, not {snapshot!r}")
    if snapshot.is_closed:
        raise bad_request("the snapshot is closed; open another by client.snapshot()")
    return snapshot.version
