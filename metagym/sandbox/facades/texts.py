"""Texts, bytes and their formats."""

from __future__ import annotations

import codecs
import hashlib
import hmac
import io
import keyword
import pprint
import re
import struct
import textwrap
from collections.abc import Callable
from typing import Any, NoReturn

from metagym.sandbox.facades.facade import Table
from metagym.sandbox.facades.session import Session

_TEXT = "text in, text out"
_BYTES = "bytes in, bytes or numbers out"
_ERROR = "an exception class"
_PROCESS = "; a costly pattern is stopped by the limit on time"
_FILES = "it works on files, and there are none; keep the data in the program"
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")

STRING = (
    Table("string")
    .real(
        "constants",
        "ascii_letters ascii_lowercase ascii_uppercase digits hexdigits octdigits printable punctuation whitespace",
    )
    .real(_TEXT, "capwords")
    .real("substitutes names by items of the given mapping; it follows no attributes", "Template")
    .refuse("its fields read attributes; use an f-string or str.join", "Formatter")
)

RE = (
    Table("re")
    .real(_TEXT + _PROCESS, "compile escape findall finditer fullmatch match search split sub subn")
    .real("types for isinstance; the interpreter makes none by a call", "Match Pattern")
    .real(
        "flags",
        "A ASCII DOTALL I IGNORECASE L LOCALE M MULTILINE NOFLAG RegexFlag S U UNICODE VERBOSE X",
    )
    .real(_ERROR, "error")
    .ours(_ERROR, PatternError=re.error)
    .ours("does nothing: the cache of patterns belongs to all", purge=lambda: None)
    .refuse("it is deprecated; use re.compile", "template")
)

_JSON = "JSON text to plain data and back; hooks are the program's own functions"
JSON = Table("json").real(_JSON, "dumps loads dump load JSONEncoder JSONDecoder").real(_ERROR, "JSONDecodeError")
JSON_DECODER = Table("json.decoder").real(_JSON, "JSONDecoder JSONDecodeError")
JSON_ENCODER = Table("json.encoder").real(_JSON, "JSONEncoder").rest("it is a helper of the library; use json.dumps")


_SPACES = "".join(chr(textwrap.TextWrapper.unicode_whitespace_trans.get(code, code)) for code in range(33))


class TextWrapper(textwrap.TextWrapper):
    """``textwrap.TextWrapper``, whose table of white space is a text, which nobody can change."""

    unicode_whitespace_trans = _SPACES  # type: ignore[assignment]


TEXTWRAP = (
    Table("textwrap")
    .ours("a text in, lines out; all sessions share the class, so its table is read-only", TextWrapper=TextWrapper)
    .real(_TEXT, "dedent fill indent shorten wrap")
)

UNICODEDATA = (
    Table("unicodedata")
    .real(
        "one character or text in, text or a number out",
        "bidirectional category combining decimal decomposition digit east_asian_width is_normalized lookup mirrored "
        "name normalize numeric unidata_version",
    )
    .refuse("an old copy of the same tables; use the functions of unicodedata", "ucd_3_2_0 UCD")
)

DIFFLIB = (
    Table("difflib")
    .real(
        _TEXT,
        "Differ IS_CHARACTER_JUNK IS_LINE_JUNK Match SequenceMatcher context_diff diff_bytes get_close_matches ndiff "
        "restore unified_diff",
    )
    .refuse("it makes web pages; use difflib.unified_diff", "HtmlDiff")
)


def _without_addresses(text: str) -> str:
    return _ADDRESS.sub("", text)


def pformat(
    object: Any,
    indent: int = 1,
    width: int = 80,
    depth: int | None = None,
    *,
    compact: bool = False,
    sort_dicts: bool = True,
    underscore_numbers: bool = False,
) -> str:
    """``pprint.pformat``, without the addresses that reprs of functions hold: a replay must be equal."""
    return _without_addresses(
        pprint.pformat(
            object, indent, width, depth, compact=compact, sort_dicts=sort_dicts, underscore_numbers=underscore_numbers
        )
    )


