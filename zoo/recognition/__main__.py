"""Command line: `python -m zoo.recognition train | evaluate | transcribe | export`."""

import itertools
import sys

from zoo.commands import command_line
from zoo.commands.command_line import check_writable, progress_bar
from zoo.commands.file_answers import FileAnswers
from zoo.commands.task_commands import TaskCommands
from zoo.distribution.exiting import exit_command
from zoo.extras import require
from zoo.recognition.data import open_recordings
from zoo.recognition.recipes import RECIPES
from zoo.recognition.sound import read_recording
from zoo.text.terminal import join_lines, print_result

_CHUNK = 64
_SEARCH = "beam_size", "ctc_weight"


class RecognitionCommands(TaskCommands):
    """The command line of speech recognition."""

    task, recipes, predict = "recognition", RECIPES, "transcribe"
    reads_files, formats, settings = True, (), _SEARCH

    def add_corpus(self, command, prefix=""):
        group = command_line.corpus_group(command, prefix)
        text = "table with the columns audio and text (tab-separated or CSV), folder, or tfds:NAME"
        group.add_argument(f"--{prefix}data", required=not prefix, help=text)
        text = "columns of file and text, from 0, of a table without header"
        group.add_argument(f"--{prefix}columns", type=int, nargs=2, help=text)
        text = "folder or zip file with the recordings of a table; its own folder by default"
        group.add_argument(f"--{prefix}audio", help=text)
        text = "leave out longer recordings, 30 by default"
        group.add_argument(f"--{prefix}max-seconds", type=float, help=text)
        command_line.add_split(group, prefix)

    def read(self, options, prefix=""):
        names = "data", "columns", "audio", "max_seconds", "split"
        return command_line.with_log(open_recordings(**command_line.given_arguments(options, names, prefix)))

    def check(self, command, options):
        super().check(command, options)
        if command != "finish":
            require("Reading sound", "soundfile", "soxr")
        if command in ("train", "evaluate"):
            require("The word error rate", "jiwer")
        if getattr(options, "picture", None):
            require("Drawing", "matplotlib")
            check_writable(options.picture)

    def add_evaluate(self, command):
        _add_search(command)

    def add_texts(self, command):
        command.add_argument("files", nargs="+", help="recordings: WAV, FLAC, Ogg, MP3")

    def add_predict(self, command):
        _add_search(command)
        text = "print the words of each recording as they are decided, as if it were just being spoken"
        command.add_argument("--stream", action="store_true", help=text)
        text = "file for a picture of the first recording: its sound, and where each letter looks; such as letters.png"
        command.add_argument("--picture", help=text)

    def run_predict(self, options):
        """Prints a line for each recording: file and text, separated by a tab."""
        predictor, files = self.load(options), options.files
        if options.stream:
            return _stream(predictor, files)
        answers = FileAnswers(predictor.transcribe, files, _CHUNK)
        with progress_bar(len(files), self.predict, shown=not sys.stdout.isatty()) as advance:
            for chunk in answers.chunks():
                for path, text in chunk:
                    print_result(f"{path}\t{join_lines(text)}")
                sys.stdout.flush()
                advance(_CHUNK)
        if options.picture and answers.readable:
            from zoo.recognition.picture import draw_attention

            draw_attention(predictor, answers.readable[0], options.picture)
        return answers.status()


def _add_search(command):
    command.add_argument("--beam-size", type=int, help="beams of the search; that of the checkpoint by default")
    text = "weight of CTC in the search, from 0 to 1; that of the checkpoint by default"
    command.add_argument("--ctc-weight", type=float, help=text)


def _stream(predictor, files):
    answers = FileAnswers(lambda paths: [read_recording(path, predictor.sampling_rate) for path in paths], files, 1)
    for path, samples in itertools.chain.from_iterable(answers.chunks()):
        print_result(f"{path}\t", end="")
        for word in predictor.stream(samples):
            print_result(f"{word} ", end="")
            sys.stdout.flush()
        print_result("")
    return answers.status()


COMMANDS = RecognitionCommands()
main = COMMANDS.main

if __name__ == "__main__":
    exit_command(main())
