"""Text files opened as UTF-8, plain or compressed, with one clear line for a file that cannot be read."""

from __future__ import annotations

import codecs
import io
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa

from hashbench.common.errors import InputError

COMPRESSED = {".gz": "gzip", ".zst": "zstd"}  # endings behind the ending of a format, and the library's name
# Other endings of a format
SAME = {
    ".ndjson": ".jsonl", ".jsonlines": ".jsonl", ".conllu": ".conll", ".iob": ".conll", ".iob2": ".conll",
    ".bio": ".conll",
}  # fmt: skip
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
READ_BLOCK = 1 << 20  # bytes that are read at a time
LONGEST_TEXT = 1 << 30  # bytes of a text file that is read whole


def format_of(path: Path) -> str:
    """The ending that names the format, in lower case: of a compressed file the one before ".gz" or ".zst".

    >>> format_of(Path("a.jsonl.gz")), format_of(Path("b.txt")), format_of(Path("C.NDJSON"))
    ('.jsonl', '.txt', '.jsonl')
    """
    lower = Path(path.name.lower())
    ending = Path(lower.stem).suffix if lower.suffix in COMPRESSED else lower.suffix
    return SAME[ending] if ending in SAME else ending


def ending_of(path: Path) -> str:
    """All that names the format and the compression, as it is written.

    >>> ending_of(Path("a.b.JSONL.gz")), ending_of(Path("train"))
    ('.JSONL.gz', '')
    """
    packed = path.suffix if path.suffix.lower() in COMPRESSED else ""
    return Path(path.name.removesuffix(packed)).suffix + packed


def opened(path: Path, newline: str = "") -> TextIO:
    """A UTF-8 file opened to be read line by line. Unpaired surrogates pass: the tokenizers replace them."""
    return io.TextIOWrapper(_bytes_of(path), encoding="utf-8-sig", errors="surrogatepass", newline=newline)


def _bytes_of(path: Path) -> Any:
    """A file opened to read bytes, decompressed where its ending says so."""
    ending = path.suffix.lower()
    if ending not in COMPRESSED:
        return path.open("rb")
    return io.BufferedReader(pa.input_stream(str(path), compression=COMPRESSED[ending]))


def read_text(path: Path) -> str:
    """A UTF-8 file as one text. Unpaired surrogates pass: the tokenizers replace them.

    Raises InputError for a file that is not UTF-8, or has more than LONGEST_TEXT bytes.
    """
    what = "an array of JSON" if format_of(path) == ".json" else "a text file is one document, and"
    remedy = "write its documents as lines of .jsonl"
    too_long = InputError(f"{path}: {what} has {LONGEST_TEXT:,} bytes at most; {remedy}")
    if path.stat().st_size > LONGEST_TEXT:
        raise too_long
    try:
        with _bytes_of(path) as file:
            content = bytes(file.read(LONGEST_TEXT + 1))  # a compressed one may unfold to any size
        if len(content) > LONGEST_TEXT:
            raise too_long
        return content.removeprefix(BYTE_ORDER_MARK).decode("utf-8", errors="surrogatepass")
    except UnicodeDecodeError:
        raise not_utf_8(path, first_wrong_byte(path)) from None
    except (pa.ArrowException, OSError) as error:
        raise damaged(path, error) from error


def damaged(path: Path, error: Exception) -> InputError:
    """The error of a file that breaks off or is none of its kind."""
    return InputError(f"{path}: cannot be read ({one_line(error)}); write it again")


def not_utf_8(path: Path, place: int) -> InputError:
    """The error of a file whose byte `place` belongs to no character."""
    what = f"is a binary file, or text that is not UTF-8 (byte {place})"
    return InputError(f"{path}: {what}; save it as UTF-8 or as parquet")


def first_wrong_byte(path: Path) -> int:
    """Index of the first byte of a file that is not UTF-8; the file's length where it has none.

    Read block by block: a file without line breaks is no reason to hold it whole.
    """
    decoder, at = (
        codecs.getincrementaldecoder("utf-8")("surrogatepass"),
        0,
    )  # `at`: bytes before what the decoder still holds
    with _bytes_of(path) as file:
        while True:
            block = bytes(file.read(READ_BLOCK))
            held = len(decoder.getstate()[0])
            try:
                decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                return at - held + error.start
            at += len(block)
            if not block:
                return at


def one_line(error: BaseException) -> str:
    """The message of an error on one line, 160 characters at most."""
    return " ".join(str(error).split())[:160]
