//! Tries changes of a text on one pattern, to see which of its letters a wildcard matched.

use std::cell::Cell;
use std::ops::Range;

use super::super::effort::{Backtracks, Effort};
use super::super::pattern::Pattern;
use super::super::spelled;
use super::{STRANGE, Uncovered};

/// Tries changes of a text on one pattern, as far as the effort is left.
pub(super) struct Trial<'a> {
    pattern: &'a Pattern,
    effort: &'a Effort,
    before: &'a str,
    pub(super) text: &'a str,
    after: &'a str,
    gave_up: Cell<bool>,
}

impl<'a> Trial<'a> {
    /// Prepares changes in `text`, between `before` and `after`.
    pub(super) fn new(
        pattern: &'a Pattern,
        effort: &'a Effort,
        before: &'a str,
        text: &'a str,
        after: &'a str,
    ) -> Self {
        Self {
            pattern,
            effort,
            before,
            text,
            after,
            gave_up: Cell::new(false),
        }
    }

    pub(super) fn whole(&self) -> Range<usize> {
        0..self.text.len()
    }

    /// Returns whether the pattern still matches with `other` at `place`. Text that cannot be tried counts as a
    /// wildcard, and as [`Uncovered::Untried`].
    pub(super) fn fits(&self, place: &Range<usize>, other: &str) -> bool {
        self.fits_cut(self.text, place, other)
    }

    /// Works like [`Self::fits`] with `text`, a beginning of this one.
    pub(super) fn fits_cut(&self, text: &str, place: &Range<usize>, other: &str) -> bool {
        // No text is built without being tried.
        if self.is_over() {
            return true;
        }
        let changed = format!(
            "{}{}{other}{}{}",
            self.before,
            text.get(..place.start).unwrap_or_default(),
            text.get(place.end..).unwrap_or_default(),
            self.after
        );
        self.pattern
            .matches_within(&changed, self.effort)
            .unwrap_or_else(|_| {
                self.gave_up.set(true);
                true
            })
    }

    /// Returns whether the pattern spells all letters at `places`; `None` if only trying can show that.
    pub(super) fn spells(&self, places: &[Range<usize>]) -> Option<bool> {
        if self.is_over() {
            return Some(false);
        }
        let expression = self.pattern.spelled()?;
        let marked = spelled::mark(self.text, places)?;
        let text = format!("{}{marked}{}", self.before, self.after);
        if !self.effort.may_match(text.len(), Backtracks::Never) {
            return Some(false);
        }
        Some(expression.is_match(&text))
    }

    pub(super) fn is_over(&self) -> bool {
        self.gave_up.get() || self.effort.is_spent()
    }

    pub(super) fn failed(&self) -> Option<Uncovered> {
        self.is_over().then_some(Uncovered::Untried)
    }
}

/// Returns words that differ from `word` in one letter, and strange ones.
pub(super) fn neighbours(word: &str) -> Vec<String> {
    /// Most letters that are exchanged; a pattern that spells a word spells its beginning.
    const LETTERS: usize = 12;
    let mut others = vec![
        STRANGE.to_owned(),
        format!("-{STRANGE}"),
        format!("--{STRANGE}"),
    ];
    for (index, letter) in word
        .char_indices()
        .filter(|(_, c)| c.is_ascii_alphanumeric())
        .take(LETTERS)
    {
        for other in ['q', 'z', 'a', 'Q', '7'] {
            if other != letter {
                let mut changed = word.to_owned();
                changed.replace_range(index..index + 1, &other.to_string());
                others.push(changed);
            }
        }
    }
    others
}

/// Returns, for each letter and digit at `place`, whether a wildcard matched it.
///
/// A wildcard matched it if two of the four neighbouring letters in the alphabet match as well: a range of three or
/// more with the letter contains two of them. A single one may be spelled: `bash|dash`.
pub(super) fn free_letters<'a>(
    trial: &'a Trial<'_>,
    place: &Range<usize>,
) -> impl Iterator<Item = bool> + use<'a> {
    let bytes = trial.text.as_bytes();
    let bytes = bytes.get(place.clone()).unwrap_or_default();
    let letters = bytes.iter().zip(place.clone());
    letters
        .take_while(|_| !trial.is_over())
        .filter(|(letter, _)| letter.is_ascii_alphanumeric())
        .map(move |(letter, at)| {
            let near = [-2_i8, -1, 1, 2].map(|step| letter.wrapping_add_signed(step));
            let is_of_its_row = |other: &u8| {
                other.is_ascii_digit() == letter.is_ascii_digit()
                    && other.is_ascii_lowercase() == letter.is_ascii_lowercase()
                    && other.is_ascii_alphanumeric()
            };
            near.into_iter()
                .filter(is_of_its_row)
                .filter(|other| trial.fits(&(at..at + 1), &char::from(*other).to_string()))
                .nth(1)
                .is_some()
        })
}

/// Returns whether wildcards matched all letters at `place`, and there are any.
pub(super) fn is_all_free(trial: &Trial<'_>, place: &Range<usize>) -> bool {
    let mut free = free_letters(trial, place).peekable();
    free.peek().is_some() && free.all(|is_free| is_free)
}

/// Returns the first of `places` that the pattern does not spell. `is_loose` tries one of them if that is not known
/// otherwise.
pub(super) fn unspelled(
    trial: &Trial<'_>,
    places: &[Range<usize>],
    is_loose: impl Fn(&Range<usize>) -> bool,
) -> Option<Range<usize>> {
    /// Most places that are tried one by one, to name the right one.
    const TRIED: usize = 8;
    let first = places.first()?;
    match trial.spells(places) {
        Some(true) => None,
        Some(false) => {
            let mut some = places.iter().take(TRIED);
            let found = some.find(|place| {
                trial.spells(std::slice::from_ref(*place)) == Some(false) && !trial.is_over()
            });
            Some(found.unwrap_or(first).clone())
        }
        None => places
            .iter()
            .take_while(|_| !trial.is_over())
            .find(|place| is_loose(place))
            .cloned(),
    }
}
