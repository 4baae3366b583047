"""Clients that know for certain whether a request failed: each gets a whole response, or it is a failure.

A connection that the server closes is no failure by itself. HTTP/1.1: after a response with `Connection: close`, or while no request is on
its way. HTTP/2: after GOAWAY, which names the last stream that the server handles; requests on later streams were not handled, and are
made again on a new connection (RFC 9113, section 6.8).
"""
import collections
import contextlib
import select
import socket
import ssl
import struct
import threading
import time

PATIENCE_SECONDS = 30


class Failure(Exception):
    """A request got no whole response, or another one than expected."""


class Tally:
    """What a kind of client has seen. Each client of it adds under the lock."""

    def __init__(self, name):
        self.name = name
        self._lock = threading.Lock()
        self.counts = collections.Counter()
        self.failures = []
        self.longest = 0.0

    def add(self, what):
        with self._lock:
            self.counts[what] += 1

    def whole(self, seconds):
        with self._lock:
            self.counts["whole"] += 1
            self.longest = max(self.longest, seconds)

    def failed(self, reason):
        with self._lock:
            self.counts["failed"] += 1
            self.failures.append(reason)

    def __str__(self):
        counts = ", ".join(f"{count} {what}" for what, count in sorted(self.counts.items()))
        return f"{counts}; longest {self.longest * 1000:.0f} ms"


class Target:
    """Where clients ask for what, and what they must get."""

    def __init__(self, port, path, body_bytes, is_tls):
        # A port of 127.0.0.1, or the path of a Unix socket.
        self.port, self.path, self.body_bytes, self.is_tls = port, path, body_bytes, is_tls

    def connect(self, protocol):
        if isinstance(self.port, int):
            opened = socket.create_connection(("127.0.0.1", self.port), PATIENCE_SECONDS)
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        else:
            opened = socket.socket(socket.AF_UNIX)
            opened.settimeout(PATIENCE_SECONDS)
            opened.connect(self.port)
        if not self.is_tls:
            return opened
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.set_alpn_protocols([protocol])
        return context.wrap_socket(opened, server_hostname="localhost")


