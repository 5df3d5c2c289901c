"""What the post-processor of a `tokenizer.json` puts around a text: a BOS, an EOS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from bpefleet.shared.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping


class Around(NamedTuple):
    """The ids before those of a text, and behind them."""

    before: tuple[int, ...] = ()
    behind: tuple[int, ...] = ()


def around(post_processor: Mapping[str, Any] | None) -> Around:
    """What a post-processor adds to a single text.

    Raises:
        UsageError: It is none, or of a kind that does more.
    """
    try:
        return _around(post_processor) if post_processor else Around()
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        raise UsageError(
            f"the tokenizer's post-processor is not understood: {type(error).__name__}: {error}",
            hint="encode without add_special_tokens, and put the ids around it yourself",
        ) from error


def _around(post_processor: Mapping[str, Any]) -> Around:
    kind = post_processor["type"]
    if kind == "ByteLevel":  # it trims offsets
        return Around()
    if kind in {"BertProcessing", "RobertaProcessing"}:
        return Around((int(post_processor["cls"][1]),), (int(post_processor["sep"][1]),))
    if kind == "TemplateProcessing":
        return _of_template(post_processor["single"], post_processor["special_tokens"])
    if kind != "Sequence":
        raise ValueError(kind)
    adding = [each for part in post_processor["processors"] if any(each := _around(part))]
    if len(adding) > 1:
        raise ValueError("several that add tokens")
    return adding[0] if adding else Around()


def _of_template(single: list[Any], special: Mapping[str, Any]) -> Around:
    sides: list[list[int]] = [[]]
    for piece in single:
        if "SpecialToken" in piece:
            sides[-1] += map(int, special[piece["SpecialToken"]["id"]]["ids"])
        else:
            sides.append([])
    before, behind = sides  # if the text is there once
    return Around(tuple(before), tuple(behind))
