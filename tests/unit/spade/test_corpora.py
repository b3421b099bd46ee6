"""Where documents come from; what is wrong with a corpus is told at once, with file and line."""

import json
import os
import subprocess
import sys
import tempfile
import time
import tracemalloc
from configparser import ConfigParser
from itertools import islice
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metagym.errors import BadInput, MissingExtra, NoTasks, StoreError
from metagym.spade import corpora
from metagym.spade.corpora import DOMAINS, ChainSource, ListSource, default, frozen, load_corpus, python_docs
from metagym.spade.documents import Document, DocumentSampler
from metagym.spade.jsonl import JsonlSource

SKILLS = (
    *("Mathematical Reasoning", "Logical Deduction", "Spatial Reasoning"),
    *("Pattern Recognition", "Optimization", "Causal Inference"),
    *("API Orchestration", "Data Retrieval", "State Modification"),
    *("Error Recovery", "Tool Selection", "Multi-Step Workflows"),
)


def all_of(source):
    return [source.get(index) for index in range(len(source))]


def write(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


# --- ours


def test_the_frozen_corpus_covers_every_skill_evenly():
    documents = all_of(frozen())
    assert len(documents) == 60 and len({document.doc_id for document in documents}) == 60
    assert {skill: len(places) for skill, places in frozen().skills().items()} == dict.fromkeys(SKILLS, 5)
    assert {document.meta["domain"] for document in documents} == set(DOMAINS)
    assert all(80 <= len(document.text.split()) <= 250 and document.licence == "MIT" for document in documents)
    assert len({document.meta["title"] for document in documents}) == 60


def test_the_frozen_corpus_is_frozen():
    """Goldens of runs stand on it: a changed document is a new file, not an edit."""
    assert frozen().fingerprint == "ae4386d36fc7a49e1b01cc23e4cb2ebd"


def test_the_frozen_corpus_is_package_data():
    config = ConfigParser()
    config.read(Path(__file__).resolve().parents[3] / "setup.cfg")
    assert "spade/corpus/*.jsonl" in config["options.package_data"]["metagym"]


# --- the running Python's


def test_the_documentation_of_python_is_read_without_importing_modules():
    code = (
        "import sys, sysconfig; sysconfig.get_path('stdlib')\n"
        "from metagym.spade.corpora import python_docs\n"
        "before = set(sys.modules)\n"
        "source = python_docs()\n"
        "print(len(source), *sorted(n for n in set(sys.modules) - before if not n.startswith('_sysconfigdata')))"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    count, *imported = done.stdout.split()
    assert int(count) >= 200 and set(imported) <= {"pydoc_data", "pydoc_data.topics"}


def test_documents_of_python_are_long_enough_and_named_by_version():
    documents = all_of(python_docs())
    version = ".".join(map(str, sys.version_info[:3]))
    assert all(document.source.startswith(f"python-{version}/") for document in documents)
    assert {document.licence for document in documents} == {"PSF-2.0"}
    names = [document.source.split("/", 1)[1] for document in documents]
    assert {"topics/if", "module/heapq", "module/json"} <= set(names) and len(set(names)) == len(names)
    assert all(len(d.text) > 200 for d in documents if "/module/" in d.source)
    heapq = documents[names.index("module/heapq")]
    assert heapq.text == sys.modules.get("heapq", __import__("heapq")).__doc__.strip()


def test_a_python_without_sources_and_documentation_is_told(monkeypatch):
    monkeypatch.setattr(corpora, "_topics", lambda: iter(()))
    monkeypatch.setattr(corpora.sysconfig, "get_path", lambda name: "/no/such/folder")
    with pytest.raises(NoTasks, match="without its documentation and sources; use the corpus 'frozen'"):
        python_docs.__wrapped__()


def test_the_default_is_both():
    source = load_corpus("default")
    assert len(source) == len(python_docs()) + 60 and source is default()
    assert source.get(0) == python_docs().get(0) and source.get(len(source) - 1) == frozen().get(59)
    places = source.skills()["Optimization"]
    assert [source.get(place) for place in places] == [frozen().get(p) for p in frozen().skills()["Optimization"]]
    assert load_corpus("python") is python_docs() and load_corpus("frozen") is frozen()
    with pytest.raises(IndexError):
        source.get(len(source))


def test_a_fingerprint_changes_with_text_order_and_skill():
    one, two = Document.of("one", "a"), Document.of("two", "b")
    tagged = Document.of("one", "a", meta={"skill": "x"})
    found = [ListSource("t", documents).fingerprint for documents in ([one, two], [two, one], [one], [tagged, two])]
    assert len(set(found)) == 4
    assert ListSource("other name", [one, two]).fingerprint == found[0]
    parts = (ListSource("a", [one]), ListSource("b", [two]))
    assert ChainSource("t", parts).fingerprint != ChainSource("t", parts[::-1]).fingerprint


@pytest.mark.parametrize("spec", ["", "books", "jsonl:", "jsonl", "default:x", "datasets:", None, 3])
def test_an_unknown_spec_is_refused_with_those_that_exist(spec):
    with pytest.raises(BadInput, match="corpus"):
        load_corpus(spec)


def test_empty_corpora_are_refused():
    for make in (lambda: ListSource("x", []), lambda: ChainSource("x", [])):
        with pytest.raises(NoTasks, match="'x'"):
            make()


# --- JSON Lines


def test_a_file_is_read_by_its_two_fields_with_labels(tmp_path):
    path = write(
        tmp_path / "c.jsonl",
        {"text": "first", "skill": "s", "url": "http://x", "license": "CC0-1.0", "long": "y" * 600, "list": [1]},
        {"orig_doc": "second", "text": "not this", "n": 3},
    )
    with path.open("a", encoding="utf-8") as file:
        file.write('\n  \n{"text": "third 鍵"}')
    source = load_corpus(f"jsonl:{path}")
    first, second, third = all_of(source)
    assert (first.text, first.licence, first.source) == ("first", "CC0-1.0", f"{path}:1")
    assert first.meta == {"skill": "s", "url": "http://x", "license": "CC0-1.0"}
    assert (second.text, second.meta, third.text, third.source) == ("second", {"n": 3}, "third 鍵", f"{path}:5")
    assert source.skills() == {"s": [0]}
    assert DocumentSampler(source, 0).at(0, 0, skill="s").source.startswith(str(path))


def test_only_offsets_are_kept_in_memory(tmp_path):
    path = write(tmp_path / "big.jsonl", *({"text": f"{i} " * 3000} for i in range(400)))
    tracemalloc.start()
    source = JsonlSource(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert path.stat().st_size > 4_000_000 and peak < 500_000
    assert source.get(399).text.startswith("399 ")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"text": "x"', "no JSON"),
        (b'{"text": "\xff"}', "no JSON"),
        (b'{"text": "x", "y": NaN}', "no JSON"),
        (b'["text"]', "no JSON object"),
        (b'{"body": "x"}', "no text in 'orig_doc' or 'text'; the row holds body"),
        (b'{"text": 3}', "no text in"),
        (b'{"text": "  "}', "no text in"),
        (b"{}", "the row holds nothing"),
    ],
)
def test_a_bad_line_is_named_with_file_and_line_or_counted(tmp_path, line, reason):
    path = tmp_path / "c.jsonl"
    path.write_bytes(b'{"text": "good"}\n' + line + b'\n{"text": "also"}\n')
    with pytest.raises(BadInput, match=f"{path}:2: .*{reason}"):
        JsonlSource(path)
    source = JsonlSource(path, bad="skip")
    assert [document.text for document in all_of(source)] == ["good", "also"]
    assert source.get(1).source == f"{path}:3"
    assert source.bad_lines == 1 and source.bad_examples[0].startswith(f"{path}:2: ")


def test_s09_an_absent_empty_or_unreadable_corpus_is_told_within_seconds(tmp_path):
    (tmp_path / "empty.jsonl").write_bytes(b"\n\n")
    (tmp_path / "bad.jsonl").write_bytes(b"x\n")
    os.mkfifo(tmp_path / "pipe")
    start = time.monotonic()
    for path, error, named in (
        (tmp_path / "absent.jsonl", NoTasks, "does not exist; name a JSON Lines file as jsonl:PATH"),
        (tmp_path / "empty.jsonl", NoTasks, "holds no document"),
        (tmp_path, BadInput, "is no regular file"),
        (tmp_path / "pipe", BadInput, "is no regular file"),
        ("/dev/zero", BadInput, "is no regular file"),
        ("nul\0", BadInput, "cannot be read"),
    ):
        with pytest.raises(error, match=named):
            load_corpus(f"jsonl:{path}")
    with pytest.raises(NoTasks, match=r"holds no document \(1 bad lines, e.g. .*bad.jsonl:1: "):
        JsonlSource(tmp_path / "bad.jsonl", bad="skip")
    assert time.monotonic() - start < 5  # the bound of the field fault itself, not a speed claim


def test_a_line_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("metagym.spade.jsonl.LONGEST_LINE", 1 << 20)
    path = tmp_path / "c.jsonl"
    path.write_bytes(b'{"text": "x"}\n' + b"x" * (2 << 20))
    with pytest.raises(BadInput, match=f"{path}:2: the line is longer than 1 MiB"):
        JsonlSource(path)


def test_a_file_that_changes_while_it_is_open_is_noticed(tmp_path):
    path = write(tmp_path / "c.jsonl", {"text": "one"}, {"text": "two"})
    source = JsonlSource(path)
    with path.open("a") as file:
        file.write('{"text": "appended"}\n')
    assert [document.text for document in all_of(source)] == ["one", "two"]
    path.write_text('{"text": "ONE"}\n{"text": "two"}\n')
    with pytest.raises(StoreError, match=f"{path}:1 changed since the corpus was opened"):
        source.get(0)
    replaced = write(tmp_path / "new.jsonl", {"text": "new"})
    source = JsonlSource(path)
    replaced.rename(path)
    assert source.get(1).text == "two"  # a file that is replaced stays what it was


rows = st.fixed_dictionaries(
    {"text": st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)},
    optional={"skill": st.text(min_size=1, max_size=5), "k": st.integers() | st.booleans()},
)


