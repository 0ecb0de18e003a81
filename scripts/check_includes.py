#!/usr/bin/env python3
"""The house rules a machine can see: who includes whom, what the engine must not call, and how long a file may be.

With --compile, every header is compiled alone instead: as C++20, and those of c/ as C99 too.
"""
import argparse
import pathlib
import re
import subprocess
import sys

# What each room may include besides itself; rooms that are not named (test, bench, tools) include what they like.
BELOW = {"types": set(), "abi": {"types"}, "utilities": {"types"}, "encoder": {"types", "utilities"},
         "mesh": {"types", "utilities"}, "media": {"types", "utilities"}, "loaders": {"types", "utilities", "encoder", "media"},
         "train": {"types", "abi", "utilities", "encoder", "mesh"}}
BELOW |= dict.fromkeys(("src_stub", "python", "rust", "javascript", "swift"), {"types", "abi"})
SOURCES = {".h", ".hpp", ".c", ".cpp", ".cu", ".cuh", ".py", ".rs", ".js", ".ts", ".swift", ".sh"}
VENDOR = re.compile(r"lib(av|sw)\w+/|(turbo)?jpeg(lib)?\.h|jerror\.h|spng\.h|webp/|cu(da|blas|dnn)\w*\.h|nccl|uc[pst]/|infiniband/")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.M)
SPOKEN = re.compile(r"(?<!\w)(abort|terminate|_?_?exit|_Exit|quick_exit|v?f?printf|f?puts|putchar|f?putc|perror)\s*\(|"
                    r"\bstd::(cout|cerr|clog)\b|\bfmt::print")
HIDDEN = re.compile(r'//[^\n]*|/\*.*?\*/|(?<![\w\'])"(?:\\.|[^"\\\n])*"', re.S)  # comments and plain text literals
WRAPPED = re.compile(r'^extern "C" \{\n(#include <lib(av|sw)\w+/\w+\.h>\n)+\}$', re.M)  # FFmpeg's headers know no C++
UNKEPT = re.compile(r"(^|/)(\.\w+|build|node_modules|target)/")  # what builds leave in the tree
VERBS = {f"{room}/{verb}.cpp" for room in ("src", "src_stub") for verb in ("types", "model", "encode", "train")}


def room_of(path):
    """The room of a path inside the repository, or None for what may include anything: the verbs, tools, tests."""
    parts = path.parts
    if parts[:2] == ("c", "uform"):
        return "types" if path.name == "types.h" else "abi"
    place = parts[2:] if parts[:2] == ("include", "uform") else parts[1:] if parts[0] == "src" else parts
    return place[0] if len(place) > 1 and place[0] in BELOW else None


def target_of(name, path, root):
    """The file of ours that an include names, or None when it is somebody else's."""
    for folder in (root / path.parent, root / "c", root / "include", root / "src", root):
        file = (folder / name).resolve()
        if file.is_file() and file.is_relative_to(root):
            return file.relative_to(root)
    return None


def complaints(path, root):
    text = (root / path).read_text(encoding="utf-8", errors="replace")
    if text.count("\n") > 800:
        yield f"{text.count(chr(10))} lines; 800 are the ceiling"
    if path.suffix not in {".h", ".hpp", ".c", ".cpp", ".cu", ".cuh"}:
        return
    room = room_of(path)
    for name in INCLUDE.findall(text):
        target = target_of(name, path, root)
        other = target and room_of(target)
        if room and target and other != room and other not in BELOW[room]:
            yield f"{room} must not include {target} ({other or 'above every room'})"
        if room == "src_stub" and not target and not re.fullmatch(r"[a-z_]+", name):
            yield f"the stub must not include {name}: c/ and the C++ standard library are all it sees"
        if path.suffix in {".h", ".hpp"} and VENDOR.match(name):
            yield f"vendor header {name} belongs in a .cpp, .cu or .cuh"
    if path.parts[0] in {"src", "include", "src_stub"}:
        if re.search(r'^[^/\n"]*\bextern\s*"C', WRAPPED.sub('', text), re.M) and path.as_posix() not in VERBS:
            yield 'extern "C" belongs in ' + ", ".join(sorted(VERBS))
        for match in SPOKEN.finditer(HIDDEN.sub(lambda hidden: "\n" * hidden[0].count("\n"), text)):
            yield f"the library neither prints nor ends the process: {match[0].strip('( ')}"


def compile_alone(compiler, path, root):
    as_c = path.parts[0] == "c"
    for language in (["-xc", "-std=c99"],) * as_c + (["-xc++", "-std=c++20"],):
        done = subprocess.run([compiler, *language, "-fsyntax-only", "-Wall", "-Ic", "-Iinclude", "-Isrc", "-include",
                               path, "/dev/null"], cwd=root, capture_output=True, text=True)
        if done.returncode:
            errors = [line for line in done.stderr.splitlines() if "error:" in line]
            yield f"does not compile alone: {errors[0] if errors else done.stderr.strip()}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).parents[1])
    parser.add_argument("--compile", metavar="CXX", help="compile every header alone instead")
    options = parser.parse_args()
    root = options.root.resolve()
    files = [file.relative_to(root) for file in sorted(root.rglob("*")) if file.suffix in SOURCES and file.is_file()]
    files = [file for file in files if not UNKEPT.search(file.as_posix())]
    if options.compile:
        files = [file for file in files if file.parts[0] in {"c", "include", "src_stub"} and file.suffix in {".h", ".hpp"}]
    judge = (lambda file: compile_alone(options.compile, file, root)) if options.compile else (
        lambda file: complaints(file, root))
    found = [f"{file}: {complaint}" for file in files for complaint in judge(file)]
    print("\n".join(found) or f"{len(files)} files keep the rules")
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main())
