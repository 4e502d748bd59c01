"""Tests that the self-test of devices finds wrong sums."""

import pytest
import tensorflow as tf
from strategies import REPLICAS, SharedStrategy, mirrored

from zoo.tf import self_test

DEVICES = [f"CPU:{i}" for i in range(REPLICAS)]


@pytest.fixture(autouse=True)
def shared_strategy(monkeypatch):
    monkeypatch.setattr(tf.config, "set_logical_device_configuration", lambda *arguments: None)  # See conftest.py.
    monkeypatch.setattr(tf.distribute, "MirroredStrategy", SharedStrategy)


def test_right_sums_pass():
    self_test.all_reduce(DEVICES)


def test_one_wrong_sum_on_one_device_is_found(monkeypatch):
    strategy = mirrored()
    right = strategy.experimental_local_results

    def wrong(value):
        *others, last = right(value)
        return *others, tf.tensor_scatter_nd_add(last, [[7]], [1.0])

    monkeypatch.setattr(strategy, "experimental_local_results", wrong)
    with pytest.raises(ArithmeticError, match=rf"{DEVICES[-1]} has 1 wrong sums of 1,000,000, the first at 7: "):
        self_test.all_reduce(DEVICES)
