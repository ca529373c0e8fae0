//! How far a pattern determines the URLs of a command, especially their hosts.

use std::ops::Range;

use super::trial::{Trial, free_letters, is_all_free};
use super::{STRANGE, Uncovered, direct_path};
use shell_verdict::{Simple, Word};

pub(super) fn urls(command: &Simple, trial: &Trial<'_>) -> Option<Uncovered> {
    let arguments = || {
        let words = command.arguments().iter();
        words.take_while(|_| !trial.is_over())
    };
    let is_url = |word: &&Word| word.value().contains("://");
    if let Some(uncovered) = arguments()
        .filter(is_url)
        .find_map(|word| url_in(trial, &word.place()))
    {
        return Some(uncovered);
    }
    // If the pattern determines one URL, it must determine all of them.
    let free = |place: &Range<usize>| trial.fits(place, STRANGE);
    if arguments().filter(is_url).all(|word| free(&word.place())) {
        return None;
    }
    let is_fetcher = is_fetcher(command);
    arguments()
        .filter(|word| !word.is_option() && (is_url(word) || is_fetcher))
        .find(|word| free(&word.place()) || is_all_free(trial, &word.place()))
        .map(|word| Uncovered::Spills(word.value().to_owned()))
}

fn is_fetcher(command: &Simple) -> bool {
    command
        .words()
        .first()
        .is_some_and(|program| matches!(program.value(), "curl" | "wget" | "http" | "xh"))
}

/// Checks the URL at `place` of `text`: its host must be determined up to its end, or not at all.
pub(super) fn url_in(trial: &Trial<'_>, place: &Range<usize>) -> Option<Uncovered> {
    let text = trial.text;
    let whole = text.get(place.clone())?;
    let start = place.start + whole.find("://")? + 3;
    let rest = text.get(start..place.end)?;
    let length = rest
        .find(['/', '?', '#', '\\', '"', '\''])
        .unwrap_or(rest.len());
    let host = &rest[..length];
    if host.contains('@') || rest.contains('\\') || host.contains('%') {
        return Some(Uncovered::HidesHost(whole.to_owned()));
    }
    let at = start..start + length;
    if trial.spells(std::slice::from_ref(&at)) != Some(true) {
        let ends_open = |end: usize| {
            let begins = host.get(..end);
            begins.is_some_and(|begins| trial.fits(&at, &format!("{begins}{STRANGE}.invalid")))
        };
        let is_open = ends_open(0);
        let is_free = is_open || is_all_free(trial, &at);
        let is_completed =
            !is_open && ((1..host.len()).any(ends_open) || is_open_at_its_end(trial, &at));
        if is_completed || is_free && names_host_behind(trial, &(start..place.end), host) {
            return Some(Uncovered::Completed(host.to_owned()));
        }
    }
    let path_place = at.end..place.end;
    let path = text
        .get(path_place.clone())?
        .replace("%2e", ".")
        .replace("%2E", ".")
        .replace("%2f", "/")
        .replace("%2F", "/");
    if path.split(['/', '\\']).any(|part| part == "..")
        && !trial.fits(&path_place, &direct_path(&path))
    {
        return Some(Uncovered::Climbs(whole.to_owned()));
    }
    None
}

/// Returns whether the host that the pattern names comes after the URL's own: `https://.*\.example\.com/.*` matches
/// `https://evil.example/x.example.com/`, because its wildcard matches slashes.
fn names_host_behind(trial: &Trial<'_>, place: &Range<usize>, host: &str) -> bool {
    let fits = |address: &str| {
        let paths = ["", "/", "/zq", "/Zq7"].into_iter();
        let mut urls = paths.map(|path| format!("{address}{path}"));
        urls.any(|url| trial.fits(place, &url))
    };
    if fits(host) || fits("zq.invalid") {
        return false;
    }
    let behind = trial
        .text
        .get(place.start + host.len()..place.end)
        .unwrap_or_default();
    behind
        .split(['/', '?', '#', '&', '=', '"', '\''])
        .filter(|part| part.contains('.'))
        .any(fits)
}

/// Returns whether a wildcard matches the end of the host at `place` and not all of it.
///
/// A port and the last number of an address are not names that others could register.
fn is_open_at_its_end(trial: &Trial<'_>, place: &Range<usize>) -> bool {
    let host = trial.text.get(place.clone()).unwrap_or_default();
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let name = match host.rsplit_once(':') {
        Some((name, port)) if digits(port) => name,
        _ => host,
    };
    if name.rsplit('.').next().is_none_or(digits) {
        return false;
    }
    let name = place.start..place.start + name.len();
    let free: Vec<bool> = free_letters(trial, &name).collect();
    free.last() == Some(&true) && free.contains(&false)
}
