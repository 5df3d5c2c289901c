"""Options that several commands share."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from bpefleet.shared.errors import ExitCode, UsageError
from bpefleet.shared.process import amounts, command, logs

if TYPE_CHECKING:
    from collections.abc import Callable

    _Option = Callable[[Callable[..., Any]], Callable[..., Any]]

_UNITS: Final = {"": 1, "k": 10**3, "m": 10**6}
FORMATS: Final = ("auto", "text", "jsonl", "parquet", "arrow")
EXIT_CODES: Final = "Exit codes: " + ", ".join(
    f"{code.value} {code.name.lower().replace('_', ' ')}" for code in ExitCode
)


class Size(click.ParamType[int]):
    """A number of bytes: `33554432`, `32MiB`, `64 MB`."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read a size, or end with click's usage error."""
        if isinstance(value, int):
            return value
        if (size := amounts.read_size(value)) is None:
            self.fail(f"{value!r} is no size; {amounts.SIZES}", param, ctx)
        return size


class Number(click.ParamType[int]):
    """How many: `32000`, `32k`, `1m`."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read a number, or end with click's usage error."""
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"\s*(-?\d+)\s*([km]?)\s*", value, re.IGNORECASE)
        if match is None:
            self.fail(f"{value!r} is no number; write it as 32000 or 32k", param, ctx)
        return int(match[1]) * _UNITS[match[2].lower()]


class Weight(click.ParamType[Any]):
    """A source and its weight: `code=3`, `web=0.5`, `wiki=1/3`."""

    name = "weight"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read a weight, or end with click's usage error."""
        from bpefleet.producer.planning.mixture.weights import exact  # noqa: PLC0415  --help stays quick

        name, equals, weight = value.partition("=")
        if not (name and equals):
            self.fail(f"{value!r} names no weight; write it as code=3", param, ctx)
        try:
            return name, exact(weight, f"the weight of {name}")
        except UsageError as error:
            self.fail(f"{error.message}; {error.hint}", param, ctx)


class Percent(click.ParamType[float]):
    """A share: `0.1%`."""

    name = "percent"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Read a percentage, or end with click's usage error."""
        if isinstance(value, float):
            return value
        match = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*%\s*", value)
        if match is None:
            self.fail(f"{value!r} is no percentage; write it as 0.1%", param, ctx)
        return float(match[1]) / 100


def _log(context: click.Context, option: click.Parameter, value: Any) -> None:
    """Set up the log by what is given of its two options so far."""
    from bpefleet.producer.progress.handler import show_on_stderr  # noqa: PLC0415  --help stays quick

    given = context.meta.setdefault(_log.__qualname__, {"verbose": 0, "log_format": logs.HUMAN})
    given[option.name] = value
    level = logs.VERBOSE[min(given["verbose"], len(logs.VERBOSE) - 1)]
    show_on_stderr(level, given["log_format"])


_LOG_OPTIONS: Final = (
    click.option(
        "-v",
        "--verbose",
        count=True,
        expose_value=False,
        callback=_log,
        help="Also log what the run does, above its progress; twice: each step.",
    ),
    command.log_format_option(expose_value=False, callback=_log),
)


