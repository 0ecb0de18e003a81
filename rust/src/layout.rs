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
