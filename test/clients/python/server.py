"""The server that tests talk to."""

from __future__ import annotations

import os
import unittest
import uuid

URL = os.environ.get("WARPDEX_URL", "")


@unittest.skipIf(URL == "", "WARPDEX_URL names no server")
class WithServer(unittest.TestCase):
    """Tests that need a server, at WARPDEX_URL."""

    def unused(self) -> str:
        """The name of an index or a relation that nobody has."""
        return f"{self.id().rsplit('.', 1)[-1]} {uuid.uuid4().hex[:8]}"


@unittest.skipIf(URL == "", "WARPDEX_URL names no server")
class AsyncWithServer(unittest.IsolatedAsyncioTestCase):
    """The same for asyncio."""

    unused = WithServer.unused
