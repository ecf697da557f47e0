//! A file that is written takes its name when it is whole, and no capture is lost.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use weir_testkit::{Limited as _, until};

use crate::shell::{command, folder, names, run};

/// More than a second of writing.
const LONG: &str = "SELECT p.*, g.value FROM 'demo/office.pcapng' p, generate_series(1, 100000) g";

#[test]
fn input_may_be_output() {
    let folder = folder("input_may_be_output");
    let many =
        "SELECT frame.number, frame.time FROM 'demo/office.pcapng' p, generate_series(1, 10) g";
    assert_eq!(
        run(&format!("weir query \"{many}\" -o s.csv"), &folder).code,
        Some(0)
    );
    let whole = std::fs::read(folder.join("s.csv")).unwrap();
    assert!(whole.len() > 1 << 20);
    assert_eq!(
        run("ln -s s.csv link.csv; mkdir deep", &folder).code,
        Some(0)
    );
    for (from, to) in [
        ("s.csv", "s.csv"),
        ("link.csv", "s.csv"),
        ("s.csv", "link.csv"),
        ("s.csv", "./deep/../s.csv"),
        ("?.csv", "s.csv"),
        ("s.csv", "/dev/stdout"),
    ] {
        let redirect = if to == "/dev/stdout" {
            "> t.csv; mv t.csv s.csv"
        } else {
            ""
        };
        let ended = run(
            &format!("weir query \"SELECT * FROM '{from}'\" -o {to} {redirect}"),
            &folder,
        );
        assert_eq!(ended.code, Some(0), "{from} {to}: {}", ended.stderr);
        assert!(
            std::fs::read(folder.join("s.csv")).unwrap() == whole,
            "{from} {to}"
        );
    }
    assert!(
        std::fs::symlink_metadata(folder.join("link.csv"))
            .unwrap()
            .is_symlink()
    );
    // The cases: COPY, other formats, and a log that is converted into itself.
    for line in [
        "weir query \"COPY (SELECT * FROM 's.csv') TO 's.csv'\"",
        "weir query \"SELECT * FROM 's.csv'\" -o s.parquet && weir query \"SELECT * FROM 's.parquet'\" -o s.parquet \
         && weir query \"SELECT * FROM 's.parquet'\" -o s.csv",
        "weir query \"SELECT * FROM 's.csv'\" -o s.json && weir query \"SELECT * FROM 's.json'\" -o s.json \
         && weir query \"SELECT CAST(frame.number AS BIGINT) AS \\\"frame.number\\\", frame.time FROM 's.json'\" -o s.csv",
    ] {
        let ended = run(line, &folder);
        assert_eq!(ended.code, Some(0), "{line}: {}", ended.stderr);
        assert!(
            std::fs::read(folder.join("s.csv")).unwrap() == whole,
            "{line}"
        );
    }
    let log = std::fs::read(folder.join("calls.clf")).unwrap();
    let ended = run(
        "weir clf convert calls.clf --format rfc6873 -o calls.clf",
        &folder,
    );
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(std::fs::read(folder.join("calls.clf")).unwrap(), log);
}

/// Whether a process has a file of this folder open, be it one without a name.
#[cfg(target_os = "linux")]
fn writes_below(process: u32, folder: &Path) -> bool {
    let entries = std::fs::read_dir(format!("/proc/{process}/fd")).unwrap();
    let mut targets = entries
        .flatten()
        .map(|entry| std::fs::read_link(entry.path()));
    targets.any(|target| target.is_ok_and(|target| target.starts_with(folder)))
}

#[cfg(target_os = "linux")]
#[test]
fn a_signal_leaves_the_old_file_and_nothing_else() {
    let folder = folder("a_signal_leaves_the_old_file_and_nothing_else");
    let out = folder.join("out");
    std::fs::create_dir(&out).unwrap();
    for (number, signal) in [("INT", 2), ("TERM", 15), ("HUP", 1)] {
        for line in [
            format!("exec weir query \"{LONG}\" -o out/old.csv"),
            format!("exec weir query \"{LONG}\" -o out/old.parquet"),
            format!("exec weir query \"COPY ({LONG}) TO 'out/old.csv'\""),
            format!(
                "exec weir query \"COPY ({LONG}) TO 'out/old.csv' OPTIONS (format.null_value '-')\""
            ),
            format!(
                "exec weir query \"COPY ({LONG}) TO 'out/parts' STORED AS CSV PARTITIONED BY (proto)\""
            ),
        ] {
            std::fs::write(out.join("old.csv"), "old").unwrap();
            std::fs::write(out.join("old.parquet"), "old").unwrap();
            let mut child = command(&line, &folder);
            child
                .stdout(std::process::Stdio::null())
                .stderr(std::process::Stdio::null());
            // Signals of a terminal go to the group; this one has to be its own.
            let mut child = child.process_group(0).spawn_limited().unwrap();
            until("a file that is being written", || {
                writes_below(child.id(), &out)
            });
            assert!(
                child.try_wait().unwrap().is_none(),
                "{line}: it has ended already"
            );
            run(&format!("kill -{number} {}", child.id()), &folder);
            let status = child.wait().unwrap();
            use std::os::unix::process::ExitStatusExt as _;
            assert_eq!(status.signal(), Some(signal), "{line}: {status:?}");
            assert_eq!(names(&out), ["old.csv", "old.parquet"], "{line} {number}");
            for name in ["old.csv", "old.parquet"] {
                assert_eq!(
                    std::fs::read_to_string(out.join(name)).unwrap(),
                    "old",
                    "{line} {number}"
                );
            }
        }
    }
    // A signal that was ignored at the start, as nohup does, stays ignored.
    let line = "trap '' HUP; weir query \"SELECT count(*) FROM 'demo/office.pcapng' p, generate_series(1, 300) g\" \
                -o out/old.csv & until ls -l /proc/$!/fd | grep -q /out/; do sleep 0.01; done; kill -HUP $!; wait $!";
    let ended = run(line, &folder);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(
        std::fs::read_to_string(out.join("old.csv"))
            .unwrap()
            .starts_with("count(*)")
    );
}

