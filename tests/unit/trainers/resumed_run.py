"""Small training runs that are killed: ``resumed_run.py '[["FOLDER", "STEP:PLACE"], ...]'``, one after another.

Each is a process of its own, forked from this one so that TRL is imported once. It goes on from the latest checkpoint
of its folder, writes what every generation was paid to ``generations.jsonl``, and at its end the digest of the final
weights and our final state to ``end.json``. Prints the exit status of each as a JSON list; -9 is a kill.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

STEPS = 8


def main(folder: Path, kill_at: str) -> None:
    """One run."""
    from metagym.seeding import rng
    from metagym_trainers import checkpoints
    from metagym_trainers.checkpoints import JsonPart, StateCallback, latest_checkpoint
    from metagym_trainers.convert import rollout_columns
    from metagym_trainers.episodes import TokenEpisode
    from metagym_trainers.policies import LocalPolicy
    from metagym_trainers.tracking import RolloutReward
    from tests.unit.trainers.stubs import COLOURS, grpo

    step, _, place = kill_at.partition(":")
    memory: list[Any] = []  # our own state: what was seen decides what is paid

    def die(now: int, here: str) -> None:
        if place == here and now == int(step or -1):
            os.kill(os.getpid(), signal.SIGKILL)

    async def one(policy: LocalPolicy, trainer: Any, prompt: Any, at: int) -> TokenEpisode:
        tokenizer = trainer.processing_class
        ids = tokenizer.apply_chat_template(prompt, add_generation_prompt=True, return_dict=False)
        sample = await policy.sample(ids, max_tokens=3, seed=at)
        said = tokenizer.decode(sample.ids)
        wanted = prompt[0]["content"].split()[-1]
        bonus = rng(len(memory), "bonus", at // 2).random()  # depends on the state, so that a stale one shows
        reward = float(wanted in said) + 0.1 * sum(colour in said for colour in COLOURS) * bonus
        return TokenEpisode(ids, sample.ids, (1,) * len(sample.ids), None, reward, ("row", at // 2), "agent")

    def rollout(prompts: Sequence[Any], trainer: Any) -> dict[str, Any]:
        now = trainer.state.global_step
        policy = LocalPolicy(trainer)
        episodes = policy.run(policy.gather(one(policy, trainer, prompt, at) for at, prompt in enumerate(prompts)))
        rows = [episode for episode in episodes if isinstance(episode, TokenEpisode)]
        die(now, "rollout")
        line = {
            "step": now,
            "prompts": [prompt[0]["content"] for prompt in prompts],
            "rewards": [row.reward for row in rows],
            "ids": [row.completion_ids for row in rows],
            "memory": list(memory),
        }
        with (folder / "generations.jsonl").open("a") as file:
            file.write(json.dumps(line) + "\n")
        memory.append([now, sum(row.reward or 0.0 for row in rows)])
        return rollout_columns(rows, len(prompts), group_size=trainer.num_generations)

    reward = RolloutReward()

    def paid(**columns: Any) -> Any:
        found = reward(**columns)
        die(columns["trainer_state"].global_step, "reward")
        return found

    def restore(found: list[Any]) -> None:
        memory[:] = found

    class Callback(StateCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            die(state.global_step, "step")
            super().on_step_end(args, state, control, **kwargs)

        def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            die(state.global_step, "save")
            super().on_save(args, state, control, **kwargs)
            die(state.global_step, "saved")

    replace = os.replace

    def replaced(source: Any, target: Any) -> None:
        if Path(target).name == checkpoints.MANIFEST:
            die(json.loads(Path(source).read_text())["step"], "parts")
        replace(source, target)

    checkpoints.os.replace = replaced  # type: ignore[attr-defined]
    trainer = grpo(
        folder / "out",
        reward_funcs=paid,
        rollout_func=rollout,
        callbacks=[Callback({"memory": JsonPart(lambda: memory, restore)})],
        max_steps=STEPS,
        save_strategy="steps",
        save_steps=2,
        steps_per_generation=2,
        gradient_accumulation_steps=1,
    )
    trainer.train(resume_from_checkpoint=latest_checkpoint(folder / "out"))
    weights = hashlib.sha256()
    for name, tensor in sorted(trainer.model.state_dict().items()):
        weights.update(name.encode() + tensor.detach().cpu().numpy().tobytes())
    (folder / "end.json").write_text(json.dumps({"weights": weights.hexdigest(), "memory": memory}))


def forked(folder: Path, kill_at: str) -> int:
    """Exit status of a run in a process of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    status = 1
    try:
        with (folder / "log.txt").open("a") as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
        main(folder, kill_at)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


if __name__ == "__main__":
    os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"
    sys.path.insert(0, str(Path(__file__).parents[3]))
    import torch
    from trl import GRPOConfig, GRPOTrainer  # noqa: F401  (here, so that no child imports it again)

    torch.set_num_threads(1)
    print(json.dumps([forked(Path(folder), kill_at) for folder, kill_at in json.loads(sys.argv[1])]))
