"""Measures tokenizers on documents."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from bpefleet.kernel import TokenBytes, Words
from bpefleet.shared.measuring.candidates import joined
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
        self, documents: Documents, reference: Sequence[int]
    ) -> tuple[Measured, Sequence[int]]:
        """The sums over some documents, and the tokens of each.

        Args:
            documents: The documents.
            reference: The tokens of each that another tokenizer makes; none if this is the first.
        """
        words = documents.words
        encoded = self._candidate.encode(documents.texts, documents.data, documents.offsets)
        tokens = [end - start for start, end in pairwise((0, *encoded.ends))]
        places, same = encoded.places, encoded.same
        if places is None or same is None:
            found, is_same = words.places(self._bytes, encoded.ids, encoded.ends)
            continued = words.continued(found, encoded.ends)
            same = list(map(bool, memoryview(is_same)))
        else:
            continued = words.continued(places, encoded.ends)
        numbers = {
            "bytes": [end - start for start, end in pairwise(documents.offsets)],
            "characters": memoryview(words.characters),
            "words": memoryview(words.words),
            "tokens": tokens,
            "continued": memoryview(continued),
            "reference": reference or tokens,
        }
        return Measured.of(numbers, Counter(encoded.ids), changed=same.count(False)), tokens


class Documents:
    """Some documents, and the words in them.

    Attributes:
        texts: The documents.
        data: Their UTF-8, joined.
        offsets: Where in that each begins; at last, where all end.
        words: Their words.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        self.data, self.offsets = joined(texts)
        self.words = Words(self.data, self.offsets)


def measure(meters: Sequence[Meter], texts: Sequence[str]) -> Iterator[Measured]:
    """What each tokenizer makes of some documents, in order; the first is that compared with."""
    documents = Documents(texts)
    reference: Sequence[int] = ()
    for meter in meters:
        measured, tokens = meter.measure(documents, reference)
        reference = reference or tokens
        yield measured
