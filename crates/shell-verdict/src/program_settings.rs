//! Names of files by which programs that only show or check something start others, load code or write files.
//!
//! A file that is the project's own source is not among them, even where a program runs what it says: `package.json`,
//! `Makefile`, `pyproject.toml`, `eslint.config.js`. Agents work on those.

/// Settings that programs read from a home, as the first name of a path.
const OF_HOME: &[&str] = &[
    "_curlrc",
    ".ackrc",
    ".ansible",
    ".ansible.cfg",
    ".aws",
    ".azure",
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".colordiffrc",
    ".condarc",
    ".curlrc",
    ".dbshell",
    ".docker",
    ".duckdbrc",
    ".emacs",
    ".emacs.d",
    ".emacs.el",
    ".exiftool_config",
    ".exrc",
    ".gemrc",
    ".gitconfig",
    ".gnupg",
    ".gvimrc",
    ".hgrc",
    ".inputrc",
    ".kube",
    ".less",
    ".lessfilter",
    ".lesskey",
    ".mailcap",
    ".mailrc",
    ".manpath",
    ".mavenrc",
    ".muttrc",
    ".my.cnf",
    ".nanorc",
    ".netrc",
    ".pip",
    ".popt",
    ".profile",
    ".psqlrc",
    ".pydistutils.cfg",
    ".pypirc",
    ".rpmmacros",
    ".screenrc",
    ".selected_editor",
    ".sqliterc",
    ".ssh",
    ".subversion",
    ".terraform.d",
    ".terraformrc",
    ".tigrc",
    ".tmux.conf",
    ".vim",
    ".vimrc",
    ".wgetrc",
    ".zprofile",
    ".zshenv",
    ".zshrc",
];

/// The same below `.config`.
const OF_CONFIG: &[&str] = &[
    "aria2",
    "bat",
    "containers",
    "curlrc",
    "direnv",
    "doctl",
    "emacs",
    "fd",
    "fish",
    "flake8",
    "gcloud",
    "gh",
    "git",
    "glab-cli",
    "go",
    "helm",
    "hg",
    "imagemagick",
    "jj",
    "latexmk",
    "lesskey",
    "lftp",
    "mise",
    "mpv",
    "nano",
    "nvim",
    "pip",
    "pylintrc",
    "systemd",
    "tmux",
    "uv",
    "vim",
    "wget2",
    "yt-dlp",
];

/// Code and settings below `.local`.
const OF_LOCAL: &[&str] = &["bin", "lib", "share"];

/// Settings that programs read from the folder they run in, or from one above it.
const OF_FOLDER: &[&str] = &[
    ".coveragerc",
    ".ctags.d",
    ".envrc",
    ".erlang",
    ".gdbinit",
    ".ghci",
    ".iex.exs",
    ".irbrc",
    ".latexmkrc",
    ".lldbinit",
    ".mise.toml",
    ".mvn",
    ".npmrc",
    ".ocamlinit",
    ".octaverc",
    ".pdbrc",
    ".pryrc",
    ".pylintrc",
    ".rdata",
    ".renviron",
    ".rprofile",
    ".yarnrc",
    ".yarnrc.yml",
    "ctags.d",
    "latexmkrc",
    "pylintrc",
];

/// Settings that lie in a folder of their own, and that folder.
const BELOW_FOLDER: &[(&str, &str)] = &[
    (".bundle", "config"),
    (".cargo", "config"),
    (".cargo", "config.toml"),
    (".hg", "hgrc"),
    (".hg", "hgrc-not-shared"),
    (".jj", "repo"),
    (".sl", "config"),
    ("_darcs", "prefs"),
];

/// Whether a path of these names, in lower case, is, or lies in, settings of a program. `names` begin at the top of a
/// workspace or of a home.
pub fn are_program_settings(names: &[&str]) -> bool {
    begins_as_of_home(names) || (0..names.len()).any(|at| begins_as_of_folder(&names[at..]))
}

/// The same for names that begin anywhere, such as those of an absolute path.
pub fn hold_program_settings(names: &[&str]) -> bool {
    (0..names.len()).any(|at| {
        let names = &names[at..];
        begins_as_of_home(names) || begins_as_of_folder(names)
    })
}

fn begins_as_of_home(names: &[&str]) -> bool {
    match names {
        [".config", below, ..] => OF_CONFIG.contains(below),
        [".local", below, ..] => OF_LOCAL.contains(below),
        [name, ..] => OF_HOME.contains(name),
        [] => false,
    }
}

fn begins_as_of_folder(names: &[&str]) -> bool {
    match names {
        [folder, file, ..] if BELOW_FOLDER.contains(&(folder, file)) => true,
        [name, ..] => OF_FOLDER.contains(name),
        [] => false,
    }
}
