//! The commands that `socat` addresses run: `EXEC:`, `SYSTEM:` and `SHELL:`, by themselves, or as one half of `a!!b`.
//!
//! Names of addresses are case-insensitive, and socat removes quotes and backslashes from the whole address, as a shell
//! did before. A command in it ends at a comma or `!!` outside of quotes. This code does not work out which of these
//! are outside: it reads the command up to each of them, as written and without quotes.

/// Addresses that run the text after them.
const RUNS: [&str; 3] = ["exec:", "system:", "shell:"];

/// Ends of one command that are tried.
const MOST_ENDS: usize = 32;

/// Returns the commands that an address may run; `None` if there are too many to try.
pub(super) fn commands(address: &str) -> Option<Vec<String>> {
    let plain: String = address
        .chars()
        .filter(|c| !matches!(c, '"' | '\'' | '\\'))
        .collect();
    let mut commands = Vec::new();
    for text in [address, &plain] {
        // Non-ASCII letters stay, so that positions are the same.
        let lower = text.to_ascii_lowercase();
        for name in RUNS {
            for (at, _) in lower.match_indices(name) {
                commands.extend(up_to_each_end(&text[at + name.len()..])?);
            }
        }
    }
    commands.dedup();
    Some(commands)
}

fn up_to_each_end(command: &str) -> Option<Vec<String>> {
    let commas = command.match_indices(',');
    let ends: Vec<usize> = commas
        .chain(command.match_indices("!!"))
        .map(|(at, _)| at)
        .chain([command.len()])
        .take(MOST_ENDS + 1)
        .collect();
    (ends.len() <= MOST_ENDS).then(|| ends.iter().map(|end| command[..*end].to_owned()).collect())
}

/// Returns the files that an address may write: of `OPEN:file`, `CREATE:file`, and of a plain path.
pub(super) fn writes_to(address: &str) -> impl Iterator<Item = &str> {
    let halves = address.split("!!").filter(|half| {
        let mut options = half.split(',').skip(1);
        !options.any(|option| option.eq_ignore_ascii_case("rdonly"))
    });
    halves.map(|half| {
        let name = half.split(',').next().unwrap_or(half);
        name.split_once(':').map_or(name, |(_, file)| file)
    })
}
