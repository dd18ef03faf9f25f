"""Mixtures, training, files and pictures from Python."""

import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

import numpy as np

import wellspring as ws

from test_generator import bytes_of, run

CONFIG = {
    "seed": 3,
    "device": "cpu",
    "data": {
        "size": 16,
        "normalise": {"mean": [0.5], "std": [0.25]},
        "augment": [{"flip_x": 0.5}],
        "sources": [
            {"name": "shapes", "kind": "generator", "generator": "shapes", "weight": 0.75, "params": {"classes": 4}},
            {"name": "noise", "kind": "generator", "generator": "noise", "weight": 0.25},
        ],
    },
    "eval": {"every": 10, "samples": 64, "sources": [{"of": "shapes"}]},
    "model": {"name": "mlp", "widths": [16]},
    "optimizer": {"kind": "adamw", "lr": 0.01},
    "train": {"batch": 16, "steps": 20, "log_every": 5, "checkpoint_every": 10},
}

EVENTS = CONFIG | {"data": {"sources": [{"name": "events", "kind": "generator", "generator": "gaussian_linear"}]},
                   "eval": {}}


def threads():
    """Number of threads of this process."""
    return len(os.listdir("/proc/self/task"))


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.file = self.folder / "config.yaml"
        self.file.write_text(json.dumps(CONFIG))  # JSON is YAML

    def exported(self, *arguments):
        out = self.folder / "samples.npz"
        run("export", *map(str, arguments), "--out", str(out))
        with np.load(out) as arrays:
            return dict(arrays)


