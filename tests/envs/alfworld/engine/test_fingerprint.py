"""Fingerprints: equal for what plays alike, different for what does not, and None for the unknown."""

from __future__ import annotations

import pytest

from metagym_envs.alfworld.engine import fingerprint, generation_of, task_line
from tests.envs.alfworld.engine.differential import older_texts

DOMAIN = "; a domain\n(define (domain alfred)\n  (:types agent  location) ; types\n)\n"
GRAMMAR = (
    'grammar :: """\n  {"task": [{"rhs": "Your task is to: put a mug in desk."}],\n   "x": [{"rhs": "a  b"}]}\n""";\n'
)


@pytest.mark.parametrize(
    ("domain", "grammar"),
    [
        (DOMAIN.replace("; a domain", ";"), GRAMMAR),
        (DOMAIN.replace("\n  (:types agent  location)", " ( :TYPES agent\n\nlocation )"), GRAMMAR),
        (DOMAIN, GRAMMAR.replace("put a mug in desk", 'say \\"x\\"')),
        (DOMAIN, "\n\n" + GRAMMAR.replace("\n  {", "\n# a comment\n\t  {")),
        (DOMAIN.replace("\n", "\r\n"), GRAMMAR.replace("\n", "\r\n")),
    ],
)
def test_what_plays_alike_has_one_fingerprint(domain, grammar):
    assert fingerprint(domain, grammar) == fingerprint(DOMAIN, GRAMMAR)


@pytest.mark.parametrize(
    ("domain", "grammar"),
    [
        (DOMAIN.replace("agent ", ""), GRAMMAR),
        (DOMAIN, GRAMMAR.replace("a  b", "a b")),
        (DOMAIN, GRAMMAR.replace('"x"', '"y"')),
        (DOMAIN, GRAMMAR.replace("Your task is to: ", "Your task: ")),
        (GRAMMAR, DOMAIN),
    ],
)
def test_what_may_play_differently_has_another(domain, grammar):
    assert fingerprint(domain, grammar) != fingerprint(DOMAIN, GRAMMAR)
    assert generation_of(domain, grammar) is None


def test_the_task_line_is_found_only_where_it_is_certain():
    assert task_line(GRAMMAR) == "Your task is to: put a mug in desk."
    assert task_line(GRAMMAR + GRAMMAR) is None
    assert task_line("") is None


@pytest.mark.needs_alfworld
def test_the_installed_pair_is_known_and_a_changed_one_is_not(real_engine):
    domain, grammar = real_engine
    assert generation_of(domain, grammar) == "0.4"
    assert generation_of(domain, grammar.replace("UNKNOWN GOAL", "heat some egg")) == "0.4"
    assert generation_of(domain, grammar.replace("You open the", "You opened the")) is None
    assert generation_of(domain.replace("(not (holdsAny ?a))", ""), grammar) is None


@pytest.mark.needs_alfworld
@pytest.mark.parametrize("generation", ["legacy", "0.3"])
def test_earlier_pairs_are_known(real_engine, generation):
    assert generation_of(*older_texts(generation)) == generation
