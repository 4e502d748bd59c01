"""Configuration of training runs."""

import math
from dataclasses import dataclass, fields

from zoo.config_checks import CheckedConfig, checked, choice, positive, rate, share, zero_or_more

DTYPES = "float32", "mixed_bfloat16", "mixed_float16"  # Keras's policies that keep weights in float32.


@dataclass(frozen=True)
class AugmentConfig(CheckedConfig):
    """Shares of the sentence pairs that are changed anew in every epoch; see `zoo.corpora.augmentation`.

    Args:
        upper: Both sides in CAPITALS. The first three exclude each other.
        title: Both Sides With Capitals.
        lower: The source in small letters, half of them without the final mark, while the target is written properly.
        unmarked: Both sides without their final mark.
        typos: The source with typing errors, about one in 40 characters.
        quotes: Quotation marks and apostrophes of the source in other variants, or apostrophes in words left out.
        joined: Followed by one or two other pairs, some as a clause of the same sentence (English, German, French).
        copies: With inserted texts that a translation keeps, at corresponding places: emoji, addresses, codes ...
        names: Names that are the same on both sides are replaced by random ones.
        titles: Names become others with titles, such as Mrs. Baker (English, German, French).
        numbers: Numbers on both sides are replaced by others, if they are the same.
        dates: Dates that are the same on both sides are replaced by others.
        times: A date or a time of day is added at the end (English, German, French).
        substitutable: Pairs in whose place another one comes that has a name, a number or a date, for corpora with few
            of them.
    """

    upper: float = share()
    title: float = share()
    lower: float = share()
    unmarked: float = share()
    typos: float = share()
    quotes: float = share()
    joined: float = share()
    copies: float = share()
    names: float = share()
    titles: float = share()
    numbers: float = share()
    dates: float = share()
    times: float = share()
    substitutable: float = share()

    def __post_init__(self):
        super().__post_init__()
        if self.upper + self.title + self.lower > 1:
            raise ValueError(
                "`upper`, `title` and `lower` exclude each other and must sum up to at most 1. Received: "
                f"upper={self.upper}, title={self.title}, lower={self.lower}. Lower one of them."
            )

    def __bool__(self):
        return any(getattr(self, item.name) for item in fields(self))


@dataclass(frozen=True)
class ImageAugmentConfig(CheckedConfig):
    """How images are changed at random, anew in every epoch; see `zoo.corpora.image_rows`.

    Args:
        flip: Whether half of the images are mirrored, left to right.
        shift: Pixels by which an image is shifted at most, up or down and left or right; black comes in. That is
            padding by as many pixels, and a random crop (He et al. 2016, section 4.2).
        cutout: Side of a square at a random place that becomes grey (DeVries & Taylor 2017); 0 for none.
        colour: Largest change of brightness, contrast and saturation: 0.2 is up to 20 % less or more.
        random_operations: Number of operations that are chosen at random from fourteen, such as turning, shearing and
            equalizing: RandAugment (Cubuk et al. 2020). See `zoo.corpora.random_operations`.
        random_magnitude: How strong they are, from 0 to 1; 0.3 is 9 of 30.
        mixup: Share of the images that are blended with another one (Zhang et al. 2018).
        cutmix: Share of the images into which a rectangle of another one is copied (Yun et al. 2019). In both, the
            share of the other image is uniform in [0, 1], and is the probability that its class becomes the label;
            the expected loss is that of labels mixed in these shares, as in the papers.
    """

    flip: bool = False
    shift: int = zero_or_more(0)
    cutout: int = zero_or_more(0)
    colour: float = share()
    random_operations: int = zero_or_more(0)
    random_magnitude: float = share(0.3)
    mixup: float = share()
    cutmix: float = share()

    def __post_init__(self):
        super().__post_init__()
        if self.mixup + self.cutmix > 1:
            raise ValueError(
                f"An image is mixed in one way at most: `mixup` + `cutmix` must be at most 1. Received: "
                f"mixup={self.mixup}, cutmix={self.cutmix}. Lower one of them."
            )

    def __bool__(self):
        return any(getattr(self, item.name) for item in fields(self) if item.name != "random_magnitude")


