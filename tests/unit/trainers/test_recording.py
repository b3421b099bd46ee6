"""Token in, token out: what was sampled is what is trained on, whatever would merge across a turn's border."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metagym.chat import Message, Request
from metagym.errors import BadInput, ContextOverflow
from metagym.playing import ActorSettings, play
from metagym.sesa.protocol import Turnwise
from metagym_trainers.episodes import TokenEpisode
from metagym_trainers.recording import Limits, Recorder, Template
from metagym_trainers.tiny.models import word_tokenizer
from tests.support.worlds import ListEnv, family_of, tasks_named
from tests.unit.trainers.stubs import MergingTokenizer, ScriptedPolicy

TOKENIZER = MergingTokenizer()
END, OTHER_END = TOKENIZER.vocabulary["<|end|>"], TOKENIZER.vocabulary["<|endoftext|>"]
INTER, NATIONAL, BOTH = (TOKENIZER.vocabulary[piece] for piece in (" inter", "national", " international"))


def ask(*texts: str, **more: Any) -> Request:
    """A conversation of alternating user and assistant texts."""
    roles = ("user", "assistant")
    return Request(
        tuple(Message(roles[at % 2], text) for at, text in enumerate(texts)),  # type: ignore[arg-type]
        temperature=1.0,
        **more,
    )


def converse(recorder: Recorder, says: Sequence[str], stop: tuple[str, ...] = ()) -> list[str]:
    """Goes through a conversation in which the user says what is given; the assistant's texts."""
    texts: list[str] = []
    answers = []
    for said in says:
        texts.append(said)
        reply = asyncio.run(recorder.chat(ask(*texts, stop=stop)))
        texts.append(reply.text or "(no answer)")
        answers.append(reply.text or "")
    return answers


def check(episode: TokenEpisode, policy: ScriptedPolicy) -> None:
    """The contract of every row with the policy that was asked."""
    assert len(episode.completion_ids) == len(episode.mask)
    assert episode.logprobs is None or len(episode.logprobs) == len(episode.mask)
    assert sum(episode.mask) == sum(map(len, policy.given))
    assert [episode.completion_ids[turn.start : turn.stop] for turn in episode.turns] == policy.given
    everything = episode.ids
    for asked, given_ in zip(policy.asked, policy.given, strict=True):
        # prompt and completion of a turn are a prefix of the next turn's input, and of the row
        assert everything[: len(asked) + len(given_)] == asked + given_


def test_s14_tokens_that_would_merge_across_a_border_stay_as_they_were_sampled() -> None:
    policy = ScriptedPolicy([(INTER,), (END,), (NATIONAL, END)])
    recorder = Recorder(policy, TOKENIZER, limits=Limits(turn=2))
    answers = converse(recorder, ["go", "national", "on"])
    assert answers == [" inter", "", "national"]
    episode = recorder.episode(1.0, ("t", 0))
    assert BOTH in TOKENIZER.ids(" international") and BOTH not in episode.completion_ids
    check(episode, policy)


def test_s14_sampled_pieces_that_encode_to_one_id_are_not_encoded_again() -> None:
    policy = ScriptedPolicy([(INTER, NATIONAL, END), (END,)])
    recorder = Recorder(policy, TOKENIZER)
    assert converse(recorder, ["a", "b"])[0] == " international"
    assert policy.asked[1][-8:] != TOKENIZER.ids(" international<|end|>\n<|user|>b<|end|>\n<|model|>")[-8:]
    assert (INTER, NATIONAL, END) == recorder.episode().completion_ids[:3]
    check(recorder.episode(), policy)


tokens = st.integers(2, len(TOKENIZER.texts) - 1).filter(lambda number: number != OTHER_END)
answers = st.tuples(st.lists(tokens, min_size=1, max_size=6), st.sampled_from([(), (END,), (OTHER_END,)]))
texts = st.text(st.sampled_from(" internationalx\n"), max_size=12)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(texts, answers), min_size=1, max_size=5), st.booleans(), st.sampled_from(["", "\n"]))
def test_trl_issue_01_every_turns_ids_are_a_prefix_of_the_next_input(
    turns: list[tuple[str, tuple[list[int], tuple[int, ...]]]], known: bool, newline: str
) -> None:
    tokenizer = MergingTokenizer(newline=newline)
    policy = ScriptedPolicy([(*ids, *end) for _, (ids, end) in turns], ends=frozenset({END, OTHER_END}), logprobs=known)
    recorder = Recorder(policy, tokenizer)
    converse(recorder, [said for said, _ in turns])
    check(recorder.episode(0.5, ("t", 0)), policy)
    assert len(recorder.episode().turns) == len(turns)


