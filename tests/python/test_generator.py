"""Batches of generators from Python: bytes, memory, arguments."""

import ctypes
import gc
import hashlib
import importlib.util
import json
import multiprocessing
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest
from unittest import mock

import numpy as np

import wellspring as ws

PROGRAM = os.environ["WELLSPRING_PROGRAM"]


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], check=True, capture_output=True, text=True).stdout


def exported(*arguments):
    """The arrays that `wellspring export` writes."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "samples.npz"
        run("export", *arguments, "--out", str(file))
        with np.load(file) as arrays:
            return dict(arrays)


class Bytes(unittest.TestCase):
    def test_equal_the_digest_of_every_generator(self):
        for name in ws.generators():
            with self.subTest(name):
                report = json.loads(run("digest", name, "--count", "3", "--first", "5", "--seed", "7"))
                columns = ws.Generator(name, seed=7).batch(5, 3)
                for column in ("source", "sample"):  # of mixtures
                    report["columns"].pop(column)
                self.assertEqual(digests(columns, report["columns"]), report["columns"])

    def test_equal_exported_arrays_with_parameters_and_dense_labels(self):
        arrays = exported("dead_leaves", "--count", "4", "--size", "48", "--seed", "3", "--plane", "r_min=0.05")
        batch = ws.Generator("dead_leaves", size=48, seed=3, plane=True, r_min=0.05).batch(0, 4)
        for name in ("x", "label", "latents", "weight", "plane"):
            np.testing.assert_array_equal(batch[name], arrays[name].reshape(batch[name].shape))

    def test_of_a_header_equal_those_of_the_command(self):
        source = pathlib.Path(os.environ["WELLSPRING_SOURCE"])
        parsed = pathlib.Path(os.environ["WELLSPRING_PROGRAM"]).parent / "tests/parsed"
        quick = {"WELLSPRING_CXX": str(source / "tests/support/quick_compiler"), "WELLSPRING_PARSED": str(parsed)}
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, quick):
            header = pathlib.Path(folder) / "grating.h"
            header.write_text((source / "examples/generators/grating.h").read_text())
            report = json.loads(run("digest", str(header), "--count", "3", "--seed", "7", "tilt=30"))
            g = ws.Generator(str(header), seed=7, tilt=30)
            self.assertEqual(g.name, "grating")
            self.assertEqual(g.parameters["tilt"], 30)
            report["columns"] = {k: v for k, v in report["columns"].items() if k not in ("source", "sample")}
            self.assertEqual(digests(g.batch(0, 3), report["columns"]), report["columns"])
            with self.assertRaisesRegex(ws.ConfigError, "tlit"):
                ws.Generator(str(header), tlit=30)
            before = os.getcwd()
            self.addCleanup(os.chdir, before)
            os.chdir(folder)
            self.assertEqual(ws.export("./grating.h", "g.npz", count=3, seed=7, tilt=30),
                             ["x", "label", "latents", "weight", "source", "sample", "metadata"])
            with np.load("g.npz") as arrays:
                np.testing.assert_array_equal(arrays["x"].reshape(3, 64, 64, 3), g.batch(0, 3).x)
                self.assertIn("generator_header", str(arrays["metadata"]))
            ws.preview("./grating.h", count=4, seed=7, tilt=30).save("python.png")
            run("preview", "./grating.h", "--count", "4", "--seed", "7", "tilt=30", "--out", "command.png")
            self.assertEqual(pathlib.Path("python.png").read_bytes(), pathlib.Path("command.png").read_bytes())
            os.chdir(before)
        with self.assertRaisesRegex(ws.Error, "missing.h"):
            ws.Generator("./missing.h")

    def test_do_not_depend_on_batches_or_threads(self):
        whole = ws.Generator("shapes", size=32, threads=1).batch(0, 8)
        g = ws.Generator("shapes", size=32, threads=2)
        np.testing.assert_array_equal(np.concatenate([g.batch(0, 3).x, g.batch(3, 5).x]), whole.x)

    def test_sets_have_their_items_first(self):
        arrays = exported("tracks", "--count", "5")
        batch = ws.Generator("tracks").batch(0, 5)
        offsets = arrays["offsets"]
        for row in range(5):
            np.testing.assert_array_equal(batch.x[row, : batch.count[row]], arrays["x"][offsets[row] : offsets[row + 1]])

    def test_items_that_do_not_fit_are_counted(self):
        g = ws.Generator("tracks", items=10)
        hits = np.concatenate([g.batch(0, 8).latents, g.batch(8, 24).latents])[:, g.latents.index("hits")]
        left_out = np.maximum(hits - 10, 0)
        self.assertEqual(g.overflow, {"samples": np.count_nonzero(left_out), "items": left_out.sum()})
        self.assertGreater(g.overflow["samples"], 0)

    def test_bf16_is_f32_rounded_once(self):
        g = ws.Generator("shapes", size=32)
        bits = np.empty((4, 32, 32, 3), np.uint16)
        f32 = g.batch(0, 4).x.view(np.uint32).astype(np.uint64)
        want = (f32 + 0x7FFF + ((f32 >> 16) & 1)) >> 16
        bits[...] = np.frombuffer(bytes_of(g.batch(0, 4, dtype="bf16").x), np.uint16).reshape(bits.shape)
        np.testing.assert_array_equal(bits, want)

    def test_f16_and_u8_are_f32_converted_once(self):
        for name, arguments in (("shapes", {"size": 31, "augment": ["simclr"]}), ("gaussian_linear", {}), ("tracks", {})):
            g = ws.Generator(name, **arguments)
            wide = {count: g.batch(5, count) for count in (3, 8)}  # the second needs more memory
            for count, f32 in wide.items():
                f16 = g.batch(5, count, dtype=np.float16)
                self.assertEqual(f16.x.dtype, np.float16)
                with np.errstate(over="ignore"):
                    np.testing.assert_array_equal(f16.x.view(np.uint16), f32.x.astype(np.float16).view(np.uint16))
                np.testing.assert_array_equal(f16.label, f32.label)
        oblong = ws.Generator("shapes", size=(20, 36), augment=["simclr"]).batch(5, 8)
        self.assertEqual(oblong.x.shape, (8, 20, 36, 3))
        g = ws.Generator("shapes", size=31, augment=["simclr"])
        x = g.batch(5, 8).x
        want = np.floor(np.float32(255) * x + np.float32(0.5)).astype(np.uint8)
        np.testing.assert_array_equal(g.batch(5, 8, dtype="u8").x, want)
        np.testing.assert_array_equal(g.batch(5, 8, dtype=np.uint8, layout="NCHW").x, want.transpose(0, 3, 1, 2))
        np.testing.assert_array_equal(exported("shapes", "--size", "31", "--first", "5", "--count", "8", "--pixels", "u8")["x"],
                                      ws.Generator("shapes", size=31).batch(5, 8, dtype="u8").x)
        out = {"x": np.zeros(8 * 31 * 31 * 3 + 1, np.uint8)[1:].reshape(x.shape)}  # at any address
        self.assertIs(g.batch(5, 8, dtype="u8", out=out).x, out["x"])
        np.testing.assert_array_equal(out["x"], want)

    def test_augmentation_and_normalisation(self):
        plain = ws.Generator("shapes", size=32).batch(0, 4)
        flipped = ws.Generator("shapes", size=32, augment=[{"flip_x": 1}]).batch(0, 4)
        np.testing.assert_array_equal(flipped.x, plain.x[:, :, ::-1])
        normalised = ws.Generator("shapes", size=32, normalise={"mean": [0.5], "std": [0.25]}).batch(0, 4)
        np.testing.assert_allclose(normalised.x, (plain.x - 0.5) / 0.25, rtol=0, atol=4 * 2**-22)
        events = ws.Generator("gaussian_linear").batch(0, 4)
        scaled = ws.Generator("gaussian_linear", normalise={"mean": [1], "std": [2]}).batch(0, 4)
        np.testing.assert_allclose(scaled.x, (events.x - 1) / 2, rtol=2**-21, atol=2**-21)


def digests(columns, names):
    """SHA-256 of the named columns."""
    return {name: hashlib.sha256(columns[name].tobytes()).hexdigest() for name in names}


def bytes_of(array, read=ctypes.string_at):
    """The bytes of a contiguous array that NumPy cannot read: its DLPack capsule holds the address. read: see string_at."""
    capsule = array.__dlpack__()
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    tensor = get(capsule, b"dltensor")
    data = ctypes.cast(tensor, ctypes.POINTER(ctypes.c_void_p))[0]
    ndim = ctypes.cast(tensor + 16, ctypes.POINTER(ctypes.c_int32))[0]
    bits = ctypes.cast(tensor + 21, ctypes.POINTER(ctypes.c_uint8))[0]
    shape = ctypes.cast(ctypes.cast(tensor + 24, ctypes.POINTER(ctypes.c_void_p))[0], ctypes.POINTER(ctypes.c_int64))
    return read(data, bits // 8 * int(np.prod([shape[i] for i in range(ndim)])))


class Iteration(unittest.TestCase):
    def test_gives_consecutive_batches_in_the_same_arrays(self):
        g = ws.Generator("tracks", seed=3)
        seen = []
        for step, batch in enumerate(g.batches(4, first=100, steps=5)):
            want = g.batch(100 + 4 * step, 4)
            self.assertEqual(list(batch), list(want))
            for name in want:
                np.testing.assert_array_equal(batch[name], want[name])
            seen.append((batch, batch.x))
        self.assertEqual(len(seen), 5)
        self.assertTrue(all(batch is seen[0][0] and x is seen[0][1] for batch, x in seen))

    def test_writes_into_out(self):
        g = ws.Generator("shapes", size=32)
        out = {"x": np.zeros((4, 32, 32, 3), np.float16)}
        batches = g.batches(4, dtype="f16", out=out)
        self.assertIs(iter(batches), batches)
        for first in (0, 4):
            self.assertIs(next(batches).x, out["x"])
            np.testing.assert_array_equal(out["x"], g.batch(first, 4, dtype="f16").x)

    def test_keeps_its_generator_and_arrays(self):
        batches = ws.Generator("shapes", size=32, seed=5).batches(4, steps=2)
        gc.collect()
        first = next(batches).x.copy()
        kept = next(batches)
        del batches
        gc.collect()
        g = ws.Generator("shapes", size=32, seed=5)
        np.testing.assert_array_equal(first, g.batch(0, 4).x)
        np.testing.assert_array_equal(kept.x, g.batch(4, 4).x)

    def test_ends_with_the_last_sample_id(self):
        g = ws.Generator("gaussian_linear")
        last = [batch.x.copy() for batch in g.batches(3, first=2**63 - 8)]
        self.assertEqual(len(last), 2)
        np.testing.assert_array_equal(last[1], g.batch(2**63 - 5, 3).x)
        self.assertEqual(list(g.batches(3, steps=0)), [])
        self.assertTrue(next(g.batches(1)).x.any())  # 2^63 batches

    def test_refuses_wrong_arguments(self):
        g = ws.Generator("shapes", size=32)
        for words, kind, call in (
            ("count", ws.ConfigError, lambda: g.batches(0)),
            ("first", ws.ConfigError, lambda: g.batches(4, first=-1)),
            ("steps", ws.ConfigError, lambda: g.batches(4, first=2**63 - 4, steps=2)),
            ("steps", TypeError, lambda: g.batches(4, steps=0.5)),
            ("dtype", ws.ConfigError, lambda: g.batches(4, dtype="f8")),
            ("layout", TypeError, lambda: g.batches(4, layout=3)),
            ("out", TypeError, lambda: g.batches(4, out=[])),
            ("out..x.. has the shape", ws.ConfigError, lambda: g.batches(4, out={"x": np.zeros(4, np.float32)})),
            ("stream: the generator is on the CPU", ws.ConfigError, lambda: next(g.batches(4, stream=0))),
            ("u8", ws.ConfigError, lambda: next(ws.Generator("gaussian_linear").batches(4, dtype="u8"))),
        ):
            with self.subTest(words), self.assertRaisesRegex(kind, words):
                call()

    def test_in_many_threads(self):
        g = ws.Generator("gaussian_linear")
        want = g.batch(0, 4096).x.copy()
        wrong = []

        def work():
            for step, batch in enumerate(g.batches(64, steps=64)):
                if not np.array_equal(batch.x, want[64 * step : 64 * step + 64]):
                    wrong.append(step)

        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


class Freed(ctypes.Structure):
    """A tensor in host memory whose storage was freed, as DLPack's DLManagedTensor; `offset` of a view into that, in bytes."""

    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("ndim", ctypes.c_int32), ("kind", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.c_void_p), ("byte_offset", ctypes.c_uint64), ("context", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p)]

    def __init__(self, shape, kind=2, offset=None):
        super().__init__(offset, (1, 0), len(shape), kind, 32, 1, (ctypes.c_int64 * len(shape))(*shape))

    def __dlpack__(self, **wanted):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self), b"dltensor", None)


