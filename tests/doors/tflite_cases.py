"""What TensorFlow Lite does with the ops of test_tensorflow.py; runs in the Python that has both.

``tflite_cases.py FOLDER`` prints one JSON object: name -> traceback, empty where the case passed.
The models are made by TensorFlow's converter from functions that call the ops of ``acme_tf``.
"""

from __future__ import annotations

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, sys.argv[1])

import acme_tf as acme
import acme_tflite
import numpy as np
import tensorflow as tf
from ai_edge_litert import interpreter as litert
from case_programs import refused, run_cases
from tensorflow.lite.python import interpreter as lite


def model_of(function, *specs):
    """The bytes of a model with custom ops."""
    graph = tf.function(function, input_signature=specs).get_concrete_function()
    converter = tf.lite.TFLiteConverter.from_concrete_functions([graph])
    converter.allow_custom_ops = True
    return converter.convert()


def delegated(model):
    """LiteRT's interpreter with the delegate."""
    delegate = litert.load_delegate(acme_tflite.LIBRARY)
    return litert.Interpreter(model_content=model, experimental_delegates=[delegate])


def registered(model):
    """The interpreter in TensorFlow's wheel with the ops in its resolver."""
    return lite.InterpreterWithCustomOps(
        custom_op_registerers=[acme_tflite.register_ops], model_content=model
    )


INTERPRETERS = (delegated, registered)


def run(interpreter, *arrays):
    """The outputs of a model for some inputs, whose sizes may be others than before."""
    details = interpreter.get_input_details()
    for detail, array in zip(details, arrays, strict=True):
        interpreter.resize_tensor_input(detail["index"], array.shape)
    interpreter.allocate_tensors()
    for detail, array in zip(details, arrays, strict=True):
        interpreter.set_tensor(detail["index"], array)
    interpreter.invoke()
    return [interpreter.get_tensor(d["index"]) for d in interpreter.get_output_details()]


def numbers(*shape):
    return np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32)


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def case_kernels_run_at_any_size():
    model = model_of(lambda x: acme.softmax(acme.custom_add(x, x), dim=0), tf.TensorSpec([None, 5]))
    for make in INTERPRETERS:
        interpreter = make(model)
        for rows in (3, 1, 40):
            before = acme_tflite.call_count("custom_add"), acme_tflite.call_count("softmax")
            x = numbers(rows, 5)
            (got,) = run(interpreter, x)
            assert np.allclose(got, softmax(2 * x, 0), atol=1e-6)
            after = acme_tflite.call_count("custom_add"), acme_tflite.call_count("softmax")
            assert after == (before[0] + 1, before[1] + 1)


def case_attrs_and_optional_inputs():
    with_bias = model_of(
        lambda x, b: acme.bias_scale(x, b, 2.5), tf.TensorSpec([2, 6]), tf.TensorSpec([6])
    )
    without = model_of(lambda x: acme.bias_scale(x, None, -0.5), tf.TensorSpec([2, 6]))
    x, bias = numbers(2, 6), numbers(6)
    for make in INTERPRETERS:
        interpreter = make(with_bias)
        order = [len(d["shape"]) for d in interpreter.get_input_details()]
        arrays = (x, bias) if order == [2, 1] else (bias, x)
        assert np.allclose(run(interpreter, *arrays)[0], (x + bias) * 2.5)
        assert np.allclose(run(make(without), x)[0], x * -0.5)


def case_lists_and_several_outputs():
    model = model_of(lambda x: acme.foreach_norm([x, x * 2]), tf.TensorSpec([None, 3]))
    x = numbers(4, 3)
    for make in INTERPRETERS:
        got = sorted(float(one) for one in run(make(model), x))
        norm = float(np.linalg.norm(x))
        assert np.allclose(got, [norm, 2 * norm])


def case_integer_outputs_and_half():
    model = model_of(lambda x: acme.arg_max_row(x), tf.TensorSpec([None, 9]))
    x = numbers(5, 9)
    for make in INTERPRETERS:
        (got,) = run(make(model), x)
        assert got.dtype == np.int64 and (got == x.argmax(-1)).all()
    half = model_of(lambda x: acme.custom_add(x, x), tf.TensorSpec([4], tf.half))
    for make in INTERPRETERS:
        (got,) = run(make(half), numbers(4).astype(np.float16))
        assert got.dtype == np.float16 and np.allclose(got, 2 * numbers(4), atol=1e-2)


def case_without_the_ops_the_model_does_not_run():
    model = model_of(lambda x: acme.custom_add(x, x), tf.TensorSpec([3]))
    refused(lambda: run(litert.Interpreter(model_content=model), numbers(3)), "CustomAdd")


def case_wrong_uses_say_what_to_do():
    model = model_of(lambda x: acme.custom_add(x, x), tf.TensorSpec([3]))
    refused(
        lambda: litert.InterpreterWithCustomOps(
            custom_op_registerers=[acme_tflite.register_ops], model_content=model
        ),
        "OPG555",
        "load_delegate",
    )
    refused(lambda: litert.load_delegate(acme_tflite.LIBRARY, {"speed": "11"}),
            "has no option speed")  # fmt: skip


def case_wrong_shapes_are_refused():
    model = model_of(lambda x: acme.custom_add(x[:, :2], x[:, 2:]), tf.TensorSpec([None, None]))
    interpreter = delegated(model)
    assert np.allclose(
        run(interpreter, numbers(3, 4))[0], numbers(3, 4)[:, :2] + numbers(3, 4)[:, 2:]
    )
    refused(lambda: run(delegated(model), numbers(3, 5)), "do not broadcast")


if __name__ == "__main__":
    run_cases(globals())
