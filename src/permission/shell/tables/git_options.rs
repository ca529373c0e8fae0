//! The options of git and of the forges' clients that a wildcard never covers, by subcommand.

use super::options::Risky::{self, Beginning, Flag, Word};

/// git, and what holds for one subcommand in place of what holds for all: `git *`.
#[rustfmt::skip]
pub(in crate::permission::shell) const OF_GIT: &[(&str, &[Risky])] = &[
    ("git", &[
        Flag("--output --output-directory",                     "writes a file"),
        Flag("--ext-diff --textconv --filters",                 "runs programs that the configuration names"),
        Flag("--open-files-in-pager --extcmd --command --tool", "runs the program named"),
        Flag("--upload-pack --receive-pack --upload-archive --exec", "runs the program named at the other end"),
        Flag("--index-filter --tree-filter --msg-filter",       "runs a command for each commit"),
        Flag("--exec-path",                                     "takes git's own programs from another folder"),
        Flag("--strategy",                                      "runs the program `git-merge-<name>`"),
        Flag("--config --config-env",                           "sets configuration, which may name programs"),
        Flag("--template",                                      "copies hooks from a folder"),
        Flag("--git-dir --separate-git-dir --work-tree --super-prefix", "uses another repository"),
        Flag("--remote",                                        "asks another repository"),
        Flag("--no-index --contents",                           "reads files outside the repository"),
        Flag("--paginate --edit --editor",                      "starts the pager or the editor"),
        Flag("--gpg-sign --show-signature",                     "starts the program that signs"),
        Beginning("ext::",                                      "an address that is a command"),
    ]),
    ("git clone", &[
        Flag("-u",                                              "runs the program named at the other end"),
        Flag("-c",                                              "sets configuration, which may name programs"),
        Word("-c -C",                                           "sets configuration or the folder"),
    ]),
    ("git grep", &[
        Flag("-O",                                              "opens the files found in the program named"),
        Word("-c -C",                                           "sets configuration or the folder"),
    ]),
    ("git rebase", &[
        Flag("-x",                                              "runs a command after each commit"),
        Flag("-s",                                              "runs the program `git-merge-<name>`"),
        Flag("-S",                                              "starts the program that signs"),
        Word("-c -C",                                           "sets configuration or the folder"),
    ]),
    ("git difftool", &[
        Flag("-x -t",                                           "runs the program named"),
        Word("-c -C",                                           "sets configuration or the folder"),
    ]),
    ("git archive, git format-patch, git bugreport", &[
        Flag("-o",                                              "writes a file"),
        Flag("--add-file",                                      "reads files outside the repository"),
        Word("-c -C",                                           "sets configuration or the folder"),
    ]),
    // After these subcommands `-c` and `-C` are others and harmless: `git log -c`.
    ("git log, git diff, git show, git status, git sparse-checkout", &[]),
    ("git commit", &[Flag("-S",                                  "starts the program that signs")]),
    ("git branch", &[
        Flag("-d -D --delete",                                  "deletes a branch"),
        Flag("-m -M -c -C --move --copy",                       "moves or copies a branch"),
        Flag("-f --force",                                      "overwrites a branch"),
        Flag("-u --set-upstream-to --unset-upstream",           "changes where it is pushed to"),
        Flag("--edit-description",                              "starts the editor"),
    ]),
    ("git tag", &[
        Flag("-d --delete -f --force",                          "deletes or overwrites a tag"),
        Flag("-a --annotate -m --message -F --file -e",         "makes a tag"),
        Flag("-s --sign -u --local-user -v --verify",           "starts the program that signs"),
        Word("-c -C",                                           "sets configuration or the folder"),
    ]),
    ("git push", &[
        Flag("-f --force --force-with-lease --force-if-includes", "overwrites a branch elsewhere"),
        Flag("-d --delete --mirror --prune",                    "deletes branches elsewhere"),
        Flag("--all --branches --tags",                         "pushes more than is named"),
        Flag("--repo",                                          "pushes to another repository"),
        Flag("--signed",                                        "starts the program that signs"),
        Word("-c -C",                                           "sets configuration or the folder"),
    ]),
    ("git merge, git pull", &[
        Flag("-s",                                              "runs the program `git-merge-<name>`"),
        Flag("-S --verify-signatures",                          "starts the program that signs"),
        Word("-c -C",                                           "sets configuration or the folder"),
    ]),
    ("git cherry-pick, git revert, git am, git commit-tree", &[
        Flag("-S",                                              "starts the program that signs"),
        Word("-c -C",                                           "sets configuration or the folder"),
    ]),
    ("git apply", &[
        Flag("--unsafe-paths --directory",                      "writes outside the folder"),
        Flag("--build-fake-ancestor",                           "writes a file"),
    ]),
    ("git checkout-index, git read-tree, git fast-export", &[
        Flag("--prefix --index-output --export-marks",          "writes files elsewhere"),
        Word("-c -C",                                           "sets configuration or the folder"),
    ]),
    ("git mailsplit", &[
        Flag("-o",                                              "writes files elsewhere"),
        Word("-c -C",                                           "sets configuration or the folder"),
    ]),
    ("git interpret-trailers", &[
        Flag("--in-place",                                      "changes files"),
        Word("-c -C",                                           "sets configuration or the folder"),
    ]),
    ("git help", &[
        Flag("-w --web -i --info",                              "starts another program"),
        Word("-c -C",                                           "sets configuration or the folder"),
    ]),
    ("git add, git replace", &[
        Flag("-e",                                              "starts the editor"),
        Word("-c -C",                                           "sets configuration or the folder"),
    ]),
    ("git bisect", &[Word("run",                                "runs a command for each commit")]),
    ("git submodule", &[
        Word("foreach",                                         "runs a command in each submodule"),
        Word("add set-url update",                              "fetches a repository from an address"),
    ]),
    ("git maintenance", &[Word("start register unregister stop", "runs later, by itself")]),
    ("git bundle", &[Word("create unbundle",                    "writes a file or objects")]),
    ("git notes", &[Word("edit merge add append copy remove prune", "changes notes")]),
    ("git stash", &[Word("drop clear pop",                      "deletes what was put away")]),
    ("git remote", &[
        Word("add set-url rename rm remove",                    "changes the addresses"),
        Word("set-head set-branches prune update",              "changes what is followed"),
    ]),
    ("git reflog", &[Word("expire delete",                      "deletes history")]),
    ("git worktree", &[Word("add remove move prune",            "changes folders outside this one")]),
    ("git *", &[Word("-c -C",                                   "sets configuration or the folder")]),
    ("gh api, glab api", &[
        Flag("-X --method",                                     "chooses the HTTP method"),
        Flag("-f -F --field --raw-field --input --form",        "sends a body, which makes it a POST"),
    ]),
];
