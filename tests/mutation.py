"""Random changes of files, and a limit on the time that reading one may take."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager

PIECES: tuple[bytes, ...] = (
    *(bytes([byte]) for byte in range(256)),
    *(b"{", b"}", b"(", b")", b"[", b"]", b"|", b",", b";", b'"', b"<", b">", b"&", b"\n", b" ", b"=") * 6,
    *(b"network", b"variable", b"probability", b"type discrete [ 2 ]", b"table", b"default", b"property", b"(low)"),
    *(b"net", b"node ", b"states = ", b"data = ", b"potential", b"class", b"continuous", b"utility", b"model_data = ("),
    *(
        b"<VARIABLE>",
        b"</VARIABLE>",
        b"<TABLE>",
        b"<FOR>",
        b"<GIVEN>",
        b"<!ENTITY a 'b'>",
        b"&a;",
        b"<![CDATA[",
        b"]]>",
    ),
    *(b"<!--", b"-->", b"<?xml", b"SYSTEM 'file:///etc/passwd'", b"<!DOCTYPE a [", b"/*", b"*/", b"//", b"%"),
    *(b"income", b"sat", b"height", b"low", b"high", b"weak", b"tall", b"INCOME"),
    *(b"0", b"1", b"-1", b"nan", b"inf", b"1e400", b"1e-400", b"0.3333333", b"999999999", b"9" * 5000, b".", b"1_0"),
    *(b"\xff\xfe", b"\xef\xbb\xbf", b"\xc3\xa9", b"\xe2\x80\xa8", b"\x80\x04\x95", b"\x1f\x8b", b"\r\n", b"\x00"),
)


class Hang(BaseException):
    """A file took too long; nothing of ours catches it."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """End with `Hang` after so many seconds of the processor: a busy machine is no hang."""

    def stop(*_: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def span(rng: random.Random, content: bytes) -> tuple[int, int]:
    """Return the ends of a piece, most often a short one."""
    start = rng.randrange(len(content) + 1)
    return start, min(len(content), start + rng.choice((1, 2, 5, 10, 50, 200)))


def mutate(rng: random.Random, content: bytes) -> bytes:
    """Change one thing."""
    a, b = span(rng, content)
    c, d = span(rng, content)
    piece = rng.choice(PIECES)
    match rng.randrange(9):
        case 0:
            return content[:a] + content[b:]
        case 1:
            return content[:a] + piece + content[a:]
        case 2:
            return content[:a] + piece + content[b:]
        case 3:
            return content[:a] + content[c:d] + content[a:]
        case 4:
            return content[:a] + content[c:d] + content[b:]
        case 5:
            return content[:a] if rng.random() < 0.5 else content[a:]
        case 6:
            return content[:b] + content[a:b] * rng.choice((1, 2, 100)) + content[b:]
        case 7:
            lines = content.splitlines(keepends=True)
            rng.shuffle(lines)
            return b"".join(lines)
        case _:
            words = content.split(b" ")
            i, j = rng.randrange(len(words)), rng.randrange(len(words))
            words[i], words[j] = words[j], words[i]
            return b" ".join(words)
