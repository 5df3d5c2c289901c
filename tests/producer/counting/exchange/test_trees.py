"""However counts are put together in an exchange, they come to what folding them at once gives."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace as changed

from bpefleet.kernel import Counts, FoldedCounts
from bpefleet.producer.counting.exchange import sums
from bpefleet.producer.counting.exchange.elsewhere import Elsewhere
from bpefleet.producer.counting.kinds.store_reduced import StoreReduced
from bpefleet.producer.store.exchanged.journal import Exchanged, read_parts
from bpefleet.producer.store.exchanged.parts import Counted
from bpefleet.producer.store.ledgers.ledger import Ledger
from bpefleet.producer.store.ledgers.ledger_format import Totals
from bpefleet.shared.exchange.names import new_name
from bpefleet.shared.trust.signing import Signer
from bpefleet.shared.wire.messages import Part, Reduced
from bpefleet.worker.tasks.reduce import put_together

if TYPE_CHECKING:
    from collections.abc import Iterator

DIGEST = "ab" * 32
RUN = "run"
SIGNER = Signer(b"k" * 32)


class Bench:
    """A run directory and an exchange, whose workers are the test."""

    def __init__(self, folder: Path, words: list[dict[str, int]], sources: tuple[int, ...]) -> None:
        self.folder = folder
        self.words = words
        self.sources = sources
        (folder / "counts").mkdir(exist_ok=True)
        (folder / "exchange").mkdir(exist_ok=True)
        self.open()

    def open(self) -> None:
        """As a producer does that begins or goes on."""
        counts = self.folder / "counts"
        self.ledger = Ledger(counts, DIGEST, sources=self.sources)
        exchanged = Exchanged(
            counts,
            RUN,
            str(self.folder / "exchange"),
            counted=self.ledger.chunks,
            sources=self.sources,
        )
        plan: Any = SimpleNamespace(run=RUN, digest=DIGEST)
        self.there = Elsewhere(exchanged, plan)
        self.store = StoreReduced(SimpleNamespace(elsewhere=self.there), SIGNER)  # type: ignore[arg-type]

    def payload(self, chunk: int) -> bytes:
        counts = Counts()
        counts.add_all(self.words[chunk])
        return counts.encode(bytes.fromhex(DIGEST))

    def count(self, chunk: int) -> None:
        """A worker counts a chunk."""
        if chunk in self.there.ledger.parts.chunks:
            return
        payload, file = self.payload(chunk), new_name(str(chunk))
        words = self.words[chunk]
        self.there.files.put(file, payload)
        text = sum(len(word) * n for word, n in words.items())
        part = Part(
            file, SIGNER.fingerprint(payload), len(payload), sum(words.values()), len(words), text
        )
        self.there.ledger.note([Counted(chunk, part, Totals(pretokens=part.pretokens))])

    def reduce(self, unit: int) -> Reduced:
        """A worker makes a sum."""
        spec = self.there.spec(None, unit, "")  # type: ignore[arg-type]
        made = put_together(self.there.files, unit, spec, SIGNER)
        return Reduced(
            parts=made.parts,
            size=sum(part.size for part in made.parts),
            seconds=0.0,
            peak_rss=1,
            worker="w",
            started=0.0,
            ended=0.0,
            damaged=made.damaged,
            least=made.least,
        )

    def add(self, unit: int, reduced: Reduced) -> Any:
        """The producer is told of it."""
        return self.store.add([(unit, reduced, None)])[0]

    def finish(self) -> None:
        """Count what is lost, and bring all in."""
        while set(range(len(self.words))) - self.ledger.chunks:
            for chunk in range(len(self.words)):
                if chunk not in self.ledger.chunks:
                    self.count(chunk)
            self.there.plan(last=True)
            while still_open := sorted(self.there.ledger.parts.open):
                assert self.add(still_open[0], self.reduce(still_open[0])) is None
            self.there.bring_in(self.ledger, SIGNER)

    def straight(self) -> bytes:
        """What folding everything at once gives."""
        payloads = [self.payload(chunk) for chunk in range(len(self.words))]
        return FoldedCounts(payloads, bytes.fromhex(DIGEST)).payload


WORDS = st.lists(
    st.dictionaries(
        st.sampled_from([f"word{i}" for i in range(40)]), st.integers(1, 9), min_size=1
    ),
    min_size=1,
    max_size=24,
)


@settings(max_examples=40)
@given(words=WORDS, data=st.data())
def test_any_tree_with_late_doubled_and_damaged_parts(
    words: list[dict[str, int]], data: st.DataObject
) -> None:
    draw = data.draw
    sources = tuple(draw(st.lists(st.integers(0, 1), min_size=len(words), max_size=len(words))))
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sums, "MOST", draw(st.integers(2, 5), label="most"))
        patch.setattr(sums, "LEAST", 2)
        patch.setattr(sums, "BYTES", draw(st.sampled_from([600, 1500, 1 << 20]), label="bytes"))
        patch.setattr(sums, "LARGE", draw(st.sampled_from([0, 700, 1 << 20]), label="large"))
        patch.setattr(sums, "RANGES", draw(st.integers(2, 4), label="ranges"))
        bench = Bench(Path(folder), words, sources)
        late: list[tuple[int, Reduced]] = []
        for chunk in draw(st.permutations(range(len(words)))):
            bench.count(chunk)
            bench.there.plan(last=False)
            still_open = sorted(bench.there.ledger.parts.open)
            match draw(st.sampled_from(["wait", "reduce", "twice", "damage", "late", "die"])):
                case "reduce" if still_open:
                    assert bench.add(still_open[0], bench.reduce(still_open[0])) is None
                case "twice" if still_open:
                    first, second = (bench.reduce(still_open[-1]) for _ in range(2))
                    assert bench.add(still_open[-1], second) is None
                    assert bench.add(still_open[-1], first) is None
                case "damage" if bench.there.ledger.parts.held:
                    held = draw(st.sampled_from(sorted(bench.there.ledger.parts.held)))
                    part = draw(st.sampled_from(bench.there.ledger.parts.held[held].parts))
                    _damage(bench, part, draw(st.booleans()))
                case "late" if still_open:
                    made = bench.reduce(still_open[0])
                    if not made.damaged:
                        late.append((still_open[0], made))
                case "die":
                    bench.there.ledger.close()
                    bench.open()
        for unit, reduced in late:
            bench.add(unit, reduced)  # it may be no more to be had, or not be waited for
        bench.finish()
        assert bench.ledger.folded().payload == bench.straight()
        assert bench.ledger.totals.pretokens == sum(sum(each.values()) for each in words)
        assert read_parts(bench.folder / "counts", bench.ledger.chunks).held == {}
        bench.there.close(done=True)
        assert not list((bench.folder / "exchange").iterdir())
        bench.open()  # and nothing of it is left to go on with
        assert bench.there.ledger.parts.chunks == set()
        bench.there.ledger.close()


def _damage(bench: Bench, part: Part, is_gone: bool) -> None:  # noqa: FBT001
    path = bench.folder / "exchange" / RUN / part.file
    if is_gone or not path.exists():
        path.unlink(missing_ok=True)
        return
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    """Of which one sum is to be made."""
    made = begun(tmp_path, monkeypatch)
    yield made
    made.there.ledger.close()


def begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """Likewise."""
    monkeypatch.setattr(sums, "MOST", 3)
    made = Bench(tmp_path, [{"one": 1, "two": 2}, {"two": 3}, {"three": 4, "four": 1}], ())
    for chunk in range(3):
        made.count(chunk)
    made.there.plan(last=False)
    assert made.there.ledger.parts.open == {0}
    return made


@pytest.mark.parametrize(
    ("lie", "said"),
    [
        ({"pretokens": 12}, "another number of pre-tokens"),
        ({"unique": 60}, "different pre-tokens cannot be"),
        ({"text": 10**6}, "more text than its parts"),
        ({"size": 10**6}, "larger than its parts"),
        ({"size": 100}, "is not in the exchange"),
        ({"file": "../../etc/passwd"}, "foreign file"),
        ({"file": f"0-{0:016}.counts"}, "foreign file"),
        ({"file": f"reduce0-{0:016}.counts"}, "is not in the exchange"),
    ],
)
@pytest.mark.parametrize("large", [0, 1 << 20])
def test_a_worker_that_lies_of_a_sum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: int, lie: dict[str, Any], said: str
) -> None:
    monkeypatch.setattr(sums, "LARGE", large)
    bench = begun(tmp_path, monkeypatch)
    true = bench.reduce(0)
    lies = (changed(true.parts[0], **lie), *true.parts[1:])
    assert said in bench.add(0, changed(true, parts=lies)).error
    assert bench.add(0, true) is None
    bench.finish()
    assert bench.ledger.folded().payload == bench.straight()


@pytest.mark.parametrize(
    ("lie", "said"),
    [
        ({"damaged": (1,)}, "says that parts are damaged, which are not"),
        ({"damaged": (7,)}, "says that parts are damaged, which are not"),
        ({"parts": ()}, "another number of ranges"),
        ({"least": b"1234567"}, "least hashes are none"),
    ],
)
def test_a_worker_that_says_what_makes_no_sense(
    bench: Bench, lie: dict[str, Any], said: str
) -> None:
    true = bench.reduce(0)
    assert said in bench.add(0, changed(true, **lie)).error
    few = changed(true, parts=(changed(true.parts[0], unique=1),))
    assert "different pre-tokens cannot be" in bench.add(0, few).error
    assert bench.add(0, true) is None


def test_one_range_given_twice_is_no_sum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sums, "LARGE", 0)
    bench = begun(tmp_path, monkeypatch)
    true = bench.reduce(0)
    twice = (true.parts[0],) * len(true.parts)
    assert "foreign file" in bench.add(0, changed(true, parts=twice)).error


def test_a_sum_of_other_counts_is_found_out_where_it_is_read(bench: Bench) -> None:
    true = bench.reduce(0)
    path = bench.folder / "exchange" / RUN / true.parts[0].file
    forged = bytearray(path.read_bytes())
    forged[-1] ^= 1
    path.write_bytes(forged)
    assert bench.add(0, true) is None  # nobody has read it yet
    bench.there.bring_in(bench.ledger, SIGNER)
    assert bench.there.lost == [0, 1, 2]
    bench.finish()
    assert bench.ledger.folded().payload == bench.straight()


def test_a_sound_payload_that_the_key_does_not_vouch_for_is_none(bench: Bench) -> None:
    bench.words[0] = {"one": 2, "two": 1}  # as many, as long
    other = bench.payload(0)
    part = bench.there.ledger.parts.held[0].parts[0]
    assert len(other) == part.size
    (bench.folder / "exchange" / RUN / part.file).write_bytes(other)
    assert bench.reduce(0).damaged == (0,)
    assert not bench.there.is_good(part, SIGNER)


def test_ranges_replace_what_they_were_made_from_once_all_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sums, "LARGE", 0)
    monkeypatch.setattr(sums, "MOST", 2)
    monkeypatch.setattr(sums, "RANGES", 3)
    words = [{f"word{n}": 1 + n for n in range(i, i + 60)} for i in range(0, 80, 20)]
    bench = Bench(tmp_path, words, ())
    for chunk in range(4):
        bench.count(chunk)
        bench.there.plan(last=False)
    parts = bench.there.ledger.parts
    assert bench.there.ledger.unique == 0
    for unit in (0, 1):
        assert bench.add(unit, bench.reduce(unit)) is None
    assert bench.there.ledger.unique == 120  # as few are told exactly
    bench.there.plan(last=False)
    assert parts.open == {2, 3, 4}  # a job for each range
    before = set(bench.there.ledger.parts.held)
    for unit in (4, 2):
        assert bench.add(unit, bench.reduce(unit)) is None
        assert set(bench.there.ledger.parts.held) == before
    bench.there.ledger.close()
    bench.open()
    parts = bench.there.ledger.parts
    assert parts.open == {3}
    assert set(parts.made) == {2, 4}
    assert bench.there.ledger.unique == 120  # over a resume, too
    assert bench.add(3, bench.reduce(3)) is None
    assert set(parts.held) == {-3}
    assert sum(part.unique for part in parts.held[-3].parts) == 120
    assert len(list((bench.folder / "exchange" / RUN).iterdir())) == 3
    bench.there.bring_in(bench.ledger, SIGNER)
    assert bench.ledger.folded().payload == bench.straight()
    bench.there.ledger.close()


def test_a_range_that_cannot_be_made_leaves_all_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sums, "LARGE", 0)
    monkeypatch.setattr(sums, "MOST", 2)
    monkeypatch.setattr(sums, "RANGES", 2)
    bench = Bench(tmp_path, [{f"word{i}": i + 1, "other": 2} for i in range(4)], ())
    for chunk in range(4):
        bench.count(chunk)
        bench.there.plan(last=False)
    for unit in (0, 1):
        assert bench.add(unit, bench.reduce(unit)) is None
    bench.there.plan(last=False)
    assert bench.there.ledger.parts.open == {2, 3}
    late = bench.reduce(3)
    assert bench.add(2, bench.reduce(2)) is None
    bench.there.give_up(3)
    assert bench.there.ledger.parts.open == set()
    assert bench.add(3, late) is None
    bench.there.bring_in(bench.ledger, SIGNER)
    assert bench.there.lost == []
    assert bench.ledger.folded().payload == bench.straight()
    bench.there.ledger.close()


def test_a_sum_that_cannot_be_made_is_brought_in_as_it_is(bench: Bench) -> None:
    bench.there.give_up(0)
    bench.there.plan(last=True)
    assert bench.there.ledger.parts.open == set()
    bench.there.bring_in(bench.ledger, SIGNER)
    assert bench.ledger.folded().payload == bench.straight()


def test_what_is_in_the_ledger_already_is_not_brought_in_twice(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The producer died between the two."""
    assert bench.add(0, bench.reduce(0)) is None
    note = bench.there.ledger.note

    def die(lines: Any) -> None:
        if lines:
            raise KeyboardInterrupt
        note(lines)

    monkeypatch.setattr(bench.there.ledger, "note", die)
    with pytest.raises(KeyboardInterrupt):
        bench.there.bring_in(bench.ledger, SIGNER)
    bench.there.ledger.close()
    bench.open()
    assert bench.there.ledger.parts.chunks == set()
    bench.there.bring_in(bench.ledger, SIGNER)
    assert bench.ledger.folded().payload == bench.straight()


def test_half_a_line_is_as_none(bench: Bench) -> None:
    before = replace(bench.there.ledger.parts)
    bench.there.ledger.close()
    path = bench.folder / "counts" / "exchange.jsonl"
    with path.open("ab") as file:
        file.write(b'{"type":"dropped","un')
    bench.open()
    assert bench.there.ledger.parts == before
