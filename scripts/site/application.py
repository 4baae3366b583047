"""The application behind one of the sites of scripts/site.py: says what has reached it, streams events, echoes a WebSocket."""
import base64
import hashlib
import http.server
import json
import queue
import struct
import threading
import time

# What the page browser.html has sent.
results = queue.SimpleQueue()

EVENTS = 3
PAUSE_SECONDS = 0.3
_KEY_SUFFIX = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455 1.3


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path = self.path.split("?")[0]
        if path == "/app/events":
            self.stream_events()
        elif path == "/app/socket":
            self.echo_frames()
        elif path == "/app/login":
            self.answer(b"in\n", ("Set-Cookie", "id=1; Path=/; HttpOnly"), ("Set-Cookie", "lang=de; Path=/"))
        elif path == "/app/result":
            results.put(json.loads(self.read_body()))
            self.answer(b"")
        else:
            self.say_request()

    do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = do_OPTIONS = do_GET

    def say_request(self):
        """What the client has sent, as far as a proxy must not change it."""
        body = self.read_body()
        names = ("Host", "Cookie", "Content-Type", "Authorization", "X-Own")
        said = {name: self.headers.get_all(name) for name in names}
        said |= {"method": self.command, "target": self.path, "bytes": len(body), "sha256": hashlib.sha256(body).hexdigest()}
        self.answer(json.dumps(said).encode() + b"\n", ("Content-Type", "application/json"), ("Cache-Control", "no-store"))

    def answer(self, body, *fields):
        self.send_response(200)
        for name, value in fields:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def read_body(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def stream_events(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number in range(EVENTS):
            event = f"data: {number}\n\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
            time.sleep(PAUSE_SECONDS)
        self.wfile.write(b"0\r\n\r\n")

    def echo_frames(self):
        """RFC 6455, as far as small frames need it: sends back what comes, until a frame says that it is the end."""
        if self.headers.get("Upgrade", "").lower() != "websocket":
            self.send_error(426)
            return
        key = hashlib.sha1((self.headers["Sec-WebSocket-Key"] + _KEY_SUFFIX).encode()).digest()
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(key).decode())
        self.end_headers()
        self.close_connection = True
        while head := self.rfile.read(2):
            length = head[1] & 0x7F
            if length == 126:
                (length,) = struct.unpack(">H", self.rfile.read(2))
            mask = self.rfile.read(4)
            body = bytes(byte ^ mask[index % 4] for index, byte in enumerate(self.rfile.read(length)))
            size = bytes([length]) if length < 126 else b"\x7e" + struct.pack(">H", length)
            self.wfile.write(head[:1] + size + body)
            if head[0] & 0x0F == 8:
                return

    def log_message(self, *_):
        pass


def start():
    """Serves on a free port of loopback until the program ends; returns the port."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]