@dataclass(frozen=True)
class BoxAugmentConfig(CheckedConfig):
    """How images with boxes are changed at random, anew in every epoch; see `zoo.corpora.box_rows`.

    Args:
        flip: Whether half of the images are mirrored, left to right.
        quarter_turns: Whether images are turned by 0, 90, 180 or 270 degrees, for pictures without an upper side, such
            as those from above or of a microscope.
        scale: Largest change of the size: with 0.5, between 1 / 1.5 and 1.5 times as large. What is larger than the
            image is cut at random, what is smaller is surrounded by grey.
        colour: Largest change of brightness, contrast and saturation: 0.2 is up to 20 % less or more.
    """

    flip: bool = False
    quarter_turns: bool = False
    scale: float = share()
    colour: float = share()

    def __bool__(self):
        return any(getattr(self, item.name) for item in fields(self))


@dataclass(frozen=True)
class SoundAugmentConfig(CheckedConfig):
    """How recordings are changed at random, anew in every epoch; see `zoo.corpora.changed_recordings`.

    Args:
        speed: Largest change of the speed, and with it of the pitch: with 0.1, between 10 % slower and 10 % faster (Ko
            et al. 2015).
        silence: Largest number of seconds of silence that come before and behind a recording, each.
        noise: Share of the recordings to which noise is added, also to that silence: of a colour between white and
            brown.
        noise_ratio: Decibels by which a recording is at least above its noise; at most it is 40.
    """

    speed: float = rate(0.0)
    silence: float = zero_or_more(0.0)
    noise: float = share()
    noise_ratio: float = checked(10.0, "be a number of decibels from -40 to 40", lambda value: -40 <= value <= 40)

    def __bool__(self):
        return any((self.speed, self.silence, self.noise))


@dataclass(frozen=True)
class DenoisingConfig(CheckedConfig):
    """Noise from which an encoder-decoder restores the text in pretraining; see `zoo.corpora.denoising`.

    Args:
        objective: "spans": sentinels replace spans, and the target is what they stand for (Raffel et al. 2020, section
            3.1.4). "infilling": mask tokens replace spans, and the target is the text (Lewis et al. 2020). "none" for
            other training runs.
        rate: Share of the tokens of a text in spans; at least one token is.
        span_length: Mean number of tokens of a span; for infilling that of a Poisson distribution.
        permute_sentences: Whether the sentences of the source are in random order; for infilling.
    """

    objective: str = choice("none", "spans", "infilling")
    rate: float = checked(0.15, "lie in (0, 1)", lambda value: 0 < value < 1)
    span_length: float = checked(3.0, "be a finite number of at least 1", lambda value: 1 <= value < math.inf)
    permute_sentences: bool = False

    def __post_init__(self):
        super().__post_init__()
        if self.permute_sentences and self.objective != "infilling":
            raise ValueError(
                "`permute_sentences` is for infilling, whose target has the sentences in their order. Received: "
                f"objective={self.objective!r}. Set one of the two."
            )