class Mixtures(Folder):
    def test_have_the_masks_of_patches(self):
        masked = ["data.augment=[{mask_patches: {patch: 4, ratio: 0.5}}]", "data.normalise={mean: [2]}"]
        batch = next(ws.Mixture(CONFIG, masked))
        self.assertEqual((batch.mask.shape, batch.mask.dtype), ((16, 16), np.uint8))
        blocks = batch.x.reshape(16, 4, 4, 4, 4, 3).transpose(0, 1, 3, 2, 4, 5).reshape(16, 16, -1)
        np.testing.assert_array_equal((blocks == 0).all(2), batch.mask == 1)

    def test_make_the_batches_of_training(self):
        arrays = self.exported(self.file, "--count", 48)
        mixture = ws.Mixture(self.file)
        self.assertEqual((len(mixture), mixture.sources), (20, ["shapes", "noise"]))
        for step, batch in zip(range(3), mixture):
            rows = slice(16 * step, 16 * step + 16)
            for name in ("x", "label", "source", "sample", "weight", "latents"):
                np.testing.assert_array_equal(batch[name], arrays[name][rows], name)

    def test_a_dict_is_a_configuration(self):
        np.testing.assert_array_equal(next(ws.Mixture(CONFIG)).x, next(ws.Mixture(self.file)).x)
        other = ws.Mixture(CONFIG, ["train.batch=8"], set={"seed": 4})
        self.assertEqual(next(other).x.shape, (8, 16, 16, 3))
        self.assertIn("seed: 4", other.config)

    def test_compile_headers_that_a_dict_names(self):
        """A compiler that fails, so that the test is short."""
        compiler, header = self.folder / "fails", self.folder / "grating.h"
        compiler.write_text('#!/bin/sh\n[ "$1" = --version ] && exec g++ --version\necho grating.h:1:2: error: mine >&2\nexit 1\n')
        compiler.chmod(0o700)
        header.write_text(pathlib.Path(os.environ["WELLSPRING_SOURCE"], "examples/generators/grating.h").read_text())
        config = CONFIG | {"data": {"sources": [{"name": "own", "generator": str(header)}]}, "eval": {}}
        chosen = {"WELLSPRING_CXX": str(compiler), "WELLSPRING_CACHE": str(self.folder / "cache")}
        with mock.patch.dict(os.environ, chosen), self.assertRaisesRegex(ws.ConfigError, "mine"):
            ws.Mixture(config)

    def test_mixup_is_applied(self):
        change = {"data.mix.mixup": 0.4}
        arrays = self.exported(self.file, "--count", 16, "data.mix.mixup=0.4")
        batch = next(ws.Mixture(CONFIG, set=change))
        np.testing.assert_array_equal(batch.x, arrays["x"])
        np.testing.assert_array_equal(batch.target, arrays["target"])

    def test_f16_u8_and_bf16_are_f32_converted_once(self):
        plain = json.loads(json.dumps(CONFIG))
        plain["data"] |= {"normalise": "none", "mix": {"mixup": 0.4}}  # mixing comes before the conversion
        plain["data"]["sources"][1]["generator"] = "visual_atom"
        want = next(ws.Mixture(plain))
        got = next(ws.Mixture(plain, dtype=np.float16))
        np.testing.assert_array_equal(got.x.view(np.uint16), want.x.astype(np.float16).view(np.uint16))
        for name in ("label", "target", "sample"):
            np.testing.assert_array_equal(got[name], want[name])
        pixels = np.floor(np.float32(255) * want.x + np.float32(0.5)).astype(np.uint8)
        np.testing.assert_array_equal(next(ws.Mixture(plain, dtype="u8")).x, pixels)
        np.testing.assert_array_equal(next(ws.Mixture(plain, dtype="u8", layout="NCHW")).x, pixels.transpose(0, 3, 1, 2))
        wide = next(ws.Mixture(CONFIG)).x  # normalised, below 0 and above 1
        np.testing.assert_array_equal(next(ws.Mixture(CONFIG, dtype="f16")).x, wide.astype(np.float16))
        bf16 = np.frombuffer(bytes_of(next(ws.Mixture(CONFIG, dtype="bf16")).x), np.uint16)
        bits = wide.view(np.uint32).astype(np.uint64).ravel()
        np.testing.assert_array_equal(bf16, (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16)

    def test_u8_of_stored_images_are_their_pixels(self):
        self.exported("shapes", "--size", 16, "--count", 16, "classes=4", "--pixels", "u8")
        with np.load(self.folder / "samples.npz") as arrays:
            pixels = arrays["x"]
        source = {"name": "files", "kind": "files", "path": str(self.folder / "samples.npz")}
        config = CONFIG | {"data": {"size": 16, "sources": [source]}, "eval": {}}
        batch = next(ws.Mixture(config, dtype="u8"))
        np.testing.assert_array_equal(batch.x, pixels[batch.sample])

    def test_files_are_read_in_order(self):
        self.exported("shapes", "--size", 16, "--count", 40, "classes=4")
        config = json.loads(json.dumps(CONFIG))
        config["data"]["sources"][1] = {"name": "files", "kind": "files", "path": str(self.folder / "samples.npz"), "weight": 0.25}
        for storage in ("resident", "streamed"):
            config["data"]["sources"][1]["storage"] = storage
            whole = [batch.x.copy() for batch in ws.Mixture(config)]
            again = ws.Mixture(config)
            np.testing.assert_array_equal(again.batch(7).x, whole[7])
            np.testing.assert_array_equal(again.batch(2).x, whole[2])  # back: the files are opened again
            np.testing.assert_array_equal(next(again).x, whole[3])

    def test_ranks_make_parts_of_the_batch(self):
        whole = next(ws.Mixture(CONFIG))
        parts = [next(ws.Mixture(CONFIG, rank=rank, world=2)) for rank in (0, 1)]
        for name in ("x", "label", "sample"):
            np.testing.assert_array_equal(np.concatenate([part[name] for part in parts]), whole[name])

    def test_continue_from_a_state(self):
        mixture = ws.Mixture(CONFIG)
        for _ in range(5):
            next(mixture)
        state, want = mixture.state_dict(), next(mixture)
        resumed = ws.Mixture(CONFIG)
        resumed.load_state_dict(json.loads(json.dumps(state)))
        np.testing.assert_array_equal(next(resumed).x, want.x)
        mixture.load_state_dict({"step": 20})
        self.assertRaises(StopIteration, next, mixture)

    def test_refuse_wrong_arguments(self):
        for words, call in (
            ("config.yaml sorces sources", lambda: ws.Mixture(CONFIG, ["data.sorces=1"])),
            ("rank out of range", lambda: ws.Mixture(CONFIG, rank=2, world=2)),
            ("batch 16 3", lambda: ws.Mixture(CONFIG, world=3)),
            ("step out of range", lambda: ws.Mixture(CONFIG).batch(20)),
            ("dtype f8 u8", lambda: ws.Mixture(CONFIG, dtype="f8")),
            ("dtype u8 normalised f16", lambda: ws.Mixture(CONFIG, dtype="u8")),
            ("dtype u8 events f16", lambda: ws.Mixture(EVENTS, dtype="u8")),
            ("dtype u8 noise f16", lambda: ws.Mixture(CONFIG, ["data.normalise=none"], dtype="u8")),
            ("nowhere.yaml", lambda: ws.Mixture("nowhere.yaml")),
            ("step out of range", lambda: ws.Mixture(CONFIG).load_state_dict({"step": -1})),
        ):
            with self.subTest(words), self.assertRaises(ws.ConfigError) as caught:
                call()
            for word in words.removeprefix("config.yaml ").split():
                self.assertIn(word, str(caught.exception))
        self.assertRaisesRegex(TypeError, "config must be a path or a dict", ws.Mixture, 3)
        self.assertRaisesRegex(TypeError, "config cannot be written", ws.Mixture, {"seed": object()})


class Training(Folder):
    def out(self):
        return {"out": str(self.folder / "run")}

    def test_reports_to_a_callback_and_returns_the_weights(self):
        reports = []
        final = ws.train(CONFIG, set=self.out(), callback=reports.append)
        kinds = [report["kind"] for report in reports]
        self.assertEqual(kinds[0], "plan")
        self.assertEqual(kinds[-1], "finish")
        self.assertEqual([report["step"] for report in reports if report["kind"] == "step"], [5, 10, 15, 20])
        self.assertIn("evaluation", kinds)
        self.assertEqual((final["status"], final["step"]), ("finished", 20))
        weights = ws.load(final["folder"])
        self.assertEqual(sum(array.size for array in weights.values()), reports[0]["parameters"])
        self.assertTrue(all(np.isfinite(array).all() for array in weights.values()))
        run("train", str(self.file), f"out={self.folder / 'program'}")
        for name, array in ws.load(self.folder / "program").items():
            np.testing.assert_array_equal(array, weights[name])

    def test_stops_when_the_callback_returns_false_and_resumes(self):
        def stop(report):
            return report["kind"] != "step" or report["step"] < 10

        stopped = ws.train(CONFIG, set=self.out(), callback=stop)
        self.assertEqual(stopped["status"], "interrupted")
        self.assertTrue(10 <= stopped["step"] < 20)
        resumed = ws.train(CONFIG, set=self.out())
        self.assertEqual((resumed["status"], resumed["step"]), ("finished", 20))

    def test_writes_a_checkpoint_when_the_callback_asks_and_goes_on(self):
        """Without evaluations, no step but the last has a checkpoint of its own."""
        config = CONFIG | {"eval": {}, "train": CONFIG["train"] | {"checkpoint_every": 0}}
        written = []

        def save(report):
            if report["kind"] == "checkpoint":
                written.append((report["step"], ws.load(report["path"])))
            return "checkpoint" if report["kind"] in ("plan", "checkpoint") or report["step"] == 10 else None

        final = ws.train(config, set=self.out(), callback=save)
        self.assertEqual((final["status"], final["step"]), ("finished", 20))
        steps = [step for step, _ in written]
        self.assertEqual(steps, [10, 20])
        want = ws.load(ws.train(config, set={"out": str(self.folder / "plain")})["folder"])
        short = ws.train(config, set={"out": str(self.folder / "stopped")},
                         callback=lambda report: not (report["kind"] == "step" and report["step"] == 10))
        for got, wanted in ((ws.load(final["folder"]), want), (written[0][1], ws.load(short["checkpoint"]))):
            for name, array in wanted.items():
                np.testing.assert_array_equal(got[name], array)

    def test_checkpoints_of_the_callback_do_not_change_streamed_rows(self):
        self.exported("shapes", "--size", 16, "--count", 40, "classes=4")
        source = {"name": "files", "kind": "files", "path": str(self.folder / "samples.npz"), "storage": "streamed"}
        config = CONFIG | {"data": CONFIG["data"] | {"sources": [source]}, "eval": {}}
        runs = [ws.train(config, set={"out": str(self.folder / name)}, callback=lambda report: answer)
                for name, answer in (("asked", "checkpoint"), ("plain", None))]
        asked, plain = (ws.load(run["folder"]) for run in runs)
        for name, array in plain.items():
            np.testing.assert_array_equal(asked[name], array)

    def test_other_texts_of_the_callback_are_refused(self):
        with self.assertRaisesRegex(ws.ConfigError, "(?s)callback returned 'chekpoint'.*'checkpoint'"):
            ws.train(CONFIG, set=self.out(), callback=lambda report: "chekpoint" if report["kind"] == "step" else None)
        self.assertTrue(ws.load(self.folder / "run"))

    def test_an_interrupted_run_leaves_no_thread(self):
        ws.train(CONFIG, set=self.out())
        finished = threads()
        for name in ("first", "second"):
            config = {"out": str(self.folder / name), "train.steps": 10**7}
            stopped = ws.train(CONFIG, set=config, callback=lambda report: report["kind"] != "step")
            self.assertEqual(stopped["status"], "interrupted")
            self.assertEqual(threads(), finished)

    def test_exceptions_of_the_callback_end_the_run_with_a_checkpoint(self):
        def fails(report):
            if report["kind"] == "step":
                raise KeyError("mine")

        with self.assertRaisesRegex(KeyError, "mine"):
            ws.train(CONFIG, set=self.out(), callback=fails)
        self.assertTrue(ws.load(self.folder / "run"))

    def test_an_interrupt_ends_the_run_with_a_checkpoint(self):
        senders = []

        def interrupt(report):
            if report["kind"] == "step" and not senders:
                senders.append(subprocess.Popen(["sh", "-c", f"sleep 0.1; kill -INT {os.getpid()}"]))

        ws.train(CONFIG, set={"out": str(self.folder / "finished")})
        finished = threads()
        with self.assertRaises(KeyboardInterrupt):
            ws.train(CONFIG, set=self.out() | {"train.steps": 10**7, "train.log_every": 500}, callback=interrupt)
        senders[0].wait()
        for _ in range(500):  # a joined thread may be listed for a moment
            if threads() == finished:
                break
            time.sleep(0.01)
        self.assertEqual(threads(), finished)
        self.assertTrue(ws.load(self.folder / "run"))
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)

    def test_refuses_wrong_arguments(self):
        self.assertRaisesRegex(TypeError, "callback must be callable", ws.train, CONFIG, callback=3)
        self.assertRaisesRegex(ws.ConfigError, "(?s)lrr.*lr", ws.train, CONFIG, ["optimizer.lrr=1"])
        self.assertRaises(ws.DataError, ws.load, self.folder / "nothing")


