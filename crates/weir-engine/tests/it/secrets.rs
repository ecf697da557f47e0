//! Secrets of TLS come from the file that a statement names, which stays in the folder of statements.

use std::fs;
use std::path::Path;

use crate::samples;
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
    let inside = folder.clone();
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
        ("'../outside.log'", "outside.log is outside of"),
        ("'none.log'", "none.log: No such file"),
        (
            "'sessions.pcap'",
            "it has no secret in the SSLKEYLOGFILE format",
        ),
        ("7", "keylog must be a file in the SSLKEYLOGFILE format"),
    ] {
        let refused = count(&format!(", keylog => {keylog}")).unwrap_err();
        assert!(refused.contains(part), "{refused}");
    }
    // A pcapng that brings its secrets along needs no file of them, and a file that is named goes first.
    fs::write(inside.join("with.pcapng"), with_secrets(&made)).unwrap();
    fs::write(inside.join("other.log"), "CLIENT_RANDOM 00 00\n").unwrap();
    for (keylog, expected) in [
        ("", Ok("19".to_owned())),
        (", keylog => 'keys.log'", Ok("19".to_owned())),
    ] {
        let sql = format!("SELECT count(*) AS n FROM http('with.pcapng'{keylog})");
        let answer = runner.rows(&sql).map(|rows| rows.rows.concat());
        assert_eq!(
            answer.map_err(|error| error.to_string()),
            expected,
            "{keylog}"
        );
    }
    fs::remove_dir_all(&home).unwrap();
}

/// A statement from another machine held a thread of an executor with a pipe, for good, and a layout of /dev/zero took all memory.
#[test]
fn pipes_and_devices_are_refused_where_files_alone_are_read() {
    let folder = samples::enter();
    let mut options = weir_engine::Options::default();
    options.files_only = true;
    let runner = Runner::new(&options);
    let count = |from: &str| {
        let answer = runner.rows(&format!("SELECT count(*) AS n FROM {from}"));
        answer.map(|rows| rows.rows.concat())
    };
    let capture = folder.join("demo/voip.pcap").display().to_string();
    assert_eq!(count(&format!("'{capture}'")).unwrap(), "40");
    for from in [
        "'/dev/zero'",
        "packets('/dev/zero')",
        "sip('/dev/null')",
        "clf('/dev/zero')",
        &format!("records('{capture}', '/dev/zero')"),
        &format!("http('{capture}', keylog => '/dev/zero')"),
    ] {
        let refused = count(from).unwrap_err().to_string();
        assert!(
            refused.contains("is a pipe, a socket or a device"),
            "{from}: {refused}"
        );
    }
    let refused = count("'-'").unwrap_err().to_string();
    assert!(refused.contains("standard input"), "{refused}");
    // A capture that is followed has no end, either.
    for function in ["packets", "sip", "flows"] {
        let refused = count(&format!("{function}('{capture}', follow => true)"));
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("is followed"), "{function}: {refused}");
    }
    // Elsewhere they are read, as far as the limit of a layout and of a key log.
    let runner = Runner::new(&weir_engine::Options::default());
    let from = format!("records('{capture}', '/dev/zero')");
    let refused = runner.rows(&format!("SELECT count(*) FROM {from}"));
    let refused = refused.map(|_| ()).unwrap_err().to_string();
    assert!(refused.contains("the limit of 4194304 bytes"), "{refused}");
}

/// The capture of the sessions as a pcapng with their secrets in front of the packets, as editcap writes it.
fn with_secrets(made: &Path) -> Vec<u8> {
    let mut writer = weir_capture::Writer::pcapng(Vec::new());
    let mut reader = weir_capture::open(&made.join("sessions.pcap")).unwrap();
    while let Some(record) = reader.next().unwrap() {
        let time_ns = record.time_ns.unwrap();
        let mut copy = weir_capture::WriteRecord::new(record.link_type, time_ns, record.data);
        copy.wire_len = record.wire_len;
        writer.write(&copy).unwrap();
    }
    let bytes = writer.finish().unwrap();
    let mut keys = fs::read(made.join("keys.log")).unwrap();
    let keys_len = keys.len() as u32;
    keys.resize(keys.len().next_multiple_of(4), 0);
    let mut block = Vec::new();
    let block_len = 20 + keys.len() as u32;
    for number in [10, block_len, 0x544c_534b, keys_len] {
        block.extend(u32::to_le_bytes(number));
    }
    block.extend(keys);
    block.extend(block_len.to_le_bytes());
    // The block follows the section header.
    [&bytes[..28], &block, &bytes[28..]].concat()
}
