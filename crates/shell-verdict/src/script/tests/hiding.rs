//! Commands that hide what they run from a deny.

use super::may_run;

/// Commands that run `git push` or `rm -rf x` although none of their words shows it plainly.
const HIDING: &[&str] = &[
    // Files with content given on the command line.
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

/// Commands that must not be mistaken for those.
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

/// Returns whether a deny of `rm -rf` would match the command.
fn may_remove(command: &str) -> bool {
    may_run(command, &["rm -rf"], &["rm", "-rf"])
}

#[test]
fn what_hides_a_command_is_seen() {
    let wrong: Vec<_> = HIDING
        .iter()
        .filter(|command| !may_remove(command))
        .collect();
    assert!(wrong.is_empty(), "{}: {wrong:#?}", wrong.len());
}

#[test]
fn what_hides_nothing_is_not_suspected() {
    let wrong: Vec<_> = PLAIN.iter().filter(|command| may_remove(command)).collect();
    assert!(wrong.is_empty(), "{}: {wrong:#?}", wrong.len());
}
