//! The parts of a local Discord that are stored between starts, so that a trial can continue tomorrow.
//!
//! Without them every agent would lose its channel at the next start. A damaged file is an error that names the file to
//! delete; nothing is repaired by guessing.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tempfile::NamedTempFile;

use super::guild::{Channel, File, Guild, Message, User};
use super::world::World;
use chorus_base::discord_ids::{GuildId, UserId};

/// Name of the file in the folder.
const FILE: &str = "discord.json";

/// Everything that is stored, except uploaded files, which are separate files.
#[derive(Serialize, Deserialize)]
struct Saved {
    last_id: u64,
    bot: UserId,
    application_owner: UserId,
    users: Vec<User>,
    guilds: Vec<Guild>,
    channels: Vec<Channel>,
    messages: Vec<Message>,
    commands: Vec<(Option<GuildId>, Vec<Value>)>,
    files: Vec<SavedFile>,
}

#[derive(Serialize, Deserialize)]
struct SavedFile {
    id: u64,
    name: String,
    content_type: String,
}

/// A copy of the world that can be written without holding its lock.
pub(super) struct Picture {
    saved: Saved,
    contents: HashMap<u64, File>,
}

impl Picture {
    /// Copies the world without ephemeral messages, which end with their interaction.
    pub(super) fn of(world: &World) -> Self {
        let messages = world.messages.values().flat_map(BTreeMap::values);
        let files = world.files.iter().map(|(id, file)| SavedFile {
            id: *id,
            name: file.name.clone(),
            content_type: file.content_type.clone(),
        });
        let saved = Saved {
            last_id: world.last_id(),
            bot: world.bot,
            application_owner: world.application_owner,
            users: world.users.values().cloned().collect(),
            guilds: world.guilds.values().cloned().collect(),
            channels: world.channels.values().cloned().collect(),
            messages: messages
                .filter(|message| message.only_for.is_none())
                .cloned()
                .collect(),
            commands: world
                .commands
                .iter()
                .map(|(scope, list)| (*scope, list.clone()))
                .collect(),
            files: files.collect(),
        };
        Self {
            saved,
            contents: world.files.clone(),
        }
    }

    /// Writes it into `folder`: whole, or not at all.
    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        for (id, file) in &self.contents {
            let path = folder.join(id.to_string());
            if !path.try_exists()? {
                put(folder, &path, &file.bytes)?;
            }
        }
        put(
            folder,
            &folder.join(FILE),
            &serde_json::to_vec(&self.saved)?,
        )
    }
}

fn put(folder: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.persist(path)?;
    Ok(())
}

/// Marks the bot's own roles, which files of older versions identify only by name.
fn mark_managed_roles(world: &mut World) {
    let bot = world.name_of(world.bot);
    for role in world.guilds.values_mut().flat_map(|one| &mut one.roles) {
        role.is_managed |= role.name == bot;
    }
}

/// Loads the content of `folder` into a fresh world; false if there is none.
pub(super) fn restore(world: &mut World, folder: &Path) -> io::Result<bool> {
    let path: PathBuf = folder.join(FILE);
    let text = match fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    let saved: Saved = serde_json::from_slice(&text).map_err(|error| {
        let words = format!(
            "{} is damaged ({error}); delete {} to start over",
            path.display(),
            folder.display()
        );
        io::Error::new(io::ErrorKind::InvalidData, words)
    })?;
    world.set_last_id(saved.last_id);
    world.bot = saved.bot;
    world.application_owner = saved.application_owner;
    world.users = saved
        .users
        .into_iter()
        .map(|user| (user.id, user))
        .collect();
    world.guilds = saved
        .guilds
        .into_iter()
        .map(|guild| (guild.id, guild))
        .collect();
    mark_managed_roles(world);
    world.channels = saved
        .channels
        .into_iter()
        .map(|channel| (channel.id, channel))
        .collect();
    world.commands = saved.commands.into_iter().collect();
    for message in saved.messages {
        world
            .messages
            .entry(message.channel)
            .or_default()
            .insert(message.id, message);
    }
    for file in saved.files {
        // A missing file is left out; its message still names it.
        let Ok(bytes) = fs::read(folder.join(file.id.to_string())) else {
            continue;
        };
        let content = File {
            name: file.name,
            content_type: file.content_type,
            bytes: bytes.into(),
        };
        world.files.insert(file.id, content);
    }
    Ok(true)
}
