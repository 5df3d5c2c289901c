"""What `Tokenizer.load` takes: which kind of tokenizer a name or path is."""

from __future__ import annotations

import base64
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from bpefleet.shared.errors import OutputError, SourceError, UsageError
from bpefleet.shared.pretokens.patterns import PATTERNS
from bpefleet.shared.tokenizer.files import tokenizer_json
from bpefleet.shared.tokenizer.files.gpt2 import read_bytes
from bpefleet.shared.tokenizer.files.manifest import read_rule
from bpefleet.shared.tokenizer.files.names import MANIFEST, MERGES, VOCAB
from bpefleet.shared.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Mapping

TOKENIZER_JSON: Final = "tokenizer.json"
_NAME: Final = re.compile(r"[\w.:-]{1,100}")


def load(
    source: str | os.PathLike[str], pattern: str, special_tokens: Mapping[str, int]
) -> Tokenizer:
    """Load a tokenizer; see `Tokenizer.load`."""
    path = Path(source)
    # These of `os.path` raise nothing, whatever the path.
    if not os.path.exists(path) and isinstance(source, str) and _NAME.fullmatch(source):  # noqa: PTH110
        return _of_name(source)
    other = path / TOKENIZER_JSON
    if os.path.exists(other) and not (path / MANIFEST).exists():  # noqa: PTH110
        path = other
    if os.path.isfile(path):  # noqa: PTH113
        return _of_file(path, pattern, special_tokens)
    return _of_run(path)


def _of_run(folder: Path) -> Tokenizer:
    try:
        rule = read_rule(folder / MANIFEST)
        files = folder / VOCAB, folder / MERGES
        return Tokenizer.from_files(*files, rule.special_tokens, pattern=rule.pattern)
    except FileNotFoundError as error:
        raise OutputError(
            f"{folder}: no finished tokenizer ({Path(error.filename).name} is missing)",
            hint=f"finish the run first: bpefleet resume {folder}",
        ) from None
    except OSError as error:
        raise OutputError(f"{error.filename or folder}: {error.strerror}") from None
    except ValueError as error:
        raise OutputError(f"{folder}: the tokenizer is damaged: {error}") from error
    except UsageError as error:
        raise OutputError(f"{folder}: the tokenizer is damaged: {error.message}") from error


def _of_file(path: Path, pattern: str, special_tokens: Mapping[str, int]) -> Tokenizer:
    """A tokenizer of a file: Hugging Face's `tokenizer.json`, or tiktoken's ranks.

    Raises:
        OutputError: The file cannot be read, or is none of these.
        UsageError: It is tiktoken's, and there is no pattern; or `tokenizers` is needed.
    """
    try:
        content = read_bytes(path)
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror}") from None
    if content.lstrip().startswith(b"{"):
        return _of_json(path, content)
    ranks = _ranks(path, content)
    if not pattern:
        raise UsageError(
            f"{path}: a file of tiktoken's does not say how text is split",
            hint=f"name the pattern, one of {', '.join(PATTERNS)}, or give a regex",
        )
    try:
        return Tokenizer.from_ranks(ranks, special_tokens, pattern=pattern)
    except ValueError as error:
        raise OutputError(f"{path}: {error}") from None


def _of_name(name: str) -> Tokenizer:
    """A tokenizer that tiktoken knows, by the name of an encoding or of a model.

    Raises:
        OutputError: There is no such file either.
        SourceError: tiktoken cannot fetch it.
    """
    from tiktoken import model, registry  # noqa: PLC0415  slow to import

    try:
        encodings = registry.list_encoding_names()
        encoding = name if name in encodings else model.encoding_name_for_model(name)
        # No Encoding is made: it would hold each token twice more.
        constructors: Any = registry.ENCODING_CONSTRUCTORS
        parts = constructors[encoding]()
    except KeyError:
        raise OutputError(
            f"{name}: no finished tokenizer: there is no such directory or file, and tiktoken has "
            "no encoding of that name",
            hint="give the directory of a run, a tokenizer.json, or a name such as cl100k_base",
        ) from None
    except Exception as error:
        raise SourceError(
            f"tiktoken cannot fetch {name}: {error}",
            hint="it downloads encodings; TIKTOKEN_CACHE_DIR is where it keeps them",
        ) from error
    pattern = tokenizer_json.named(parts["pat_str"])
    return Tokenizer.from_ranks(parts["mergeable_ranks"], parts["special_tokens"], pattern=pattern)


def _of_json(path: Path, content: bytes) -> Tokenizer:
    try:
        parts = tokenizer_json.read(orjson.loads(content))
        return Tokenizer.from_ranks(
            parts.ranks,
            parts.special_tokens,
            pattern=parts.pattern,
            merges=parts.merges,
            ignore_merges=parts.ignore_merges,
            post_processor=parts.post_processor,
        )
    except tokenizer_json.OtherKindError as error:
        return _foreign(path, content, str(error))
    except (ValueError, TypeError, OverflowError) as error:
        raise OutputError(f"{path}: no tokenizer: {error}") from None


def _foreign(path: Path, content: bytes, why: str) -> Tokenizer:
    try:
        from bpefleet.shared.tokenizer.foreign import of_json  # noqa: PLC0415  an extra

        return of_json(content)
    except ImportError:
        raise UsageError(
            f"{path}: this tokenizer has {why}, so that encoding needs the package tokenizers",
            hint="pip install 'bpefleet[huggingface]'",
        ) from None
    except Exception as error:  # noqa: BLE001  what tokenizers raises is no more than that
        raise OutputError(f"{path}: no tokenizer: {error}") from None


def _ranks(path: Path, content: bytes) -> dict[bytes, int]:
    """The content of a file of tiktoken's: on each line a token in base64, and its rank."""
    ranks = {}
    for number, line in enumerate(content.splitlines(), 1):
        try:
            if line:
                token, rank = line.split()
                ranks[base64.b64decode(token, validate=True)] = int(rank)
        except ValueError:
            raise OutputError(
                f"{path}: line {number} is no token with its rank, and the file no tokenizer.json",
                hint="give the directory of a run, a tokenizer.json, or a file of tiktoken's",
            ) from None
    return ranks
