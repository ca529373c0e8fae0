//! Pushes one branch, forward only.
//!
//! libgit2's own transports need unsafe registration and would use the network from the confined process. So the push
//! is our own: a worker process creates the pack in a file without a name, and one exchange with the server's
//! receive-pack does the rest.

use std::fs::File;
use std::io::{Seek, Write};
use std::path::PathBuf;

use git2::{BranchType, Oid};
use serde::{Deserialize, Serialize};

use super::error::ServerError;
use super::remote::{Remote, Transport};
use super::repository::{Opened, check_address, read};
use super::wire::Advertisement;
use super::{http, ssh, wire};
use crate::exec::{WorkLimits, bulk_output};
use crate::tools::ToolContext;
use crate::tools::error::ToolError;
use crate::tools::git_access::HostAccess;
use crate::tools::work::{self, Work};

/// Largest pack in bytes.
const LARGEST_PACK: u64 = 256 * 1024 * 1024;

/// Bytes of an object's id.
const ID: usize = 20;

/// Pushes `branch` to the remote with this name; returns a sentence about the outcome.
pub(in crate::tools) async fn push(
    context: &ToolContext,
    remote_name: &str,
    branch: &str,
) -> Result<String, ToolError> {
    let plan = Plan {
        folder: context.services.folder(context),
        remote: remote_name.to_owned(),
        branch: branch.to_owned(),
    };
    let planned = context.by_worker(&plan, &[]).await?;
    let planned: Planned = serde_json::from_str(&planned).map_err(ToolError::failed)?;
    check_address(context, remote_name, &planned.url)?;
    let tip = id(&planned.tip)?;
    let remote = Remote::parse(&planned.url)?;
    let access = remote.access(&context.services.git)?;
    let name = format!("refs/heads/{branch}");
    let (line, advertised) = Line::open(context, &remote, access).await?;
    let old = advertised.find(&name);
    if old == Some(tip) {
        line.leave().await;
        return Ok(format!("`{remote_name}` has all of `{branch}` already."));
    }
    let pack = Pack {
        folder: plan.folder,
        tip: planned.tip,
        old: old.map(|old| old.to_string()),
        branch: plan.branch,
    };
    let known: Vec<u8> = advertised
        .refs
        .iter()
        .flat_map(|(oid, _)| oid.as_bytes().to_vec())
        .collect();
    drop(advertised);
    let file = packed(context, pack, known).await?;
    let command = wire::command(old, tip, &name);
    let request = Request {
        command,
        pack: file,
    };
    let report = line.receive_pack(context, &remote, access, request).await?;
    wire::report(&report).map_err(|problem| said(&remote, &problem))?;
    let from = old.map_or_else(
        || "new branch".to_owned(),
        |oid| format!("from {}", short(oid)),
    );
    Ok(format!(
        "Pushed `{branch}` to `{remote_name}` ({}): {tip} ({from}).",
        remote.host
    ))
}

/// Lets a worker create `pack`, for a server that has the objects `known`. Returns the file with it, from its
/// beginning.
async fn packed(context: &ToolContext, pack: Pack, known: Vec<u8>) -> Result<File, ToolError> {
    // Beside the workspace: `/tmp` may be in memory.
    let folder = pack.folder.clone();
    let made = tokio::task::spawn_blocking(move || tempfile::tempfile_in(folder));
    let mut file = made
        .await
        .map_err(ToolError::failed)?
        .map_err(ToolError::failed)?;
    let output = file.try_clone().map_err(ToolError::failed)?;
    context.by_worker_into(output, &pack, &known).await?;
    file.rewind().map_err(ToolError::failed)?;
    Ok(file)
}

fn id(text: &str) -> Result<Oid, ToolError> {
    text.parse().map_err(ToolError::failed)
}

/// Finds out what to push, and where.
#[derive(Deserialize, Serialize)]
pub(in crate::tools) struct Plan {
    /// The agent's folder.
    folder: PathBuf,
    remote: String,
    branch: String,
}

#[derive(Deserialize, Serialize)]
struct Planned {
    url: String,
    /// The id of the branch's last commit.
    tip: String,
}

impl Work for Plan {
    const NAME: &'static str = "git_push_plan";
    const LIMITS: WorkLimits = work::GIT;

    fn run(self, _: &[u8]) -> Result<String, ToolError> {
        let planned = read(&self.folder, |opened| {
            let url = self.url(opened)?;
            let branch = opened.git.find_branch(&self.branch, BranchType::Local);
            let branch = branch.map_err(|_| {
                ToolError::Rejected(format!("there is no branch `{}`", self.branch))
            })?;
            let tip = branch.into_reference().peel_to_commit()?.id().to_string();
            Ok(Planned { url, tip })
        })?;
        serde_json::to_string(&planned).map_err(ToolError::failed)
    }
}

