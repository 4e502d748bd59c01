"""`fit` under a `tf.distribute` strategy, also of several processes, with batches of any size."""

import keras
from keras import ops, tree

from keras_transformer.ops.replicas import spans_processes, strategy_of


def prepare_replicas(model: keras.Model) -> keras.Model:
    """Makes `model.fit` train on every batch under a `tf.distribute` strategy; needed on TensorFlow only.

    Before it trains under a strategy, Keras 3.15 builds the model from a batch. That fails with "AddN must have the
    same size and shape" if the replicas' shares of the batch differ in size, and a data set that cannot restart has
    then lost its first batches. A prepared model is built from the `element_spec` of the data, without a batch.
    With `TokenCrossEntropy` as its loss, weights and reported losses are those of one device.

    Under `MultiWorkerMirroredStrategy`, where Keras 3.15 fails because it averages each metric, a scalar, over its
    first axis, `fit` and `evaluate` work too.

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
    # Private, as Keras has no other place between the choice of the data and the first batch.
    build, strategy = model._maybe_symbolic_build, strategy_of(model)

    def build_from_description(iterator=None, data_batch=None):
        data = iterator.data_adapter.get_tf_dataset() if iterator is not None else None
        if strategy is None or not hasattr(data, "element_spec"):
            return build(iterator, data_batch)
        specs = tree.map_structure(_of_one_replica, data.element_spec)
        build(data_batch=tree.map_structure(lambda spec: keras.KerasTensor(tuple(spec.shape), spec.dtype.name), specs))

    # Bypasses Keras's tracking of attributes.
    object.__setattr__(model, "_maybe_symbolic_build", build_from_description)
    if spans_processes(strategy):
        for name in ("train_step", "test_step"):
            object.__setattr__(model, name, _with_axis(getattr(model, name)))
    return model


def _of_one_replica(spec):
    """Returns the spec of one replica's data from the spec of all replicas of a process."""
    return getattr(spec, "_value_specs", [spec])[0]


def _with_axis(step):
    return lambda data: tree.map_structure(lambda value: ops.expand_dims(value, 0), step(data))