#[test]
fn a_full_disk_and_an_error_leave_the_old_file() {
    let folder = folder("a_full_disk_and_an_error_leave_the_old_file");
    let out = folder.join("out");
    std::fs::create_dir(&out).unwrap();
    // The limit of a file's size stands for the end of the disk.
    let full = "ulimit -f 200;";
    let rows = "SELECT frame.number, frame.time, ip.src, udp.payload FROM 'demo/office.pcapng' p, generate_series(1, 20) g";
    for (line, wanted) in [
        (format!("{full} weir query \"{rows}\" -o out/old.csv"), "File too large"),
        (format!("{full} weir query \"{rows}\" -o out/old.csv --format parquet"), "File too large"),
        (format!("{full} weir query \"COPY ({rows}) TO 'out/old.csv'\""), "File too large"),
        (
            format!("{full} weir query \"COPY ({rows}) TO 'out/old.csv' OPTIONS (format.null_value '-')\""),
            "finalizing writes",
        ),
        (
            format!("{full} weir query \"COPY (SELECT * FROM 'demo/office.pcapng') TO 'out/new.pcap'\""),
            "File too large",
        ),
        (
            "weir query \"SELECT CAST(proto AS int) FROM 'demo/office.pcapng'\" -o out/old.csv".to_owned(),
            "is not a number",
        ),
        (
            "weir query \"COPY (SELECT CAST(proto AS int) FROM 'demo/office.pcapng') TO 'out/old.csv'\"".to_owned(),
            "is not a number",
        ),
        (
            "weir query \"SELECT 1 AS a\" \"SELECT CAST(proto AS int) FROM 'demo/office.pcapng'\" -o out/old.csv".to_owned(),
            "is not a number",
        ),
    ] {
        std::fs::write(out.join("old.csv"), "old").unwrap();
        let ended = run(&line, &folder);
        assert_eq!(ended.code, Some(3), "{line}: {}", ended.stderr);
        assert!(ended.stderr.contains(wanted), "{line}: {}", ended.stderr);
        assert_eq!(names(&out), ["old.csv"], "{line}");
        assert_eq!(std::fs::read_to_string(out.join("old.csv")).unwrap(), "old", "{line}");
    }
}

#[test]
fn what_is_no_regular_file_is_written_to_as_it_is() {
    let folder = folder("what_is_no_regular_file_is_written_to_as_it_is");
    for (line, expected) in [
        (
            "echo before > a; weir query 'SELECT 1 AS a' -o /dev/stdout >> a; cat a",
            "before\na\n1\n",
        ),
        (
            "weir query 'SELECT 1 AS a' -o /dev/stdout --format csv | cat",
            "a\n1\n",
        ),
        ("weir query 'SELECT 1 AS a' -o /dev/stderr 2>&1", "a\n1\n"),
        (
            "weir query 'SELECT 1 AS a' -o /dev/null; test -c /dev/null && echo still",
            "still\n",
        ),
        (
            "mkfifo f; cat f & weir query 'SELECT 1 AS a' -o f; wait; test -p f && echo still",
            "a\n1\nstill\n",
        ),
        (
            "mkfifo g; cat g & weir query \"COPY (SELECT 1 AS a) TO 'g' STORED AS CSV\" -o /dev/null; wait",
            "",
        ),
        (
            "mkfifo h.csv; cat h.csv & weir query \"COPY (SELECT 1 AS a) TO 'h.csv'\" -o /dev/null; wait; test -p h.csv && echo still",
            "a\n1\nstill\n",
        ),
    ] {
        if line.starts_with("mkfifo g") {
            // A target of COPY without an extension is a folder, and a pipe is no folder.
            continue;
        }
        let ended = run(line, &folder);
        assert_eq!(ended.stdout, expected, "{line}: {}", ended.stderr);
    }
    // A file that is replaced keeps its mode.
    std::fs::write(folder.join("mine.csv"), "old").unwrap();
    let mode = |mode| std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(folder.join("mine.csv"), mode(0o640)).unwrap();
    assert_eq!(
        run("weir query 'SELECT 1 AS a' -o mine.csv", &folder).code,
        Some(0)
    );
    let metadata = std::fs::metadata(folder.join("mine.csv")).unwrap();
    assert_eq!(metadata.permissions().mode() & 0o777, 0o640);
}

