#!/usr/bin/env python3
"""What scripts/quickstart.sh does once the system's packages are there: build, corpus, search, train, report.

The model that ships answers first: recall on held-out paragraphs of every language beside lexical search on the same
queries, then three sample questions. A fresh model of the same size is trained last, and judged the same way.
"""
import argparse
import array
import ast
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts/data"))
import baselines  # noqa: E402 (found through the line above)
import libreoffice  # noqa: E402

BINARIES = ROOT / "build/release/bin"
CORPUS = ROOT / "build/data/libreoffice"
SAMPLE = ROOT / "scripts/data/sample"
OUTPUT = ROOT / "build/quickstart"
SHIPPED = ROOT / "models/nano-text.safetensors"
EVALUATION_BYTES = 192

NAMES = {"de": "German", "fr": "French", "es": "Spanish", "it": "Italian", "pl": "Polish", "ru": "Russian",
         "ja": "Japanese", "zh-cn": "Chinese", "ko": "Korean", "tr": "Turkish", "cs": "Czech", "el": "Greek"}
METHODS = {"uform": "uform, as it ships", "fresh": "uform, trained just now", "bm25": "BM25",
           "tfidf": "character TF-IDF", "random": "random"}
SHOWN = ("recall@1", "recall@10")
QUESTIONS = (("Wie kann ich alle manuellen Umbrüche in einer Tabelle löschen?",
              "German: how can I delete all manual breaks in a sheet?"),
             ("シートを別のドキュメントにコピーするには？", "Japanese: how do I copy a sheet to another document?"),
             ("Как вставить номер страницы?", "Russian: how do I insert a page number?"))


class Failure(Exception):
    """One line that says what went wrong and where."""


def run(*command, **options):
    command = [str(part) for part in command]
    try:
        return subprocess.run(command, cwd=ROOT, check=True, stdin=subprocess.DEVNULL, **options)
    except FileNotFoundError:
        raise Failure(f"{command[0]} is not there") from None
    except subprocess.CalledProcessError as error:
        raise Failure(f"{pathlib.Path(command[0]).name} ended with code {error.returncode}") from None


def say(title):
    print(f"\n== {title}", flush=True)


def build_tools():
    """Only the programs used here: tests and benches take longer to build than everything else."""
    log = OUTPUT / "configure.log"
    try:
        with log.open("w") as out:
            run("cmake", "--preset", "release", stdout=out, stderr=subprocess.STDOUT)
    except Failure as failure:
        raise Failure(f"{failure}; see {log.relative_to(ROOT)}") from None
    run("cmake", "--build", "--preset", "release", "--target", "uform_base", "uform_encode", "uform_eval")


def take_corpus():
    """({language: file of held-out pairs}, mixture): the whole help, or the committed sample without a network."""
    script = ROOT / "scripts/data/libreoffice.py"
    code = subprocess.run([sys.executable, script, "--output", CORPUS], cwd=ROOT, stdin=subprocess.DEVNULL).returncode
    if code == libreoffice.NO_NETWORK:
        print("No network: the committed sample it is, German -> English.")
        return {"de": SAMPLE / "test.jsonl"}, ROOT / "scripts/mixtures/sample_bitext.json"
    if code:
        raise Failure(f"libreoffice.py ended with code {code}")
    tests = {language: CORPUS / f"test.{language}.jsonl" for language in libreoffice.LANGUAGES}
    return tests, ROOT / "scripts/mixtures/libreoffice_quickstart.json"


def shown(figures):
    return {name: figures[name] for name in SHOWN}


def judge(checkpoint, tests):
    """{language: recall} of a checkpoint, query -> document."""
    recall = {}
    for language, pairs in tests.items():
        answer = run(BINARIES / "uform_eval", checkpoint, "--pairs", pairs, "--bytes", EVALUATION_BYTES, "--json",
                     stdout=subprocess.PIPE).stdout
        try:
            recall[language] = shown(json.loads(answer)["forward"])
        except (ValueError, KeyError):
            raise Failure(f"uform_eval gave no figures for {pairs}") from None
    return recall


def lexical(tests):
    cache = OUTPUT / "baselines.json"
    found = {language: baselines.evaluate_cached(pairs, cache) for language, pairs in tests.items()}
    return {method: {language: shown(figures[method]) for language, figures in found.items()}
            for method in ("bm25", "tfidf", "random")}


def print_tables(tests, recalls, trained_on):
    for language, pairs in tests.items():
        with pairs.open(encoding="utf-8") as lines:
            count = sum(1 for _ in lines)
        print(f"\n{NAMES[language]} -> English, {count} held-out paragraphs".ljust(52) + "R@1    R@10")
        for method, title in METHODS.items():
            if method in recalls:
                figures = recalls[method][language]
                unseen = method == "fresh" and language not in trained_on
                print(f"  {title:46}" + "".join(f"{figures[name]:7.3f}" for name in SHOWN)
                      + ("   (not a language it was trained on)" if unseen else ""))
    sys.stdout.flush()


