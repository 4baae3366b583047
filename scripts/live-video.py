#!/usr/bin/env python3
"""Live video behind the caching service: 200 players and one origin.

  scripts/live-video.py [--players N] [--seconds S] [--no-build]
  scripts/live-video.py --page         only names the address of a page that plays the stream, until it is interrupted

The service is started with samples/CachingService/Deploy/live-video.json, in front of scripts/live-video/origin.py: low-latency HLS with playlists that
wait, and low-latency DASH, of segments that are sent while they are made. First Chromium opens scripts/live-video/player.html, a page of another site,
where hls.js and dash.js each have to play five seconds without a stall. Then come players of the script. Half of these are of each kind; they join one after the other, and
each has a cookie and a query parameter of its own. Checks that each player gets every chunk in its place, and that the origin is asked for each
playlist, part and segment once, and for what is good for a second once in each second (Date counts in whole ones). Tells how long after it was made
each chunk came, and how long to players that ask the origin itself. Prints one line per check and ends with "N passed, N failed".

Needs the .NET SDK, node, npm and Chromium; as root on Debian it installs all but the first. The two players are fetched into a temporary directory
that is removed. Everything listens on loopback, on free ports. The load runs beside the service on the same cores, and its own delays count.
"""
import argparse
import asyncio
import collections
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.parse

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "scripts/live-video"))
import origin  # noqa: E402
from manifest import Manifest, time_of_day  # noqa: E402

SERVICE = REPOSITORY / "samples/CachingService/bin/Release/net10.0/CachingService.dll"
RECIPE = REPOSITORY / "samples/CachingService/Deploy/live-video.json"
PLAYERS = {"hls": ("hls.js", "1.7.4", "dist/hls.min.js"), "dash": ("dashjs", "5.2.1", "dist/modern/umd/dash.all.min.js")}
PATIENCE_SECONDS = 30
LIVE, DIRECT = "/live/", "/direct/"
DIRECT_PLAYERS = 4
JOIN_SECONDS = 4
MADE_BEFORE_SECONDS = 3


class Connection:
    """One connection of one player."""

    def __init__(self, player, reader, writer):
        self.player, self.reader, self.writer = player, reader, writer

    async def ask(self, target):
        """Sends a request, and returns the fields of the answer."""
        mark = "&" if "?" in target else "?"
        player = self.player
        request = f"GET {player.path}{target}{mark}session={player.number} HTTP/1.1\r\nHost: video.test\r\nOrigin: https://player.test\r\nCookie: id={player.number}\r\n\r\n"
        self.writer.write(request.encode())
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        fields = dict(line.lower().split(": ", 1) for line in lines[1:] if line)
        if " 200 " not in lines[0] or (player.path == LIVE and fields.get("access-control-allow-origin") != "*"):
            raise ValueError(f"{target}: {lines[0]} {fields}")
        return fields

    async def read_text(self, target):
        fields = await self.ask(target)
        return (await self.reader.readexactly(int(fields["content-length"]))).decode()

    async def read_chunks(self, target):
        """Yields the chunks of a part or segment as they come. HTTP may have them in other pieces."""
        fields, buffer = await self.ask(target), b""
        left = int(fields["content-length"]) if "content-length" in fields else None
        while left != 0:
            size = int((await self.reader.readuntil(b"\r\n")), 16) if left is None else min(left, origin.CHUNK_BYTES)
            buffer += await self.reader.readexactly(size)
            if left is None:
                await self.reader.readexactly(2)
                left = 0 if size == 0 else None
            else:
                left -= size
            while len(buffer) >= origin.CHUNK_BYTES:
                yield origin.CHUNK.unpack_from(buffer)
                buffer = buffer[origin.CHUNK_BYTES :]


