"""Faults in the preparation of large corpora."""

from faults import Fault

RULES = "tests/zoo/preparation/test_rules.py"
INPUTS = "tests/zoo/preparation/test_inputs.py"
PIPELINE = "tests/zoo/preparation/test_pipeline.py"
RECORDS = "tests/zoo/corpora/test_records.py"
PREPARED = "tests/zoo/corpora/test_prepared_corpus.py"

PREPARATION = [
    Fault("zoo/preparation/rules.py", 'unicodedata.normalize("NFKC", text)).casefold()', "text)", RULES),
    Fault("zoo/preparation/rules.py", "longer > rules.max_ratio", "longer >= rules.max_ratio", RULES),
    Fault("zoo/preparation/rules.py", "len(text) > rules.max_characters", "len(text) >= rules.max_characters", RULES),
    Fault("zoo/preparation/rules.py", "if len(text) < _IDENTIFIED:", "if not text:", RULES),
    Fault("zoo/preparation/rules.py", "self._seen[name][1].add(key)", "pass", RULES),
    Fault("zoo/preparation/line_inputs.py", "count = int(self.first == 0)", "count = 0", INPUTS),
    Fault("zoo/preparation/line_inputs.py", "file.seek(place.byte - 1)", "file.seek(place.byte)", INPUTS),
    Fault("zoo/preparation/line_inputs.py", "first - lines[index])", "0)", INPUTS),
    Fault("zoo/preparation/line_inputs.py", "if None in cells:", "if False:", INPUTS),
    Fault("zoo/preparation/shards.py", "in sorted(examples):", "in examples:", PIPELINE),
    Fault("zoo/preparation/shards.py", ">= settings.max_tokens:", "> settings.max_tokens:", PIPELINE),
    Fault("zoo/preparation/shards.py", "default_rng([settings.seed, number])", "default_rng(number)", PIPELINE),
    Fault("zoo/preparation/pipeline.py", "if errors:", "if False:", PIPELINE),
    Fault("zoo/preparation/pipeline.py", "FileSystems.delete(left)", "pass", PIPELINE),
    Fault("zoo/corpora/records.py", "if zlib.crc32(content) != self._checksums[i]:", "if False:", PREPARED),
    Fault("zoo/corpora/records.py", "0xA282EAD8", "0xA282EAD9", RECORDS),
    Fault("zoo/corpora/records.py", "parts > 0", "parts > 1", RECORDS),
    Fault(
        "zoo/corpora/prepared_corpus.py",
        'np.searchsorted(self._ends, rows, "right") - 1',
        'np.searchsorted(self._ends, rows, "left") - 1',
        PREPARED,
    ),
    Fault("zoo/corpora/prepared_corpus.py", "if digest != _facts_digest(facts):", "if False:", PREPARED),
    Fault("zoo/storage/remote.py", "if found.hexdigest() != sha256:", "if False:", PREPARED),
]
