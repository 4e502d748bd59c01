"""Several logical devices, so that strategies can be tested on one CPU."""

import keras

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf

    (cpu,) = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 4)
