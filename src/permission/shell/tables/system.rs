//! Programs that look at the machine, and version control other than git.

use super::options::Entry;
use super::options::Operands::Any;
use super::options::Rule::{
    Beginning, Flag, Harmless, HarmlessValue, HarmlessWord, HarmlessWordValue, Subcommands, Takes,
    Word,
};

#[rustfmt::skip]
pub(super) const PROGRAMS: &[Entry] = &[
    ("date", &[
        Flag("-s --set",                                        "sets the clock"),
        Flag("-f --file",                                       "reads a file"),
        Harmless("-u -R -I --utc --universal --iso-8601 --rfc-3339 --rfc-email --rfc-2822 --debug"),
        HarmlessValue("-d -r --date --reference"),
        Takes(Any),
    ]),
    ("hwclock", &[Harmless("-r -u -l --show --utc --localtime --verbose")]),
    ("hostname", &[Harmless("-s -f -i -I -d -A --short --fqdn --long --ip-address --all-ip-addresses --domain")]),
    ("ss", &[
        Flag("-D --diag",                                       "writes a file"),
        Flag("-F --filter",                                     "reads a file"),
        Flag("-K --kill",                                       "closes connections"),
        Harmless("-t -l -n -p -u -a -s -e -o -m -i -4 -6 -x -r -H -O -0 -w -d -z -Z -M --tcp --udp --listening --numeric \
            --processes --all --summary --extended --options --memory --info --ipv4 --ipv6 --unix --resolve --no-header \
            --oneline --raw --dccp --packet"),
        Takes(Any),
    ]),
    ("ip, tc, bridge", &[
        HarmlessWord("-4 -6 -B -0 -br -brief -j -json -p -pretty -c -color -s -stats -statistics -d -details -o -oneline -h \
            -human -human-readable -iec -r -resolve -t -timestamp -ts -N -Numeric -V -Version -a -all -s4 -s6 -br4"),
        HarmlessWordValue("-f -family -l -loops"),
        Takes(Any),
    ]),
    ("lsof", &[
        Flag("-D",                                              "writes a file"),
        Harmless("-i -n -P -t -l -a -b -U -N -w -R -V -O -X"),
        HarmlessValue("-p -u -c -g -d -s"),
        Takes(Any),
    ]),
    ("blkid", &[
        Flag("-c -w",                                           "writes a file"),
        Harmless("-i -k -l -L -g -D -d -p -n"),
        HarmlessValue("-s -t -o"),
    ]),
    ("top", &[Harmless("-b -c -H -i -S -1"), HarmlessValue("-n -d -p -u -o -w")]),
    ("dmesg", &[
        Flag("-C -c -D -E -n",                                  "deletes messages, or sets what the console shows"),
        Harmless("-T -H -k -u -x -w -r -t -L -P --ctime --human --kernel --userspace --decode --raw --nopager --notime --reltime"),
        HarmlessValue("-l -f --level --facility --time-format --since --until"),
    ]),
    ("gpg, gpg2", &[
        Flag("-o --output --status-file --logger-file --attribute-file", "writes a file"),
        Flag("--agent-program --dirmngr-program --keyboxd-program --pinentry-mode", "starts another program"),
        Flag("--photo-viewer --exec-path --load-extension",     "starts another program, or loads code"),
        Flag("--homedir --options --config --keyring --trustdb-name", "reads settings that may name programs"),
        Harmless("-k -K -v -q -a --list-keys --list-public-keys --list-secret-keys --fingerprint --verify --list-sigs \
            --check-sigs --list-packets --with-colons --with-fingerprint --with-subkey-fingerprint --batch --no-tty --armor \
            --verbose --quiet --show-keys"),
        HarmlessValue("--keyid-format --list-options"),
    ]),
    ("svn, svnadmin, svnsync", &[
        Flag("--diff-cmd --diff3-cmd --editor-cmd",             "starts another program"),
        Flag("--config-dir --config-option",                    "sets configuration, which may name programs"),
        Flag("-F --file --targets",                             "takes text or names from a file"),
        Harmless("-v -q -u -g -N -R --verbose --quiet --show-updates --xml --summarize --non-interactive --stop-on-copy \
            --recursive --incremental --no-ignore --ignore-ancestry --notice-ancestry --use-merge-history --diff --git \
            --no-diff-deleted --properties-only"),
        HarmlessValue("-r -l -c -m --revision --limit --change --depth --message --search --show-item"),
    ]),
    ("hg", &[
        Flag("--config --debugger --profile",                   "sets configuration, which may name programs"),
        Flag("-R --repository --cwd",                           "works in another repository, whose hooks it runs"),
        Flag("-e --ssh --remotecmd --tool -t",                  "starts another program"),
        Flag("-o --output",                                     "writes a file"),
        Harmless("-q -v -p -G -a -n -u -m -i -g -w -b -B --quiet --verbose --patch --graph --stat --git --all --modified --added \
            --removed --deleted --clean --unknown --no-merges --ignore-all-space --ignore-space-change --ignore-blank-lines"),
        HarmlessValue("-r -l -c -d -k --rev --limit --change --date --keyword --branch --user --color --pager"),
        Takes(Any),
    ]),
    ("journalctl", &[
        Flag("-D -M --directory --root",                        "reads the logs of another system"),
        Flag("--vacuum-size --vacuum-time --vacuum-files --rotate", "deletes logs"),
        Flag("--flush --sync --relinquish-var --update-catalog --setup-keys --cursor-file", "writes files"),
        Harmless("-f -e -k -r -x -q -a -l -m -N --no-pager --follow --pager-end --dmesg --reverse --catalog --quiet --all --full \
            --no-full --no-tail --no-hostname --utc --system --user --list-boots --disk-usage --header --merge --fields \
            --list-catalog --show-cursor --truncate-newline --boot -b"),
        HarmlessValue("-u -n -p -o -t -g -S -U -c -F --unit --user-unit --lines --priority --output --identifier --grep --since \
            --until --field --output-fields --case-sensitive --after-cursor --cursor --facility --interval"),
        Takes(Any),
    ]),
    ("systemctl", &[
        Flag("-H -M --host --machine --root --image",           "works on another machine or system"),
        Harmless("-a -l -q -r -T --all --full --quiet --recursive --failed --no-pager --no-legend --plain --value --user --system \
            --show-types --reverse --after --before --no-ask-password --wait --no-block --no-wall --with-dependencies \
            --show-transaction"),
        HarmlessValue("-t -n -o -p -P --type --state --lines --output --property --legend --timestamp"),
        Takes(Any),
    ]),
    ("systemd-analyze, hostnamectl, timedatectl, localectl, loginctl, resolvectl, networkctl", &[
        Harmless("-a -l -q -4 -6 --all --full --quiet --no-pager --no-legend --no-ask-password --value --user --system --json"),
        HarmlessValue("-n -o -p --lines --output --property"),
        Word("edit set-environment",                            "changes settings that may name programs"),
        Takes(Any),
    ]),
    ("nmcli", &[
        Harmless("-t -p -a -o -s --terse --pretty --ask --overview --show-secrets"),
        HarmlessValue("-m -c -f -g -e -w --mode --colors --fields --get-values --escape --wait"),
        Word("edit --passwd-file passwd-file import export load", "reads or writes a file"),
        Takes(Any),
    ]),
    ("ssh-keygen, ssh-add", &[
        Flag("-D -w -S",                                        "loads a library"),
        Flag("-s -f",                                           "loads a library, signs, or writes a key"),
        Harmless("-l -v -B"),
        HarmlessValue("-E"),
    ]),
    ("openssl", &[
        Beginning("-out -writerand -rand -keyout -sess_out -keylogfile -CAserial", "reads or writes a file"),
        Beginning("-engine -provider -config",                  "loads code, or settings that name it"),
        Beginning("-passout",                                   "writes a secret"),
        // Each of its options may have two dashes.
        Beginning("--out --writerand --rand --keyout --sess_out --keylogfile --CAserial", "reads or writes a file"),
        Beginning("--engine --provider --config --passout",     "loads code, or writes a secret"),
        HarmlessWord("-noout -text -subject -issuer -dates -enddate -startdate -fingerprint -serial -sha256 -sha1 -sha384 \
            -sha512 -md5 -hex -base64 -d -a -A -e -showcerts -verify_return_error -pubkey -pubin -purpose -modulus -hash \
            -email -brief -quiet -tls1_2 -tls1_3 -crlf -noservername -subject_hash -issuer_hash -ocsp_uri -check -r -v"),
        HarmlessWord("-in -CAfile -CApath -verify -inform -nameopt -certopt -ext"),
        HarmlessWordValue("-connect -servername -checkend -alpn -starttls"),
        // An engine, a store and a server load or start something by their operands alone.
        Subcommands("version x509 req rsa ec pkey dgst enc rand s_client ciphers verify crl asn1parse base64 sha1 sha256 sha384 \
            sha512 md5 pkcs7 pkcs8 pkcs12 speed list help genrsa genpkey ecparam errstr passwd ocsp prime dhparam cms smime"),
    ]),
    ("crontab, atq", &[Harmless("-l")]),
    ("smartctl", &[Harmless("-a -i -H -A -x -j --all --info --health --attributes --xall --json --scan")]),
    ("sensors", &[Harmless("-f -u -j -A")]),
    ("gcloud, gsutil", &[
        Word("ssh interactive components",                      "starts another program, or changes which ones run"),
        Harmless("-q -l -r --quiet --uri --verbosity"),
        HarmlessValue("--format --filter --limit --project --region --zone --sort-by --page-size"),
    ]),
    ("az", &[
        Word("ssh interactive extension alias config configure upgrade", "starts another program, or changes which ones run"),
        Harmless("--only-show-errors --all --verbose"),
        HarmlessValue("-o -g -n -l --output --query --resource-group --name --subscription --location"),
    ]),
];
