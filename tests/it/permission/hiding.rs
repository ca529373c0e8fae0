//! Commands that hide what they run from a deny, and such as would cost without end to look through.

use chorus::permission::{Action, Decision, Profile};

/// Commands that run `git push` or `rm -rf x` in a way that no word of theirs shows plainly.
const HIDING: &[&str] = &[
    // Files that are what somebody hands in.
    "source /proc/self/fd/0 <<< 'rm -rf x'",
    ". //dev/stdin <<< 'rm -rf x'",
    ". /./dev/stdin <<< 'rm -rf x'",
    ". ../../../../../dev/stdin <<< 'rm -rf x'",
    "bash //dev/stdin <<< 'rm -rf x'",
    "bash /dev/../dev/stdin <<< 'rm -rf x'",
    "cd /dev; bash stdin <<< 'rm -rf x'",
    "cd /dev; . ./stdin <<< 'rm -rf x'",
    "exec 3<<< 'rm -rf x'; bash /dev/fd/3",
    "python3 /dev/stdin <<< 'import os; os.system(\"rm -rf x\")'",
    "python3 -W ignore /dev/stdin <<< 'import os; os.system(\"rm -rf x\")'",
    "python3 <(echo 'import os; os.system(\"rm -rf x\")')",
    "perl <(printf 'system q(rm -rf x)')",
    "node <(cat x)",
    "ruby -w <(cat x)",
    "awk -f <(printf 'BEGIN{system(\"rm -rf x\")}')",
    "awk -f<(cat x) y",
    "sed -f <(echo '1e rm -rf x') y",
    "make -f <(printf 'a:\\n\\trm -rf x')",
    "make --file <(cat x)",
    // Other names for a program.
    "hash -p /bin/rm foo; foo -rf x",
    "BASH_CMDS[foo]=/bin/rm; foo -rf x",
    "BASH_CMDS=([foo]=/bin/rm); foo -rf x",
    "declare 'BASH_CMDS[foo]=/bin/rm'; foo -rf x",
    "read 'BASH_CMDS[foo]' <<< /bin/rm; foo -rf x",
    "printf -v 'BASH_CMDS[foo]' /bin/rm; foo -rf x",
    "shopt -s expand_aliases\nBASH_ALIASES[foo]=rm\nfoo -rf x",
    "ln -s /bin/rm foo; PATH=.:$PATH; foo -rf x",
    "cp /bin/rm foo; PATH=$PWD:$PATH foo -rf x",
    // Values that are evaluated.
    "x='$(rm -rf x)'; echo \"${x@P}\"",
    "x='a[$(rm -rf x)]'; echo $((x))",
    "x='a[$(rm -rf x)]'; ((x))",
    "x='a[$(rm -rf x)]'; [[ $x -eq 1 ]]",
    "x='a[$(rm -rf x)]'; [[ -v $x ]]",
    "x='a[$(rm -rf x)]'; echo ${!x}",
    "x='a[$(rm -rf x)]'; echo ${y:x}",
    "x='a[$(rm -rf x)]'; echo $[x]",
    "x='a[`rm -rf x`]'; let y=x",
    "x='a[$(rm -rf x)]'; declare -i y=x",
    "x='a[$(rm -rf x)]'; test -v \"$x\"",
    "x='a[$(rm -rf x)]'; unset \"$x\"",
    "f() { (( $1 )); }; f 'a[$(rm -rf x)]'",
    "for x in 'a[$(rm -rf x)]'; do ((x)); done",
    "set -- 'a[$(rm -rf x)]'; [[ $1 -eq 0 ]]",
    "read -r x <<< 'a[$(rm -rf x)]'; ((x))",
    "read -r x <<'E'\na[$(rm -rf x)]\nE\n((x))",
    // Commands of other programs that run commands.
    "vim -es -c '!rm -rf x' -c q",
    "vim -es --cmd '!rm -rf x' +q",
    "psql -c '\\! rm -rf x'",
    "mysql -e '\\! rm -rf x'",
    "mysql -e 'system rm -rf x'",
    "sqlite3 y '.shell rm -rf x'",
    "sqlite3 y .tables '.system rm -rf x'",
    "gdb -batch -ex 'shell rm -rf x'",
    "gdb -batch -ex '!rm -rf x'",
    "gdb --eval-command='shell rm -rf x' -batch",
    "lldb -o 'platform shell rm -rf x'",
    "mapfile -C 'rm -rf x;' -c 1 y",
    "readarray -c 1 -C 'rm -rf x' y",
    "svn diff --diff-cmd 'rm -rf x'",
    "lftp -c '!rm -rf x'",
    "lftp -e '!rm -rf x' host",
    // Wrappers.
    "busybox sh -c 'rm -rf x'",
    "busybox rm -rf x",
    "cross-env A=1 rm -rf x",
    "mpirun -n 1 rm -rf x",
    "flatpak-spawn --host rm -rf x",
    "coverage run rm -rf x",
    "mosh host -- rm -rf x",
    "qemu-aarch64-static /bin/rm -rf x",
];

