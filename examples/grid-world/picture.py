"""Pictures of a grid: a sprite of 8 by 8 pixels for each sign, enlarged, written as PNG with the standard library."""

import struct
import zlib
from collections.abc import Sequence

SCALE = 4  # pixels on the picture for a pixel of a sprite
COLOURS = {
    ".": "1b1d2b",  # floor
    ",": "262a3d",
    "#": "5b6078",  # bricks
    "=": "3a3f58",
    "y": "f9e2af",  # the player
    "o": "e5b567",
    "x": "11111b",
    "k": "ffd75f",  # gold
    "b": "8a5a3c",  # wood
    "d": "5f3b26",
    "r": "d9453d",  # lava
    "f": "ff8c42",
    "g": "7bd88f",  # the flag
    "w": "dfe3f5",
}
SPRITES = {
    ".": ",....... ........ ........ ........ ........ ........ ........ ........",
    "#": "######=# ######=# ======== ##=##### ##=##### ======== ######=# ========",
    "@": "..yyyy.. .yyyyyy. yyxyyxyy yyxyyxyy yyyyyyyo yxyyyyxo .yxxxxo. ..oooo..",
    "&": "k.k..k.k kkkkkkkk yyxyyxyy yyxyyxyy yyyyyyyo yxyyyyxo .yxxxxo. ..oooo..",
    "k": "........ .kkk.... kk.kk... k...kkkk kk.kk.k. .kkk..k. ........ ........",
    "D": "dddddddd dbbdbbbd dbbdbbbd dbbdbbbd dbbdbkkd dbbdbkkd dbbdbbbd dbbdbbbd",
    "~": "rrrrrrrr rffrrrff frrffffr rrrrrrrr ffrrrffr rrffffrr rrrrrrrr rffrrffr",
    "G": "..wggg.. ..wggggg ..wgggg. ..wgg... ..w..... ..w..... ..w..... .wwww...",
}


INDEX = {sign: bytes([index]) * SCALE for index, sign in enumerate(COLOURS)}
LINES = {
    sign: [b"".join(INDEX[pixel] for pixel in line) for line in sprite.split()] for sign, sprite in SPRITES.items()
}


def draw(rows: Sequence[str]) -> bytes:
    """Return rows of equally many signs as a PNG file; `&` is the player who carries the key."""
    lines: list[bytes] = []
    for row in rows:
        for y in range(8):
            lines += [b"".join(LINES[sign][y] for sign in row)] * SCALE
    return png(lines, [bytes.fromhex(colour) for colour in COLOURS.values()])


def png(lines: Sequence[bytes], palette: Sequence[bytes]) -> bytes:
    """Return a PNG file of lines of pixels, each an index into the palette of RGB colours (RFC 2083)."""
    header = struct.pack(">IIBBBBB", len(lines[0]), len(lines), 8, 3, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + line for line in lines))
    chunks = ((b"IHDR", header), (b"PLTE", b"".join(palette)), (b"IDAT", pixels), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in chunks
    )
