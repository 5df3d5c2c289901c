"""Measures tokenizers on documents."""

from __future__ import annotations

from array import array
from collections import Counter
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from bpefleet.kernel import TokenBytes, Words
from bpefleet.shared.measuring.sums import Measured

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bpefleet.shared.measuring.candidates import Candidate


class Meter:
    """Measures a tokenizer; the words of the documents are found once for all tokenizers."""

    def __init__(self, candidate: Candidate) -> None:
        self._candidate = candidate

    @cached_property
    def _bytes(self) -> TokenBytes:
        return TokenBytes(list((self._candidate.tokens or {}).items()))

    def measure(
        self, texts: Sequence[str], words: Words, sizes: Sequence[int], reference: Sequence[int]
    ) -> tuple[Measured, Sequence[int]]:
        """The sums over some documents, and the tokens of each.

        Args:
            texts: The documents.
            words: Their words.
            sizes: The bytes of each.
            reference: The tokens of each that another tokenizer makes; none if this is the first.
        """
        encoded = self._candidate.encode(texts)
        tokens = [end - start for start, end in pairwise((0, *encoded.ends))]
        places, same = encoded.places, encoded.same
        if places is None or same is None:
            found, is_same = words.places(self._bytes, encoded.ids, encoded.ends)
            continued = words.continued(found, encoded.ends)
            same = list(map(bool, memoryview(is_same)))
        else:
            continued = words.continued(places, encoded.ends)
        documents = {
            "bytes": sizes,
            "characters": memoryview(words.characters),
            "words": memoryview(words.words),
            "tokens": tokens,
            "continued": memoryview(continued),
            "reference": reference or tokens,
        }
        return Measured.of(documents, Counter(encoded.ids), changed=same.count(False)), tokens


def measure(meters: Sequence[Meter], texts: Sequence[str]) -> Iterator[Measured]:
    """What each tokenizer makes of some documents, in order; the first is that compared with."""
    each = [text.encode() for text in texts]
    sizes = list(map(len, each))
    words = Words(b"".join(each), array("q", accumulate(sizes, initial=0)))
    reference: Sequence[int] = ()
    for meter in meters:
        measured, tokens = meter.measure(texts, words, sizes, reference)
        reference = reference or tokens
        yield measured
