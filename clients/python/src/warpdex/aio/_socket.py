"""A WebSocket, by whichever interface the installed version of `websockets` has."""

from __future__ import annotations

import asyncio
import ssl
from importlib import import_module
from importlib.metadata import version
from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

import websockets.exceptions

from .. import _limits
from ..errors import WarpdexError, bad_request, connection_lost

_VERSION = int(version("websockets").split(".")[0])
# Before version 14 what is new in asyncio was at the top, with another name for headers.
_client: Any = import_module("websockets.asyncio.client" if _VERSION >= 14 else "websockets")
_HEADERS = "additional_headers" if _VERSION >= 14 else "extra_headers"

_OPTIONS: dict[str, Any] = {
    # Costs more than it saves on columns.
    "compression": None,
    "max_size": _limits.FRAME_BYTES,
    "close_timeout": 2,
    # A server that has vanished is left, but not one whose large reply takes long.
    "ping_interval": 10,
    "ping_timeout": 60,
    # The deadline of an attempt is that of its caller.
    "open_timeout": None,
}
if _VERSION >= 15:
    # A server is a machine of one's own, and not behind the proxy that a machine has for the web.
    _OPTIONS["proxy"] = None

_UNIX = "ws+unix:"


async def open_socket(url: str, token: str | None, ca: str | bytes | None) -> Any:
    """
    Opens a WebSocket, over TCP or, with a URL such as `ws+unix:/run/warpdex.sock`, over a Unix socket.
    Raises `WarpdexError`: `UNAUTHORISED`, `BAD_REQUEST` for a URL that is none, `CONNECTION_LOST`.
    """
    options = dict(_OPTIONS)
    if token is not None:
        options[_HEADERS] = {"Authorization": f"Bearer {_checked(token)}"}
    try:
        if url.startswith(_UNIX):
            path, _, query = url[len(_UNIX) :].partition("?")
            url_within = f"ws://localhost/?{query}"
            return await _client.unix_connect(path.removesuffix(":/"), url_within, **options)
        if url.startswith("wss:") and ca is not None:
            text = ca if isinstance(ca, str) else ca.decode()
            options["ssl"] = ssl.create_default_context(cadata=text)
        return await _client.connect(_redirectable(url), **options)
    except asyncio.TimeoutError:
        raise
    except (OSError, ValueError, websockets.exceptions.WebSocketException) as error:
        raise _explained(error, url, token) from error


def _redirectable(url: str) -> str:
    """The URL as of a client that the server may redirect to itself: another connection may come to a thread that has fewer."""
    scheme, host, path, query, _ = urlsplit(url)
    if scheme not in ("ws", "wss") or host == "":
        raise ValueError("it has no ws:// or wss:// and host")
    own = urlencode({"redirected": "0"})
    return urlunsplit((scheme, host, path or "/", f"{query}&{own}" if query else own, ""))


def _checked(token: str) -> str:
    if 1 <= len(token) <= 512 and all("!" <= character <= "~" for character in token):
        return token
    # Not quoted: it may be a secret all the same.
    raise bad_request("a token has 1 to 512 printable ASCII characters and no blanks")


def _explained(error: Exception, url: str, token: str | None) -> WarpdexError:
    response = getattr(error, "response", None)
    status = getattr(error, "status_code", getattr(response, "status_code", None))
    if status == 401:
        what = "needs a token" if token is None else "does not know the token"
        return WarpdexError("UNAUTHORISED", f"the server at {url} {what}")
    if status == 503:
        full = "HTTP 503: the server is starting, stopping, or has as many clients as it takes"
        return connection_lost(f"no connection to {url}: {full}")
    if isinstance(error, ssl.SSLCertVerificationError):
        advice = "give the certificate that vouches for the server's as `ca`"
        return connection_lost(f"no connection to {url}: {error}; {advice}")
    if status is None and isinstance(error, (ValueError, websockets.exceptions.InvalidURI)):
        right = "ws://127.0.0.1:7070, or of a Unix socket ws+unix:/run/warpdex.sock"
        return bad_request(f"{url!r} is not an address of a server ({error}); one is {right}")
    return connection_lost(f"no connection to {url}: {error}")
