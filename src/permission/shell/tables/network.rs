//! Programs that reach other machines, containers and clusters: which of their options and operands are harmless.

use super::options::Entry;
use super::options::Operands::{Any, NoResponseFile};
use super::options::Rule::{
    Beginning, Flag, Harmless, HarmlessValue, HarmlessWord, HarmlessWordValue, Subcommands, Takes,
    Word,
};

#[rustfmt::skip]
pub(super) const PROGRAMS: &[Entry] = &[
    ("curl", &[
        Harmless("-s -S -f -L -I -i -v -k -g -G -4 -6 -# -N -q -h -l -0 -1 -2 -3 -V -j -B -M -p \
            --silent --show-error --fail --fail-with-body --fail-early --location --head --include --verbose \
            --insecure --globoff --get --ipv4 --ipv6 --progress-bar --no-progress-meter --no-buffer --help \
            --version --http1.0 --http1.1 --http2 --http2-prior-knowledge --http3 --tlsv1 --tlsv1.0 --tlsv1.1 \
            --tlsv1.2 --tlsv1.3 --retry-connrefused --retry-all-errors --compressed --raw --path-as-is --parallel --disable \
            --tcp-nodelay --anyauth --basic --digest --negotiate --ntlm --ssl --ssl-reqd --suppress-connect-headers \
            --list-only --post301 --post302 --post303 --no-keepalive --no-sessionid --ca-native"),
        HarmlessValue("-m -A -H -e -r -y -Y -z -C -u -U -w --tls-max --max-time --connect-timeout --user-agent --referer --header \
            --range --speed-time --speed-limit --time-cond --retry --retry-delay --retry-max-time --max-redirs \
            --max-filesize --limit-rate --user --oauth2-bearer --write-out --parallel-max --keepalive-time --proto \
            --proto-default --proto-redir --cacert --capath --ciphers --rate"),
        Beginning("-H@ -w@ @",                                  "takes a value from a file"),
        Takes(Any),
    ]),
    ("wget", &[
        Flag("-O --output-document -o --output-file -a --append-output", "writes a file"),
        Flag("-P --directory-prefix --save-cookies --warc-file --rejected-log --hsts-file", "writes files"),
        Flag("-e --execute --config",                           "sets configuration"),
        Flag("--use-askpass",                                   "starts another program"),
        Flag("--method --post-data --post-file --body-data --body-file", "sends something elsewhere"),
        Flag("-i --input-file --base",                          "takes the addresses from a file"),
        Flag("--header-file --pinnedpubkey",                    "takes a value from a file"),
        HarmlessWord("-q -v -nv -S -c -N -np -nc -nd -4 -6 -d"),
        Harmless("--quiet --verbose --no-verbose --spider --no-check-certificate --https-only --server-response --show-progress \
            --random-wait --no-cache --no-cookies --no-hsts --no-proxy --continue --timestamping --no-clobber --no-parent \
            --no-netrc --content-on-error --inet4-only --inet6-only"),
        HarmlessValue("--timeout --tries --max-redirect --user-agent --header --progress --wait --limit-rate --referer --compression \
            --connect-timeout --read-timeout --dns-timeout --waitretry --retry-on-http-error"),
        HarmlessWordValue("-t -T -U -w"),
        Takes(Any),
    ]),
    ("ping, ping6", &[
        Harmless("-4 -6 -q -n -v -a -A -b -D -O -R -U"),
        HarmlessValue("-c -i -W -w -s -t -I"),
    ]),
    ("traceroute, tracepath, mtr", &[
        Harmless("-4 -6 -n -b -r -w -z -I -T -U --report --report-wide --no-dns --tcp --udp"),
        HarmlessValue("-c -i -m -q -p --report-cycles --max-ttl --interval"),
    ]),
    ("dig", &[
        HarmlessWord("-4 -6"),
        HarmlessWordValue("-x -t -p -q -c"),
        Takes(Any),
    ]),
    ("host, nslookup, whois, getent", &[Harmless("-a -4 -6 -v -d -C -l -r"), HarmlessValue("-t -W -R -c")]),
    ("gh, glab, hub", &[
        Harmless("-a -d -c -l -m -i -u -H -q -t -L -s -A -S -B -b -j -r -h --draft --comments --paginate --log --log-failed --exit-status \
            --verbose --name-only --patch --watch --fail-fast --required --fork --source --archived --no-archived --silent \
            --include --slurp --all --merged --closed --mine --help --version"),
        HarmlessValue("-R --json --jq --template --limit --state --author --assignee --label --search --repo --head --base --title \
            --milestone --branch --workflow --event --user --status --job --color --interval --owner --language --visibility \
            --topic --hostname --order --sort --per-page --page --output --group --created --commit --attempt --preview --header"),
        Takes(Any),
    ]),
    ("doctl", &[
        Harmless("-o -v --verbose --no-header --trace"),
        HarmlessValue("--output --format --region --tag-name"),
    ]),
    ("docker, podman, nerdctl", &[
        Flag("-H --host --context --config --tlscacert --runtime --conmon --hooks-dir", "works on another machine, or with other programs"),
        Flag("-v --volume --mount --device",                    "reaches the machine's files"),
        Flag("--privileged --pid --network --cap-add --security-opt", "takes down the container's borders"),
        Flag("--entrypoint",                                    "runs another command"),
        Flag("--output --file",                                 "writes a file, or takes its settings from one"),
        Harmless("-a -q -l -s -d -t --all --quiet --no-trunc --size --latest --timestamps --follow --details --digests --no-stream \
            --no-cache --pull --detach --rm --tree --all-tags --wait"),
        HarmlessValue("-n --format --filter --tail --since --until --last --tag --time --signal --platform --progress --target"),
        Subcommands("ps images logs inspect version info top stats port diff history events search pull build buildx compose container \
            image network volume system start stop restart kill rm rmi pause unpause wait rename tag push create commit cp save \
            load import export attach update login logout exec run context plugin swarm node service stack secret config \
            manifest builder checkpoint trust pod machine generate play kube healthcheck help --version --help"),
        Word("attach load import trust machine play kube builder swarm stack", "runs something elsewhere, or takes what it runs from a file"),
        Takes(Any),
    ]),
    ("docker ps, docker images, docker logs, docker network, docker volume, docker system, podman ps, podman images, podman logs", &[
        Harmless("-f"),
    ]),
    ("docker-compose, podman-compose", &[
        Harmless("-d -q -a -t --detach --quiet --all --build --no-build --no-deps --no-color --timestamps --follow --services \
            --remove-orphans --force-recreate --wait"),
        HarmlessValue("--tail --since --until --status"),
    ]),
    ("docker compose, podman compose, nerdctl compose", &[
        Flag("-f -p --project-directory --env-file --profile",  "takes its settings from a file"),
        Harmless("--build --no-build --no-deps --no-color --services --remove-orphans --force-recreate"),
        HarmlessValue("--status"),
    ]),
    ("kubectl, oc", &[
        Flag("-s --kubeconfig --server --token --as --proxy-url --kuberc", "works on another cluster or as someone else"),
        Flag("--raw",                                           "asks for any address of the cluster"),
        Flag("--cache-dir",                                     "writes in another folder"),
        Harmless("-A -w -p --all-namespaces --watch --show-labels --previous --timestamps --no-headers --ignore-not-found --short \
            --show-kind --recursive --show-managed-fields --watch-only --all-containers --prefix --client --show-events"),
        HarmlessValue("-n -o -l -L -c --namespace --output --selector --label-columns --field-selector --sort-by --container --tail \
            --since --since-time --limit --chunk-size --context --api-group --verbs --timeout --for --replicas"),
        Subcommands("get describe logs explain top version cluster-info api-resources api-versions auth config diff events rollout \
            scale label annotate create apply delete edit patch replace expose autoscale set exec run cp port-forward proxy attach \
            debug drain cordon uncordon taint certificate wait kustomize completion options plugin help projects project status whoami \
            --help --version"),
        Word("edit proxy attach debug plugin kustomize port-forward --kustomize", "starts another program, or runs something elsewhere"),
        Takes(NoResponseFile),
    ]),
    ("kubectl logs", &[Harmless("-f --follow")]),
    ("helm", &[
        Flag("--output-dir",                                    "writes files"),
        Flag("--post-renderer --kubeconfig --repository-config --registry-config", "starts another program, or reads settings"),
        Harmless("-A -a -q -l --all-namespaces --all --short --dry-run --debug --devel --wait --atomic --no-color --versions \
            --deployed --failed --pending --reverse --no-headers"),
        HarmlessValue("-n -o --namespace --output --max --offset --revision --timeout --kube-version"),
        Subcommands("install upgrade list ls status get show template lint history rollback uninstall delete search repo version env \
            dependency pull package test verify create plugin registry help"),
        Takes(NoResponseFile),
    ]),
    ("terraform, tofu", &[
        Beginning("-chdir --chdir -plugin-dir --plugin-dir",    "works in another folder, whose programs it runs"),
        Beginning("-out --out -state --state -backup --backup -generate-config-out --generate-config-out", "writes a file"),
        Beginning("-backend-config --backend-config",           "sets where it keeps its state"),
        HarmlessWord("-no-color -json -upgrade -reconfigure -compact-warnings -detailed-exitcode -check -diff -recursive \
            -refresh-only -destroy -raw"),
        HarmlessWordValue("-input -lock -lock-timeout -parallelism -refresh -get -list -write"),
        Takes(NoResponseFile),
    ]),
    ("ansible-playbook, ansible-inventory, ansible-galaxy, ansible-console, ansible-lint", &[
        Flag("-i --inventory -M --module-path",                 "runs the programs of another folder"),
        Flag("--vault-password-file --vault-id --become-password-file --connection-password-file", "starts the program named"),
        Flag("--ssh-common-args --ssh-extra-args --scp-extra-args --sftp-extra-args", "sets options that may name programs"),
        Flag("-e --extra-vars --connection -c",                 "sets variables, which may name programs"),
        Harmless("-v -C -D --check --diff --syntax-check --list-hosts --list-tasks --list-tags --step --flush-cache --list --graph"),
        HarmlessValue("-l -t -f --limit --tags --skip-tags --forks --start-at-task --host"),
    ]),
    ("aws", &[
        Word("start-session ssh",                               "starts another program"),
        Flag("--endpoint-url --cli-input-json --cli-input-yaml --ca-bundle", "asks another server, or takes its settings from a file"),
        Harmless("--no-paginate --no-cli-pager --dryrun --quiet --recursive --human-readable --summarize --only-show-errors"),
        HarmlessValue("--output --query --region --max-items --page-size"),
        Takes(NoResponseFile),
    ]),
    ("restic, rclone", &[
        Flag("-o --option --password-command --config --sftp-ssh", "starts another program, or reads settings"),
        Harmless("-q -v -n -P --json --latest --compact --dry-run --no-lock --progress --checksum --size-only --stats-one-line"),
        HarmlessValue("--tag --host --path --group-by --max-depth --include --exclude --transfers --checkers --stats"),
    ]),
    ("aria2c", &[
        Beginning("--on-",                                      "runs a command when it is done"),
        Flag("-o -d --out --dir --conf-path --save-session --log -l", "writes elsewhere, or reads settings"),
        Flag("-i --input-file",                                 "takes the addresses from a file"),
        Harmless("-q -c --quiet --continue --dry-run"),
        HarmlessValue("-x -s -j -m -t --split --max-tries --timeout --max-connection-per-server"),
        Takes(Any),
    ]),
    ("yt-dlp, youtube-dl", &[
        Harmless("-F -j -s -q -e -g -4 -6 --list-formats --dump-json --simulate --skip-download --no-playlist --get-title --get-url \
            --get-id --get-duration --get-description --list-subs --no-warnings --quiet --verbose --flat-playlist --no-progress"),
        Takes(Any),
    ]),
    ("ffprobe", &[
        HarmlessWord("-hide_banner -show_format -show_streams -show_chapters -show_packets -show_frames -show_error -count_frames"),
        HarmlessWordValue("-v -of -print_format -i -select_streams -show_entries -loglevel"),
    ]),
    ("magick, convert, identify, mogrify, compare, montage, composite", &[
        HarmlessWord("-verbose -ping -strip -flip -flop -auto-orient -negate -trim -normalize -quiet"),
        HarmlessWordValue("-resize -quality -rotate -crop -density -colorspace -gravity -extent -background -thumbnail -depth -type \
            -alpha -sharpen -blur -scale -geometry"),
    ]),
    ("exiftool", &[HarmlessWord("-a -G -G1 -s -S -n -j -g -T -v -q -u -r")]),
    ("lynx", &[
        HarmlessWord("-dump -listonly -nolist -nonumbers -source -head -version -nopause"),
        HarmlessWordValue("-width"),
    ]),
];