class Statistics(Folder):
    def column(self, profile, name):
        (source,) = profile["sources"]
        return next(column for column in source["columns"] if column["name"] == name)

    def test_equal_those_of_the_program(self):
        stored = self.folder / "profile.json"
        for what, words, arguments in (
            ("shapes", ["--count", "200", "--size", "16", "--seed", "2", "classes=3"],
             {"count": 200, "size": 16, "seed": 2, "classes": 3}),
            (str(self.file), ["--split", "eval", "train.batch=8"], {"split": "eval", "overrides": "train.batch=8"}),
        ):
            run("stats", what, *words, "--out", str(stored))
            self.assertEqual(ws.stats(what, **arguments), json.loads(stored.read_text()))

    def test_describe_the_samples(self):
        profile = ws.stats("gaussian_linear", count=500, seed=3)
        batch = ws.Generator("gaussian_linear", seed=3).batch(0, 500)
        features = [column["name"] for column in profile["sources"][0]["columns"]][: batch.x.shape[1]]
        for values, name in zip(batch.x.T.astype(float), features):
            column = self.column(profile, name)
            # Sums of f32 values in f64, in another order.
            np.testing.assert_allclose([column["mean"], column["deviation"]], [values.mean(), values.std()], rtol=0, atol=1e-9)
            self.assertEqual((column["low"], column["high"]), (values.min(), values.max()))
            self.assertEqual((column["values"], sum(column["histogram"]["counts"])), (500, 500))
        self.assertEqual((profile["sources"][0]["samples"], profile["sources"][0]["duplicates"]), (500, 0))
        self.assertNotIn("drift", profile)

    def test_have_usual_numbers_of_samples(self):
        for what, arguments, count in (("shapes", {"size": 8}, 4096), ("gaussian_linear", {}, 20_000),
                                       (CONFIG, {"split": "eval"}, 64), (EVENTS, {"overrides": "train.steps=2000"}, 20_000)):
            (source,) = ws.stats(what, **arguments)["sources"]
            self.assertEqual(source["samples"], count)

    def test_tell_drift(self):
        stored = ws.stats("gaussian_linear", count=2000, seed=3)
        same = ws.stats("gaussian_linear", count=2000, seed=3, first=10**6, against=stored)["drift"]
        self.assertFalse(same["drifts"])
        self.assertTrue(all(column["distance"] <= column["threshold"] for column in same["columns"]))
        file = self.folder / "profile.json"
        file.write_text(json.dumps(stored))
        other = ws.stats("gaussian_linear", count=2000, seed=3, noise=3, against=file)["drift"]
        self.assertTrue(other["drifts"])
        self.assertTrue(any(column["drifts"] for column in other["columns"]))

    def test_read_data_sets(self):
        arrays = self.exported("gaussian_linear", "--count", 300)
        path = self.folder / "samples.npz"
        profile = ws.stats(path)
        self.assertEqual(profile["sources"][0]["samples"], 300)
        self.assertEqual(profile["sources"][0]["columns"], ws.stats("gaussian_linear", count=300)["sources"][0]["columns"])
        self.assertEqual(ws.stats(path, first=290)["sources"][0]["samples"], 10)
        np.savez(self.folder / "holes.npz", x=np.array([[1], [np.nan], [3], [np.inf]], np.float32))
        column = ws.stats(self.folder / "holes.npz")["sources"][0]["columns"][0]
        self.assertEqual((column["values"], column["not_finite"], column["mean"]), (2, 2, 2))
        ws.export(path, self.folder / "again.npz")
        with np.load(self.folder / "again.npz") as again:
            np.testing.assert_array_equal(again["x"], arrays["x"])

    def test_refuse_wrong_arguments(self):
        self.exported("shapes", "--size", 16, "--count", 8)
        data = str(self.folder / "samples.npz")
        (self.folder / "wrong.json").write_text("{}")
        (self.folder / "run").mkdir()
        (self.folder / "run" / "config.resolved.yaml").write_text("name: a")
        for kind, words, call in (
            (ws.ConfigError, "shaps", lambda: ws.stats("shaps")),
            (ws.ConfigError, "clases", lambda: ws.stats("shapes", clases=3)),
            (ws.ConfigError, "count.*range", lambda: ws.stats("shapes", count=0)),
            (ws.ConfigError, "first.*range", lambda: ws.stats("shapes", first=2**63 - 5)),
            (ws.ConfigError, "samples.npz.*8 rows", lambda: ws.stats(data, count=9)),
            (ws.ConfigError, "seed is not for the data set", lambda: ws.stats(data, seed=1)),
            (ws.ConfigError, "split is not for the data set.*params={'split': 'val'}", lambda: ws.stats(data, split="val")),
            (ws.ConfigError, "step is not for the generator.*params={'step': 0.1}", lambda: ws.stats("ode", step=0.1)),
            (ws.ConfigError, "overrides is not for the generator", lambda: ws.stats("ode", overrides="seed=2")),
            (ws.ConfigError, "seed is not for a configuration.*seed=0", lambda: ws.stats(CONFIG, seed=0)),
            (ws.ConfigError, "first is not for a configuration.*step=N", lambda: ws.stats(CONFIG, first=3)),
            (ws.ConfigError, "size is not for a configuration.*data.size", lambda: ws.stats(CONFIG, size=8)),
            (ws.ConfigError, "step is not for split='eval'", lambda: ws.stats(CONFIG, split="eval", step=3)),
            (ws.ConfigError, "device = 'cuda:1'.*device=cpu",
             lambda: ws.stats(CONFIG, device="cuda:1", overrides=["device=cpu"])),
            (ws.ConfigError, "unknown argument 'classes'", lambda: ws.stats(CONFIG, params={"classes": 3})),
            (TypeError, "classes is given twice", lambda: ws.stats("shapes", classes=3, params={"classes": 3})),
            (TypeError, "params must be a dict, not list", lambda: ws.stats("shapes", params=[3])),
            (ws.ConfigError, "no key 'resise'", lambda: ws.stats(data, resise=3)),
            (ws.ConfigError, "folder of a run.*config.resolved.yaml", lambda: ws.stats(self.folder / "run")),
            (ws.DataError, "wrong.json: not a profile", lambda: ws.stats("shapes", count=9, against=self.folder / "wrong.json")),
            (ws.DataError, "against: not a profile", lambda: ws.stats("shapes", count=9, against={"profile": 3})),
            (ws.DataError, "nowhere", lambda: ws.stats("shapes", count=9, against="nowhere.json")),
            (ws.DataError, "no column in common",
             lambda: ws.stats("shapes", count=9, size=8, against={"profile": "a", "sources": []})),
            (TypeError, "against must be", lambda: ws.stats("shapes", against=3)),
            (TypeError, "config must be a path or a dict", lambda: ws.stats(3)),
        ):
            with self.subTest(words), self.assertRaisesRegex(kind, "(?s)" + words):
                call()