def test_the_first_request_is_what_the_template_renders_and_later_ones_continue_it() -> None:
    policy = ScriptedPolicy([(INTER, END), (END,)])
    converse(Recorder(policy, TOKENIZER), ["a", "b"])
    assert policy.asked[0] == TOKENIZER.ids("<|user|>a<|end|>\n<|model|>")
    assert policy.asked[1] == TOKENIZER.ids("<|user|>a<|end|>\n<|model|> inter<|end|>\n<|user|>b<|end|>\n<|model|>")


@pytest.mark.parametrize("end", [(), (OTHER_END,)])
def test_a_turn_that_did_not_end_itself_is_closed_with_foreign_ids(end: tuple[int, ...]) -> None:
    policy = ScriptedPolicy([(INTER, *end), (NATIONAL, END)])
    recorder = Recorder(policy, TOKENIZER)
    converse(recorder, ["a", "b"])
    closing = policy.asked[1][len(policy.asked[0]) + 1 + len(end) :]
    assert closing == TOKENIZER.ids("<|end|>\n<|user|>b<|end|>\n<|model|>")
    check(recorder.episode(), policy)


def test_a_stop_text_ends_the_sampled_ids_where_a_server_would() -> None:
    words = TOKENIZER.ids("</s>")
    policy = ScriptedPolicy([(INTER, *words, NATIONAL, END), (END,)])
    recorder = Recorder(policy, TOKENIZER)
    assert converse(recorder, ["a", "b"], stop=("</s>",))[0] == " inter"
    policy.given[0] = (INTER, *words)
    check(recorder.episode(), policy)
    assert recorder.rows == 1


def test_a_layer_that_puts_a_stop_text_back_continues_the_row() -> None:
    policy = ScriptedPolicy([TOKENIZER.ids("<search>x</search> imagined"), (*TOKENIZER.ids("<answer>y"), END), (END,)])
    recorder = Recorder(policy, TOKENIZER)
    actor = Turnwise(recorder, "answer")
    first = asyncio.run(actor.chat(ask("q")))
    assert first.text == "<search>x</search>"
    second = asyncio.run(actor.chat(ask("q", "<search>x</search>", "found")))
    assert second.text == "<answer>y</answer>"  # a tag that was never sampled is in the text, and not in the row
    asyncio.run(actor.chat(ask("q", "<search>x</search>", "found", "<answer>y</answer>", "more")))
    policy.given[0] = TOKENIZER.ids("<search>x</search>")
    check(recorder.episode(), policy)


def test_another_conversation_starts_another_row() -> None:
    policy = ScriptedPolicy([(INTER, END), (NATIONAL, END), (END,)])
    recorder = Recorder(policy, TOKENIZER)
    converse(recorder, ["a"])
    asyncio.run(recorder.chat(ask("a", "something else", "b")))
    asyncio.run(recorder.chat(ask("c")))
    assert recorder.rows == 3
    rows = recorder.episodes(1.0, ("t", 0), rewards=[0.5, 0.25, 0.25])
    assert [row.reward for row in rows] == [1.0] * 3
    assert [row.turns[0].reward for row in rows] == [0.5, 0.25, 0.25]
    with pytest.raises(BadInput, match="the episode has 3 rows"):
        recorder.episode(1.0)


def test_a_history_that_was_changed_before_the_last_answer_starts_another_row() -> None:
    policy = ScriptedPolicy([(INTER, END), (END,)])
    recorder = Recorder(policy, TOKENIZER)
    (said,) = converse(recorder, ["a"])
    asyncio.run(recorder.chat(ask("changed", said, "b")))
    assert recorder.rows == 2
    assert policy.asked[1] == TOKENIZER.ids(
        "<|user|>changed<|end|>\n<|model|> inter<|end|>\n<|user|>b<|end|>\n<|model|>"
    )


def test_log_probabilities_stand_at_sampled_ids_and_nothing_at_foreign_ones() -> None:
    recorder = Recorder(ScriptedPolicy([(INTER, END), (NATIONAL,)]), TOKENIZER)
    converse(recorder, ["a", "b"])
    episode = recorder.episode()
    assert episode.logprobs is not None and 0 in episode.mask
    assert [known for known, own in zip(episode.logprobs, episode.mask, strict=True) if own] == [-0.5, -0.51, -0.5]
    assert {known for known, own in zip(episode.logprobs, episode.mask, strict=True) if not own} == {0.0}


