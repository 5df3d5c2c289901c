"""The forms of a rule for the various engines split text alike."""

from __future__ import annotations

import pytest
import regex
import tiktoken
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import Regex, pre_tokenizers

from bpefleet.kernel import PATTERNS as KERNEL_PATTERNS
from bpefleet.shared.errors import UsageError
from bpefleet.shared.pretokens.patterns import CUSTOM, PATTERNS, counting_digest, resolve
from tests.examples import tried_with
from tests.naive import pretokens
from tests.texts import SPOTS

TEXTS = st.lists(
    st.sampled_from([*SPOTS, "\u3097", "゛", "・", "゙", "\x01", "\x02"]), max_size=30
).map("".join)
BYTES = {bytes([byte]): byte for byte in range(256)}


def test_the_kernel_scans_the_same_regexes() -> None:
    native = {name: p.splits[0] for name, p in PATTERNS.items() if p.native}
    assert native == KERNEL_PATTERNS


@pytest.mark.parametrize("name", PATTERNS)
@given(text=TEXTS)
@example("゛カ カ\u3097カ \u3097\u3098x \x01\x02a 12゠34 五 \n")
@tried_with(200)
def test_huggingface_form(name: str, text: str) -> None:
    pattern = PATTERNS[name]
    splits = [pre_tokenizers.Split(Regex(s), "isolated") for s in pattern.huggingface]
    found = pre_tokenizers.Sequence(splits).pre_tokenize_str(text)
    assert [piece for piece, _ in found] == pretokens(text, pattern.splits)


@pytest.mark.parametrize("name", PATTERNS)
@given(text=TEXTS)
@example("゛カ カ\u3097カ \u3097\u3098x \x01\x02a 12゠34 五 \n")
@tried_with(200)
def test_tiktoken_form(name: str, text: str) -> None:
    pattern = PATTERNS[name]
    assert regex.findall(pattern.tiktoken, text) == pretokens(text, pattern.splits)


@pytest.mark.parametrize("name", PATTERNS)
def test_tiktoken_s_engine_takes_its_form(name: str) -> None:
    """What it splits shows in tests of encoding."""
    form = PATTERNS[name].tiktoken
    tiktoken.Encoding(name, pat_str=form, mergeable_ranks=BYTES, special_tokens={})


def test_a_known_regex_is_its_named_rule() -> None:
    assert resolve(PATTERNS["gpt2"].splits[0]) is PATTERNS["gpt2"]
    assert resolve(r"\w+|\W").name == CUSTOM


@pytest.mark.parametrize("text", ["", "gpt-5", "(", r"\w*", "a|"])
def test_what_is_no_pattern_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        resolve(text)


def test_the_digest_tells_apart_what_changes_counts() -> None:
    gpt2, cl100k = PATTERNS["gpt2"], PATTERNS["cl100k"]
    base = counting_digest(gpt2, ("a", "b"), "engine")
    assert counting_digest(gpt2, ("b", "a"), "engine") == base
    others = {
        counting_digest(cl100k, ("a", "b"), "engine"),
        counting_digest(gpt2, ("ab",), "engine"),
        counting_digest(gpt2, ("a", "b"), "other"),
    }
    assert len(others | {base}) == 4
