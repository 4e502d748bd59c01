"""Faults in the layers of sound, in CTC, and in the recognition of speech."""

from faults import Fault

SOUND = "tests/layers/test_sound.py"
CTC = "tests/decoding/test_ctc.py"
READING = "tests/zoo/recognition/test_data.py"
MODEL = "tests/zoo/models/test_speech_recognizer.py"
TASK = "tests/zoo/recognition/test_task.py"
CHANGES = "tests/zoo/corpora/test_changed_recordings.py"
LOSS = "tests/training/test_ctc.py"

SPEECH = [
    Fault(
        "keras_transformer/training/ctc.py", "ops.not_equal(states, two_before)", "True", "tests/training/test_ctc.py"
    ),
    Fault("keras_transformer/training/ctc.py", "axis=(1, 2)) - own", "axis=(1, 2))", LOSS),
    Fault("keras_transformer/layers/log_mel_spectrogram.py", "x = x * ops.cast(mask, x.dtype)", "pass", SOUND),
    Fault("keras_transformer/layers/log_mel_spectrogram.py", "/ (right - centre)", "/ (centre - left)", SOUND),
    Fault(
        "keras_transformer/layers/convolutional_subsampling.py",
        "mask = mask[:, ::2]\n",
        "mask = mask[:, 1::2]\n",
        SOUND,
    ),
    Fault("keras_transformer/layers/spec_augment.py", "widest[:, None] + 1", "widest[:, None] + 9", SOUND),
    Fault(
        "keras_transformer/decoding/ctc.py",
        "pauses, ops.logaddexp(ends, pauses))\n    first",
        "ends, pauses)\n    first",
        CTC,
    ),
    Fault(
        "keras_transformer/decoding/ctc.py",
        "_before(prefix, token_ids, index - 1)",
        "_before(prefix, token_ids, index)",
        CTC,
    ),
    Fault("zoo/models/class_padding.py", "ops.where(certain[..., None], fixed,", "ops.where(False, fixed,", MODEL),
    Fault("zoo/recognition/sound.py", "if size < _UNKNOWN_SIZE else 0", "", READING),
    Fault("zoo/recognition/sound.py", "start = 10 + sum(", "start = 0 * sum(", READING),
    Fault("zoo/models/speech_recognizer.py", "ops.where(real, x, -1e4)", "x", MODEL),
    Fault("zoo/models/speech_recognizer.py", 'pairing="halves"', 'pairing="halves", base=1.0', MODEL),
    Fault("zoo/recognition/loss.py", "(self.pad_id, self.end_id)", "(self.pad_id,)", MODEL),
    Fault("keras_transformer/training/ctc.py", "state - ops.cast(", "state - 0 * ops.cast(", LOSS),
    Fault("keras_transformer/training/ctc.py", "ends = ops.where(last, ends, _NEVER)\n", "", LOSS),
    Fault(
        "keras_transformer/training/ctc.py",
        "ops.where(_places(states) < 2, emitted[0]",
        "ops.where(True, emitted[0]",
        LOSS,
    ),
    Fault(
        "zoo/recognition/sound.py",
        "end = most // 2 + int(means.argmin())",
        "end = most // 2 + int(means.argmax())",
        READING,
    ),
    Fault("zoo/recognition/sound.py", "samples = samples.mean(1)", "samples = samples[:, 1]", READING),
    Fault("zoo/recognition/data.py", "(self.part is None or self.part(file.name))", "True", READING),
    Fault("zoo/corpora/changed_recordings.py", "np.ceil(given / speeds)", "np.ceil(given * speeds)", CHANGES),
    Fault("zoo/corpora/changed_recordings.py", "np.minimum(given, enough)", "0", CHANGES),
    Fault("zoo/corpora/changed_recordings.py", "(*self._seeds, row)", "self._seeds", CHANGES),
    Fault("zoo/corpora/changed_recordings.py", "10 ** (-ratio / 20)", "10 ** (-ratio / 10)", CHANGES),
    Fault("zoo/corpora/changed_recordings.py", "(-exponent / 2)", "(-exponent)", CHANGES),
    Fault(
        "zoo/corpora/changed_recordings.py",
        "np.clip(np.rint(changed), -(2**15), 2**15 - 1)",
        "np.rint(changed)",
        CHANGES,
    ),
    Fault("zoo/corpora/speech_rows.py", "append_rows(target, fill)", "target", CHANGES),
]