class FilesAndPictures(Folder):
    def test_export_writes_the_same_file_as_the_program(self):
        names = ws.export("shapes", self.folder / "python.npz", count=5, size=16, seed=2, classes=3)
        arrays = self.exported("shapes", "--count", 5, "--size", 16, "--seed", 2, "classes=3")
        self.assertEqual(sorted(names), sorted(arrays))
        self.assertEqual((self.folder / "python.npz").read_bytes(), (self.folder / "samples.npz").read_bytes())

    def test_export_raises_the_errors_of_the_package(self):
        file = self.folder / "refused.npz"
        for kind, words, call in (
            (ws.ConfigError, "classes", lambda: ws.export("shapes", file, count=2, clases=3)),
            (ws.ConfigError, "shapes", lambda: ws.export("shaps", file, count=2)),
            (ws.ConfigError, "'classes'.*overrides", lambda: ws.export(CONFIG, file, count=2, classes=3)),
            (ws.ConfigError, "extension", lambda: ws.export("shapes", self.folder / "x.foo", count=2)),
            (ws.Error, "cannot create", lambda: ws.export("shapes", self.folder / "none" / "x.npz", count=2)),
            (TypeError, "out must be a path", lambda: ws.export("shapes", 3, count=2)),
        ):
            with self.subTest(words), self.assertRaisesRegex(kind, "(?s)" + words):
                call()
        self.assertFalse(file.exists())

    def test_export_reads_configurations(self):
        ws.export(CONFIG, self.folder / "held_out.npz", split="eval")
        with np.load(self.folder / "held_out.npz") as arrays:
            self.assertEqual(arrays["x"].shape, (64, 16, 16, 3))
        with self.assertRaisesRegex(ws.ConfigError, "config.yaml"):
            ws.export(self.file, self.file, count=3)

    def test_names_of_arguments_are_parameters_and_keys_in_params(self):
        file = self.folder / "read.npz"
        ws.export("ginkgo", file, count=2, params={"output": "image", "pixels": 9})
        with np.load(file) as arrays:
            self.assertEqual(arrays["x"].shape[1:3], (9, 9))
            np.savez(self.folder / "planar.npz", x=np.zeros((4, 1, 3, 3), np.uint8))
        ws.export(self.folder / "planar.npz", file, params={"channels": "first", "layout": "columns"})
        with np.load(file) as arrays:
            self.assertEqual(arrays["x"].shape[:3], (4, 3, 3))
        for split, count in (("train", 3), ("val", 2)):
            for name in range(count):
                path = self.folder / "photos" / split / "shape" / f"{name}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                ws.preview("shapes", count=1, first=name, size=16).save(path)
        (source,) = ws.stats(self.folder / "photos", params={"split": "val"})["sources"]
        self.assertEqual(source["samples"], 2)
        for words, arguments in (("pixels", {"pixels": 9}), ("channels", {"channels": "auto"}), ("layout", {"layout": "auto"})):
            with self.assertRaisesRegex(ws.ConfigError, f"(?s){words} = .*unknown.*params={{'{words}': "):
                ws.export("ginkgo", file, count=2, **arguments)

    def test_overrides_may_name_the_device(self):
        same = ws.preview(CONFIG, count=4).png
        self.assertEqual(ws.preview(CONFIG, count=4, overrides=["device=cpu"]).png, same)
        self.assertEqual(ws.preview(CONFIG, count=4, device="cpu", overrides="device=cpu").png, same)

    def test_preview_is_a_png_file(self):
        picture = ws.preview("shapes", count=4, size=16)
        self.assertEqual(picture._repr_png_(), picture.png)
        run("preview", "shapes", "--count", "4", "--size", "16", "--out", str(self.folder / "program.png"))
        picture.save(self.folder / "python.png")
        self.assertEqual((self.folder / "python.png").read_bytes(), (self.folder / "program.png").read_bytes())
        self.assertEqual(ws.preview(CONFIG, count=4).png[:4], b"\x89PNG")

    @unittest.skipIf("libasan" in os.environ.get("LD_PRELOAD", ""), "Pillow is not sanitized")
    def test_a_preview_is_an_image_of_pillow(self):
        with mock.patch.dict(sys.modules, {"PIL": None}), self.assertRaisesRegex(ImportError, "pip install Pillow"):
            ws.preview("shapes", count=4, size=16).image()
        if importlib.util.find_spec("PIL") is None:
            self.skipTest("Pillow is missing")
        image = ws.preview("shapes", count=4, size=16).image()
        self.assertEqual((image.format, image.mode), ("PNG", "RGB"))
        self.assertGreater(np.asarray(image).std(), 10)

    def test_the_gallery_shows_generators(self):
        example = pathlib.Path(os.environ["WELLSPRING_SOURCE"], "python/examples/gallery.py")
        page = self.folder / "gallery.html"
        subprocess.run([sys.executable, str(example), str(page), "shapes", "gaussian_linear", "tracks"], check=True)
        self.assertEqual(page.read_text().count("data:image/png;base64,iVBOR"), 3)

    def test_refuse_wrong_arguments(self):
        out = self.folder / "x.npz"
        for words, call in (
            ("shaps", lambda: ws.export("shaps", out, count=1)),
            ("count missing", lambda: ws.export("shapes", out)),
            ("pixels u8", lambda: ws.export("shapes", out, count=1, pixels="i8")),
            ("split eval", lambda: ws.export(CONFIG, out, count=1, split="test")),
            ("x.txt", lambda: ws.export("shapes", self.folder / "x.txt", count=1)),
            ("split shapes", lambda: ws.preview("shapes", split="eval")),
        ):
            with self.subTest(words), self.assertRaises(ws.ConfigError) as caught:
                call()
            for word in words.split():
                self.assertIn(word, str(caught.exception))
        self.assertRaisesRegex(ws.ConfigError, "unknown argument 'classes'", ws.preview, CONFIG, classes=3)


if __name__ == "__main__":
    unittest.main()
