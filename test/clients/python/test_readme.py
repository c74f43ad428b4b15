"""The examples of the README run."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import warpdex

from server import URL, WithServer

README = Path(__file__).parents[3] / "clients" / "python" / "README.md"


class Examples(WithServer):
    def setUp(self) -> None:
        # Names of the examples, which other runs may have left.
        with warpdex.connect(URL) as client:
            for index in ("cities", "orders", "sessions"):
                client.drop_index(index, if_exists=True)
            client.drop_relation("sales", if_exists=True)

    def test_examples(self) -> None:
        text = README.read_text()
        self.assertLessEqual(len(text.split()), 600)
        examples = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        code = "".join(examples).replace("ws://127.0.0.1:7070", URL)
        scope: dict[str, Any] = {}
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(README), "exec"), scope)
        self.assertEqual(printed.getvalue().splitlines()[-1], "UNKNOWN_INDEX")
        self.assertEqual(list(scope["found"]), [14, None])
        self.assertEqual(scope["second"].tolist(), list(range(500, 600)))
        self.assertIn(warpdex.Change(warpdex.ChangeOp.PUT, 5, 50), scope["changes"])