def _printer(**defaults: Any) -> Callable[[Session], Any]:
    def make(session: Session) -> Any:
        def show(object: Any, stream: Any = None, *args: Any, **settings: Any) -> None:
            text = pformat(object, *args, **{**defaults, **settings}) + "\n"
            if stream is not None:
                stream.write(text)
            elif session.print_to is not None:
                session.print_to(text)

        return show

    return make


PPRINT = (
    Table("pprint")
    .ours("reprs of plain data, without addresses", pformat=pformat)
    .ours("reprs of plain data, without addresses", saferepr=lambda object: _without_addresses(pprint.saferepr(object)))
    .real("looks at plain data", "isreadable isrecursive")
    .lazy("prints where print does", pprint=_printer(), pp=_printer(sort_dicts=False))
    .refuse("use pprint.pformat", "PrettyPrinter")
)

HTTP = (
    Table("http")
    .real("enumerations of numbers and words", "HTTPStatus HTTPMethod")
    .rest("nothing outside can be reached; only http.HTTPStatus and http.HTTPMethod are offered")
)

HTML = Table("html").real(_TEXT, "escape unescape")

URLLIB_PARSE = (
    Table("urllib.parse")
    .real(
        "takes addresses apart and puts them together; it opens none",
        "parse_qs parse_qsl quote quote_from_bytes quote_plus unquote unquote_plus unquote_to_bytes urldefrag "
        "urlencode urljoin urlparse urlsplit urlunparse urlunsplit",
    )
    .real(
        "tuples with names",
        "DefragResult DefragResultBytes ParseResult ParseResultBytes SplitResult SplitResultBytes",
    )
)
URLLIB = Table("urllib", real="").refuse("nothing outside can be reached; only urllib.parse is offered", "request")

SHLEX = Table("shlex").real(_TEXT, "join quote split").refuse("it can open files; use shlex.split", "shlex")

_ROWS = "rows of text in and out, over lists or io.StringIO"
CSV = (
    Table("csv")
    .real(_ROWS, "reader writer DictReader DictWriter Dialect excel excel_tab unix_dialect")
    .real("constants", "QUOTE_ALL QUOTE_MINIMAL QUOTE_NONE QUOTE_NONNUMERIC")
    .real("constants", "QUOTE_NOTNULL QUOTE_STRINGS", newer=True)
    .real(_ERROR, "Error")
    .refuse("settings that all programs would share", "field_size_limit get_dialect list_dialects register_dialect")
    .refuse("settings that all programs would share", "unregister_dialect")
    .refuse("give the delimiter yourself", "Sniffer")
)

_BASE64 = (
    "a85decode a85encode b16decode b16encode b32decode b32encode b32hexdecode b32hexencode b64decode b64encode "
    "b85decode b85encode decodebytes encodebytes standard_b64decode standard_b64encode urlsafe_b64decode "
    "urlsafe_b64encode"
)
BASE64 = (
    Table("base64")
    .real(_BYTES, _BASE64)
    .real(_BYTES, "z85decode z85encode", newer=True)
    .refuse(_FILES, "decode encode")
)

BINASCII = (
    Table("binascii")
    .real(
        _BYTES,
        "a2b_base64 a2b_hex a2b_qp a2b_uu b2a_base64 b2a_hex b2a_qp b2a_uu crc32 crc_hqx hexlify unhexlify",
    )
    .real(_ERROR, "Error Incomplete")
)

ZLIB = (
    Table("zlib")
    .real(_BYTES + "; a bomb is stopped by the limit on memory", "adler32 compress crc32 decompress")
    .real(_ERROR, "error")
    .real("constants", "Z_BEST_COMPRESSION Z_BEST_SPEED Z_DEFAULT_COMPRESSION Z_NO_COMPRESSION MAX_WBITS DEFLATED")
    .refuse(
        "compress in one go with zlib.compress and zlib.decompress",
        "compressobj decompressobj DEF_BUF_SIZE DEF_MEM_LEVEL ZLIB_RUNTIME_VERSION ZLIB_VERSION Z_BLOCK "
        "Z_DEFAULT_STRATEGY Z_FILTERED Z_FINISH Z_FIXED Z_FULL_FLUSH Z_HUFFMAN_ONLY Z_NO_FLUSH Z_PARTIAL_FLUSH Z_RLE "
        "Z_SYNC_FLUSH Z_TREES",
    )
)