impl Plan {
    fn url(&self, opened: &Opened) -> Result<String, ToolError> {
        if let Some(url) = opened.url(&self.remote) {
            return Ok(url);
        }
        let remotes = opened.config.remotes.iter();
        let known: Vec<&str> = remotes.map(|(name, _)| name.as_str()).collect();
        Err(ToolError::Rejected(match known.as_slice() {
            [] => "the repository has no remote; add one in the shell: git remote add origin URL"
                .into(),
            known => format!(
                "there is no remote `{}`; there are {}",
                self.remote,
                known.join(", ")
            ),
        }))
    }
}

/// Packs the objects of a branch that the server does not have. The bytes to work on are the ids that it has.
#[derive(Deserialize, Serialize)]
pub(in crate::tools) struct Pack {
    /// The agent's folder.
    folder: PathBuf,
    tip: String,
    /// The branch's commit on the server.
    old: Option<String>,
    branch: String,
}

impl Work for Pack {
    const NAME: &'static str = "git_pack";
    const LIMITS: WorkLimits = WorkLimits {
        seconds: 120,
        file_size: 2 * LARGEST_PACK,
        ..work::GIT
    };

    fn run(self, known: &[u8]) -> Result<String, ToolError> {
        read(&self.folder, |opened| self.write(opened, known))?;
        Ok(String::new())
    }
}

impl Pack {
    fn write(&self, opened: &Opened, known: &[u8]) -> Result<(), ToolError> {
        let git = &opened.git;
        let tip = id(&self.tip)?;
        if let Some(old) = &self.old {
            let old = id(old)?;
            let is_forward = git.find_commit(old).is_ok() && git.graph_descendant_of(tip, old)?;
            if !is_forward {
                return Err(ToolError::Rejected(format!(
                    "the server's `{}` ({}) is not part of yours; fetch and merge it in the shell first",
                    self.branch,
                    short(old)
                )));
            }
        }
        let mut walk = git.revwalk()?;
        walk.push(tip)?;
        for known in known.chunks_exact(ID) {
            let known = Oid::from_bytes(known)?;
            if git.find_commit(known).is_ok() {
                walk.hide(known)?;
            }
        }
        let mut builder = git.packbuilder()?;
        builder.insert_walk(&mut walk)?;
        let mut output = bulk_output();
        let (mut written, mut failed) = (0, None);
        let made = builder.foreach(|chunk| {
            written += chunk.len() as u64;
            if written <= LARGEST_PACK {
                failed = output.write_all(chunk).err();
            }
            written <= LARGEST_PACK && failed.is_none()
        });
        if written > LARGEST_PACK {
            return Err(ToolError::rejected(
                "the commits to push have more than 256 MiB; push them in the shell",
            ));
        }
        match failed {
            Some(error) => Err(ToolError::failed(error)),
            None => Ok(made?),
        }
    }
}

/// The data for the server: the command that moves the branch, then the pack.
pub(super) struct Request {
    pub(super) command: Vec<u8>,
    pub(super) pack: File,
}

/// The connection to the server.
enum Line {
    Http,
    Ssh(Box<ssh::Session>),
}

impl Line {
    /// Opens it, and returns the references of the server.
    async fn open(
        context: &ToolContext,
        remote: &Remote,
        access: &HostAccess,
    ) -> Result<(Self, Advertisement), ToolError> {
        let services = &context.services;
        let (line, bytes) = match remote.transport {
            Transport::Http => {
                let bytes = http::advertisement(&services.http, remote, access).await;
                (Self::Http, bytes)
            }
            Transport::Ssh => {
                let session = ssh::Session::start(&services.git.ssh, remote);
                let mut session = session.map_err(|problem| said(remote, &problem))?;
                let bytes = session.advertisement().await;
                (Self::Ssh(Box::new(session)), bytes)
            }
        };
        let advertised = bytes
            .and_then(|bytes| Advertisement::parse(&bytes))
            .map_err(|problem| said(remote, &problem))?;
        Ok((line, advertised))
    }

    async fn receive_pack(
        self,
        context: &ToolContext,
        remote: &Remote,
        access: &HostAccess,
        request: Request,
    ) -> Result<Vec<u8>, ToolError> {
        let report = match self {
            Self::Http => http::receive_pack(&context.services.http, remote, access, request).await,
            Self::Ssh(session) => session.receive_pack(request).await,
        };
        report.map_err(|problem| said(remote, &problem))
    }

    async fn leave(self) {
        match self {
            Self::Http => {}
            Self::Ssh(session) => session.leave().await,
        }
    }
}

fn said(remote: &Remote, problem: &ServerError) -> ToolError {
    let problem = crate::text::visible(&problem.to_string()).0;
    ToolError::Rejected(format!("push to `{}`: {problem}", remote.host))
}

fn short(oid: Oid) -> String {
    oid.to_string()[..10].to_owned()
}
