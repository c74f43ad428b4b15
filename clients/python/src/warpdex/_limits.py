"""Limits of the protocol, as docs/limits.md explains them."""

MIB = 1024 * 1024

FRAME_BYTES = 64 * MIB
HEADER_BYTES = 64 * 1024
REPLY_HEADER_BYTES = 16 * MIB
BATCH_ITEMS = 1 << 20
SCAN_ENTRIES = 1 << 18
KEY_BYTES = 4096
REQUESTS_IN_FLIGHT = 256
BYTES_IN_FLIGHT = 256 * MIB
QUERY_DEPTH = 64

#: Bytes of a frame that are left to columns: the rest is room for the header and the gaps between columns.
COLUMN_BYTES = FRAME_BYTES - HEADER_BYTES - 1024
