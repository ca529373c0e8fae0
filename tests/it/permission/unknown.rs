//! What a narrow pattern promises for a program that is in no table: its wildcards cover plain operands and a handful of
//! options, and nothing else that is not spelled.
//!
//! Commands are made from every form in which programs take options and operands, and patterns from every form of wildcard.

use chorus::permission::{Action, Decision, Profile};
use proptest::prelude::*;
use proptest::sample::select;
use regex::escape;

/// Programs that are in no table: invented ones, and some that exist.
const PROGRAMS: &[&str] = &[
    "zork",
    "./zork",
    "bin/zork.sh",
    "frob2",
    "hledger",
    "qpdf",
    "scdoc",
    "tldr",
    "opam",
    "kustomizer",
    "pyfoo3.12",
];

/// What a wildcard covers in any place.
const HARMLESS: &[&str] = &[
    "a.txt",
    "src/x",
    "42",
    "build",
    "main",
    "-v",
    "-q",
    "-h",
    "--help",
    "--version",
    "--verbose",
    "--quiet",
    "--color",
    "--color=never",
    "v1.2",
    "a-b_c",
    "../x",
    "50%",
    "1,2",
];

/// Operands that are not plain, or by which programs run others.
const OPERANDS: &[&str] = &[
    "key=value",
    "KEY=",
    "prefix:value",
    "a:b:c",
    "https://docs.rs/x",
    "user@host",
    "@file",
    "@./file",
    "x=@file",
    "+x",
    "+set y",
    "-",
    "exec",
    "eval",
    "run",
    "shell",
    "console",
    "alias",
    "config",
    "plugin",
    "hook",
    "foreach",
    "exe",
    "execu",
    "ru",
    "e",
    "r",
    "she",
    "conf",
    "plug",
    "sh",
    "bash",
    "touch",
    "/usr/bin/touch",
    "python3",
    "./sh",
    "rm",
    "touch pwn",
    "system(1)",
    "a;b",
    "a|b",
    "a&b",
    "$x",
    "`id`",
    "{a}",
    "x[1]",
    "<f",
    ">f",
    "!x",
    "a*",
    "a?b",
    "#x",
    "a\"b",
    "a'b",
    "a\\b",
    "a\tb",
];

/// Wildcards, as people write them behind a program's name.
const WILDCARDS: &[&str] = &[
    "( .*)?",
    " .*",
    "( \\S+)*",
    "( [^;]*)?",
    ".*",
    "(\\s.*)?",
    "( [ -~\\t]*)?",
    "( (.|\\s)*)?",
    "( --fast)?( .*)?",
    "( .+){0,9}",
    "( [\\w\\W]*)?",
    "(?i)( .*)?",
    "( -[a-z-]+(=.*)?| .*)*",
    " ?.*",
];

fn verdict(pattern: &str, command: &str) -> (Decision, String) {
    let pattern = format!("tool:bash:{pattern}");
    let profile = Profile::compile(&[&pattern], &["tool:bash:.*"], &[]).unwrap();
    let verdict = profile.decide(&Action::shell("bash", command), &[]);
    (verdict.decision, verdict.reason)
}

fn name() -> impl Strategy<Value = String> {
    "[a-z]{2,8}(-[a-z]{2,6})?".prop_filter("harmless everywhere", |name| {
        ![
            "help", "version", "verbose", "quiet", "color", "no-color", "fast",
        ]
        .contains(&name.as_str())
    })
}

fn value() -> impl Strategy<Value = &'static str> {
    select(vec!["x", "./evil.sh", "1", "a.cfg", "touch pwn", "k=v"])
}

/// An option in one of the forms that programs accept.
fn option() -> impl Strategy<Value = Vec<String>> {
    let letter = select(
        "abcdefgijklmnoprstuwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789?@#"
            .chars()
            .collect::<Vec<_>>(),
    );
    let short = (letter, value(), 0..6_usize).prop_map(|(letter, value, form)| match form {
        0 => vec![format!("-{letter}")],
        1 => vec![format!("-{letter}{value}")],
        2 => vec![format!("-{letter}"), value.to_owned()],
        3 => vec![format!("-{letter}={value}")],
        4 => vec![format!("-v{letter}"), value.to_owned()],
        _ => vec![format!("-{letter}v")],
    });
    let long = (name(), value(), 0..6_usize).prop_map(|(name, value, form)| match form {
        0 => vec![format!("--{name}")],
        1 => vec![format!("--{name}={value}")],
        2 => vec![format!("--{name}"), value.to_owned()],
        3 => vec![format!("-{name}")],
        4 => vec![format!("-{name}={value}")],
        _ => vec![format!("-{name}"), value.to_owned()],
    });
    let lengthened = select(vec![
        "--helper",
        "--versions",
        "--verbosely",
        "--quiet=x",
        "--help=x",
        "--version=./x",
        "--color=./x",
        "--verbose=x",
        "--hel",
        "--ver",
        "--col=always",
        "-vv",
        "-qv",
        "-vq",
        "-hv",
        "-v=1",
        "--",
        "---",
        "--=x",
        "-vx",
        "-qo",
    ]);
    prop_oneof![
        short,
        long,
        lengthened.prop_map(|word| vec![word.to_owned()])
    ]
}