class Player:
    """Plays until it is told to stop. `waits` has the seconds from the making of a chunk to its coming, of those that it waited for."""

    def __init__(self, port, path, number):
        self.port, self.path, self.number, self.waits, self.next = port, path, number, [], None

    async def play(self, until):
        await (self.play_hls(until) if self.number % 2 else self.play_dash(until))

    async def play_hls(self, until):
        media, lists = await self.connect(), await self.connect()
        part = int(re.search(r'HINT:TYPE=PART,URI="part-(\d+)', await lists.read_text("playlist.m3u8"))[1])
        while time.monotonic() < until:
            sequence, index = divmod(part, origin.PARTS_OF_SEGMENT)
            playlist, _ = await asyncio.gather(
                lists.read_text(f"playlist.m3u8?_HLS_msn={sequence}&_HLS_part={index}"), self.take(media, f"part-{part}.m4s"))
            if f'"part-{part}.m4s"' not in playlist:
                raise ValueError(f"the playlist came before part {part}")
            part += 1

    async def play_dash(self, until):
        media, lists = await self.connect(), await self.connect()
        manifest = Manifest(await lists.read_text("manifest.mpd"))
        asked = time.time()
        clock = time_of_day(await lists.read_text(manifest.clock))
        if clock < asked:
            raise ValueError(f"the clock was read {asked - clock:.3f} s before it was asked for")
        ahead = clock - (asked + time.time()) / 2
        segment = manifest.newest(time.time() + ahead)
        while time.monotonic() < until:
            text, _ = await asyncio.gather(lists.read_text("manifest.mpd"), self.take(media, manifest.name(segment)))
            manifest = Manifest(text)
            segment += 1
            await asyncio.sleep(manifest.available(segment) - time.time() - ahead)

    async def connect(self):
        return Connection(self, *await asyncio.open_connection("127.0.0.1", self.port))

    async def take(self, connection, target):
        asked = time.time()
        async for made, number in connection.read_chunks(target):
            if self.next not in (None, number):
                raise ValueError(f"chunk {number} in the place of {self.next}")
            self.next = number + 1
            if made > asked:
                self.waits.append(time.time() - made)


class Checks:
    def __init__(self):
        self.passed = self.failed = 0

    def check(self, name, is_right, seen):
        print(f"{'ok    ' if is_right else 'FAILED'} {name}: {seen}", flush=True)
        self.passed += is_right
        self.failed += not is_right


async def watch(ports, count, seconds):
    """Has players join over some seconds and play, a few of them at the origin; returns them with what they failed by."""
    players = [Player(ports[1], LIVE, number) for number in range(count)] + [Player(ports[0], DIRECT, number) for number in range(DIRECT_PLAYERS)]
    until = time.monotonic() + seconds

    async def join(player):
        await asyncio.sleep(JOIN_SECONDS * player.number / count)
        await asyncio.wait_for(player.play(until), seconds + PATIENCE_SECONDS)

    return players, await asyncio.gather(*map(join, players), return_exceptions=True)


def fetch_players(work):
    packages = [f"{package}@{version}" for package, version, _ in PLAYERS.values()]
    subprocess.run(["npm", "pack", "--silent", *packages], cwd=work, stdout=subprocess.DEVNULL, check=True)
    for name, (package, version, path) in PLAYERS.items():
        with tarfile.open(work / f"{package}-{version}.tgz") as archive:
            (work / f"{name}.js").write_bytes(archive.extractfile(f"package/{path}").read())


def page(ports):
    return f"http://127.0.0.1:{ports[0]}/page/player.html#http://127.0.0.1:{ports[1]}{LIVE}"


def play_in_browser(work, ports):
    """Returns the browser, whose page tells the origin by requests what it has seen."""
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
               "--autoplay-policy=no-user-gesture-required", "--remote-debugging-port=0", f"--user-data-dir={work}/browser"]
    return subprocess.Popen(["chromium", *options, page(ports)], stdout=subprocess.DEVNULL, stderr=open(work / "browser.log", "w"))


def check_browser(checks, log):
    deadline = time.monotonic() + PATIENCE_SECONDS
    while len(played := {report["player"]: report for report in reports(log) if "played" in report}) < len(PLAYERS) and time.monotonic() < deadline:
        time.sleep(0.1)
    for name, (package, version, _) in PLAYERS.items():
        report = played.get(name)
        seen = report and f"{report['played']} s after {report['stalls']} stalls, {report['late']} s behind the making"
        checks.check(f"{package} {version} plays it in Chromium", report is not None, seen or f"{reports(log)} {log.with_name('browser.log').read_text()[-500:]}")


def reports(log):
    return [dict(urllib.parse.parse_qsl(query)) for query in re.findall(r"/page/seen\?(\S+)", log.read_text())]


def end(program):
    program.terminate()
    return program.wait(timeout=PATIENCE_SECONDS)


