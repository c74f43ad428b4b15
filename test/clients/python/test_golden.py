"""The frames of protocol/golden: the codec writes and reads what is there."""

from __future__ import annotations

import json
import unittest
from pathlib import Path
from typing import Any

import numpy as np
from warpdex import WarpdexError
from warpdex._columns import DTYPES, Column
from warpdex._frames import (
    DATA_OPS,
    DataRequest,
    Envelope,
    WireColumn,
    decode_control,
    decode_reply,
    encode_control,
    encode_request,
)

GOLDEN = Path(__file__).parents[3] / "protocol" / "golden"


def golden(file: str) -> list[dict[str, Any]]:
    return json.loads((GOLDEN / f"{file}.json").read_text())


def column_of(column: dict[str, Any]) -> WireColumn:
    kind = column["type"]
    if kind == "bytes":
        values = np.frombuffer(bytes.fromhex(column.get("bytes", "")), np.uint8)
    else:
        given = [
            int(value) if isinstance(value, str) else value for value in column.get("values", [])
        ]
        values = np.array(given, DTYPES[kind])
    offsets = np.array(column["offsets"], np.uint32) if "offsets" in column else None
    return WireColumn(kind, values, offsets)


def json_of(name: str, column: WireColumn) -> dict[str, Any]:
    kind, values, offsets = column
    told: dict[str, Any] = {"name": name, "type": kind}
    if kind == "bytes":
        told["bytes"] = values.tobytes().hex()
    else:
        listed = values.tolist()
        told["values"] = [str(value) for value in listed] if kind in ("u64", "i64") else listed
    if offsets is not None:
        told["offsets"] = offsets.tolist()
    return told


def columns_of(columns: list[dict[str, Any]]) -> dict[str, WireColumn]:
    return {column["name"]: column_of(column) for column in columns}


class GoldenFrames(unittest.TestCase):
    def test_data_requests(self) -> None:
        seen = set()
        for frame in golden("data-requests"):
            message = frame["message"]
            seen.add(message["op"])
            columns = columns_of(message["columns"])
            key_types = [columns[name].type for name in ("keys", "from", "to") if name in columns]
            request = DataRequest(
                op=message["op"],
                count=message.get("count", 0),
                columns={
                    name: Column(values, offsets) for name, (_, values, offsets) in columns.items()
                },
                limit=message.get("limit", 0),
                reverse=message.get("reverse", False),
                from_exclusive=message.get("fromExclusive", False),
                to_exclusive=message.get("toExclusive", False),
                with_sequences=message.get("withSequences", False),
                without_keys=message.get("withoutKeys", False),
                without_payloads=message.get("withoutPayloads", False),
                with_expire_at=message.get("withExpireAt", False),
                version=message.get("version"),
                opens_version=message.get("opensVersion", False),
                position=message.get("position"),
                mode=message.get("mode", "append"),
                strategy=message.get("traversal", {}).get("strategy"),
                resolution=message.get("traversal", {}).get("resolution"),
                write_id=message.get("writeId"),
            )
            envelope = Envelope(
                id=message["id"],
                handle=message["handle"],
                generation=message["generation"],
                key_type=key_types[0] if key_types else "bytes",
                payload_type=columns["payloads"].type if "payloads" in columns else "bytes",
                deadline=message.get("deadline", 0),
            )
            with self.subTest(frame["name"]):
                self.assertEqual(encode_request(request, envelope).hex(), frame["hex"])
        self.assertEqual(seen, set(DATA_OPS))

    def test_control_requests(self) -> None:
        for frame in golden("control-requests"):
            message = frame["message"]
            with self.subTest(frame["name"]):
                sections = columns_of(message["sections"])
                for written in (
                    encode_control(message["header"], sections),
                    bytes.fromhex(frame["hex"]),
                ):
                    header, found = decode_control(written)
                    self.assertEqual(header, message["header"])
                    told = [json_of(name, section) for name, section in found.items()]
                    self.assertEqual(told, message["sections"])

    def test_replies(self) -> None:
        for frame in golden("replies"):
            message = frame["message"]
            with self.subTest(frame["name"]):
                reply = decode_reply(bytes.fromhex(frame["hex"]))
                columns = [json_of(name, column) for name, column in reply.columns.items()]
                header = message.get("header")
                if header is None:
                    self.assertEqual(reply.id, message["id"])
                    self.assertEqual(columns, message["columns"])
                    continue
                self.assertEqual(reply.id, header["id"])
                if header["ok"]:
                    fields = {
                        name: value for name, value in header.items() if name not in ("id", "ok")
                    }
                    self.assertEqual((reply.error, reply.fields), (None, fields))
                    self.assertEqual(columns, message["sections"])
                else:
                    error = reply.error
                    assert error is not None
                    said = {"code": error.code, "message": str(error), "item": error.item, "owner": error.owner}
                    self.assertEqual(said, {"item": None, "owner": None, **header["error"]})

    def test_broken_replies(self) -> None:
        for frame in golden("replies"):
            whole = bytes.fromhex(frame["hex"])
            with self.subTest(frame["name"]), self.assertRaises(WarpdexError):
                decode_reply(whole[:-9])
            for at in range(len(whole)):
                for bit in (1, 16, 128):
                    broken = bytearray(whole)
                    broken[at] ^= bit
                    try:
                        decode_reply(bytes(broken))
                    except WarpdexError:
                        pass
