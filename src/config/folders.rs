//! The key `folders`: the folders of the machine that agents may be bound to.
//!
//! Judges roots and folders by their place ([`Place`]). It binds nothing and opens no file of a folder.

mod place;

use std::fs;
use std::path::{Component, Path, PathBuf};

pub use place::Place;

/// Folders of the system. An agent may not use folders in them or around them either.
const SYSTEM: [&str; 9] = [
    "/boot", "/dev", "/etc", "/proc", "/run", "/sys", "/usr", "/bin", "/sbin",
];

/// The beginning of the names of further folders in `/`.
const LIBRARIES: &str = "lib";

/// Where desktops mount disks, although it is in a folder of the system.
const MEDIA: &str = "/run/media";

/// Folders that everyone can write to. Their contents may belong to an agent.
const SHARED: [&str; 2] = ["/tmp", "/var/tmp"];

/// The usual place of people's homes.
const HOMES: &str = "/home";

/// The first user id of people, and the last one.
const PEOPLE: std::ops::RangeInclusive<u32> = 1000..=60_000;

/// Why an agent may not use a folder.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FolderRefusal {
    #[error("write the whole path, from / on")]
    Relative,
    #[error("write the path without `..`")]
    Dots,
    #[error("it is the root of the file system")]
    Root,
    #[error("it lies in the `.git` of a repository, whose files decide what git runs")]
    Repository,
    #[error("{}", around(.0, *.1, "a folder of the system"))]
    System(PathBuf, Relation),
    #[error("it is the home directory {}: name a folder in it", .0.display())]
    Home(PathBuf),
    #[error("it contains the home directory {}: name a folder in it", .0.display())]
    HoldsHome(PathBuf),
    #[error("everybody writes to {}: name a folder in it", .0.display())]
    Shared(PathBuf),
    #[error("{}", around(.0, *.1, "the home of Chorus"))]
    Chorus(PathBuf, Relation),
}

/// The position of a folder relative to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    Equal,
    Within,
    Contains,
}

fn around(other: &Path, relation: Relation, what: &str) -> String {
    let other = other.display();
    match relation {
        Relation::Equal => format!("it is {other}, {what}"),
        Relation::Within => format!("it lies in {other}, {what}"),
        Relation::Contains => format!("it contains {other}, {what}"),
    }
}

/// The purpose of judging a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Folders below it can be given to agents.
    Root,
    /// One agent works in it.
    Workspace,
}

/// The folders of this machine that agents may not use.
#[derive(Debug)]
pub struct Reserved {
    system: Vec<Place>,
    homes: Vec<Place>,
    shared: Vec<Place>,
    chorus: Option<Place>,
}

impl Reserved {
    /// Examines this machine. `chorus` is the home of Chorus, if it is known.
    pub fn of_this_machine(chorus: Option<&Path>) -> Self {
        let found = |paths: Vec<PathBuf>| -> Vec<Place> {
            paths
                .iter()
                .filter_map(|path| Place::of(path).ok())
                .collect()
        };
        let listed = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        let mut system = listed(&SYSTEM);
        system.extend(names_in(Path::new("/")).filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| name.starts_with(LIBRARIES))
        }));
        Self {
            system: found(system),
            homes: found(homes()),
            shared: found(listed(&SHARED)),
            chorus: chorus.and_then(|home| Place::of(home).ok()),
        }
    }

    /// Returns why the folder at `place` cannot be used for this purpose, if it cannot.
    pub fn refusal(&self, place: &Place, used: Use) -> Option<FolderRefusal> {
        if place.is_root() {
            return Some(FolderRefusal::Root);
        }
        // A mount below a root is judged when it is named.
        let relation = |other: &Place| match used {
            Use::Root => place.own_relation(other),
            Use::Workspace => place.relation(other),
        };
        let is_on_media = place.path().starts_with(MEDIA) && place.path() != Path::new(MEDIA);
        for system in &self.system {
            match relation(system) {
                None => {}
                Some(Relation::Within) if is_on_media => {}
                Some(relation) => {
                    return Some(FolderRefusal::System(system.path().to_owned(), relation));
                }
            }
        }
        for home in &self.homes {
            match (relation(home), used) {
                (Some(Relation::Equal), _) => {
                    return Some(FolderRefusal::Home(home.path().to_owned()));
                }
                (Some(Relation::Contains), Use::Workspace) => {
                    return Some(FolderRefusal::HoldsHome(home.path().to_owned()));
                }
                _ => {}
            }
        }
        for shared in &self.shared {
            if relation(shared) == Some(Relation::Equal) {
                return Some(FolderRefusal::Shared(shared.path().to_owned()));
            }
        }
        let chorus = self.chorus.as_ref()?;
        let relation = relation(chorus)?;
        Some(FolderRefusal::Chorus(chorus.path().to_owned(), relation))
    }
}

