"""The HTML report: complete, bounded, harmless whatever a run holds, and readable in a real browser."""

import base64
import hashlib
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser

import pytest

from metagym.episodes import Repair, Status, Turn, Usage
from metagym.errors import RunError
from metagym.runs.report import MAX_BYTES, page, write_report
from metagym.runs.report.text import MAX_DIFF_LINES, as_lines, diff, visible
from tests.unit.runs.synthetic import TYPES, a_manifest, a_task, an_episode, episode_records, meta_episode

VOID = {"meta", "wbr", "br", "link", "img", "input", "hr"}
HOSTILE = (
    "<script>document.title='pwned'</script>]]><!-- </style></details></pre><img src=x onerror=alert(1)>"
    "{{ 7*7 }}{% raw %}%s$x$ \u202egnp.exe\u2066 \x00\x07\x1b[31m \ud800 \ufffe &lt; 🗝️ ключ 鍵 ≥"
)


class Page(HTMLParser):
    """The tags, attributes and visible text of a page; open tags must match (an item of a list ends with the next)."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == [], f"unclosed: {self.open}"

    def handle_starttag(self, tag, attrs):
        if tag == "li" and self.open[-1:] == ["li"]:
            self.open.pop()
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        if tag in ("ol", "ul") and self.open[-1:] == ["li"]:
            self.open.pop()
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-1:]} at {self.getpos()}"
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script", "template"):
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def report(path, packed: bool = False) -> tuple[str, Page]:
    file = write_report(path)
    assert file == path / "report.html"
    raw = file.read_bytes()
    assert len(raw) < MAX_BYTES
    text = raw.decode("utf-8")
    parsed = Page(text)
    check_harmless(text, parsed, packed)
    return text, parsed


def check_harmless(text: str, parsed: Page, packed: bool = False) -> None:
    """No request, no control character, no script but the one that unpacks, whatever the run held."""
    assert not {"iframe", "object", "embed", "link", "base", "form", "img", "image"} & set(parsed.tags)
    for name, value in parsed.attributes:
        assert not name.startswith("on")
        if name in ("href", "src", "xlink:href"):
            assert value is not None and value.startswith("#")
    assert "@import" not in text and not re.search(r"url\((?!#)", text)
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert len(scripts) == parsed.tags.count("script") == int(packed)
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    sources = "".join(f" script-src 'sha256-{item}';" for item in hashes)
    policy = f"default-src 'none'; style-src 'unsafe-inline';{sources} base-uri 'none'; form-action 'none'"
    assert [value for name, value in parsed.attributes if value and "default-src" in value] == [policy]
    assert text.index(policy) < text.index("<title>")
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", text)


# --- content


def test_the_report_tells_the_whole_run(make_run):
    text, parsed = report(make_run())
    shown = parsed.text
    assert "Toy : success 0.00 to 0.83 in 4 reflections" in shown
    for heading in ("Results", "The system prompt, turn by turn", "Episodes", "Usage", "Manifest"):
        assert heading in shown
    assert "rules (scripted)" in shown and "generated" in shown and "native" in shown
    assert "Scripted stand-ins: this shows that the loop works, not what a language model can do." in shown
    for name in TYPES:
        assert name.replace("_", "_ ") in shown  # may be broken there
    assert "difference, paired by task" in shown and "McNemar p < 0.001" in shown
    assert "Three of five games stalled" in shown
    assert shown.count("Held-out evaluation") == 5 and shown.count("Batch of unseen training tasks") == 5
    assert "open fridge 1" in shown and "You pick up the mug 1." in shown and "repaired" in shown
    assert '"max_steps": 30' in shown
    assert parsed.tags.count("svg") == 1 and 'role="img"' in text


def test_every_episode_stands_turn_by_turn(make_run):
    _, parsed = report(make_run())
    assert parsed.text.count("last observation") == 29 * 5
    assert parsed.text.count("the fridge is closed.") == 29 * 5


def test_the_prompt_is_shown_as_a_diff(make_run):
    text, _ = report(make_run())
    added = re.findall(r'<div class="add" data-op="\+"><ins>(.*?)</ins></div>', text)
    assert added[0] == "1. If a container is closed, open it."
    assert len(added) == 4 and 'class="del"' not in text


def test_equal_runs_give_equal_bytes(make_run, tmp_path):
    one, two = make_run("a/run"), make_run("b/run")
    assert write_report(one).read_bytes() == write_report(two).read_bytes()
    assert write_report(one).read_bytes() == write_report(two).read_bytes()


def test_the_figure_takes_the_pages_colours_and_no_date(make_run):
    text, _ = report(make_run())
    svg = text[text.index("<svg") : text.index("</svg>")]
    assert "var(--c0)" in svg and "#0d0e" not in svg and "#0102" not in svg
    assert "<metadata" not in svg and "<style" not in svg and "clipPath" in svg
    assert "turn 4 0.83" in svg  # in words, for those who do not see it
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    for used in re.findall(r'(?:url\(|href=")#([^")]+)', text):
        assert used in ids


def test_arms_are_set_side_by_side(make_run):
    rows = meta_episode("arm/initial/seed/0/", learns=0.0)
    rows += meta_episode("arm/rules/seed/0/", seed=1) + meta_episode("arm/rules/seed/1/", seed=2)
    _, parsed = report(make_run(rows=rows))
    assert "2 arms on the same held-out tasks" in parsed.text
    assert "differences to initial , paired by task" in parsed.text
    assert "over tasks" in parsed.text and "rules , seed 1" in parsed.text


def test_arms_that_are_scored_once_are_drawn_as_intervals(make_run):
    rows = []
    for arm, wins in (("start", 2), ("better", 9), ("unmeasured", None)):
        episodes = [an_episode(a_task(i), None if wins is None else i < wins) for i in range(12)]
        rows += episode_records(f"arm/{arm}/seed/0/", 0, "eval", episodes)
    text, parsed = report(make_run(rows=rows))
    assert "Success rate of each arm" in parsed.text
    assert "12 unscored" in parsed.text


def test_runs_that_have_just_begun_are_reported(make_run):
    _, parsed = report(make_run("empty", rows=[]))
    assert "nothing scored yet" in parsed.text and "No episode has been played yet." in parsed.text
    _, parsed = report(make_run("first", rows=meta_episode(turns=0)[:6]))
    assert "Toy : success 0.00" in parsed.text and "has not ended" in parsed.text


def test_what_was_not_measured_is_a_dash(make_run):
    failed = [an_episode(a_task(i), None, Status.ERROR, (), cause="worker died", ret=0.0) for i in range(4)]
    _, parsed = report(make_run(rows=episode_records("", 0, "eval", failed)))
    assert "Toy : success -" in parsed.text and "0.00" not in parsed.text.split("Usage")[0].split("Results")[1]
    assert "4 unscored" in parsed.text and "worker died" in parsed.text


def test_absent_answers_and_rejected_actions_are_marked(make_run):
    turns = (
        Turn("a", None, "", 0.0, False, False, Repair.ABSENT, "length"),
        Turn("b", "fly", "fly", 0.5, False, True, Repair.INVALID),
    )
    rows = episode_records("", 0, "eval", [an_episode(a_task(0), False, Status.TRUNCATED, turns, cause="step cap")])
    _, parsed = report(make_run(rows=rows))
    assert "no action: the model gave no answer (length)" in parsed.text
    assert "unknown to the game" in parsed.text and "reward +0.50" in parsed.text
    assert "truncated ( step cap )" in parsed.text


def test_failed_and_refused_rewrites_are_told(make_run):
    rows = dict(meta_episode(turns=2))
    start = rows["turn/0/prompt"]["prompt"]
    rows["turn/1/reflection"] |= {"outcome": "cut", "cause": "ended at the token limit", "prompt": start}
    rows["turn/2/reflection"] |= {"accepted": False, "rejected_prompt": "worse idea", "prompt": start}
    _, parsed = report(make_run(rows=list(rows.items())))
    assert "cut · ended at the token limit" in parsed.text and "The prompt stayed as it was." in parsed.text
    assert "not accepted" in parsed.text and "worse idea" in parsed.text


def test_usage_is_shown_by_seat(make_run):
    rows = meta_episode(turns=0)
    big = an_episode(a_task(99), True, usage=Usage(3, 1_234_567, 10, 4, 1_000, 0.5, True))
    rows += episode_records("", 1, "batch", [big])
    _, parsed = report(make_run(rows=rows))
    assert "estimated as characters / 4" in parsed.text
    assert re.search(r"actor 61 1,243,267 1,000 590 4 0\.5000", parsed.text)


# --- hostile content


def hostile_rows(text: str) -> list[tuple[str, object]]:
    turns = (Turn(text, text, text, 0.0, False, False, Repair.REPAIRED), Turn(text, text + " ", "x", 0.0, False, True))
    task = a_task(0)
    evil = type(task)("Toy", text[:200] + "id", text[:200] + "type", "valid")
    reflection = {
        "kind": "reflection", "turn": 1, "prompt": "x" + text, "outcome": "improved", "analysis": text, "reply": text,
        "cause": text, "usage": {}, "backend": "scripted", "accepted": False, "rejected_prompt": text,
    }  # fmt: skip
    rows: list[tuple[str, object]] = [
        ("turn/0/prompt", {"kind": "prompt", "turn": 0, "prompt": text}),
        ("turn/1/reflection", reflection),
    ]
    for turn in (0, 1):
        facts = {"last_observation": text, "cause": text, "info": {"engine": text}}
        rows += episode_records("", turn, "eval", [an_episode(evil, turn == 1, Status.TRUNCATED, turns, **facts)])
    return rows


def test_hostile_text_is_escaped_everywhere(make_run):
    path = make_run(rows=hostile_rows(HOSTILE), command=HOSTILE, config={**a_manifest()["config"], "actor": HOSTILE})
    text, parsed = report(path)
    assert "<script>document.title='pwned'</script>]]><!--" in parsed.text
    assert "{{ 7*7 }}" in parsed.text and "&lt;script&gt;" in text
    assert "⟨U+202E⟩" in parsed.text and "␀" in parsed.text and "🗝️ ключ 鍵 ≥" in parsed.text


def test_hostile_arm_names_are_escaped(make_run):
    rows = []
    for name in ("<script>alert(1)</script>", "_hidden $x^$ 鍵", "{{ 7*7 }}"):
        for turn in (0, 1):
            episodes = [an_episode(a_task(i), i % 2 == turn) for i in range(4)]
            rows += episode_records(f"arm/{name}/seed/0/", turn, "eval", episodes)
    _, parsed = report(make_run(rows=rows))
    assert (
        "<script>alert(1)</script>" in parsed.text and "_hidden $x^$ 鍵" in parsed.text and "{{ 7*7 }}" in parsed.text
    )


def test_huge_texts_are_bounded(make_run):
    text, parsed = report(make_run(rows=hostile_rows("<b>" * 350_000)))
    assert len(text) < 600_000
    assert "more characters]" in parsed.text


def test_many_turns_prompts_types_and_arms_stay_below_the_limit(make_run):
    rows: list[tuple[str, object]] = []
    for turn in range(120):
        prompt = "\n".join(f"rule {turn} {i} <&>" * 9 for i in range(100))
        reflection = {"kind": "reflection", "turn": turn, "prompt": prompt, "outcome": "improved", "analysis": prompt}
        rows.append((f"turn/{turn}/reflection", reflection))
        task = type(a_task(0))("Toy", f"t{turn}", f"type {turn}")
        rows += episode_records("", turn, "eval", [an_episode(task, True)])
    text, _ = report(make_run(rows=rows))
    assert len(text.encode()) > 500_000


def test_prompts_whose_markup_outgrows_them_stay_below_the_limit(make_run):
    rows: list[tuple[str, object]] = []
    for turn in range(400):
        prompt = f"{turn}\n" * 150
        reflection = {
            "kind": "reflection",
            "turn": turn,
            "prompt": prompt,
            "outcome": "improved",
            "analysis": '"' * 999,
        }
        rows.append((f"turn/{turn}/reflection", reflection))
    _, parsed = report(make_run(rows=rows))
    assert "Left out to keep this page small" in parsed.text


def test_endless_runs_show_their_latest_groups(make_run, monkeypatch):
    monkeypatch.setattr(page, "MAX_GROUPS", 3)
    _, parsed = report(make_run())
    assert "92 of 145 episodes are shown without their turns" in parsed.text
    assert "and 92 are not listed" in parsed.text and parsed.text.count("Held-out evaluation") == 2


def test_far_over_budget_even_lines_are_left_out_and_counted(make_run, monkeypatch):
    path = make_run(rows=meta_episode(turns=3, eval_tasks=40))
    monkeypatch.setattr(page, "_ROOM", 1)
    bare = len(report(path)[0].encode())  # no episode at all
    monkeypatch.setattr(page, "_ROOM", bare + 25_000)
    text, parsed = report(path)
    left_out = int(re.search(r"and (\d+) are not listed", parsed.text)[1])
    assert 0 < left_out < 180 and text.count('class="pill') == 180 - left_out
    assert "more are not listed" in parsed.text


# --- the file


def test_a_report_replaces_the_old_one_and_needs_a_run(make_run, tmp_path):
    path = make_run()
    (path / "report.html").write_text("old")
    report(path)
    assert not [item for item in path.iterdir() if item.name.startswith(".writing-")]
    with pytest.raises(RunError, match="is not a run folder"):
        write_report(tmp_path)


def test_s35_a_report_under_the_c_locale(make_run, tmp_path):
    path = make_run("résultats 鍵/run 1", rows=hostile_rows(HOSTILE))
    code = (
        "import sys; assert not sys.flags.utf8_mode; from metagym.runs import report; report.write_report(sys.argv[1])"
    )
    env = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, str(path)], env=env, capture_output=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    text = (path / "report.html").read_bytes().decode("utf-8")
    assert '<meta charset="utf-8">' in text and "🗝️ ключ 鍵 ≥" in text
    check_harmless(text, Page(text))


def test_importing_the_report_does_not_import_matplotlib():
    code = "import sys, metagym.runs.report; assert 'matplotlib' not in sys.modules and 'rich' not in sys.modules"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr


# --- text


def test_text_is_bounded_and_visible():
    assert visible("abc", 3) == "abc"
    assert visible("abcdef", 3) == "abc… [3 more characters]"
    assert visible("a\r\nb\tc", 99) == "a\nb\tc"
    assert visible("\x00\x1b\x7f\u202e\ud800\ufeff", 99) == "␀␛⟨U+007F⟩⟨U+202E⟩⟨U+D800⟩⟨U+FEFF⟩"
    visible("\ud800" * 10, 5).encode("utf-8")


def shape(lines):
    return [(line.op, "".join(part.text for part in line.parts)) for line in lines]


def test_diffs_keep_context_and_mark_words():
    old = "\n".join(f"line {i}" for i in range(12))
    new = old.replace("line 6", "line six")
    assert shape(diff(old, new, 999)) == [
        ("…", "4 unchanged lines"),
        (" ", "line 4"),
        (" ", "line 5"),
        ("-", "line 6"),
        ("+", "line six"),
        (" ", "line 7"),
        (" ", "line 8"),
        ("…", "3 unchanged lines"),
    ]
    changed = [line for line in diff(old, new, 999) if line.op == "+"][0]
    assert [(part.text, part.changed) for part in changed.parts] == [("line ", False), ("six", True)]
    assert shape(diff("a\nb", "a\nb", 99)) == [(" ", "a"), (" ", "b")]
    assert shape(diff("", "new", 99)) == [("+", "new")]
    assert shape(diff("alpha beta", "quite other words", 99)) == [("-", "alpha beta"), ("+", "quite other words")]


def test_long_prompts_are_compared_in_part():
    lines = as_lines("x\n" * 10_000, 10**6)
    assert len(lines) == MAX_DIFF_LINES + 1 and "more lines" in shape(lines)[-1][1]
    assert len(diff("word " * 50_000, "other " * 50_000, 10**6)) == 2


# --- a real browser


def browser() -> str:
    for name in ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"):
        if found := shutil.which(name):
            return found
    pytest.skip("no Chromium is installed")


def run_browser(tmp_path, *arguments: str, console: str = "") -> subprocess.CompletedProcess[bytes]:
    """Runs it without a network; every line of its console must hold the text, and without one there is no line."""
    done = subprocess.run(
        [
            browser(), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--enable-logging=stderr",
            "--host-resolver-rules=MAP * ~NOTFOUND", "--proxy-server=127.0.0.1:9",
            f"--user-data-dir={tmp_path / 'profile'}", *arguments,
        ],
        capture_output=True,
        timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    lines = [line for line in done.stderr.decode("utf-8", "replace").splitlines() if "CONSOLE" in line]
    assert bool(lines) == bool(console) and all(console in line for line in lines), lines
    return done


@pytest.mark.slow
@pytest.mark.parametrize("hostile", [False, True])
def test_a_real_browser_shows_the_report_from_disk(make_run, tmp_path, hostile):
    from matplotlib.image import imread

    path = make_run(rows=hostile_rows(HOSTILE) if hostile else None)
    address = write_report(path).as_uri()
    dom = run_browser(tmp_path, "--dump-dom", address).stdout.decode("utf-8")
    for part in ('id="results"', 'id="prompts"', 'id="episodes"', 'id="usage"', 'id="manifest"', "<svg", "</footer>"):
        assert part in dom
    assert "<title>run - MetaGym report</title>" in dom and "<script" not in dom
    for scheme, size in (("light", "1200,1800"), ("dark", "390,1800")):
        shot = tmp_path / f"{scheme}.png"
        flags = ["--force-dark-mode", "--blink-settings=preferredColorScheme=0"] if scheme == "dark" else []
        run_browser(tmp_path, f"--screenshot={shot}", f"--window-size={size}", *flags, address)
        pixels = (imread(shot)[:, :, :3] * 255).astype("uint32")
        colours = pixels[..., 0] << 16 | pixels[..., 1] << 8 | pixels[..., 2]
        assert len({int(c) for c in colours.ravel()[::7]}) > 50  # text, curve and boxes, not a blank page
        corner = pixels[2, 2].mean()
        assert corner < 60 if scheme == "dark" else corner > 200