#[test]
fn captures_are_not_overwritten_unless_one_says_so() {
    let folder = folder("captures_are_not_overwritten_unless_one_says_so");
    let capture = std::fs::read(folder.join("cut.pcap")).unwrap();
    run(
        "cp cut.pcap disguised.csv; gzip -k cut.pcap; echo text > named.pcapng; : > empty.pcap",
        &folder,
    );
    let refused = [
        "weir query \"COPY (SELECT * FROM 'cut.pcap') TO 'cut.pcap'\"",
        "weir query \"COPY (SELECT * FROM 'call.pcap') TO 'cut.pcap' OPTIONS (overwrite false)\"",
        "weir query \"COPY (SELECT * FROM 'call.pcap') TO 'disguised.csv'\"",
        "weir query \"COPY (SELECT * FROM 'call.pcap') TO 'disguised.csv' STORED AS parquet\"",
        "weir query \"SELECT 1\" -o cut.pcap --format csv",
        "weir query \"SELECT 1\" -o disguised.csv",
        "weir query \"SELECT 1\" -o named.pcapng --format json",
        "weir query \"SELECT * FROM 'nothing.pcap'\" -o disguised.csv",
        "weir fields -o disguised.csv",
        "weir clf convert calls.clf --format json -o cut.pcap",
        "weir clf anonymize calls.clf --key-file key -o cut.pcap",
        "weir clf write call.pcap -o cut.pcap",
        "weir h248 convert message.txt --to ber -o cut.pcap",
        "weir h248 compare message.txt -o cut.pcap",
        "weir ws stats call.pcap -o cut.pcap",
        "weir ws study lines.txt --sample -o disguised.csv",
        "weir sip ladder call.pcap --call-id \"it's-1@10.0.0.1\" -o cut.pcap",
        "mv demo/office.pcapng kept; cp cut.pcap demo/office.pcapng; weir demo",
    ];
    for line in refused {
        let ended = run(line, &folder);
        assert_eq!(ended.code, Some(2), "{line}: {}", ended.stderr);
        assert!(
            ended.stderr.contains("is a capture, and is not replaced"),
            "{line}: {}",
            ended.stderr
        );
        assert!(ended.stderr.contains("hint: "), "{line}: {}", ended.stderr);
        assert!(ended.stdout.is_empty(), "{line}: {}", ended.stdout);
        for name in ["cut.pcap", "disguised.csv"] {
            assert!(
                std::fs::read(folder.join(name)).unwrap() == capture,
                "{line}"
            );
        }
    }
    for line in [
        "weir query \"COPY (SELECT * FROM 'call.pcap') TO 'cut.pcap' OPTIONS (overwrite true)\"",
        "weir query \"COPY (SELECT * FROM 'call.pcap') TO 'cut.pcap'\" --overwrite",
        "weir query \"SELECT 1\" -o cut.pcap --format csv --overwrite",
        "weir query \"SELECT 1\" -o empty.pcap --format csv",
        "weir --overwrite fields -o disguised.csv",
        "weir demo --no-tour --overwrite && cmp demo/office.pcapng kept",
        "weir demo --no-tour",
    ] {
        let ended = run(line, &folder);
        assert_eq!(ended.code, Some(0), "{line}: {}", ended.stderr);
    }
}

