//! Finds or builds the library behind the C ABI, and says how it is linked.
//!
//! CMake owns every flag: it builds from `engine/`, which in the repository is a folder of links to its root and in a
//! package a folder of copies, and the pkg-config file it writes beside the archive lists what that archive needs.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// Decoders of media files, which CMake takes where it finds their libraries; `AUTO`, `ON` or `OFF` in the environment
/// decides.
const DECODERS: [&str; 4] = ["UFORM_WITH_FFMPEG", "UFORM_WITH_JPEG", "UFORM_WITH_PNG", "UFORM_WITH_WEBP"];

fn has(feature: &str) -> bool {
    env::var_os(format!("CARGO_FEATURE_{feature}")).is_some()
}

/// The one archive that this choice of features links.
fn archive() -> &'static str {
    if has("STUB") { "uform_stub" } else { "uform" }
}

fn build() -> PathBuf {
    let source = Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap()).join("engine");
    println!("cargo:rerun-if-changed={}", source.display());
    let mut config = if has("STUB") {
        cmake::Config::new(source.join("src_stub"))
    } else {
        let mut config = cmake::Config::new(&source);
        for part in ["TESTS", "BENCH", "TOOLS", "STUB"] {
            config.define(format!("UFORM_BUILD_{part}"), "OFF");
        }
        for decoder in DECODERS {
            // Said even where it is the default: CMake's cache remembers what was said last.
            config.define(decoder, env::var_os(decoder).unwrap_or("AUTO".into()));
        }
        config
    };
    // Optimized whatever the crate's profile: kernels without it are a hundred times slower.
    let built = config.profile("Release").build_target(if has("STUB") { "uform_stub_static" } else { "uform" }).build();
    built.join("build")
}

/// What the archive needs behind it: `Libs.private` of its pkg-config file, which is beside it where it was built and
/// in `pkgconfig/` where it was installed.
fn link_flags(folder: &Path) -> String {
    let name = format!("{}.pc", archive());
    let found = [folder.join(&name), folder.join("pkgconfig").join(&name)].into_iter().find(|path| path.exists());
    let path = found.unwrap_or_else(|| panic!("no {name} in {} or its pkgconfig/", folder.display()));
    println!("cargo:rerun-if-changed={}", path.display());
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let line = text.lines().find_map(|line| line.strip_prefix("Libs.private:"));
    line.unwrap_or_else(|| panic!("{} has no Libs.private", path.display())).to_owned()
}

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    for variable in ["UFORM_LIBRARY_DIR"].iter().chain(&DECODERS) {
        println!("cargo:rerun-if-env-changed={variable}");
    }
    if has("STUB") && (has("CUDA") || has("ROCM")) {
        panic!("feature `stub` stands in for the whole library: it goes with neither `cuda` nor `rocm`");
    }
    for vendor in ["CUDA", "ROCM"] {
        if has(vendor) {
            panic!("feature `{}`: this version has no GPU kernels to build", vendor.to_lowercase());
        }
    }
    let folder = match env::var_os("UFORM_LIBRARY_DIR") {
        Some(folder) => PathBuf::from(folder),
        None => build(),
    };
    let file = folder.join(format!("lib{}.a", archive()));
    assert!(file.exists(), "no {}: UFORM_LIBRARY_DIR names the folder of a static library", file.display());
    println!("cargo:rerun-if-changed={}", file.display());
    println!("cargo:rustc-link-search=native={}", folder.display());
    println!("cargo:rustc-link-lib=static={}", archive());
    for flag in link_flags(&folder).split_whitespace() {
        if let Some(path) = flag.strip_prefix("-L") {
            println!("cargo:rustc-link-search=native={path}");
        } else if let Some(name) = flag.strip_prefix("-l") {
            println!("cargo:rustc-link-lib=dylib={name}");
        }
    }
}
