//! seccomp: refuses system calls that no command needs and that have been used to escape from sandboxes.
//!
//! A list of denied calls, not of allowed ones: agents run compilers and interpreters of all kinds. Refused calls fail
//! with "Operation not permitted", which programs know how to report.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Width, SeccompCmpOp as Is, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch,
};

use super::access::Reach;
use super::command::Network;
use super::error::{HelperError, failed};
use super::job::{AccessRules, Namespaces};

/// Denied regardless of their arguments.
const DENIED: &[i64] = &[
    // Reading or controlling other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    // Calls that bypass a filter of calls.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    // The file tree.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    // Namespaces of others.
    libc::SYS_setns,
    // The kernel's key rings, shared between sandboxes of one user.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // The machine.
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_acct,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
    libc::SYS_fanotify_init,
    libc::SYS_lookup_dcookie,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_kexec_file_load,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
];

/// Denied without separate namespaces, regardless of the arguments: resources that other programs of the same user
/// share by number or name.
const SHARED: &[i64] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// Denied without a process namespace unless their first argument is 0, the caller itself: they change or move another
/// process of the same user, such as the daemon.
///
/// A filter cannot distinguish a thread that is named by its number from another process, so setting the processors of
/// one's own threads by number is refused too.
const OF_ANOTHER: &[i64] = &[
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setscheduler,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
];

/// `PRIO_USER`, whose type differs between C libraries: all processes of the user.
const PRIORITY_OF_USER: u64 = 2;

/// `IOPRIO_WHO_USER`: all processes of the user.
const IO_OF_USER: u64 = 3;

/// Flags of `clone` and `unshare` that make a new namespace.
const NEW_NAMESPACE: &[i32] = &[
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    0x80, // CLONE_NEWTIME, which only `unshare` takes; in `clone` the bit is part of the exit signal and never set.
];

/// Requests of `ioctl` that type into a terminal or paste from its screen. Their types differ between C libraries in
/// `libc`.
const TERMINAL_INPUT: &[u64] = &[
    0x5412, // TIOCSTI
    0x541c, // TIOCLINUX
];

/// On x86-64 the same calls exist a second time with this bit set.
#[cfg(target_arch = "x86_64")]
const SECOND_TABLE: Option<i64> = Some(0x4000_0000);
#[cfg(not(target_arch = "x86_64"))]
const SECOND_TABLE: Option<i64> = None;

/// Restricts this process and all its descendants, for good.
///
/// # Errors
///
/// Fails if the kernel refuses, or the machine's architecture is not one we have tables for.
pub(super) fn restrict(rules: &AccessRules, reach: Reach) -> Result<(), HelperError> {
    for program in programs(rules, reach).map_err(failed("seccomp"))? {
        seccompiler::apply_filter(&program).map_err(failed("seccomp"))?;
    }
    Ok(())
}

fn programs(
    rules: &AccessRules,
    reach: Reach,
) -> Result<[BpfProgram; 2], seccompiler::BackendError> {
    let mut denied: BTreeMap<i64, Vec<SeccompRule>> =
        DENIED.iter().map(|call| (*call, Vec::new())).collect();
    let namespaces = NEW_NAMESPACE
        .iter()
        .map(|flag| {
            let bit = u64::from(flag.unsigned_abs());
            rule(0, Width::Qword, Is::MaskedEq(bit), bit)
        })
        .collect::<Result<Vec<_>, _>>()?;
    denied.insert(libc::SYS_clone, namespaces.clone());
    denied.insert(libc::SYS_unshare, namespaces);
    let terminal = TERMINAL_INPUT
        .iter()
        .map(|request| rule(1, Width::Dword, Is::Eq, *request))
        .collect::<Result<_, _>>()?;
    denied.insert(libc::SYS_ioctl, terminal);
    denied.insert(libc::SYS_socket, sockets(rules, reach)?);
    if rules.namespaces == Namespaces::None {
        denied.extend(SHARED.iter().map(|call| (*call, Vec::new())));
        denied.extend(of_others()?);
    }
    // Its flags are in memory, where no filter can read them. Reported as missing, it makes C libraries use `clone`
    // instead.
    let missing = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    Ok([
        compile(denied, libc::EPERM)?,
        compile(missing, libc::ENOSYS)?,
    ])
}

/// Returns the calls that are denied because they reach another process of the same user.
fn of_others() -> Result<BTreeMap<i64, Vec<SeccompRule>>, seccompiler::BackendError> {
    let mut denied = BTreeMap::new();
    for call in OF_ANOTHER {
        denied.insert(*call, vec![rule(0, Width::Dword, Is::Ne, 0)?]);
    }
    // Reading another process's limits is harmless, and `prlimit` without a new limit does only that.
    let limits = vec![
        SeccompCondition::new(0, Width::Dword, Is::Ne, 0)?,
        SeccompCondition::new(2, Width::Qword, Is::Ne, 0)?,
    ];
    denied.insert(libc::SYS_prlimit64, vec![SeccompRule::new(limits)?]);
    for (call, whole_user) in [
        (libc::SYS_setpriority, PRIORITY_OF_USER),
        (libc::SYS_ioprio_set, IO_OF_USER),
    ] {
        let rules = vec![
            rule(0, Width::Dword, Is::Eq, whole_user)?,
            rule(1, Width::Dword, Is::Ne, 0)?,
        ];
        denied.insert(call, rules);
    }
    Ok(denied)
}

/// Returns the `socket` calls that are denied; an empty list means all of them.
fn sockets(
    rules: &AccessRules,
    reach: Reach,
) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let mut allowed = Vec::new();
    match (rules.namespaces, rules.network) {
        // An empty network namespace still has its own loopback.
        (Namespaces::Bubblewrap, _) | (Namespaces::None, Network::On) => {
            allowed.extend([libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK]);
        }
        (Namespaces::None, Network::Off) => {}
    }
    // Sockets of other programs are reachable by path without bubblewrap, and by abstract name with a shared network.
    let abstract_names_closed = reach == Reach::Scoped || rules.network == Network::Off;
    if rules.namespaces == Namespaces::Bubblewrap && abstract_names_closed {
        allowed.push(libc::AF_UNIX);
    }
    if allowed.is_empty() {
        return Ok(Vec::new());
    }
    let none_of_them = allowed
        .into_iter()
        .map(|family| {
            SeccompCondition::new(0, Width::Dword, Is::Ne, u64::from(family.unsigned_abs()))
        })
        .collect::<Result<_, _>>()?;
    Ok(vec![SeccompRule::new(none_of_them)?])
}

fn rule(
    argument: u8,
    width: Width,
    is: Is,
    value: u64,
) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(vec![SeccompCondition::new(argument, width, is, value)?])
}

/// Builds a filter that fails the calls in `rules` with `errno` and lets all others pass.
fn compile(
    mut rules: BTreeMap<i64, Vec<SeccompRule>>,
    errno: i32,
) -> Result<BpfProgram, seccompiler::BackendError> {
    if let Some(bit) = SECOND_TABLE {
        let twins: Vec<_> = rules
            .iter()
            .map(|(call, rules)| (call | bit, rules.clone()))
            .collect();
        rules.extend(twins);
    }
    let architecture = TargetArch::try_from(std::env::consts::ARCH)?;
    SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(errno.unsigned_abs()),
        architecture,
    )?
    .try_into()
}
