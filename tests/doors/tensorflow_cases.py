"""What TensorFlow does with the ops of test_tensorflow.py; runs in the Python that has it.

``tensorflow_cases.py FOLDER`` runs every ``case_*`` function with the module ``acme_tf`` of FOLDER
and prints one JSON object: name -> traceback, empty where the case passed.
"""

from __future__ import annotations

import ctypes
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, sys.argv[1])

import acme_tf as acme
import numpy as np
import tensorflow as tf
from case_programs import refused, run_cases

calls = ctypes.CDLL(os.path.join(sys.argv[1], "libacme_tf.so")).opgen_tensorflow_calls
calls.restype = ctypes.c_uint64


def numbers(*shape, dtype=tf.float32):
    values = np.random.default_rng(len(shape)).normal(size=shape)
    return tf.cast(tf.constant(values), dtype)


def same(got, expected, tolerance=1e-6):
    assert got.dtype == expected.dtype, (got.dtype, expected.dtype)
    assert got.shape == expected.shape, (got.shape, expected.shape)
    a, b = tf.cast(got, tf.float64), tf.cast(expected, tf.float64)
    assert np.allclose(a, b, rtol=tolerance, atol=tolerance), (got, expected)


# The tutorial's REGISTER_OP("CustomAdd") registers an op without a shape function or a kernel: no
# graph of it could be built or run. This one has both.


def case_custom_add_runs_the_kernel():
    before = calls(b"custom_add")
    for dtype, tolerance in ((tf.float32, 1e-6), (tf.half, 1e-3), (tf.bfloat16, 1e-2)):
        x, y = numbers(3, 5, dtype=dtype), numbers(5, dtype=dtype)
        same(acme.custom_add(x, y), x + y, tolerance)
    assert calls(b"custom_add") == before + 3


def case_custom_add_in_a_graph_of_unknown_sizes():
    specs = [tf.TensorSpec([None, 5]), tf.TensorSpec([None])]
    add = tf.function(lambda x, y: acme.custom_add(x, y), input_signature=specs)
    assert add.get_concrete_function().output_shapes == [None, 5]
    for rows in (0, 1, 4):
        x, y = numbers(rows, 5), numbers(5)
        same(add(x, y), x + y)
    unranked = tf.function(
        lambda x: acme.custom_add(x, tf.zeros([2, 1])), input_signature=[tf.TensorSpec(None)]
    )
    assert unranked.get_concrete_function().output_shapes.rank is None
    same(unranked(numbers(3)), numbers(3) + tf.zeros([2, 1]))


def case_custom_add_gradient():
    for shapes in (((3, 5), (5,)), ((2, 1), (1, 4)), ((3,), (3,))):
        theory, numeric = tf.test.compute_gradient(
            lambda x, y: acme.custom_add(x, y), [numbers(*s) for s in shapes], delta=1e-2
        )
        for one, other in zip(theory, numeric, strict=True):
            assert np.allclose(one, other, atol=1e-3), (one, other)


def case_softmax_is_in_the_vendors_namespace():
    x = numbers(4, 9)
    same(acme.softmax(x), tf.nn.softmax(x))
    same(acme.softmax(x, dim=0), tf.nn.softmax(x, axis=0))
    graph = tf.function(lambda x: acme.softmax(x)).get_concrete_function(x).graph
    assert "Acme>Softmax" in {op.type for op in graph.get_operations()}


def case_softmax_gradient():
    x, w = numbers(3, 4), numbers(4)
    theory, numeric = tf.test.compute_gradient(lambda x: acme.softmax(x) * w, [x], delta=1e-2)
    assert np.allclose(theory[0], numeric[0], atol=1e-3)
    before = calls(b"softmax_grad")
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(acme.softmax(x) * w)
    got = tape.gradient(y, x)
    assert calls(b"softmax_grad") == before + 1
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.nn.softmax(x) * w)
    same(got, tape.gradient(y, x), 1e-5)


def case_second_gradient_is_refused():
    def second():
        x = numbers(3, 4)
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.reduce_sum(acme.softmax(x) ** 2)
            first = inner.gradient(y, x)
        outer.gradient(first, x)

    refused(second, "SoftmaxGrad has no gradient", "second derivatives")


def case_optional_input():
    x, bias = numbers(4, 6), numbers(6)
    same(acme.bias_scale(x, None, 2.0), x * 2)
    same(acme.bias_scale(x, bias, 2.0), (x + bias) * 2)
    specs = [tf.TensorSpec([None, None]), tf.TensorSpec([None])]
    scale = tf.function(lambda x, b: acme.bias_scale(x, b, 0.5), input_signature=specs)
    same(scale(x, bias), (x + bias) * 0.5)
    refused(lambda: acme.bias_scale(x, numbers(5)), "bias has shape [5]")
    fixed = tf.function(lambda x, b: acme.bias_scale(x, b))
    wrong = [tf.TensorSpec([None, 6]), tf.TensorSpec([5])]
    refused(lambda: fixed.get_concrete_function(*wrong), "'bias' has shape [5], expected [6]")


