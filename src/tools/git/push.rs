//! Pushes one branch, forward only.
//!
//! libgit2's own transports need unsafe registration and would use the network from the confined thread, so the push is our
//! own: the pack is made in the workspace, and one exchange with the server's receive-pack does the rest.

use git2::{BranchType, Oid};

use super::error::ServerError;
use super::remote::{Remote, Transport};
use super::repository::{Opened, check_address, in_repository};
use super::wire::Advertisement;
use super::{http, ssh, wire};
use crate::tools::ToolContext;
use crate::tools::error::ToolError;
use crate::tools::git_access::HostAccess;

/// Largest pack in bytes: it is in memory while it is sent.
const LARGEST_PACK: usize = 256 * 1024 * 1024;

/// What is to be pushed where.
struct Plan {
    url: String,
    tip: Oid,
}

/// Pushes `branch` to the remote of that name; returns a sentence about the outcome.
pub(in crate::tools) async fn push(
    context: &ToolContext,
    remote_name: &str,
    branch: &str,
) -> Result<String, ToolError> {
    let plan = {
        let (remote_name, branch) = (remote_name.to_owned(), branch.to_owned());
        in_repository(context, move |opened| plan(opened, &remote_name, &branch)).await?
    };
    check_address(context, remote_name, &plan.url)?;
    let remote = Remote::parse(&plan.url)?;
    let access = remote.access(&context.services.git)?;
    let name = format!("refs/heads/{branch}");
    let (line, advertised) = Line::open(context, &remote, access).await?;
    let old = advertised.find(&name);
    if old == Some(plan.tip) {
        line.leave().await;
        return Ok(format!("`{remote_name}` has all of `{branch}` already."));
    }
    let tip = plan.tip;
    let branch_name = branch.to_owned();
    let pack = in_repository(context, move |opened| {
        pack(opened, tip, old, &advertised, &branch_name)
    })
    .await?;
    let mut request = wire::command(old, tip, &name);
    request.extend_from_slice(&pack);
    let report = line.receive_pack(context, &remote, access, request).await?;
    wire::report(&report).map_err(|problem| said(&remote, &problem))?;
    let from = old.map_or_else(
        || "new branch".to_owned(),
        |oid| format!("from {}", short(oid)),
    );
    Ok(format!(
        "Pushed `{branch}` to `{remote_name}` ({}): {} ({from}).",
        remote.host, plan.tip
    ))
}

fn plan(opened: &Opened, remote: &str, branch: &str) -> Result<Plan, ToolError> {
    let Some(url) = opened.url(remote) else {
        let known: Vec<&str> = opened
            .config
            .remotes
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        return Err(ToolError::Rejected(match known.as_slice() {
            [] => "the repository has no remote; add one in the shell: git remote add origin URL"
                .into(),
            known => format!(
                "there is no remote `{remote}`; there are {}",
                known.join(", ")
            ),
        }));
    };
    let found = opened
        .git
        .find_branch(branch, BranchType::Local)
        .map_err(|_| ToolError::Rejected(format!("there is no branch `{branch}`")))?;
    Ok(Plan {
        url,
        tip: found.into_reference().peel_to_commit()?.id(),
    })
}

/// The objects of `tip` that the server lacks.
fn pack(
    opened: &Opened,
    tip: Oid,
    old: Option<Oid>,
    advertised: &Advertisement,
    branch: &str,
) -> Result<Vec<u8>, ToolError> {
    let git = &opened.git;
    if let Some(old) = old {
        let is_forward = git.find_commit(old).is_ok() && git.graph_descendant_of(tip, old)?;
        if !is_forward {
            return Err(ToolError::Rejected(format!(
                "the server's `{branch}` ({}) is not part of yours; fetch and merge it in the shell first",
                short(old)
            )));
        }
    }
    let mut walk = git.revwalk()?;
    walk.push(tip)?;
    for (oid, _) in &advertised.refs {
        if git.find_commit(*oid).is_ok() {
            walk.hide(*oid)?;
        }
    }
    let mut builder = git.packbuilder()?;
    builder.insert_walk(&mut walk)?;
    let mut pack = Vec::new();
    builder.foreach(|chunk| {
        pack.extend_from_slice(chunk);
        pack.len() <= LARGEST_PACK
    })?;
    if pack.len() > LARGEST_PACK {
        return Err(ToolError::rejected(
            "the commits to push have more than 256 MiB; push them in the shell",
        ));
    }
    Ok(pack)
}

/// The way to the server.
enum Line {
    Http,
    Ssh(Box<ssh::Session>),
}

impl Line {
    /// Opens it, and returns what the server has.
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
        request: Vec<u8>,
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
