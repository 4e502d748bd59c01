"""Faults in the server, its page, and what they show."""

from faults import Fault

BATCHING = "tests/zoo/web/test_batching.py"
SERVER = "tests/zoo/web/test_server.py"
INSPECTION = "tests/zoo/translation/test_inspection.py"
PICTURES = "tests/visualize/test_visualize.py"

WEB = [
    Fault("zoo/web/batching.py", "job.key == batch[0].key and", "", BATCHING),
    Fault("zoo/web/batching.py", "start += len(job.inputs)", "start += 1", BATCHING),
    Fault("zoo/web/batching.py", "if all(job.is_over() for job in batch):", "if False:", BATCHING),
    Fault("zoo/web/batching.py", "if len(batch) > 1:", "if False:", BATCHING),
    Fault("zoo/web/batching.py", "if not job.is_over()]", "]", BATCHING),
    Fault("zoo/web/guard.py", "if _name(host) not in settings.hosts:", "if False:", SERVER, slow=True),
    Fault("zoo/web/guard.py", "if origin is not None and", "if False and", SERVER, slow=True),
    Fault("zoo/web/guard.py", "if self._active > self._settings.max_requests:", "if False:", SERVER, slow=True),
    Fault(
        "zoo/web/guard.py", "or not hmac.compare_digest(", "or False and not hmac.compare_digest(", SERVER, slow=True
    ),
    Fault("zoo/web/guard.py", "if most and size > most:", "if False:", SERVER, slow=True),
    Fault("zoo/web/actions.py", "np.argsort(-probabilities", "np.argsort(probabilities", SERVER, slow=True),
    Fault("zoo/web/app.py", "if task not in action.tasks:", "if False:", SERVER, slow=True),
    Fault("zoo/web/server.py", "raise SystemExit(0)", "raise SystemExit(1)", SERVER, slow=True),
    Fault("zoo/translation/inspection.py", "log_prob >= least or", "", INSPECTION),
    Fault(
        "zoo/translation/inspection.py",
        "length_penalty(number + 1, alpha)",
        "length_penalty(number, alpha)",
        INSPECTION,
    ),
    Fault("zoo/translation/inspection.py", "scores.cross_attention for", "scores.self_attention for", INSPECTION),
    Fault("keras_transformer/visualize/beams.py", "self._next.flat[best]))", "self._next[0][best % 6]))", PICTURES),
]
