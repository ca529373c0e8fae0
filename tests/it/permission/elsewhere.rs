//! What `guarded` denies however it is wrapped, and what it must not take for a write.

use chorus::permission::{Action, Decision, Profile};

/// Commands that write elsewhere through something else.
const WRITES: &[&str] = &[
    "ssh-agent git push",
    "sg root -c 'git push'",
    "sg root 'git push'",
    "tini -- git push",
    "dumb-init git push",
    "catatonit -- git push",
    "pee 'git push'",
    "ifne git push",
    "faketime now git push",
    "setarch -R git push",
    "choom -n 0 -- git push",
    "mispipe 'git push' true",
    "jobs -x git push",
    "i386 git push",
    "systemd-run --user git push",
    "cargo watch -s 'git push'",
    "tar cf a.tar b --checkpoint=1 --checkpoint-action=exec='git push'",
    "tar cf a.tar b --checkpoint=1 --checkpoint-act=exec='git push'",
    "tar xf a.tar --to-command='git push'",
    "tar cf a.tar b -I 'git push'",
    "sed '1e git push' f",
    "sed '1egit push' f",
    "sed --expr='1e git push' f",
    "sed -n -e p -e '$e git push' f",
    "sed 's/.*/git push/e' f",
    "man -P 'git push' ls",
    "man --pag='git push' ls",
    "less +'!git push' f",
    "vim +'!git push' f",
    "test -v 'a[$(git push)]'",
    "[ -v 'a[$(git push)]' ]",
    "printf -v 'a[$(git push)]' x",
    "compgen -W '$(git push)'",
    "compgen -C 'git push'",
    "cat <<EOF\n`git push`\nEOF",
    "env >f git push",
    "git >f push",
    "git 2>/dev/null push origin main",
    "git >&2 2>f push",
    "coproc >f git push",
    "if git > f push; then ls; fi",
    "[[ a =~ `git push` ]]",
    "[[ a == x*$(git push) ]]",
    "echo ${x:-`git push`}",
    "echo \"${HOME#$(git push)}\"",
    "GH_PAGER='git push' gh pr list",
    "GIT_PROXY_COMMAND='git push' git fetch",
    "SYSTEMD_PAGER='git push' journalctl",
    "complete -C 'git push' x",
    "read 'a[$(git push)]'",
    "declare 'a[$(git push)]=1'",
    "unset 'a[$(git push)]'",
    "let 'a[$(git push)]=1'",
    "mapfile -C 'git push' -c 1 x",
    "trap 'git push' EXIT",
    "bind -x '\"\\C-a\": git push'",
    "rsync -e 'sh -c \"git push\"' a b:",
    "rsync --rsh='git push' a b:",
    "scp -o ProxyCommand='git push' a b:",
    "sort --compress-prog='git push' f",
    "split --filter='git push' f",
    "make --eval='x:;git push' x",
    "git clone -u 'git push' . x",
    "git grep -O'git push' x",
    "git ls-remote --upload-pack='git push' .",
    "git rebase -x 'git push'",
    "some-unknown-wrapper git push",
    "some-unknown-wrapper --flag -- git -C x push",
    "some-unknown-wrapper --run='git push'",
    "some-unknown-wrapper gh pr create",
    "some-unknown-wrapper /usr/bin/gh release create v1",
    "some-unknown-wrapper 'gh pr merge 3'",
    "curl -X POST https://api.gitHub.com/x",
    "curl -X POST https://API.GITHUB.COM/x",
    "curl -XPOST https://api.github%2ecom/x",
    "curl -X POST 'https://api.git{hub,x}.com/x'",
    "curl -X POST 'https://api.git[h-h]ub.com/x'",
    "curl -sd a=b https://api.GitHub.com/x",
    "curl --dat a=b https://api.github.com/x",
    "curl --requ PURGE https://api.github.com/x",
    "curl -X \"$M\" https://api.github.com/x",
    "curl -K x",
    "curl -K x https://api.github.com/x",
    "curl --json '{}' https://github.example/api/v3/x",
    "http api.github.com/x a=b",
    "xh post api.GitHub.com/x",
];

/// Commands that read, or that only speak of writing.
const READS: &[&str] = &[
    "echo git push",
    "echo 'git push'",
    "printf '%s\\n' 'git push'",
    "printf '$(git push)'",
    "grep -rn 'git push' docs",
    "rg 'gh pr create'",
    "git commit -m 'explain git push'",
    "git log --grep='git push'",
    "find . -name 'git push'",
    "sed 's/a/git push/' README.md",
    "sed -n '/git push/p' README.md",
    "apt-get install -y git gh curl",
    "pip install git gh",
    "brew install gh git-lfs",
    "which git gh",
    "man git-push",
    "less README.md",
    "less +/push README.md",
    "tar czf a.tgz src",
    "tar cf a.tar b -I 'zstd -19'",
    "rsync -a -e 'ssh -p 22' a b:",
    "cargo test git_push",
    "cargo nextest run -E 'test(/^tools::git/)'",
    "pytest -k 'git and push'",
    "python3 script.py 'git status'",
    "npm install gh-pages",
    "make push",
    "test -v HOME",
    "[ -f x ] && cat x",
    "read -r line",
    "declare -i n=1",
    "curl https://api.github.com/repos/a/b",
    "curl -sSf -H 'Accept: x' https://API.github.com/repos/a/b",
    "curl -X GET https://api.github.com/repos/a/b",
    "curl -d a=b https://example.org/x",
    "curl --retry 3 https://api.github.com/x",
    "wget -q https://api.github.com/x",
];

fn decisions(commands: &[&str], expected: Decision) -> Vec<String> {
    let guarded = Profile::builtin("guarded").unwrap();
    commands
        .iter()
        .map(|command| {
            (
                command,
                guarded.decide(&Action::shell("bash", *command), &[]),
            )
        })
        .filter(|(_, verdict)| verdict.decision != expected)
        .map(|(command, verdict)| format!("{command}: {} ({})", verdict.decision, verdict.reason))
        .collect()
}

#[test]
fn guarded_denies_writes_through_what_runs_them() {
    let wrong = decisions(WRITES, Decision::Deny);
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn guarded_allows_what_only_speaks_of_writing() {
    let wrong = decisions(READS, Decision::Allow);
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}
