"""The predictor of labels of words."""

from zoo.serving.word_predictor import WordPredictor


class WordTagger(WordPredictor):
    """Labels the words of sentences; see `WordPredictor`."""

    task = "labelling"

    tag = WordPredictor.word_labels
