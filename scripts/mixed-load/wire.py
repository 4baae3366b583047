"""One connection to the service, read with as little work as possible: most of the machine is for the service."""

from __future__ import annotations

import errno
import socket
import struct
from dataclasses import dataclass

RESET = struct.pack("ii", 1, 0)
RECEIVE_BYTES = 1 << 18
TIMEOUT_SECONDS = 60


class Cut(Exception):
    """The answer ends before its end; has what there was of the body."""

    def __init__(self, body: bytes) -> None:
        super().__init__(f"cut after {len(body)} bytes")
        self.body = body


@dataclass
class Answer:
    status: int
    fields: dict[str, str]
    body: bytes = b""


class Wire:
    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), TIMEOUT_SECONDS)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = memoryview(bytearray(RECEIVE_BYTES))
        self._received = bytearray()

    def send(self, method: str, path: str, fields: dict[str, str]) -> None:
        lines = [f"{method} {path} HTTP/1.1", "Host: localhost", *(f"{name}: {value}" for name, value in fields.items())]
        self._socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())

    def read_head(self) -> Answer:
        while (end := self._received.find(b"\r\n\r\n")) < 0:
            self._receive()
        first, *lines = self._received[:end].decode("latin-1").split("\r\n")
        del self._received[:end + 4]
        fields = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in lines)}
        return Answer(int(first.split(" ")[1]), fields)

    def read_body(self, method: str, answer: Answer) -> None:
        if method == "HEAD" or answer.status == 304:
            return
        if "content-length" in answer.fields:
            answer.body = self._read(int(answer.fields["content-length"]))
            return
        pieces: list[bytes] = []
        try:
            while size := int(self._read_line(), 16):
                pieces.append(self._read(size))
                self._read(2)
            self._read(2)
        except Cut as cut:
            raise Cut(b"".join(pieces) + cut.body.removesuffix(b"\r")) from cut
        answer.body = b"".join(pieces)

    def read_some(self, most: int) -> None:
        """Reads no further than that, and waits for no more than one byte."""
        if len(self._received) == 0 and most > 0:
            self._receive(most)

    def finish_sending(self) -> None:
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError as failure:
            # The service has answered and reset already.
            if failure.errno != errno.ENOTCONN:
                raise

    def reset(self) -> None:
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self._socket.close()

    def close(self) -> None:
        self._socket.close()

    def _read(self, count: int) -> bytes:
        while len(self._received) < count:
            try:
                self._receive(count - len(self._received))
            except ConnectionError as end:
                raise Cut(bytes(self._received)) from end
        data = bytes(memoryview(self._received)[:count])
        del self._received[:count]
        return data

    def _read_line(self) -> bytes:
        while (end := self._received.find(b"\r\n")) < 0:
            try:
                self._receive()
            except ConnectionError as failure:
                raise Cut(b"") from failure
        line = bytes(self._received[:end])
        del self._received[:end + 2]
        return line

    def _receive(self, most: int = RECEIVE_BYTES) -> None:
        count = self._socket.recv_into(self._buffer[:most])
        if count == 0:
            raise ConnectionResetError("the service has closed")
        self._received += self._buffer[:count]
