//! Counts the files of a folder, up to a bound.

use std::path::PathBuf;

/// Names looked at in one count.
const MOST: usize = 10_000;

/// How many files a folder has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileCount {
    Exactly(usize),
    /// Counting ended here.
    MoreThan(usize),
}

/// Counts what is in `folder` and below it, without folders. Links count as files and lead nowhere; what cannot be read does
/// not count.
pub(super) async fn below(folder: PathBuf) -> FileCount {
    let (mut files, mut names) = (0, 0);
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        let Ok(mut entries) = tokio::fs::read_dir(folder).await else {
            continue;
        };
        while let Ok(Some(entry)) = entries.next_entry().await {
            if names == MOST {
                return FileCount::MoreThan(files);
            }
            names += 1;
            match entry.file_type().await {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(_) => files += 1,
                Err(_) => {}
            }
        }
    }
    FileCount::Exactly(files)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[tokio::test]
    async fn files_below_are_counted_and_links_not_followed() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(home.path().join("a/b")).unwrap();
        for name in ["one", "a/two", "a/b/three"] {
            std::fs::write(home.path().join(name), "").unwrap();
        }
        std::os::unix::fs::symlink("/", home.path().join("link")).unwrap();
        let counted = below(home.path().to_owned()).await;
        assert_eq!(counted, FileCount::Exactly(4));
        let missing = below(home.path().join("none")).await;
        assert_eq!(missing, FileCount::Exactly(0));
    }
}
