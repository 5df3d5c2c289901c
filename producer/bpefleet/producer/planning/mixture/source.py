"""A source of a mixture: where its text is, how it is read, how much it counts."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final, TypeAlias

from bpefleet.producer.planning.formats.names import ASKED, AUTO
from bpefleet.producer.planning.mixture.weights import exact, read_fraction
from bpefleet.shared.corpus.formats import COUNTS
from bpefleet.shared.corpus.sampling import WHOLE
from bpefleet.shared.errors import UsageError
from bpefleet.shared.process import amounts
from bpefleet.shared.wire.messages import Message, MessageError, Natural

if TYPE_CHECKING:
    from collections.abc import Iterable
    from decimal import Decimal

Path: TypeAlias = str | os.PathLike[str]
Number: TypeAlias = "int | float | str | Decimal | Fraction"

_FORMATS: Final = tuple(name for name in ASKED if name != COUNTS)
"""What holds documents."""
_NAME: Final = re.compile(r"\w[\w.+-]{0,99}")


@dataclass(frozen=True, init=False)
class Source:
    """A named part of a corpus, for `train`: a mixture is a list of these.

        train([Source("web", "web/*.parquet"), Source("code", "code", weight=3)], …)

    Which documents a sample takes is decided by a hash of the source's name, of the file's name and
    of the document's place in the file (see `bpefleet.shared.corpus.sampling`): it is the same for
    any chunk size, any workers and any order, and a file that is added or taken away changes
    nothing for the others.

    Attributes:
        name: Letters, digits and `_ . + -`; no other source of the corpus has it.
        paths: Files, folders and globs.
        format: As for `train`; `auto` is what is said there.
        text_field: Likewise; empty for what is said there.
        weight: How often each document counts, exactly: 0.1 is a tenth. 0 leaves the source out.
        sample: The share of its documents that is taken, above 0, at most 1.
        max_bytes: Take that share of its documents by which they should have so many bytes of text
            together. How much text there is, is an expectation, and documents differ in length: so
            this is only about right. None for all.
    """

    name: str
    paths: tuple[str, ...]
    format: str
    text_field: str
    weight: Fraction
    sample: Fraction
    max_bytes: int | None

    def __init__(
        self,
        name: str,
        paths: Path | Iterable[Path],
        *,
        format: str = AUTO,  # noqa: A002  the option's name
        text_field: str = "",
        weight: Number = 1,
        sample: Number = 1,
        max_bytes: int | str | None = None,
    ) -> None:
        """A source.

        Args:
            name: See the attributes, as for all that follow.
            paths: One or several.
            format: Likewise.
            text_field: Likewise.
            weight: A number, or one as text: `"1/3"`. A `float` stands for what Python shows of it.
            sample: Likewise.
            max_bytes: Likewise; or as text, such as `10GB` or `512MiB`.

        Raises:
            UsageError: It makes no sense; the text says what does not.
        """
        if not _NAME.fullmatch(name):
            raise UsageError(
                f"a source is called {name!r}", hint="letters, digits and _ . + - make a name"
            )
        if isinstance(paths, str | os.PathLike):
            paths = (paths,)
        set_ = object.__setattr__  # as in any frozen dataclass with an __init__ of its own
        set_(self, "name", name)
        set_(self, "paths", tuple(map(os.fspath, paths)))
        set_(self, "format", format)
        set_(self, "text_field", text_field)
        set_(self, "weight", exact(weight, f"{name}: weight"))
        set_(self, "sample", exact(sample, f"{name}: sample"))
        set_(self, "max_bytes", _bytes(max_bytes, name))
        self._check()

    def _check(self) -> None:
        if not self.paths:
            raise UsageError(f"{self.name}: no path is given", hint="name files, folders or globs")
        if self.format not in _FORMATS:
            raise UsageError(
                f"{self.name}: format is {self.format!r}", hint=f"one of {', '.join(_FORMATS)}"
            )
        if self.text_field and not all(self.text_field.split(".")):
            raise UsageError(
                f"{self.name}: text_field is {self.text_field!r}",
                hint="the name of a key or column, or a path of them such as meta.text",
            )
        if not 0 < self.sample <= 1:
            raise UsageError(
                f"{self.name}: sample is {self.sample}", hint="above 0, at most 1, which is all"
            )
        if self.max_bytes is not None and self.max_bytes < 1:
            raise UsageError(f"{self.name}: max_bytes is {self.max_bytes}", hint="1 or more")
        if self.max_bytes is not None and self.sample != 1:
            raise UsageError(f"{self.name}: both sample and max_bytes are given", hint="give one")

    def share(self, text: int) -> int:
        """The share that is taken, of `WHOLE`.

        Args:
            text: Bytes of text that the source is expected to hold.
        """
        wanted = self.sample
        if self.max_bytes is not None:
            wanted = min(Fraction(1), Fraction(self.max_bytes, max(1, text)))
        return max(1, round(wanted * WHOLE))


def _bytes(size: int | str | None, name: str) -> int | None:
    if not isinstance(size, str):
        return size
    if (found := amounts.read_size(size)) is None:
        raise UsageError(f"{name}: max_bytes is {size!r}, which is no size", hint=amounts.SIZES)
    return found


def demand_mixture(sources: Iterable[Source]) -> None:
    """Make sure that some sources make a mixture.

    Raises:
        UsageError: They do not.
    """
    seen: set[str] = set()
    weights = []
    for source in sources:
        if source.name in seen:
            raise UsageError(f"two sources are called {source.name}", hint="give each its own name")
        seen.add(source.name)
        weights.append(source.weight)
    if not any(weights):
        raise UsageError("all weights are 0", hint="nothing would be left to train on")


class PlannedSource(Message, frozen=True, omit_defaults=True):
    """A source as it is planned. That of plain paths has no name.

    Attributes:
        name: Its name.
        weight: How often its documents count: a fraction, such as `3/2`.
        share: The share of its documents that is taken, of `sampling.WHOLE`.
        text_field: Where its records have their text; empty for what the options say.
    """

    name: str = ""
    weight: str = "1"
    share: Natural = WHOLE
    text_field: str = ""

    @property
    def fraction(self) -> Fraction:
        """The weight.

        Raises:
            MessageError: It is none.
        """
        if (found := read_fraction(self.weight)) is None:
            raise MessageError(f"Plan.sources: no weight: {self.weight!r}")
        return found

    @property
    def sampled(self) -> bool:
        """Whether some of its documents are left out."""
        return self.share < WHOLE

    def taken(self, text: int) -> int:
        """How much is taken of so many bytes of text, as expected."""
        return text * self.share // WHOLE if self.sampled else text

    def checked(self) -> PlannedSource:
        """This source, if it makes sense.

        Raises:
            MessageError: It does not.
        """
        if (self.name and not _NAME.fullmatch(self.name)) or not 0 < self.share <= WHOLE:
            raise MessageError("Plan.sources: no name, or no share")
        self.fraction  # noqa: B018  it is looked at
        return self
