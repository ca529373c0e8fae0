//! Repositories as people have them: whatever programs write into `.git/config`, the git tools work, or say by name why not.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::lab::Lab;

/// What editors, forges and git itself write, each program with its lines.
const WRITTEN: &[(&str, &str)] = &[
    (
        "git init and git clone",
        "[core]\n\tquotepath = off\n\tabbrev = 12\n\tsharedRepository = group\n\tlongpaths = true\n\thideDotFiles = dotGitOnly\n\tcommentChar = \";\"\n\tprotectNTFS = true\n[remote \"origin\"]\n\turl = git@github.com:ada/lab.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\ttagOpt = --no-tags\n\tprune = true\n\tskipDefaultUpdate = true\n\tfollowRemoteHEAD = warn\n\tmirror = false\n[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n\trebase = true\n\tpushRemote = origin\n\tdescription = \"two\\nlines\"\n[remote]\n\tpushDefault = origin\n",
    ),
    (
        "Visual Studio Code and its extensions",
        "[branch \"feat/a#1\"]\n\tvscode-merge-base = origin/main\n\tgithub-pr-owner-number = \"ada#lab#12\"\n\tgithub-pr-base-branch = ada#lab#main\n\tgk-merge-base = origin/main\n\tgk-last-accessed = 2026-11-25T10:00:00.000Z\n[remote \"ada\"]\n\turl = https://github.com/ada/lab\n\tgithub-pr-remote = true\n",
    ),
    (
        "gh and GitHub Desktop",
        "[remote \"origin\"]\n\tgh-resolved = base\n[remote \"upstream\"]\n\turl = https://github.com/up/lab.git\n\tgh-resolved = up/lab\n[branch \"fix\"]\n\tgh-merge-base = main\n[lfs]\n\trepositoryformatversion = 0\n[lfs \"https://github.com/ada/lab.git/info/lfs\"]\n\taccess = basic\n\tlocksverify = true\n[submodule]\n\tactive = .\n\trecurse = true\n",
    ),
    (
        "git submodule",
        "[submodule \"lib/x\"]\n\turl = https://github.com/ada/x.git\n\tactive = true\n\tupdate = rebase\n\tignore = dirty\n\tbranch = main\n\tfetchRecurseSubmodules = false\n\tshallow = true\n",
    ),
    (
        "git maintenance, scalar, git gc",
        "[maintenance]\n\tauto = false\n\tstrategy = incremental\n[gc]\n\tauto = 0\n\twriteCommitGraph = true\n[fetch]\n\twriteCommitGraph = true\n\tprune = true\n[feature]\n\tmanyFiles = true\n[index]\n\tthreads = true\n\tversion = 4\n\tsparse = false\n[core]\n\tpreloadIndex = true\n\tuntrackedCache = true\n\tfsmonitor = true\n\tmultiPackIndex = true\n\tcommitGraph = true\n\tsparseCheckout = false\n[pack]\n\tuseSparse = true\n\tthreads = 1\n[log]\n\texcludeDecoration = refs/prefetch/*\n",
    ),
    (
        "people",
        "[user]\n\tname = \"Ada \\\"the\\\" L.\" # me\n\temail = ada@example.org\n\tsigningKey = ~/.ssh/id.pub\n[commit]\n\tgpgSign = true\n\ttemplate = .gitmessage\n[tag]\n\tgpgSign\n[gpg]\n\tformat = ssh\n[push]\n\tdefault = current\n\tautoSetupRemote = true\n[pull]\n\trebase = true\n\tff = only\n[rebase]\n\tautoStash = true\n[merge]\n\tconflictStyle = zdiff3\n\ttool = meld\n[diff]\n\talgorithm = histogram\n\ttool = meld\n[diff \"rust\"]\n\txfuncname = \"^fn .*\"\n[color]\n\tui = auto\n[color \"diff\"]\n\tmeta = yellow\n[rerere]\n\tenabled = true\n[blame]\n\tignoreRevsFile = .git-blame-ignore-revs\n[alias]\n\tst = status --short\n[pager]\n\tlog = false\n[safe]\n\tdirectory = *\n[i18n]\n\tcommitEncoding = UTF-8\n[advice]\n\tdetachedHead = false\n[http]\n\tpostBuffer = 1024\n[http \"https://github.com/\"]\n\textraHeader = \"X-A: b\"\n[init]\n\tdefaultBranch = main\n[receive]\n\tdenyCurrentBranch = warn\n",
    ),
    (
        "git-flow, Git Town, Gerrit, git-svn, GitButler, git-annex",
        "[gitflow \"branch\"]\n\tmaster = main\n\tdevelop = develop\n[gitflow \"prefix\"]\n\tfeature = feature/\n[git-town]\n\tmain-branch = main\n[gerrit]\n\tcreateChangeId = true\n[svn-remote \"svn\"]\n\turl = https://svn.example/a\n\tfetch = :refs/remotes/git-svn\n[gitbutler \"project\"]\n\ttargetBranch = origin/main\n[annex]\n\tuuid = 1-2\n\tversion = 10\n",
    ),
    (
        "notations that git reads",
        "[CORE] bare = FALSE ; not bare\n\tIgnoreCase\n[branch.old]\n\tmerge = refs/heads/old\n[x \"a \\\"b\\\" \\\\c\"]\n\tk = one \\\n\ttwo\n; end\n#\n[empty]\n",
    ),
];

