//! A second reader for plain commands.
//!
//! It knows only words, quotes and separators. If the two do not see the same words in the same commands, one of them
//! is wrong about bash, and no narrow pattern allows the command.

/// Returns the words of each simple command of `text`, in order; `None` if the text is more than plain commands.
pub(super) fn read(text: &str) -> Option<Vec<Vec<String>>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut chars = text.chars().peekable();
    let end_word = |commands: &mut Vec<Vec<String>>, word: &mut Option<String>| {
        if let (Some(word), Some(command)) = (word.take(), commands.last_mut()) {
            command.push(word);
        }
    };
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' => end_word(&mut commands, &mut word),
            '\n' | ';' => {
                end_word(&mut commands, &mut word);
                commands.push(Vec::new());
            }
            '&' | '|' => {
                let doubled = chars.next_if_eq(&c).is_some();
                if !doubled && (c == '&' || chars.peek() == Some(&'&')) {
                    return None;
                }
                end_word(&mut commands, &mut word);
                commands.push(Vec::new());
            }
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '\'' => break,
                        c => word.push(c),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '"' => break,
                        '\\' => match chars.next()? {
                            c if "$`\"\\".contains(c) => word.push(c),
                            c => word.extend(['\\', c]),
                        },
                        '$' if chars.peek().is_some_and(|c| !" \"%/.,:;)]}'".contains(*c)) => {
                            return None;
                        }
                        '`' => return None,
                        c => word.push(c),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(chars.next()?),
            '$' | '`' | '(' | ')' | '<' | '>' | '*' | '?' | '[' | ']' => return None,
            '#' | '~' | '!' if word.is_none() => return None,
            '~' if word.as_ref().is_some_and(|word| word.ends_with(['=', ':'])) => return None,
            c => word.get_or_insert_default().push(c),
        }
    }
    end_word(&mut commands, &mut word);
    commands.retain(|words| !words.is_empty());
    Some(commands)
}
