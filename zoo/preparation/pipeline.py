"""The pipeline of a preparation on Apache Beam, which gives the same files with any runner and number of workers."""

import contextlib
import itertools
import json
import logging
import os
import pathlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import apache_beam
from apache_beam.io.filesystems import FileSystems
from apache_beam.options.pipeline_options import DirectOptions, PipelineOptions

from zoo.corpora.prepared_corpus import FACTS, VOCABULARY, facts_bytes
from zoo.corpora.reports import Report
from zoo.preparation.inputs import Input
from zoo.preparation.rules import Rules
from zoo.preparation.shards import LINES, NOTES, Clean, Counts, Example, Settings, WriteShard, open_file, write_file
from zoo.quiet import discarded_stderr
from zoo.storage.lock import folder_lock
from zoo.text.terminal import repeated
from zoo.text.vocabularies import Vocabulary

_SHARD_BYTES = 1 << 25  # Of the inputs.
_POLL = 2.0  # Seconds between looks at how many shards are written.
_RESULT = ".notes.json"


def prepare(
    inputs: Sequence[Input],
    tokenizer: Vocabulary,
    folder: str | os.PathLike,
    *,
    names: tuple[str, ...] = ("source", "target"),
    rules: Rules | None = None,
    max_tokens: int = 0,
    num_shards: int = 0,
    seed: int = 0,
    options: PipelineOptions | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Cleans and encodes a corpus, and writes it as shards for training.

    Args:
        inputs: What `zoo.preparation.inputs.open_inputs` returned.
        tokenizer: Vocabulary to encode with.
        folder: New folder, on any file system of Beam, or that of an interrupted preparation, which starts again.
        names, rules, max_tokens, seed: As for `Settings`.
        num_shards: Number of shards; 0 for one for every 32 MB of the inputs.
        options: What `make_options` returned; by default the pipeline runs in this process.
        progress: Called with the number of shards that are written, and of all.

    Returns:
        A report with `examples`, `lines`, and the lines that broke each rule.

    Raises:
        ValueError: If the folder is complete or has other files, a file cannot be used, a rule does not fit, or no
            example is left.
    """
    rules = rules or Rules()
    rules.check(len(names))
    folder, total = os.fspath(folder).rstrip("/"), sum(sum(item.sizes) for item in inputs)
    settings = Settings(names, rules, max_tokens, num_shards or max(1, -(-total // _SHARD_BYTES)), seed)
    if settings.num_shards < 1 or max_tokens < 0:
        raise ValueError(
            f"`num_shards` and `max_tokens` must not be negative. Received: {num_shards} and {max_tokens}."
        )
    with _new_corpus(folder, tokenizer):
        with _watched(folder, settings.num_shards, progress):
            _run(inputs, settings, folder, options or make_options())
        return _finish(folder, settings, tokenizer, len(inputs))


def _report(facts):
    """Returns the numbers of a preparation, and what it left out."""
    several, counts = facts["inputs"] > 1, {**facts["counts"]}
    unit, (lines, _) = "pairs" if len(facts["names"]) == 2 else "texts", counts.pop(LINES, (0, []))
    of = "file:line" if several else "line"
    report = Report(f"{{examples:,}} {unit} from {{lines:,}} lines", *counts, of=of)
    report.examples, report.lines = sum(shard["examples"] for shard in facts["shards"]), lines
    for name, (count, first) in counts.items():
        notes = getattr(report, name)
        notes.count = count
        notes.first = [f"{number + 1}:{line}" if several else line for number, line in first]
    return report


@contextlib.contextmanager
def _new_corpus(folder, tokenizer) -> Iterator[None]:
    """Begins a folder with the vocabulary; what an interrupted preparation left is deleted."""
    found = [file.path for file in FileSystems.match([FileSystems.join(folder, "*")])[0].metadata_list]
    names = {FileSystems.split(path)[1] for path in found}
    if FACTS in names:
        raise ValueError(f"{folder} holds a prepared corpus. Train on it, or prepare into another folder.")
    if names - {"lock", "lock.owner"} and VOCABULARY not in names:
        raise ValueError(f"{folder} is not empty and holds no corpus to begin again. Use another folder.")
    local = "://" not in folder
    if local:
        os.makedirs(folder, exist_ok=True)
    with folder_lock(pathlib.Path(folder)) if local else contextlib.nullcontext():
        left = [path for path in found if FileSystems.split(path)[1].startswith(("shard-", ".notes"))]
        if left:
            FileSystems.delete(left)
        write_file(FileSystems.join(folder, VOCABULARY), tokenizer.model)
        yield


def make_options(runner: str = "DirectRunner", processes: int = 1, others: Sequence[str] = ()) -> PipelineOptions:
    """Makes the options of a pipeline, which from now on are also those of Beam's file systems.

    Args:
        runner: Name of a Beam runner, such as "PortableRunner", "FlinkRunner" or "DataflowRunner".
        processes: Number of processes of the `DirectRunner`; other runners have options of their own.
        others: Options of the runner and of file systems, as on a command line of Beam.

    Raises:
        ValueError: If `processes` is less than 1.
    """
    if processes < 1:
        raise ValueError(f"`processes` must be at least 1. Received: {processes}.")
    options = [f"--runner={runner}", "--default_sdk_harness_log_level=ERROR", *others]
    if runner == "DirectRunner" and processes > 1:
        options += ["--direct_running_mode=multi_processing", f"--direct_num_workers={processes}"]
    made = PipelineOptions(options)
    FileSystems.set_options(made)
    return made


def _run(inputs, settings, folder, options):
    """Runs the pipeline, which writes the shards, and its notes into one file."""
    blocks = {number: item.blocks(number) for number, item in enumerate(inputs)}
    ready = [part for number, item in enumerate(inputs) if not blocks[number] for part in item.parts(number)]
    logging.getLogger("apache_beam").setLevel(logging.ERROR)
    pipeline = apache_beam.Pipeline(options=options)
    planned = (
        pipeline
        | "Blocks" >> apache_beam.Create([*itertools.chain.from_iterable(blocks.values())])
        | "Spread blocks" >> apache_beam.Reshuffle()
        | "Count lines" >> apache_beam.Map(lambda block: (block.number, (block, block.count())))
        | "Blocks of a file" >> apache_beam.GroupByKey()
        | "Plan" >> apache_beam.ParDo(_Plan([*inputs])).with_output_types(Any).with_outputs(NOTES, main="parts")
    )
    parts = (planned.parts, pipeline | "Parts" >> apache_beam.Create(ready)) | "All parts" >> apache_beam.Flatten()
    cleaned = (
        parts
        | "Spread parts" >> apache_beam.Reshuffle()
        | "Clean"
        >> apache_beam.ParDo(Clean(settings))
        .with_output_types(tuple[int, Example])
        .with_outputs(NOTES, main="examples")
    )
    shards = (
        cleaned.examples
        | "Shards" >> apache_beam.GroupByKey()
        | "Write" >> apache_beam.ParDo(WriteShard(settings, folder))
    )
    notes = (shards, cleaned[NOTES], planned[NOTES]) | "All notes" >> apache_beam.Flatten()
    path = FileSystems.join(folder, _RESULT)
    _ = (
        notes
        | "One list" >> apache_beam.combiners.ToList()
        | "Write notes" >> apache_beam.Map(lambda notes: write_file(path, json.dumps(notes).encode()))
    )
    with discarded_stderr() if options.view_as(DirectOptions).direct_num_workers > 1 else contextlib.nullcontext():
        try:
            pipeline.run().wait_until_finish()
        except RuntimeError as error:  # It has the traceback of the worker as its text.
            lines = [line for line in str(error).splitlines() if line.strip()] or [repr(error)]
            raise ValueError(f"The preparation failed: {lines[-1].split(' [while running')[0]}") from error


class _Plan(apache_beam.DoFn):
    """Yields the parts of an input from the numbers of lines of its blocks."""

    def __init__(self, inputs):
        self._inputs = inputs

    def process(self, counted):
        number, counts = counted
        try:
            yield from self._inputs[number].parts(number, counts)
        except ValueError as error:
            yield apache_beam.pvalue.TaggedOutput(NOTES, {"error": str(error)})


def _finish(folder, settings, tokenizer, num_inputs):
    """Writes the facts of a corpus, which make it complete."""
    path = FileSystems.join(folder, _RESULT)
    with open_file(path) as file:
        notes = json.loads(file.read())
    FileSystems.delete([path])
    errors = sorted(note["error"] for note in notes if "error" in note)
    if errors:
        raise ValueError(errors[0])
    counts = Counts()
    for note in notes:
        counts.merge(note["counts"])
    shards = sorted((note["shard"] for note in notes if "shard" in note), key=lambda shard: shard["name"])
    facts = {
        "names": settings.names,
        "inputs": num_inputs,
        "tokenizer": tokenizer.digest,
        "max_tokens": settings.max_tokens,
        "seed": settings.seed,
        "rules": settings.rules.names,
        "counts": counts.note(),
        "shards": [shard for shard in shards if shard["examples"]],
    }
    report = _report(facts)
    if not report.examples:
        raise ValueError(f"No example is left to train on: {report}. Use a corpus that has some, or fewer rules.")
    write_file(FileSystems.join(folder, FACTS), facts_bytes(facts))
    return report


@contextlib.contextmanager
def _watched(folder, num_shards, progress) -> Iterator[None]:
    """Calls `progress` while the block runs."""
    if progress is None:
        yield
        return
    pattern = FileSystems.join(folder, "shard-*.index")

    def look():
        with contextlib.suppress(Exception):  # Nothing depends on it.
            progress(len(FileSystems.match([pattern])[0].metadata_list), num_shards)

    with repeated(_POLL, look):
        yield
    progress(num_shards, num_shards)
