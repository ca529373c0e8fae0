//! Package managers: which of their options and operands are harmless.

use super::options::Entry;
use super::options::Operands::{Names, Packages};
use super::options::Rule::{
    Beginning, Flag, Harmless, HarmlessValue, HarmlessWord, Subcommands, Takes, Word,
};

#[rustfmt::skip]
pub(super) const PROGRAMS: &[Entry] = &[
    ("apt, apt-get, apt-cache, aptitude", &[
        Flag("-o --option -c --config-file",                    "sets configuration, which may name programs"),
        Flag("--pre-invoke --post-invoke --status-logger",      "runs a command"),
        Flag("--root --admindir",                               "works on another system"),
        Harmless("-y -q -s -V -u -m -f -a -n -d --yes --assume-yes --assume-no --quiet --simulate --dry-run --just-print \
            --no-install-recommends --no-install-suggests --show-progress --only-upgrade --no-upgrade --reinstall \
            --fix-broken --fix-missing --download-only --installed --upgradable --upgradeable --all-versions --names-only \
            --verbose-versions --auto-remove --autoremove --purge --full --no-all-versions"),
        Takes(Names),
    ]),
    ("dpkg, dpkg-query", &[
        Harmless("-l -L -s -S -p -W --list --listfiles --status --search --print-avail --show --get-selections \
            --print-architecture --print-foreign-architectures --verify --audit --no-pager"),
        HarmlessValue("--showformat"),
    ]),
    ("rpm", &[
        HarmlessWord("-q -qa -qi -ql -qf -qip -qlp -qc -qd -qR -V -Va -qv --query --all --info --list --file --requires --provides \
            --changelog --scripts --last --whatprovides --whatrequires --conflicts --obsoletes --docfiles --configfiles \
            --verify --version"),
    ]),
    ("dnf, yum, zypper", &[
        Flag("-c --config --setopt --rcfile",                   "sets configuration, which may name programs"),
        Harmless("-y -q -v -C --assumeyes --assumeno --quiet --verbose --refresh --installed --available --cacheonly \
            --best --skip-broken --showduplicates --updates --non-interactive"),
        Takes(Names),
    ]),
    ("pacman", &[
        HarmlessWord("-Q -Qi -Ql -Qs -Qe -Qm -Qn -Qu -Qdt -Qo -Qk -Ss -Si -Sl -Sg -Fl -F --noconfirm --needed -S -Sy -Syu -Su -R -Rs -Rns"),
        Takes(Names),
    ]),
    ("npm, pnpm, yarn, bun", &[
        Flag("-c --call",                                       "runs a command"),
        Flag("-C --prefix --cwd --dir --local-prefix --global", "works in another folder, whose scripts it runs"),
        Flag("-w --workspace --filter",                         "works in another folder, whose scripts it runs"),
        Flag("--script-shell --shell --editor --viewer --browser --git", "starts another program"),
        Flag("--node-options --init-module --preload",          "loads code"),
        Flag("--config --userconfig --globalconfig --use-yarnrc --cache", "reads settings that may name programs"),
        Flag("--registry",                                      "takes packages from elsewhere"),
        Word("edit node policies",                              "starts another program, or changes which one runs"),
        Flag("--node-gyp --python --onload-script --mutex",     "starts another program, loads code or writes a file"),
        Flag("--logs-dir --tmp",                                "writes in another folder"),
        Harmless("-s -D -S -E -O -P -a -l -y -d -f -q --silent --quiet --verbose --save --save-dev --save-exact --save-prod \
            --save-optional --save-peer --no-save --production --legacy-peer-deps --strict-peer-deps --no-audit --audit \
            --no-fund --ignore-scripts --force --yes --json --all --long --parseable --dry-run --if-present \
            --frozen-lockfile --no-frozen-lockfile --prefer-offline --offline --no-progress --no-color --color --dev \
            --exact --optional --no-optional --workspaces --include-workspace-root --ignore-engines --non-interactive \
            --check-files --immutable --latest --interactive --prod --watch --coverage --bail"),
        HarmlessValue("--omit --include --depth --loglevel --audit-level --network-timeout --network-concurrency --timeout"),
        Takes(Packages),
    ]),
    ("pip, pipx, uv", &[
        Flag("-i --index-url --extra-index-url --index -f --find-links --proxy", "takes packages from elsewhere"),
        Flag("-r --requirement --constraint -e --editable",     "takes what to install from a file or a folder"),
        Flag("-t --target -E --prefix --root --log --cache-dir", "writes in another folder"),
        Flag("-C --config-settings --global-option",            "hands options to code that builds"),
        Flag("--python --directory --project",                  "starts another program, or works in another folder"),
        Beginning("git+ http: https: file:",                    "installs from an address, which runs its code"),
        Harmless("-q -v --quiet --verbose --pre --offline"),
        Takes(Packages),
    ]),
    ("pip, pipx", &[
        Harmless("-U -y -l -o -u --upgrade --user --no-deps --no-cache-dir --dry-run --outdated --uptodate \
            --disable-pip-version-check --no-input --no-color --yes --local --not-required --require-hashes --prefer-binary \
            --force-reinstall --ignore-installed --no-warn-script-location --files --no-build-isolation --break-system-packages"),
        HarmlessValue("--format --exclude --only-binary"),
    ]),
    ("uv", &[
        Harmless("-U --upgrade --no-cache --dry-run --outdated --dev --frozen --locked --all-extras --no-dev --all-groups \
            --no-progress --reinstall --refresh --exact --no-deps --no-install-project --all-packages"),
        HarmlessValue("--format --extra --group --package --upgrade-package --only-group --color"),
    ]),
    ("pdm, rye", &[
        Word("plugin self config use python venv fix toolchain tools", "changes which programs later commands run"),
        Harmless("-q -v -d --quiet --verbose --dev --no-self"),
    ]),
    ("poetry", &[
        Word("shell source self",                               "starts a shell, or takes packages from elsewhere"),
        Harmless("-n -q -v -E --no-interaction --quiet --verbose --no-ansi --ansi --no-root --all-extras --sync --dry-run --dev \
            --tree --latest --outdated --all --lock --check"),
        HarmlessValue("--with --without --only --extras --group -G"),
        Takes(Packages),
    ]),
    ("poetry env", &[Word("use",                                 "changes which interpreter later commands run")]),
    ("conda, mamba", &[
        Harmless("-y -q -v --yes --quiet --json --verbose --dry-run --offline --all --no-deps --only-deps --envs"),
        HarmlessValue("-n --name"),
        Takes(Packages),
    ]),
    ("bundle, gem", &[
        Word("exec plugin console open environment server fetch unpack build push owner cert sources", "runs another program, or takes packages from elsewhere"),
        Harmless("-q -N -l -r -a --quiet --local --remote --all --no-document --versions --prerelease --strict --groups --outdated"),
        HarmlessValue("-v -j --version --jobs --retry"),
        Takes(Packages),
    ]),
    ("composer", &[
        Word("exec global run-script archive create-project browse", "runs another program, or works in another folder"),
        Flag("-d --working-dir",                                "works in another folder, whose scripts it runs"),
        Harmless("-q -v -n --quiet --verbose --no-interaction --no-dev --dev --dry-run --prefer-dist --prefer-source \
            --optimize-autoloader --no-scripts --no-plugins --no-progress --no-ansi --ansi --with-all-dependencies -W -w \
            --with-dependencies --direct --outdated --tree --latest --installed --platform --all --strict --no-cache --minor-only"),
        Takes(Packages),
    ]),
    ("brew", &[
        Harmless("-q -v --quiet --verbose --versions --cask --formula --dry-run -n --json --installed --deps --tree"),
        Subcommands("list ls info search outdated deps uses leaves doctor config install upgrade update uninstall remove \
            cleanup home desc tap-info --version --prefix --cellar"),
        Takes(Names),
    ]),
    ("snap, flatpak", &[
        Harmless("--all --verbose --columns --app --runtime --user --system -y -v --show-details"),
        Subcommands("list info find search changes version services connections interfaces remotes history"),
    ]),
    ("rustup", &[
        Harmless("-v -q --verbose --quiet"),
        Takes(Names),
    ]),
];
