"""One exported model under many threads: are the answers those of one thread, do memory and traced graphs grow?

python benchmarks/serving.py --checkpoint translation/en-de --texts texts.txt --requests 10000
"""

import argparse
import ctypes
import pathlib
import random
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import tensorflow as tf

import zoo
from zoo.extras import exit_without
from zoo.tf import graphs

_REPEATED = 200  # Requests that are made again by one thread, to compare.


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--checkpoint", default="translation/en-de", help="name or folder")
    arguments.add_argument("--texts", required=True, help="a text a line, to make requests of")
    arguments.add_argument("--threads", type=int, default=32)
    arguments.add_argument("--requests", type=int, default=10_000)
    arguments.add_argument("--python", action="store_true", help="the predictor in Python instead of its SavedModel")
    arguments.add_argument("--seed", type=int, default=1)
    options = arguments.parse_args()
    if not options.python:
        exit_without("This benchmark", "tensorflow_text")
    lines = pathlib.Path(options.texts).read_text("utf-8").splitlines()
    requests = make_requests(lines, options.requests, options.seed)
    words = sum(len(request.split()) for request in requests) / len(requests)
    print(f"{len(requests):,} requests of {words:.1f} words on average, {options.threads} threads", flush=True)
    traced = traces()
    loaded = zoo.load(options.checkpoint)
    with tempfile.TemporaryDirectory() as folder:
        answer = in_python(loaded) if options.python else exported(loaded, folder)
        answer(requests[0])  # TensorFlow prepares a graph in each thread that calls it before one has done so.
        chosen = {*random.Random(options.seed).sample(range(len(requests)), min(_REPEATED, len(requests)))}
        answers, counts, begun = {}, [0] * options.threads, time.perf_counter()
        start = threading.Barrier(options.threads)

        def client(number):
            start.wait()  # All first requests come at once.
            for i in range(number, len(requests), options.threads):
                found = answer(requests[i])
                counts[number] += 1
                if i in chosen:  # All answers would be memory of this script.
                    answers[i] = found
                if i % max(1, len(requests) // 20) == 0:
                    print(f"{sum(counts):7,} answered: {memory()}, {len(traced)} graphs", flush=True)

        with ThreadPoolExecutor(options.threads) as pool:
            [*pool.map(client, range(options.threads))]
        seconds = time.perf_counter() - begun
        print(f"{sum(counts):,} answered, {sum(counts) / seconds:.1f} a second: {memory()}, {len(traced)} graphs")
        different = [i for i in chosen if answer(requests[i]) != answers[i]]
        print(f"{len(different)} of {len(chosen)} answers differ from those of one thread")
        raise SystemExit(bool(different))


def make_requests(lines, count, seed):
    """Texts of one to four lines, some cut, so that lengths are as random as users are."""
    rng = random.Random(seed)
    requests = []
    for _ in range(count):
        words = " ".join(rng.choices(lines, k=rng.choice((1, 1, 1, 2, 4)))).split()
        requests.append(" ".join(words[: rng.randint(1, len(words))]) if words else "")
    return requests


def exported(loaded, folder):
    """`text -> answer` by the SavedModel, whose graphs are those that it was written with."""
    path = pathlib.Path(folder) / "served"
    loaded.export(path)
    module = tf.saved_model.load(str(path))
    function = module.signatures["serving_default"]
    names = [*function.structured_input_signature[1]]

    def answer(text):
        found = function(**{name: tf.constant([text.split()] if name == "words" else [text]) for name in names})
        return [value.numpy().tolist()[0] for name, value in sorted(found.items()) if value.dtype == tf.string]

    return answer


def in_python(loaded):
    """`text -> answer` by the predictor."""
    name = next(name for name in ("translate", "classify", "tag", "parse") if hasattr(loaded, name))
    method = getattr(loaded, name)

    def answer(text):
        (found,) = method([text.split()] if name == "tag" else [text])
        return found if name in ("translate", "tag") else found[0] if name == "classify" else str(found)

    return answer


def traces():
    """A list that gets an element whenever a function of a predictor made later is traced."""
    traced, original = [], graphs.graph_function

    def counting(function, *options):
        def counted(*arguments):
            traced.append(function)
            return function(*arguments)

        return original(counted, *options)

    graphs.graph_function = counting
    return traced


class Mallinfo(ctypes.Structure):
    """What `mallinfo2` of glibc returns; see its manual page."""

    _names = "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"
    _fields_ = [(name, ctypes.c_size_t) for name in _names]


def memory():
    """Resident memory of this process in MB and, with glibc, what of it is allocated and what glibc keeps free."""
    pages = int(pathlib.Path("/proc/self/statm").read_text("utf-8").split()[1])
    text = f"{pages * 4096 // 1_000_000:,} MB"
    mallinfo = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if mallinfo is None:
        return text
    mallinfo.restype = Mallinfo
    found = mallinfo()
    used = (found.uordblks + found.hblkhd) // 1_000_000
    return f"{text} ({used:,} MB allocated, {found.fordblks // 1_000_000:,} MB free in glibc)"


if __name__ == "__main__":
    main()
