"""Mixtures: weights are as good as repeated documents, and samples the same however counted."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import nullcontext
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from bpefleet import Source, merge, status, train
from bpefleet.kernel import Sampler
from bpefleet.producer.counts.counts_table import counts_of
from bpefleet.producer.store.directory import RunDirectory
from bpefleet.shared.corpus.sampling import WHOLE, seed_of
from bpefleet.shared.errors import SourceError, UsageError
from tests import naive
from tests.artifacts import artifacts
from tests.command import bpefleet
from tests.patterns import PATTERNS
from tests.shared.corpus.compressions import compress
from tests.texts import ENDOFTEXT, code, english, multilingual

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

SIZE = 400
DOCUMENTS = {
    "english": english(60_000).documents,
    "code": code(60_000).documents,
    "many": multilingual().documents[:200],
}
SPLITS = PATTERNS["cl100k"]


def lines(documents: Sequence[str]) -> str:
    return "".join(json.dumps({"text": text}) + "\n" for text in documents)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with text, JSON Lines and Parquet."""
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "english.txt").write_text(ENDOFTEXT.join(DOCUMENTS["english"]), "utf-8")
    (folder / "code.jsonl").write_text(lines(DOCUMENTS["code"]), "utf-8")
    table = pa.table({"text": DOCUMENTS["many"]})
    parquet.write_table(table, folder / "many.parquet", row_group_size=20)
    return folder


def sources(corpus: Path, **weights: Any) -> list[Source]:
    names = {"english": "english.txt", "code": "code.jsonl", "many": "many.parquet"}
    return [
        Source(name, corpus / file, weight=weights.get(name, 1)) for name, file in names.items()
    ]


def trained(out: Path, given: Any, **options: Any) -> Path:
    chosen: dict[str, Any] = {"vocab_size": SIZE, "workers": 0, "chunk_size": 7_000, **options}
    return train(given, out=out, **chosen).directory


def by_definition(repeats: dict[str, int], tie_break: str, **options: Any) -> list[naive.Merge]:
    found: Counter[bytes] = Counter()
    for name, often in repeats.items():
        for document in DOCUMENTS[name]:
            for token, count in naive.count(document, SPLITS, [ENDOFTEXT]).items():
                found[token] += count * often
    return naive.merges(found, tie_break, SIZE - 257, **options)


@pytest.mark.parametrize("tie_break", ["lexmax", "rawid", "hf", "lexmin"])
def test_a_weight_is_as_good_as_repeated_documents(
    corpus: Path, tmp_path: Path, tie_break: str
) -> None:
    weights = {"english": 2, "code": 3, "many": 1}
    result = train(
        sources(corpus, **weights),
        vocab_size=SIZE,
        out=tmp_path / "run",
        workers=0,
        tie_break=tie_break,
        min_frequency=9,
    )
    expected = by_definition(weights, tie_break, min_frequency=9)
    assert result.tokenizer.merges == expected
    halved = {name: Fraction(weight, 2) for name, weight in weights.items()}
    half = trained(tmp_path / "half", sources(corpus, **halved), tie_break=tie_break)
    assert artifacts(half) == artifacts(result.directory)


def test_other_weights_need_no_counting(corpus: Path, tmp_path: Path) -> None:
    direct = trained(
        tmp_path / "direct", sources(corpus, english="1/3", code=0.5, many=0), min_frequency=2
    )
    plain = trained(tmp_path / "plain", sources(corpus))
    done = bpefleet(
        *("merge", plain, "--weight", "code=0.5", "--weight", "many=0", "--weight", "english=1/3"),
        *("--vocab-size", SIZE, "--min-frequency", 2, "-o", tmp_path / "again"),
    )
    assert done.returncode == 0, done.stderr
    assert artifacts(tmp_path / "again") == artifacts(direct)
    assert counts_of(tmp_path / "again") == counts_of(direct)
    told = [(each.name, each.weight) for each in status(tmp_path / "again").sources]
    assert told == [("english", "1/3"), ("code", "1/2"), ("many", "0")]
    # Nothing of the sources is lost by that.
    back = merge(
        tmp_path / "again",
        weights={"english": 1, "code": 1, "many": 1},
        out=tmp_path / "back",
        vocab_size=SIZE,
    )
    assert artifacts(back.directory) == artifacts(plain)
    assert artifacts(plain) == artifacts(trained(tmp_path / "paths", corpus))


