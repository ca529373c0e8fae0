//! The options of git that a wildcard covers, by subcommand, and those that it never does.

use super::options::Entry;
use super::options::Operands::Any;
use super::options::Rule::{Beginning, Flag, Harmless, Takes, Word};

/// git, and what its subcommands add. One without an entry here, or an alias, has none of the harmless options.
#[rustfmt::skip]
pub(in crate::permission::shell) const OF_GIT: &[Entry] = &[
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
        Harmless("-P -v -h --no-pager --version --help --no-optional-locks --literal-pathspecs --glob-pathspecs \
            --noglob-pathspecs --icase-pathspecs --no-replace-objects --no-lazy-fetch --no-advice --html-path --man-path \
            --info-path"),
        Takes(Any),
    ]),
    // Those that look at a repository, or change the one that they are in. Letters and names that do something else are
    // named below, and go before these.
    (
        "git add, git annotate, git apply, git am, git archive, git bisect, git blame, git branch, git bundle, git cat-file, git \
        check-attr, git check-ignore, git check-mailmap, git check-ref-format, git checkout, git cherry, git cherry-pick, git \
        clean, git clone, git commit, git count-objects, git describe, git diff, git diff-files, git diff-index, git diff-tree, \
        git fetch, git for-each-ref, git format-patch, git fsck, git gc, git grep, git help, git init, git log, git ls-files, git \
        ls-remote, git ls-tree, git merge, git merge-base, git merge-tree, git mv, git name-rev, git notes, git patch-id, git \
        prune, git pull, git push, git range-diff, git rebase, git reflog, git remote, git repack, git rerere, git reset, git \
        restore, git rev-list, git rev-parse, git revert, git rm, git shortlog, git show, git show-branch, git show-ref, git \
        sparse-checkout, git stage, git stash, git status, git stripspace, git submodule, git switch, git symbolic-ref, git tag, \
        git var, git verify-commit, git verify-tag, git version, git whatchanged, git worktree",
        &[
        Harmless("-a -b -c -d -e -f -g -h -i -j -k -l -m -n -o -p -q -r -s -t -u -v -w -x -z -A -B -C -D -E -F -G -H -I -L -M -N -P -R \
            -S -T -U -W -X -Z"),
        Harmless("--abbrev --abbrev-commit --abbrev-ref --abort --absolute-git-dir --add --after --after-context --aggressive --all \
            --all-match --allow-empty --allow-empty-message --allow-unrelated-histories --also-filter-submodules --always --amend \
            --ancestry-path --anchored --and --annotate-stdin --apply --atomic --author --author-date-order --auto --autosquash \
            --autostash --bare --base --batch --batch-all-objects --batch-check --before --before-context --binary --bisect --both \
            --boundary --branch --branches --broken --cached --candidates --cc --check --cherry --cherry-mark --cherry-pick \
            --children --chmod --cleanup --clear-decorations --color --color-moved --color-moved-ws --color-words --column \
            --combined-all-paths --commit --committer --compact-summary --contains --context --continue --count --cover-letter \
            --create --cumulative --current --cached --date --date-order --debug --decorate --decorate-refs --deepen --default \
            --dense --depth --dereference --detach --diff-algorithm --diff-filter --diff-merges --dirstat --dirty --disk-usage \
            --do-walk --dry-run --edit-todo --eol --email --empty --encoding --end-of-options --error-unmatch --exact-match \
            --exclude --exclude-standard --extended-regexp --fetch --ff --ff-only --file-only --files-with-matches \
            --files-without-match --find-copies --find-copies-harder --find-object --find-renames --first-parent --fixup \
            --fixed-strings --follow --force-rebase --fork-point --format --full --full-diff --full-history --full-index \
            --full-name --function-context --get-all --git-common-dir --graph --grep --grep-reflog --guides --hard --hash --head \
            --heading --heads --histogram --human-readable --ignore-all-space --ignore-blank-lines --ignore-case \
            --ignore-cr-at-eol --ignore-errors --ignore-missing --ignore-other-worktrees --ignore-space-at-eol \
            --ignore-space-change --ignore-submodules --ignored --include --include-untracked --indent-heuristic --independent \
            --index --initial-branch --inline --intent-to-add --inter-hunk-context --interactive --invert-grep --invert-match \
            --ipv4 --ipv6 --irreversible-delete --is-ancestor --is-bare-repository --is-inside-git-dir --is-inside-work-tree \
            --is-shallow-repository --ita-visible-in-index --jobs --keep --keep-base --keep-index --keep-subject --left-only \
            --left-right --line-number --line-porcelain --line-prefix --list --local-env-vars --log --log-size --long \
            --mainline --match --max-age --max-count --max-depth --max-parents --maxdepth --merge --merge-base --merged --merges \
            --message --min-age --min-parents --minimal --mixed --modified --multiple --name --name-only --name-status --new-file \
            --no-abbrev --no-abbrev-commit --no-all --no-annotate --no-auto-gc --no-autosquash --no-autostash --no-binary --no-checkout \
            --no-color --no-column --no-commit --no-contains --no-decorate --no-dual-color --no-edit --no-exclude --no-ext-diff \
            --no-ff --no-follow --no-full --no-gpg-sign --no-graph --no-guess --no-hardlinks --no-indent-heuristic --no-keep-index \
            --no-log --no-merged --no-merges --no-name --no-notes --no-numbered --no-ours --no-patch --no-post-rewrite --no-prefix \
            --no-progress --no-prune --no-quiet --no-rebase --no-recurse-submodules --no-reflogs --no-refresh --no-renames \
            --no-rename-empty --no-relative --no-rerere-autoupdate --no-show-signature --no-signoff --no-single-branch --no-sort \
            --no-squash --no-stat --no-tags --no-textconv --no-thread --no-track --no-untracked --no-verbose --no-verify \
            --no-walk --no-write-fetch-head --non-matching --not --notes --null --null-data --numbered --numstat --object-only \
            --objects --octopus --oneline --only --only-matching --or --origin --origin-only --orphan --others --ours \
            --parents --patch --patch-with-raw --patch-with-stat --patience --perl-regexp --pickaxe-all --pickaxe-regex \
            --points-at --porcelain --prefix --pretty --progress --prune --prune-tags --push --quiet --quit --range-diff --raw \
            --rebase --rebase-merges --recurse-submodules --recursive --reflog --refresh --regexp-ignore-case --relative \
            --relative-date --remotes --remove-empty --renames --renormalize --reroll-count --reset-author --reuse-message --reverse \
            --right-only --root --rotate-to --score --separator --set-upstream --shallow-exclude --shallow-since --shared --short \
            --shortstat --show-current --show-cdup --show-current-patch --show-email --show-function --show-name --show-notes \
            --show-number --show-object-format --show-prefix --show-pulls --show-ref-format --show-scope --show-stash \
            --show-superproject-working-tree --show-toplevel --signoff --simplify-by-decoration --simplify-merges --since \
            --since-as-filter --single-branch --skip --skip-to --soft --sort --source --sparse --squash --src-prefix --staged \
            --stage --stat --stat-count --stat-graph-width --stat-name-width --stat-width --stdin --strategy-option \
            --strip-comments --submodule --subject-prefix --suffix --summary --symbolic --symbolic-full-name --tag --tags --text \
            --theirs --threads --topo-order --track --tracked --tree --unified --unmatched --unmerged --unshallow --unset-upstream \
            --until --untracked --untracked-files --update --utf8 --verbose --verify --version --walk-reflogs --weight --with-tree \
            --word-diff --word-diff-regex --word-regexp --worktree --ws-error-highlight --write-fetch-head --zero --dst-prefix \
            --no-ignored --no-index-version --get-regexp --git-path --git-dir-only --revs-only --no-revs --flags --no-flags --sq \
            --sq-quote --parseopt --local --no-ahead-behind --ahead-behind --find-copies-harder --merge-base --3way --reject-none \
            --create-reflog --omit-empty --no-overlay --overlay --pathspec-file-nul --no-quiet --conflict --unidiff-zero"),
    ]),
    ("git clone, git fetch, git log, git rev-list", &[Harmless("--filter")]),
    ("git cat-file", &[Flag("--text",                            "runs programs that the configuration names")]),
    ("git config", &[
        Harmless("-l -z --get --get-all --get-regexp --get-urlmatch --list --global --system --local --worktree --show-origin \
            --show-scope --null --name-only --type --no-type --bool --int --bool-or-int --bool-or-str --path --expiry-date --default \
            --includes --no-includes --fixed-value --all --regexp --value --url --show-names --no-show-names"),
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
        Flag("--add --add-file --add-virtual-file",             "reads files outside the repository"),
        Word("-c -C",                                           "sets configuration or the folder"),
    ]),
    ("git commit", &[
        Flag("-S",                                              "starts the program that signs"),
        Flag("-c -e -t --reedit-message",                       "starts the editor, or takes its text from a file"),
    ]),
    ("git branch", &[
        Flag("-d -D --delete",                                  "deletes a branch"),
        Flag("-m -M -c -C --move --copy",                       "moves or copies a branch"),
        Flag("-f --force",                                      "overwrites a branch"),
        Flag("-u --set-upstream --set-upstream-to --unset-upstream", "changes where it is pushed to"),
        Flag("--edit-description",                              "starts the editor"),
    ]),
    ("git tag", &[
        Flag("-d --delete -f --force",                          "deletes or overwrites a tag"),
        Flag("-a --annotate -m --message -F --file -e",         "makes a tag"),
        Flag("-s --sign -u --local --local-user -v --verify",           "starts the program that signs"),
        Word("-c -C",                                           "sets configuration or the folder"),
    ]),
    ("git push", &[
        Flag("-f --force --force-with-lease --force-if-includes", "overwrites a branch elsewhere"),
        Flag("-d --delete --mirror --prune",                    "deletes branches elsewhere"),
        Flag("--all --branch --branches --tag --tags",          "pushes more than is named"),
        Flag("--repo",                                          "pushes to another repository"),
        Flag("--signed",                                        "starts the program that signs"),
        Word("-c -C",                                           "sets configuration or the folder"),
    ]),
    ("git cherry-pick, git revert, git merge, git notes", &[Flag("-e", "starts the editor")]),
    ("git rebase", &[Flag("-i --interactive --edit-todo",       "starts the editor")]),
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
        Flag("--build-fake-ancestor --reject",                  "writes a file"),
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
    ("git bisect", &[Word("run visualize view replay",          "runs a command, or takes commands from a file")]),
    ("git submodule", &[
        Word("foreach",                                         "runs a command in each submodule"),
        Word("add set-url update sync init deinit absorbgitdirs set-branch", "changes or fetches a repository"),
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
    ("git worktree", &[Word("add remove move prune lock unlock repair", "changes folders outside this one")]),
    ("gh api, glab api", &[
        Flag("-X --method",                                     "chooses the HTTP method"),
        Flag("-f -F --field --raw-field --input --form",        "sends a body, which makes it a POST"),
    ]),
];
