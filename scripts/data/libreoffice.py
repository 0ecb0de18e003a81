#!/usr/bin/env python3
"""LibreOffice's help as pairs of paragraphs: another language -> English.

Debian packages the help page by page in many languages, and a paragraph keeps its id in all of them: so a pair is a
translated paragraph and the English paragraph of the same page and id. Packages are downloaded into a private folder
and read from there; nothing is installed.

Pages are split by sha256 of their path: one in ten is held out. A test pair is a held-out paragraph of 40-300 English
characters whose English text occurs on no training page (help repeats itself: a quarter would leak otherwise), at most
1,000 a language. Written: train.jsonl, test.<language>.jsonl and corpus.json, which names version and languages; what
is there for the same languages is reused.

Exit code 3: there is no network, so no corpus; the committed sample, scripts/data/sample, takes its place.
"""
import argparse
import hashlib
import html
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import urllib.parse

LANGUAGES = ("de", "fr", "es", "it", "pl", "ru", "ja", "zh-cn", "ko", "tr", "cs", "el")
FORMAT = 1  # raised whenever the same packages would give other files
NO_NETWORK = 3
TESTS_PER_LANGUAGE = 1000

# Neither element nests in itself, so the first closing tag is the right one. Ids of these kinds come from the source
# of the help; others are numbered while a page is rendered and need not agree between languages.
PARAGRAPH = re.compile(
    r'<(?P<tag>p|h[1-6])(?=\s)[^>]*?\sid="(?P<id>(?:par|hd|bm)_[^"]*|tit[^"]*)"[^>]*>(?P<body>.*?)</(?P=tag)>', re.S)
PAGE = re.compile(r"/share/libreoffice/help/[^/]+/text/(?P<path>.+\.html)$")
SCRIPTED = re.compile(r"<(script|style)\b.*?</\1>", re.S)


class Unreachable(Exception):
    """Packages can be neither found nor downloaded here."""


def apt_get(*arguments, folder):
    """Runs apt-get in a folder; returns its last complaint, or an empty string."""
    options = ["-qq", "-o", "Acquire::Retries=2", "-o", "Acquire::http::Timeout=20", "-o", "Acquire::https::Timeout=20"]
    command = ["apt-get", *options, *arguments]
    if os.geteuid() == 0:
        command[1:1] = ["-o", "APT::Sandbox::User=root"]  # the folder is ours, the sandbox user could not write into it
    elif arguments[0] == "update":
        command.insert(0, "sudo")
    try:
        done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    except FileNotFoundError as error:
        return f"{error.filename} is not installed"
    if done.returncode == 0:
        return ""
    complaints = [line for line in done.stderr.splitlines() if line.startswith("E:")] or done.stderr.splitlines()
    return complaints[-1].strip() if complaints else f"apt-get ended with code {done.returncode}"


def cached_package(cache, language):
    found = sorted(cache.glob(f"libreoffice-help-{language}_*.deb"))
    return found[-1] if found else None


def package_version(path):
    return urllib.parse.unquote(path.name.split("_")[1])


def fetch_packages(cache, languages):
    """Brings what is missing into the cache; returns {language: path}."""
    cache.mkdir(parents=True, exist_ok=True)
    missing = [language for language in languages if not cached_package(cache, language)]
    if missing:
        names = [f"libreoffice-help-{language}" for language in missing]
        print(f"libreoffice: downloading {len(names)} packages of about 3 MB each", flush=True)
        with tempfile.TemporaryDirectory(dir=cache) as incoming:  # a download cut short never looks like a package
            if apt_get("download", *names, folder=incoming):
                apt_get("update", folder=incoming)  # lists may be missing, or too old to name what the mirror still has
                complaint = apt_get("download", *names, folder=incoming)
                if complaint:
                    raise Unreachable(complaint)
            for package in pathlib.Path(incoming).glob("*.deb"):
                package.replace(cache / package.name)
    packages = {language: cached_package(cache, language) for language in languages}
    absent = [language for language, path in packages.items() if path is None]
    if absent:
        raise Unreachable(f"apt brought no package for {' '.join(absent)}")
    return packages


def paragraphs_of(page):
    """{id: text} of one page's content, in order, without menus, footers and empty paragraphs."""
    start, end = page.find('id="DisplayArea"'), page.find('<div id="DonationFrame"')
    content = page[max(start, 0):end if end > 0 else len(page)]
    paragraphs = {}
    for match in PARAGRAPH.finditer(content):
        bare = re.sub(r"<[^>]*>", "", SCRIPTED.sub(" ", match["body"]))
        text = " ".join(html.unescape(bare).split())
        if text:
            paragraphs.setdefault(match["id"], text)
    return paragraphs


