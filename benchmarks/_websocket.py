"""The client's half of a websocket (RFC 6455): binary messages, no extensions, this machine only.

Raw on purpose: a load run must be able to stop reading, and to vanish.

Does not know: what the messages mean.
"""

import asyncio
import base64
import contextlib
import os
import socket


class Gone(Exception):
    """The session ended, or its script did not. ``str(error)`` says which."""


class Socket:
    """The client's half of RFC 6455, binary messages only."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def connect(cls, port: int, path: str, window: int = 0) -> "Socket":
        """window: how many bytes the system keeps for a client that does not read; 0 for its own choice."""
        raw = socket.socket()
        raw.setblocking(False)
        if window:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
        await asyncio.get_running_loop().sock_connect(raw, ("127.0.0.1", port))
        reader, writer = await asyncio.open_connection(sock=raw)
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [
            f"GET {path} HTTP/1.1",
            f"Host: 127.0.0.1:{port}",
            f"Origin: http://127.0.0.1:{port}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            f"Sec-WebSocket-Key: {key}",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Protocol: streamlit",
        ]
        writer.write("\r\n".join([*lines, "", ""]).encode())
        answer = await reader.readuntil(b"\r\n\r\n")
        if not answer.startswith(b"HTTP/1.1 101"):
            raise Gone(f"The server refused the websocket: {answer.splitlines()[0].decode()}.")
        return cls(reader, writer)

    def send(self, payload: bytes, opcode: int = 2) -> None:
        n = len(payload)
        size = bytes([0x80 | n]) if n < 126 else b"\xfe" + n.to_bytes(2) if n < 1 << 16 else b"\xff" + n.to_bytes(8)
        mask = os.urandom(4)
        key = int.from_bytes((mask * (n // 4 + 1))[:n])
        self._writer.write(bytes([0x80 | opcode]) + size + mask + (int.from_bytes(payload) ^ key).to_bytes(n))

    async def receive(self) -> bytes:
        """The next message; pings are answered on the way. Raises Gone when there will be none."""
        parts: list[bytes] = []
        while True:
            first, second = await self._reader.readexactly(2)
            size = second & 0x7F
            if size >= 126:
                size = int.from_bytes(await self._reader.readexactly(2 if size == 126 else 8))
            payload = await self._reader.readexactly(size)
            opcode = first & 0x0F
            if opcode == 8:
                raise Gone(f"The server closed the session: code {int.from_bytes(payload[:2])}.")
            if opcode == 9:
                self.send(payload, 10)
            elif opcode in (0, 2):
                parts.append(payload)
                if first & 0x80:
                    return b"".join(parts)

    @property
    def broken(self) -> bool:
        return self._writer.transport.is_closing()

    async def unread(self, seconds: float) -> tuple[int, bool]:
        """How many bytes still come within that time, and whether the server had cut the connection."""
        n = 0
        try:
            async with asyncio.timeout(seconds):
                while part := await self._reader.read(1 << 16):
                    n += len(part)
        except TimeoutError:
            return n, False
        except OSError:
            pass
        return n, True

    async def close(self) -> None:
        with contextlib.suppress(OSError):
            self.send((1000).to_bytes(2), 8)
            self._writer.close()
            await self._writer.wait_closed()

    def abort(self) -> None:
        """Vanish, as a laptop whose lid is shut."""
        self._writer.transport.abort()