def test_runs_with_sources_are_added_up_by_name(corpus: Path, tmp_path: Path) -> None:
    english, code, many = sources(corpus, english=3)
    whole = trained(tmp_path / "whole", [english, code, many])
    one = trained(tmp_path / "one", [english, code])
    other = trained(tmp_path / "other", [many])
    added = merge(one, other, out=tmp_path / "sum", vocab_size=SIZE)
    assert artifacts(added.directory) == artifacts(whole)
    half, rest = DOCUMENTS["english"][::2], DOCUMENTS["english"][1::2]
    for name, documents in (("half", half), ("rest", rest)):
        (tmp_path / f"{name}.txt").write_text(ENDOFTEXT.join(documents), "utf-8")
    parts = [
        trained(tmp_path / name, Source("english", tmp_path / f"{name}.txt", weight=3))
        for name in ("half", "rest")
    ]
    both = merge(*parts, other, out=tmp_path / "both", vocab_size=SIZE)
    told = [(each.name, each.files) for each in both.trained.mixture]
    assert told == [("english", 2), ("many", 1)]
    with pytest.raises(UsageError, match=r"english has the weight 3 in one run and 1 in another"):
        merge(
            parts[0], trained(tmp_path / "1", sources(corpus)), out=tmp_path / "x", vocab_size=SIZE
        )
    with pytest.raises(UsageError, match=r"no source wiki\nhint: there are english, code"):
        merge(one, weights={"wiki": 2}, out=tmp_path / "x", vocab_size=SIZE)


def documents_taken(name: str, file: str, places: Sequence[int], share: int) -> list[str]:
    seed = seed_of(name, file)
    texts = DOCUMENTS[name]
    return [text for text, place in zip(texts, places, strict=True) if _takes(seed, share, place)]


def _takes(seed: int, share: int, place: int) -> bool:
    return bool(Sampler(seed, share).rows(place, 1))


def _ends(parts: Sequence[bytes], between: int) -> list[int]:
    places = [0]
    for part in parts[:-1]:
        places.append(places[-1] + len(part) + between)
    return places


def test_samples_are_those_of_the_definition(corpus: Path, tmp_path: Path) -> None:
    share = WHOLE // 4
    encoded = [text.encode() for text in DOCUMENTS["english"]]
    records = [line.encode() for line in lines(DOCUMENTS["code"]).splitlines()]
    places = {
        ("english", "english.txt"): _ends(encoded, len(ENDOFTEXT)),
        ("code", "code.jsonl"): _ends(records, 1),
        ("many", "many.parquet"): range(len(DOCUMENTS["many"])),
    }
    expected: Counter[bytes] = Counter()
    for (name, file), where in places.items():
        for document in documents_taken(name, file, list(where), share):
            expected += naive.count(document, SPLITS, [ENDOFTEXT])
    given = [Source(each.name, each.paths, sample=0.25) for each in sources(corpus)]
    for chunk_size, workers in ((1_000, 0), (9_000, 0), (1 << 20, 0), (20_000, 2)):
        out = tmp_path / f"{chunk_size}-{workers}"
        trained(out, given, chunk_size=chunk_size, workers=workers)
        assert Counter(dict(counts_of(out))) == expected, (chunk_size, workers)


MOVES: dict[str, Callable[[Path, str], object]] = {
    "txt": lambda path, text: path.write_text(text, "utf-8"),
    "txt.gz": lambda path, text: path.write_bytes(compress(text.encode(), "gzip")),
    "txt.xz": lambda path, text: path.write_bytes(compress(text.encode(), "xz")),
}


def test_a_sample_stays_when_a_corpus_is_moved_compressed_and_added_to(tmp_path: Path) -> None:
    text, more = ENDOFTEXT.join(DOCUMENTS["english"]), ENDOFTEXT.join(DOCUMENTS["many"])
    found = []
    for place, (ending, write) in enumerate(MOVES.items()):
        folder = tmp_path / str(place) / "deep" / "corpus"
        (folder / "a").mkdir(parents=True)
        write(folder / "a" / f"one.{ending}", text)
        out = tmp_path / f"out-{place}"
        found.append(counts_of(trained(out, Source("web", folder, sample="1/2"))))
        (folder / "added.txt").write_text(more, "utf-8")
        both = trained(tmp_path / f"both-{place}", Source("web", folder, sample="1/2"))
        alone = trained(
            tmp_path / f"alone-{place}", Source("web", folder / "added.txt", sample="1/2")
        )
        sums = Counter(dict(found[-1])) + Counter(dict(counts_of(alone)))
        assert Counter(dict(counts_of(both))) == sums
    assert found[0] == found[1] == found[2]


def test_a_larger_share_takes_what_a_smaller_one_takes(corpus: Path, tmp_path: Path) -> None:
    before: Counter[bytes] = Counter()
    for share in ("0.1", "0.4", "0.8", "1"):
        taken = Source("code", corpus / "code.jsonl", sample=share)
        now = Counter(dict(counts_of(trained(tmp_path / share, taken, allow_fewer_merges=True))))
        assert now >= before
        before = now


def test_max_bytes_takes_about_so_much(tmp_path: Path) -> None:
    path = tmp_path / "even.jsonl"
    path.write_text(lines([f"{n:0100}" for n in range(5_000)]))
    out = trained(
        tmp_path / "run", Source("even", path, max_bytes=100_000), allow_fewer_merges=True
    )
    assert 85_000 < status(out).bytes_counted < 115_000