def _all_of(*options: _Option) -> _Option:
    """Several options as one, as if each were written above the function."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


log_options = _all_of(*_LOG_OPTIONS)
"""What is logged on stderr, and how."""
json_option = click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
redis_option = command.redis_option(
    text="Redis whose workers count: redis://, rediss:// or unix://. "
    "Without it a private server is started for the run.",
)
workers_option = click.option(
    "--workers",
    type=click.IntRange(min=0),
    metavar="N",
    help="Local workers. Default: one a core, or none with --redis. "
    "0 without --redis counts in this process, with no server.",
)
insecure_option = click.option(
    "--insecure", is_flag=True, help="Use a Redis across the network without a key."
)
dashboard_option = click.option(
    "--dashboard",
    is_flag=True,
    help="Serve the dashboard beside the run, on this machine's port 8787 or another that is free. "
    "It ends with the command. Needs pip install 'bpefleet[dashboard]'.",
)
dashboard_stay_option = click.option(
    "--dashboard-stay",
    is_flag=True,
    help="The same, and go on serving when the run is done, until Ctrl-C.",
)
quiet_option = click.option(
    "-q", "--quiet", is_flag=True, help="Show no progress: warnings, errors and the result only."
)
report_option = click.option(
    "--report/--no-report",
    default=None,
    help="Write report.md and report.html when the run is done, see `bpefleet report`. Default: "
    "with --redis, where the dashboard shows it, and with --dashboard.",
)
hold_option = click.option(
    "--hold",
    is_flag=True,
    help="When chunks have failed and all others are counted, wait for a retry instead of ending.",
)
timeout_option = click.option(
    "--timeout",
    type=click.IntRange(min=1),
    metavar="SECONDS",
    help="How long one attempt at a chunk may take. Default: plenty, by the chunk's size.",
)
allow_missing_option = click.option(
    "--allow-missing",
    type=Percent(),
    default="0%",
    show_default=True,
    metavar="PERCENT",
    help="Finish without chunks that keep failing, up to this share of the corpus. "
    "The tokenizer is then not that of the whole corpus.",
)
exchange_option = click.option(
    "--exchange",
    default="",
    metavar="DIR|URL",
    help="Where workers leave counts and put them together, in place of Redis: a directory that "
    "all machines see under the same path, or a URL such as s3://bucket/folder. Workers elsewhere "
    "are started with the same --exchange.",
)


def _encode_resources(workers: _Option) -> _Option:
    return _all_of(
        hold_option,
        timeout_option,
        workers,
        redis_option,
        command.key_file_option(),
        insecure_option,
        dashboard_option,
        dashboard_stay_option,
        quiet_option,
        *_LOG_OPTIONS,
        json_option,
    )


encode_resource_options = _encode_resources(workers_option)
"""Who encodes, where."""
evaluate_resource_options = _encode_resources(
    click.option(
        "--workers",
        type=click.IntRange(min=0),
        metavar="N",
        help="Local workers. Without this, --redis and -o, it is done in this process.",
    )
)
"""Who evaluates, where."""
resource_options = _all_of(
    exchange_option,
    allow_missing_option,
    hold_option,
    timeout_option,
    workers_option,
    redis_option,
    command.key_file_option(),
    insecure_option,
    dashboard_option,
    dashboard_stay_option,
    report_option,
    quiet_option,
    *_LOG_OPTIONS,
    json_option,
)
"""Who counts, where, and what happens to chunks that fail: `options.Resources`."""
directory_argument = click.argument("directory", type=click.Path(path_type=Path), metavar="DIR")
directories_argument = click.argument(
    "directories", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="DIR..."
)
tie_break_option = click.option(
    "--tie-break",
    type=click.Choice(["lexmax", "rawid", "hf", "lexmin"]),
    default="lexmax",
    show_default=True,
    help="Which pair wins among equal counts: the greatest bytes (CS336, ffbpe), the "
    "smallest ids (rustbpe, bpeasy), Hugging Face's rule, the smallest bytes.",
)
min_frequency_option = click.option(
    "--min-frequency",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Merge no pair that occurs less often.",
)
max_token_length_option = click.option(
    "--max-token-length",
    type=click.IntRange(min=2),
    metavar="BYTES",
    help="Make no token longer than this. Hugging Face tokenizers and bpeasy name the first length "
    "that is too long: one more.",
)
vocab_size_option = click.option(
    "--vocab-size",
    type=Number(),
    required=True,
    metavar="N",
    help="Tokens in all: 256 bytes, the merges, the special tokens. 32k is 32,000.",
)
out_option = click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    metavar="DIR",
    help="New directory for the run and its files.",
)


def _format_option(name: str) -> _Option:
    return click.option(
        name,
        type=click.Choice(FORMATS),
        default="auto",
        show_default=True,
        help="auto: plain text, JSON Lines, Parquet, Arrow, by each file's first bytes and name. "
        "Another: read all files as that; text takes JSON Lines as it stands. Whether a file is "
        "compressed, with gzip, zstd, xz or bzip2, is always told by its first bytes.",
    )


_field_option: Final = click.option(
    "--text-field",
    "--text-column",
    "text_field",
    default="text",
    show_default=True,
    metavar="NAME",
    help="Where a record of JSON Lines, or a row of a table, has its text; meta.text is the "
    "field text in meta.",
)
format_options = _all_of(_format_option("--format"), _field_option)
"""How files are read."""
source_format_options = _all_of(_format_option("--source-format"), _field_option)
"""The same beside an option about the format that is written."""
spool_option = click.option(
    "--spool",
    type=click.Path(),
    metavar="DIR",
    help="Where standard input is kept, compressed, until the run is done: a folder that workers "
    "on other machines see under the same path, or a URL such as s3://bucket/folder. Default: the "
    "run's directory.",
)
from_counts_option = click.option(
    "--from-counts",
    type=click.Path(),
    metavar="FILE",
    help="In place of SOURCE: a table of pre-tokens and their counts, as `bpefleet counts` writes "
    "it. A Parquet file of ours says by which pattern and special tokens; of others, "
    "--pattern and --special-token must.",
)


def errors_option(verb: str) -> _Option:
    """The option `--errors` of a command; `verb` is what it does with the text."""
    return click.option(
        "--errors",
        type=click.Choice(["strict", "replace"]),
        default="strict",
        show_default=True,
        help=f"Bytes that are not UTF-8: stop at them, or {verb} U+FFFD in their place.",
    )


allow_fewer_option = click.option(
    "--allow-fewer-merges",
    is_flag=True,
    help="Accept a corpus that holds too few merges for the vocabulary.",
)
export_option = click.option(
    "--export",
    multiple=True,
    type=click.Choice(["pickle"]),
    help="Also write vocab.pkl and merges.pkl.",
)
role_options = _all_of(
    click.option(
        "--eos-token",
        metavar="TOKEN",
        help="The special token that ends a text, for Hugging Face's transformers; '' for none. "
        "A new run's default: <|endoftext|>, if there is one.",
    ),
    click.option(
        "--pad-token",
        metavar="TOKEN",
        help="The one that fills up a batch; '' for none. A new run's default: the one that ends a "
        "text.",
    ),
    click.option(
        "--bos-token",
        metavar="TOKEN",
        help="The one that begins a text. It is not added to any.",
    ),
    click.option(
        "--unk-token",
        metavar="TOKEN",
        help="The one for unknown text, which there is none of; for programs that demand one.",
    ),
)
"""Which special token has which role: `Options.roles`."""