/// Commands that write a file or a folder, with the name of it.
const WRITERS: [(&str, &str); 24] = [
    (
        "weir query \"SELECT * FROM 'demo/wan.erf'\" -o out/x.csv",
        "x.csv",
    ),
    (
        "weir query \"SELECT * FROM 'demo/wan.erf'\" -o out/x.tsv",
        "x.tsv",
    ),
    (
        "weir query \"SELECT * FROM 'demo/wan.erf'\" -o out/x.json",
        "x.json",
    ),
    (
        "weir query \"SELECT * FROM 'demo/wan.erf'\" -o out/x.ndjson",
        "x.ndjson",
    ),
    (
        "weir query \"SELECT ip.src, frame.len FROM 'demo/wan.erf'\" -o out/x.md",
        "x.md",
    ),
    (
        "weir query \"SELECT ip.src, frame.len FROM 'demo/wan.erf'\" -o out/x.txt",
        "x.txt",
    ),
    (
        "weir query \"SELECT * FROM 'demo/wan.erf'\" -o out/x.parquet",
        "x.parquet",
    ),
    (
        "weir query \"SELECT * FROM 'demo/wan.erf'\" -o out/x.arrow",
        "x.arrow",
    ),
    (
        "weir query \"SELECT * FROM 'demo/wan.erf'\" -o out/x.arrows",
        "x.arrows",
    ),
    (
        "weir query \"COPY (SELECT * FROM 'demo/wan.erf') TO 'out/c.csv'\"",
        "c.csv",
    ),
    (
        "weir query \"COPY (SELECT * FROM 'demo/wan.erf') TO 'out/c.json'\"",
        "c.json",
    ),
    (
        "weir query \"COPY (SELECT * FROM 'demo/wan.erf') TO 'out/c.parquet'\"",
        "c.parquet",
    ),
    (
        "weir query \"COPY (SELECT * FROM 'demo/wan.erf') TO 'out/c.arrow'\"",
        "c.arrow",
    ),
    (
        "weir query \"COPY (SELECT * FROM 'demo/wan.erf') TO 'out/d.csv' OPTIONS (format.null_value '-')\"",
        "d.csv",
    ),
    (
        "weir query --overwrite \"COPY (SELECT * FROM 'demo/wan.erf') TO 'out/x.pcapng'\"",
        "x.pcapng",
    ),
    (
        "weir query --overwrite \"COPY (SELECT * FROM 'demo/framerelay.pcap') TO 'out/x.pcap'\"",
        "x.pcap",
    ),
    ("weir fields -o out/fields.csv", "fields.csv"),
    (
        "weir clf convert calls.clf --format json -o out/c.clf",
        "c.clf",
    ),
    (
        "weir clf anonymize calls.clf --key-file key -o out/a.clf",
        "a.clf",
    ),
    (
        "weir h248 convert message.txt --to ber -o out/m.ber",
        "m.ber",
    ),
    ("weir ws stats call.pcap -o out/w.html", "w.html"),
    (
        "weir ws study lines.txt --sample --cpu-times estimate --level 1 --mem-level 1 -o out/s.csv",
        "s.csv",
    ),
    (
        "weir sip ladder call.pcap --call-id \"it's-1@10.0.0.1\" -o out/l.svg",
        "l.svg",
    ),
    ("weir man out", "weir-query.1"),
];

/// `WEIR_KILLS` times each; by default few, for every start of the program costs.
#[test]
fn every_writer_that_is_killed_leaves_the_old_file_or_the_whole_new_one() {
    let folder = folder("every_writer_that_is_killed");
    let out = folder.join("out");
    let kills = std::env::var("WEIR_KILLS").map_or(4, |kills| kills.parse::<u64>().unwrap());
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let (mut old, mut new, mut left) = (0_u64, 0_u64, 0_u64);
    for (line, name) in WRITERS {
        let _ = std::fs::remove_dir_all(&out);
        std::fs::create_dir(&out).unwrap();
        let begun = Instant::now();
        let ended = run(line, &folder);
        let took = begun.elapsed();
        assert!(
            matches!(ended.code, Some(0 | 1)),
            "{line}: {}",
            ended.stderr
        );
        let whole = std::fs::read(out.join(name)).unwrap();
        for _ in 0..kills {
            for entry in names(&out) {
                if entry.starts_with('.') {
                    // Between the two names that a file gets at the end; SIGKILL cannot be caught.
                    assert!(
                        entry.contains(".weir-") && entry.ends_with(".part"),
                        "{line}: {entry}"
                    );
                    let entry = out.join(entry);
                    let _ = std::fs::remove_file(&entry);
                    let _ = std::fs::remove_dir_all(&entry);
                    left += 1;
                }
            }
            std::fs::write(out.join(name), "old").unwrap();
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let mut child = command(&format!("exec {line}"), &folder);
            child
                .stdout(std::process::Stdio::null())
                .stderr(std::process::Stdio::null());
            let mut child = child.spawn_limited().unwrap();
            let span = u64::try_from(took.as_micros()).unwrap() * 11 / 10;
            std::thread::sleep(Duration::from_micros(random % span.max(1)));
            child.kill().unwrap();
            child.wait().unwrap();
            let found = std::fs::read(out.join(name)).unwrap();
            match found == b"old" {
                true => old += 1,
                false => {
                    new += 1;
                    assert!(
                        found == whole,
                        "{line}: {} of {} bytes",
                        found.len(),
                        whole.len()
                    );
                }
            }
        }
    }
    eprintln!(
        "{old} times the old file, {new} times the new one; {left} times a hidden file was left"
    );
    // Few kills may all fall before the end of the writers, or all behind it.
    if kills >= 50 {
        assert!(old > 0 && new > 0, "no kill fell into the work of a writer");
    }
}

