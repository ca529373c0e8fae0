//! The last safety net under every profile: commands that ruin the machine.
//!
//! It grants nothing. It catches the few commands that no one means to run, regardless of what a profile allows. It
//! looks at what the command runs and not at its words: `echo rm -rf /` is harmless.

use super::plain;
use super::socat;
use super::tables::has;
use super::tree::Tree;
use super::word::Word;

/// Folders right below the root without which the machine does not start, or which hold all users' files.
const SYSTEM_FOLDERS: &str = "bin boot dev etc home lib root sbin usr var";

/// Beginnings of the names of disks and of memory below `/dev`.
const DISKS: &str = "sd hd vd xvd nvme mmcblk disk mapper/ md dm- mem kmem port";

/// Returns what a redirection in this text would ruin.
pub(super) fn in_tree(tree: &Tree) -> Option<String> {
    if let Some(disk) = tree.targets.iter().find(|target| is_disk(&target.value)) {
        return Some(format!("it overwrites the disk {}", disk.value));
    }
    let bomb = tree
        .functions
        .iter()
        .find(|(name, body)| is_bomb(name, body));
    bomb.map(|(name, _)| format!("the function `{name}` starts itself twice, without end"))
}

/// Returns what the command of these words would ruin.
pub(super) fn of_words(words: &[Word]) -> Option<String> {
    let (program, arguments) = words.split_first()?;
    let name = plain::name(&program.value);
    let values: Vec<&str> = arguments.iter().map(|word| word.value.as_str()).collect();
    match name {
        "rm" => removes_everything(arguments)
            .then(|| "it removes the whole file system or home".to_owned()),
        "dd" => {
            let target = values.iter().find_map(|value| value.strip_prefix("of="))?;
            is_disk(target).then(|| format!("it overwrites the disk {target}"))
        }
        "shred" | "wipefs" | "blkdiscard" | "sgdisk" | "tee" | "cp" | "mv" => {
            let target = values.iter().find(|value| is_disk(value))?;
            let reads_only = matches!(name, "cp" | "mv") && values.last() != Some(target);
            (!reads_only).then(|| format!("it overwrites the disk {target}"))
        }
        "socat" => {
            let mut files = values.iter().flat_map(|value| socat::writes_to(value));
            let target = files.find(|file| is_disk(file))?;
            Some(format!("it overwrites the disk {target}"))
        }
        "chmod" | "chown" => {
            let recursive = arguments.iter().any(|word| {
                word.is_option() && (word.value.contains('R') || word.value == "--recursive")
            });
            (recursive && arguments.iter().any(is_root))
                .then(|| "it changes the rights of the whole file system".to_owned())
        }
        "mkfs" | "mkswap" | "mke2fs" => makes_file_system(&values),
        name if name.starts_with("mkfs.") => makes_file_system(&values),
        _ => None,
    }
}

fn makes_file_system(values: &[&str]) -> Option<String> {
    let target = values.iter().find(|value| value.starts_with("/dev/"))?;
    Some(format!("it makes a file system on {target}"))
}

fn removes_everything(arguments: &[Word]) -> bool {
    let recursive = arguments.iter().any(|word| {
        let value = word.value.as_str();
        let is_long = value.len() > 3 && "--recursive".starts_with(value);
        is_long || (word.is_option() && !value.starts_with("--") && value.contains(['r', 'R']))
    });
    recursive
        && arguments
            .iter()
            .filter(|word| !word.is_option())
            .any(is_root)
}

/// Returns whether the word is the root of the file system, everything in it, or the user's home.
fn is_root(word: &Word) -> bool {
    let mut names: Vec<&str> = Vec::new();
    for name in word.value.split('/') {
        match name {
            "" | "." | "*" => {}
            ".." => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    let whole = match names.as_slice() {
        [] => word.value.starts_with('/'),
        [one] => {
            word.value.starts_with('/') && has(SYSTEM_FOLDERS, one)
                || (word.rewritten == Some("a tilde") && *one == "~")
        }
        _ => false,
    };
    whole && (!word.varies || word.value.ends_with('*') || word.value == "/")
}

/// Returns whether the file is a whole disk or a part of one.
fn is_disk(path: &str) -> bool {
    let Some(device) = path.strip_prefix("/dev/") else {
        return false;
    };
    let device = device.to_ascii_lowercase();
    DISKS
        .split_whitespace()
        .any(|kind| device.starts_with(kind))
}

/// Returns whether a function calls itself at least twice, in a pipe or in the background.
fn is_bomb(name: &str, body: &str) -> bool {
    let calls = body
        .split(|c: char| c.is_whitespace() || "|&;{}()".contains(c))
        .filter(|word| *word == name)
        .count();
    calls >= 2 && body.contains(['|', '&'])
}