@dataclass(frozen=True)
class TrainingConfig(CheckedConfig):
    """Configures a training run; one optimizer step sees `batch_tokens` source and as many target positions.

    Args:
        batch_tokens: Positions (padding included) of the longer side in one optimizer step.
        micro_batch_tokens: Approximate number of positions that a device holds at once; 0 for its share of
            `batch_tokens`. A smaller value accumulates gradients: a step has the same `batch_tokens` on any machine.
        steps: Optimizer steps.
        warmup_steps: Steps of linear warm-up before the inverse-square-root decay.
        peak_learning_rate: Rate at the end of the warm-up; 0 for Noam's `(hidden_dim * warmup_steps)**-0.5`.
        cooldown_steps: Steps at the end over which the rate falls linearly to zero; 0 for none. On the command line
            both scale with the steps, see `change_recipe`.
        label_smoothing: Probability mass spread evenly over the vocabulary.
        weight_decay: Share of each kernel and each table of embeddings that an update takes away, times the learning
            rate (AdamW: Loshchilov and Hutter 2019); 0.05 to 0.1 is usual, 0 for none. Biases and normalizations keep
            all.
        lowercase: Whether a vocabulary learned from the corpus reads capitals as small letters; not for translation.
        case_markup: Whether a vocabulary learned from the corpus encodes words in capitals as small letters between
            markers (`zoo.text.case_markup`).
        split_digits: Whether the pieces of a vocabulary learned from the corpus contain no more than one digit.
        pieces: Of a vocabulary learned from the corpus: "subwords", "characters" or "bytes".
        augment: Shares of the pairs that are changed at random, for translation.
        image_augment: How images are changed at random.
        box_augment: How images with boxes are changed at random.
        sound_augment: How recordings are changed at random.
        denoising: Noise from which an encoder-decoder restores texts, for pretraining.
        placeholders: Whether a translator reads and writes placeholders for addresses, telephone numbers and codes, so
            that they are never changed (`zoo.text.placeholders`). It learns that from those that `augment.copies` adds.
            A translator that is fine-tuned keeps them.
        subword_dropout: Probability of skipping a BPE merge in training text (Provilkov et al. 2020); 0 for none.
        token_dropout: Probability of reading the unknown token in place of a token of training text (word dropout:
            Iyyer et al. 2015); 0 for none. This and the next three settings are not for translation.
        frozen_layers: Layers of the encoder, from the bottom, that are not trained: 1 for the embeddings, 1 + n for
            the embeddings and n blocks; 0 for none.
        layer_decay: Factor from the learning rate of a layer of the encoder to that of the layer below (Howard and
            Ruder 2018; Sun et al. 2019); 1 for one rate.
        lora_rank: Rank of the changes to the kernels of the encoder, which is itself not trained (LoRA: Hu et al.
            2022); 0 to train the whole encoder.
        max_tokens: Longer pairs are left out of the training data.
        evaluate_every: Steps between two evaluations on the dev set, each of which writes a checkpoint.
        r_drop: Weight alpha of the divergence between two passes with different dropout (R-Drop: Liang et al. 2021),
            which doubles the work of a step; 0 for none.
        ema: Momentum of an exponential moving average of the weights over updates, which is evaluated and saved in
            their place (Polyak and Juditsky 1992; 0.999 is usual); 0 for none.
        average: How many of the last checkpoints are averaged into the final weights; 1 for no averaging.
        score: Metric on the dev set that selects the best checkpoint: its "loss"; for translation "bleu", translated
            greedily; for classification "accuracy" or "macro_f1"; for labelling "accuracy" or "span_f1"; for
            parsing "bracket_f1"; for speech "wer", the word error rate.
        patience: Evaluations without a better score after which training stops; 0 for never.
        precision: Keras dtype policy during training.
        jit_compile: Whether XLA compiles updates on TensorFlow, for each shape of a batch anew; batches are then
            padded to few shapes, as they always are on JAX. Not under a tf.distribute strategy.
        remat: Whether encoders and decoders compute each block a second time in the backward pass instead of keeping
            what is in it: less memory, a third more work, the same gradients (Chen et al. 2016).
        seed: Seed of weights, dropout and the order of examples.
        deterministic: Whether all operations are deterministic, which costs time on GPUs; see
            `keras_transformer.training.set_reproducible`. On a CPU they always are.
    """

    batch_tokens: int = positive(25_000)
    micro_batch_tokens: int = zero_or_more(0)
    steps: int = positive(100_000)
    warmup_steps: int = positive(4_000)
    peak_learning_rate: float = zero_or_more(0.0)
    cooldown_steps: int = zero_or_more(0)
    label_smoothing: float = rate(0.1)
    weight_decay: float = zero_or_more(0.0)
    lowercase: bool = False
    case_markup: bool = False
    split_digits: bool = False
    pieces: str = choice("subwords", "characters", "bytes")
    augment: AugmentConfig = AugmentConfig()
    image_augment: ImageAugmentConfig = ImageAugmentConfig()
    box_augment: BoxAugmentConfig = BoxAugmentConfig()
    sound_augment: SoundAugmentConfig = SoundAugmentConfig()
    denoising: DenoisingConfig = DenoisingConfig()
    placeholders: bool = False
    subword_dropout: float = rate(0.0)
    token_dropout: float = rate(0.0)
    frozen_layers: int = zero_or_more(0)
    layer_decay: float = checked(1.0, "lie in (0, 1]", lambda value: 0 < value <= 1)
    lora_rank: int = zero_or_more(0)
    max_tokens: int = positive(256)
    evaluate_every: int = positive(1_000)
    r_drop: float = zero_or_more(0.0)
    ema: float = rate(0.0)
    average: int = positive(5)
    score: str = choice(
        "bleu", "loss", "accuracy", "macro_f1", "span_f1", "bracket_f1", "wer", "ap50", "ap", "exact_sets"
    )
    patience: int = zero_or_more(0)
    precision: str = choice(*DTYPES)
    jit_compile: bool = False
    remat: bool = False
    seed: int = 1
    deterministic: bool = False

    def __post_init__(self):
        super().__post_init__()
        if self.cooldown_steps > self.steps:
            raise ValueError(
                f"`cooldown_steps` must be at most `steps`. Received: cooldown_steps={self.cooldown_steps}, "
                f"steps={self.steps}. Shorten the cool-down."
            )