#[test]
fn a_folder_of_parts_appears_whole() {
    let folder = folder("a_folder_of_parts_appears_whole");
    let copy = "COPY (SELECT proto, frame.number FROM 'demo/office.pcapng' WHERE proto IS NOT NULL) \
                TO 'parts/' STORED AS CSV PARTITIONED BY (proto)";
    let ended = run(&format!("weir query \"{copy}\""), &folder);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let parts = names(&folder.join("parts"));
    assert!(
        parts.len() > 2 && parts.iter().all(|part| part.starts_with("proto=")),
        "{parts:?}"
    );
    // A value that fails in the middle leaves the folder as it was.
    let before = listing(&folder.join("parts"));
    let bad = copy.replace("frame.number FROM", "CAST(proto AS int) AS n FROM");
    let ended = run(&format!("weir query \"{bad}\""), &folder);
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    assert_eq!(listing(&folder.join("parts")), before);
    // Once more: files are added, and none is replaced.
    let ended = run(&format!("weir query \"{copy}\""), &folder);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let after = listing(&folder.join("parts"));
    assert!(after.len() == 2 * before.len() && before.iter().all(|file| after.contains(file)));
    assert!(!names(&folder).iter().any(|name| name.ends_with(".part")));
}

/// The answer of a query, as NDJSON.
fn printed(sql: &str, folder: &Path) -> String {
    let ended = run(&format!("weir query \"{sql}\" --format ndjson"), folder);
    assert_eq!(ended.code, Some(0), "{sql}: {}", ended.stderr);
    ended.stdout
}

/// The columns of `PARTITIONED BY` were lost: the reader did not look for them in the names of folders.
#[test]
fn a_folder_of_parts_is_read_back_with_the_columns_of_its_names() {
    let folder = folder("a_folder_of_parts_is_read_back_with_the_columns_of_its_names");
    let query = "SELECT CAST(frame.time AS DATE) AS day, proto, frame.number AS n, ip.src AS src \
                 FROM 'demo/voip.pcap'";
    let expected = printed(&format!("{query} ORDER BY n"), &folder);
    for form in ["parquet", "csv", "json", "arrow"] {
        let copy =
            format!("COPY ({query}) TO '{form}/' STORED AS {form} PARTITIONED BY (day, proto)");
        let ended = run(&format!("weir query \"{copy}\""), &folder);
        assert_eq!(ended.code, Some(0), "{form}: {}", ended.stderr);
        for from in [format!("{form}/"), format!("{form}/**/*.{form}")] {
            let back = printed(
                &format!("SELECT day, proto, n, src FROM '{from}' ORDER BY n"),
                &folder,
            );
            assert_eq!(back, expected, "{from}");
        }
        let of_udp = printed(
            &format!(
                "SELECT count(*) AS n FROM '{form}/' WHERE proto = 'udp' AND day = DATE '2023-11-14'"
            ),
            &folder,
        );
        let wanted = expected
            .lines()
            .filter(|line| line.contains("\"udp\"") && line.contains("2023-11-14"))
            .count();
        assert!(wanted > 0);
        assert_eq!(of_udp, format!("{{\"n\":{wanted}}}\n"), "{form}");
    }
    // Files of other values are not opened.
    let plan = printed(
        "EXPLAIN SELECT n FROM 'parquet/' WHERE proto = 'udp'",
        &folder,
    );
    assert!(
        plan.contains("proto=udp") && !plan.contains("proto=tcp"),
        "{plan}"
    );
}

/// These options were errors of the parser, and a folder without a format was a planner error that named only a clause.
#[test]
fn copy_takes_its_options_as_other_databases_do() {
    let folder = folder("copy_takes_its_options_as_other_databases_do");
    let copy = |to: &str| {
        run(
            &format!("weir query \"COPY (SELECT 1 AS a, 'x' AS b) TO {to}\""),
            &folder,
        )
    };
    for to in [
        "'p/' (FORMAT csv, PARTITION_BY (a), HEADER false)",
        "'q/' WITH (format parquet, partition_by a)",
        "'n.csv' (HEADER false, DELIMITER ';')",
        "'n.csv' (DELIMITER ';', OVERWRITE)",
    ] {
        let ended = copy(to);
        assert_eq!(ended.code, Some(0), "{to}: {}", ended.stderr);
    }
    assert_eq!(names(&folder.join("p")), ["a=1"]);
    assert_eq!(names(&folder.join("q")), ["a=1"]);
    let text = std::fs::read_to_string(folder.join("n.csv")).unwrap();
    assert_eq!(text, "a;b\n1;x\n");
    for (to, wanted) in [
        ("'r/'", "its name does not determine the format"),
        ("'r/' (FORMAT)", "expected one value of format"),
        ("'r.csv' (NONSENSE 1)", "nonsense"),
    ] {
        let ended = copy(to);
        assert_eq!(ended.code, Some(2), "{to}: {}", ended.stderr);
        assert!(ended.stderr.contains(wanted), "{to}: {}", ended.stderr);
        assert!(!folder.join("r").exists() && !folder.join("r.csv").exists());
    }
    let sql = "COPY (SELECT * FROM 'demo/voip.pcap') TO 'a.pcap' (anonymize 'a long secret')";
    let ended = run(&format!("weir query \"{sql}\""), &folder);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let addresses = "SELECT DISTINCT ip.src FROM";
    assert_ne!(
        printed(&format!("{addresses} 'a.pcap' ORDER BY 1"), &folder),
        printed(&format!("{addresses} 'demo/voip.pcap' ORDER BY 1"), &folder)
    );
}