def test_s03_how_an_episode_ended_stands_in_its_row() -> None:
    recorder = Recorder(ScriptedPolicy([(END,)]), TOKENIZER)
    converse(recorder, ["a"])
    for terminated, truncated in ((True, False), (False, True), (False, False)):
        row = recorder.episode(terminated=terminated, truncated=truncated)
        assert (row.terminated, row.truncated) == (terminated, truncated)


def test_s11_turn_rewards_stand_at_the_last_sampled_token_of_their_turns_and_add_up() -> None:
    policy = ScriptedPolicy([(INTER, END), (NATIONAL, NATIONAL, END), (END,)])
    recorder = Recorder(policy, TOKENIZER)
    converse(recorder, ["a", "b", "c"])
    episode = recorder.episode(rewards=[0.2, 0.0, -0.1])
    assert episode.reward == pytest.approx(0.1)
    assert [turn.reward for turn in episode.turns] == [0.2, 0.0, -0.1]
    lasts = [episode.completion_ids[turn.stop - 1] for turn in episode.turns]
    assert lasts == [END, END, END] and all(episode.mask[turn.stop - 1] for turn in episode.turns)
    with pytest.raises(BadInput, match="3 turns and 2 rewards"):
        recorder.episode(rewards=[0.2, 0.0])
    assert recorder.episode(rewards=[0.2, None, -0.1]).reward is None


def test_an_environments_last_words_are_not_in_the_row_and_an_end_is() -> None:
    policy = ScriptedPolicy([TOKENIZER.ids("x</s>y"), (INTER,)])
    recorder = Recorder(policy, TOKENIZER)
    asyncio.run(recorder.chat(ask("a", stop=("</s>",))))
    episode = recorder.episode()
    # It ended by a stop text, without the model's end mark: TRL would take the row for cut.
    assert episode.completion_ids == (*TOKENIZER.ids("x</s>"), END) and episode.mask[-1] == 0
    cut = Recorder(ScriptedPolicy([(INTER,)]), TOKENIZER)
    converse(cut, ["a"])
    assert cut.episode(truncated=True).completion_ids == (INTER,)


def test_limits_cut_turns_rows_and_completions() -> None:
    policy = ScriptedPolicy([[NATIONAL] * 9] * 3)
    recorder = Recorder(policy, TOKENIZER, limits=Limits(turn=4, completion=16))
    converse(recorder, ["a"])
    assert policy.given == [(NATIONAL,) * 4]
    with pytest.raises(ContextOverflow, match="leave no room"):
        asyncio.run(recorder.chat(ask("a", "national" * 4, "b" * 20)))
    check(recorder.episode(), policy)  # what was refused left no trace
    small = Recorder(policy, TOKENIZER, limits=Limits(row=7))
    asyncio.run(small.chat(ask("a")))
    assert len(small.episode().prompt_ids) == 5 and small.episode().completion_ids == (NATIONAL,) * 2


def test_the_policy_is_asked_at_its_own_temperature_alone() -> None:
    with pytest.raises(BadInput, match="ActorSettings.temperature=1"):
        asyncio.run(Recorder(ScriptedPolicy([]), TOKENIZER).chat(Request((Message("user", "a"),), temperature=0.0)))


def test_one_recorder_is_one_episode() -> None:
    recorder = Recorder(ScriptedPolicy([(END,)] * 2), TOKENIZER)

    class Slow(ScriptedPolicy):
        async def sample(self, prompt_ids: Sequence[int], *, max_tokens: int, seed: int) -> Any:
            await asyncio.sleep(0)
            return await super().sample(prompt_ids, max_tokens=max_tokens, seed=seed)

    recorder = Recorder(Slow([(END,)] * 2), TOKENIZER)

    async def both() -> None:
        await asyncio.gather(recorder.chat(ask("a")), recorder.chat(ask("b")))

    with pytest.raises(BadInput, match="make one per episode"):
        asyncio.run(both())
    with pytest.raises(BadInput, match="no sampled token"):
        Recorder(ScriptedPolicy([]), TOKENIZER).episode()


def test_templates_that_cannot_be_continued_are_refused_before_anything_is_sampled() -> None:
    policy = ScriptedPolicy([(INTER, END), (END,)])
    with pytest.raises(BadInput, match="prefix-preserving"):
        Recorder(policy, MergingTokenizer(rewrites=True))
    assert policy.asked == []
    bare = MergingTokenizer()
    bare.chat_template = None  # type: ignore[assignment]
    with pytest.raises(BadInput, match="no chat template"):
        Template(bare)