/// Words of which the first must be spelled.
fn danger() -> impl Strategy<Value = Vec<String>> {
    let operand = select(OPERANDS).prop_map(|word| vec![word.to_owned()]);
    let ended = option().prop_map(|words| {
        let ended = std::iter::once("--".to_owned());
        ended.chain(words).collect()
    });
    prop_oneof![3 => option(), 2 => operand, 1 => ended]
}

/// `word` as one word of a shell, quoted in one of the ways that are left as they are.
fn quoted(word: &str, how: usize) -> String {
    let single = || format!("'{}'", word.replace('\'', r"'\''"));
    let is_bare = word
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"._/=:@+-,%".contains(&byte));
    match how {
        0 if is_bare => word.to_owned(),
        1 if is_bare => format!("\"{word}\""),
        2 if is_bare && word.len() > 1 => format!("{}\\{}", &word[..1], &word[1..]),
        3 if is_bare && word.len() > 2 => format!("{}'{}'", &word[..2], &word[2..]),
        _ => single(),
    }
}

/// A command with something in it that must be spelled, and a pattern that spells its program.
fn hostile() -> impl Strategy<Value = (String, String)> {
    let harmless = || prop::collection::vec(select(HARMLESS), 0..3);
    (
        select(PROGRAMS),
        harmless(),
        danger(),
        harmless(),
        0..5_usize,
        select(WILDCARDS),
    )
        .prop_map(|(program, before, danger, after, how, wildcard)| {
            let mut words = vec![program.to_owned()];
            words.extend(before.into_iter().map(str::to_owned));
            words.extend(danger.iter().map(|word| quoted(word, how)));
            words.extend(after.into_iter().map(str::to_owned));
            (format!("{}{wildcard}", escape(program)), words.join(" "))
        })
}

#[test]
fn an_option_is_spelled_before_a_wildcard() {
    for (pattern, command, expected) in [
        (
            "zork( --errors-only)?( .*)?",
            "zork --errors-only a.py",
            Decision::Allow,
        ),
        ("zork( --errors-only)?( .*)?", "zork a.py", Decision::Allow),
        (
            "zork( --errors-only)?( .*)?",
            "zork a.py --errors-only",
            Decision::Ask,
        ),
        (
            "zork( --errors-only)?( .*)?",
            "zork --errors-onlx a.py",
            Decision::Ask,
        ),
        (
            "zork( --errors-only)?( .*)?",
            "zork --errors-only=x a.py",
            Decision::Ask,
        ),
        (
            "zork( --errors-only)?( .*)?",
            "zork --errors-only --other a.py",
            Decision::Ask,
        ),
        (
            "zork( (--fast|-j [0-9]+|--format=(text|json)))*( .*)?",
            "zork -j 4 --format=json --fast a.py",
            Decision::Allow,
        ),
        (
            "zork( (--fast|-j [0-9]+|--format=(text|json)))*( .*)?",
            "zork -j 4 --format=./x a.py",
            Decision::Ask,
        ),
        (
            "zork( --define [a-z]+=\\S+)?( .*)?",
            "zork --define a=b x",
            Decision::Ask,
        ),
        (
            "zork( --define name=\\S+)?( .*)?",
            "zork --define name=b x",
            Decision::Allow,
        ),
        ("zork( [a-z./]+)*", "zork a.txt src/x", Decision::Allow),
        (
            "zork https://docs\\.rs/.*",
            "zork https://docs.rs/x",
            Decision::Allow,
        ),
        ("zork (run|exec) [a-z]+", "zork run tests", Decision::Allow),
        ("zork( -(a|b|c))*( .*)?", "zork -a -b x", Decision::Allow),
        ("zork( -[a-z])*( .*)?", "zork -a x", Decision::Ask),
        ("zork -[xX] .*", "zork -X a", Decision::Allow),
        ("(?i)zork --fast .*", "zork --fast a", Decision::Allow),
    ] {
        let (decision, reason) = verdict(pattern, command);
        assert_eq!(decision, expected, "{pattern}: {command}: {reason}");
    }
}