/// A missing number was copied as 0, and a missing text as the empty one, where it named a folder.
#[test]
fn null_and_0_and_no_text_are_different_parts() {
    let folder = folder("null_and_0_and_no_text_are_different_parts");
    let query = "SELECT k, t, i, n FROM (VALUES (0, 'x/y=z', '10.0.0.1', 1), (NULL, NULL, NULL, 2), (7, '', '10.0.0.2', 3)) v(k, t, i, n)";
    let expected = printed(&format!("{query} ORDER BY n"), &folder);
    let ended = run(
        &format!("weir query \"COPY ({query}) TO 'p/' STORED AS PARQUET PARTITIONED BY (k, t)\""),
        &folder,
    );
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let parts = names(&folder.join("p"));
    assert_eq!(parts.len(), 3, "{parts:?}");
    assert!(
        parts.contains(&"k=__HIVE_DEFAULT_PARTITION__".to_owned()),
        "{parts:?}"
    );
    let back = printed("SELECT k, t, i, n FROM 'p/' ORDER BY n", &folder);
    assert_eq!(back, expected);
    // Times and addresses name folders, too.
    let query = "SELECT date_trunc('minute', frame.time) AS minute, ip.src AS src, frame.number AS n \
                 FROM 'demo/voip.pcap' WHERE frame.number < 40";
    let expected = printed(&format!("{query} ORDER BY n"), &folder);
    let ended = run(
        &format!(
            "weir query \"COPY ({query}) TO 'q/' STORED AS CSV PARTITIONED BY (minute, src)\""
        ),
        &folder,
    );
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let back = printed("SELECT minute, src, n FROM 'q/' ORDER BY n", &folder);
    assert_eq!(back, expected);
}

/// Files of a folder were written otherwise than one file: the empty text was NULL when it was read back, and lists were an error.
#[test]
fn files_of_a_folder_are_written_as_one_file_is() {
    let folder = folder("files_of_a_folder_are_written_as_one_file_is");
    let query = "SELECT * FROM (VALUES (1, '', [1, 2], INTERVAL '1 day'), (2, NULL, NULL, NULL), (1, 'x', [], NULL)) v(k, t, l, i)";
    for form in ["csv", "tsv", "json", "ndjson"] {
        for line in [
            format!("weir query \"{query}\" -o one.{form}"),
            format!("weir query \"COPY ({query}) TO '{form}/' (FORMAT {form})\""),
        ] {
            let ended = run(&line, &folder);
            assert_eq!(ended.code, Some(0), "{line}: {}", ended.stderr);
        }
        let found = names(&folder.join(form));
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(
            std::fs::read_to_string(folder.join(form).join(&found[0])).unwrap(),
            std::fs::read_to_string(folder.join(format!("one.{form}"))).unwrap(),
            "{form}"
        );
    }
    let copy =
        |query: &str, to: &str| run(&format!("weir query \"COPY ({query}) TO {to}\""), &folder);
    let ended = copy(query, "'parts/' (FORMAT csv, PARTITION_BY (k))");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let back = printed("SELECT k, t FROM 'parts/' ORDER BY k, t", &folder);
    let expected = printed(
        &format!("SELECT k, t FROM ({query}) ORDER BY k, t"),
        &folder,
    );
    assert_eq!(back, expected);
    // Names with dots and with quotes, which were errors of the parser and of the planner.
    let packets =
        "SELECT ip.src, ip.proto, frame.number FROM 'demo/voip.pcap' WHERE frame.number < 9";
    let ended = copy(
        packets,
        "'hosts/' (FORMAT tsv, PARTITION_BY (ip.src, ip.proto))",
    );
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let found = names(&folder.join("hosts"));
    assert!(
        found.len() > 1 && found.iter().all(|name| name.starts_with("ip.src=")),
        "{found:?}"
    );
    for (to, wanted) in [
        (
            "'e/' (FORMAT csv, PARTITION_BY (k, t, l, i))",
            "names all columns",
        ),
        ("'e/' (FORMAT csv, PARTITION_BY (k, k))", "names k twice"),
        (
            "'e/' (FORMAT csv, PARTITION_BY (nope))",
            "no column named nope",
        ),
        ("'e.tsv' (HEADER false)", "without OPTIONS"),
        ("''", "names no file"),
    ] {
        let ended = copy(query, to);
        assert_eq!(ended.code, Some(2), "{to}: {}", ended.stderr);
        assert!(ended.stderr.contains(wanted), "{to}: {}", ended.stderr);
        assert!(!folder.join("e").exists() && !folder.join("e.tsv").exists());
    }
}

