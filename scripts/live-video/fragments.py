"""Fragmented MP4 (ISO 14496-12) of silence in Opus, as small as a browser plays it: an initialisation, and fragments of 20 ms frames."""
import struct

CLOCK = 48_000
FRAME_TICKS = 960
SILENCE = b"\xf8\xff\xfe"
UNITY_MATRIX = struct.pack(">9I", 0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)


def box(name, *content):
    body = b"".join(content)
    return struct.pack(">I4s", 8 + len(body), name.encode()) + body


def full(name, flags, *content, version=0):
    return box(name, struct.pack(">I", version << 24 | flags), *content)


def initialisation():
    opus = box("dOps", struct.pack(">BBHIhB", 0, 1, 0, CLOCK, 0, 0))
    entry = box("Opus", struct.pack(">6xH8xHHHHI", 1, 1, 16, 0, 0, CLOCK << 16), opus)
    table = box(
        "stbl", full("stsd", 0, struct.pack(">I", 1), entry), full("stts", 0, bytes(4)), full("stsc", 0, bytes(4)), full("stsz", 0, bytes(8)),
        full("stco", 0, bytes(4)))
    data = box("dinf", full("dref", 0, struct.pack(">I", 1), full("url ", 1)))
    media = box(
        "mdia", full("mdhd", 0, struct.pack(">IIIIHH", 0, 0, CLOCK, 0, 0x55C4, 0)), full("hdlr", 0, bytes(4), b"soun", bytes(12), b"\0"),
        box("minf", full("smhd", 0, bytes(4)), data, table))
    track = box("trak", full("tkhd", 3, struct.pack(">IIIII8xhhhH", 0, 0, 1, 0, 0, 0, 0, 0x100, 0), UNITY_MATRIX, bytes(8)), media)
    movie = full("mvhd", 0, struct.pack(">IIIIIH10x", 0, 0, CLOCK, 0, 0x10000, 0x100), UNITY_MATRIX, bytes(24), struct.pack(">I", 2))
    extends = box("mvex", full("trex", 0, struct.pack(">IIIII", 1, 1, FRAME_TICKS, len(SILENCE), 0)))
    return box("ftyp", b"iso6", bytes(4), b"iso6cmfc") + box("moov", movie, track, extends)


def fragment(number, frames):
    """Frames from NUMBER times FRAMES on."""

    def moof(offset):
        run = full("trun", 1, struct.pack(">Ii", frames, offset))
        times = full("tfdt", 0, struct.pack(">Q", number * frames * FRAME_TICKS), version=1)
        return box("moof", full("mfhd", 0, struct.pack(">I", number + 1)), box("traf", full("tfhd", 0x20000, struct.pack(">I", 1)), times, run))

    return moof(len(moof(0)) + 8) + box("mdat", SILENCE * frames)


def padded(prefix, fragment_bytes, size):
    """A box with what is no media, the fragment, and a box that fills it up."""
    content = box("free", prefix) + fragment_bytes
    return content + box("free", bytes(size - len(content) - 8))