/// Subcommands of listed programs that run another program or change settings: the whole word, beginnings that the program
/// accepts, and words that it takes for a program because it does not know them.
const SUBCOMMANDS: &[&str] = &[
    "npm explo pkg touch PWN",
    "npm exe evil",
    "npm exp x",
    "npm conf set script-shell evil",
    "npm --silent conf set script-shell evil",
    "npm set script-shell evil",
    "npm pk set x",
    "pnpm touch PWN",
    "pnpm find . -delete",
    "pnpm sh",
    "pnpm bash",
    "yarn evil",
    "yarn workspace x y",
    "bun evil",
    "bundle e touch PWN",
    "bundle exe touch PWN",
    "gem exe evil",
    "gem envi x",
    "composer exe touch PWN",
    "composer conf x",
    "composer ru x",
    "hg bisect -c evil",
    "hg bis -c evil",
    "hg id evil",
    "hg clone evil x",
    "hg incoming evil",
    "hg debugshell",
    "hg serve",
    "hg ser",
    "task exe touch PWN",
    "task 1 exec touch PWN",
    "rails ru x",
    "rails c",
    "nmcli con ed x",
    "nmcli c e x",
    "nmcli connection edit x",
    "systemctl reenable ./evil.service",
    "systemctl edi x",
    "networkctl ed",
    "redis-cli module load /srv/evil.so",
    "redis-cli MODULE LOAD /srv/evil.so",
    "redis-cli config set dir /work",
    "zypper sh",
    "dnf shell cmds",
    "yum sh",
    "apt edit-sources",
    "apt-get indextargets",
    "conda init",
    "conda evil",
    "poetry sel",
    "rye evil",
    "terraform console",
    "rclone config",
    "rclone rcd",
    "rclone serve",
    "podman container runlabel x y",
    "identify evil.msl",
    "convert evil.png x.png",
    "mix evil",
    "meson devenv",
    "foreman ru touch",
];

#[test]
fn a_subcommand_that_is_not_known_to_be_harmless_is_spelled() {
    for command in SUBCOMMANDS {
        let program = command.split(' ').next().unwrap();
        for wildcard in ["( .*)?", " .*", ".*"] {
            let (decision, reason) = verdict(&format!("{program}{wildcard}"), command);
            assert_eq!(decision, Decision::Ask, "{command}: {reason}");
        }
    }
    for (pattern, command) in [
        ("npm( .*)?", "npm test"),
        ("npm( .*)?", "npm run build"),
        ("npm( .*)?", "npm i left-pad"),
        ("npm config get( .*)?", "npm config get registry"),
        ("pnpm( .*)?", "pnpm install"),
        ("yarn( .*)?", "yarn list"),
        ("yarn (build|docs)( .*)?", "yarn docs"),
        ("bundle( .*)?", "bundle check"),
        ("gem( .*)?", "gem list"),
        ("composer( .*)?", "composer show"),
        ("hg( .*)?", "hg log -l 3"),
        ("task (build|test)", "task build"),
        ("systemctl( .*)?", "systemctl status nginx"),
        ("nmcli connection show( .*)?", "nmcli connection show home"),
        ("redis-cli( .*)?", "redis-cli get a"),
        ("redis-cli( .*)?", "redis-cli GET a"),
        ("dnf( .*)?", "dnf info bash"),
        ("zypper( .*)?", "zypper se bash"),
        ("identify a\\.png", "identify a.png"),
    ] {
        let (decision, reason) = verdict(pattern, command);
        assert_eq!(decision, Decision::Allow, "{pattern}: {command}: {reason}");
    }
}

#[test]
fn a_spelled_beginning_of_a_runner_covers_no_program() {
    for (pattern, command) in [
        ("npm exe( .*)?", "npm exe evil"),
        ("npm explo( .*)?", "npm explo pkg touch PWN"),
        ("npm conf( .*)?", "npm conf set script-shell evil"),
        ("composer conf( .*)?", "composer conf x y"),
        ("bundle exe( .*)?", "bundle exe touch PWN"),
    ] {
        let (decision, reason) = verdict(pattern, command);
        assert_eq!(decision, Decision::Ask, "{pattern}: {command}: {reason}");
    }
}