class Client(threading.Thread):
    """Asks until it is stopped. A failure is counted, and the next request comes on a new connection."""

    def __init__(self, target, tally):
        super().__init__(daemon=True)
        self.target, self.tally = target, tally
        self.connection = None
        self.stopping = threading.Event()

    def run(self):
        while not self.stopping.is_set():
            try:
                self.ask()
            except (OSError, Failure, ValueError) as failure:
                self.tally.failed(f"{type(failure).__name__}: {failure}")
                self.close()
                time.sleep(0.01)
        self.close()

    def close(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None


class Http1Client(Client):
    """One request after another on a connection, or each on its own, or with a pause before each as in a pool of connections."""

    def __init__(self, target, tally, keeps=True, pause=0.0):
        super().__init__(target, tally)
        self.keeps, self.pause = keeps, pause

    def ask(self):
        if self.pause:
            self.stopping.wait(self.pause)
            if self.connection is not None and select.select([self.connection], [], [], 0)[0]:
                # Between requests, and seen before the next is sent: as every pool of connections looks.
                self.tally.add("closed while idle")
                self.close()
        begun = time.monotonic()
        if self.connection is None:
            self.connection = self.target.connect("http/1.1")
        close = "" if self.keeps else "Connection: close\r\n"
        self.connection.sendall(f"GET {self.target.path} HTTP/1.1\r\nHost: localhost\r\n{close}\r\n".encode())
        head = self.read_response()
        self.tally.whole(time.monotonic() - begun)
        if b"\r\nconnection: close" in head.lower():
            if self.keeps:
                self.tally.add("announced closes")
            self.close()

    def read_response(self):
        received = b""
        while b"\r\n\r\n" not in received:
            received += self.receive(received)
        head, _, body = received.partition(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200 "):
            raise Failure(head.decode("latin-1").replace("\r\n", "; "))
        while len(body) < self.target.body_bytes:
            body += self.receive(body)
        if len(body) != self.target.body_bytes:
            raise Failure(f"{len(body)} bytes of body instead of {self.target.body_bytes}")
        return head

    def receive(self, so_far):
        piece = self.connection.recv(65536)
        if not piece:
            raise Failure(f"closed after {len(so_far)} bytes")
        return piece


class Http2Client(Client):
    """Some streams at a time on one connection over TLS."""

    DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
    END_STREAM, ACK, END_HEADERS = 1, 1, 4
    REFUSED_STREAM = 7
    LARGEST_WINDOW = 2**31 - 1

    def __init__(self, target, tally, streams):
        super().__init__(target, tally)
        self.streams = streams
        self.open = {}
        self.received = b""
        self.last_handled = None
        self.next_stream = 1

    def ask(self):
        if self.connection is None:
            self.begin()
        while self.last_handled is None and len(self.open) < self.streams:
            self.open[self.next_stream] = [time.monotonic(), 0]
            fields = b"\x82\x87" + self.literal(4, self.target.path) + self.literal(1, "localhost")
            self.send(self.HEADERS, self.END_STREAM | self.END_HEADERS, self.next_stream, fields)
            self.next_stream += 2
        if self.open:
            self.handle(*self.read_frame())
        else:
            # It has announced that it handles no more, and all before that is done.
            self.close()

    def begin(self):
        self.connection = self.target.connect("h2")
        self.open, self.received, self.last_handled, self.next_stream = {}, b"", None, 1
        self.connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        self.send(self.SETTINGS, 0, 0, struct.pack(">HI", 4, self.LARGEST_WINDOW))
        self.send(self.WINDOW_UPDATE, 0, 0, struct.pack(">I", self.LARGEST_WINDOW - 65535))

    @staticmethod
    def literal(name, text):
        return bytes([name, len(text)]) + text.encode()

    def send(self, kind, flags, stream, payload):
        # If the server has closed the connection, what it has sent before is still to be read, GOAWAY above all, which says what it has not handled.
        with contextlib.suppress(OSError):
            self.connection.sendall(struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload)

    def read_frame(self):
        length, kind, flags, stream = struct.unpack(">IBBI", b"\0" + self.take(9))
        return kind, flags, stream, self.take(length)

    def take(self, count):
        while len(self.received) < count:
            piece = self.connection.recv(65536)
            if not piece:
                self.ended()
            self.received += piece
        taken, self.received = self.received[:count], self.received[count:]
        return taken

    def ended(self):
        """The connection is over while streams are open: those that the server was to handle have failed."""
        lost = [stream for stream in self.open if self.last_handled is None or stream <= self.last_handled]
        for _ in lost[1:]:
            self.tally.failed("closed without an answer to a stream")
        self.open = {}
        raise Failure(f"closed without an answer to a stream; last handled: {self.last_handled}, open: {lost[:1]}")

    def handle(self, kind, flags, stream, payload):
        if kind == self.GOAWAY:
            self.last_handled, error = struct.unpack(">II", payload[:8])
            if error != 0:
                raise Failure(f"GOAWAY with error {error}")
            self.tally.add("GOAWAY frames")
            for later in [number for number in self.open if number > self.last_handled]:
                del self.open[later]
                self.tally.add("not handled and made again")
        elif kind == self.RST_STREAM:
            if struct.unpack(">I", payload)[0] != self.REFUSED_STREAM:
                raise Failure(f"stream reset with error {struct.unpack('>I', payload)[0]}")
            self.open.pop(stream, None)
            self.tally.add("not handled and made again")
        elif kind == self.SETTINGS and not flags & self.ACK:
            self.send(self.SETTINGS, self.ACK, 0, b"")
        elif kind == self.PING and not flags & self.ACK:
            self.send(self.PING, self.ACK, 0, payload)
        elif kind in (self.HEADERS, self.DATA) and stream in self.open:
            self.answer(kind, flags, stream, payload)

    def answer(self, kind, flags, stream, payload):
        if kind == self.HEADERS:
            # Fields may begin with a new size of the table; 0x88 is ":status: 200" of the static one.
            fields = payload.lstrip(bytes(range(0x20, 0x40)))
            if not fields.startswith(b"\x88"):
                raise Failure(f"another status than 200: {fields[:8].hex()}")
        else:
            self.open[stream][1] += len(payload)
        if flags & self.END_STREAM:
            begun, body_bytes = self.open.pop(stream)
            if body_bytes != self.target.body_bytes:
                raise Failure(f"{body_bytes} bytes of body instead of {self.target.body_bytes}")
            self.tally.whole(time.monotonic() - begun)