class Arguments(unittest.TestCase):
    def refuses(self, words, call, kind=ws.ConfigError):
        with self.assertRaises(kind) as caught:
            call()
        for word in words.split():
            self.assertIn(word, str(caught.exception))

    def test_of_the_generator(self):
        self.refuses("shaps shapes", lambda: ws.Generator("shaps"))
        self.refuses("clases classes", lambda: ws.Generator("shapes", clases=3))
        self.refuses("classes range", lambda: ws.Generator("shapes", classes=1000))
        self.refuses("size range", lambda: ws.Generator("shapes", size=0))
        self.refuses("size (height, width)", lambda: ws.Generator("shapes", size=(8, 8, 3)))
        self.refuses("seed range", lambda: ws.Generator("shapes", seed=-1))
        self.refuses("threads", lambda: ws.Generator("shapes", threads=1000000))
        self.refuses("device gpu", lambda: ws.Generator("shapes", device="gpu"))
        self.refuses("dense labels", lambda: ws.Generator("noise", plane=True))
        self.refuses("augmentation grye grey", lambda: ws.Generator("shapes", augment=["grye"]))
        self.refuses("augment images", lambda: ws.Generator("tracks", augment=["grey"]))
        self.refuses("normalise auto", lambda: ws.Generator("tracks", normalise="auto"))
        self.refuses("name string", lambda: ws.Generator(3), TypeError)
        self.refuses("seed integer", lambda: ws.Generator("shapes", seed=0.5), TypeError)
        self.refuses("classes object", lambda: ws.Generator("shapes", classes=object()), TypeError)

    def test_of_a_batch(self):
        g = ws.Generator("shapes", size=32)
        self.refuses("first range", lambda: g.batch(-1, 4))
        self.refuses("first range", lambda: g.batch(2**63 - 1, 4))
        self.refuses("count range", lambda: g.batch(0, 0))
        self.refuses("first integer", lambda: g.batch("0", 4), TypeError)
        self.refuses("stream CPU", lambda: g.batch(0, 4, stream=0))
        self.refuses("stream integer", lambda: g.batch(0, 4, stream="0"), TypeError)
        self.refuses("dtype f8 f32 bf16 f16 u8", lambda: g.batch(0, 4, dtype="f8"))
        normalised = ws.Generator("shapes", size=32, normalise={"mean": [0.5], "std": [0.25]})
        self.refuses("dtype u8 normalise", lambda: normalised.batch(0, 4, dtype="u8"))
        self.refuses("dtype u8 gaussian_linear f16", lambda: ws.Generator("gaussian_linear").batch(0, 4, dtype="u8"))
        self.refuses("layout CHW NCHW", lambda: g.batch(0, 4, layout="CHW"))
        self.assertEqual(g.batch(2**63 - 4, 4).x.shape, (4, 32, 32, 3))  # the last ids

    def test_of_out(self):
        g = ws.Generator("shapes", size=32)
        x = np.zeros((4, 32, 32, 3), np.float32)

        def out(**arrays):
            return lambda: g.batch(0, 4, out=arrays)

        self.refuses("out x", out(label=np.zeros(4, np.int32)))
        self.refuses("out lable label", out(x=x, lable=np.zeros(4, np.int32)))
        self.refuses("out['label'] i64 i32", out(x=x, label=np.zeros(4, np.int64)))
        self.refuses("out['x'] shape", out(x=x[:3]))
        self.refuses("out['x'] shape", out(x=x.reshape(4, -1)))
        self.refuses("out['x'] contiguous", out(x=x[..., ::-1]))
        self.refuses("out['x'] contiguous", out(x=np.zeros((4, 32, 32, 4), np.float32)[..., :3]))
        self.refuses("out['x'] array", out(x=[1, 2, 3]))
        self.refuses("out['x'] array", out(x=None))
        read_only = x.copy()
        read_only.flags.writeable = False
        self.refuses("out['x'] writable", out(x=read_only))
        self.refuses("out['x'] f32 bf16", lambda: g.batch(0, 4, dtype="bf16", out={"x": x}))
        self.refuses("out['x'] f32 u8", lambda: g.batch(0, 4, dtype="u8", out={"x": x}))
        self.refuses("out dict", lambda: g.batch(0, 4, out=x), TypeError)
        self.refuses("out['x'] freed live", out(x=Freed(x.shape)))
        self.refuses("out['x'] freed live", out(x=Freed(x.shape, offset=x.itemsize)))
        self.refuses("out['label'] freed", out(x=x, label=Freed((4,), kind=0)))
        self.refuses("out['x'] aligned", out(x=np.zeros(x.nbytes + 1, np.uint8)[1:].view(np.float32).reshape(x.shape)))

    @unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch is not installed in the Python of this build")
    def test_tensors_without_storage(self):
        import torch

        g = ws.Generator("gaussian_linear")
        whole = torch.empty(g.batch(0, 6).x.shape)
        views = whole, whole[2:]
        for view in views:
            g.batch(0, len(view), out={"x": view})
        whole.untyped_storage().resize_(0)
        for view in views:
            self.refuses("out['x'] freed", lambda: g.batch(0, len(view), out={"x": view}))

    def test_a_missing_gpu_is_refused_with_the_program_s_message(self):
        refused = subprocess.run([PROGRAM, "digest", "shapes", "--count", "1", "--device", "cuda:99"],
                                 capture_output=True, text=True)
        with self.assertRaises(ws.DeviceError) as caught:
            ws.Generator("shapes", device="cuda:99")
        self.assertEqual(refused.returncode, caught.exception.exit_code)
        self.assertIn(str(caught.exception).splitlines()[0], refused.stderr)

    def test_errors_form_a_hierarchy(self):
        for kind, code in ((ws.Error, 1), (ws.ConfigError, 2), (ws.DataError, 3), (ws.DeviceError, 4)):
            self.assertTrue(issubclass(kind, ws.Error))
            self.assertEqual(kind.exit_code, code)
        self.assertTrue(issubclass(ws.ConfigError, ValueError))


