"""Which requests are sent, and sent again, without any I/O."""

from __future__ import annotations

import unittest
from typing import Any

import msgpack
from warpdex import WarpdexError
from warpdex._frames import encode_control
from warpdex._session import Session


def reply_to(id: int, **fields: Any) -> bytes:
    return encode_control({"id": id, "ok": True, **fields})


def refusal_of(id: int, owner: str | None = None) -> bytes:
    error = {"code": "NOT_OWNER", "message": "ask that one", "owner": owner}
    return encode_control({"id": id, "ok": False, "error": error})


class Sessions(unittest.TestCase):
    def setUp(self) -> None:
        self.session = Session()
        self.sent: list[bytes] = []
        self.answers: list[Any] = []

    def start(self, op: str, size: int = 0) -> int:
        fields = {"op": op, "padding": "x" * size}
        return self.session.start(
            op, lambda id: encode_control({"id": id, **fields}), self.answers.append
        )

    def connect(self) -> None:
        self.session.connected(self.sent.append)

    def sent_ids(self) -> list[int]:
        return [msgpack.unpackb(frame[4:])["id"] for frame in self.sent]

    def codes(self) -> list[str]:
        return [answer.code for answer in self.answers]

    def test_requests_wait_for_a_connection(self) -> None:
        ids = [self.start("stats"), self.start("stats")]
        self.assertEqual(self.sent, [])
        self.connect()
        self.assertEqual(self.sent_ids(), ids)
        self.session.receive(reply_to(ids[1], which=2))
        self.assertEqual([answer.fields for answer in self.answers], [{"which": 2}])

    def test_no_more_are_sent_than_the_server_takes(self) -> None:
        self.connect()
        ids = [self.start("stats") for _ in range(300)]
        self.assertEqual(self.sent_ids(), ids[:256])
        self.session.receive(reply_to(ids[7]))
        self.assertEqual(self.sent_ids(), ids[:257])
        self.session.abandon(ids[299])
        for id in ids[8:100]:
            self.session.receive(reply_to(id))
        self.assertNotIn(ids[299], self.sent_ids())

    def test_what_is_sent_again(self) -> None:
        self.connect()
        read, write, create = self.start("get"), self.start("insert"), self.start("createIndex")
        self.session.lost(WarpdexError("CONNECTION_LOST", "cut"))
        self.assertEqual(self.codes(), ["CONNECTION_LOST"])
        self.sent.clear()
        later = self.start("get")
        self.connect()
        self.assertEqual(self.sent_ids(), [read, write, later])
        self.session.lost(WarpdexError("CONNECTION_LOST", "cut"))
        self.assertEqual(self.codes(), ["CONNECTION_LOST"] * 2, "a write is sent twice at most")
        self.assertNotIn(create, self.sent_ids())
        for _ in range(3):
            self.connect()
            self.session.lost(WarpdexError("CONNECTION_LOST", "cut"))
        self.assertEqual(self.codes(), ["CONNECTION_LOST"] * 4, "a read has an end, too")

    def test_a_feed_is_sent_again_however_often_and_a_batch_once(self) -> None:
        watch = self.start("watch")
        self.start("batch")
        for _ in range(9):
            self.connect()
            self.session.lost(WarpdexError("CONNECTION_LOST", "cut"))
        self.assertEqual(self.codes(), ["CONNECTION_LOST"])
        self.sent.clear()
        self.connect()
        self.assertEqual(self.sent_ids(), [watch])

    def test_what_is_for_another_server_goes_there_once_all_else_is_answered(self) -> None:
        self.connect()
        self.start("watch")
        read, create, insert = self.start("get"), self.start("createIndex"), self.start("insert")
        self.session.receive(refusal_of(create, "ws://b:1"))
        later = self.start("get")
        self.session.receive(reply_to(read))
        with self.assertRaises(WarpdexError) as raised:
            self.session.receive(refusal_of(insert, "ws://b:1"))
        self.session.lost(raised.exception)
        self.assertEqual(self.session.owner, "ws://b:1")
        self.assertEqual(len(self.answers), 1)
        self.sent.clear()
        self.connect()
        self.assertEqual(self.sent_ids(), [1, create, insert, later])

    def test_a_call_that_is_abandoned_does_not_keep_the_others_from_the_owner(self) -> None:
        self.connect()
        read, write = self.start("get"), self.start("insert")
        self.session.receive(refusal_of(write))
        self.session.abandon(read)
        with self.assertRaises(WarpdexError):
            self.session.receive(reply_to(msgpack.unpackb(self.sent[-1][4:])["id"]))

    def test_changes_of_the_server_without_an_answer_have_an_end(self) -> None:
        self.session = Session(most_moves=1)
        ids = [self.start("insert"), self.start("get")]
        self.connect()
        self.session.receive(refusal_of(ids[0]))
        with self.assertRaises(WarpdexError):
            self.session.receive(refusal_of(ids[1]))
        self.session.lost(WarpdexError("CONNECTION_LOST", "moved"))
        self.connect()
        for id in ids:
            self.session.receive(refusal_of(id))
        self.assertEqual(self.codes(), ["NOT_OWNER"] * 2)

    def test_clients_have_no_version_in_common(self) -> None:
        self.assertNotEqual(self.session.new_version(), Session().new_version())

    def test_an_abandoned_request_is_cancelled(self) -> None:
        self.connect()
        id = self.start("get")
        self.session.abandon(id)
        self.assertEqual(msgpack.unpackb(self.sent[-1][4:])["target"], id)
        self.session.receive(reply_to(id))
        self.assertEqual(self.answers, [])

    def test_a_closed_session_fails_all(self) -> None:
        self.connect()
        self.start("get")
        self.session.finish(WarpdexError("CANCELLED", "closed"))
        self.assertEqual(self.codes(), ["CANCELLED"])
        with self.assertRaises(WarpdexError):
            self.start("get")

    def test_what_ends_a_connection(self) -> None:
        self.connect()
        for frame in (b"\1\2\3", reply_to(1).replace(b"\xa2id\x01", b"\xa2id\xc0")):
            with self.assertRaises(WarpdexError):
                self.session.receive(frame)
