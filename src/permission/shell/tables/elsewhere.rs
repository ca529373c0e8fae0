//! Which commands of git, the forges' clients, doctl and bare HTTP clients change nothing elsewhere.
//!
//! What is listed reads. Everything else counts as a write: an unknown subcommand may be an alias, an extension or
//! something that a later version adds.

/// git's subcommands that cannot change the contents of another repository.
pub(in crate::permission::shell) const GIT_LOCAL: &str = "\
    add am annotate apply archive bisect blame branch bundle cat-file check-attr check-ignore check-mailmap \
    check-ref-format checkout checkout-index cherry cherry-pick citool clean clone column commit commit-graph \
    commit-tree config count-objects credential describe diff diff-files diff-index diff-tree difftool fast-export \
    fast-import fetch fetch-pack filter-branch fmt-merge-msg for-each-ref for-each-repo format-patch fsck gc \
    get-tar-commit-id grep gui hash-object help init init-db instaweb interpret-trailers log ls-files ls-remote \
    ls-tree mailinfo mailsplit maintenance merge merge-base merge-file merge-index merge-tree mergetool mktag mktree \
    multi-pack-index mv name-rev notes pack-objects pack-redundant pack-refs patch-id prune prune-packed pull \
    quiltimport range-diff read-tree rebase reflog remote repack replace request-pull rerere reset restore rev-list \
    rev-parse revert rm shortlog show show-branch show-index show-ref sparse-checkout stage stash status stripspace \
    submodule switch symbolic-ref tag unpack-file unpack-objects update-index update-ref update-server-info var \
    verify-commit verify-pack verify-tag version whatchanged worktree write-tree --version --help";

/// git's subcommands that send something.
pub(in crate::permission::shell) const GIT_SENDS: &str = "push send-pack http-push send-email";

/// git's other subcommands: any that is not listed at all is an alias or a program `git-<name>`.
pub(in crate::permission::shell) const GIT_OTHER: &str = "push send-pack receive-pack upload-pack";

/// git's options before the subcommand that take the next word.
pub(in crate::permission::shell) const GIT_VALUED: &str = "\
    -C -c --git-dir --work-tree --namespace --exec-path --super-prefix --config-env --attr-source --list-cmds";

/// git's options before the subcommand that name no other repository, configuration or program.
pub(in crate::permission::shell) const GIT_BEFORE_HARMLESS: &str = "\
    --no-pager -P --version -v --help -h --no-optional-locks --literal-pathspecs --glob-pathspecs --noglob-pathspecs \
    --icase-pathspecs --no-replace-objects --no-lazy-fetch --no-advice --html-path --man-path --info-path";

/// git's subcommands that look at a repository, or change the one that they are in: the names of all others must be spelled.
pub(in crate::permission::shell) const GIT_PLAIN: &str = "\
    add annotate archive bisect blame branch bundle cat-file check-attr check-ignore check-mailmap check-ref-format checkout \
    cherry cherry-pick clone column commit config count-objects describe diff diff-files diff-index diff-tree fetch \
    for-each-ref fsck gc get-tar-commit-id grep help init log ls-files ls-remote ls-tree merge merge-base merge-tree mv name-rev \
    notes patch-id pull push range-diff rebase reflog remote rerere reset restore rev-list rev-parse revert rm shortlog show \
    show-branch show-ref sparse-checkout stage stash status stripspace submodule switch tag var verify-commit verify-pack \
    verify-tag version whatchanged worktree --version --help";

/// git's subcommands that run other programs, read commands or write files that their words name: all of it must be spelled.
pub(in crate::permission::shell) const GIT_RUNS_OTHERS: &str = "\
    filter-branch difftool mergetool for-each-repo hook instaweb gui citool daemon credential shell web--browse \
    http-backend cvsserver svn p4 archimport cvsimport cvsexportcommit quiltimport send-email imap-send fast-import \
    lfs subtree upload-archive remote-ext remote-fd merge-index merge-one-file mailinfo mailsplit pack-objects index-pack \
    credential-store credential-cache credential-cache--daemon upload-pack receive-pack send-pack http-push http-fetch \
    fetch-pack unpack-file diagnose bugreport maintenance scalar submodule--helper bisect--helper difftool--helper \
    mergetool--lib sh-setup sh-i18n gitk gitweb filter-repo fsmonitor--daemon";

