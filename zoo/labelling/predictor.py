"""A trained tagger: lists of words in, lists of labels out."""

from zoo.serving.word_predictor import WordPredictor


class WordTagger(WordPredictor):
    """A tagger; see `WordPredictor`."""

    task = "labelling"

    tag = WordPredictor.word_labels
