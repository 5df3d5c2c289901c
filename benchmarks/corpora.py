"""The texts to measure on: known corpora that are at hand, any file, or the library's sources.

Known corpora are looked for in a folder given by the user, and as `*.xz` in `shared/corpora` beside
the project's folder; the latter are unpacked into a folder under the system's temporary one, once.
Nothing is downloaded.
"""

from __future__ import annotations

import hashlib
import lzma
import shutil
import sysconfig
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from benchmarks.measuring.usage import ROOT
from benchmarks.task import SPECIAL

_CACHE: Final = Path(tempfile.gettempdir()) / "bpefleet-corpora"
_PACKED: Final = ROOT.parent / "shared" / "corpora"
_BLOCK: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Corpus:
    """A text to measure on.

    Attributes:
        name: What reports call it.
        kind: `English`, `multilingual`, `code` or `text`: what the targets go by.
        files: Its files.
        size: Bytes.
        sha256: Digest (hex) of each file.
    """

    name: str
    kind: str
    files: tuple[str, ...]
    size: int
    sha256: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Known:
    kind: str
    sha256: str


KNOWN: Final = {
    "en_100MB": _Known(
        "English", "7ac6dc841fff678071f6530860aab6d52c85cd04618b3d4da3d2e1697f05bc37"
    ),
    "multi_90MB": _Known(
        "multilingual", "d1e30ab5792b8ac11ec8f03072d1924bdac677939b89ce15c486012d56522c31"
    ),
    "code_90MB": _Known("code", "2ea1a596839ed280e543c4e38df453a70456792ca0d0c7dc2d31d25bfd907e30"),
    "en_300MB": _Known(
        "English", "a0351e9c7d8a20c1dafaf09605395567ac1d25e31e0d84e45005b8783baedd47"
    ),
}
"""The known corpora: real text, line-deduplicated, documents ended by `\\n<|endoftext|>\\n`."""


@dataclass(slots=True)
class Corpora:
    """Finds corpora; remembers which are missing and why.

    Attributes:
        folder: Where the user keeps them unpacked.
        files: The user's own texts, used instead of the known corpora.
        limit: Bytes to keep of each, cut where a document ends; 0 for all.
    """

    folder: Path | None = None
    files: tuple[Path, ...] = ()
    limit: int = 0
    missing: dict[str, str] = field(default_factory=dict)

    def select(self, *names: str) -> list[Corpus]:
        """The known corpora of these names that are at hand; without any, another text."""
        if self.files:
            return [self._corpus(path.stem, "text", (path,)) for path in self.files]
        found = {name: self._find(name) for name in names}
        corpora = [
            self._corpus(name, KNOWN[name].kind, (path,))
            for name, path in found.items()
            if path is not None
        ]
        return corpora or [self.library()]

    def together(self, *names: str) -> list[Corpus]:
        """One corpus of several known ones, if all are at hand."""
        found = [self._find(name) for name in names] if not self.files else []
        paths = tuple(path for path in found if path is not None)
        if len(paths) < len(names):
            return []
        return [self._corpus("+".join(names), KNOWN[names[0]].kind, paths)]

    def library(self, size: int = 0) -> Corpus:
        """The sources of Python's standard library, each a document; `size` bytes of them."""
        name = f"stdlib_{size}" if size else "stdlib"
        path = _CACHE / f"{name}.txt"
        _CACHE.mkdir(exist_ok=True)
        path.write_bytes(_library_text(size))
        return self._corpus(name, "text", (path,))

    def _find(self, name: str) -> Path | None:
        for path in (self.folder and self.folder / f"{name}.txt", _CACHE / f"{name}.txt"):
            if path and path.is_file():
                return path
        packed = _PACKED / f"{name}.txt.xz"
        if packed.is_file():
            return _unpack(packed, _CACHE / f"{name}.txt", KNOWN[name].sha256)
        self.missing[name] = f"no {name}.txt; give its folder with --corpora"
        return None

    def _corpus(self, name: str, kind: str, paths: tuple[Path, ...]) -> Corpus:
        if self.limit:
            paths = tuple(_cut(path, self.limit) for path in paths)
        return Corpus(
            name=name,
            kind=kind,
            files=tuple(str(path.resolve()) for path in paths),
            size=sum(path.stat().st_size for path in paths),
            sha256=tuple(map(_digest, paths)),
        )


def _unpack(packed: Path, path: Path, sha256: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    partial = path.with_suffix(".partial")
    with lzma.open(packed) as source, partial.open("wb") as target:
        shutil.copyfileobj(source, target, _BLOCK)
    if _digest(partial) != sha256:
        raise ValueError(f"{packed} is not the text that its digest promises: {sha256}")
    return partial.rename(path)


def _cut(path: Path, limit: int) -> Path:
    """The beginning of a file, up to the last document that ends within `limit` bytes."""
    if path.stat().st_size <= limit:
        return path
    with path.open("rb") as source:
        text = source.read(limit)
    end = text.rfind(SPECIAL.encode())
    _CACHE.mkdir(exist_ok=True)
    short = _CACHE / f"{path.stem}-{limit}.txt"
    short.write_bytes(text[: end if end > 0 else text.rfind(b"\n") + 1])
    return short


def _library_text(size: int) -> bytes:
    documents: list[bytes] = []
    total = 0
    folder = Path(sysconfig.get_path("stdlib"))
    separator = f"\n{SPECIAL}\n".encode()
    for path in sorted(folder.rglob("*.py")):
        if "site-packages" in path.parts or (size and total >= size):
            continue
        with suppress(UnicodeDecodeError):  # a few test other encodings
            documents.append(path.read_text("utf-8").encode() + separator)
            total += len(documents[-1])
    text = b"".join(documents)
    # A cut character would be no text.
    return text[:size].decode("utf-8", "ignore").encode() if size else text


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
