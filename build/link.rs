//! Has a release linked to take less memory (`docs/decisions/0816-functions-in-use-lie-together.md`), and other programs to start
//! soon (`docs/decisions/0817-ci-does-several-things-at-once.md`).

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// The functions in use, by the names that the linker knows them by, with a `*` for what another build has another of; `# …` begins a
/// group.
const FUNCTIONS: &str = ".packaging/functions/used.txt";

/// Has the linker lay the functions in use side by side and write addresses down in short, where it and the target can.
pub(crate) fn compactly() {
    println!("cargo::rerun-if-changed={FUNCTIONS}");
    let in_order = in_order().map(|script| format!("-T{}", script.display()));
    // Of another machine nobody knows whether its C library reads them.
    let is_here = env::var("HOST").ok() == env::var("TARGET").ok();
    let in_short = is_here.then(|| "-Wl,-z,pack-relative-relocs".to_owned());
    for argument in [in_order, in_short].into_iter().flatten() {
        if links_with(&argument).unwrap_or(false) {
            println!("cargo::rustc-link-arg-bins={argument}");
        }
    }
}

/// What cargo says of the target: its `ENV`, `ARCH` and so on.
fn target(what: &str) -> String {
    env::var(format!("CARGO_CFG_TARGET_{what}")).unwrap_or_default()
}

/// A linker script that lays each group of functions down before all that are in none.
fn in_order() -> Option<PathBuf> {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR")?);
    let functions = fs::read_to_string(here.join(FUNCTIONS)).ok()?;
    let mut groups = String::new();
    for group in functions.split("# ").filter(|group| !group.is_empty()) {
        let (title, names) = group.split_once('\n')?;
        let names = names.trim_end().replace('\n', "\n.text.");
        groups += &format!(".text.{title} : {{ *(.text.{names}) }}\n");
    }
    let script = PathBuf::from(env::var_os("OUT_DIR")?).join("functions.ld");
    let text = format!("SECTIONS {{\n{groups}}}\nINSERT BEFORE .text;\n");
    fs::write(&script, text).ok()?;
    Some(script)
}

/// Has programs lie where they were linked to, so that none begins by writing all its addresses down.
pub(crate) fn to_one_place() {
    if target("ENV") == "gnu" {
        println!("cargo::rustc-link-arg=-no-pie");
    }
}

/// Whether a program that does nothing can be linked with `argument`, and then runs, where the target is a machine like this one.
fn links_with(argument: &str) -> Option<bool> {
    let folder = PathBuf::from(env::var_os("OUT_DIR")?);
    let (source, program) = (folder.join("trial.rs"), folder.join("trial"));
    fs::write(&source, "fn main() {}").ok()?;
    let mut rustc = Command::new(env::var_os("RUSTC")?);
    rustc.args(["--crate-name", "trial"]).arg(&source);
    rustc.arg("--target").arg(env::var_os("TARGET")?);
    rustc.arg("-o").arg(&program).arg("-C");
    rustc.arg(format!("link-arg={argument}"));
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        rustc.arg("-C").arg(format!("linker={linker}"));
    }
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    rustc.args(flags.split('\x1f').filter(|flag| !flag.is_empty()));
    if !rustc.output().ok()?.status.success() {
        return Some(false);
    }
    let runs_here = target("OS") == env::consts::OS && target("ARCH") == env::consts::ARCH;
    Some(!runs_here || Command::new(&program).output().ok()?.status.success())
}