def read_package(path):
    """{page path: {id: text}} of a package, read as it unpacks: its thousands of files never touch the disk."""
    pages = {}
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", path], stdout=subprocess.PIPE) as deb:
        with tarfile.open(fileobj=deb.stdout, mode="r|") as files:
            for entry in files:
                page = PAGE.search(entry.name)
                if entry.isfile() and page:
                    text = files.extractfile(entry).read().decode("utf-8", errors="replace")
                    pages[page["path"]] = paragraphs_of(text)
    if deb.returncode or not pages:
        raise OSError(f"{path} does not unpack into pages; delete it to download it again")
    return pages


def page_hash(path):
    return hashlib.sha256(path.encode()).hexdigest()


def is_untranslated(query, document):
    """The same but for spaces, which renderings place differently around marked-up words."""
    return "".join(query.split()) == "".join(document.split())


def is_held_out(path):
    return int(page_hash(path)[:8], 16) % 10 == 0


class Corpus:
    """The English side, and the pairs each language adds to it.

    Pages are visited in the order of their hash, never of the file system, so that files are the same everywhere and
    the first thousand test pairs of a language come from all of the help.
    """

    def __init__(self, english):
        self.english = english
        self.order = sorted(english, key=page_hash)
        self.groups = {}  # English text -> id
        for path in self.order:
            for text in english[path].values():
                self.groups.setdefault(text, len(self.groups))
        self.trained = {text for path in self.order if not is_held_out(path) for text in english[path].values()}

    def pairs(self, language, pages):
        """(training, test) pairs of one language, as records."""
        training, test = {}, {}
        for path in self.order:
            held_out = is_held_out(path)
            for identity, query in pages.get(path, {}).items():
                document = self.english[path].get(identity)
                if document is None or is_untranslated(query, document):
                    continue
                if not held_out and len(document) >= 12:
                    training[query, document] = None
                elif held_out and 40 <= len(document) <= 300 and document not in self.trained:
                    test.setdefault(document, query)
        test = list(test.items())[:TESTS_PER_LANGUAGE]
        return ([self.record(language, *pair) for pair in training],
                [self.record(language, query, document) for document, query in test])

    def record(self, language, query, document):
        return {"query": query, "document": document, "lang": language, "group": self.groups[document]}


def shuffled(records):
    """An order that looks random, is the same everywhere, and stays when languages are added or taken away."""
    return sorted(records, key=lambda r: hashlib.sha256(
        "\0".join((r["lang"], r["query"], r["document"])).encode()).digest())


def write_whole(path, text):
    """Writes beside, then renames: a reader sees the old file or the new one."""
    beside = path.with_name(path.name + ".tmp")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)


def write_records(path, records):
    write_whole(path, "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records))


def is_built(output, languages):
    try:
        stamp = json.loads((output / "corpus.json").read_text(encoding="utf-8"))
        files = [output / "train.jsonl", *(output / f"test.{language}.jsonl" for language in languages)]
        return stamp["format"] == FORMAT and stamp["languages"] == list(languages) and all(f.exists() for f in files)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def build(output, cache, languages):
    packages = fetch_packages(cache, ("en-us", *languages))
    output.mkdir(parents=True, exist_ok=True)
    (output / "corpus.json").unlink(missing_ok=True)  # from here until its rewrite the folder is not a corpus
    for stale in output.glob("test.*.jsonl"):
        stale.unlink()
    corpus = Corpus(read_package(packages["en-us"]))
    training, counts = {}, {}
    for language in languages:
        more, test = corpus.pairs(language, read_package(packages[language]))
        for record in more:  # a paragraph two languages translate alike counts once, as the first one's
            training.setdefault((record["query"], record["document"]), record)
        write_records(output / f"test.{language}.jsonl", test)
        counts[language] = {"train": len(more), "test": len(test)}
        print(f"libreoffice: {language:5} {len(more):6} pairs to train, {len(test):4} to test", flush=True)
    write_records(output / "train.jsonl", shuffled(training.values()))
    stamp = {"source": "libreoffice-help", "version": package_version(packages["en-us"]), "format": FORMAT,
             "languages": list(languages), "train": len(training), "pairs": counts}
    write_whole(output / "corpus.json", json.dumps(stamp, indent=1) + "\n")
    print(f"libreoffice: {len(training)} distinct pairs in {os.path.relpath(output)}")


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--languages", nargs="+", default=LANGUAGES, metavar="LANG",
                        help=f"as Debian's package names end (default: {' '.join(LANGUAGES)})")
    parser.add_argument("--output", type=pathlib.Path, default=root / "build/data/libreoffice", metavar="DIR")
    parser.add_argument("--cache", type=pathlib.Path, default=root / "build/data/packages", metavar="DIR",
                        help="where downloaded packages are kept")
    options = parser.parse_args()
    languages = tuple(dict.fromkeys(options.languages))
    if is_built(options.output, languages):
        print(f"libreoffice: {os.path.relpath(options.output)} is there already")
        return 0
    try:
        build(options.output, options.cache, languages)
    except Unreachable as reason:
        print(f"libreoffice: the help cannot be downloaded here ({reason}); use the sample in scripts/data/sample",
              file=sys.stderr)
        return NO_NETWORK
    except (OSError, tarfile.TarError) as error:
        print(f"libreoffice: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
