"""The trainer's lines: each is read as what it is, and errors are ours or the trainer's."""

from __future__ import annotations

import pytest

from bpefleet.producer.store.ledgers.ledger_format import DamagedError
from bpefleet.producer.training import answers
from bpefleet.producer.training.sample_tokens import Picked
from bpefleet.shared import errors
from bpefleet.shared.errors import BpefleetError, OutputError, TrainerError, class_of, kind_of
from bpefleet.shared.wire.messages import MessageError

PICKED = Picked((("6162", 2),), ())


@pytest.mark.parametrize(
    "answer",
    [
        answers.Folded(7),
        answers.Merging(3, PICKED),
        answers.Writing(),
        answers.Ended("OutputError", "no", ""),
    ],
    ids=lambda answer: type(answer).__name__,
)
def test_answers_are_told_apart(answer: answers.Answer) -> None:
    assert answers.read_answer(answer.to_bytes()) == answer


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{}",
        b"[]",
        b'{"type":"other"}',
        b'{"type":"folded"}',
        b'{"type":"folded","unique":-1}',
    ],
)
def test_other_lines_are_refused(line: bytes) -> None:
    with pytest.raises(MessageError, match="the trainer's line: "):
        answers.read_answer(line)


def test_an_error_is_of_the_same_class_on_the_other_side() -> None:
    error = answers.Ended.by(OutputError("full", hint="make room")).error()
    assert (type(error), error.message, error.hint) == (OutputError, "full", "make room")


def test_an_error_without_a_name_of_its_own_goes_by_the_one_above() -> None:
    assert kind_of(DamagedError("bad")) == "OutputError"
    assert type(answers.Ended.by(DamagedError("bad")).error()) is OutputError


@pytest.mark.parametrize("kind", ["ExitCode", "annotations", "__builtins__", "Exception", "", "x"])
def test_no_other_name_becomes_a_class(kind: str) -> None:
    assert class_of(kind) is None
    assert type(answers.Ended(kind, "odd", "").error()) is TrainerError


def test_every_error_that_another_process_may_name_has_its_class() -> None:
    ours = {each for each in vars(errors).values() if isinstance(each, type)}
    of_callers: set[type[BpefleetError]] = {errors.UnknownTokenError, errors.SpecialTokenError}
    wanted = {each for each in ours if issubclass(each, BpefleetError)} - of_callers
    assert {class_of(each.__name__) for each in wanted} == wanted
