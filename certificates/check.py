"""Check a certificate of a network: python certificates/check.py NETWORK certificate.json

It computes everything again from the network's tensors, without algophase, and prints *proved*
(exit code 0), *not proved* (1) or *false* (2). All arithmetic is ball arithmetic of FLINT, so what
is proved is about the exact real function of the stored weights. docs/certificates.md explains it.

    arithmetic.py       matrices of balls, and the count of operations
    check_network.py    the network's tensors and its description
    check_forms.py      what its units read, and its logits
    check_program.py    the group, and the distilled program
    check_compact.py    the proof for less than brute force
"""

import hashlib
import json
import math
import sys
from pathlib import Path

from arithmetic import activated, fields, integers, require, spent, times
from check_compact import Compact
from check_forms import Tables, Transformer
from check_network import on_its_word, read_tensors, require_all_tensors, weights_digest
from check_program import group_of, program_of
from flint import arb, arb_mat

FORMAT, VERSION = "algophase-certificate", 2
ENTRIES = ("format", "version", "digest", "network", "group", "program", "compact", "rests_on")
OF_NETWORK = ("id", "weights_sha256", "settings", "separate_vocabularies", "equals_sign")
COUNTS = ("pairs", "proved_right", "proved_wrong", "undecided")
ENCLOSURES = ("largest_difference", "share_explained")
OF_COMPACT = ("proved_right", "operations", "brute_force_operations", "operations_share")


class Refuted(Exception):
    """The certificate is false. After any other exception it is not proved."""


class Results:
    """What the checker finds, one first operand after the other.

    brute, work: operations of brute force and of the compact proof. `spent` is asked after each
    step that one of them needs, so nothing else is counted.
    """

    def __init__(self, pairs):
        self.pairs = pairs
        self.right = self.wrong = 0
        self.largest, self.whole, self.left = arb(0), arb(0), arb(0)
        self.brute = self.work = self.compact = 0

    def count(self, logits, answers):
        """The pairs of these rows of logits that are right, and those that are wrong."""
        for answer, row in zip(answers, logits, strict=True):
            others = row[:answer] + row[answer + 1 :]
            self.right += all(row[answer] > other for other in others)
            self.wrong += any(other > row[answer] for other in others)

    def compare(self, logits, program):
        """How far these logits are from the program's, both without their means."""
        labels = [row[: program.ncols()] for row in logits]
        squares, largest = spread((arb_mat(labels) - program).tolist())
        self.whole += spread(labels)[0]
        self.left += squares
        self.largest = self.largest.max(largest)


def spread(rows):
    """Of logits without their means: the sum of squares, and the largest size."""
    squares = largest = arb(0)
    for row in rows:
        mean = sum(row, arb(0)) / len(row)
        for x in row:
            squares += (x - mean) * (x - mean)
            largest = largest.max(abs(x - mean))
    return squares, largest


def check(path, text):
    """What is proved of the network in this file, in words; or an exception that says why not."""
    entries = entries_of(text)
    network, group, claimed = entries["network"], entries["group"], entries["compact"]
    tensors, n = read_tensors(path), group["order"]
    require(network["weights_sha256"] == weights_digest(tensors), "it is of another network")
    require_all_tensors(tensors, network, n)
    table, inverse, elements = group_of(group)
    answers = elements[2].argsort()[table[elements[0][:, None], elements[1]]]
    taken = on_its_word(path, network, group, answers)

    results = Results(n * n)
    spent()
    kind = Transformer if network["settings"]["kind"] == "transformer" else Tables
    form = kind(tensors, network, n)
    shared = spent()
    form.prepare()
    results.brute = shared + spent()
    compact = None
    if claimed is not None:
        *_, advice = fields(claimed, *OF_COMPACT, "advice")
        compact = Compact(advice, form)
    results.work = shared + spent()
    program = None
    if entries["program"] is not None:
        program = program_of(entries["program"], table, inverse, elements)

    for a, answers_of_a in enumerate(answers.tolist()):
        units = activated(form.read(a), form.activation)
        logits = (times(units, form.readout) + form.past(a)).tolist()
        results.brute += spent()
        results.count(logits, answers_of_a)
        if program:
            results.compare(logits, program(a))
        spent()  # what `compare` took is no part of a proof
        if compact:
            results.compact += compact.proved(a, answers_of_a, logits)
            results.work += spent()

    require_counts(entries, results)
    require_program(entries, results)
    if compact:
        require_compact(claimed, results)
    require_digest(entries, text)
    return f"{results.right} of {results.pairs} pairs right, {results.wrong} wrong{taken}"


