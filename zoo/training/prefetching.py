"""Examples that a thread makes before they are needed. For backends without tf.data. No Keras."""

import queue
import threading
from collections.abc import Iterable, Iterator

_PREFETCHED = 4


def prefetched(examples: Iterable) -> Iterator:
    """Yields the examples unchanged; a thread is up to four ahead. An error in it is raised where its example would be.

    The thread ends with the examples, or when this generator is closed.
    """
    made, closed = queue.Queue(_PREFETCHED), threading.Event()

    def put(item):
        while not closed.is_set():
            try:
                return made.put(item, timeout=0.1)
            except queue.Full:
                continue

    def run():
        try:
            for example in examples:
                put((example, None))
                if closed.is_set():
                    return
            put((None, StopIteration()))
        except BaseException as error:
            put((None, error))

    threading.Thread(target=run, name="prefetch", daemon=True).start()
    try:
        while True:
            example, error = made.get()
            if isinstance(error, StopIteration):
                return
            if error is not None:
                raise error
            yield example
    finally:
        closed.set()
