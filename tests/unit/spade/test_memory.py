"""The environment memory: nothing acknowledged is lost, nothing counts twice, a reload samples alike."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metagym.errors import BadInput, StoreCorrupt, StoreError, StoreLocked, UnknownName
from metagym.journal import Journal
from metagym.spade.fingerprint import ast_fingerprint
from metagym.spade.lineage import to_dot
from metagym.spade.memory import EnvMemory
from metagym.spade.memory_state import MemorySettings
from metagym.spade.novelty import HashedNgrams, novelty
from metagym.spade.records import UNMEASURED, EnvRecord, EnvView, Plays
from metagym.spade.samplers import SAMPLERS
from metagym.stats import Estimate, wilson

SOURCE = '"""title: {name}"""\nclass DoorEnv:\n    def step(self, action):\n        return "{name}", {body}, True\n'


def record(name, skill="a", round=0, parents=(), body="1.0", **more):
    source = SOURCE.format(name=name, body=body)
    header = {"title": f"The {name}"}
    return EnvRecord(name, source, skill, round, header, parents=parents, ast=ast_fingerprint(source), **more)


def plays(round, wins=8, n=16, regret=0.25, batch=0):
    return Plays(round, wilson(wins, n), wilson(n, n), Estimate(regret, -0.1, 0.6, n), batch=batch)


def digests(views):
    return [view.digest for view in views]


def fill(memory, count=30):
    for i in range(count):
        parents = (f"d{i - 1:02}",) if i % 3 else ()
        memory.add(record(f"d{i:02}", "abc"[i % 3], i // 4, parents), plays(i // 4, i % 17, regret=i * 7 % 20 / 20))
        if i % 4 == 3:
            memory.record_plays(f"d{i - 1:02}", plays(i // 4 + 1, i % 11))


@pytest.fixture(params=["file", "ram"])
def made(request, tmp_path):
    """Makes a writable memory, with and without a file."""
    opened = []

    def make(settings_=None):
        if request.param == "ram":
            return EnvMemory.in_memory(settings_)
        opened.append(EnvMemory.open(tmp_path / f"m{len(opened)}.jsonl", "w", settings_))
        return opened[-1]

    yield make
    for memory in opened:
        memory.close()


# --- what is kept


def test_a_program_comes_back_whole(made):
    memory = made()
    whole = record(
        "x", parents=("p", "p", "q"), doc_id="doc", report={"ok": True, "metrics": {"steps": 3}}, behaviour="bb"
    )
    assert memory.add(whole, plays(0))
    view = memory.snapshot().get("x")
    assert view.record == whole and view.record.parents == ("p", "q") and view.admission == plays(0)
    assert view.record.ast == ast_fingerprint(whole.source)
    assert "x" in memory and "y" not in memory and len(memory) == 1
    with pytest.raises(UnknownName, match="program y was never"):
        memory.snapshot().get("y")


def test_the_source_stands_readable_in_the_file(tmp_path):
    with EnvMemory.open(tmp_path / "m.jsonl", "w") as memory:
        memory.add(record("x"))
    lines = [json.loads(line) for line in (tmp_path / "m.jsonl").read_text("utf-8").splitlines()]
    assert [line["key"] for line in lines] == ["memory", "add/0/x"]
    assert lines[1]["value"]["record"]["source"] == record("x").source


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
numbers = st.none() | st.floats(0, 1)
estimates = st.builds(Estimate, numbers, numbers, numbers, st.integers(0, 99))


@given(st.builds(Plays, st.integers(0, 99), estimates, estimates, estimates, estimates, st.integers(0, 9)))
@settings(deadline=None, max_examples=60)
def test_a_measurement_comes_back_from_json(found):
    assert Plays.from_json(json.loads(json.dumps(found.to_json()))) == found


@given(
    st.builds(
        EnvRecord,
        texts.filter(bool),
        texts,
        texts,
        st.integers(0, 99),
        st.dictionaries(texts, texts | st.integers(), max_size=3),
        texts,
        st.lists(texts.filter(bool), max_size=3).map(tuple),
        st.dictionaries(texts, st.booleans(), max_size=3),
        st.none() | st.just(ast_fingerprint("x = 1")),
        texts,
    )
)
@settings(deadline=None, max_examples=60)
def test_a_record_comes_back_from_json_and_from_a_memory(found):
    assert EnvRecord.from_json(json.loads(json.dumps(found.to_json()))) == found
    if found.digest not in found.parents:
        memory = EnvMemory.in_memory()
        memory.add(found)
        assert memory.snapshot().views[0].record == found


@pytest.mark.parametrize(
    ("bad", "named"),
    [
        ({"digest": ""}, "needs a digest"),
        ({"source": b"x"}, "source of an environment record is text"),
        ({"round": -1}, "round of a program"),
        ({"parents": "abc"}, "parents of program d are digests"),
        ({"parents": (1,)}, "parents of program d are digests"),
    ],
)
def test_a_record_that_is_none_is_refused(bad, named):
    with pytest.raises(BadInput, match=named):
        EnvRecord(**{"digest": "d", "source": "s", "skill": "k", "round": 0, **bad})


def test_numbers_that_are_none_are_unmeasured_and_never_zero(made):
    found = Plays(0, Estimate(float("nan"), None, None, 3, 2), regret=Estimate(float("inf"), None, None, 3))
    assert (found.p0.value, found.p0.unscored, found.regret) == (None, 2, UNMEASURED)
    memory = made()
    memory.add(record("x"), found)
    view = memory.snapshot().views[0]
    assert view.regret is None and view.p0 is None and view.difficulty is None


# --- idempotence


def test_writing_again_changes_nothing(made):
    memory = made(MemorySettings(capacity=10))
    fill(memory)
    before = memory.snapshot()
    fill(memory)
    assert memory.snapshot().digest == before.digest and memory.snapshot() == before
    assert memory.add(record("d29", "abc"[29 % 3], 99)) is False  # in use already
    assert memory.record_plays("d29", plays(9)) and not memory.record_plays("d29", plays(9))
    assert len(memory.snapshot().get("d29").later) == 1


def test_the_same_key_with_other_content_is_refused(made):
    memory = made()
    memory.add(record("x"), plays(0))
    memory.record_plays("x", plays(1))
    with pytest.raises(StoreError, match="already holds another value"):
        memory.add(record("x"), plays(0, wins=9))
    with pytest.raises(StoreError, match="already holds another value"):
        memory.record_plays("x", plays(1, wins=9))
    assert memory.record_plays("x", plays(1, wins=9, batch=1))
    with pytest.raises(UnknownName, match="add it first"):
        memory.record_plays("y", plays(1))


def test_plays_of_a_round_before_the_program_entered_are_refused(made):
    memory = made()
    memory.add(record("x", round=5), plays(3))  # these it enters with
    with pytest.raises(BadInput, match="plays of round 4: program x entered in round 5"):
        memory.record_plays("x", plays(4))
    assert memory.record_plays("x", plays(5)) and not len(memory.snapshot(before=5))


def test_a_round_sees_what_was_there_when_it_began(made):
    memory, until = made(), made()
    fill(memory, 30)
    for i in range(12):  # rounds 0, 1 and 2
        parents = (f"d{i - 1:02}",) if i % 3 else ()
        until.add(record(f"d{i:02}", "abc"[i % 3], i // 4, parents), plays(i // 4, i % 17, regret=i * 7 % 20 / 20))
        if i in (3, 7):
            until.record_plays(f"d{i - 1:02}", plays(i // 4 + 1, i % 11))
    assert memory.snapshot(before=3) == until.snapshot()
    assert len(memory.snapshot(before=0)) == 0 and memory.snapshot(before=99) == memory.snapshot()


# --- files


def test_a_reload_samples_alike(tmp_path):
    with EnvMemory.open(tmp_path / "m.jsonl", "w", MemorySettings(capacity=12)) as memory:
        fill(memory)
        first = memory.snapshot()
    ram = EnvMemory.in_memory(MemorySettings(capacity=12))
    fill(ram)
    with EnvMemory.open(tmp_path / "m.jsonl") as again:
        assert again.snapshot() == first == ram.snapshot() and again.settings.capacity == 12
        for name in SAMPLERS:
            for seed in range(5):
                assert again.sample(name, 4, seed, "b") == first.sample(name, 4, seed, "b")
        assert again.snapshot().examples("a", 3) == first.examples("a", 3)
        assert {view.skill for view in again.sample("stale", 9, 0, "c")} == {"c"}


KILLED = """
import sys
from metagym.spade.memory import EnvMemory
from metagym.spade.memory_state import MemorySettings
from metagym.spade.records import EnvRecord, Plays
with EnvMemory.open(sys.argv[1], "w", MemorySettings(capacity=5)) as memory:
    for i in range(10**6):
        memory.add(EnvRecord(f"d{i}", "source " * 300, "a", i), Plays(i))
        print(f"add/{i}/d{i}", flush=True)
        memory.record_plays(f"d{i}", Plays(i + 1))
        print(f"plays/{i + 1}/d{i}/0", flush=True)
