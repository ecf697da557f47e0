//! The exit statuses of commands (0 success; 1 success, with damage; 2 usage, names, SQL or environment; 3 failure while
//! running), and the errors and hints for a hundred typical mistakes of new users.

use crate::shell::{folder, run};

/// Commands by causes: exit status, and a part of what they write to standard error.
const STATUSES: [(u8, &str, &str); 95] = [
    // Done.
    (0, "weir query 'SELECT 1'", ""),
    (0, "weir query \"SELECT count(*) FROM 'call.pcap'\"", ""),
    (
        0,
        "weir query \"COPY (SELECT * FROM 'call.pcap') TO 'copy.pcap'\"",
        "",
    ),
    (
        0,
        "weir query \"SELECT * FROM 'demo/office.pcapng'\" | head -1",
        "",
    ),
    (0, "weir fields vlan", ""),
    (0, "weir demo d --no-tour", ""),
    (0, "weir clf write call.pcap -o new.clf", "records"),
    (0, "weir clf search calls.clf --count", ""),
    (0, "weir clf search calls.clf --call-id missing", ""),
    (0, "weir clf convert calls.clf --format json", ""),
    // Old names of options still work, with a note.
    (
        0,
        "weir clf convert calls.clf --form json",
        "--form is called --format now",
    ),
    (
        0,
        "weir clf write call.pcap -o every.clf --fsync 1000 --rotate-every 60",
        "--fsync 1000ms",
    ),
    (
        0,
        "weir clf write call.pcap -o units.clf --fsync 1s --rotate-every 10m",
        "records",
    ),
    (
        0,
        "weir h248 compare message.txt --html m.html --time 50",
        "--html is called -o now",
    ),
    (0, "weir clf anonymize calls.clf --key-file key", ""),
    (
        0,
        "printf '\\357\\273\\277OPTIONS sip:b SIP/2.0\\r\\nCall-ID: c\\r\\nl: 0\\r\\n\\r\\n' > m.sip; \
         weir clf write m.sip -o m.clf",
        "logged with the time of the file",
    ),
    (
        0,
        "weir clf write m.sip -o one.clf",
        "note: 1 record\nnote: 1 message has errors; it was",
    ),
    (0, "weir clf check m.clf", "note: m.clf: 1 record\n"),
    (0, "weir clf index calls.clf", ""),
    (0, "weir clf check calls.clf", ""),
    (0, "weir clf tail calls.clf", ""),
    (
        0,
        "weir query --follow \"SELECT count(*) FROM clf('calls.clf')\"",
        "--follow is for captures in files that grow",
    ),
    (0, "weir h248 decode message.txt", ""),
    (0, "weir h248 encode --to ber --to-hex message.txt", ""),
    (0, "weir h248 convert message.txt --to ber -o m.ber", ""),
    (0, "weir h248 check message.txt", ""),
    (0, "weir ws stats call.pcap", ""),
    (
        0,
        "weir ws study lines.txt --sample --cpu-times estimate --level 1 --mem-level 1",
        "",
    ),
    (
        0,
        "weir sip ladder call.pcap --call-id \"it's-1@10.0.0.1\"",
        "",
    ),
    // One call needs no name.
    (0, "weir sip ladder call.pcap", ""),
    (0, "weir completions bash", ""),
    (0, "weir man", ""),
    (0, "weir --help", ""),
    // Done, with damage.
    (
        1,
        "weir query \"SELECT count(*) FROM 'cut.pcap'\"",
        "cut short",
    ),
    (
        1,
        "weir query \"SELECT count(*) FROM 'cut.pcap'\" -o n.csv && exit 9; s=$?; test -s n.csv && exit $s",
        "cut short",
    ),
    (
        1,
        "weir query \"COPY (SELECT * FROM 'cut.pcap') TO 'good.pcap'\"",
        "cut short",
    ),
    (1, "weir clf write cut.pcap -o cut.clf", "cut short"),
    (
        1,
        "(cat calls.clf; echo garbage) > bad.clf; weir clf tail bad.clf",
        "a place in the log is not a record",
    ),
    (
        1,
        "(cat calls.clf; echo garbage) > bad.clf; weir clf check bad.clf",
        "error: ",
    ),
    (
        1,
        "(cat calls.clf; echo garbage) > bad.clf; weir clf convert bad.clf --format json",
        "error: ",
    ),
    (
        1,
        "echo '!/1 [10.0.0.1] T=1{' > bad.txt; weir h248 decode bad.txt",
        "error: ",
    ),
    (
        1,
        "echo '!/1 [10.0.0.1] T=1{' > bad.txt; weir h248 check bad.txt",
        "",
    ),
    (
        1,
        "echo '!/1 [10.0.0.1] T=1{' > bad.txt; weir h248 convert bad.txt --to ber",
        "error: ",
    ),
    (1, "weir ws stats cut.pcap", "cut short"),
    // Usage, names, SQL or environment.
    (2, "weir", "Usage:"),
    (2, "weir qeury", "did you mean 'query'?"),
    (2, "weir query", "--help"),
    (2, "weir query 'SELCT 1'", "hint: "),
    (
        2,
        "weir query \"SELECT ip.scr FROM 'call.pcap'\"",
        "did you mean ip.src?",
    ),
    (
        2,
        "weir query \"SELECT cuont(*) FROM 'call.pcap'\"",
        "no function",
    ),
    (
        2,
        "weir query \"SELECT * FROM 'nothing.pcap'\"",
        "no file matches",
    ),
    (
        2,
        "weir query \"SELECT * FROM 'notes.md'\"",
        "is not a capture",
    ),
    (
        2,
        "weir query \"SELECT * FROM 'call.pcap'\" -o missing/x.csv",
        "No such file",
    ),
    (
        2,
        "weir query \"COPY (SELECT * FROM 'call.pcap') TO 'missing/x.pcap'\"",
        "No such file",
    ),
    (
        2,
        "weir query \"COPY (SELECT * FROM 'call.pcap') TO 'missing/x.csv'\"",
        "No such file",
    ),
    (
        2,
        "weir query \"COPY (SELECT ip.scr FROM 'call.pcap') TO 'x.csv'\"",
        "did you mean ip.src?",
    ),
    (2, "weir live", "expected an interface and a statement"),
    (2, "weir live -i nothing0 'SELECT 1 FROM live'", "nothing0"),
    (2, "weir fields nosuchcolumn", "no column has"),
    (2, "weir demo notes.txt", "notes.txt"),
    (2, "weir clf", "Usage:"),
    (2, "weir clf write nothing.pcap -o n.clf", "No such file"),
    (
        2,
        "weir clf write call.pcap nothing.pcap -o n.clf; s=$?; test -e n.clf && exit 9; exit $s",
        "No such file",
    ),
    (2, "weir clf search nothing.clf", "no such log"),
    (
        2,
        "weir clf convert nothing.clf --format json",
        "No such file",
    ),
    (2, "weir clf convert notes.txt --format json", "notes.txt"),
    (
        2,
        "weir clf convert calls.clf --format jsn",
        "did you mean 'json'?",
    ),
    (2, "weir clf check nothing.clf", "No such file"),
    (2, "weir clf tail nothing.clf", "No such file"),
    (2, "weir h248 decode nothing.txt", "No such file"),
    (
        2,
        "weir h248 convert message.txt --to ber -o missing/m.ber",
        "No such file",
    ),
    (
        2,
        "weir h248 compare message.txt -o missing/m.html",
        "No such file",
    ),
    (2, "weir ws stats nothing.pcap", "No such file"),
    (
        2,
        "weir ws stats call.pcap -o missing/w.html",
        "No such file",
    ),
    (2, "weir ws study nothing.txt", "No such file"),
    (
        2,
        "weir sip ladder nothing.pcap --call-id x",
        "no file matches",
    ),
    (
        2,
        "weir sip export call.pcap --call-id x -o call.wav",
        "--audio call.wav writes the audio",
    ),
    (2, "weir man notes.txt", "notes.txt"),
    (
        2,
        "weir ws study call.pcap --sample",
        "weir ws stats shows the connections",
    ),
    // A capture in the place of statements.
    (
        2,
        "weir query -f call.pcap",
        "call.pcap: expected statements of SQL in UTF-8",
    ),
    (
        2,
        "weir report call.pcap",
        "call.pcap: expected statements of SQL in UTF-8",
    ),
    (
        2,
        "weir < call.pcap",
        "standard input: expected statements of SQL in UTF-8",
    ),
    // Failed while running.
    (
        3,
        "weir query \"SELECT CAST(proto AS int) FROM 'demo/office.pcapng'\"",
        "is not a number",
    ),
    (3, "weir query 'SELECT 1' > /dev/full", "No space left"),
    (3, "weir query 'SELECT 1' -o /dev/full", "No space left"),
    (3, "weir --help > /dev/full", "No space left"),
    (3, "weir query --help > /dev/full", "No space left"),
    (3, "weir help fields > /dev/full", "No space left"),
    (3, "weir live -D > /dev/full", "No space left"),
    (
        3,
        "weir clf convert calls.clf --format json -o /dev/full",
        "No space left",
    ),
    (3, "weir ws stats call.pcap > /dev/full", "No space left"),
    (
        3,
        "weir h248 decode message.txt > /dev/full",
        "No space left",
    ),
    (
        3,
        "weir sip ladder call.pcap --call-id missing",
        "no SIP message with Call-ID 'missing'",
    ),
    // The captures are cut before their first message.
    (
        3,
        "head -c 50 call.pcap > begun.pcap; weir sip ladder begun.pcap",
        "cut short",
    ),
    (
        3,
        "head -c 50 call.pcap > begun.pcap; weir sip export begun.pcap --call-id x -o x.pcap",
        "cut short",
    ),
];