def resource(target):
    """The target without the query parameters that say who asks."""
    return re.sub(r"[?&](?!_HLS_)[^&]*", "", target)


def judge(checks, players, ends, requests, began, seconds):
    failures = [end for end in ends if end is not None]
    chunks = sum(len(player.waits) for player in players)
    checks.check("each player gets every chunk in its place", not failures and chunks > 0, f"{len(players)} players, {chunks} chunks live; {failures[:2]}")
    targets = collections.Counter(target for _, target in requests)
    clock, fleeting = "/live/clock", {"/live/playlist.m3u8", "/live/manifest.mpd"}
    again = {target: times for target, times in targets.items() if times > 1 and target not in {clock, *fleeting}}
    checks.check("the origin is asked for each part, segment and waiting playlist once", not again, f"{len(targets)} targets, again {again}")
    for target in sorted(fleeting):
        times = [when for when, name in requests if name == target]
        most = max(collections.Counter(map(int, times)).values())
        checks.check(f"{target} is asked for once in a second of the clock", most == 1, f"{len(times)} requests, at most {most} in one second")
    dash_players = sum(player.path == LIVE and player.number % 2 == 0 for player in players)
    checks.check("the clock is read for each player of DASH anew", targets[clock] > dash_players, f"{targets[clock]} requests")
    for path, title in ((LIVE, "the service"), (DIRECT, "the origin itself")):
        waits = sorted(wait for player in players if player.path == path for wait in player.waits)
        figures = ", ".join(f"p{share:g} {waits[int(len(waits) * share / 100)] * 1000:.1f}" for share in (50, 99, 99.9))
        print(f"       from its making to players of {title}, ms: {figures}, worst {waits[-1] * 1000:.1f}")
    print(f"       requests at the origin: {sum(when >= began for when, _ in requests) / seconds:.1f} a second")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--players", type=int, default=200, help="default 200")
    parser.add_argument("--seconds", type=int, default=15, help="of play (default 15)")
    parser.add_argument("--page", action="store_true", help="wait for your browser in place of players")
    parser.add_argument("--no-build", action="store_true", help="take the service as it was built")
    arguments = parser.parse_args()
    subprocess.run([REPOSITORY / "scripts/require-tools.sh", "node", "npm", *([] if arguments.page else ["chromium"])], check=True)
    if not arguments.no_build:
        subprocess.run(["dotnet", "build", SERVICE.parents[3], "--configuration", "Release", "--nologo", "--verbosity", "quiet"], check=True)
    checks = Checks()
    with tempfile.TemporaryDirectory() as directory:
        work, ports = pathlib.Path(directory), [free_port(), free_port()]
        options = [f"--Settings={RECIPE}", f"--Cache:Origin=http://127.0.0.1:{ports[0]}", f"--Urls=http://127.0.0.1:{ports[1]}", "--Admin:Url="]
        fetch_players(work)
        commands = ([sys.executable, origin.__file__, str(ports[0]), work], ["dotnet", SERVICE, *options])
        programs = [subprocess.Popen(command, stdout=open(work / str(number), "w")) for number, command in enumerate(commands)]
        try:
            for port in ports:
                wait_for(port)
            if arguments.page:
                ends = {signal.SIGINT, signal.SIGTERM}
                signal.pthread_sigmask(signal.SIG_BLOCK, ends)
                print(f"{page(ports)}    (Ctrl-C ends it)", flush=True)
                signal.sigwait(ends)
                return 0
            time.sleep(MADE_BEFORE_SECONDS)
            programs.append(play_in_browser(work, ports))
            check_browser(checks, work / "0")
            end(programs.pop())  # Its own work would delay the players of the script.
            began = time.time()
            players, ends = asyncio.run(watch(ports, arguments.players, arguments.seconds))
        finally:
            codes = [end(program) for program in reversed(programs)]
        checks.check("the service ends in order", codes[0] == 0, f"status {codes[0]}")
        requests = [(float(line.split(" ")[0]), resource(line.split(" ")[1])) for line in (work / "0").read_text().splitlines() if f" {LIVE}" in line]
        judge(checks, players, ends, requests, began, arguments.seconds)
    print(f"{checks.passed} passed, {checks.failed} failed")
    return 1 if checks.failed else 0


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def wait_for(port):
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


if __name__ == "__main__":
    sys.exit(main())
