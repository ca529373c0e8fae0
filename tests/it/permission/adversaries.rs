//! Commands that a narrow pattern matches and that run or write something else: none may be allowed.
//!
//! Those of [`RUN`] are executed by a real bash as well, so that the list is of what happens and not of what we think.

mod judged;
mod listed;
mod more;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use chorus::permission::{Action, Decision, Profile};

use judged::{FINE, JUDGED};

/// Commands that leave the file `pwn`, where the machine has the program.
const RUN: &[(&str, &[&str])] = &[
    (
        r"(test|\[)( .*)?",
        &[
            "test -v 'a[$(touch pwn)]'",
            "test ! -v 'a[$(touch pwn)]'",
            "test x -a -v 'a[$(touch pwn)]'",
            "test -v 'a[`touch pwn`]'",
            "test -R 'a[$(touch pwn)]' -o -v 'a[$(touch pwn)]'",
            r#"test -v "a[\$(touch pwn)]""#,
            r"test -v a\[\$\(touch\ pwn\)\]",
        ],
    ),
    (
        r"(printf|read|declare|typeset|unset|let|getopts|export|readonly|mapfile|readarray|wait|local)( .*)?",
        &[
            "printf -v 'a[$(touch pwn)]' x",
            "printf '-va[$(touch pwn)]' x",
            "read 'a[$(touch pwn)]'",
            "read -a b 'a[$(touch pwn)]' -r",
            "declare 'a[$(touch pwn)]=1'",
            "typeset 'a[$(touch pwn)]=1'",
            "declare -i 'x=a[$(touch pwn)]'",
            "unset 'a[$(touch pwn)]'",
            "let 'a[$(touch pwn)]=1'",
            "let x='a[$(touch pwn)]'",
            "readonly 'a[$(touch pwn)]=1'",
            "getopts a 'b[$(touch pwn)]' -a",
        ],
    ),
    (
        r"(jobs|compgen|complete|trap|enable|hash|command|builtin|exec|eval|source|\.|coproc|bind|shopt|alias|set|fc)( .*)?",
        &[
            "jobs -x touch pwn",
            "compgen -W '$(touch pwn)'",
            "compgen -C 'touch pwn'",
            "compgen -P x -W '`touch pwn`'",
            "trap 'touch pwn' EXIT",
            "trap 'touch pwn' 0",
            "command touch pwn",
            "command -p touch pwn",
            "builtin eval 'touch pwn'",
            "builtin command touch pwn",
            "exec touch pwn",
            "exec -a ls touch pwn",
            "eval touch pwn",
            "source p.sh",
            ". ./p.sh",
            "coproc touch pwn",
        ],
    ),
    (
        "sed( .*)?",
        &[
            "sed p --expr='1e touch pwn' f",
            "sed p --e='1e touch pwn' f",
            "sed --expression='1e touch pwn' f",
            "sed -n -e p -e '1e touch pwn' f",
            "sed -ne '1e touch pwn' f",
            "sed '1e touch pwn' f",
            "sed '1etouch pwn' f",
            "sed -n '$e touch pwn' f",
            "sed 's/.*/touch pwn/e' f",
            "sed 's|.*|touch pwn|eg' f",
            "sed 'w pwn' f",
            "sed 's/a/b/w pwn' f",
            "sed -f s.sed f",
            "sed --fil=s.sed f",
            "sed -nf s.sed f",
            "sed -Ef s.sed f",
            "sed -s -f s.sed f",
            "sed -n -- '1e touch pwn' f",
            "sed 'p;e touch pwn' f",
            "sed '1{e touch pwn' -e '}' f",
            "sed -i.bak '1w pwn' f",
            "sed --in-pl 'w pwn' f",
        ],
    ),
    (
        "(awk|gawk|mawk)( .*)?",
        &[
            r#"awk 'BEGIN{system("touch pwn")}'"#,
            r#"awk 'BEGIN{"touch pwn"|getline}'"#,
            r#"awk 'BEGIN{print "" | "touch pwn"}'"#,
            r#"awk 'BEGIN{print > "pwn"}'"#,
            r#"awk -- 'BEGIN{system("touch pwn")}'"#,
            r#"awk -- '-1{system("touch pwn")}' f"#,
            "awk -f p.awk f",
            "awk -fp.awk f",
            "awk -F: -f p.awk f",
            r#"gawk --source='BEGIN{system("touch pwn")}'"#,
            r#"gawk -e'/a/{system("touch pwn")}' f"#,
            r#"gawk -e 'BEGIN{system("touch pwn")}'"#,
            "gawk --fil=p.awk f",
            "gawk -E p.awk",
            "gawk -i p.awk 1 f",
            "gawk --incl=p.awk 1 f",
            r#"gawk '@include "p.awk"'"#,
            r#"gawk 'BEGIN{f="system"; @f("touch pwn")}'"#,
            "mawk -W exec p.awk",
            "mawk -Wexec p.awk",
            "gawk -opwn 1 f",
            "gawk --pretty=pwn 1 f",
            "gawk --dump=pwn 1 f",
            "gawk -dpwn 1 f",
        ],
    ),
    (
        "(ssh-agent|sg|setarch|linux64|unshare|chrt|nice|ionice|setsid|nohup|stdbuf|timeout|env|xargs|taskset|prlimit|setpriv|strace|flock|script|time|choom|runuser|su|chroot|nsenter|busybox|i386|x86_64|uclampset|logsave|systemd-run|ldd|choom)( .*)?",
        &[
            "ssh-agent touch pwn",
            "ssh-agent -- touch pwn",
            "sg root -c 'touch pwn'",
            "sg root 'touch pwn'",
            "setarch x86_64 touch pwn",
            "setarch -R touch pwn",
            "linux64 touch pwn",
            "x86_64 touch pwn",
            "unshare touch pwn",
            "chrt -o 0 touch pwn",
            "choom -n 0 -- touch pwn",
            "nice touch pwn",
            "ionice -c3 touch pwn",
            "setsid -w touch pwn",
            "nohup touch pwn",
            "stdbuf -o0 touch pwn",
            "timeout 5 touch pwn",
            "env touch pwn",
            "env -S 'touch pwn'",
            "xargs touch pwn",
            "taskset 1 touch pwn",
            "prlimit --nofile=64 touch pwn",
            "setpriv touch pwn",
            "strace -o x touch pwn",
            "flock x touch pwn",
            "flock x -c 'touch pwn'",
            "script -qc 'touch pwn' x",
            "script -q x -c 'touch pwn'",
            "time touch pwn",
            "runuser -u root -- touch pwn",
            "busybox touch pwn",
        ],
    ),
    (
        "(find|sort|split|tar|git|man|make|gmake|less|dd|tee|uniq|shuf|zip|rg|patch|install|vim|ed|bc|perl|python3|node|sqlite3|curl|cargo|gdb|file|date|tree|jq|openssl|m4|php|ruby|lua)( .*)?",
        &[
            "find . -maxdepth 0 -exec touch pwn ';'",
            "find . -maxdepth 0 -ok touch pwn ';'",
            "find . -maxdepth 0 -execdir touch pwn ';'",
            "find . -maxdepth 0 -fprint pwn",
            "find . -maxdepth 0 -fprintf pwn x",
            "find . -maxdepth 0 -fls pwn",
            "find . -maxdepth 0 -fprint0 pwn",
            "sort -o pwn f",
            "sort --out=pwn f",
            "sort -uo pwn f",
            "split --filter='touch pwn' f",
            "split --fil='touch pwn' f",
            "tar -cf x.tar f --checkpoint=1 --checkpoint-action=exec='touch pwn'",
            "tar -cf x.tar f --checkpoint=1 --checkpoint-ac=exec='touch pwn'",
            "tar -cf x.tar f -I 'sh p.sh'",
            "tar -cf x.tar f --use='sh p.sh'",
            "tar cfI x.tar 'sh p.sh' f",
            "tar -cf pwn -T f",
            "git -c alias.x='!touch pwn' x",
            "git --config-env=a.b=PATH --exec-path=. x",
            "git -c core.pager='touch pwn' --paginate version",
            "git config -f pwn a.b c",
            "git init --template=. pwn",
            "git grep --no-index --open-files-in-pager='touch pwn;:' a",
            "git grep --no-index -O'touch pwn;:' a",
            "git ls-remote --upload-pack='touch pwn;:' .",
            "git ls-remote ext::'touch pwn'",
            "git clone -u 'touch pwn;:' . c",
            "git diff --no-index --output=pwn f p.sh",
            "git diff --no-index --outp=pwn f p.sh",
            "git archive --remote=. --exec='touch pwn;:' HEAD",
            "make --eval='x:;touch pwn' x",
            "make --ev='x:;touch pwn' x",
            "make -E 'x:;touch pwn' x",
            "make -f p.mk",
            "make --fil=p.mk",
            "dd if=f of=pwn",
            "uniq f pwn",
            "shuf -o pwn f",
            "shuf --out=pwn f",
            "patch -o pwn f p.diff",
            "perl -e 'open(F,\">pwn\")'",
            "perl '-mPOSIX;open(F,\">pwn\");' f",
            "perl '-Mstrict;open(F,\">pwn\");' f",
            "python3 -c 'open(\"pwn\",\"w\")'",
            "python3 -Ic 'open(\"pwn\",\"w\")'",
            "node -e 'require(\"fs\").writeFileSync(\"pwn\",\"\")'",
            "node -r ./p.js f",
            "node --require=./p.js f",
            "node --import=./p.js f",
            "sqlite3 :memory: \"select writefile('pwn','x')\"",
            "sqlite3 -cmd '.shell touch pwn' :memory: 'select 1'",
            "sqlite3 :memory: '.shell touch pwn'",
            "sqlite3 :memory: '.system touch pwn'",
            "sqlite3 :memory: \"SELECT edit('x','touch pwn;:')\"",
            "curl -o pwn file:///dev/null",
            "curl -sopwn file:///dev/null",
            "curl --outp pwn file:///dev/null",
            "curl file:///dev/null -w '%output{pwn}x'",
            "curl file:///dev/null --stderr pwn",
            "curl file:///dev/null --trace-ascii pwn",
            "curl file:///dev/null -D pwn",
            "curl file:///dev/null -K p.curl",
            "curl file:///dev/null --libcurl pwn",
            "vim -es -c '!touch pwn' -c q",
            "vim -es '+!touch pwn' +q",
            "gdb -batch -ex 'shell touch pwn'",
            "m4 m.m4",
            "openssl version -writerand pwn",
            "openssl rand -out pwn 4",
            "tree -o pwn",
            "zip -q x.zip f -T -TT 'touch pwn;:'",
            "install f pwn -s --strip-program=touch",
        ],
    ),
];