#[test]
fn every_command_ends_with_the_status_of_its_cause() {
    let folder = folder("every_command_ends_with_the_status_of_its_cause");
    let mut wrong = String::new();
    for (status, line, expected) in STATUSES {
        let ended = run(line, &folder);
        if ended.code != Some(status.into()) || !ended.stderr.contains(expected) {
            wrong += &format!(
                "{line}: {:?}, expected {status} and '{expected}'\n{}\n",
                ended.code, ended.stderr
            );
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn help_says_how_commands_end() {
    let folder = folder("help_says_how_commands_end");
    let help = run("weir --help", &folder).stdout;
    let flat = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        flat.contains("Exit status: 0 success; 1 success, but damage was found"),
        "{flat}"
    );
    assert!(flat.contains("3 failure while running"), "{flat}");
}

/// The help of these commands named three formats of captures, but they read all.
#[test]
fn help_leaves_out_no_format_of_captures() {
    let folder = folder("help_leaves_out_no_format_of_captures");
    for line in ["weir h248 --help", "weir ws study --help"] {
        let help = run(line, &folder).stdout;
        let flat = help.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains("captures"), "{line}: {flat}");
        assert!(!flat.contains("ERF)"), "{line}: {flat}");
        assert!(!flat.contains("ERF; plain"), "{line}: {flat}");
    }
}

/// Inputs of new users: the exit status, a part of the error, a part of the hint. The entries with an empty hint, about SQL or
/// names, only require that there is one.
const WRONG: [(&str, u8, &str, &str); 105] = [
    // The command line.
    ("weir", 2, "Usage: weir", ""),
    (
        "weir \"SELECT 1 FROM 'call.pcap'\"",
        2,
        "expected a command, found SQL",
        "weir query \"SELECT 1",
    ),
    (
        "weir call.pcap",
        2,
        "expected a command, found a file",
        "LIMIT 10",
    ),
    (
        "weir qeury x",
        2,
        "unrecognized subcommand 'qeury'",
        "did you mean 'query'?",
    ),
    ("weir query", 2, "<SQL>...", "'weir query --help'"),
    ("weir query ''", 2, "no statement", "weir query \"SELECT"),
    (
        "weir query 'SELECT 1' --thread 4",
        2,
        "unexpected argument '--thread'",
        "did you mean '--threads'?",
    ),
    (
        "weir query 'SELECT 1' --threads 0",
        2,
        "invalid value '0'",
        "'weir query --help'",
    ),
    (
        "weir query 'SELECT 1' --format jsn",
        2,
        "invalid value 'jsn'",
        "did you mean 'json'?",
    ),
    (
        "weir query 'SELECT 1' --form json",
        2,
        "unexpected argument '--form'",
        "did you mean '--format'?",
    ),
    (
        "weir query 'SELECT 1' --to json",
        2,
        "unexpected argument '--to'",
        "did you mean '--format'?",
    ),
    (
        "weir query 'SELECT 1' --memory-limit lots",
        2,
        "expected a size",
        "'weir query --help'",
    ),
    (
        "weir query 'SELECT 1' --rows many",
        2,
        "expected a number of rows",
        "'weir query --help'",
    ),
    (
        "weir query 'SELECT 1' --every never",
        2,
        "invalid value 'never'",
        "'weir query --help'",
    ),
    (
        "weir query 'SELECT 1' --lateness x",
        2,
        "invalid value 'x'",
        "'weir query --help'",
    ),
    (
        "weir query 'SELECT 1' --hdlc ppq",
        2,
        "invalid value 'ppq'",
        "did you mean 'ppp'?",
    ),
    (
        "weir query 'SELECT 1' -f q.sql",
        2,
        "cannot be used with",
        "'weir query --help'",
    ),
    (
        "weir query -f missing.sql",
        2,
        "missing.sql: No such file",
        "",
    ),
    ("weir query -f demo", 2, "demo: Is a directory", ""),
    (
        "weir query 'SELECT 1' --color blue",
        2,
        "invalid value 'blue'",
        "'weir query --help'",
    ),
    (
        "WEIR_THREADS=none weir query 'SELECT 1'",
        2,
        "invalid value 'none'",
        "'weir query --help'",
    ),
    (
        "weir completions tcsh",
        2,
        "invalid value 'tcsh'",
        "'weir completions --help'",
    ),
    (
        "weir fields ip.adr",
        2,
        "no column has 'ip.adr'",
        "similar names",
    ),
    (
        "weir clf convert calls.clf --to json",
        2,
        "unexpected argument '--to'",
        "did you mean '--format'?",
    ),
    (
        "weir clf search calls.clf --as json",
        2,
        "unexpected argument '--as'",
        "or '--format'?",
    ),
    ("weir clf search", 2, "<LOG>...", "'weir clf search --help'"),
    (
        "weir clf serach calls.clf",
        2,
        "unrecognized subcommand 'serach'",
        "did you mean 'search'?",
    ),
    (
        "weir clf search calls.clf --since yesterday",
        2,
        "not a time such as",
        "'weir clf search --help'",
    ),
    (
        "weir clf search calls.clf --user '(' --regex",
        2,
        "regex parse error",
        "backslash",
    ),
    (
        "weir clf write call.pcap -o x.clf --rotate-size big",
        2,
        "expected a size",
        "'weir clf write --help'",
    ),
    (
        "weir clf anonymize calls.clf --key-file notes.txt.missing",
        2,
        "No such file",
        "",
    ),
    (
        "printf short > short; weir clf anonymize calls.clf --key-file short",
        2,
        "fewer than 8 bytes",
        "urandom",
    ),
    (
        "weir h248 decode message.txt --format json",
        2,
        "unexpected argument '--format'",
        "'--as'",
    ),
    (
        "weir h248 convert message.txt --form ber",
        2,
        "unexpected argument '--form'",
        "'--to'",
    ),
    (
        "weir h248 convert message.txt",
        2,
        "--to <ENCODING>",
        "'weir h248 convert --help'",
    ),
    (
        "weir ws stats call.pcap --form csv",
        2,
        "unexpected argument '--form'",
        "did you mean '--format'?",
    ),
    (
        "weir ws advise lines.txt",
        2,
        "--connections <N>",
        "'weir ws advise --help'",
    ),
    (
        "weir ws study lines.txt --window 7",
        2,
        "expected numbers from 8 to 15",
        "'weir ws study --help'",
    ),
    (
        "weir sip ladder demo/calls.pcap",
        2,
        "the captures have 3 calls",
        "voice-call  alice -> bob  completed",
    ),
    (
        "weir sip ladder call.pcap --call-id \"it's-1@10.0.0.1\" -o call.jpg",
        2,
        "text, SVG, PNG or HTML",
        "x.png",
    ),
    (
        "weir live",
        2,
        "expected an interface and a statement",
        "weir live -D",
    ),
    (
        "weir live 'SELECT 1 FROM live'",
        2,
        "expected an interface and a statement",
        "weir live -i lo",
    ),
    (
        "weir live -i nothing0 'SELECT count(*) FROM live'",
        2,
        "nothing0",
        "",
    ),
    (
        "weir live -i lo x --snaplen 0",
        2,
        "invalid value '0'",
        "'weir live --help'",
    ),
    // The inputs about output files.
    (
        "weir query 'SELECT 1' -o missing/a.csv",
        2,
        "missing/a.csv: No such file",
        "mkdir -p 'missing'",
    ),
    (
        "weir query 'SELECT 1' -o demo",
        2,
        "demo: is a directory",
        "",
    ),
    (
        "weir query 'SELECT 1' -o a.pcap",
        2,
        "rows are not packets",
        "COPY (",
    ),
    (
        "weir query 'SELECT 1' -o cut.pcap --format csv",
        2,
        "is not replaced",
        "--overwrite",
    ),
    (
        "weir query 'SELECT 1' -o a.csv.gz",
        2,
        "rows are not compressed",
        "gzip > x.csv.gz",
    ),
    (
        "weir query 'SELECT 1; SELECT 2' -o a.parquet",
        2,
        "2 results cannot be written to one parquet output",
        "one -o for each",
    ),
    (
        "weir query 'SELECT 1; SELECT 2; SELECT 3' -o a.csv -o b.csv",
        2,
        "2 output files for 3 statements",
        "one '-o FILE' for all",
    ),
    ("weir query 'SELECT 1' -o /dev/full", 3, "No space left", ""),
    ("weir query 'SELECT 1' > /dev/full", 3, "No space left", ""),
    (
        "weir query \"COPY (SELECT * FROM 'call.pcap') TO 'cut.pcap'\"",
        2,
        "is not replaced",
        "overwrite",
    ),
    (
        "weir query \"COPY (SELECT * FROM 'call.pcap') TO 'x.pcap' OPTIONS (overwrite maybe)\"",
        2,
        "overwrite must be true or false",
        "",
    ),
    (
        "weir query \"COPY (SELECT * FROM 'call.pcap') TO 'x.pcap' OPTIONS (compression 'gzip')\"",
        2,
        "a capture has no options",
        "",
    ),
    (
        "weir query \"COPY (SELECT ip.src FROM 'call.pcap' GROUP BY ip.src) TO 'x.pcap'\"",
        2,
        "no packets in the rows",
        "SELECT * keeps them",
    ),
    ("weir query \"COPY (SELECT 1) TO 'x.doc'\"", 2, "", ""),
    // The inputs about files to read.
    (
        "weir query \"SELECT 1 FROM 'nothing.pcap'\"",
        2,
        "no file matches",
        "check the spelling",
    ),
    (
        "weir query \"SELECT 1 FROM 'cal.pcap'\"",
        2,
        "no file matches",
        "did you mean 'call.pcap'?",
    ),
    (
        "weir query \"SELECT 1 FROM '*.erf'\"",
        2,
        "no file matches",
        "quote the pattern",
    ),
    (
        "weir query \"SELECT 1 FROM '[.pcap'\"",
        2,
        "",
        "in a pattern",
    ),
    (
        "weir query \"SELECT 1 FROM 'empty'\"",
        2,
        "empty has no capture",
        "'empty/*/*' looks in the folders",
    ),
    (
        "weir query \"SELECT 1 FROM 'notes.md'\"",
        2,
        "is not a capture",
        "editcap",
    ),
    (
        ": > empty.pcap; weir query \"SELECT 1 FROM 'empty.pcap'\"",
        2,
        "empty.pcap is empty",
        "written completely",
    ),
    (
        "printf '\\3757zXZ\\000\\000\\004' > a.pcap.xz; weir query \"SELECT 1 FROM 'a.pcap.xz'\"",
        2,
        "a.pcap.xz: xz: the file is cut short at byte 8",
        "written completely",
    ),
    (
        "printf '7z\\274\\257\\047\\034aaaa' > a.pcap.7z; weir query \"SELECT 1 FROM 'a.pcap.7z'\"",
        2,
        "compressed with 7-Zip",
        "7z x -so FILE",
    ),
    (
        "printf '\\002\\041\\114\\030aaaa' > a.pcap.lz4; weir query \"SELECT 1 FROM 'a.pcap.lz4'\"",
        2,
        "compressed with the legacy frames of lz4",
        "lz4 -dc FILE",
    ),
    (
        "printf 'PK\\003\\004aaaa' > a.zip; weir query \"SELECT 1 FROM 'a.zip'\"",
        2,
        "a.zip: the zip archive is damaged",
        "zip -FF",
    ),
    (
        "weir query \"SELECT 1 FROM 'http://127.0.0.1:9/a.pcap?signature=SECRET'\"",
        2,
        "http://127.0.0.1:9/a.pcap?…: the server cannot be reached",
        "check the network",
    ),
    (
        "weir query \"SELECT 1 FROM 's3://key:secret@bucket/a.pcap'\"",
        2,
        "s3://…@bucket/a.pcap: an address cannot have credentials",
        "environment variables",
    ),
    (
        "weir query \"SELECT 1 FROM 'https://example.org/*.pcap'\"",
        2,
        "has no list of files",
        "name each",
    ),
    (
        "weir query \"SELECT 1 FROM '~/a.pcap'\"",
        2,
        "no file matches",
        "check the spelling",
    ),
    (
        "weir query \"SELECT 1 FROM records('demo/recorder.bin', 'notes.txt')\"",
        2,
        "expected TOML",
        "",
    ),
    (
        "weir query \"SELECT 1 FROM records('demo/recorder.bin')\"",
        2,
        "a layout",
        "",
    ),
    ("weir query 'SELECT 1 FROM packets()'", 2, "a path", ""),
    ("weir query 'SELECT 1 FROM sip()'", 2, "a path", ""),
    (
        "weir query \"SELECT 1 FROM flows('hosts.csv')\"",
        2,
        "is not a capture",
        "reads it in its own format",
    ),
    (
        "weir query \"SELECT 1 FROM packets('call.pcap', sort => true)\"",
        2,
        "has no argument sort",
        "merge => true",
    ),
    (
        "weir query \"SELECT 1 FROM packets('call.pcap', merge => 5)\"",
        2,
        "merge must be true or false",
        "",
    ),
    (
        "weir query \"SELECT 1 FROM packets(5)\"",
        2,
        "paths in single quotes",
        "",
    ),
    (
        "weir query \"SELECT count(*) FROM 'cut.pcap'\"",
        1,
        "cut short",
        "",
    ),
    (
        "gzip -k call.pcap; head -c 300 call.pcap.gz > short.gz; weir query \"SELECT count(*) FROM 'short.gz'\"",
        1,
        "",
        "",
    ),
    (
        "printf 'a,b\\n1,2\\n1,2,3\\n' > ragged.csv; weir query \"SELECT * FROM 'ragged.csv'\"",
        2,
        "line 3: 3 fields",
        "",
    ),
    (
        "printf 'a\\n\\042x\\n' > open.csv; weir query \"SELECT * FROM 'open.csv'\"",
        2,
        "a quote is opened and not closed",
        "",
    ),
    (
        "printf 'a\\n\\377\\n' > bytes.csv; weir query \"SELECT * FROM 'bytes.csv'\"",
        2,
        "not UTF-8",
        "",
    ),
    (
        "echo '{\"a\":' > bad.json; weir query \"SELECT * FROM 'bad.json'\"",
        2,
        "",
        "",
    ),
    // SQL and names.
    ("weir query 'SELCT 1'", 2, "error: ", "hint: "),
    ("weir query 'SELECT 1 FROM'", 2, "error: ", "hint: "),
    ("weir query 'SELECT (1'", 2, "error: ", "hint: "),
    (
        "weir query \"SELECT ip.scr FROM 'call.pcap'\"",
        2,
        "no column named ip.scr",
        "did you mean ip.src?",
    ),
    (
        "weir query \"SELECT ip.adr FROM 'call.pcap'\"",
        2,
        "ip.adr",
        "hint: ",
    ),
    (
        "weir query \"SELECT tcp.stream FROM 'call.pcap'\"",
        2,
        "tcp.stream",
        "hint: ",
    ),
    (
        "weir query \"SELECT 1 FROM 'call.pcap' WHERE proto = UDP\"",
        2,
        "error: ",
        "hint: ",
    ),
    (
        "weir query \"SELECT cuont(*) FROM 'call.pcap'\"",
        2,
        "no function named cuont",
        "hint: ",
    ),
    (
        "weir query 'SELECT 1 FROM live'",
        2,
        "no table named live",
        "weir live -i eth0",
    ),
    (
        "weir query 'SELECT 1 FROM office'",
        2,
        "no table named office",
        "hint: ",
    ),
    (
        "weir query \"SELECT 1 FROM imap('call.pcap')\"",
        2,
        "error: ",
        "",
    ),
    (
        "weir query \"SELECT 1 FROM sp('call.pcap')\"",
        2,
        "error: ",
        "",
    ),
    (
        "weir query \"SELECT count(*) FROM 'call.pcap' WHERE ip.src = '10.0.0.300'\"",
        2,
        "is not an IPv4, IPv6 or MAC address",
        "",
    ),
    (
        "weir query \"SELECT count(*) FROM 'call.pcap' WHERE cidr_match(ip.src, '10.0.0.0/33')\"",
        2,
        "10.0.0.0/33",
        "",
    ),
    (
        "weir query \"SELECT ip.src, count(*) FROM 'call.pcap'\"",
        2,
        "GROUP BY",
        "hint: ",
    ),
    (
        "weir query \"SELECT count(*) FROM 'call.pcap' GROUP BY tumble(frame.time, INTERVAL '0 seconds')\"",
        2,
        "error: ",
        "",
    ),
    (
        "weir query \"SELECT CAST(proto AS int) FROM 'demo/office.pcapng'\"",
        3,
        "'icmp' is not a number",
        "",
    ),
    (
        "weir query \"SELECT 1 / (frame.number - 1) FROM 'call.pcap'\"",
        3,
        "division by zero",
        "",
    ),
];

#[test]
#[cfg_attr(not(feature = "remote"), ignore = "some of them are addresses")]
fn a_hundred_wrong_inputs_have_an_error_and_a_hint() {
    let folder = folder("a_hundred_wrong_inputs");
    let mut wrong = String::new();
    for (line, status, error, hint) in WRONG {
        let before = std::fs::read(folder.join("cut.pcap")).unwrap();
        let ended = run(line, &folder);
        let told = ended.stderr.contains(error)
            && ended.stderr.contains(hint)
            && (hint.is_empty() || ended.stderr.contains("hint: "))
            && !ended.stderr.contains("panicked");
        if ended.code != Some(status.into()) || !told {
            wrong += &format!(
                "{line}: {:?}, expected {status}, '{error}', '{hint}'\n{}{}\n",
                ended.code, ended.stdout, ended.stderr
            );
        }
        assert!(
            std::fs::read(folder.join("cut.pcap")).unwrap() == before,
            "{line}"
        );
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}