def case_gradient_of_optional_inputs():
    x, bias = numbers(4, 6), numbers(6)
    with tf.GradientTape() as tape:
        tape.watch([x, bias])
        y = tf.reduce_sum(acme.bias_scale(x, bias, 2.0) * x)
    dx, dbias = tape.gradient(y, [x, bias])
    same(dx, 4 * x + 2 * bias, 1e-5)
    same(dbias, 2 * tf.reduce_sum(x, 0), 1e-5)
    for add in (acme.bias_scale, acme.add_rows):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(add(x, None) * x)
        same(tape.gradient(y, x), (2.0 if add is acme.bias_scale else 4.0) * x, 1e-5)
    row = numbers(1, 6)
    with tf.GradientTape() as tape:
        tape.watch([x, row])
        y = tf.reduce_sum(acme.add_rows(x, row) * x)
    dx, drow = tape.gradient(y, [x, row])
    same(dx, 4 * x + row, 1e-5)
    same(drow, tf.reduce_sum(x, 0, keepdims=True), 1e-5)


def case_gradient_of_reduced_axes():
    x = numbers(3, 4, 5)
    for dims in ([-1], [0], [0, 2], [1, 2, 0]):
        for keep in (False, True):
            mean = tf.function(lambda x, d=dims, k=keep: acme.pick_mean(x, dims=d, keep=k))
            unknown = mean.get_concrete_function(tf.TensorSpec([None, None, 5]))
            for call in (mean, unknown):
                with tf.GradientTape() as tape:
                    tape.watch(x)
                    y = tf.reduce_sum(call(x) ** 2)
                got = tape.gradient(y, x)
                with tf.GradientTape() as tape:
                    tape.watch(x)
                    y = tf.reduce_sum(tf.reduce_mean(x, dims, keepdims=keep) ** 2)
                same(got, tape.gradient(y, x), 1e-5)


def case_gradient_without_a_kernel_is_refused():
    x = numbers(2, 3)
    with tf.GradientTape() as tape:
        tape.watch(x)
        (y,) = acme.foreach_norm([x])
    refused(lambda: tape.gradient(y, x), "ForeachNorm has no kernel for its gradient",
            "backward: kernel")  # fmt: skip


def case_lists():
    tensors = [numbers(3, 5), numbers(7), tf.zeros([0])]
    got = acme.foreach_norm(tensors)
    assert len(got) == 3
    for one, tensor in zip(got, tensors, strict=True):
        same(one, tf.norm(tensor), 1e-5)
    assert acme.foreach_norm([]) == []


def case_an_in_place_op_leaves_its_input():
    var, grad = numbers(8), numbers(8) * 0 + 1
    before = var.numpy()
    same(acme.step(var, grad, 0.5), tf.constant(before) - 0.5)
    assert (var.numpy() == before).all()


def case_integer_output_of_fewer_axes():
    x = numbers(3, 100)
    same(acme.arg_max_row(x), tf.argmax(x, -1))
    specs = [tf.TensorSpec([None, 7, None])]
    row = tf.function(lambda x: acme.arg_max_row(x), input_signature=specs)
    assert row.get_concrete_function().output_shapes == [None, 7]


def case_the_dtypes_of_the_inputs_choose_that_of_the_output():
    for one, other in ((tf.half, tf.half), (tf.half, tf.float32), (tf.float32, tf.half)):
        x, y = numbers(2, 3, dtype=one), numbers(3, dtype=other)
        wide = tf.half if one == other else tf.float32
        same(acme.promote(x, y), tf.cast(x, wide) * tf.cast(y, wide), 1e-3)
    refused(lambda: acme.promote(numbers(3), numbers(3)),
            "no combination of dtypes", "float32")  # fmt: skip


def case_wrong_calls_say_what_is_wrong():
    refused(lambda: acme.custom_add(tf.zeros([3]), tf.zeros([4])),
            "InvalidArgumentError", "shapes [3], [4] do not broadcast")  # fmt: skip
    refused(lambda: acme.custom_add(tf.zeros([3], tf.int32), tf.zeros([3], tf.int32)), "int32")
    graph = tf.function(lambda x: acme.custom_add(x, tf.zeros([4])))
    refused(lambda: graph.get_concrete_function(tf.TensorSpec([3])), "do not broadcast")


def case_xla_is_not_supported():
    compiled = tf.function(lambda x: acme.custom_add(x, x), jit_compile=True)
    refused(lambda: compiled(numbers(3)), "unsupported operations")


def case_keras_trains_a_layer():
    class Shift(tf.keras.layers.Layer):
        def build(self, shape):
            self.shift = self.add_weight(shape=(shape[-1],), initializer="zeros")

        def call(self, x):
            return acme.softmax(acme.custom_add(x, self.shift))

    layer = Shift()
    model = tf.keras.Sequential([tf.keras.layers.Dense(4), layer, tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    x = np.random.default_rng(0).normal(size=(32, 3)).astype(np.float32)
    model.fit(x, x.sum(1), epochs=2, verbose=0)
    assert np.abs(layer.shift.numpy()).max() > 0
    assert model.predict(x, verbose=0).shape == (32, 1)


def case_saved_model():
    folder = os.path.join(sys.argv[1], "saved")
    module = tf.Module()
    specs = [tf.TensorSpec([None, 5])]
    module.run = tf.function(lambda x: acme.softmax(x), input_signature=specs)
    tf.saved_model.save(module, folder)
    x = numbers(2, 5)
    same(tf.saved_model.load(folder).run(x), tf.nn.softmax(x))


if __name__ == "__main__":
    run_cases(globals())
