"""`fit` under a `tf.distribute` strategy with batches of any size, each of which counts."""

import keras
from keras import tree


def prepare_replicas(model: keras.Model) -> keras.Model:
    """Makes `model.fit` train on every batch under `tf.distribute.MirroredStrategy`; needed on TensorFlow only.

    Before it trains under a strategy, Keras 3.15 takes a batch to build the model from. That fails with "AddN must
    have the same size and shape" if the replicas' shares of the batch differ, and a data set that cannot begin anew
    has then lost its first batches. Prepared, the model is built from the description of the data, which costs no
    batch. With `TokenCrossEntropy` as its loss, weights and reported losses are those of one device.

        with tf.distribute.MirroredStrategy().scope():
            model = prepare_replicas(keras.Model(...))
            model.compile("adam", TokenCrossEntropy(0.1))
        model.fit(dataset)

    Args:
        model: Any Keras model, functional or subclassed, built or not.

    Returns:
        The same model.
    """
    if keras.backend.backend() != "tensorflow":
        return model
    build = model._maybe_symbolic_build

    def build_from_description(iterator=None, data_batch=None):
        data = iterator.data_adapter.get_tf_dataset() if iterator is not None else None
        if model._distribute_strategy is None or not hasattr(data, "element_spec"):
            return build(iterator, data_batch)
        specs = data.element_spec
        build(data_batch=tree.map_structure(lambda spec: keras.KerasTensor(tuple(spec.shape), spec.dtype.name), specs))

    # Past Keras's tracking of attributes.
    object.__setattr__(model, "_maybe_symbolic_build", build_from_description)
    return model
