"""What the stand-ins' advice can be about, as data (see `metagym_envs.alfworld.rules.reader`)."""

from __future__ import annotations

from metagym_envs.alfworld.rules.reader import Intent

TABLE: tuple[Intent, ...] = (
    Intent(
        "decompose",
        cues=(
            "decompos* split* break* divid* separat* + question* problem* task* it + step* part* hop* sub* piece* "
            "single simpler smaller",
            "search* look* find* answer* + step_by_step one_at_a_time hop_by_hop one_by_one each_step each_hop "
            "each_part one_hop one_step intermediate bridg*",
            "search* look* find* + first + then next second afterwards",
        ),
        teach=(
            "Split a question into single steps, search for the first one, then search again with the name you found.",
            "Search hop by hop: first find the person or town in between, then look up what is asked about it.",
            "Look up one step at a time: the name that the first search tells belongs into the second search.",
        ),
        fault="searched once for a question that needs two searches",
    ),
    Intent(
        "brief",
        cues=(
            "answer* write* give* state* put* reply* keep* + only alone just brief* short* bare concise* exact* "
            "nothing_else single + name* answer* word* thing* phrase* entity",
            "answer* keep* be + brief* short* concise* terse*",
        ),
        cues_negated=("answer* write* add* use* put* + sentence* explanation* words comment*",),
        teach=(
            "Put the bare name into the answer and nothing else.",
            "Keep the answer short: only the name that is asked for.",
            "Never answer with a whole sentence: write the name alone.",
        ),
        fault="wrapped the name into a sentence, which no exact match accepts",
    ),
)
STRAY: tuple[str, ...] = ("Be polite.", "Rivers are often mentioned.", "Read carefully.")
