from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metagym.chat.redact import redact
from metagym.chat.specs import CHOICE_MODES, SCHEMES, Spec, parse_spec
from metagym.errors import SpecError


def test_a_full_spec_is_read_with_types():
    spec = parse_spec(
        "openai:Qwen/Qwen3-4B?base_url=http://127.0.0.1:8000/v1/&temperature=0.5&max_tokens=64&concurrency=8&rpm=60"
        "&retries=0&timeout=2.5&choices=grammar&price_in=0.5&price_out=2&context=4096&key_env=MY_KEY"
    )
    assert (spec.scheme, spec.name) == ("openai", "Qwen/Qwen3-4B")
    assert spec.params == {
        "base_url": "http://127.0.0.1:8000/v1",
        "temperature": 0.5,
        "max_tokens": 64,
        "concurrency": 8,
        "rpm": 60,
        "retries": 0,
        "timeout": 2.5,
        "choices": "grammar",
        "price_in": 0.5,
        "price_out": 2.0,
        "context": 4096,
        "key_env": "MY_KEY",
    }


def test_s05_temperature_zero_is_a_value():
    params = parse_spec("openai:m?temperature=0&price_in=0").params
    assert params == {"temperature": 0.0, "price_in": 0.0}
    assert "temperature" not in parse_spec("openai:m").params


@pytest.mark.parametrize(
    "text", ["rules", "rules:ALFWorld", "rules:lab/Kitchen", "llama:smollm2", "hf:/models/a b", "python:m:f"]
)
def test_forms_without_parameters(text):
    assert str(parse_spec(text)) == text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "unknown kind"),
        ("gpt-4", "openai:<model>"),
        ("opnai:m", "openai:<model>"),
        ("openai:", "names no model"),
        ("openai", "names no model"),
        ("rules:", "names no family"),
        ("openai:m?", "has no parameter ''"),
        ("openai:m?temperatur=0", "its parameters are base_url"),
        ("openai:m?temperature", "has no value"),
        ("openai:m?temperature=", "a number of at least 0"),
        ("openai:m?temperature=nan", "a number of at least 0"),
        ("openai:m?temperature=inf", "a number of at least 0"),
        ("openai:m?temperature=-1", "a number of at least 0"),
        ("openai:m?temperature=1_0", "a number of at least 0"),
        ("openai:m?temperature=1e999", "a number of at least 0"),
        ("openai:m?temperature=0&temperature=0", "given twice"),
        ("openai:m?max_tokens=0", "at least 1"),
        ("openai:m?max_tokens=12.5", "a whole number"),
        ("openai:m?max_tokens=１２", "a whole number"),
        ("openai:m?retries=-1", "at least 0"),
        ("openai:m?timeout=0", "above 0"),
        ("openai:m?choices=maybe", "one of auto, structured_outputs"),
        ("openai:m?base_url=localhost:8000", "an address such as"),
        ("openai:m?base_url=ftp://x/v1", "an address such as"),
        ("openai:m?base_url=http://x:99999/v1", "an address such as"),
        ("openai:m?base_url=http://x/v1?a=1", "an address such as"),
        ("openai:m?base_url=http://x/v1%3Fkey=1", "an address such as"),
        ("openai:m?key_env=my-key", "NAME of an environment variable"),
        ("openai:m%00", "control character"),
        ("openai:m?base_url=%ff", "not UTF-8"),
        ("openai:" + "m" * 5000, "at most 4096"),
        ("rules?temperature=0", "its parameters are none"),
    ],
)
def test_what_cannot_be_read_is_refused_in_words(text, says):
    with pytest.raises(SpecError) as caught:
        parse_spec(text)
    assert says in str(caught.value)


@pytest.mark.parametrize("value", [None, 3, b"rules"])
def test_a_spec_is_text(value):
    with pytest.raises(SpecError, match="is text"):
        parse_spec(value)


@pytest.mark.parametrize(
    "text",
    [
        "openai:m?api_key={}",
        "openai:m?API_KEY={}",
        "openai:m?key={}",
        "openai:m?token={}",
        "openai:m?{}",
        "openai:m?x={}",
        "openai:m?key_env={}",
        "openai:m?base_url=http://user:{}@host/v1",
        "openai:m?base_url=http://{}@host/v1",
        "openai:m?base_url=http://host/v1%3Fapi_key={}",
        "openai:{}",
        "{}:m",
    ],
)
@pytest.mark.parametrize("key", ["sk-proj-abcDEF123456789xyz", "hf_abcdefghij0123456789ABCD"])
def test_a_key_in_a_spec_is_refused_and_not_repeated(text, key):
    with pytest.raises(SpecError) as caught:
        parse_spec(text.format(key))
    assert key not in str(caught.value)


@pytest.mark.parametrize(
    "name", ["hf_internal_testing_tiny_random", "sk-learn-model", "Qwen2.5-7B-Instruct", "gpt-4o-2024-08-06"]
)
def test_ordinary_names_are_not_taken_for_keys(name):
    assert parse_spec(f"openai:{name}").name == name


def test_redaction_hides_known_and_likely_keys():
    words = "key mysecret, Bearer abc.def-123456, sk-proj-abcDEF123456789xyz at http://user:pass@host/v1"
    hidden = redact(words, "mysecret", "")
    for secret in ("mysecret", "abc.def-123456", "sk-proj", "user:pass"):
        assert secret not in hidden
    assert "host/v1" in hidden


_VALUES = {
    "base_url": st.sampled_from(["http://127.0.0.1:8000/v1", "https://api.example.org", "http://[::1]:80/a/b"]),
    "key_env": st.from_regex(r"[A-Z_][A-Z0-9_]{0,8}", fullmatch=True),
    "temperature": st.floats(0, 1e6, allow_subnormal=False),
    "timeout": st.floats(1e-3, 1e6),
    "deadline": st.floats(1e-3, 1e6),
    "price_in": st.floats(0, 1e6, allow_subnormal=False),
    "price_out": st.floats(0, 1e6, allow_subnormal=False),
    "choices": st.sampled_from(CHOICE_MODES),
    "retries": st.integers(0, 10**9),
    "sampling": st.sampled_from(["given", "full"]),
    "top_p": st.floats(0, 1, allow_subnormal=False),
    "min_p": st.floats(0, 1, allow_subnormal=False),
    "repetition_penalty": st.floats(1e-3, 1e6),
}
_NAMES = st.text(st.characters(min_codepoint=32, exclude_categories=("Cs", "Cc")), min_size=1, max_size=30)


@st.composite
def specs(draw: st.DrawFn) -> Spec:
    names = draw(st.lists(st.sampled_from(sorted(SCHEMES["openai"])), unique=True))
    return Spec("openai", draw(_NAMES), {name: draw(_VALUES.get(name, st.integers(1, 10**9))) for name in names})


@settings(max_examples=150, deadline=None)
@given(specs())
def test_a_written_spec_is_read_back_equal(spec):
    assert parse_spec(str(spec)) == spec


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(max_size=80), st.text("openaiules:?&=%0a.1/", max_size=60).map(lambda t: "openai:" + t)))
def test_any_text_is_read_or_refused_with_a_spec_error(text):
    try:
        spec = parse_spec(text)
    except SpecError as error:
        assert str(error)
    else:
        assert parse_spec(str(spec)) == spec