/// Names of remotes that people use; any other first word of `git push` may be a folder, whose hooks run.
pub(in crate::permission::shell) const GIT_REMOTES: &str = "origin upstream";

/// Options by which `git config` reads.
pub(in crate::permission::shell) const GIT_CONFIG_READS: &str =
    "--get --get-all --get-regexp --get-urlmatch --list -l";

/// Options of `git config` that change nothing, those among them.
pub(in crate::permission::shell) const GIT_CONFIG_OPTIONS: &str = "\
    --get --get-all --get-regexp --get-urlmatch --list -l --global --system --local --worktree --show-origin \
    --show-scope --null -z --name-only --type --no-type --bool --int --bool-or-int --bool-or-str --path --expiry-date \
    --default --includes --no-includes --fixed-value --all --regexp --value --url --show-names --no-show-names";

/// Verbs of `git config`. Any other first word is the name of a setting.
pub(in crate::permission::shell) const GIT_CONFIG_VERBS: &str =
    "get list set unset rename-section remove-section edit";

/// git's subcommands whose arguments may be commands.
pub(in crate::permission::shell) const GIT_TAKES_COMMANDS: &str = "\
    bisect rebase submodule filter-branch difftool mergetool config for-each-repo";

/// What `gh`, `glab` and `hub` do without changing anything, after their noun.
pub(in crate::permission::shell) const FORGE_READS: &str = "\
    list ls view status diff checks watch verify get search check field-list item-list trace download clone checkout";

/// Nouns of the forges' clients; a verb counts as one only after a noun.
pub(in crate::permission::shell) const FORGE_NOUNS: &str = "\
    pr issue release repo run workflow gist label project cache ruleset org ssh-key gpg-key secret variable \
    extension extensions config alias attestation mr ci snippet pipeline pipe job milestone iteration codespace cs";

/// Their commands without a noun.
pub(in crate::permission::shell) const FORGE_PLAIN: &str =
    "browse status version help completion --version --help";

pub(in crate::permission::shell) const DOCTL_NOUNS: &str = "\
    1-click account action actions app apps auth backups balance billing-history cdn certificate cluster clusters \
    compute configuration databases database db dbaas domain domains droplet droplet-action droplet-autoscale events \
    firewall firewalls floating-ip functions genai image image-action images ingress invoice k8s kubernetes \
    load-balancer monitoring network node-pool nodes options pool pools project projects ratelimit record records \
    region registries registry replica repository reserved-ip resources serverless size snapshot snapshots spaces \
    ssh-key tag tier user users uptime version versions volume volume-action volumes vpcs topics alert";

/// doctl's verbs that read.
pub(in crate::permission::shell) const DOCTL_READS: &str = "\
    get g list ls list-v2 show list-tags list-manifests logs list-alerts list-deployments get-deployment \
    list-regions list-builds list-instance-sizes neighbors kernels backups snapshots actions subscription \
    droplet-neighbors list-deployed";

/// doctl's verbs that certainly write.
pub(in crate::permission::shell) const DOCTL_WRITES: &str = "create delete update remove rm";

/// doctl's options that take the next word.
pub(in crate::permission::shell) const DOCTL_VALUED: &str = "\
    -t --access-token -u --api-url -c --config --context -o --output --http-retry-max --http-retry-wait-max \
    --http-retry-wait-min";

/// Parts of addresses that lead to the API of a forge or of the cloud.
pub(in crate::permission::shell) const API_ADDRESSES: &str = "\
    api.github.com uploads.github.com api.digitalocean.com /api/v4/ /api/v3/ /api/graphql";

/// Beginnings of options with which HTTP clients send something.
pub(in crate::permission::shell) const HTTP_SENDS: &str =
    "--data --json --form --post --body --upload --url-query";
