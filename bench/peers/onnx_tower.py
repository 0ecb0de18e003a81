"""The tower of docs/DESIGN.md in ONNX Runtime, its products of 8-bit integers: weights by column, activations by tensor.

Everything that ONNX Runtime has fused is used fused: norms, rotary positions, attention, x * sigmoid(x). What is
between products is float32, as its processor kernels have no BFloat16.
"""
import numpy
import onnx
import onnxruntime
from onnx import helper, numpy_helper

import peer

MICROSOFT = "com.microsoft"


def read_arrays(path):
    def widen(kind, data):
        if kind == "F32":
            return numpy.frombuffer(data, numpy.float32)
        return (numpy.frombuffer(data, numpy.uint16).astype(numpy.uint32) << 16).view(numpy.float32)

    return {name: widen(kind, data).reshape(shape) for name, (kind, shape, data) in peer.read_checkpoint(path).items()}


class Graph:
    def __init__(self):
        self.nodes, self.constants = [], []

    def constant(self, array):
        name = "constant%d" % len(self.constants)
        self.constants.append(numpy_helper.from_array(numpy.ascontiguousarray(array), name))
        return name

    def add(self, operation, *inputs, domain="", outputs=1, **attributes):
        names = ["value%d_%d" % (len(self.nodes), i) for i in range(outputs)]
        self.nodes.append(helper.make_node(operation, list(inputs), names, domain=domain, **attributes))
        return names[0] if outputs == 1 else names

    def product(self, x, weight):
        """weight [outputs, inputs], quantized by output."""
        scales = numpy.maximum(numpy.abs(weight).max(1), 1e-30) / 127
        quantized = numpy.rint(weight / scales[:, None]).astype(numpy.int8).T
        parts = (quantized, scales.astype(numpy.float32), numpy.zeros(len(weight), numpy.int8))
        return self.add("DynamicQuantizeMatMul", x, *map(self.constant, parts), domain=MICROSOFT)

    def norm(self, x, scale):
        return self.add("SimplifiedLayerNormalization", x, self.constant(scale), axis=-1, epsilon=1e-6)

    def silu(self, x):
        return self.add("QuickGelu", x, domain=MICROSOFT, alpha=1.0)

    def shape(self, x, *shape):
        return self.add("Reshape", x, self.constant(numpy.array(shape, numpy.int64)))

    def model(self, output):
        ids = helper.make_tensor_value_info("ids", onnx.TensorProto.INT64, None)
        answer = helper.make_tensor_value_info(output, onnx.TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, "tower", [ids], [answer], self.constants)
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


def attention(graph, qkv, heads, turn):
    """qkv [items, length, 3 hidden]."""
    hidden = 64 * heads
    sizes = graph.constant(numpy.array([hidden] * 3, numpy.int64))
    q, k, v = graph.add("Split", qkv, sizes, axis=-1, outputs=3)
    return graph.add("MultiHeadAttention", turn(q), turn(k), v, domain=MICROSOFT, num_heads=heads)


def tower(w, length, count):
    """ids [items, length] to embeddings [items, hidden]."""
    graph, heads = Graph(), w["norm"].size // 64
    angles = numpy.arange(length)[:, None] * 10000.0 ** (-numpy.arange(32) / 32)
    caches = [graph.constant(f(angles).astype(numpy.float32)) for f in (numpy.cos, numpy.sin)]
    positions = graph.constant(numpy.tile(numpy.arange(length, dtype=numpy.int64), (count, 1)))

    def turn(x):
        return graph.add("RotaryEmbedding", x, positions, *caches, domain=MICROSOFT, num_heads=heads, rotary_embedding_dim=64)

    x = graph.add("Gather", graph.constant(w["text.embedding"]), "ids")
    for i in range(sum(name.endswith("mlp.down") for name in w)):
        block = "blocks.%d." % i
        qkv = graph.product(graph.norm(x, w[block + "attention.norm"]), w[block + "attention.qkv"])
        x = graph.add("Add", x, graph.product(attention(graph, qkv, heads, turn), w[block + "attention.output"]))
        n = graph.norm(x, w[block + "mlp.norm"])
        gate, up = (graph.product(n, w[block + "mlp." + part]) for part in ("gate", "up"))
        x = graph.add("Add", x, graph.product(graph.add("Mul", graph.silu(gate), up), w[block + "mlp.down"]))

    states = graph.shape(graph.norm(x, w["norm"]), count, length, heads, 64)
    weighted = graph.add("Mul", states, graph.constant(w["pool.query"].reshape(heads, 64) / numpy.float32(8)))
    scores = graph.add("ReduceSum", weighted, graph.constant(numpy.array([3], numpy.int64)), keepdims=1)
    pooled = graph.add("Mul", states, graph.add("Softmax", scores, axis=1))
    pooled = graph.add("ReduceSum", pooled, graph.constant(numpy.array([1], numpy.int64)), keepdims=0)
    pooled = graph.shape(pooled, count, 64 * heads)
    head = graph.product(graph.silu(graph.product(pooled, w["pool.hidden"])), w["pool.output"])
    return graph.model(graph.add("LpNormalization", graph.add("Add", pooled, head), axis=-1, p=2))


def encode(folder, length, count, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = threads, 1, 3
    model = tower(read_arrays(folder + "/model"), length, count)
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    ids = numpy.fromfile(folder + "/texts", numpy.uint8).astype(numpy.int64).reshape(count, length)

    def run():
        return session.run(None, {"ids": ids})[0]

    run().tofile(folder + "/answer")
    return run


peer.serve("onnxruntime_%s_int8" % ".".join(onnxruntime.__version__.split(".")[:2]), {"encode": encode})
