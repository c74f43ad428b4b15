"""Relations and queries of a real server, with pandas and pyarrow where they are installed."""

from __future__ import annotations

import importlib.util
import unittest
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import warpdex
from warpdex import WarpdexError

from server import URL, WithServer

COLUMNS = {"id": "u32", "big": "i64?", "price": "f32?", "city": "string?"}
ROWS: dict[str, Any] = {
    "id": [1, 2, 3, 4],
    "big": [-(2**62), None, 3, 2**62],
    "price": [2.5, None, -1.0, 0.25],
    "city": ["Łódź", "Aachen", None, "Łódź"],
}

needs_pandas = unittest.skipUnless(importlib.util.find_spec("pandas"), "pandas is not installed")
needs_arrow = unittest.skipUnless(importlib.util.find_spec("pyarrow"), "pyarrow is not installed")


def column(name: str) -> dict[str, Any]:
    return {"column": name}


class Relations(WithServer):
    def setUp(self) -> None:
        self.client = warpdex.connect(URL)
        self.addCleanup(self.client.close)
        self.name = self.unused()
        self.relation = self.client.create_relation(self.name, COLUMNS)
        self.addCleanup(self.client.drop_relation, self.name, if_exists=True)
        self.scan = {"op": "scan", "relation": self.name}

    def where(self, op: str, *args: Any) -> dict[str, Any]:
        return {"op": "where", "input": self.scan, "condition": {"op": op, "args": list(args)}}

    def assert_rows(self, columns: dict[str, Any], rows: dict[str, Any] = ROWS) -> None:
        self.assertEqual({name: values.tolist() for name, values in columns.items()}, rows)

    def test_rows_come_back(self) -> None:
        self.assertEqual(self.relation.append(ROWS), range(0, 4))
        self.assertEqual(self.relation.append({"id": np.arange(2)}), range(4, 6))
        found = self.relation.read(limit=4)
        self.assert_rows(found)
        self.assertEqual(found["big"].dtype, np.int64)
        self.assertIsInstance(found["big"], np.ma.MaskedArray)
        self.assertEqual(self.relation.read(columns=["city"], from_=5)["city"].tolist(), [None])
        self.assertEqual(self.relation.stats()["rows"], 6)
        self.assertEqual(
            [one["name"] for one in self.relation.definition()["columns"]], list(COLUMNS)
        )
        self.assertIn(self.name, [one["name"] for one in self.client.list_relations()])

    def test_sql(self) -> None:
        self.relation.append(ROWS)
        table = f'"{self.name}"'
        select = f"select id from {table} where city = ? and big > ? order by id"
        self.assertEqual(self.client.sql(select, ["Łódź", -(2**63)]).rows(), [{"id": 1}, {"id": 4}])
        select = f"select count(*) as n from {table} where price < $most and $on = date '2024-02-29'"
        values = {"most": Decimal("0.5"), "on": date(2024, 2, 29)}
        self.assertEqual(self.client.sql(select, values).columns()["n"].tolist(), [2])
        moment = datetime(2024, 2, 29, 13, tzinfo=timezone(timedelta(hours=1)))
        select = f"select id from {table} where $1 = timestamp '2024-02-29 12:00:00' and price < $2"
        self.assertEqual(self.client.sql(select, (moment, np.float32(0))).rows(), [{"id": 3}])
        self.assertIn("op", self.client.explain_sql(f"select id from {table}"))
        sums = f"sum(id) as all, -sum(id) * {10**20} as n, sum(1.5) as c, max(date '1970-01-03') as d"
        total = sum(ROWS["id"])
        wanted = [{"all": total, "n": -total * 10**20, "c": 15 * len(ROWS["id"]), "d": 2}]
        self.assertEqual(self.client.sql(f"select {sums} from {table}").rows(), wanted)
        for text, values, wrong in [
            (f"select ide from {table}", [], "ide"),
            (select, [1], ""),
            (select, {"a": object()}, r"parameter \$a must be"),
            (select, "ab", "a list of parameters"),
            (7, [], "text of a SELECT"),
        ]:
            with self.assertRaisesRegex(WarpdexError, wrong):
                self.client.sql(text, values).rows()

    def test_rows_are_changed(self) -> None:
        self.relation.append({"id": np.arange(100), "city": ["a"] * 100})
        few = {"op": "<", "args": [column("id"), {"value": 90}]}
        self.assertEqual(self.relation.delete_rows(few), 90)
        ids = np.arange(80, 95)
        some = {"op": "in", "args": [column("id"), ids]}
        new = {"city": {"value": "b"}, "price": {"value": 2}}
        self.assertEqual(self.relation.update_rows(some, new), range(100, 105))
        found = self.relation.read(columns=["id", "city"])
        self.assertEqual(found["id"].tolist(), [*range(95, 100), *range(90, 95)])
        self.assertEqual(found["city"].tolist(), ["a"] * 5 + ["b"] * 5)
        self.assertEqual(self.relation.update_rows(few, new), range(0, 0))

    def test_appends_are_cut(self) -> None:
        rows = (1 << 20) + 3
        texts = np.array(["a", "b", "c"], dtype=object)[np.arange(rows) % 3]
        self.assertEqual(self.relation.append({"id": np.arange(rows), "city": texts}), range(rows))
        tail = self.relation.read(columns=["id", "city"], from_=rows - 4)
        self.assertEqual(tail["id"].tolist(), list(range(rows - 4, rows)))
        self.assertEqual(tail["city"].tolist(), texts[-4:].tolist())
        self.assertEqual(sum(len(page) for page in self.relation.pages(columns=["id"])), rows)

    def test_masked_arrays(self) -> None:
        price = np.ma.MaskedArray([1.5, 9, 2.5], mask=[False, True, False])
        self.relation.append({"id": [1, 2, 3], "price": price})
        self.assertEqual(self.relation.read(columns=["price"])["price"].tolist(), [1.5, None, 2.5])

    def test_misuse_is_told(self) -> None:
        for rows in (
            {"id": [1], "nowhere": [2]},
            {"id": [1, 2], "city": ["a"]},
            {"id": ["a"]},
            {"id": [-1]},
            {"id": [None]},
            {"id": [1], "city": [7]},
            {"id": [1], "city": ["\ud800"]},
            [1, 2],
        ):
            with self.subTest(rows), self.assertRaises(WarpdexError) as raised:
                self.relation.append(rows)
            self.assertEqual(raised.exception.code, "BAD_REQUEST")

    def test_an_index_over_columns(self) -> None:
        self.relation.append(ROWS)
        name = self.unused()
        index = self.relation.create_index(name, ["city", "id"])
        self.assertEqual(list(index.keys(prefix=("Łódź",))), [("Łódź", 1), ("Łódź", 4)])
        again = self.relation.create_index(name, ["city", "id"], if_not_exists=True)
        self.assertEqual(again.name, name)
        with self.assertRaises(WarpdexError) as raised:
            self.relation.create_index(name, ["city", "id"])
        self.assertEqual(raised.exception.code, "INDEX_EXISTS")

    def test_queries(self) -> None:
        self.relation.append(ROWS)
        result = self.client.query(self.where(">=", column("price"), {"value": 0}))
        self.assertEqual([row["id"] for row in result.rows()], [1, 4])
        self.assertEqual(
            result.rows()[0], {"id": 1, "big": -(2**62), "price": 2.5, "city": "Łódź"}
        )
        self.assert_rows(self.client.query(self.scan).columns())
        flagged = {
            "op": "project",
            "input": self.scan,
            "columns": [{"name": "is", "value": {"op": "isNull", "args": [column("city")]}}],
        }
        found = self.client.query(flagged).columns()["is"]
        self.assertEqual(
            (found.dtype, found.tolist()), (np.dtype(bool), [False, False, True, False])
        )
        self.assertEqual(self.client.query({**flagged}).rows()[2], {"is": True})
        self.assertEqual(self.client.explain_query(self.scan)["op"], "scan")
        kept = self.client.query(self.scan).keep(self.unused(), seconds=30)
        self.assertEqual(kept["rows"], 4)
        with self.assertRaises(WarpdexError) as raised:
            self.client.query({"op": "where", "input": self.scan}).rows()
        self.assertEqual(raised.exception.code, "BAD_REQUEST")

    def test_results_come_in_batches(self) -> None:
        rows = 700_000
        self.relation.append({"id": np.arange(rows), "big": np.arange(rows) * 3})
        batches = [batch["id"] for batch in self.client.query(self.scan)]
        self.assertGreater(len(batches), 1)
        self.assertTrue((np.sort(np.concatenate(batches)) == np.arange(rows)).all())
        for batch in self.client.query(self.scan):
            self.assertFalse(batch["id"].flags.owndata)
            break

    def test_long_lists_of_constants(self) -> None:
        self.relation.append(ROWS)
        lists: list[tuple[str, Any, list[int]]] = [
            ("id", [2, 3], [2, 3]),
            ("id", np.arange(2, 1000), [2, 3, 4]),
            ("id", [{"value": i} for i in range(1, 100)], [1, 2, 3, 4]),
            ("big", [2**62, *range(100)], [3, 4]),
            ("price", [0.25, *np.linspace(2.25, 2.75, 201).tolist()], [1, 4]),
            ("city", ["Aachen", *map(str, range(100))], [2]),
            ("city", {"Łódź"}, [1, 4]),
        ]
        for name, values, ids in lists:
            args = (
                [column(name), *values]
                if isinstance(values, list) and len(values) == 99
                else [column(name), values]
            )
            with self.subTest(name=name, values=values):
                rows = self.client.query(self.where("in", *args)).rows()
                self.assertEqual([row["id"] for row in rows], ids)

    @needs_pandas
    def test_pandas(self) -> None:
        import pandas as pd

        frame = pd.DataFrame(ROWS)
        self.relation.append(frame.drop(columns="big"))
        found = self.client.query(self.scan).to_pandas()
        self.assertEqual(found["id"].tolist(), ROWS["id"])
        self.assertEqual(found["price"].isna().tolist(), [False, True, False, False])
        self.assertEqual(found["city"][0], "Łódź")
        nullable = pd.DataFrame({"id": [5, 6], "big": pd.array([2**61 + 1, None], dtype="Int64")})
        self.relation.append(nullable)
        self.assertEqual(
            self.relation.read(columns=["big"], from_=4)["big"].tolist(), [2**61 + 1, None]
        )
        self.relation.append(pd.DataFrame({"id": [7, 8], "big": [1.0, float("nan")]}))
        self.assertEqual(self.relation.read(columns=["big"], from_=6)["big"].tolist(), [1, None])
        batch = next(self.relation.pages(from_=4, limit=2)).to_pandas()
        self.assertEqual(batch["big"].dtype, "Int64")
        index = self.client.create_index(self.unused(), "u32", "u32")
        index.put_many(frame["id"], frame["id"].astype("uint32"))
        self.assertEqual(list(index.get_many(pd.Series([4]))), [4])

    @needs_arrow
    def test_arrow(self) -> None:
        import pyarrow as pa

        table = pa.table({**ROWS, "city": pa.array(ROWS["city"]).dictionary_encode()})
        self.relation.append(table)
        self.relation.append(table.slice(2).to_batches()[0])
        found = self.client.query(self.scan).to_arrow()
        self.assertEqual(found.slice(0, 4).to_pydict(), ROWS)
        self.assertEqual(found["city"].to_pylist()[4:], [None, "Łódź"])
        self.assertEqual(found.schema.field("big").type, pa.int64())
        self.assertEqual(next(self.relation.pages(limit=4)).to_arrow().to_pydict(), ROWS)
        with self.assertRaises(WarpdexError) as raised:
            self.relation.append(pa.table({"id": [-1]}))
        self.assertEqual(raised.exception.code, "BAD_REQUEST")