def test_a_template_that_thinks_in_its_last_turn_alone_is_continued_from_what_was_seen() -> None:
    """As Qwen3's own, which the presets of 4 and 8 billion parameters bring along."""
    policy = ScriptedPolicy([(INTER, END), (NATIONAL, END), (END,)])
    recorder = Recorder(policy, MergingTokenizer(thinks="(no thoughts)"))
    converse(recorder, ["a", "b metagym-said", "c"])
    turn = "<|user|>{}<|end|>\n<|model|>(no thoughts)"
    assert policy.asked[0] == TOKENIZER.ids(turn.format("a"))
    assert policy.asked[1] == (
        *policy.asked[0],
        *(INTER, END),
        *TOKENIZER.ids("\n" + turn.format("b metagym-said")),
    )
    assert recorder.rows == 1
    check(recorder.episode(), policy)


FOLLOWED = ("qwen2_5", "qwen3", "qwen3_training", "qwen3_instruct_2507", "llama3_2", "gemma3")


def shipped(family: str) -> Any:
    """A tokenizer of letters with a chat template that TRL ships, rendered as transformers renders it."""
    trl = importlib.util.find_spec("trl")
    assert trl is not None and trl.submodule_search_locations
    text = (Path(trl.submodule_search_locations[0]) / "chat_templates" / f"{family}.jinja").read_text("utf-8")
    tokenizer = word_tokenizer(("a",))

    class Letters:
        chat_template = text

        def __call__(self, shown: str, add_special_tokens: bool = True) -> dict[str, list[int]]:
            return {"input_ids": list(map(ord, shown))}

        def apply_chat_template(self, messages: Any, **options: Any) -> Any:
            return tokenizer.apply_chat_template(messages, chat_template=text, **options)

    return Letters()


@pytest.mark.parametrize("family", ["phi3", "phi3_5_training", "gptoss", "gptoss_training"])
def test_templates_that_end_a_last_turn_in_another_way_are_refused_at_the_start(family: str) -> None:
    with pytest.raises(BadInput, match=r"^the chat template writes '<\|.*behind one that something follows.*[^\n]*$"):
        Template(shipped(family))


@pytest.mark.parametrize("family", FOLLOWED)
def test_the_templates_of_the_presets_families_are_continued(family: str) -> None:
    """The texts that TRL ships, rendered as transformers renders them."""
    for options in ({}, {"enable_thinking": False}):
        template = Template(shipped(family), **options)
        opening = "".join(map(chr, template.opening([Message("user", "first")])))
        after = "".join(map(chr, template.continuation([Message("user", "next")], None)))
        closing = "".join(map(chr, template.closing_ids))
        assert closing.strip() and after.startswith(closing) and after.count("next") == 1 and "first" not in after
        assert after[-8:] == opening[-8:]  # the next answer begins as the first one did


def test_seeds_come_from_the_request_or_the_episode() -> None:
    policy = ScriptedPolicy([(END,)] * 4)
    asyncio.run(Recorder(policy, TOKENIZER, seed=3).chat(ask("a", seed=5)))
    converse(Recorder(policy, TOKENIZER, seed=3), ["a", "b"])
    converse(Recorder(policy, TOKENIZER, seed=3), ["a"])
    assert policy.seeds[0] == 5 and policy.seeds[1] == policy.seeds[3] != policy.seeds[2]


def test_trl_issue_03_play_runs_unchanged_and_its_first_observation_is_in_the_prompt() -> None:
    steps = [("seen", 0.25, False, False, {}), ("more", 0.0, False, False, {}), ("end", 0.5, True, False, {})]
    family = family_of(lambda task: ListEnv("begin", steps))
    policy = ScriptedPolicy([(*TOKENIZER.ids("Action: go"), END), (INTER,), (END,), TOKENIZER.ids("x")])
    recorder = Recorder(policy, TOKENIZER)
    (episode,) = play(
        tasks_named("Toy", 1), recorder, family=family, seat=ActorSettings(temperature=1.0), system_prompt="good"
    )
    assert episode.scored, episode.cause
    row = recorder.episode(group=(episode.task.key, episode.seed, 0), rewards=[turn.reward for turn in episode.turns])
    assert len(row.turns) == len(episode.turns) == 4  # the empty answer is a turn as well
    assert row.reward == pytest.approx(episode.ret)
    assert "begin" in TOKENIZER.decode(row.prompt_ids)  # TRL issue 6067: the first observation was lost on the way
    check(row, policy)
