"""What runs are launched with: accelerate's configs, and the script that serves an actor."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from metagym_trainers.servers import vllm

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = str(ROOT / "examples" / "serve_actor.sh")
CONFIGS = sorted((ROOT / "examples" / "configs").glob("*.yaml"))
SIZES = {"1gpu": (1, 1), "8gpu": (1, 8), "2x8gpu": (2, 16)}


def test_there_is_a_config_for_every_kind_and_size() -> None:
    wanted = {f"{kind}_{size}.yaml" for kind in ("zero3", "fsdp2", "ddp") for size in SIZES} - {"ddp_1gpu.yaml"}
    assert {path.name for path in CONFIGS} == wanted


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_accelerate_reads_every_config(path: Path) -> None:
    pytest.importorskip("accelerate")
    from accelerate.commands.config.config_args import load_config_from_file
    from accelerate.utils import DistributedType

    config = load_config_from_file(str(path))
    kind, _, size = path.stem.partition("_")
    assert (config.num_machines, config.num_processes) == SIZES[size]
    assert config.mixed_precision == "bf16" and not config.use_cpu
    if kind == "zero3":
        assert config.distributed_type == DistributedType.DEEPSPEED and config.deepspeed_config["zero_stage"] == 3
    elif kind == "fsdp2":
        assert config.distributed_type == DistributedType.FSDP and config.fsdp_config["fsdp_version"] == 2
    else:
        assert config.distributed_type == DistributedType.MULTI_GPU
    assert f"examples/configs/{path.name}" in path.read_text(encoding="utf-8")  # the command at its head is its own


def sh(*arguments: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    bash = shutil.which("bash")
    assert bash is not None
    environment = {**os.environ, **({} if path is None else {"PATH": path})}
    return subprocess.run([bash, SCRIPT, *arguments], capture_output=True, text=True, env=environment, timeout=30)


def test_the_script_starts_the_command_that_the_supervisor_starts() -> None:
    arguments = ["m/x", "--print", "--port", "8003", "--context", "4096", "--tensor", "2", "--train"]
    printed = sh(*arguments).stdout.replace("\\", "").split()
    made = vllm("a", "m/x", port=8003, max_model_len=4096, tensor_parallel=2, training=True)
    ours = made.shown().replace("'", "").split()
    assert sorted(printed) == sorted(ours)


def test_the_script_runs_vllm_with_its_environment(tmp_path: Path) -> None:
    stub = tmp_path / "vllm"
    stub.write_text('#!/bin/sh\necho "$VLLM_SERVER_DEV_MODE $CUDA_VISIBLE_DEVICES $VLLM_BATCH_INVARIANT $@"\n')
    stub.chmod(0o755)
    done = sh("m", "--gpus", "0,1", "--invariant", "--", "--enforce-eager", path=f"{tmp_path}:{os.environ['PATH']}")
    assert done.stdout.startswith("1 0,1 1 serve m --host 127.0.0.1 --port 8000 --generation-config vllm")
    assert done.stdout.rstrip().endswith("--enforce-eager")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "name a model"),
        (("a", "b"), "one model at a time"),
        (("a", "--prot", "1"), "unknown option --prot; see --help"),
        (("a", "--port"), "--port needs a value"),
        (("a", "--port", "x1"), "not a whole number: 'x1'"),
    ],
)
def test_the_script_refuses_what_it_does_not_understand(arguments: tuple[str, ...], words: str) -> None:
    done = sh(*arguments)
    assert done.returncode == 2 and words in done.stderr and done.stdout == ""


def test_the_script_says_how_to_get_vllm(tmp_path: Path) -> None:
    done = sh("m", path=str(tmp_path))
    assert done.returncode == 2 and "pip install 'metagym-agents[gpu]'" in done.stderr


def test_the_scripts_help_names_every_option() -> None:
    text = Path(SCRIPT).read_text(encoding="utf-8")
    named = set(re.findall(r"(--[a-z]+)(?: \||\))", text))
    shown = sh("--help").stdout
    assert len(named) == 12 and all(f"  {option} " in shown for option in named) and "sampling=full" in shown


def test_the_page_on_trainers_names_what_there_is() -> None:
    from metagym_trainers import presets
    from metagym_trainers.ict.rewards import METRICS
    from metagym_trainers.versions import TRL, VLLM

    page = (ROOT / "docs" / "trainers.md").read_text(encoding="utf-8")
    examples = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    assert all(f"`{path.stem}`" in page for path in CONFIGS)
    named = set(re.findall(r"--preset (\S+?)[` \n]", page + examples)) | set(re.findall(r"plan (\w+-\S+)", page))
    assert len(named) >= 3 and named <= set(presets.NAMES)
    assert set(re.findall(r"`(replay/\w+)`", page)) <= set(METRICS)
    for name, versions in (("trl", TRL["trl"]), ("transformers", TRL["transformers"]), ("vllm", VLLM["vllm"])):
        assert f"| {name} |" in page and str(versions).replace(",", ", ").replace("=", "= ").replace("<", "< ") in page
    scripts = {path.name for path in (ROOT / "examples").glob("*.*") if path.suffix in (".py", ".sh")}
    assert all(f"`{script}`" in examples for script in scripts)
