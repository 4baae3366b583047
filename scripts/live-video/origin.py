"""
An origin of live video: low-latency HLS (RFC 8216bis) and low-latency DASH of the same segments, two seconds long, in four parts of five chunks.

  origin.py PORT PLAYERS

It makes a chunk each 100 ms and sends it to each request that is open for its part or segment. A playlist that names a part waits until that part is
whole; a part or segment that is not begun waits too. Each chunk is a fragment of silence, and says when it was made and its number. What is below
/page/ is a site: player.html, and the players hls.js and dash.js from the directory PLAYERS. Each request is a line of its output: time of day in
seconds, and target.
"""
import asyncio
import datetime
import pathlib
import struct
import sys
import time

import fragments

CHUNK_SECONDS = 0.1
CHUNKS_OF_PART = 5
PARTS_OF_SEGMENT = 4
CHUNKS_OF_SEGMENT = CHUNKS_OF_PART * PARTS_OF_SEGMENT
FRAMES_OF_CHUNK = 5
CHUNK = struct.Struct(">8xdq")
STAMP = struct.Struct(">dq")
CHUNK_BYTES = 4096
HERE = pathlib.Path(__file__).parent


class Stream:
    """What was made so far. One event loop."""

    def __init__(self, players):
        self.players = players
        self.chunks = []
        self.changed = asyncio.Condition()
        self.begun = time.time()

    async def make(self):
        begun = time.monotonic()
        while True:
            await asyncio.sleep(begun + (len(self.chunks) + 1) * CHUNK_SECONDS - time.monotonic())
            async with self.changed:
                number = len(self.chunks)
                self.chunks.append(fragments.padded(STAMP.pack(time.time(), number), fragments.fragment(number, FRAMES_OF_CHUNK), CHUNK_BYTES))
                self.changed.notify_all()

    async def until(self, count):
        async with self.changed:
            await self.changed.wait_for(lambda: len(self.chunks) >= count)

    async def answer(self, writer, target):
        path, _, query = target.partition("?")
        name = path.rsplit("/", 1)[-1]
        if name == "playlist.m3u8":
            asked = dict(pair.split("=", 1) for pair in query.split("&") if "=" in pair)
            part = int(asked.get("_HLS_msn", 0)) * PARTS_OF_SEGMENT + int(asked.get("_HLS_part", -1)) + 1
            await self.until(part * CHUNKS_OF_PART)
            self.send_whole(writer, "application/vnd.apple.mpegurl", f"max-age={6 if '_HLS_msn' in asked else 1}", self.playlist())
        elif name == "manifest.mpd":
            manifest = (HERE / name).read_text().replace("@BEGUN@", time_of_day(self.begun))
            self.send_whole(writer, "application/dash+xml", "max-age=1", manifest)
        elif name == "clock":
            self.send_whole(writer, "text/plain", "no-store", time_of_day(time.time()))
        elif name == "init.mp4":
            self.send_whole(writer, "audio/mp4", "max-age=3600", fragments.initialisation())
        elif name == "player.html":
            self.send_whole(writer, "text/html", "no-store", (HERE / name).read_text())
        elif name in ("hls.js", "dash.js"):
            self.send_whole(writer, "text/javascript", "no-store", (self.players / name).read_bytes())
        elif name == "seen":
            writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        elif name.startswith("part-"):
            await self.send_chunks(writer, int(name[5:-4]) * CHUNKS_OF_PART, CHUNKS_OF_PART)
        elif name.startswith("segment-"):
            await self.send_chunks(writer, int(name[8:-4]) * CHUNKS_OF_SEGMENT, CHUNKS_OF_SEGMENT)
        else:
            writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")

    def playlist(self):
        parts = len(self.chunks) // CHUNKS_OF_PART
        lines = ["#EXTM3U", "#EXT-X-VERSION:9", "#EXT-X-TARGETDURATION:2", "#EXT-X-PART-INF:PART-TARGET=0.5"]
        lines += ["#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=1.5", '#EXT-X-MAP:URI="init.mp4"']
        first = max(0, parts // PARTS_OF_SEGMENT - 3)
        lines.append(f"#EXT-X-MEDIA-SEQUENCE:{first}")
        lines.append(f"#EXT-X-PROGRAM-DATE-TIME:{time_of_day(self.begun + first * CHUNKS_OF_SEGMENT * CHUNK_SECONDS)}")
        for part in range(first * PARTS_OF_SEGMENT, parts):
            lines.append(f'#EXT-X-PART:DURATION=0.5,URI="part-{part}.m4s"')
            if part % PARTS_OF_SEGMENT == PARTS_OF_SEGMENT - 1:
                lines += ["#EXTINF:2,", f"segment-{part // PARTS_OF_SEGMENT}.m4s"]
        lines.append(f'#EXT-X-PRELOAD-HINT:TYPE=PART,URI="part-{parts}.m4s"')
        return "\n".join(lines) + "\n"

    @staticmethod
    def send_whole(writer, media_type, cache_control, body):
        content = body if isinstance(body, bytes) else body.encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\nCache-Control: {cache_control}\r\nContent-Length: {len(content)}\r\n\r\n"
        writer.write(head.encode() + content)

    async def send_chunks(self, writer, first, count):
        """The head only when the first chunk is there: who asked too early waits."""
        await self.until(first + 1)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: audio/mp4\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n")
        for number in range(first, first + count):
            await self.until(number + 1)
            writer.write(b"%x\r\n%b\r\n" % (CHUNK_BYTES, self.chunks[number]))
            await writer.drain()
        writer.write(b"0\r\n\r\n")


def time_of_day(seconds):
    """By ISO 8601, in UTC."""
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).isoformat(timespec="microseconds").replace("+00:00", "Z")


async def serve(port, players):
    stream = Stream(players)

    async def on_connection(reader, writer):
        try:
            while True:
                target = (await reader.readuntil(b"\r\n\r\n")).split(b" ")[1].decode()
                print(f"{time.time():.3f} {target}", flush=True)
                await stream.answer(writer, target)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    await asyncio.start_server(on_connection, "127.0.0.1", port)
    await stream.make()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), pathlib.Path(sys.argv[2])))