fn decision(pattern: &str, command: &str) -> (Decision, String) {
    let pattern = format!("tool:bash:{pattern}");
    let profile = Profile::compile(&[&pattern], &["tool:bash:.*"], &[]).unwrap();
    let verdict = profile.decide(&Action::shell("bash", command), &[]);
    (verdict.decision, verdict.reason)
}

fn each<'a>(table: &'a [(&str, &[&str])]) -> impl Iterator<Item = (&'a str, &'a str)> {
    let of_one =
        |(pattern, commands): &'a (&str, &[&str])| commands.iter().map(|one| (*pattern, *one));
    table.iter().flat_map(of_one)
}

fn every_run() -> impl Iterator<Item = (&'static str, &'static str)> {
    each(RUN).chain(each(more::RUN))
}

fn every_attack() -> impl Iterator<Item = (&'static str, &'static str)> {
    every_run()
        .chain(each(JUDGED))
        .chain(each(more::JUDGED))
        .chain(each(listed::JUDGED))
}

#[test]
fn nothing_that_only_a_wildcard_covers_is_allowed() {
    let attacks: Vec<_> = every_attack().collect();
    assert!(attacks.len() >= 150, "{}", attacks.len());
    let allowed: Vec<String> = attacks
        .into_iter()
        .map(|(pattern, command)| (command, decision(pattern, command)))
        .filter(|(_, (decision, _))| *decision != Decision::Ask)
        .map(|(command, (decision, reason))| format!("{decision}: {command}: {reason}"))
        .collect();
    assert!(
        allowed.is_empty(),
        "{}:\n{}",
        allowed.len(),
        allowed.join("\n")
    );
}