class Description(unittest.TestCase):
    def test_has_the_effective_parameters(self):
        g = ws.Generator("shapes", size=32, classes=4, texture="stripes")
        self.assertEqual((g.name, g.parameters["classes"], g.parameters["texture"]), ("shapes", 4, "stripes"))
        self.assertEqual(len(g.classes), 4)
        self.assertEqual(len(g.latents), g.batch(0, 1).latents.shape[1])
        self.assertEqual(g.describe()["name"], "shapes")

    def test_has_the_features_of_these_parameters(self):
        for columns, width in (("position", 3), ("hits", 5)):
            g = ws.Generator("tracks", columns=columns)
            self.assertEqual(len(g.describe()["features"]), width)
            self.assertEqual(g.batch(0, 1).x.shape[2], width)
        self.assertEqual(ws.Generator("lund_shower", output="image").describe()["features"], [])

    def test_as_text_has_every_parameter_preset_and_latent(self):
        for name in ws.generators():
            facts, text = ws.Generator(name).describe(), ws.describe(name)
            for row in facts["parameters"]:
                self.assertRegex(text, rf"(?m)^  {row['name']}: .*(default|required)")
                self.assertIn(row["help"], text)
                for preset in row.get("presets", []):
                    self.assertIn(f"\n      {preset['name']}: ", text)
            for latent in facts["latents"]:
                self.assertIn(f"\n  {latent['name']}: ", text)
        self.assertRaisesRegex(ws.ConfigError, "shapes", ws.describe, "shaps")

    def test_names_presets(self):
        name, preset = next((name, preset) for name in ws.generators() for preset in ws.Generator(name).presets)
        ws.Generator(name, preset=preset).batch(0, 1)

    def test_missing_columns_are_named(self):
        with self.assertRaisesRegex(AttributeError, "no column 'plane', only x, label"):
            ws.Generator("shapes").batch(0, 1).plane