/// With a delimiter or without a header, the empty text was NULL when it was read back, and lists were an error.
#[test]
fn csv_with_options_is_written_as_csv_without() {
    let folder = folder("csv_with_options_is_written_as_csv_without");
    let query = "SELECT '' AS a, NULL::varchar AS b, 'x;y' AS c, 'x,y' AS d, [1, 2] AS l, 2 AS n";
    for (options, expected) in [
        (
            "DELIMITER ';', OVERWRITE",
            "a;b;c;d;l;n\n\"\";;\"x;y\";x,y;[1,2];2\n",
        ),
        ("HEADER false, OVERWRITE", "\"\",,x;y,\"x,y\",\"[1,2]\",2\n"),
        (
            "delim '|', header FALSE, OVERWRITE",
            "\"\"||x;y|x,y|[1,2]|2\n",
        ),
        // The empty text was NULL, and a text that stands for NULL was NULL.
        (
            "NULL 'x;y', OVERWRITE",
            "a,b,c,d,l,n\n\"\",x;y,\"x;y\",\"x,y\",\"[1,2]\",2\n",
        ),
        (
            "QUOTE '#', NULL '2', HEADER on, OVERWRITE",
            "a,b,c,d,l,n\n##,2,x;y,#x,y#,#[1,2]#,#2#\n",
        ),
        (
            "FORCE_QUOTE *, HEADER off, OVERWRITE",
            "\"\",,\"x;y\",\"x,y\",\"[1,2]\",\"2\"\n",
        ),
    ] {
        let copy = format!("COPY ({query}) TO 'x.csv' ({options})");
        let ended = run(&format!("weir query \"{copy}\""), &folder);
        assert_eq!(ended.code, Some(0), "{options}: {}", ended.stderr);
        let text = std::fs::read_to_string(folder.join("x.csv")).unwrap();
        assert_eq!(text, expected, "{options}");
    }
}

/// It was taken for the name of a folder.
#[cfg(unix)]
#[test]
fn copies_go_to_the_standard_output_and_into_pipes() {
    let folder = folder("copies_go_to_the_standard_output_and_into_pipes");
    // The count of rows is the answer, which goes to the standard output, too.
    let copy = "COPY (SELECT 1 AS a) TO '/dev/stdout' (FORMAT csv)";
    let ended = run(&format!("weir query \"{copy}\" | cat"), &folder);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(ended.stdout, "a\n1\ncount\n1\n");
    for (to, expected) in [
        ("(FORMAT csv)", "a\n1\n"),
        ("(FORMAT csv, HEADER false)", "1\n"),
    ] {
        let copy = format!("COPY (SELECT 1 AS a) TO 'pipe' {to}");
        let line = format!(
            "mkfifo pipe; cat pipe > got & weir query \"{copy}\" > count; wait; cat got; rm pipe"
        );
        let ended = run(&line, &folder);
        assert_eq!(
            (ended.code, ended.stdout.as_str()),
            (Some(0), expected),
            "{}",
            ended.stderr
        );
    }
}

fn listing(folder: &Path) -> Vec<String> {
    let found = run("find . -type f | sort", folder).stdout;
    found.lines().map(ToOwned::to_owned).collect()
}

/// The schema had the type of the first value, and no file was written.
#[test]
fn columns_have_the_types_that_their_values_have_together() {
    let folder = folder("columns_have_the_types_that_their_values_have_together");
    let sql = "SELECT frame.number, CASE WHEN tcp.flags.syn THEN tcp.dstport ELSE 100000 END AS a FROM 'demo/office.pcapng' LIMIT 50";
    for file in ["case.parquet", "case.arrow"] {
        let ended = run(&format!("weir query \"{sql}\" -o {file}"), &folder);
        assert_eq!(ended.code, Some(0), "{file}: {}", ended.stderr);
        let read = printed(&format!("SELECT * FROM '{file}'"), &folder);
        assert_eq!(read, printed(sql, &folder), "{file}");
    }
}

