//! Programs for texts: which of their options and operands are harmless.

use super::options::Entry;
use super::options::Operands::{Any, NoResponseFile, Spelled};
use super::options::Rule::{
    Beginning, Flag, Harmless, HarmlessBeginning, HarmlessValue, HarmlessWord, HarmlessWordValue,
    SpelledFrom, Takes, Word,
};

#[rustfmt::skip]
pub(super) const PROGRAMS: &[Entry] = &[
    ("sort", &[
        Flag("-o --output",                                     "writes a file"),
        Flag("-T --temporary-directory",                        "writes in another folder"),
        Flag("--compress-program",                              "starts another program"),
        Flag("--files0-from",                                   "takes names from a file"),
        Harmless("-n -r -u -f -g -h -V -M -b -d -i -s -c -C -m -z -R --numeric-sort --reverse --unique --ignore-case \
            --general-numeric-sort --human-numeric-sort --version-sort --month-sort --ignore-leading-blanks \
            --dictionary-order --ignore-nonprinting --stable --check --merge --zero-terminated --random-sort --debug"),
        HarmlessValue("-k -t -S --key --field-separator --buffer-size --parallel --batch-size --sort"),
        Takes(Any),
    ]),
    ("shuf, iconv, sdiff", &[
        Flag("-o --output",                                     "writes a file"),
        Flag("--diff-program",                                  "starts another program"),
        Harmless("-c -l -e -r -z -s -b -B -i -W -a -d --list --silent --echo --repeat --zero-terminated --suppress-common-lines \
            --ignore-case --ignore-all-space --ignore-blank-lines --text"),
        HarmlessValue("-f -t -n -w --from-code --to-code --head-count --input-range --width"),
        Takes(Any),
    ]),
    ("diff3", &[
        Flag("--diff-program",                                  "starts another program"),
        Harmless("-m -A -e -E -x -X -3 -i -a -T --merge --show-all --ed --easy-only --text --initial-tab"),
        HarmlessValue("-L --label"),
    ]),
    ("uniq", &[
        Harmless("-c -d -D -u -i -z --count --repeated --unique --ignore-case --zero-terminated --all-repeated --group"),
        HarmlessValue("-f -s -w --skip-fields --skip-chars --check-chars"),
        Takes(Any),
        SpelledFrom(1),
    ]),
    ("xxd", &[
        HarmlessWord("-a -b -C -e -E -i -p -ps -plain -r -u -v -d -h"),
        HarmlessWordValue("-c -cols -g -l -len -o -s -seek -n"),
        Takes(Any),
        SpelledFrom(1),
    ]),
    ("patch", &[
        Flag("-o -r -B -z --output --reject-file",              "writes other files than those it patches"),
        Flag("-d --directory",                                  "writes in another folder"),
        Flag("-e --ed",                                         "hands the patch to an editor that runs commands"),
        Flag("--get",                                           "starts the program of a version control"),
        Harmless("-N -R -s -u -c -n -f -t -l -E -Z --forward --reverse --silent --quiet --dry-run --verbose --force --batch \
            --ignore-whitespace --unified --context --normal --binary --remove-empty-files"),
        HarmlessValue("-p -i -F --strip --input --fuzz"),
    ]),
    ("sed, gsed", &[
        Harmless("-n -E -r -s -u -z --quiet --silent --regexp-extended --separate --unbuffered --null-data \
            --zero-terminated --posix --debug --sandbox --help --version --expression"),
        HarmlessValue("-e"),
        Takes(Any),
    ]),
    ("awk, gawk, mawk, nawk, original-awk", &[
        Harmless("-c -P -r -S -s -n -N -M -b -k -V -h -t -O --field-separator --assign --version --help --posix \
            --traditional --re-interval --sandbox --csv --characters-as-bytes --bignum --non-decimal-data \
            --use-lc-numeric --optimize --no-optimize"),
        HarmlessValue("-F -v"),
        Takes(Any),
    ]),
    ("rg", &[
        Flag("--pre --hostname-bin",                            "starts another program"),
        Flag("-z --search-zip",                                 "starts the programs that unpack"),
        Harmless("-n -N -i -S -s -l -c -w -v -o -F -U -P -H -I -q -u -L -0 -a -p -x -h -V -. --files --hidden --no-hidden \
            --no-ignore --no-ignore-vcs --no-ignore-parent --no-ignore-global --files-with-matches --files-without-match \
            --line-number --no-line-number --ignore-case --smart-case --case-sensitive --fixed-strings --word-regexp \
            --line-regexp --invert-match --only-matching --multiline --multiline-dotall --pcre2 --auto-hybrid-regex --heading \
            --no-heading --json --stats --vimgrep --column --no-column --follow --no-follow --null --null-data --text --trim \
            --with-filename --no-filename --passthru --debug --trace --no-messages --pretty --crlf --binary --count \
            --count-matches --type-list --unrestricted --quiet --one-file-system --no-config --no-mmap --mmap \
            --no-unicode --unicode --byte-offset --include-zero --line-buffered --block-buffered --no-require-git \
            --max-columns-preview --no-context-separator --stop-on-nonmatch --help --version"),
        HarmlessValue("-e -g -t -T -A -B -C -r -m -M -j -d -E -f --regexp --glob --iglob --type --type-not --type-add \
            --type-clear --after-context --before-context --context --replace --max-count --max-columns --threads --max-depth \
            --max-filesize --color --colors --sort --sortr --encoding --engine --file --ignore-file --context-separator \
            --field-match-separator --path-separator --hyperlink-format --dfa-size-limit --regex-size-limit"),
        Takes(Any),
    ]),
    ("ag, ack", &[
        Flag("--pager --ackrc",                                 "starts another program, or reads settings that name one"),
        Flag("--output",                                        "evaluates what it prints"),
        Harmless("-i -l -L -w -n -c -Q -r -R -S -s -v -o -a -u -H -h -k -x -1 -f --hidden --ignore-case --literal --count \
            --files-with-matches --files-without-matches --nocolor --color --nogroup --group --nobreak --break --noheading \
            --heading --column --stats --silent --invert-match --word-regexp --smart-case --all-text --all-types \
            --only-matching --recurse --norecurse --vimgrep --nonumbers --numbers --null --follow"),
        HarmlessValue("-A -B -C -g -G -m --after --before --context --ignore --ignore-dir --depth --max-count --type --file-search-regex"),
        Takes(Any),
    ]),
    ("jq, gojq", &[
        Flag("-L --library-path",                               "loads code from another folder"),
        Harmless("-r -c -n -s -e -S -M -C -R -j -a -h -V --raw-output --compact-output --null-input --slurp --exit-status \
            --sort-keys --monochrome-output --color-output --raw-input --join-output --ascii-output --arg --argjson --args \
            --jsonargs --tab --stream --stream-errors --seq --unbuffered --slurpfile --rawfile --raw-output0"),
        HarmlessValue("-f --from-file --indent"),
        Takes(Any),
    ]),
    ("yq", &[
        Flag("-i --inplace --in-place -s --split-exp",          "writes files"),
        Harmless("-r -e -n -P -C -M -N -j -c -y --prettyPrint --unwrapScalar --exit-status --no-colors --colors --null-input \
            --no-doc --tojson --raw-output --yaml-output --compact-output --sort-keys"),
        HarmlessValue("-o -p -I --output-format --input-format --indent"),
        Takes(Any),
    ]),
    ("printf", &[
        Word("-v",                                              "sets a variable, and evaluates its name"),
        Beginning("-v",                                         "sets a variable, and evaluates its name"),
        HarmlessBeginning("-"),
        Takes(Any),
    ]),
    ("pandoc", &[
        Flag("-o --output --extract-media --log",               "writes files"),
        Flag("-F --filter -L --lua-filter --pdf-engine",        "runs a program or a script"),
        Flag("-f -t -r -w --from --to --read --write",          "runs a script where the format is the name of one"),
        Word("lua server",                                      "runs a script, or serves the network"),
        Flag("-d --defaults --template --syntax-definition --data-dir", "reads settings that may name programs"),
        Harmless("-s -N --standalone --toc --table-of-contents --number-sections --ascii --preserve-tabs --mathml \
            --list-input-formats --list-output-formats --list-extensions --list-highlight-languages --trace --verbose --quiet \
            --fail-if-warnings --no-highlight --reference-links --section-divs --incremental --sandbox"),
        HarmlessValue("--wrap --columns --toc-depth --shift-heading-level-by --tab-stop --eol --track-changes \
            --markdown-headings --id-prefix --dpi"),
    ]),
    ("xmllint", &[
        HarmlessWord("--noout --format --nonet --recover --huge --noblanks --c14n --encode --stats --debug --xinclude --nsclean \
            --noent --nocdata --quiet --version --valid"),
        HarmlessWordValue("--xpath --pretty --encode"),
        Takes(Any),
    ]),
    // A stylesheet writes any file; so does a script of these.
    ("xsltproc, saxon, xalan, dc, ed, red, m4, tclsh, wish, expect, gnuplot, mlr", &[Takes(Spelled)]),
    ("bc", &[Harmless("-l -q -s -i -w --mathlib --quiet --standard --warn")]),
    ("fzf, sk", &[
        Flag("--preview --bind --execute --with-shell",         "runs commands"),
        Flag("--listen",                                        "takes commands from the network"),
        Flag("--history",                                       "writes a file"),
        Harmless("-m -e -i -x -1 -0 --multi --exact --reverse --no-sort --tac --ansi --select-1 --exit-0 --print0 --read0 \
            --no-mouse --cycle --sync --print-query"),
        HarmlessValue("-f -q -n -d --filter --query --height --nth --delimiter --prompt --header --tiebreak --algo"),
        Takes(Any),
    ]),
    ("man", &[
        Harmless("-a -f -k -K -w -W -i -I -h -V -u -7 -d --all --whatis --apropos --where --path --location \
            --where-cat --sections --names-only --wildcard --regex --ignore-case --match-case --usage --help --version \
            --no-hyphenation --no-justification --no-subpages --ascii --locale --encoding --extension --global-apropos"),
        HarmlessValue("-s -S -L -e -E"),
    ]),
    ("less", &[
        Harmless("-a -A -B -c -C -d -e -E -f -F -g -G -i -I -J -K -l -L -m -M -n -N -q -Q -r -R -s -S -u -U -V -w \
            -W -X -h -~ --quit-if-one-screen --RAW-CONTROL-CHARS --raw-control-chars --chop-long-lines --no-init \
            --LINE-NUMBERS --line-numbers --ignore-case --IGNORE-CASE --quiet --silent --QUIET --SILENT \
            --squeeze-blank-lines --tabs --window --help --version --tilde --use-color --quit-at-eof --QUIT-AT-EOF \
            --clear-screen --force"),
        HarmlessValue("-b -j -x -y -z"),
        Takes(Any),
    ]),
    ("more", &[
        Flag("-o -O --log-file --LOG-FILE",                     "writes a file"),
        Flag("-k --lesskey-file --lesskey-src --lesskey-content", "sets what its keys do"),
        Flag("-T -t -p",                                        "runs commands of its own"),
        Harmless("-d -f -l -c -u -s -e"),
        HarmlessValue("-n"),
    ]),
    ("bat, batcat", &[
        Flag("--pager --config-file --config-dir --cache-dir --generate-config-file", "starts another program, or reads settings"),
        Harmless("-n -p -A -f -d -u --plain --number --show-all --diff --force-colorization --list-languages --list-themes \
            --no-paging --squeeze-blank --chop-long-lines"),
        HarmlessValue("-l -r -H --language --line-range --highlight-line --style --color --theme --wrap --tabs --decorations \
            --terminal-width --paging --italic-text --map-syntax --file-name"),
        Takes(Any),
    ]),
    ("vim, vi, nvim, view, ex, gvim, rvim, rview, vimdiff, gvimdiff, nvimdiff", &[
        Flag("-c -S -u -U -s -l -V -i -o -e --cmd --startuptime",  "runs commands, reads settings or writes a file"),
        Harmless("-R -M -n -b -Z"),
    ]),
    ("emacs, emacsclient, nano, pico, micro", &[
        Flag("-c -S -u -U -s -l -V -i -o -e --eval --load --script --execute --funcall", "runs commands or code"),
    ]),
    ("nm, objdump, readelf, size, addr2line, c++filt", &[
        Flag("-P --plugin",                                     "loads a library"),
        Harmless("-a -A -C -d -D -e -f -g -h -l -n -p -r -R -s -S -t -T -u -V -w -W -x --demangle --syms --symbols --headers \
            --file-headers --section-headers --sections --program-headers --dynamic --dynamic-syms --disassemble \
            --disassemble-all --all-headers --archive-headers --private-headers --reloc --relocs --dynamic-reloc --full-contents \
            --source --line-numbers --wide --wide-output --numeric-sort --size-sort --defined-only --undefined-only \
            --extern-only --debug-syms --print-size --all --notes --version-info --arch-specific --no-show-raw-insn"),
        HarmlessValue("-j -M -m -I --section --architecture --disassembler-options --start-address --stop-address --radix"),
        Takes(NoResponseFile),
    ]),
    ("shellcheck", &[
        Harmless("-x -a -V --external-sources --check-sourced --list-optional"),
        HarmlessValue("-s -S -e -i -f -o -C -W -P --shell --severity --exclude --include --format --enable --color --wiki-link-count"),
    ]),
    ("tokei, scc", &[
        Harmless("-C -f --files --compact --hidden --no-ignore --by-file --no-cocomo --wide --ci"),
        HarmlessValue("-e -s -t --exclude --sort --type --exclude-dir --include-ext"),
    ]),
    ("dos2unix, unix2dos", &[Harmless("-q -k -f -s -i -v --quiet --keepdate --info --force --safe")]),
    ("ctags, etags, gtags, cscope", &[
        Flag("--options -o -f --optlib-dir --langdef --regex",  "reads settings, or writes a file"),
    ]),
];