/// What must not be taken for such.
const PLAIN: &[&str] = &[
    "python3 script.py <(sort a)",
    "python3 -W ignore script.py",
    "python3 script.py /dev/stdin <<< 'words'",
    "diff <(sort a) <(sort b)",
    "sed -n 1p <(sort a)",
    "make -f other.mk all",
    "hash -r",
    "PATH=$PATH:/opt/bin; ls",
    "cp a b; ./run.sh",
    "x='a b'; echo ${x}",
    "git commit -m 'explain $(date)'",
    "echo \"${HOME}\" '$(date)'",
    "sqlite3 y 'select 1'",
    "sqlite3 y .tables",
    "psql -c 'select a from b where a != 1'",
    "vim -es -c '%s/a/b/' -c wq x",
    "gdb -batch -ex bt ./x",
    "mapfile -t lines < x",
    "bash build.sh",
    "bash ./dev/run.sh",
    "source dev/setup.sh",
    "coverage run -m pytest",
];

fn no_removal() -> Profile {
    Profile::compile(&[".*"], &[], &[r"tool:bash:rm -rf.*"]).unwrap()
}

fn wrong(commands: &[&str], expected: Decision) -> Vec<String> {
    let profile = no_removal();
    let decided = commands.iter().map(|command| {
        let verdict = profile.decide(&Action::shell("bash", *command), &[]);
        (command, verdict)
    });
    decided
        .filter(|(_, verdict)| verdict.decision != expected)
        .map(|(command, verdict)| format!("{command}: {} ({})", verdict.decision, verdict.reason))
        .collect()
}

#[test]
fn what_hides_a_denied_command_is_denied() {
    let wrong = wrong(HIDING, Decision::Deny);
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn what_hides_nothing_is_allowed() {
    let wrong = wrong(PLAIN, Decision::Allow);
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

/// Commands whose parts multiply when each is followed.
fn multiplying() -> Vec<String> {
    let nested = |program: &str, times: usize| format!("{} x", vec![program; times].join(" "));
    let shells = format!("env {} -c 'x y'", "sh ".repeat(150));
    let twice = format!("env {} -c \"{shells}\"", "sh ".repeat(150));
    vec![
        nested("poetry run", 60),
        nested("poetry run", 5_000),
        nested("go run", 60),
        nested("cargo watch", 60),
        nested("find . -exec", 60),
        nested("fd -x", 60),
        nested("git submodule foreach", 60),
        nested("docker exec x", 60),
        nested("eval", 60),
        format!("poetry run {}", "word ".repeat(10_000)),
        format!("find . -exec {}", "word ".repeat(10_000)),
        format!("eval {}", "eval ".repeat(10_000)),
        shells,
        twice,
    ]
}

/// Words of which many are known only when they run, and such as are looked at letter by letter.
fn long() -> Vec<String> {
    vec![
        format!("echo {}", "$a ".repeat(20_000)),
        format!("git {}", "$a ".repeat(20_000)),
        format!("echo {}", "a*b ".repeat(15_000)),
        format!("echo x{}", "{a,".repeat(20_000)),
        format!("echo x{}}}", "{".repeat(60_000)),
        format!("echo {}", "'a[$(x)]' ".repeat(6_000)),
        format!("[[ {} ]]", "'a[$(x)]' = 1 && ".repeat(250)),
        format!("socat {}", "EXEC:a,".repeat(8_000)),
        format!("sed {}", "-e p ".repeat(12_000)),
    ]
}

#[test]
fn commands_that_multiply_are_decided() {
    let guarded = Profile::builtin("guarded").unwrap();
    let open = Profile::builtin("open").unwrap();
    let narrow = Profile::compile(
        &[r"tool:bash:(poetry run|go run|cargo watch|find|eval|env|echo|git)( .*)?"],
        &[r"tool:bash:.*"],
        &[],
    )
    .unwrap();
    for command in multiplying().into_iter().chain(long()) {
        let shown: String = command.chars().take(60).collect();
        let action = Action::shell("bash", command);
        assert_eq!(
            open.decide(&action, &[]).decision,
            Decision::Allow,
            "{shown}"
        );
        // Whatever they say of it, they say it.
        let _ = guarded.decide(&action, &[]);
        let _ = narrow.decide(&action, &[]);
        let _ = no_removal().decide(&action, &[]);
    }
}

#[test]
fn a_denied_command_behind_many_others_is_not_allowed() {
    for command in multiplying() {
        let command = format!("{command}; {} rm -rf x", "poetry run ".repeat(40));
        let action = Action::shell("bash", command);
        let verdict = no_removal().decide(&action, &[]);
        assert_eq!(verdict.decision, Decision::Deny, "{}", verdict.reason);
    }
}
