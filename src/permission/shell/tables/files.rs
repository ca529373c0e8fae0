//! Programs for files and folders: which of their options and operands are harmless.

use super::options::Entry;
use super::options::Operands::Any;
use super::options::Rule::{
    Flag, Harmless, HarmlessBeginning, HarmlessValue, HarmlessWord, SpelledFrom, Takes, Word,
};

#[rustfmt::skip]
pub(super) const PROGRAMS: &[Entry] = &[
    ("find", &[
        Word("-exec -execdir -ok -okdir",                       "runs a command for what it finds"),
        Word("-delete",                                         "deletes what it finds"),
        Word("-fprint -fprint0 -fprintf -fls",                  "writes a file"),
        Word("-files0-from",                                    "takes the folders from a file"),
        HarmlessWord("-H -L -P -name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -lname -ilname \
            -type -xtype -maxdepth -mindepth -depth -d -size -empty -mtime -mmin -atime -amin -ctime -cmin -daystart -used \
            -user -group -uid -gid -nouser -nogroup -perm -readable -writable -executable -links -inum -samefile -fstype \
            -mount -xdev -prune -print -print0 -printf -ls -not -o -a -or -and -true -false -quit -follow -noleaf -warn \
            -nowarn -ignore_readdir_race -noignore_readdir_race -version --version -help --help -O0 -O1 -O2 -O3"),
        HarmlessBeginning("-newer -anewer -cnewer"),
        Takes(Any),
    ]),
    ("fd, fdfind", &[
        Flag("-x -X --exec --exec-batch",                       "runs a command for what it finds"),
        Harmless("-H -I -u -s -i -g -F -a -l -L -p -0 -1 -q --hidden --no-ignore --no-ignore-vcs --unrestricted \
            --case-sensitive --ignore-case --glob --regex --fixed-strings --absolute-path --list-details --follow --full-path \
            --print0 --quiet --show-errors --one-file-system --prune --no-follow --relative-path --strip-cwd-prefix"),
        HarmlessValue("-e -t -d -E -c -S -j --extension --type --max-depth --min-depth --exact-depth --exclude --color --size \
            --max-results --changed-within --changed-before --owner --threads"),
        Takes(Any),
    ]),
    ("tree", &[
        Harmless("-a -d -f -l -x -q -N -Q -p -s -u -h -g -D -F -i -r -t -c -U -v -C -A -n -S -X -J \
            --help --version --dirsfirst --filesfirst --du --prune --noreport --gitignore --si --inodes --device \
            --matchdirs --ignore-case --metafirst --sort --charset --filelimit --timefmt --info"),
        HarmlessValue("-L -P -I"),
    ]),
    ("file", &[
        Flag("-C --compile",                                    "writes a file"),
        Flag("-f --files-from",                                 "takes names from a file"),
        Harmless("-b -i -L -h -k -0 -N -n -p -r -s -E -l --brief --mime --mime-type --mime-encoding --dereference \
            --no-dereference --keep-going --print0 --no-pad --no-buffer --preserve-date --raw --special-files --extension \
            --list"),
        HarmlessValue("-e -F --exclude --separator"),
        Takes(Any),
    ]),
    ("cp, mv, ln", &[
        Flag("-t --target-directory",                           "writes in another folder"),
        Flag("-b -S --backup --suffix",                         "writes one more file"),
    ]),
    ("mktemp", &[Flag("-p --tmpdir --suffix",                   "writes in another folder")]),
    ("wc, du", &[Flag("--files0-from",                          "takes names from a file")]),
    ("diff", &[
        Flag("--from-file --to-file",                           "reads another file"),
        Flag("-l --paginate",                                   "starts another program"),
    ]),
    ("colordiff", &[
        Harmless("-u -r -N -q -s -i -w -b -B -E -Z -c -y -a -p --brief --recursive --unified --ignore-case \
            --ignore-all-space --ignore-space-change --ignore-blank-lines --side-by-side --new-file --text --color"),
        HarmlessValue("-U -C -x -W --exclude --label"),
        Takes(Any),
    ]),
    ("install", &[
        Flag("-s --strip --strip-program",                      "starts another program"),
        Flag("-t --target-directory",                           "writes in another folder"),
        Harmless("-D -d -p -C -v -T -c --directory --preserve-timestamps --compare --verbose --no-target-directory"),
        HarmlessValue("-m -o -g --mode --owner --group"),
    ]),
    ("bsdtar", &[
        Harmless("-c -x -t -z -j -J -v -p -k -O -m -a"),
        HarmlessValue("-f -C -b --exclude --include --strip-components"),
    ]),
    ("tar, gtar", &[
        Flag("-I --use-compress-program",                       "starts another program"),
        Flag("-F --info-script --new-volume-script",            "runs a script at the end of each volume"),
        Flag("--checkpoint --checkpoint-action --to-command",   "runs a command"),
        Flag("--rsh-command --rmt-command",                     "starts the program that reaches another machine"),
        Flag("-P --absolute-names",                             "writes outside the folder"),
        Flag("-T --files-from",                                 "takes names, and options, from a file"),
        Flag("-g --listed-incremental --index-file --volno-file", "writes a file"),
        Flag("--remove-files --recursive-unlink",               "deletes files"),
        Flag("-M --multi-volume",                               "asks for further volumes, which may run a script"),
        Harmless("-c -x -t -r -u -A -d -z -j -J -Z -a -v -p -k -O -h -m -w -i -R -B -n -S -l -o \
            --create --extract --get --list --append --update --diff --compare --catenate --concatenate --gzip --gunzip \
            --bzip2 --xz --zstd --lzma --auto-compress --verbose --wildcards --no-wildcards --anchored --no-anchored \
            --ignore-case --keep-old-files --keep-newer-files --skip-old-files --overwrite --to-stdout --no-recursion \
            --recursion --same-permissions --preserve-permissions --no-same-permissions --same-owner --no-same-owner \
            --same-order --touch --totals --verify --dereference --hard-dereference --one-file-system --sparse \
            --full-time --utc --show-transformed-names --show-omitted-dirs --exclude-vcs --exclude-backups \
            --exclude-caches --numeric-owner --delay-directory-restore --ignore-zeros --no-xattrs --xattrs --no-acls --acls"),
        HarmlessValue("-f -C -b -N -V -X -K --file --directory --exclude --exclude-from --strip-components --owner --group \
            --mode --mtime --sort --format --blocking-factor --newer --label --starting-file"),
    ]),
    ("zip", &[
        HarmlessWord("-r -q -v -j -u -f -d -y -D -g -X -rq -qr -ry -yr -rj -rqy -0 -1 -2 -3 -4 -5 -6 -7 -8 -9 -r9 -9r -r0 \
            -qq -sf"),
    ]),
    ("unzip, zipinfo", &[
        Harmless("-l -o -q -v -t -j -n -p -u -a -L -C -X -z -1 -2 -s -m -h"),
        HarmlessValue("-d -x"),
    ]),
    ("gzip, gunzip, bzip2, bunzip2, xz, unxz, zstd, unzstd, lz4, zcat, bzcat, xzcat, zstdcat, lzcat, lzma, unlzma", &[
        Harmless("-d -k -f -c -v -l -t -r -n -q -z -e --decompress --uncompress --compress --keep --force --stdout --to-stdout \
            --verbose --list --test --recursive --best --fast --quiet --no-name --name --extreme --no-progress"),
    ]),
    ("cpio, pax", &[
        Flag("-F --to-stdout",                                  "takes another archive, on another machine too"),
        Flag("--rsh-command",                                   "starts the program that reaches another machine"),
        Harmless("-i -t -v -d -m -u --extract --list --verbose --make-directories --unconditional \
            --preserve-modification-time"),
    ]),
    ("rsync", &[
        Flag("-e -M --rsh --rsync-path --remote-option",        "starts another program"),
        Flag("--daemon --config --dparam",                      "serves files, by settings that may name programs"),
        Flag("--files-from",                                    "takes names from a file"),
        Flag("--log-file --write-batch --only-write-batch",     "writes a file"),
        Flag("--temp-dir --backup-dir",                         "writes in another folder"),
        Flag("--remove-source-files --delete",                  "deletes files"),
        Harmless("-a -v -z -r -n -P -h -u -t -l -p -g -o -D -H -A -X -x -c -q -i -W -S -k -L -m -R -d -I \
            --archive --verbose --compress --recursive --dry-run --progress --partial --human-readable --stats \
            --itemize-changes --checksum --size-only --times --links --perms --owner --group --devices --specials --relative \
            --one-file-system --ignore-existing --existing --update --whole-file --sparse --copy-links --safe-links \
            --hard-links --acls --xattrs --numeric-ids --quiet --list-only --no-motd --prune-empty-dirs --ignore-times \
            --no-perms --no-owner --no-group --no-times --omit-dir-times"),
        HarmlessValue("--exclude --include --bwlimit --max-size --min-size --info --chmod --timeout --modify-window"),
    ]),
    ("scp, sftp", &[
        Flag("-S -D -F -J -o",                                  "starts another program, or sets options that name one"),
        Harmless("-r -p -q -v -C -3 -4 -6"),
    ]),
    ("split, csplit", &[
        Flag("--filter",                                        "runs a command for each piece"),
        Flag("-f --prefix --additional-suffix -o",              "writes files of other names"),
        Harmless("-d -x -e -u --numeric-suffixes --hex-suffixes --elide-empty-files --unbuffered --verbose"),
        HarmlessValue("-l -b -C -n -a -t --lines --bytes --line-bytes --number --suffix-length --separator"),
        SpelledFrom(1),
    ]),
    ("dd", &[Takes(Any)]),
    ("shred", &[Harmless("-n -u -v -z -f --force --iterations --remove --verbose --zero")]),
];