#[test]
fn what_people_allow_stays_allowed() {
    let refused: Vec<String> = each(FINE)
        .chain(each(more::FINE))
        .chain(each(listed::FINE))
        .map(|(pattern, command)| (command, decision(pattern, command)))
        .filter(|(_, (decision, _))| *decision != Decision::Allow)
        .map(|(command, (_, reason))| format!("{command}: {reason}"))
        .collect();
    assert!(
        refused.is_empty(),
        "{}:\n{}",
        refused.len(),
        refused.join("\n")
    );
}

/// What the attacks find in their folder.
fn furnish(work: &Path) {
    for (name, text) in [
        ("f", "a\nb\n"),
        ("p.sh", "touch pwn\n"),
        ("p.awk", "BEGIN { system(\"touch pwn\") }\n"),
        ("s.sed", "1e touch pwn\n"),
        ("p.mk", "x:;touch pwn\n"),
        ("p.js", "require('fs').writeFileSync('pwn', '')\n"),
        ("p.curl", "output = pwn\n"),
        ("p.diff", "--- f\n+++ f\n@@ -1,2 +1,2 @@\n-a\n+c\n b\n"),
        ("m.m4", "syscmd(touch pwn)\n"),
    ] {
        fs::write(work.join(name), text).unwrap();
    }
}

#[test]
fn the_attacks_are_real() {
    let home = tempfile::tempdir().unwrap();
    let (mut ran, mut not_run) = (Vec::new(), Vec::new());
    for (number, (_, command)) in every_run().enumerate() {
        let work = home.path().join(number.to_string());
        fs::create_dir(&work).unwrap();
        furnish(&work);
        let status = Command::new("timeout")
            .args(["-k", "1", "10", "bash", "-c", command])
            .current_dir(&work)
            .env("HOME", &work)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        if status.is_ok() && work.join("pwn").exists() {
            ran.push(command)
        } else {
            not_run.push(command)
        }
    }
    eprintln!("{} ran; not run here:\n{}", ran.len(), not_run.join("\n"));
    // What needs nothing but bash, sed, find and sort is there on every machine.
    assert!(
        ran.len() >= 50,
        "only {} ran; not run:\n{}",
        ran.len(),
        not_run.join("\n")
    );
}
