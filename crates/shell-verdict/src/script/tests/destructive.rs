//! The last safety net: commands that ruin the machine, distinguished from those that only mention it.

use crate::Script;

#[test]
fn commands_that_ruin_the_machine_are_known_however_they_are_spelled() {
    for command in [
        "rm -rf /",
        "rm -rf / ",
        "rm  -rf   /",
        "rm -r -f /",
        "rm -fr /*",
        "rm -r /",
        "rm --recursive --force /",
        "rm --rec /",
        "rm -rf --no-preserve-root /",
        "rm -rf //",
        "rm -rf /./",
        "rm -rf /etc/..",
        "rm -rf ~",
        "rm -rf ~/",
        "rm -rf /usr",
        "rm -rf /home/",
        "sudo rm -rf /",
        "/bin/rm -rf /",
        "\\rm -rf /",
        "r''m -rf /",
        "ls; rm -rf /",
        "rm -rf / && ls",
        "sh -c 'rm -rf /'",
        "echo 'rm -rf /' | sh",
        "env nice rm -rf /",
        "find . -exec rm -rf / ';'",
        "rm \\\n-rf /",
        ":() { :|:& };:",
        ":(){ :|:& };:",
        "f(){ f|f& };f",
        "bomb() { bomb | bomb & }; bomb",
        "dd if=/dev/zero of=/dev/sda",
        "dd of=/dev/nvme0n1 if=x",
        "mkfs.ext4 /dev/sda1",
        "mkfs -t ext4 /dev/vda",
        "echo hi > /dev/sda",
        "echo hi >> /dev/sdc",
        "cat x >| /dev/mmcblk0",
        "cp x /dev/sda",
        "shred /dev/sda",
        "wipefs -a /dev/sda",
        "chmod -R 000 /",
        "chown -R x /",
        "socat - OPEN:/dev/sda",
        "socat 'TCP-LISTEN:80!!-' 'STDIN!!create:/dev/nvme0n1,wronly'",
        "socat -u - /dev/sda",
        "socat - 'SYSTEM:rm -rf /'",
    ] {
        assert!(Script::parse(command).destructive().is_some(), "{command}");
    }
}

#[test]
fn commands_that_only_look_like_it_run() {
    for command in [
        "",
        "git status",
        "echo rm -rf /",
        "echo 'rm -rf /'",
        "grep -r 'rm -rf /' .",
        "rm -rf /tmp/x",
        "rm -rf build",
        "rm -rf ./*",
        "rm -rf ~/project/target",
        "rm x",
        "dd if=/dev/urandom of=x",
        "dd if=/dev/sda of=backup",
        "cp /dev/sda backup",
        "echo mkfsomething",
        "echo hi > /dev/null",
        "mkfs.ext4 disk.img",
        "f() { ls | wc; }; f",
        "chmod -R 755 build",
        "cat /dev/sda | head",
    ] {
        assert_eq!(Script::parse(command).destructive(), None, "{command}");
    }
}