def test_rows_of_any_layout_are_sampled_alike(tmp_path: Path) -> None:
    texts = [None if n % 7 == 0 else text for n, text in enumerate(DOCUMENTS["many"])]
    kinds = {
        "plain": pa.array(texts),
        "large": pa.array(texts, pa.large_string()),
        "view": pa.array(texts, pa.string_view()),
        "dictionary": pa.array(texts).dictionary_encode(),
    }
    found = []
    for name, column in kinds.items():
        folder = tmp_path / name
        folder.mkdir()
        feather.write_feather(pa.table({"text": column}), folder / "t.feather", chunksize=9)
        out = trained(tmp_path / f"run-{name}", Source("t", folder, sample=0.5), chunk_size=1000)
        now = status(out)
        found.append((counts_of(out), now.records, now.absent))
        assert 0 < now.absent < now.records < len(texts)
    assert all(each == found[0] for each in found)


def test_a_bad_document_is_named_if_it_is_taken(tmp_path: Path) -> None:
    parts = [b'{"text": "%d"}' % n for n in range(200)]
    parts[77] = b'{"text": 5}'
    path = tmp_path / "bad.jsonl"
    path.write_bytes(b"\n".join(parts))
    place = _ends(parts, 1)[77]
    outcomes = set()
    for name in "abcdefgh":
        given = Source(name, path, sample=0.5)
        taken = _takes(seed_of(name, "bad.jsonl"), WHOLE // 2, place)
        refused = pytest.raises(SourceError, match="line 78 of") if taken else nullcontext()
        with refused:
            trained(tmp_path / name, given, allow_fewer_merges=True)
        outcomes.add(taken)
    assert outcomes == {True, False}


def test_each_source_must_have_its_field(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "odd.jsonl").write_text('{"content": "some text"}\n' * 20)
    given = [*sources(corpus), Source("odd", tmp_path / "odd.jsonl")]
    with pytest.raises(UsageError, match="of the source odd has a text in the field text") as error:
        trained(tmp_path / "run", given)
    assert error.value.hint.endswith("the other fields with text in the first file: content")
    given[-1] = Source("odd", tmp_path / "odd.jsonl", text_field="content")
    (told,) = (
        each for each in status(trained(tmp_path / "2", given)).sources if each.records == 20
    )
    assert (told.name, told.absent, told.files, told.weight) == ("odd", 0, 1, "1")


def test_no_chunk_holds_two_sources_and_no_file_of_counts_does(
    corpus: Path, tmp_path: Path
) -> None:
    out = trained(tmp_path / "run", sources(corpus), chunk_size=1_000)
    plan = RunDirectory.open(out).plan
    assert len(plan.chunks) > 100
    for chunk in plan.chunks:
        assert len({plan.files[index].source for index, _, _ in chunk}) == 1
    joined = [path.stem.split("-") for path in (out / "counts").glob("joined-*")]
    of = [plan.files[plan.chunks[int(first)][0][0]].source for _, first, _ in joined]
    assert sorted(of) == [0, 2]  # the other has too few chunks
    shares = [each.share for each in status(out).sources]
    assert sum(shares) == pytest.approx(1)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: [Source("a", c), Source("b", c / "code.jsonl")], "is in two sources: a and b"),
        (lambda c: [Source("a", c), Source("a", c / "code.jsonl")], "two sources are called a"),
        (lambda c: [Source("a", c), c / "code.jsonl"], "is given beside a Source"),
        (lambda c: [Source("a", c, weight=0)], "all weights are 0"),
        (lambda _: [Source("a", "-")], "standard input cannot be counted beside"),
        (
            lambda c: [Source("a", c, weight="1/99999999999999999999"), Source("b", __file__)],
            "fine",
        ),
    ],
    ids=["file twice", "name twice", "path beside", "no weight", "stdin", "too fine"],
)
def test_what_makes_no_mixture_is_refused(
    corpus: Path, tmp_path: Path, change: Callable[[Path], Any], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        trained(tmp_path / "run", change(corpus))
    assert not (tmp_path / "run").exists()


def test_a_corpus_file_is_one_by_itself_only(corpus: Path, tmp_path: Path) -> None:
    path = tmp_path / "corpus.toml"
    path.write_text(f'[all]\npaths = "{corpus}"\n')
    assert artifacts(trained(tmp_path / "run", path)) == artifacts(trained(tmp_path / "2", corpus))
    with pytest.raises(UsageError, match="beside other sources"):
        trained(tmp_path / "3", [path, corpus])
    text = trained(tmp_path / "4", path, format="text", allow_fewer_merges=True)
    assert status(text).bytes_counted == path.stat().st_size
