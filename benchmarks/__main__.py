"""The command: `python -m benchmarks [PART] [OPTIONS]`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from benchmarks import report
from benchmarks.corpora import Corpora
from benchmarks.encoders import PEERS as ENCODERS
from benchmarks.peers import PEERS
from benchmarks.settings import Settings
from benchmarks.simulation.command import command as simulation
from benchmarks.targets import FAMILY

if TYPE_CHECKING:
    from collections.abc import Callable

_PARTS: Final = {
    "floor": "cat, wc and reading memory: the least that any trainer needs.",
    "count": "Counting pre-tokens, one core, every pattern and corpus.",
    "formats": "Counting the same documents from files of each format, one core.",
    "remote": "Counting files from an object store on this machine, one core.",
    "merge": "The merge loop, one core.",
    "encode": "Encoding by one vocabulary, cold and warm, beside other encoders.",
    "heaps": "How different pre-tokens grow, and how rare they are: a law fitted to each corpus.",
    "whole": "From the command's start to its last file, beside every peer at its best.",
    "records": "The same from JSON Lines and Parquet, beside who reads these, too.",
    "memory": "Peak memory of all processes together.",
    "queue": "CPU time that server and workers add to a run in one process.",
    "scaling": "The count stage with one worker and with two.",
    "encode-fleet": "Encoding a corpus with one worker and with two, and how much is not encoding.",
    "watched": "A run that is watched by all means, beside one that is not.",
    "tiny": "133 kB: the command with its server, and in process.",
}
_ALL_PEERS: Final = tuple(dict.fromkeys([*PEERS, *ENCODERS]))
_UNITS: Final = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
_RESULTS: Final = Path(__file__).with_name("results")
_FILE: Final = click.Path(exists=True, dir_okay=False, path_type=Path)
_FOLDER: Final = click.Path(exists=True, file_okay=False, path_type=Path)


class Size(click.ParamType[int]):
    """A number of bytes: `20MB`."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read a size, or end with click's usage error."""
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"(\d+) ?([kmg]?)b?", value, re.IGNORECASE)
        if not match:
            self.fail(f"{value!r} is no size; write it as 20MB", param, ctx)
        return int(match[1]) * _UNITS[match[2].lower()]


_OPTIONS: Final = (
    click.option("--corpora", "folder", type=_FOLDER, envvar="BPEFLEET_CORPORA", show_envvar=True,
                 metavar="DIR", help="Folder with en_100MB.txt, multi_90MB.txt, code_90MB.txt, "
                 "en_300MB.txt. Else they are unpacked from ../shared/corpora/*.xz; without these "
                 "the sources of Python's standard library are measured."),
    click.option("--file", "files", type=_FILE, multiple=True, metavar="FILE",
                 help="Measure on this text instead. Repeat for several."),
    click.option("--limit", type=Size(), default=0, metavar="SIZE",
                 help="Take only so much of each text, up to the end of a document."),
    click.option("--rounds", type=click.IntRange(min=1), default=5, show_default=True, metavar="N",
                 help="How often each trainer runs; 3 times where it takes more than 20 s."),
    click.option("--peer", "peers", type=click.Choice([*_ALL_PEERS, "none"]), multiple=True,
                 help="Compare with this one only, or with none. Repeat for several."),
    click.option("--pattern", "patterns", type=click.Choice(list(FAMILY)), multiple=True,
                 help="Measure with this split rule. Repeat for several, which `count` takes. "
                 "Default: gpt2, the only one that every trainer knows; one each for `count`."),
    click.option("--vocab-size", type=click.IntRange(min=258), default=32_000, show_default=True,
                 metavar="N", help="Tokens in all: 256 bytes, the merges, one special token."),
    click.option("--results", type=click.Path(path_type=Path), default=_RESULTS, metavar="DIR",
                 help="Folder for the JSON records. Default: benchmarks/results."),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Part:
    name: str

    def __call__(self, settings: Settings) -> None:
        """Measure, print, record."""
        results = import_module(f"benchmarks.parts.{self.name.replace('-', '_')}").run(settings)
        for text in (*results.notes, report.skipped(results)):
            if text:
                print(text)
        print(f"record: {report.write(results, settings.results)}\n", flush=True)


def _with_options(run: Callable[[Settings], None]) -> Callable[..., None]:
    @wraps(run)
    def wrapped(
        *, folder: Path | None, files: tuple[Path, ...], limit: int, peers: tuple[str, ...],
        vocab_size: int, **others: Any,
    ) -> None:  # fmt: skip
        compared = peers or _ALL_PEERS
        trainers = tuple(peer for peer in compared if peer in PEERS)
        encoders = tuple(peer for peer in compared if peer in ENCODERS)
        merges, corpora = vocab_size - 257, Corpora(folder, files, limit)
        run(Settings(corpora, peers=trainers, encoders=encoders, merges=merges, **others))

    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped


@click.group(
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.pass_context
def cli(context: click.Context) -> None:
    """Measure every stage and the whole beside other trainers; all parts if none is named.

    Every run is a fresh process, trainers take turns, and medians are compared. Tables go to
    stdout, what is running to stderr, all single runs to JSON.
    """
    if context.invoked_subcommand is None:
        # Not `context.invoke`, which does not read options' environment variables.
        run_all.main(args=(), prog_name=f"{context.command_path} all")


@cli.command("all")
@_with_options
def run_all(settings: Settings) -> None:
    """Every part, one after the other."""
    for name in _PARTS:
        _Part(name)(settings)


def _add(name: str, help_: str) -> None:
    cli.command(name, help=help_)(_with_options(_Part(name).__call__))


for _name, _help in _PARTS.items():
    _add(_name, _help)
cli.add_command(simulation)

if __name__ == "__main__":
    cli()