def write_report(tests, recalls):
    report = {language: {method: recalls[method][language] for method in METHODS if method in recalls}
              for language in tests}
    libreoffice.write_whole(OUTPUT / "report.json", json.dumps(report, indent=1) + "\n")


def read_npy(path):
    """Rows of a float32 .npy file, as NumPy's format description has it: magic, version, header's length, header."""
    data = path.read_bytes()
    if data[:6] != b"\x93NUMPY":
        raise Failure(f"{path} is not an .npy file")
    start = 10 if data[6] == 1 else 12
    end = start + int.from_bytes(data[8:start], "little")
    header = ast.literal_eval(data[start:end].decode("latin-1").strip())
    if header["descr"] != "<f4" or header["fortran_order"] or len(header["shape"]) != 2:
        raise Failure(f"{path} does not hold rows of float32")
    values = array.array("f", data[end:])
    if sys.byteorder == "big":
        values.byteswap()
    count, width = header["shape"]
    return [values[row * width:(row + 1) * width] for row in range(count)]


def encode(texts, side):
    lines, rows = OUTPUT / f"{side}.txt", OUTPUT / f"{side}.npy"
    lines.write_text("".join(text + "\n" for text in texts), encoding="utf-8")
    run(BINARIES / "uform_encode", SHIPPED, "--input", lines, "--format", "lines", "--output", rows,
        "--output-format", "npy", "--as", side, "--bytes", EVALUATION_BYTES)
    return read_npy(rows)


def search(tests):
    """Three questions over all held-out English paragraphs, in a language none of them is written in."""
    pool = list(dict.fromkeys(document for pairs in tests.values() for document in baselines.read_pairs(pairs)[1]))
    documents, questions = encode(pool, "document"), encode([question for question, _ in QUESTIONS], "query")
    for (question, meaning), query in zip(QUESTIONS, questions):
        scores = [sum(a * b for a, b in zip(query, document)) for document in documents]
        print(f"\n{question}\n({meaning})")
        for index in sorted(range(len(pool)), key=scores.__getitem__, reverse=True)[:3]:
            text = pool[index] if len(pool[index]) <= 160 else pool[index][:157] + "..."
            print(f"  {scores[index]:.2f}  {text}")
    sys.stdout.flush()


def languages_of(mixture):
    sources = json.loads(mixture.read_text(encoding="utf-8"))["sources"]
    return {language for source in sources for language in source.get("filter", {}).get("lang", ["de"])}


def train(mixture, minutes):
    """A fresh checkpoint; reused only where the same training ended well, never one that was interrupted."""
    checkpoint, stamp = OUTPUT / "fresh.safetensors", OUTPUT / "fresh.json"
    wanted = json.dumps({"mixture": mixture.name, "minutes": minutes})
    if checkpoint.exists() and stamp.exists() and stamp.read_text() == wanted:
        print(f"{checkpoint.relative_to(ROOT)} is there already; delete it to train again")
        return checkpoint
    stamp.unlink(missing_ok=True)
    run(BINARIES / "uform_base", "--hidden", 128, "--depth", 4, "--mixture", mixture, "--minutes", f"{minutes:g}",
        "--output", checkpoint, "--log", OUTPUT / "run.jsonl")
    stamp.write_text(wanted)
    return checkpoint


def duration(text):
    minutes = float(text)
    if not 0 < minutes < 24 * 60:
        raise argparse.ArgumentTypeError("minutes must be above 0 and under a day")
    return minutes


def main():
    parser = argparse.ArgumentParser(prog="quickstart.sh", description="Search across languages, from a clone.")
    parser.add_argument("--no-train", action="store_true", help="leave out training a fresh model")
    parser.add_argument("--minutes", type=duration, default=3.0, metavar="N", help="how long to train it (default 3)")
    options = parser.parse_args()

    OUTPUT.mkdir(parents=True, exist_ok=True)
    if not SHIPPED.exists():
        raise Failure(f"{SHIPPED.relative_to(ROOT)} is not there; is the clone complete?")
    say("Building")
    build_tools()
    say("Corpus: the help of LibreOffice")
    tests, mixture = take_corpus()

    say(f"Held-out paragraphs, encoded by {SHIPPED.relative_to(ROOT)}")
    recalls = {"uform": judge(SHIPPED, tests)} | lexical(tests)
    print_tables(tests, recalls, set())
    write_report(tests, recalls)
    say("Three questions; English paragraphs found")
    search(tests)

    if not options.no_train:
        say(f"Training a fresh model for {options.minutes:g} minutes")
        recalls["fresh"] = judge(train(mixture, options.minutes), tests)
        print_tables(tests, recalls, languages_of(mixture))
        write_report(tests, recalls)
    print(f"\nFigures: {(OUTPUT / 'report.json').relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Failure, OSError, ValueError) as error:
        print(f"quickstart: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("quickstart: interrupted", file=sys.stderr)
        sys.exit(130)
