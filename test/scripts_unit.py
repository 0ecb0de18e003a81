#!/usr/bin/env python3
"""Scripts against answers worked out by hand: the corpus's rules, the baselines' figures, the house's, the sample's."""
import array
import json
import pathlib
import struct
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "scripts/data")]
sys.dont_write_bytecode = True
import baselines  # noqa: E402
import check_includes  # noqa: E402
import libreoffice  # noqa: E402
import quickstart  # noqa: E402

PAGE = """<p id="par_menu">menu</p><div id="DisplayArea"><h1 id="hd_id1" dir="auto">Save <a href="x">As</a></h1>
<p id="par_id2" class="paragraph">Tom &amp;
 Jerry<script>alert(1)</script></p><p id="par_id3"> &nbsp; </p><p id="par_id2">again</p><p id="N0091">numbered</p>
<p class="paragraph">without id</p><div id="DonationFrame"><p id="par_id9">donate</p>"""


def read(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def page_where(held_out):
    return next(name for name in (f"{n}.html" for n in range(1000)) if libreoffice.is_held_out(name) == held_out)


class Corpus(unittest.TestCase):
    def test_paragraphs_are_text_of_the_content(self):
        self.assertEqual(libreoffice.paragraphs_of(PAGE), {"hd_id1": "Save As", "par_id2": "Tom & Jerry"})

    def test_split_is_the_first_eight_digits_of_the_hash(self):
        # sha256 of "a" begins ca978112, of "d" 18ac3e73: 3398926610 and 413941363
        self.assertTrue(libreoffice.is_held_out("a"))
        self.assertFalse(libreoffice.is_held_out("d"))

    def test_held_out_pairs_repeat_no_training_page(self):
        leaked = "This sentence stands on a page to train on, too."
        kept = "This sentence stands on a page held out, and nowhere else."
        trained, held = page_where(False), page_where(True)
        english = {trained: {"a": leaked, "b": "Twelve chars"},
                   held: {"a": leaked, "b": kept, "c": "Short", "d": kept + " untranslated"}}
        german = {trained: {"a": "Satz", "b": "Zwölf Zeichen"},
                  held: {"a": "Satz", "b": "Gehalten", "c": "Kurz", "d": kept + "untranslated", "e": "Ohne Gegenstück"}}
        training, test = libreoffice.Corpus(english).pairs("de", german)
        self.assertEqual([(r["query"], r["document"]) for r in training],
                         [("Satz", leaked), ("Zwölf Zeichen", "Twelve chars")])
        self.assertEqual([(r["query"], r["document"], r["lang"]) for r in test], [("Gehalten", kept, "de")])
        self.assertEqual(len({r["group"] for r in training + test}), 3)

    def test_order_is_kept_when_a_language_is_taken_away(self):
        records = [{"query": str(n), "document": "d", "lang": "de" if n % 2 else "fr"} for n in range(100)]
        mixed = libreoffice.shuffled(records)
        self.assertNotEqual(mixed, records)
        german = [record for record in records if record["lang"] == "de"]
        self.assertEqual([record for record in mixed if record["lang"] == "de"], libreoffice.shuffled(german))


class Baselines(unittest.TestCase):
    def test_ties_share_the_mean_rank(self):
        self.assertEqual(baselines.expected_rank([1.0, 3.0, 3.0, 2.0], 1), 1.5)
        self.assertEqual(baselines.expected_rank([0.0] * 5, 2), 3)
        self.assertEqual(baselines.expected_rank([9.0, 1.0], 1), 2)

    def test_bm25_of_two_documents(self):
        # "b" is in one of two: ln(1 + 1.5 / 1.5) = ln 2; that document is as long as the mean: ln 2 * 2.2 / (1 + 1.2)
        index = baselines.bm25_index(["a b", "a c"])
        self.assertEqual([d for d, _ in index["b"]], [0])
        self.assertAlmostEqual(index["b"][0][1], 0.6931471805599453)

    def test_grams_run_over_words_and_edges(self):
        self.assertEqual(baselines.character_grams("Ab"), [" ab", "ab ", " ab "])

    def test_figures(self):
        found = baselines.figures([1, 2, 20, 1.5])
        self.assertEqual(found, {"recall@1": 0.25, "recall@5": 0.75, "recall@10": 0.75,
                                 "mrr": (1 + 1 / 2 + 1 / 20 + 2 / 3) / 4})
        self.assertEqual(baselines.chance(4), {"recall@1": 0.25, "recall@5": 1, "recall@10": 1,
                                               "mrr": (1 + 1 / 2 + 1 / 3 + 1 / 4) / 4})

    def test_cache_answers_until_the_file_changes(self):
        with tempfile.TemporaryDirectory() as folder:
            pairs, cache = pathlib.Path(folder, "test.de.jsonl"), pathlib.Path(folder, "cache.json")
            pairs.write_text('{"query": "red", "document": "red fox"}\n{"query": "cow", "document": "old cow"}\n')
            first = baselines.evaluate_cached(pairs, cache)
            self.assertEqual(first["bm25"]["recall@1"], 1)
            known = json.loads(cache.read_text())
            cache.write_text(json.dumps({key: "kept" for key in known}))
            self.assertEqual(baselines.evaluate_cached(pairs, cache), "kept")
            pairs.write_text(pairs.read_text().replace("red fox", "blue fox"))
            self.assertLess(baselines.evaluate_cached(pairs, cache)["bm25"]["recall@1"], 1)


class Sample(unittest.TestCase):
    def test_sizes_fields_and_no_leak(self):
        training, test = (read(ROOT / f"scripts/data/sample/{part}.jsonl") for part in ("train", "test"))
        self.assertEqual((len(training), len(test)), (3500, 500))
        for record in training + test:
            self.assertEqual(list(record), ["query", "document", "lang", "group"])
        documents = {record["document"] for record in test}
        self.assertEqual(len(documents), 500)
        self.assertFalse(documents & {record["document"] for record in training})
        self.assertTrue(all(40 <= len(document) <= 300 for document in documents))

    def test_mixtures_find_the_sample_and_share_one_recipe(self):
        mixtures = {file.stem: json.loads(file.read_text())
                    for file in (ROOT / "scripts/mixtures").glob("*_bitext.json")}
        sample = mixtures["sample_bitext"]
        for path in (sample["sources"][0]["path"], sample["validation"]["path"]):
            self.assertTrue((ROOT / "scripts/mixtures" / path).is_file(), path)
        recipes = [{key: value for key, value in mixture.items() if key not in {"name", "sources", "validation"}}
                   for mixture in mixtures.values()]
        self.assertTrue(all(recipe == recipes[0] for recipe in recipes))
        self.assertEqual(mixtures["libreoffice_bitext"]["sources"][0]["filter"]["lang"], list(libreoffice.LANGUAGES))


class HouseRules(unittest.TestCase):
    def complaints(self, path, text, others=()):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder).resolve()
            for name in (path, *others):
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text if name == path else "")
            return list(check_includes.complaints(pathlib.Path(path), root))

    def refuses(self, path, text, *others):
        self.assertEqual(len(self.complaints(path, text, others)), 1, (path, text))

    def allows(self, path, text, *others):
        self.assertEqual(self.complaints(path, text, others), [])

    def test_rooms(self):
        media, tower, lane = (f"include/uform/{name}.hpp" for name in ("media/jpeg", "encoder/tower", "utilities/lane"))
        self.refuses("include/uform/train/loss.hpp", "#include <uform/media/jpeg.hpp>", media)
        self.refuses("src/utilities/arena.cpp", "#include <uform/encoder/tower.hpp>", tower)
        self.refuses("include/uform/encoder/pool.hpp", '#include "../media/jpeg.hpp"', media)
        self.refuses("python/module.cpp", "#include <uform/encoder/tower.hpp>", tower)
        self.refuses("src/encoder/tower.cpp", "#include <uform/model.h>", "c/uform/model.h")
        self.allows("src/encoder/tower.cpp", "#include <uform/types.h>\n#include <uform/utilities/lane.hpp>",
                    "c/uform/types.h", lane)
        self.allows("src/train.cpp", "#include <uform/media/jpeg.hpp>\n#include <uform/encoder/tower.hpp>",
                    media, tower)

    def test_vendors_stay_out_of_headers(self):
        for header in ("turbojpeg.h", "libavcodec/avcodec.h", "cuda_runtime.h"):
            self.refuses("include/uform/media/jpeg.hpp", f"#include <{header}>")
            self.allows("src/media/jpeg.cpp", f"#include <{header}>")

    def test_engine_neither_prints_nor_ends(self):
        for call in ("std::abort()", "exit(1)", "std::fprintf(stderr, x)", "puts(x)", "fmt::print(x)",
                     "std::cerr << x"):
            self.refuses("src/encoder/x.cpp", f"void f() {{ {call}; }}")
        self.allows("src/encoder/x.cpp", '// abort()\n/* exit(1) */ int f() { return vsnprintf(b, 9, "puts(%s)", l); }')
        self.allows("tools/x.cpp", "void f() { std::exit(1); }")

    def test_c_linkage_and_length(self):
        self.refuses("src/encoder/x.cpp", 'extern "C" void f();')
        self.allows("src/train.cpp", 'extern "C" void f();')
        self.allows("src/media/x.cpp", 'extern "C" {\n#include <libavutil/log.h>\n}')
        self.refuses("src/media/x.cpp", 'extern "C" {\n#include <libavutil/log.h>\nvoid f();\n}')
        self.refuses("test/x.cpp", "\n" * 801)
        self.allows("test/x.cpp", "\n" * 800)


class Quickstart(unittest.TestCase):
    def test_reads_rows_of_an_npy_file(self):
        header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }".ljust(117) + b"\n"
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "rows.npy")
            file.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header
                             + struct.pack("<6f", *range(6)))
            self.assertEqual(quickstart.read_npy(file), [array.array("f", [0, 1, 2]), array.array("f", [3, 4, 5])])
            file.write_bytes(b"not one")
            self.assertRaises(quickstart.Failure, quickstart.read_npy, file)


if __name__ == "__main__":
    unittest.main()