#[test]
fn what_is_written_is_read_back() {
    let folder = folder("what_is_written_is_read_back");
    // Each value twice, beside NULL and beside the empty text.
    let rows = "SELECT * FROM (VALUES \
        (1, 'plain', 18446744073709551615, 0.1, true, TIMESTAMP '2026-01-01T00:00:00.123456789Z', '007'), \
        (2, '', 1, -1.5e300, false, TIMESTAMP '2026-01-01T00:00:00Z', '1'), \
        (3, NULL, NULL, NULL, NULL, NULL, NULL), \
        (4, E'a,b;\\\"c\\\"\\td\\ne\\\\\\\\f\\rg', 2, 3.0, true, TIMESTAMP '2026-06-01T00:00:00Z', 'N'), \
        (5, E'\\\\\\\\N', 3, 4.5, true, TIMESTAMP '2026-06-01T00:00:00Z', ' x '), \
        (6, 'ünïcode 漢', 3, 4.5, true, TIMESTAMP '2026-06-01T00:00:00Z', '\"\"')) \
        AS t(id, t, u, f, b, w, s)";
    let source = format!(
        "SELECT id, t, CAST(u AS BIGINT UNSIGNED) AS u, f, b, arrow_cast(w, 'Timestamp(Nanosecond, Some(\\\"UTC\\\"))') AS w, s FROM ({rows}) ORDER BY id"
    );
    let answer = |sql: &str| {
        let ended = run(&format!("weir query \"{sql}\" --format ndjson"), &folder);
        assert_eq!(ended.code, Some(0), "{sql}: {}", ended.stderr);
        ended.stdout
    };
    let expected = answer(&source);
    assert_eq!(expected.lines().count(), 6);
    for extension in ["csv", "tsv", "json", "ndjson", "parquet", "arrow", "arrows"] {
        for (how, write) in [
            ("-o", format!("weir query \"{source}\" -o o.{extension}")),
            (
                "COPY",
                format!("weir query \"COPY ({source}) TO 'c.{extension}'\""),
            ),
        ] {
            let ended = run(&write, &folder);
            assert_eq!(ended.code, Some(0), "{how} {extension}: {}", ended.stderr);
        }
        let read = |name: &str| std::fs::read(folder.join(format!("{name}.{extension}"))).unwrap();
        assert!(read("o") == read("c"), "-o and COPY differ: {extension}");
        let is_json = extension.ends_with("json");
        let back = answer(&format!(
            "SELECT id, t, u, f, b, w, s FROM 'o.{extension}' ORDER BY id"
        ));
        let expected = match is_json {
            // Beyond 63 bits JSON's numbers are read as doubles.
            true => expected
                .replace("18446744073709551615", "1.8446744073709552e19")
                .replace("\"u\":1,", "\"u\":1.0,")
                .replace("\"u\":2,", "\"u\":2.0,")
                .replace("\"u\":3,", "\"u\":3.0,"),
            false => expected.clone(),
        };
        assert_eq!(back, expected, "{extension}");
        if !is_json {
            let kinds = answer(&format!(
                "SELECT arrow_typeof(w) AS w, arrow_typeof(u) AS u, arrow_typeof(t) LIKE 'Utf8%' AS t FROM 'o.{extension}' LIMIT 1"
            ));
            assert_eq!(
                kinds, "{\"w\":\"Timestamp(ns, \\\"UTC\\\")\",\"u\":\"UInt64\",\"t\":true}\n",
                "{extension}"
            );
        }
    }
    // The two forms of JSON under each other's names, and the two of Arrow.
    run(
        "cp o.json array.ndjson; cp o.ndjson lines.json; cp o.arrow file.arrows; cp o.arrows stream.arrow",
        &folder,
    );
    for name in ["array.ndjson", "lines.json", "file.arrows", "stream.arrow"] {
        let ended = run(
            &format!("weir query \"SELECT count(*) AS n, count(t) AS t FROM '{name}'\""),
            &folder,
        );
        assert_eq!(ended.stdout, "n,t\n6,5\n", "{name}: {}", ended.stderr);
    }
    for (name, magic) in [("o.arrow", &b"ARROW1"[..]), ("o.arrows", &[0xff; 4])] {
        assert!(
            std::fs::read(folder.join(name)).unwrap().starts_with(magic),
            "{name}"
        );
    }
    // Formats for people also distinguish NULL from an empty text.
    for format in ["table", "markdown", "csv", "tsv", "json", "ndjson"] {
        let line = |value: &str| {
            run(
                &format!("weir query \"SELECT {value} AS a\" --format {format}"),
                &folder,
            )
            .stdout
        };
        assert_ne!(line("CAST(NULL AS text)"), line("''"), "{format}");
    }
    // An empty answer also replaces the old file.
    for extension in ["csv", "tsv", "json", "ndjson", "parquet", "arrow", "arrows"] {
        let ended = run(
            &format!("weir query \"{source} LIMIT 0\" -o o.{extension}"),
            &folder,
        );
        assert_eq!(ended.code, Some(0), "{extension}: {}", ended.stderr);
        if extension != "ndjson" && extension != "json" {
            let ended = run(
                &format!("weir query \"SELECT count(*) AS n FROM 'o.{extension}'\""),
                &folder,
            );
            assert_eq!(ended.stdout, "n\n0\n", "{extension}: {}", ended.stderr);
        }
    }
    assert_eq!(
        std::fs::read_to_string(folder.join("o.ndjson")).unwrap(),
        ""
    );
}