"""


@pytest.mark.parametrize("after", [1, 12, 41])
def test_what_was_acknowledged_survives_kill_9(tmp_path, after):
    path = tmp_path / "m.jsonl"
    worker = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True
    )
    with worker:
        told = [worker.stdout.readline().strip() for _ in range(after)]
        os.kill(worker.pid, signal.SIGKILL)
        told += worker.stdout.read().split("\n")[:-1]
    with Journal.open(path) as store:
        assert all(key in store for key in told)
    with EnvMemory.open(path, "w") as memory:
        last = int(told[-1].split("/d")[1].split("/")[0])
        memory.add(EnvRecord(f"d{last}", "source " * 300, "a", last), Plays(last))  # as a resumed run does
        assert len(memory) <= 5 and memory.snapshot().views[-1].record.round >= last
        assert memory.add(EnvRecord("more", "s", "a", 10**6))


def test_an_eviction_that_was_cut_off_is_made_up_for(tmp_path):
    path = tmp_path / "m.jsonl"
    small = MemorySettings(capacity=2)
    with EnvMemory.open(path, "w", small) as memory:
        for i in range(3):
            memory.add(record(f"d{i}", round=i))
    whole = path.read_bytes()
    cut = whole[: whole.rstrip(b"\n").rfind(b"\n") + 1]
    assert b'"evict/2/d0"' in whole[len(cut) :]
    path.write_bytes(cut)
    with EnvMemory.open(path, "w") as memory:
        assert len(memory) == 3
        assert memory.add(record("d2", round=2)) is False
        assert digests(memory.snapshot().views) == ["d1", "d2"]
    assert path.read_bytes() == whole


def test_readers_read_beside_a_writer(tmp_path):
    path = tmp_path / "m.jsonl"
    with EnvMemory.open(path, "w") as writer:
        readers = [EnvMemory.open(path) for _ in range(3)]
        seen = []

        def read(reader):
            while len(reader) < 25:
                reader.refresh()
                seen.append(len(reader.snapshot()))

        threads = [threading.Thread(target=read, args=(reader,)) for reader in readers]
        for thread in threads:
            thread.start()
        for i in range(25):
            writer.add(record(f"d{i}", round=i))
        for thread in threads:
            thread.join(60)
        assert all(reader.snapshot() == writer.snapshot() for reader in readers) and max(seen) == 25
        with pytest.raises(StoreLocked):
            EnvMemory.open(path, "w")
        with pytest.raises(BadInput, match="open for reading"):
            readers[0].add(record("new"))
        with pytest.raises(BadInput, match="open for reading"):
            readers[0].record_plays("d1", plays(1))
        for reader in readers:
            reader.close()


def test_evaluation_reads_and_changes_nothing(tmp_path):
    path = tmp_path / "m.jsonl"
    with EnvMemory.open(path, "w") as memory:
        fill(memory)
        before = memory.snapshot().digest
    raw = path.read_bytes()
    with EnvMemory.open(path) as memory:
        memory.sample("plr", 3, 0), memory.novelty(record("new")), memory.snapshot().lineage()
        assert memory.snapshot().digest == before
    assert path.read_bytes() == raw


@pytest.mark.parametrize(
    ("damage", "line"),
    [
        (lambda lines: [lines[0], lines[1][:-9] + b"XXXXXX" + lines[1][-3:], *lines[2:]], 2),
        (lambda lines: lines[1:], 1),
    ],
)
def test_a_corrupt_file_is_named_with_its_line(tmp_path, damage, line):
    path = tmp_path / "m.jsonl"
    with EnvMemory.open(path, "w") as memory:
        fill(memory, 4)
    path.write_bytes(b"".join(damage(path.read_bytes().splitlines(keepends=True))))
    for mode in ("r", "w"):
        with pytest.raises(StoreCorrupt, match=f"{path}, line {line}"):
            EnvMemory.open(path, mode)


@pytest.mark.parametrize(
    "odd",
    [
        ("turn/0/prompt", {"kind": "prompt"}),
        ("add/0/x", {"record": {}, "plays": None}),
        ("add/zero/x", {"record": record("x").to_json(), "plays": None}),
        ("add/0/x", None),
        ("plays/0/x/0", {"digest": "x", "plays": plays(0).to_json()}),
        ("evict/0/x", {"digest": "never"}),
        ("memory/2", 3),
    ],
)
def test_a_journal_that_is_no_memory_is_named_with_its_line(tmp_path, odd):
    path = tmp_path / "m.jsonl"
    EnvMemory.open(path, "w").close()
    with Journal.open(path, "w") as store:
        store.append(*odd)
    with pytest.raises(StoreCorrupt, match=f"{path}, line 2: no record of a memory"):
        EnvMemory.open(path)


def test_a_memory_of_another_version_or_with_other_settings_is_refused(tmp_path):
    path = tmp_path / "m.jsonl"
    EnvMemory.open(path, "w", MemorySettings(capacity=3)).close()
    with pytest.raises(BadInput, match="capacity=3.*capacity=4.*were asked for"):
        EnvMemory.open(path, "w", MemorySettings(capacity=4))
    EnvMemory.open(path, "w").close()  # the refusal gave the lock back
    with Journal.open(tmp_path / "n.jsonl", "w") as store:
        store.append("memory", {"format": 99})
    with pytest.raises(StoreCorrupt, match="line 1.*another version"):
        EnvMemory.open(tmp_path / "n.jsonl")
    with pytest.raises(BadInput, match="mode 'r' or 'w'"):
        EnvMemory.open(path, "shared")
    with pytest.raises(StoreError, match="no such file"):
        EnvMemory.open(tmp_path / "absent.jsonl")


@pytest.mark.parametrize("bad", [{"capacity": 0}, {"eviction": "random"}, {"forgetting": 0}, {"forgetting": 1.5}])
def test_unusable_settings_are_refused(bad):
    with pytest.raises(BadInput, match=next(iter(bad))):
        MemorySettings(**bad)


# --- eviction


def test_the_oldest_go_first_and_nothing_is_deleted(made):
    memory = made(MemorySettings(capacity=3))
    for i in range(6):
        memory.add(record(f"d{i}", round=i))
    now = memory.snapshot()
    assert digests(now.views) == ["d3", "d4", "d5"] and digests(now.all_views) == [f"d{i}" for i in range(6)]
    assert now.get("d0").record.source == record("d0", round=0).source and not now.get("d0").live
    assert memory.add(record("d0", round=9)) and digests(memory.snapshot().views) == ["d4", "d5", "d0"]


def test_quality_diversity_keeps_every_skill_and_the_best_of_it(made):
    memory = made(MemorySettings(capacity=4, eviction="quality_diversity"))
    memory.add(record("rare", "b"), plays(0, regret=0.0))
    for i, regret in enumerate([0.5, None, 0.1, 0.9, 0.0, 0.4]):
        memory.add(record(f"d{i}", "a", i), Plays(i, regret=Estimate(regret, None, None, 8)))
    # d1 (unmeasured), d2 (0.1), d4 (0.0) went; d5 came last and is there
    assert digests(memory.snapshot().views) == ["rare", "d0", "d3", "d5"]


@given(
    st.lists(st.tuples(st.integers(0, 15), st.sampled_from("ab"), st.none() | st.floats(-1, 1)), max_size=25),
    st.integers(1, 5),
    st.sampled_from(["fifo", "quality_diversity"]),
)
@settings(deadline=None, max_examples=60)
def test_a_memory_never_exceeds_its_capacity_and_keeps_the_newest(steps, capacity, eviction):
    memory = EnvMemory.in_memory(MemorySettings(capacity, eviction))
    for round, (name, skill, regret) in enumerate(steps):
        new = memory.add(EnvRecord(f"d{name}", "s", skill, round), Plays(round, regret=Estimate(regret, None, None, 4)))
        assert f"d{name}" in memory and len(memory) <= capacity
        assert not new or memory.snapshot().views[-1].digest == f"d{name}"
    assert {view.digest for view in memory.snapshot().all_views} == {f"d{name}" for name, _, _ in steps}
    assert len(memory) == min(capacity, len({name for name, _, _ in steps}))


# --- difficulty


def test_difficulty_counts_plays_after_the_insertion_alone_and_forgets():
    view = EnvView(record("x", round=3), plays(3, wins=16))
    assert view.difficulty is None and view.p0 == 1.0 and view.last_played == 3
    view = replace(view, later=(plays(4, wins=0), plays(6, wins=8)), forgetting=0.5)
    # weights 16 * 0.25 and 16
    assert view.p0 == pytest.approx((0.25 * 0 + 1 * 0.5) / 1.25) and view.difficulty == pytest.approx(1 - 0.4)
    assert view.last_played == 6 and view.plays == 3 * 32
    unmeasured = replace(view, later=(Plays(9),))
    assert unmeasured.difficulty is None and unmeasured.p0 == 1.0 and unmeasured.last_played == 9


def test_more_plays_count_more():
    view = EnvView(record("x"), None, (plays(1, wins=0, n=30), plays(1, wins=10, n=10, batch=1)))
    assert view.p0 == pytest.approx(0.25)


def test_a_program_that_comes_back_starts_again(made):
    memory = made(MemorySettings(capacity=1))
    memory.add(record("x"), plays(0))
    memory.record_plays("x", plays(1, wins=0))
    memory.add(record("y", round=1))
    memory.add(record("x", round=2), plays(2, wins=12))
    view = memory.snapshot().views[0]
    assert (view.digest, view.later, view.p0, view.difficulty) == ("x", (), 0.75, None)


# --- novelty


def test_a_renamed_program_is_not_new_and_another_rule_is(made):
    memory = made()
    base = record("x", body="1.0 if action else 0.0")
    memory.add(base)
    renamed = replace(record("y"), source=base.source.replace("action", "move"), behaviour="")
    renamed = replace(renamed, ast=ast_fingerprint(renamed.source))
    assert memory.novelty(renamed).value == 0.0 and memory.novelty(base).value == 0.0
    other = record("z", body="sum(range(len(action))) / max(1, len(action) ** 2) if action.isalpha() else -1.0")
    found = memory.novelty(other, k=3)
    assert found.value > 0.2 and found.nearest[0][0] == "x" and found.nearest[0][1] == pytest.approx(1 - found.value)
    assert EnvMemory.in_memory().novelty(base).value == 1.0


def test_equal_behaviour_is_no_novelty_and_missing_fingerprints_fall_back_to_words():
    left = EnvRecord("l", "a door opens with a key", "a", 0, behaviour="same")
    right = EnvRecord("r", "something of other words", "a", 0, behaviour="same")
    assert novelty(left, [right]).value == 0.0
    words = EnvRecord("w", "a door opens with a code", "a", 0)
    found = novelty(left, [words, replace(right, behaviour="")])
    assert found.nearest[0][0] == "w" and 0 < found.value < 1 and found.wording == pytest.approx(1 - found.value)


def test_evicted_programs_count_where_asked(made):
    memory = made(MemorySettings(capacity=1))
    memory.add(record("x", body="[action for action in 'abc'][::-1]"))
    memory.add(record("y", round=1))
    assert memory.novelty(record("x", body="[action for action in 'abc'][::-1]"), evicted=True).value == 0.0
    assert memory.novelty(record("x", body="[action for action in 'abc'][::-1]")).value > 0.0


def test_similarity_and_embedder_are_pluggable():
    class Lengths:
        id = "lengths"

        def vectors(self, texts):
            return np.array([[float(len(text) % 2), float(1 - len(text) % 2)] for text in texts])

    memory = EnvMemory.in_memory(similarity=lambda a, b: 0.75, embedder=Lengths())
    memory.add(record("x"))
    assert memory.novelty(record("y")).value == 0.25 and memory.novelty(record("y")).wording == 1.0


@given(st.lists(st.text(max_size=40), min_size=1, max_size=5))
@settings(deadline=None, max_examples=60)
def test_vectors_have_length_one_or_none(texts_):
    lengths = np.linalg.norm(HashedNgrams(64).vectors(texts_), axis=1)
    assert all(abs(length - 1) < 1e-9 or length == 0 for length in lengths)


# --- lineage


def test_the_lineage_names_evicted_and_unknown_parents(made):
    memory = made(MemorySettings(capacity=2))
    memory.add(record("a", parents=("stranger",)))
    memory.add(record("b", round=1, parents=("a",)), plays(1))
    memory.add(record("c", round=2, parents=("a", "b")))
    graph = memory.snapshot().lineage()
    assert graph["edges"] == [["stranger", "a"], ["a", "b"], ["a", "c"], ["b", "c"]]
    state = {node["digest"]: (node["live"], node["known"]) for node in graph["nodes"]}
    assert state == {"a": (False, True), "b": (True, True), "c": (True, True), "stranger": (False, False)}
    assert json.loads(json.dumps(graph)) == graph and graph["nodes"][1]["p0"] == 0.5
    dot = to_dot(graph)
    assert '"a" -> "b";' in dot and '"stranger" [style=dotted' in dot and '"a" [style=dashed' in dot


def test_titles_cannot_write_into_the_picture():
    memory = EnvMemory.in_memory()
    title = 'x"]; evil [label="\\' + "\n}\u2028\x00"
    memory.add(replace(record("a"), header={"title": title}))
    line = next(line for line in to_dot(memory.snapshot().lineage()).splitlines() if "label" in line)
    assert line == '  "a" [style=solid, label="x\\"]; evil [label=\\"\\\\ } \\na, round 0"];'


def test_nobody_is_their_own_ancestor(made):
    memory = made()
    with pytest.raises(BadInput, match="its own ancestor"):
        memory.add(record("a", parents=("a",)))
    memory.add(record("a", parents=("b",)))
    memory.add(record("c", parents=("a",)))
    with pytest.raises(BadInput, match="its own ancestor"):
        memory.add(record("b", parents=("c",)))
    assert digests(memory.snapshot().views) == ["a", "c"]


def test_equal_memories_in_processes_with_other_hash_seeds(tmp_path):
    code = textwrap.dedent("""
        import sys
        from metagym.spade.memory import EnvMemory
        from metagym.spade.records import EnvRecord, Plays
        from metagym.stats import Estimate
        memory = EnvMemory.in_memory()
        for i in range(20):
            plays = Plays(i, regret=Estimate(i % 3, None, None, 4))
            memory.add(EnvRecord(f"d{i}", f"word{i} other", "ab"[i % 2], i), plays)
        print(memory.snapshot().digest, [v.digest for v in memory.sample("plr", 5, 1)],
              [v.digest for v in memory.sample("high_regret", 5, 1)], memory.novelty(EnvRecord("n", "word3", "a", 0)))
    """)
    out = {
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code], env={"PYTHONHASHSEED": s}, capture_output=True, check=True
        ).stdout
        for s in ("1", "2")
    }
    assert len(out) == 1