/// Checks the letters of a root.
pub fn refused_letters(root: &Path) -> Option<FolderRefusal> {
    if !root.is_absolute() {
        return Some(FolderRefusal::Relative);
    }
    let mut parts = root.components();
    if parts.any(|part| part == Component::ParentDir) {
        return Some(FolderRefusal::Dots);
    }
    let is_repository = |part: Component<'_>| part.as_os_str().eq_ignore_ascii_case(".git");
    let is_in_one = root.components().any(is_repository);
    is_in_one.then_some(FolderRefusal::Repository)
}

/// Returns the first folder from `root` down to `folder` that git accepts as a repository without a working directory.
/// Anyone who writes there decides what git runs.
pub fn repository_around<'a>(root: &Path, folder: &'a Path) -> Option<&'a Path> {
    let is_repository = |folder: &&Path| {
        folder.join("HEAD").exists()
            && folder.join("objects").is_dir()
            && folder.join("refs").is_dir()
    };
    let mut around = folder.ancestors().filter(|above| above.starts_with(root));
    around.find(is_repository)
}

/// Returns the first hidden name on the way from `root` down to `folder`. Programs keep settings in hidden folders
/// (`.git`, `.husky`, `.config`), and some start programs that these name.
pub fn hidden_below<'a>(root: &Path, folder: &'a Path) -> Option<&'a str> {
    let below = folder.strip_prefix(root).ok()?;
    below
        .iter()
        .filter_map(std::ffi::OsStr::to_str)
        .find(|name| name.starts_with('.') || name.to_ascii_lowercase().starts_with("git~"))
}

/// Returns the first root that cannot be one, and why. A root that does not exist is judged by its nearest existing
/// folder.
pub(super) fn refused_root<'a>(
    roots: &'a [PathBuf],
    chorus: Option<&Path>,
) -> Option<(&'a Path, FolderRefusal)> {
    if roots.is_empty() {
        return None;
    }
    let reserved = Reserved::of_this_machine(chorus);
    roots.iter().find_map(|root| {
        let refusal = refused_letters(root).or_else(|| match Place::of(root) {
            Ok(place) => reserved.refusal(&place, Use::Root),
            Err(_) => refused_missing(root, &reserved, chorus),
        })?;
        Some((root.as_path(), refusal))
    })
}

/// Judges a root that does not exist: it would be in the nearest existing folder.
fn refused_missing(
    root: &Path,
    reserved: &Reserved,
    chorus: Option<&Path>,
) -> Option<FolderRefusal> {
    if let Some(chorus) = chorus
        && (root.starts_with(chorus) || chorus.starts_with(root))
    {
        let relation = match root.starts_with(chorus) {
            true if root == chorus => Relation::Equal,
            true => Relation::Within,
            false => Relation::Contains,
        };
        return Some(FolderRefusal::Chorus(chorus.to_owned(), relation));
    }
    let above = root
        .ancestors()
        .skip(1)
        .find_map(|above| Place::of(above).ok())?;
    let is_on_media = root.starts_with(MEDIA);
    let within = |other: &Place| {
        let relation = above.relation(other);
        matches!(relation, Some(Relation::Equal | Relation::Within))
    };
    if let Some(system) = reserved.system.iter().find(|other| within(other))
        && !is_on_media
    {
        return Some(FolderRefusal::System(
            system.path().to_owned(),
            Relation::Within,
        ));
    }
    let chorus = reserved.chorus.as_ref().filter(|chorus| within(chorus))?;
    Some(FolderRefusal::Chorus(
        chorus.path().to_owned(),
        Relation::Within,
    ))
}

/// Returns the root of `roots` that is `folder` or contains it, by their letters: a folder that an agent is bound to has no
/// link in its path.
pub fn root_of<'a>(roots: &'a [PathBuf], folder: &Path) -> Option<&'a Path> {
    let mut roots = roots.iter().map(PathBuf::as_path);
    roots.find(|root| folder.starts_with(root))
}

/// Returns the home directories of this machine's people and of root.
fn homes() -> Vec<PathBuf> {
    let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let of_people = passwd.lines().filter_map(home_of_line);
    let own = std::env::var_os("HOME").map(PathBuf::from);
    let mut homes: Vec<PathBuf> = of_people
        .chain(own.filter(|home| home.is_absolute()))
        .chain(names_in(Path::new(HOMES)))
        .chain([PathBuf::from("/root")])
        .filter(|home| home != Path::new("/"))
        .collect();
    homes.sort();
    homes.dedup();
    homes
}

