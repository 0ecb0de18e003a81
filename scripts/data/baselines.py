#!/usr/bin/env python3
"""What search without a model finds: BM25, character n-gram TF-IDF, and chance.

For each file of pairs, every query is searched in the pool of distinct documents, and the rank of its own document
gives Recall@1, @5, @10 and the mean reciprocal rank; documents that tie count at their expected rank. Prints JSON:
{"de": {"bm25": {"recall@1": ...}, "tfidf": ..., "random": ...}}, the key being the file's name without test. and
.jsonl. Figures are kept in --cache under the hash of file and script, so that only what changed is computed again.
"""
import argparse
import collections
import hashlib
import json
import math
import pathlib
import re
import sys

CUTOFFS = (1, 5, 10)


def read_pairs(path):
    """(queries, pool of distinct documents, index of each query's document)."""
    queries, pool, gold = [], {}, []
    with path.open(encoding="utf-8") as lines:
        for record in map(json.loads, lines):
            queries.append(record["query"])
            gold.append(pool.setdefault(record["document"], len(pool)))
    return queries, list(pool), gold


def words(text):
    return re.findall(r"\w+", text.lower())


def character_grams(text):
    padded = f" {' '.join(text.lower().split())} "
    return [padded[i:i + size] for size in (3, 4, 5) for i in range(len(padded) - size + 1)]


def postings_of(counts):
    """{term: [(document, how often)]}."""
    postings = collections.defaultdict(list)
    for document, terms in enumerate(counts):
        for term, frequency in terms.items():
            postings[term].append((document, frequency))
    return postings


def bm25_index(documents, saturation=1.2, length_weight=0.75):
    """{term: [(document, what one occurrence in the query adds)]}."""
    counts = [collections.Counter(words(document)) for document in documents]
    lengths = [sum(terms.values()) for terms in counts]
    mean = (sum(lengths) / len(lengths)) or 1
    floors = [saturation * (1 - length_weight + length_weight * length / mean) for length in lengths]
    index = {}
    for term, postings in postings_of(counts).items():
        rarity = math.log(1 + (len(documents) - len(postings) + 0.5) / (len(postings) + 0.5))
        index[term] = [(d, rarity * f * (saturation + 1) / (f + floors[d])) for d, f in postings]
    return index


def tfidf_index(documents):
    """The same for the cosine of (1 + log frequency) * inverse document frequency; a query's length changes no rank."""
    counts = [collections.Counter(character_grams(document)) for document in documents]
    postings = postings_of(counts)
    rarity = {term: math.log((1 + len(documents)) / (1 + len(found))) + 1 for term, found in postings.items()}
    norms = [math.sqrt(sum(((1 + math.log(f)) * rarity[t]) ** 2 for t, f in terms.items())) or 1 for terms in counts]
    return {term: [(d, rarity[term] ** 2 * (1 + math.log(f)) / norms[d]) for d, f in found]
            for term, found in postings.items()}


def expected_rank(scores, own):
    """1 for the best; documents with the same score share the mean of the ranks they fill."""
    better = sum(score > scores[own] for score in scores)
    tied = sum(score == scores[own] for score in scores) - 1
    return 1 + better + tied / 2


def rank_all(queries, gold, index, terms_of, weigh, pool_size):
    ranks = []
    for query, own in zip(queries, gold):
        scores = [0.0] * pool_size
        for term, frequency in collections.Counter(terms_of(query)).items():
            weight = weigh(frequency)
            for document, score in index.get(term, ()):
                scores[document] += weight * score
        ranks.append(expected_rank(scores, own))
    return ranks


def figures(ranks):
    found = {f"recall@{k}": sum(rank <= k for rank in ranks) / len(ranks) for k in CUTOFFS}
    return found | {"mrr": sum(1 / rank for rank in ranks) / len(ranks)}


def chance(pool_size):
    found = {f"recall@{k}": min(1, k / pool_size) for k in CUTOFFS}
    return found | {"mrr": sum(1 / rank for rank in range(1, pool_size + 1)) / pool_size}


def evaluate(path):
    queries, pool, gold = read_pairs(path)
    if not queries:
        raise ValueError(f"{path} holds no pairs")
    size = len(pool)
    lexical = rank_all(queries, gold, bm25_index(pool), words, float, size)
    spelled = rank_all(queries, gold, tfidf_index(pool), character_grams, lambda f: 1 + math.log(f), size)
    return {"bm25": figures(lexical), "tfidf": figures(spelled), "random": chance(size)}


def evaluate_cached(path, cache):
    """As evaluate(), through a JSON file of earlier answers; cache may be None."""
    key = hashlib.sha256(path.read_bytes() + pathlib.Path(__file__).read_bytes()).hexdigest()
    try:
        known = json.loads(cache.read_text(encoding="utf-8")) if cache else {}
    except (OSError, ValueError):
        known = {}  # none yet, or cut short: it is only a cache
    if key not in known:
        known[key] = evaluate(path)
        if cache:
            beside = cache.with_name(cache.name + ".tmp")
            beside.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
            beside.replace(cache)
    return known[key]


def name_of(path):
    return path.name.removesuffix(".jsonl").removeprefix("test.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=pathlib.Path, metavar="FILE.jsonl")
    parser.add_argument("--cache", type=pathlib.Path, metavar="FILE", help="JSON file of figures to reuse and add to")
    options = parser.parse_args()
    try:
        report = {name_of(path): evaluate_cached(path, options.cache) for path in options.files}
    except (OSError, ValueError, KeyError) as error:
        print(f"baselines: {error}", file=sys.stderr)
        return 1
    print(json.dumps(report, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
