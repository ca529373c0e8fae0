//! Who somebody is: members of a server as [`Person`], with their roles and rights and the channels they see; who the
//! operator is, and who the bot is.

pub mod access;
pub(super) mod identity;
pub(super) mod operator;

use serenity::all::{Guild, GuildChannel, Member, Permissions};

use crate::domain::{Person, RoleId, UserId};

/// The member who holds `roles` in `guild`, with the rights that follow from them.
pub fn person(guild: &Guild, id: u64, name: &str, roles: &[serenity::all::RoleId]) -> Person {
    let rights = rights(guild, id, roles);
    Person {
        id: UserId(id),
        name: name.to_owned(),
        roles: roles.iter().map(|role| RoleId(role.get())).collect(),
        is_administrator: rights.administrator(),
        may_manage_server: rights.administrator() || rights.manage_guild(),
    }
}

/// The person a whole member is.
pub fn person_of(guild: &Guild, member: &Member) -> Person {
    person(
        guild,
        member.user.id.get(),
        member.display_name(),
        &member.roles,
    )
}

/// A person with the rights that Discord computed for an interaction, where the cache does not have the server.
pub fn person_with(member: &Member, rights: Permissions) -> Person {
    Person {
        id: UserId(member.user.id.get()),
        name: member.display_name().to_owned(),
        roles: member.roles.iter().map(|role| RoleId(role.get())).collect(),
        is_administrator: rights.administrator(),
        may_manage_server: rights.administrator() || rights.manage_guild(),
    }
}

/// Whether the member sees `channel`; a thread is seen by whoever sees the channel above.
pub fn sees(guild: &Guild, channel: &GuildChannel, member: &Member) -> bool {
    guild.user_permissions_in(channel, member).view_channel()
}

/// [`sees`], given the roles of a person.
pub fn person_sees(guild: &Guild, channel: &GuildChannel, person: &Person) -> bool {
    let roles: Vec<String> = person.roles.iter().map(RoleId::to_string).collect();
    // serenity's type can only be made by deserialising it.
    let member = serde_json::from_value(serde_json::json!({ "roles": roles }));
    let id = serenity::all::UserId::new(person.id.0.max(1));
    member.is_ok_and(|member| {
        let rights = guild.partial_member_permissions_in(channel, id, &member);
        rights.view_channel()
    })
}

/// Whether the member may make and change channels.
pub fn may_manage_channels(guild: &Guild, member: &Member) -> bool {
    let rights = rights(guild, member.user.id.get(), &member.roles);
    rights.administrator() || rights.manage_channels()
}

/// The rights in the whole server; the owner has them all.
fn rights(guild: &Guild, id: u64, roles: &[serenity::all::RoleId]) -> Permissions {
    if guild.owner_id.get() == id {
        return Permissions::all();
    }
    let everyone = serenity::all::RoleId::new(guild.id.get());
    roles
        .iter()
        .chain([&everyone])
        .filter_map(|role| guild.roles.get(role))
        .fold(Permissions::empty(), |sum, role| sum | role.permissions)
}