#[test]
fn only_known_filters_are_given_what_another_command_prints() {
    let decide = |program: &str, command: &str| verdict(&format!("(cat|{program})( .*)?"), command);
    for (program, reader) in [
        ("zork", "zork"),
        ("zork", "zork a.txt"),
        ("pry", "pry"),
        ("ptpython", "ptpython"),
        ("psysh", "psysh"),
        ("beeline", "beeline"),
        ("hive", "hive"),
        ("spark-shell", "spark-shell"),
        ("smbclient", "smbclient a"),
        ("qjs", "qjs"),
        ("scala-cli", "scala-cli"),
        ("npm", "npm test"),
        ("npm explore", "npm explore a"),
        ("node", "node inspect a.js"),
        ("node", "node"),
        ("psql", "psql mydb me"),
        ("mysql", "mysql mydb me"),
        ("redis-cli", "redis-cli ping"),
        ("sqlite3", "sqlite3 a.db"),
        ("nmcli", "nmcli monitor"),
        ("terraform", "terraform state list"),
        ("nice python3", "nice python3"),
        ("nice psql", "nice psql a b"),
        ("xargs sh", "xargs sh"),
    ] {
        for input in ["cat a", "cat a | cat"] {
            let command = format!("{input} | {reader}");
            let (decision, reason) = decide(program, &command);
            assert_eq!(decision, Decision::Ask, "{command}: {reason}");
        }
    }
    for (program, reader) in [
        ("grep", "grep x"),
        ("sort", "sort -u"),
        ("head", "head -5"),
        ("jq", "jq .a"),
        ("sed", "sed s/a/b/"),
        ("gzip", "gzip -c"),
        ("bc", "bc"),
        ("python3", "python3 a.py"),
        ("node", "node a.js"),
        ("wc", "wc -l"),
        ("tee", "tee b"),
    ] {
        let command = format!("cat a | {reader}");
        let (decision, reason) = decide(program, &command);
        assert_eq!(decision, Decision::Allow, "{command}: {reason}");
    }
}

#[test]
fn no_way_to_write_a_wildcard_spells() {
    for wildcard in [
        "( (-|[a-z]|=|\\.|/| )*)?",
        "( [a-z]*-*[a-z=./ -]*)?",
        "( (a|b|c|d|e|f|g|h|i|j|k|l|m|n|o|p|q|r|s|t|u|v|w|x|y|z|-| )*)?",
        "( ((a)|(b)|(c)|(d)|(e)|(l)|(v)|(i)|(-)| )*)?",
        "( \\x{2d}.*)?",
        "( -+[^ ]*)*",
        "( \\p{Any}*)?",
        "( .{0,99})?",
        "( (?:.|\\n)*?)?",
        "( [[:print:]]*)?",
        "( -{1,2}.*)?",
        "( --?.*)?",
        "( [-a-z]+)*",
    ] {
        let (decision, reason) = verdict(&format!("zork{wildcard}"), "zork --devil");
        assert_ne!(decision, Decision::Allow, "{wildcard}: {reason}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(700))]

    #[test]
    fn a_wildcard_covers_nothing_of_an_unknown_program_that_is_not_plain((pattern, command) in hostile()) {
        let (decision, _) = verdict(&pattern, &command);
        prop_assert_ne!(decision, Decision::Allow, "{} was allowed by {}", command, pattern);
    }

    #[test]
    fn plain_operands_and_a_few_options_are_covered(
        program in select(PROGRAMS),
        words in prop::collection::vec(select(HARMLESS), 0..5),
    ) {
        let command = std::iter::once(program).chain(words).collect::<Vec<_>>().join(" ");
        let (decision, reason) = verdict(&format!("{}( .*)?", escape(program)), &command);
        prop_assert_eq!(decision, Decision::Allow, "{}: {}", command, reason);
    }

    #[test]
    fn what_is_spelled_is_allowed(
        program in select(PROGRAMS),
        danger in option(),
        after in prop::collection::vec(select(HARMLESS), 0..3),
    ) {
        let words: Vec<String> = danger.iter().map(|word| quoted(word, 4)).collect();
        let spelled = format!("{program} {}", words.join(" "));
        let command = std::iter::once(spelled.as_str()).chain(after).collect::<Vec<_>>().join(" ");
        let (decision, reason) = verdict(&format!("{}( .*)?", escape(&spelled)), &command);
        prop_assert_eq!(decision, Decision::Allow, "{}: {}", command, reason);
    }
}
