//! The files of `deploy/cluster` are valid YAML, and their commands exist.

use std::path::Path;
use std::process::Command;

use weir_testkit::Limited as _;

/// Parses both files, and prints the arguments of each `weir` command on a line.
const READ: &str = r#"
import sys, yaml
compose = yaml.safe_load(open(sys.argv[1]))
for name, service in compose["services"].items():
    assert service["image"] == "weir:latest" and service["networks"] == ["cluster"], name
    command = service.get("command", [])
    if service.get("entrypoint") == ["sh", "-c"]:
        words = command[0].replace('"$$(hostname -i)"', "HOST").split()
        assert words[:2] == ["exec", "weir"], words
        command = words[2:]
    if command:
        print(" ".join(command))
kinds = []
for part in yaml.safe_load_all(open(sys.argv[2])):
    kinds.append(part["kind"])
    assert part["kind"] == "Namespace" or part["metadata"]["namespace"] == "weir", part
    if part["kind"] != "Deployment":
        continue
    spec = part["spec"]
    assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"], part
    for container in spec["template"]["spec"]["containers"]:
        print(" ".join(container["args"]))
assert kinds == ["Namespace", "NetworkPolicy", "Service", "Deployment", "Deployment"], kinds
"#;

#[test]
fn deployed_commands_exist() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/cluster");
    let known = Command::new("python3")
        .args(["-c", "import yaml"])
        .output_limited();
    if !known.is_ok_and(|known| known.status.success()) {
        weir_testkit::missing("python3 with PyYAML", "the files of deploy/cluster");
        return;
    }
    let read = Command::new("python3")
        .args(["-c", READ])
        .arg(folder.join("compose.yml"))
        .arg(folder.join("kubernetes.yml"))
        .output_limited()
        .unwrap();
    let errors = String::from_utf8_lossy(&read.stderr);
    assert!(read.status.success(), "{errors}");
    let lines = String::from_utf8(read.stdout).unwrap();
    let commands: Vec<&str> = lines.lines().collect();
    assert_eq!(commands.len(), 4, "{commands:?}");
    for command in commands {
        let known = [
            "--listen",
            "--advertise",
            "--trusted-network",
            "--scheduler",
            "--memory-limit",
            "--work-dir",
            "--port",
            "--cores",
        ];
        let is_known =
            command.starts_with("cluster scheduler ") || command.starts_with("cluster executor ");
        assert!(is_known, "{command}");
        for word in command.split(' ').filter(|word| word.starts_with("--")) {
            assert!(known.contains(&word), "{word}: {command}");
        }
        // The containers listen on addresses that are not loopback.
        assert!(command.contains("--trusted-network"), "{command}");
    }
}
