"""The store: nothing acknowledged is lost, nothing invalid gets in, damage is named."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metagym import journal as journal_module
from metagym.episodes import Status
from metagym.errors import BadInput, StoreCorrupt, StoreError, StoreLocked
from metagym.journal import Journal
from metagym.strictjson import plain_json, strict_json


def run_script(code: str, *args: str, env: dict[str, str] | None = None, **kwargs) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code), *args],
        capture_output=True,
        timeout=120,
        env={**os.environ, **(env or {})},
        encoding="utf-8",
        errors="surrogateescape",
        **kwargs,
    )
    assert done.returncode == 0, done.stderr
    return done


def filled(path: Path, count: int = 3) -> bytes:
    with Journal.open(path, "w") as store:
        store.append_many((f"k{i}", {"number": i, "text": "x" * i}) for i in range(count))
    return path.read_bytes()


# --- ordinary use


def test_records_come_back_in_order_and_by_key(tmp_path):
    path = tmp_path / "records.jsonl"
    with Journal.open(path, "w") as store:
        assert store.append("b", {"n": 1})
        assert store.append_many([("a", [1, None, "x"]), ("c", "text")]) == 2
    with Journal.open(path) as store:
        assert list(store.records()) == [("b", {"n": 1}), ("a", [1, None, "x"]), ("c", "text")]
        assert store.keys() == ("b", "a", "c")
        assert (store.get("a"), store.get("z"), store.get("z", 7)) == ([1, None, "x"], None, 7)
        assert "a" in store and "z" not in store and len(store) == 3


def test_a_line_is_readable_json_with_a_checksum(tmp_path):
    path = tmp_path / "records.jsonl"
    with Journal.open(path, "w") as store:
        store.append("turn/0/prompt", {"kind": "prompt", "prompt": "Be brief. 鍵"})
    line = path.read_text(encoding="utf-8")
    assert line == (
        '{"key":"turn/0/prompt","value":{"kind":"prompt","prompt":"Be brief. 鍵"},"crc":"'
        + json.loads(line)["crc"]
        + '"}\n'
    )


def test_the_checksum_is_the_documented_one(tmp_path):
    import zlib

    raw = filled(tmp_path / "r.jsonl", 1)
    covered = raw[: raw.index(b',"crc":')]
    assert json.loads(raw)["crc"] == f"{zlib.crc32(covered):08x}"


def test_the_same_record_again_is_no_change_and_another_value_is_an_error(tmp_path):
    path = tmp_path / "records.jsonl"
    with Journal.open(path, "w") as store:
        store.append("k", {"a": 1, "b": 2})
        before = path.read_bytes()
        assert store.append("k", {"b": 2, "a": 1}) is False
        for other in ({"a": 1, "b": 3}, {"a": 1.0, "b": 2}, {"a": True, "b": 2}):
            with pytest.raises(StoreError, match="key 'k' already holds another value"):
                store.append("k", other)
        with pytest.raises(StoreError, match="one batch holds two different records for key 'new'"):
            store.append_many([("new", 1), ("new", 2)])
        assert path.read_bytes() == before
        assert store.append_many([("new", 1), ("new", 1)]) == 1


def test_values_that_are_changed_later_do_not_change_the_store(tmp_path):
    value = {"list": [1]}
    with Journal.open(tmp_path / "r.jsonl", "w") as store:
        store.append("k", value)
        value["list"].append(2)
        store.get("k")["list"].append(3)
        assert store.get("k") == {"list": [1]}


def test_a_batch_with_a_bad_record_writes_nothing(tmp_path):
    with Journal.open(tmp_path / "r.jsonl", "w") as store:
        with pytest.raises(BadInput):
            store.append_many([("good", 1), ("bad", float("nan"))])
        assert len(store) == 0 and (tmp_path / "r.jsonl").read_bytes() == b""


@pytest.mark.parametrize("key", ["", None, 3, b"k"])
def test_a_key_is_non_empty_text(tmp_path, key):
    with Journal.open(tmp_path / "r.jsonl", "w") as store, pytest.raises(BadInput, match="key of a record"):
        store.append(key, 1)


# --- strict JSON


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf"), np.float32("nan"), np.array(np.inf)])
def test_s34_non_finite_numbers_are_refused_with_their_place_named(tmp_path, bad):
    path = tmp_path / "r.jsonl"
    with Journal.open(path, "w") as store:
        with pytest.raises(BadInput, match=r"record 'turn/1': value\.episode\.rewards\[1\] is -?(nan|inf)"):
            store.append("turn/1", {"episode": {"rewards": [0.0, bad]}})
        assert store.append("turn/1", {"episode": {"rewards": [0.0, None]}})


def test_s34_library_scalars_become_plain_numbers(tmp_path):
    path = tmp_path / "r.jsonl"
    value = {
        "f32": np.float32(0.5),
        "bool": np.bool_(True),
        "zero_d": np.array(3),
        "int": np.int64(7),
        "long": np.longdouble(1.25),
        "array": np.arange(3),
        "text": np.str_("x"),
        "enum": Status.OK,
        "tuple": (1, 2),
        "proxy": MappingProxyType({"a": 1}),
    }
    with Journal.open(path, "w") as store:
        store.append("k", value)
        back = store.get("k")
    assert back == {
        "f32": 0.5,
        "bool": True,
        "zero_d": 3,
        "int": 7,
        "long": 1.25,
        "array": [0, 1, 2],
        "text": "x",
        "enum": "ok",
        "tuple": [1, 2],
        "proxy": {"a": 1},
    }
    assert back["bool"] is True and type(back["f32"]) is float
    for line in path.read_bytes().splitlines():
        strict_json(line)


@pytest.mark.parametrize(
    ("bad", "named"),
    [
        ({"a": {1: 2}}, r"value\.a has the key 1"),
        ({"a": b"bytes"}, r"value\.a is of type bytes"),
        ({"a": object()}, r"value\.a is of type object"),
        ({"a": np.datetime64("2020-01-01")}, r"value\.a is of type date"),
        ({"a": 10**5000}, "cannot be stored as JSON"),
    ],
)
def test_what_has_no_json_form_is_refused_by_name(tmp_path, bad, named):
    with Journal.open(tmp_path / "r.jsonl", "w") as store, pytest.raises(BadInput, match=named):
        store.append("k", bad)


def test_a_value_that_contains_itself_is_refused():
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(BadInput, match="nested deeper"):
        plain_json(loop)


@pytest.mark.parametrize("text", ["NaN", '{"a": Infinity}', "[-Infinity]", "{", "[" * 100_000])
def test_the_strict_parser_refuses(text):
    with pytest.raises(ValueError):
        strict_json(text)


# --- unicode

any_text = st.text(st.characters())  # every code point, lone surrogates too
any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | any_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(any_text.filter(bool), any_json, max_size=6))
@settings(deadline=None, max_examples=80)
def test_any_json_and_any_unicode_round_trips(tmp_path_factory, values):
    values = {plain_json(key): plain_json(value) for key, value in values.items()}
    path = tmp_path_factory.mktemp("journal") / "r.jsonl"
    with Journal.open(path, "w") as store:
        store.append_many(values.items())
    with Journal.open(path) as store:
        back = dict(store.records())
    assert repr(back) == repr(values)  # repr: 0.0 and -0.0, 1 and True are told apart
    raw = path.read_bytes()
    assert raw.decode("utf-8").count("\n") == len(raw.decode("utf-8").splitlines()) == len(values)


@given(st.binary(max_size=200))
@settings(deadline=None, max_examples=60)
def test_a_file_of_any_bytes_is_readable_or_corrupt_and_never_a_crash(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("journal") / "r.jsonl"
    path.write_bytes(data)
    try:
        with Journal.open(path) as store:
            assert list(store.records()) == []
    except StoreCorrupt as error:
        assert str(path) in str(error)


def test_hidden_characters_are_written_visibly(tmp_path):
    path = tmp_path / "r.jsonl"
    text = "a\u202eb\u2028c\x00d\x85e\u200ff\ufeffg\ud800h"
    with Journal.open(path, "w") as store:
        store.append("k", text)
        assert store.get("k") == text
    raw = path.read_text(encoding="utf-8")
    assert all(ord(c) >= 32 or c == "\n" for c in raw)
    for code in ("202e", "2028", "0000", "0085", "200f", "feff", "d800"):
        assert f"\\u{code}" in raw


def test_s35_utf8_under_the_c_locale(tmp_path):
    folder = tmp_path / "résultats 鍵" / "run 1"
    folder.mkdir(parents=True)
    code = """
        import sys, locale
        assert sys.flags.utf8_mode == 0
        from metagym.journal import Journal
        with Journal.open(sys.argv[1], "w") as store:
            store.append("k", "\\U0001f5dd\\ufe0f \\u043a\\u043b\\u044e\\u0447 \\u9375 \\u2265")
            print(ascii(store.get("k")), len(store))
    """
    env = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": ""}
    run_script(code, str(folder / "r.jsonl"), env=env)
    assert "🗝️ ключ 鍵 ≥" in (folder / "r.jsonl").read_text(encoding="utf-8")
    with Journal.open(folder / "r.jsonl") as store:
        assert store.get("k") == "🗝️ ключ 鍵 ≥"


# --- crashes and damage


def test_a_file_cut_at_any_byte_keeps_every_whole_line(tmp_path):
    path = tmp_path / "r.jsonl"
    raw = filled(path)
    for cut in range(len(raw) + 1):
        path.write_bytes(raw[:cut])
        whole = raw[:cut].count(b"\n")
        with Journal.open(path) as store:
            assert len(store) == whole
        assert path.read_bytes() == raw[:cut]  # a reader repairs nothing
        with Journal.open(path, "w") as store:
            # a last line that lacks its newline alone is whole
            assert len(store) == whole + (cut + 1 < len(raw) and raw[cut : cut + 1] == b"\n" or cut == len(raw) - 1)
            store.append("more", cut)
        with Journal.open(path) as store:
            assert store.get("more") == cut


def test_damage_in_the_middle_is_named_by_file_and_line(tmp_path):
    path = tmp_path / "r.jsonl"
    raw = filled(path)
    second = raw.index(b"\n") + 1
    for offset in range(second, raw.index(b"\n", second)):
        damaged = bytearray(raw)
        damaged[offset] ^= 0x01
        path.write_bytes(damaged)
        for mode in ("r", "w", "shared"):
            with pytest.raises(StoreCorrupt, match=r"r\.jsonl, line 2"):
                Journal.open(path, mode)
        assert path.read_bytes() == damaged


@pytest.mark.parametrize("line", [b"", b"{}", b'{"key":"x"}', b"\x00" * 40, b"[1]"])
def test_lines_that_are_no_records_are_corruption(tmp_path, line):
    path = tmp_path / "r.jsonl"
    path.write_bytes(filled(path) + line + b"\n")
    with pytest.raises(StoreCorrupt, match="line 4"):
        Journal.open(path)


def test_a_line_with_a_right_checksum_and_wrong_content_is_corruption(tmp_path):
    import zlib

    path = tmp_path / "r.jsonl"
    for covered in (b'{"key":3,"value":1', b'{"value":1', b'{"key":"x","value":NaN', b'{"key":"x","value":1,"more":2'):
        path.write_bytes(covered + b',"crc":"%08x"}\n' % zlib.crc32(covered))
        with pytest.raises(StoreCorrupt, match="line 1"):
            Journal.open(path)


def test_a_doubled_line_is_corruption(tmp_path):
    path = tmp_path / "r.jsonl"
    raw = filled(path, 1)
    path.write_bytes(raw + raw)
    with pytest.raises(StoreCorrupt, match="line 2: key 'k0' stands there for the second time"):
        Journal.open(path)


def test_kill_9_at_20_random_points_loses_no_acknowledged_record(tmp_path):
    code = """
        import os, signal, sys, time
        from metagym.journal import Journal
        from metagym.seeding import rng

        path, choices = sys.argv[1], rng(0, "kill points")
        known, torn = set(), 0
        for round_ in range(20):
            read_end, write_end = os.pipe()
            child = os.fork()
            if child == 0:
                with Journal.open(path, "w") as store:
                    for i in range(10**6):
                        key = f"{round_}/{i}"
                        store.append_many([(key, {"text": "x" * (i * 997 % 20000)}), (key + "b", i)])
                        os.write(write_end, (key + "\\n").encode())
                os._exit(1)
            os.close(write_end)
            acknowledged = b""
            wanted = choices.randrange(1, 30)
            while acknowledged.count(b"\\n") < wanted:
                acknowledged += os.read(read_end, 65536)
            time.sleep(choices.random() * 0.003)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            while part := os.read(read_end, 65536):
                acknowledged += part
            os.close(read_end)
            known.update(acknowledged.decode().split())
            size = os.path.getsize(path)
            with Journal.open(path, "w") as store:
                torn += os.path.getsize(path) != size
                for key in known:
                    assert key in store and store.get(key + "b") == int(key.split("/")[1]), key
        print(len(known))
    """
    done = run_script(code, str(tmp_path / "r.jsonl"))
    assert int(done.stdout) >= 20


def test_a_failed_write_leaves_the_store_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "r.jsonl"
    with Journal.open(path, "w") as store:
        store.append("a", 1)
        before = path.read_bytes()
        real = os.write

        def full(fd, data):
            real(fd, bytes(data)[:5])
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(journal_module.os, "write", full)
        with pytest.raises(StoreError, match=r"r\.jsonl cannot be written: No space left on device"):
            store.append("b", 2)
        monkeypatch.undo()
        assert path.read_bytes() == before and "b" not in store
        assert store.append("b", 2)
    with Journal.open(path) as store:
        assert store.keys() == ("a", "b")


def test_short_writes_are_continued(tmp_path, monkeypatch):
    real = os.write
    monkeypatch.setattr(journal_module.os, "write", lambda fd, data: real(fd, bytes(data)[:3]))
    with Journal.open(tmp_path / "r.jsonl", "w") as store:
        store.append("a", "a text of some length")
    monkeypatch.undo()
    with Journal.open(tmp_path / "r.jsonl") as store:
        assert store.get("a") == "a text of some length"


def test_a_full_disk_is_a_store_error_and_nothing_is_lost(tmp_path):
    code = """
        import resource, signal, sys
        from metagym.errors import StoreError
        from metagym.journal import Journal
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
        with Journal.open(sys.argv[1], "w") as store:
            for i in range(100):
                try:
                    store.append(str(i), "x" * 999)
                except StoreError as error:
                    print(i, error)
                    break
    """
    done = run_script(code, str(tmp_path / "r.jsonl"))
    stopped = int(done.stdout.split()[0])
    assert "cannot be written: File too large" in done.stdout
    with Journal.open(tmp_path / "r.jsonl") as store:
        assert store.keys() == tuple(str(i) for i in range(stopped))
    assert (tmp_path / "r.jsonl").read_bytes().endswith(b"\n")


def test_ctrl_c_between_a_write_and_its_bookkeeping_is_harmless(tmp_path, monkeypatch):
    with Journal.open(tmp_path / "r.jsonl", "w") as store:
        put = store._put

        def interrupted(data):
            put(data)
            raise KeyboardInterrupt

        monkeypatch.setattr(store, "_put", interrupted)
        with pytest.raises(KeyboardInterrupt):
            store.append("a", 1)
        monkeypatch.undo()
        assert store.append("b", 2) and store.append("a", 1) is False
        assert list(store.records()) == [("a", 1), ("b", 2)]


# --- opening


def test_a_missing_file_is_an_error_for_readers_alone(tmp_path):
    with pytest.raises(StoreError, match="there is no such file"):
        Journal.open(tmp_path / "r.jsonl")
    with pytest.raises(StoreError, match="its folder does not exist"):
        Journal.open(tmp_path / "no" / "r.jsonl", "w")
    with Journal.open(tmp_path / "r.jsonl", "w") as store:
        assert len(store) == 0


def test_a_folder_or_an_impossible_name_is_a_store_error(tmp_path):
    for mode in ("r", "w"):
        with pytest.raises(StoreError):
            Journal.open(tmp_path, mode)
        with pytest.raises(StoreError, match="no usable file name"):
            Journal.open(str(tmp_path / "a\x00b"), mode)
    with pytest.raises(BadInput, match="mode"):
        Journal.open(tmp_path / "r.jsonl", "a")


def test_reading_needs_no_lock_and_no_writable_folder(tmp_path):
    folder = tmp_path / "sealed"
    folder.mkdir()
    path = folder / "r.jsonl"
    filled(path)
    Path(str(path) + ".lock").unlink()
    code = """
        import os
        from metagym.errors import StoreError
        from metagym.journal import Journal
        if os.getuid() == 0:
            os.setuid(65534)  # permissions do not bind root
        with Journal.open("r.jsonl") as store:
            print(len(store))
        try:
            Journal.open("r.jsonl", "w")
        except StoreError as error:
            print(error)
    """
    os.chmod(path, 0o444)
    os.chmod(folder, 0o555)
    done = run_script(code, cwd=folder)
    os.chmod(folder, 0o755)
    assert done.stdout.splitlines()[0] == "3"
    assert "cannot be written: Permission denied" in done.stdout
    assert sorted(item.name for item in folder.iterdir()) == ["r.jsonl"]


def test_a_reader_cannot_append_and_a_closed_store_says_so(tmp_path):
    path = tmp_path / "r.jsonl"
    filled(path)
    with Journal.open(path) as store, pytest.raises(BadInput, match="open for reading"):
        store.append("x", 1)
    store.close()
    with pytest.raises(StoreError, match="is closed"):
        store.get("k0")
    with Journal.open(path, "w") as store:
        pass
    with pytest.raises(StoreError, match="is closed"):
        store.append("x", 1)


def test_a_reader_sees_later_records_after_a_refresh(tmp_path):
    path = tmp_path / "r.jsonl"
    with Journal.open(path, "w") as writer, Journal.open(path) as reader:
        writer.append("a", 1)
        assert "a" not in reader
        reader.refresh()
        assert reader.get("a") == 1


def test_a_file_that_shrinks_under_a_reader_is_corruption(tmp_path):
    path = tmp_path / "r.jsonl"
    filled(path)
    with Journal.open(path) as reader:
        path.write_bytes(b"")
        with pytest.raises(StoreCorrupt, match="shrank"):
            reader.refresh()


# --- several writers


def test_the_second_writer_is_refused_and_told_who_holds_the_store(tmp_path):
    path = tmp_path / "r.jsonl"
    with Journal.open(path, "w") as first:
        first.append("a", 1)
        for mode in ("w", "shared"):
            with pytest.raises(StoreLocked, match=f"process {os.getpid()}"):
                Journal.open(path, mode, timeout_s=0.0)
        with Journal.open(path) as reader:
            assert reader.get("a") == 1
    with Journal.open(path, "w", timeout_s=0.0) as second:
        assert second.get("a") == 1


def test_shared_writers_read_what_the_others_wrote(tmp_path):
    path = tmp_path / "r.jsonl"
    with Journal.open(path, "shared") as one, Journal.open(path, "shared") as two:
        assert one.append("a", 1)
        assert two.append("b", 2) and "a" in two
        assert one.append("b", 2) is False
        with pytest.raises(StoreError, match="another value"):
            two.append("a", 3)
        assert one.keys() == two.keys() == ("a", "b")


def test_s39_eight_processes_add_at_once_and_a_kill_loses_nothing(tmp_path):
    code = """
        import os, signal, sys
        from metagym.journal import Journal
        path = sys.argv[1]
        gate_read, gate_write = os.pipe()
        children = []
        for n in range(8):
            if (child := os.fork()) == 0:
                os.close(gate_write)
                with Journal.open(path, "shared") as store:
                    os.read(gate_read, 1)
                    for i in range(5):
                        store.append(f"card/{n}/{i}", {"text": f"{n}" * 50})
                os._exit(0)
            children.append(child)
        os.close(gate_write)  # all start now
        for child in children:
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        with Journal.open(path) as store:
            assert len(store) == 40, len(store)
        # one writer dies in the middle of a write, while it holds the lock
        if (child := os.fork()) == 0:
            store = Journal.open(path, "shared")
            real = os.write
            def half(fd, data):
                real(fd, bytes(data)[:20])
                os.kill(os.getpid(), signal.SIGKILL)
            os.write = half
            store.append("card/dead", {"text": "never acknowledged"})
        os.waitpid(child, 0)
        with Journal.open(path, "shared") as store:
            assert len(store) == 40
            assert store.append("card/after", 1)
        with Journal.open(path) as store:
            assert len(store) == 41 and "card/dead" not in store
        print("ok")
    """
    assert run_script(code, str(tmp_path / "bank.jsonl")).stdout == "ok\n"


def test_threads_may_share_one_journal(tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    path = tmp_path / "r.jsonl"
    with Journal.open(path, "w") as store, ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: store.append(f"k{i}", i), range(100)))
        assert sorted(store.get(key) for key in store.keys()) == list(range(100))
    with Journal.open(path) as store:
        assert len(store) == 100


def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StoreError, match="no regular file"):
        Journal.open(tmp_path / "pipe")
