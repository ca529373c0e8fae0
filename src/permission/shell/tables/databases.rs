//! Clients of databases: which of their options are harmless. Their statements are judged by `scripts`.

use super::options::Entry;
use super::options::Operands::Any;
use super::options::Rule::{
    Beginning, Flag, Harmless, HarmlessValue, HarmlessWord, HarmlessWordValue, Takes,
};

#[rustfmt::skip]
pub(super) const PROGRAMS: &[Entry] = &[
    ("mysql, mariadb", &[
        Flag("-e --execute --init-command",                     "runs statements"),
        Flag("--pager",                                         "starts another program"),
        Flag("--tee",                                           "writes a file"),
        Flag("--plugin-dir",                                    "loads code"),
        Flag("--defaults-file --defaults-extra-file",           "reads settings that may name programs"),
        Harmless("-t -N -B -s -r -E -X -q -p --table --batch --skip-column-names --silent --vertical --raw --quick --html --xml"),
        HarmlessValue("-u -h -P -D --user --host --port --database --protocol --ssl-mode"),
    ]),
    ("pg_dump, pg_dumpall", &[
        Flag("-f --file",                                       "writes a file"),
        Harmless("-s -a -w -O -x -c -C -v --schema-only --data-only --no-owner --no-privileges --clean --create --if-exists \
            --inserts --column-inserts --no-comments --globals-only -g -r"),
        HarmlessValue("-t -n -N -T -h -p -U --table --schema --exclude-table --exclude-schema --host --port --username"),
    ]),
    ("mysqldump, mariadb-dump", &[
        Flag("-r --result-file -T --tab",                       "writes a file"),
        Harmless("-d -B -A -t -q -p --no-data --single-transaction --quick --routines --triggers --events --databases \
            --all-databases --no-create-info --skip-comments --skip-lock-tables --no-tablespaces --compact"),
        HarmlessValue("-u -h -P --user --host --port"),
    ]),
    ("sqlite, duckdb", &[
        Beginning("-init --init -cmd --cmd .",                  "runs statements or commands"),
        Beginning("-A -ar",                                     "reads or writes an archive"),
        HarmlessWord("-json -csv -markdown -line -list -column -box -table -html -quote -ascii -tabs -header -noheader \
            -readonly -bail -batch -version -safe -jsonlines --json --csv --markdown --line --list --column --box --table \
            --html --quote --header --noheader --readonly --bail --batch --safe"),
        HarmlessWordValue("-separator -newline -nullvalue"),
        Takes(Any),
    ]),
    ("psql", &[
        Flag("-c --command -f --file",                          "runs statements or commands"),
        Flag("-o --output -L --log-file",                       "writes a file"),
        Flag("--variable",                                      "sets a variable, which commands use"),
        Harmless("-l -t -A -x -q -n -w -X -H -z -0 --list --tuples-only --no-align --expanded --no-psqlrc --csv --quiet --html"),
        HarmlessValue("-h -p -U -F -R --host --port --username --field-separator --record-separator"),
    ]),
    ("redis-cli, valkey-cli", &[HarmlessValue("-p -n -h")]),
];