def pack_into(format: Any, buffer: bytearray, offset: int, /, *values: Any) -> None:
    """``struct.pack_into`` for a bytearray: writing into other buffers would reach the memory of objects.

    Raises:
        TypeError: `buffer` is no bytearray.
    """
    if type(buffer) is not bytearray:
        raise TypeError("struct.pack_into writes into a bytearray here")
    struct.pack_into(format, buffer, offset, *values)


class Struct(struct.Struct):
    """``struct.Struct`` that writes into bytearrays only."""

    def pack_into(self, buffer: Any, offset: int, *values: Any) -> None:
        """See the function `pack_into`."""
        pack_into(self.format, buffer, offset, *values)


STRUCT = (
    Table("struct")
    .real(_BYTES, "calcsize iter_unpack pack unpack unpack_from")
    .ours("the buffer must be a bytearray", pack_into=pack_into, Struct=Struct)
    .real(_ERROR, "error")
)

_HASHES = "md5 sha1 sha224 sha256 sha384 sha512 sha3_224 sha3_256 sha3_384 sha3_512 shake_128 shake_256 blake2b blake2s"


def new_hash(name: str, data: bytes = b"", *, usedforsecurity: bool = True) -> Any:
    """``hashlib.new`` for the algorithms that every Python has.

    Raises:
        ValueError: The name is none of them.
    """
    if type(name) is not str or name.lower() not in _HASHES.split():
        raise ValueError(f"unsupported hash type; use one of {_HASHES}")
    return getattr(hashlib, name.lower())(data, usedforsecurity=usedforsecurity)


HASHLIB = (
    Table("hashlib")
    .real("a digest of the given bytes", _HASHES)
    .real("a digest of the given bytes; the rounds are stopped by the limit on time", "pbkdf2_hmac")
    .ours("by the name of a known algorithm; the real one asks the cryptography library", new=new_hash)
    .ours(
        "the names of those above",
        algorithms_guaranteed=frozenset(_HASHES.split()),
        algorithms_available=frozenset(_HASHES.split()),
    )
    .refuse(_FILES, "file_digest")
    .refuse("its memory is chosen by the caller; use hashlib.pbkdf2_hmac", "scrypt")
)


def _algorithm(digestmod: Any) -> str:
    if type(digestmod) is not str:
        digestmod = getattr(digestmod, "__name__", "").removeprefix("openssl_")
    if digestmod.lower() not in _HASHES.split():
        raise ValueError(f"digestmod must be one of {_HASHES}, as text or as a function of hashlib")
    return digestmod.lower()


def new_hmac(key: bytes, msg: bytes | None = None, digestmod: Any = "") -> hmac.HMAC:
    """``hmac.new`` for the algorithms of ``hashlib``."""
    return hmac.new(key, msg, _algorithm(digestmod))


def hmac_digest(key: bytes, msg: bytes, digest: Any) -> bytes:
    """``hmac.digest`` for the algorithms of ``hashlib``."""
    return hmac.digest(key, msg, _algorithm(digest))


HMAC = (
    Table("hmac")
    .real("compares two texts", "compare_digest")
    .ours("by the name of a known algorithm", new=new_hmac, digest=hmac_digest)
    .refuse("use hmac.new(key, msg, 'sha256')", "HMAC digest_size trans_36 trans_5C")
)

_CODECS = frozenset(
    "ascii latin_1 iso8859_1 utf_8 utf_8_sig utf_16 utf_16_le utf_16_be utf_32 utf_32_le utf_32_be cp1252 cp437 "
    "punycode unicode_escape raw_unicode_escape rot_13 rot13 hex hex_codec base64 base64_codec utf8 latin1 l1 "
    "us_ascii".split()
)


def _codec(name: Any) -> str:
    plain = name.lower().replace("-", "_").replace(" ", "_") if type(name) is str else ""
    if plain not in _CODECS:
        raise LookupError(f"unknown encoding: {name if type(name) is str else type(name).__name__}")
    return plain