/// Returns the home in a line of `/etc/passwd`, if it is that of a person or of root.
fn home_of_line(line: &str) -> Option<PathBuf> {
    let mut fields = line.split(':');
    let user: u32 = fields.nth(2)?.parse().ok()?;
    let home = fields.nth(2)?;
    let is_persons = user == 0 || PEOPLE.contains(&user);
    (is_persons && home.starts_with('/')).then(|| PathBuf::from(home))
}

fn names_in(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic, clippy::unwrap_used)]

    use super::*;

    fn refusal_of(path: &Path, used: Use, chorus: Option<&Path>) -> Option<FolderRefusal> {
        Reserved::of_this_machine(chorus).refusal(&Place::of(path).unwrap(), used)
    }

    #[test]
    fn folders_of_the_system_are_refused_and_what_lies_in_them_and_around_them() {
        for path in [
            "/etc",
            "/usr",
            "/usr/share",
            "/proc",
            "/dev",
            "/sys",
            "/run",
            "/boot",
            "/bin",
        ] {
            if !Path::new(path).exists() {
                continue;
            }
            let roots = [PathBuf::from(path)];
            let refusal = refused_root(&roots, None);
            assert!(
                matches!(refusal, Some((_, FolderRefusal::System(..)))),
                "{path}: {refusal:?}"
            );
        }
        assert_eq!(
            refused_root(&[PathBuf::from("/")], None).unwrap().1,
            FolderRefusal::Root
        );
        let missing = [PathBuf::from("/etc/no-such-folder/a")];
        let missing = refused_root(&missing, None);
        assert!(matches!(missing, Some((_, FolderRefusal::System(..)))));
    }

    #[test]
    fn a_link_to_a_folder_of_the_system_is_that_folder() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/etc", &link).unwrap();
        let refusal = refusal_of(&link, Use::Root, None);
        assert!(
            matches!(refusal, Some(FolderRefusal::System(..))),
            "{refusal:?}"
        );
    }

    #[test]
    fn letters_are_judged_before_the_disk_is_looked_at() {
        let refused = |path: &str| refused_letters(Path::new(path));
        assert_eq!(refused("srv/web"), Some(FolderRefusal::Relative));
        assert_eq!(refused("/srv/../etc"), Some(FolderRefusal::Dots));
        assert_eq!(refused("/srv/web/"), None);
    }

    #[test]
    fn shared_folders_and_homes_are_refused_themselves_only() {
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        assert_eq!(
            refusal_of(Path::new("/tmp"), Use::Root, None),
            Some(FolderRefusal::Shared("/tmp".into()))
        );
        assert_eq!(refusal_of(folder.path(), Use::Workspace, None), None);
        let root = Path::new("/root");
        if root.is_dir() {
            assert_eq!(
                refusal_of(root, Use::Root, None),
                Some(FolderRefusal::Home(root.to_owned()))
            );
        }
    }

    #[test]
    fn the_home_of_chorus_is_refused_with_what_lies_in_it_and_around_it() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("a/chorus");
        let inner = home.join("agents");
        fs::create_dir_all(&inner).unwrap();
        fs::create_dir(folder.path().join("b")).unwrap();
        let refused = |path: &Path| match refusal_of(path, Use::Root, Some(&home)) {
            Some(FolderRefusal::Chorus(_, relation)) => Some(relation),
            None => None,
            other => panic!("{other:?}"),
        };
        assert_eq!(refused(&home), Some(Relation::Equal));
        assert_eq!(refused(&inner), Some(Relation::Within));
        assert_eq!(refused(&folder.path().join("a")), Some(Relation::Contains));
        assert_eq!(refused(&folder.path().join("b")), None);
        let missing = [home.join("new")];
        let refusal = refused_root(&missing, Some(&home));
        assert!(matches!(
            refusal,
            Some((_, FolderRefusal::Chorus(_, Relation::Within)))
        ));
    }

    #[test]
    fn only_people_and_root_have_homes() {
        let home = |line: &str| home_of_line(line);
        assert_eq!(
            home("ann:x:1000:1000::/home/ann:/bin/sh"),
            Some("/home/ann".into())
        );
        assert_eq!(home("root:x:0:0::/root:/bin/sh"), Some("/root".into()));
        assert_eq!(home("git:x:998:998::/srv/git:/bin/sh"), None);
        assert_eq!(home("broken"), None);
    }

    #[test]
    fn a_folder_belongs_to_the_root_that_is_above_it_by_whole_names() {
        let roots = [PathBuf::from("/srv"), PathBuf::from("/data/notes/")];
        let root = |path: &str| root_of(&roots, Path::new(path));
        assert_eq!(root("/srv/web"), Some(Path::new("/srv")));
        assert_eq!(root("/srv"), Some(Path::new("/srv")));
        assert_eq!(root("/srv-evil"), None);
        assert_eq!(root("/data/notes/a"), Some(Path::new("/data/notes")));
        assert_eq!(root("/data"), None);
    }
}