@given(st.lists(rows, min_size=1, max_size=8))
@settings(deadline=None, max_examples=50)
def test_a_file_gives_back_what_was_written(tmp_path_factory, found):
    path = write(tmp_path_factory.mktemp("c") / "c.jsonl", *found)
    source = JsonlSource(path)
    assert [document.text for document in all_of(source)] == [row["text"] for row in found]
    assert [dict(document.meta) for document in all_of(source)] == [
        {key: value for key, value in row.items() if key != "text"} for row in found
    ]
    assert source.fingerprint == JsonlSource(path).fingerprint
    source.close()


@given(st.binary(max_size=200))
@settings(deadline=None, max_examples=80)
def test_any_bytes_are_a_corpus_or_a_typed_error(tmp_path_factory, raw):
    path = tmp_path_factory.mktemp("c") / "c.jsonl"
    path.write_bytes(raw)
    try:
        source = JsonlSource(path)
    except BadInput as error:
        assert str(path) in str(error)
    else:
        assert all(document.text.strip() for document in all_of(source))
        source.close()


# --- the library `datasets`


class _Stream:
    """What the library's streams are to us: an iterable of rows."""

    def __init__(self, rows):
        self.rows, self.read = rows, 0

    def __iter__(self):
        for row in self.rows:
            self.read += 1
            yield row