def encode(obj: Any, encoding: str = "utf-8", errors: str = "strict") -> Any:
    """``codecs.encode`` for the common encodings, with rot_13, hex and base64."""
    return codecs.encode(obj, _codec(encoding), errors)


def decode(obj: Any, encoding: str = "utf-8", errors: str = "strict") -> Any:
    """``codecs.decode`` for the common encodings, with rot_13, hex and base64."""
    return codecs.decode(obj, _codec(encoding), errors)


CODECS = (
    Table("codecs")
    .ours("one text in, one out, for a list of encodings that need no file", encode=encode, decode=decode)
    .refuse("use codecs.encode and codecs.decode, or str.encode and bytes.decode", "open lookup register getreader")
    .refuse("use codecs.encode and codecs.decode, or str.encode and bytes.decode", "getwriter register_error")
    .rest("use codecs.encode and codecs.decode, or str.encode and bytes.decode")
)


def _own_buffer(buffer: Any) -> bytearray:
    if type(buffer) is not bytearray:
        raise TypeError("readinto fills a bytearray here")
    return buffer


class BytesIO(io.BytesIO):
    """``io.BytesIO`` that reads into bytearrays only: other buffers would reach the memory of objects."""

    def readinto(self, buffer: Any, /) -> int:
        """As in `io`, for a bytearray."""
        return super().readinto(_own_buffer(buffer))

    def readinto1(self, buffer: Any, /) -> int:
        """As in `io`, for a bytearray."""
        return super().readinto1(_own_buffer(buffer))


def _no_buffer(self: Any) -> NoReturn:
    raise TypeError("use getvalue()")


BytesIO.getbuffer = _no_buffer  # type: ignore[method-assign]

IO = (
    Table("io")
    .real("a text in memory", "StringIO")
    .ours("bytes in memory", BytesIO=BytesIO)
    .real("constants and an exception class", "SEEK_CUR SEEK_END SEEK_SET UnsupportedOperation")
    .refuse(_FILES, "open open_code FileIO TextIOWrapper BufferedReader BufferedWriter BufferedRandom BufferedRWPair")
    .refuse("use io.StringIO or io.BytesIO", "IOBase RawIOBase TextIOBase BufferedIOBase DEFAULT_BUFFER_SIZE")
    .refuse("use io.StringIO or io.BytesIO", "IncrementalNewlineDecoder text_encoding BlockingIOError")
)

FNMATCH = Table("fnmatch").real(_TEXT + _PROCESS, "filter fnmatch fnmatchcase translate")

POSIXPATH = (
    Table("posixpath")
    .real(
        "paths as texts; no file is looked at",
        "basename commonpath commonprefix dirname isabs join normcase normpath split splitext",
    )
    .real("constants", "curdir pardir sep extsep")
    .rest("there are no files; only functions that take paths as texts apart are offered")
)

IPADDRESS = (
    Table("ipaddress")
    .real(
        "immutable value types",
        "IPv4Address IPv4Interface IPv4Network IPv6Address IPv6Interface IPv6Network ip_address "
        "ip_interface ip_network "
        "collapse_addresses summarize_address_range",
    )
    .real(_ERROR, "AddressValueError NetmaskValueError")
    .rest("it is a helper of the library")
)

KEYWORD = (
    Table("keyword")
    .real(_TEXT, "iskeyword issoftkeyword")
    .ours("constants", kwlist=tuple(keyword.kwlist), softkwlist=tuple(keyword.softkwlist))
)

TABLES = (
    STRING, RE, JSON, JSON_DECODER, JSON_ENCODER, TEXTWRAP, UNICODEDATA, DIFFLIB, PPRINT, HTML, URLLIB, URLLIB_PARSE,
    SHLEX, CSV, BASE64, BINASCII, ZLIB, STRUCT, HASHLIB, HMAC, CODECS, IO, HTTP, FNMATCH, POSIXPATH, IPADDRESS, KEYWORD,
)  # fmt: skip
