"""Our layers in the bench of peers: the Seq2Seq model of the zoo, its searches, `train_on_batch`."""

import keras
import numpy as np
import tensorflow as tf
from adapters.keras_common import KerasAdapter
from keras import ops

from keras_transformer.decoding import beam_search, greedy_search
from keras_transformer.training import TokenCrossEntropy
from zoo.config import ModelConfig
from zoo.models.compiling import compile_function
from zoo.models.seq2seq import Seq2Seq
from zoo.tf.adam import Adam

PAD, START, END = 0, 1, 2


class System(KerasAdapter):
    """options: dtype ("float32" or "mixed_bfloat16"), jit_compile (XLA), skip_padding (of encoder and decoder)."""

    def build(self, cfg, part):
        keras.utils.set_random_seed(0)
        self.cfg, self.jit, self.fns = cfg, self.options.get("jit_compile", False), {}
        config = ModelConfig(
            vocabulary_size=cfg["vocab"],
            num_encoder_layers=cfg["layers"],
            num_decoder_layers=cfg["layers"],
            hidden_dim=cfg["d"],
            intermediate_dim=cfg["ff"],
            num_heads=cfg["heads"],
            dropout=cfg["dropout"],
            attention_dropout=cfg["dropout"],
        )
        self.model = Seq2Seq(config, dtype=self.options.get("dtype", "float32"))
        self.model.encoder.skip_padding = self.model.decoder.skip_padding = self.options.get("skip_padding", False)
        self.model.build()
        if part == "train":
            self.model.compile(Adam(cfg["lr"]), TokenCrossEntropy(cfg["smoothing"]), jit_compile=self.jit)

    def train_step(self, batch):
        inputs = {"source": batch["src"], "target": batch["tgt_in"]}
        return float(np.asarray(self.model.train_on_batch(inputs, batch["labels"])))

    def encode(self, batch):
        return self.fn("encode", self.model.encode)(tf.constant(batch["src"])).numpy()

    def logits(self, src, tgt_in):
        return np.asarray(self.model({"source": src, "target": tgt_in}))

    def greedy(self, batch, steps):
        return self._search(batch, steps, greedy_search, 1)

    def beam(self, batch, steps, beams):
        options = {"beam_size": beams, "length_penalty": 0.0}
        return self._search(batch, steps, beam_search, beams, **options)

    def _search(self, batch, steps, search, num_beams, **options):
        """Exactly `steps` tokens, none of them the end, compiled as `zoo.translation` does."""

        def run(source):
            state, one_step = self.model.init_state(source, num_beams), self.model.step_function(num_beams)
            no_end = ops.where(ops.arange(self.cfg["vocab"]) == END, -1e9, 0.0)

            def step(token_ids, state, index):
                logits, state = one_step(token_ids, state, index)
                return ops.cast(logits, "float32") + no_end, state

            limits = ops.full((ops.shape(source)[0],), steps, dtype="int32")
            special = {"start_id": START, "end_id": None, "pad_id": PAD}
            return search(step, state, max_lengths=limits, max_length=steps, **special, **options).ids[:, 0]

        key = search.__name__, num_beams, steps
        if key not in self.fns:
            self.fns[key] = compile_function(self.model, run, self.jit)
        return self.fns[key](batch["src"]).numpy()
