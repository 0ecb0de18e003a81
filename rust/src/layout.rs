//! Asks a C compiler what the headers say, and compares every size, offset, enumerator and signature in `sys`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

use crate::sys;

/// A C program that prints one line per fact, and refuses to compile where a verb takes another struct.
fn program() -> String {
    let mut text = String::from("#include <stdio.h>\n#include <stddef.h>\n#include <uform/uform.h>\n");
    for (verb, arguments) in sys::VERBS {
        let arguments = arguments.trim();
        writeln!(text, "void (*check_{verb})({arguments} *) = {verb};").unwrap();
    }
    text += "int main(void) {\n";
    for (name, _, fields) in sys::LAYOUTS {
        writeln!(text, "printf(\"{name} %zu\\n\", sizeof({name}));").unwrap();
        for (field, _) in *fields {
            writeln!(text, "printf(\"{name}.{field} %zu\\n\", offsetof({name}, {field}));").unwrap();
        }
    }
    for (name, _) in sys::CONSTANTS {
        writeln!(text, "printf(\"{name} %d\\n\", (int){name});").unwrap();
    }
    text + "return 0; }\n"
}

fn expected() -> BTreeSet<String> {
    let mut lines = BTreeSet::new();
    for (name, size, fields) in sys::LAYOUTS {
        lines.insert(format!("{name} {size}"));
        lines.extend(fields.iter().map(|(field, offset)| format!("{name}.{field} {offset}")));
    }
    lines.extend(sys::CONSTANTS.iter().map(|(name, value)| format!("{name} {value}")));
    lines
}

/// Every `struct uform_*_t` of the headers, so that one added there is missed here.
fn structs_of_headers(headers: &Path) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for header in ["types.h", "model.h", "encode.h", "train.h"] {
        let text = fs::read_to_string(headers.join("uform").join(header)).unwrap();
        for line in text.lines().filter_map(|line| line.strip_prefix("typedef struct uform_")) {
            let name = line.split([' ', '{']).next().unwrap();
            if !name.contains("handle") {
                names.insert(format!("uform_{name}"));
            }
        }
    }
    names
}

/// Every function that the headers declare.
fn functions_of_headers(headers: &Path) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for header in ["types.h", "model.h", "encode.h", "train.h"] {
        let text = fs::read_to_string(headers.join("uform").join(header)).unwrap();
        for line in text.lines().filter_map(|line| line.strip_prefix("UFORM_API ")) {
            let name = line.split('(').next().unwrap().rsplit([' ', '*']).next().unwrap();
            names.insert(name.to_owned());
        }
    }
    names
}

/// The text of every source but `sys`, whose declarations call nothing, and this one.
fn sources_beside_sys(folder: &Path) -> String {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let text_of = |path: std::path::PathBuf| match path.is_dir() {
        true if path.ends_with("sys") => String::new(),
        true => sources_beside_sys(&path),
        false if path.ends_with("layout.rs") => String::new(),
        false => fs::read_to_string(path).unwrap(),
    };
    entries.map(text_of).collect()
}

#[test]
fn every_function_of_the_headers_is_called() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = sources_beside_sys(&root.join("src"));
    let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let is_word = |letter: char| letter == '_' || letter.is_alphanumeric();
    let words: BTreeSet<&str> = code.iter().flat_map(|line| line.split(|letter| !is_word(letter))).collect();
    // Whether a call blocks is the receiver's to say, so nobody names it.
    let absent = BTreeSet::from(["uform_completion_name".into(), "uform_completion_from_name".into()]);
    let functions = functions_of_headers(&root.join("engine/c"));
    assert!(functions.len() > 50, "the headers are read");
    let uncalled: BTreeSet<String> = functions.into_iter().filter(|name| !words.contains(name.as_str())).collect();
    assert_eq!(uncalled, absent);
}

#[test]
fn structs_and_enumerators_are_those_of_the_headers() {
    let headers = Path::new(env!("CARGO_MANIFEST_DIR")).join("engine/c");
    let known: BTreeSet<String> = sys::LAYOUTS.iter().map(|(name, ..)| name.to_string()).collect();
    assert_eq!(known, structs_of_headers(&headers));

    let folder = env::temp_dir().join(format!("uform-layout-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let (source, object, binary) = (folder.join("layout.c"), folder.join("layout.o"), folder.join("layout"));
    fs::write(&source, program()).unwrap();
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".into());
    // The checks of signatures need declarations alone: a second object answers for the verbs.
    let stubs: String = sys::VERBS.iter().map(|(verb, _)| format!("void {verb}(void) {{}}\n")).collect();
    fs::write(folder.join("verbs.c"), stubs).unwrap();
    let run = |arguments: &[&std::ffi::OsStr]| {
        let status = Command::new(&compiler).args(arguments).status().expect("a C compiler, `cc` or $CC");
        assert!(status.success());
    };
    let flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-c"].map(std::ffi::OsStr::new);
    let include = std::ffi::OsString::from(format!("-I{}", headers.display()));
    run(&[&flags[..], &[&include, source.as_os_str(), "-o".as_ref(), object.as_os_str()]].concat());
    run(&[object.as_os_str(), folder.join("verbs.c").as_os_str(), "-o".as_ref(), binary.as_os_str()]);
    let printed = Command::new(&binary).output().unwrap().stdout;
    let printed: BTreeSet<String> = String::from_utf8(printed).unwrap().lines().map(str::to_owned).collect();
    assert_eq!(printed, expected());
    fs::remove_dir_all(&folder).unwrap();
}