/// Keys that run a program or lead elsewhere, as programs write them, and what is said of them.
const REFUSED: &[(&str, &str, &str)] = &[
    (
        "husky",
        "[core]\n\thooksPath = .husky/_\n",
        "sets `core.hookspath`, which runs a program",
    ),
    (
        "LFS",
        "[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n\tsmudge = git-lfs smudge -- %f\n",
        "sets `filter.lfs.clean`, which runs a program",
    ),
    (
        "a credential helper",
        "[credential]\n\thelper = store\n",
        "sets `credential.helper`, which runs a program",
    ),
    (
        "another server",
        "[url \"https://a.example/\"]\n\tinsteadOf = https://github.com/\n",
        "sets `url.https://a.example/.insteadof`, which leads git to",
    ),
    (
        "a partial clone",
        "[remote \"origin\"]\n\tpromisor = true\n\tpartialclonefilter = blob:none\n",
        "sets `remote.origin.promisor`, which leaves objects on the server",
    ),
    (
        "a sparse checkout",
        "[core]\n\tsparseCheckout = true\n",
        "sets `core.sparsecheckout`, which leaves files out of the folder",
    ),
    (
        "a driver",
        "[merge \"x\"]\n\tname = x\n\tdriver = x %A\n",
        "sets `merge.x.driver`, which runs a program",
    ),
    ("no notation", "[core\n", "is not in git's notation"),
];

fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(arguments).current_dir(folder);
    command
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1");
    for (key, value) in [("NAME", "Ada"), ("EMAIL", "ada@example.org")] {
        command.env(format!("GIT_AUTHOR_{key}"), value);
        command.env(format!("GIT_COMMITTER_{key}"), value);
    }
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "git {arguments:?}: {told}");
    String::from_utf8(output.stdout).unwrap()
}

/// A lab whose repository git made, with a commit, and `lines` in its configuration.
fn lab(options: &[&str], lines: &str) -> Lab {
    let lab = Lab::new();
    let files = lab.files();
    lab.write("a.txt", "one\n");
    git(&files, &[&["init", "-q", "-b", "main"], options].concat());
    git(&files, &["add", "."]);
    git(&files, &["commit", "-q", "-m", "Begin"]);
    let path = files.join(".git/config");
    let usual = std::fs::read_to_string(&path).unwrap();
    std::fs::write(path, format!("{usual}{lines}")).unwrap();
    lab
}

#[tokio::test]
async fn whatever_other_programs_write_the_tools_work() {
    for (program, lines) in WRITTEN {
        let lab = lab(&[], lines);
        // git is the referee of what is configuration at all.
        git(&lab.files(), &["config", "--list", "--local"]);
        lab.write("a.txt", "two\n");
        let status = lab.does("git_status", json!({})).await;
        assert_eq!(status.trim(), "On branch main\n M a.txt", "{program}");
        assert!(
            lab.does("git_diff", json!({})).await.contains("+two"),
            "{program}"
        );
        lab.does("git_commit", json!({"message": "Change"})).await;
        assert!(
            lab.does("git_log", json!({})).await.contains("Change"),
            "{program}"
        );
        lab.does("git_branch", json!({"name": "side"})).await;
        lab.does("git_checkout", json!({"ref": "side"})).await;
        let path = lab.files().join(".git/config");
        let kept = std::fs::read_to_string(path).unwrap();
        assert!(kept.ends_with(lines), "{program}");
        assert_eq!(
            git(&lab.files(), &["log", "--format=%s"]),
            "Change\nBegin\n",
            "{program}"
        );
    }
}

#[tokio::test]
async fn what_runs_programs_or_leads_elsewhere_is_refused_by_name() {
    for (program, lines, said) in REFUSED {
        let lab = lab(&[], lines);
        let told = lab.refuses("git_status", json!({})).await;
        assert!(
            told.contains(said) && told.contains("line "),
            "{program}: {told}"
        );
    }
}

#[tokio::test]
async fn another_form_of_storage_names_the_tool_that_works() {
    // Git before 2.45 cannot make reftables, so their lines are written here.
    let reftable = "[core]\n\trepositoryformatversion = 1\n[extensions]\n\trefstorage = reftable\n";
    let sha256: &[&str] = &["--object-format=sha256"];
    for (options, lines, said) in [
        (sha256, "", "keeps objects in another form than SHA-1"),
        (&[], reftable, "keeps branches in another form than files"),
    ] {
        let lab = lab(options, lines);
        for tool in ["git_status", "git_log", "git_diff"] {
            let told = lab.refuses(tool, json!({})).await;
            assert!(told.contains(said), "{said}: {told}");
            assert!(
                told.ends_with("use `git` with the tool `bash` there"),
                "{told}"
            );
        }
    }
}

#[tokio::test]
async fn names_in_any_encoding_and_long_files_do_not_matter() {
    let lab = lab(&[], "");
    let path = lab.files().join(".git/config");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.extend(b"[user]\n\tname = J\xfcrgen\n");
    for number in 0..3_000 {
        let lines = format!("[branch \"topic-{number}\"]\n\tvscode-merge-base = origin/main\n");
        bytes.extend(lines.into_bytes());
    }
    std::fs::write(path, bytes).unwrap();
    let status = lab.does("git_status", json!({})).await;
    assert!(status.starts_with("On branch main"), "{status}");
}
