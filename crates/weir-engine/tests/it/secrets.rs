//! Secrets of TLS come from the file that a statement names, which stays in the folder of statements.

use std::fs;
use std::path::Path;

use crate::slt::Runner;

#[test]
fn a_key_log_is_read_by_its_name_and_not_outside_of_the_folder_of_statements() {
    let made = Path::new(env!("CARGO_MANIFEST_DIR")).join("../weir-tables/tests/tls");
    let home = std::env::temp_dir().join(format!("weir-secrets-{}", std::process::id()));
    let folder = home.join("inside");
    fs::create_dir_all(&folder).unwrap();
    for name in ["sessions.pcap", "keys.log"] {
        fs::copy(made.join(name), folder.join(name)).unwrap();
    }
    fs::copy(made.join("keys.log"), home.join("outside.log")).unwrap();
    let mut options = weir_engine::Options::default();
    options.root = Some(folder);
    let runner = Runner::new(&options);
    let count = |keylog: &str| {
        let sql = format!("SELECT count(*) AS n FROM http('sessions.pcap'{keylog})");
        let answer = runner.rows(&sql).map(|rows| rows.rows.concat());
        answer.map_err(|error| error.to_string())
    };
    assert_eq!(count(""), Ok("0".to_owned()));
    assert_eq!(count(", keylog => 'keys.log'"), Ok("19".to_owned()));
    for (keylog, part) in [
        ("'../outside.log'", "outside.log is not in"),
        ("'none.log'", "none.log"),
        (
            "'sessions.pcap'",
            "no secret of SSLKEYLOGFILE's format is in it",
        ),
        ("7", "keylog is a file of SSLKEYLOGFILE's format"),
    ] {
        let refused = count(&format!(", keylog => {keylog}")).unwrap_err();
        assert!(refused.contains(part), "{refused}");
    }
    fs::remove_dir_all(&home).unwrap();
}
