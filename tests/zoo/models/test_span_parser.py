"""Order of the spans."""

import pytest
from keras import ops

from zoo.models.span_parser import span_pairs


@pytest.mark.parametrize("places", [1, 2, 3, 50, 200])
def test_all_pairs_in_order(places):
    first, last = (ops.convert_to_numpy(side).tolist() for side in span_pairs(places))
    assert list(zip(first, last)) == [(i, j) for j in range(places) for i in range(j)]