@pytest.fixture
def library(monkeypatch):
    """A stand-in for the library: `load_dataset` records its arguments and gives back `stream`."""
    module = ModuleType("datasets")
    module.calls = []

    def load_dataset(*args, **kwargs):
        module.calls.append((args, kwargs))
        if isinstance(module.stream, Exception):
            raise module.stream
        return module.stream

    module.load_dataset = load_dataset
    monkeypatch.setitem(sys.modules, "datasets", module)
    return module


def test_a_window_of_a_stream_is_a_corpus(library):
    library.stream = _Stream({"body": f"row {i}", "skill": "s", "score": float("nan")} for i in range(10**9))
    source = load_corpus("datasets:org/name?split=test&config=en&revision=abc&field=body&skip=2&take=5")
    assert [document.text for document in all_of(source)] == [f"row {i}" for i in range(2, 7)]
    assert library.calls == [(("org/name", "en"), {"split": "test", "streaming": True, "revision": "abc"})]
    assert library.stream.read == 7 and dict(source.get(0).meta) == {"skill": "s"}
    assert len(set(d.doc_id for d in DocumentSampler(source, 0).draw(5))) == 5
    assert source.name.startswith("datasets:org/name?") and not list(
        Path(tempfile.gettempdir()).glob("metagym-corpus-*")
    )
    source.close()
    with pytest.raises(StoreError, match="or it was closed"):
        source.get(0)


@pytest.mark.parametrize(
    ("rest", "named"),
    [
        ("x?speed=3", "has no parameter 'speed'"),
        ("?split=train", "names no data set"),
        ("x?take=0", "take='0' of a corpus is no number of rows"),
        ("x?skip=-1", "skip='-1'"),
    ],
)
def test_an_unusable_spec_of_a_data_set_is_refused(library, rest, named):
    with pytest.raises(BadInput, match=named):
        load_corpus(f"datasets:{rest}")
    assert not library.calls


@pytest.mark.parametrize(
    ("stream", "error", "named"),
    [
        (RuntimeError("no such split"), BadInput, "datasets:x: RuntimeError: no such split"),
        (ConnectionError("offline"), BadInput, "cannot read datasets:x: ConnectionError: offline"),
        (FileNotFoundError("gone"), BadInput, "cannot read datasets:x: FileNotFoundError: gone"),
        (_Stream([]), NoTasks, "has no row after the first 0"),
        (_Stream([{"body": "x"}]), BadInput, "datasets:x, row 0: no text in"),
        (_Stream(["x"]), BadInput, "row 0 is no mapping"),
    ],
)
def test_what_the_library_cannot_read_is_a_typed_error(library, stream, error, named):
    library.stream = stream
    with pytest.raises(error, match=named):
        load_corpus("datasets:x")


def test_a_missing_library_is_told_with_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtra, match=r"pip install 'metagym-agents\[datasets\]'"):
        load_corpus("datasets:x")


def test_the_real_library_streams_a_local_file(tmp_path):
    pytest.importorskip("datasets", reason="the extra `datasets` is not installed")
    path = write(tmp_path / "rows.jsonl", *({"text": f"row {i}"} for i in range(9)))
    source = load_corpus(f"datasets:json?data_files={path}&take=4")
    assert [document.text for document in islice(all_of(source), 4)] == [f"row {i}" for i in range(4)]