def entries_of(text):
    """The entries of a certificate, none missing, none more, none twice."""
    entries = json.loads(text, object_pairs_hook=without_repeats, parse_constant=no_number)
    fields(entries, *ENTRIES, *COUNTS, *ENCLOSURES)
    named = [entries["format"], entries["version"], type(entries["version"])]
    words = f"it is not a certificate of version {VERSION}"
    require(named == [FORMAT, VERSION, int], words)
    fields(entries["network"], *OF_NETWORK)
    return entries


def no_number(name):
    raise ValueError(f"{name} is not a number")


def without_repeats(items):
    require(len(dict(items)) == len(items), "a name stands twice")
    return dict(items)


def require_counts(entries, results):
    claims = integers([entries[name] for name in COUNTS])
    _, right, wrong, _ = claims
    refuted = right > results.pairs - results.wrong or wrong > results.pairs - results.right
    require(not refuted, f"{results.right} pairs are right, {results.wrong} wrong", Refuted)
    undecided = results.pairs - results.right - results.wrong
    counted = [results.pairs, results.right, results.wrong, undecided]
    require(claims == counted, f"pairs, right, wrong, undecided are {counted}")


def require_program(entries, results):
    difference, share = (entries[name] for name in ENCLOSURES)
    if entries["program"] is None:
        require(difference is None and share is None, "a difference from no program")
        return
    within(difference, results.largest, "largest difference")
    within(share, 1 - results.left / results.whole, "share explained")


def within(claim, value, words):
    """A claimed enclosure must hold ours, and is false where the two are apart."""
    numbers = type(claim) is list and all(type(bound) is float for bound in claim)
    require(numbers and all(map(math.isfinite, claim)), f"{words} has no numbers")
    low, high = (arb(bound) for bound in claim)
    require(not (value < low or value > high), f"{words} is not within {claim}", Refuted)
    require(low <= value and value <= high, f"{words} is not shown to be within {claim}")


def require_compact(claimed, results):
    right, work, brute, share = (claimed[name] for name in OF_COMPACT)
    integers([right, work, brute])
    too_many = right > results.pairs - results.wrong
    require(not too_many, f"{results.wrong} pairs are wrong", Refuted)
    shown = [results.compact, results.work, results.brute, round(results.work / results.brute, 4)]
    require([right, work, brute, share] == shown, f"{', '.join(OF_COMPACT)} are {shown}")


def require_digest(entries, text):
    blank = text.replace(entries["digest"], "0" * 64, 1)
    digest = hashlib.sha256(blank.encode()).hexdigest()
    require(digest == entries["digest"], "the certificate does not match its own digest")


def main(path, certificate):
    try:
        text = Path(certificate).read_text(encoding="utf-8")
        verdict, words = 0, check(Path(path), text)
    except Refuted as error:
        verdict, words = 2, str(error)
    except Exception as error:  # whatever a damaged or hostile file causes
        verdict, words = 1, f"{type(error).__name__}: {str(error)[:200]}"
    shown = words.encode("ascii", "backslashreplace").decode()
    print(f"{('proved', 'not proved', 'false')[verdict]}: {shown}")
    return verdict


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if len(sys.argv) == 3 else __doc__.splitlines()[0])