class Processes(unittest.TestCase):
    def test_many_generators_in_many_threads(self):
        want = ws.Generator("shapes", size=32).batch(0, 16).x
        shared, wrong = ws.Generator("shapes", size=32), []

        def work():
            own = ws.Generator("shapes", size=32)
            for count in (1, 16, 5, 16):
                for g in (own, shared):
                    if not np.array_equal(g.batch(0, count).x, want[:count]):
                        wrong.append(count)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_fork_after_import_works(self):
        code = ("import os, wellspring as ws\n"
                "child = os.fork()\n"
                "ws.Generator('shapes', threads=2).batch(0, 4)\n"
                "if child: raise SystemExit(os.waitpid(child, 0)[1])\n")
        subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=60)

    def test_fork_during_an_iteration_is_refused(self):
        code = ("import os, wellspring as ws\n"
                "batches = ws.Generator('shapes', threads=2).batches(4)\n"
                "next(batches)\n"
                "child = os.fork()\n"
                "if child: raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
                "try:\n    next(batches)\nexcept ws.Error as error:\n    os._exit(0 if 'forked' in str(error) else 1)\n"
                "os._exit(2)\n")
        subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=60)

    def test_fork_after_a_batch_is_refused(self):
        g = ws.Generator("shapes", size=32)
        g.batch(0, 1)
        context = multiprocessing.get_context("fork")
        answers = context.Queue()
        child = context.Process(target=batch_in_child, args=(g, answers))
        child.start()
        self.assertIn("forked", answers.get(timeout=60))
        child.join()


def batch_in_child(g, answers):
    try:
        g.batch(0, 1)
        answers.put("made a batch")
    except ws.Error as error:
        answers.put(str(error))


if __name__ == "__main__":
    unittest.main()
