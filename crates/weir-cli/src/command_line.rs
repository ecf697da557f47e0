//! The definitions of the command line.
//!
//! The definitions give help, completions and manual pages alike. A line that does not parse
//! becomes a [`Refusal`]: `error:` and `hint:` lines, exit status 2.

mod refused;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;

use crate::args::{Global, Live, Query};
use crate::demo::Demo;
use crate::fields::Fields;
use crate::functions::Functions;
use crate::h248::H248;
use crate::refusal::Refusal;

use refused::refuse;

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "weir",
    version = VERSION,
    about = "SQL over network captures",
    long_about = "SQL over network captures.\n\n\
        Captures (pcap, pcapng, ERF, snoop, NetMon 2; compressed or not) are tables: name the file in FROM. \
        Columns bear Wireshark's field names, such as ip.src, udp.dstport and frame.len.",
    after_help = TOP_EXAMPLES,
    arg_required_else_help = true,
    max_term_width = 100
)]
pub(crate) struct Cli {
    /// Switches of every command.
    #[command(flatten)]
    pub(crate) global: Global,
    /// The command.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    // The help of these commands is at their types; a doc comment here would replace it.
    Query(Query),
    Shell(Box<crate::shell::Shell>),
    Summary(crate::overview::Summary),
    Report(crate::report::Report),
    Live(Live),
    Fields(Fields),
    Filter(crate::filter::Filter),
    Carve(crate::filter::Carve),
    /// List the functions of SQL, with meaning and example
    #[command(after_help = FUNCTIONS_EXAMPLES)]
    Functions(Functions),
    /// List the tables that captures have, with meaning and example
    #[command(after_help = TABLES_EXAMPLES)]
    Tables(Functions),
    Demo(Demo),
    Clf(crate::clf::Clf),
    H248(H248),
    Ws(crate::ws::Ws),
    Sip(crate::sip::Sip),
    #[cfg(feature = "serve")]
    Serve(Box<crate::serve::Serve>),
    /// Serve SQL clients and browsers (not in this build)
    #[cfg(not(feature = "serve"))]
    Serve(crate::absent::Absent),
    #[cfg(feature = "cluster")]
    Cluster(Box<crate::cluster::Cluster>),
    /// Run SQL queries on several machines (not in this build)
    #[cfg(not(feature = "cluster"))]
    Cluster(crate::absent::Absent),
    /// Print a completion script for a shell
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page, or write the pages of all commands
    #[command(after_help = MAN_EXAMPLES)]
    Man {
        /// Write the pages of all commands into this directory
        dir: Option<PathBuf>,
    },
}

/// SQL that begins with a comment, `-- …`, looks like an option; behind a blank it does not.
fn no_option(word: OsString) -> OsString {
    match word.as_encoded_bytes() {
        [b'-', b'-', blank, ..] if blank.is_ascii_whitespace() => {
            let mut sql = OsString::from(" ");
            sql.push(word);
            sql
        }
        _ => word,
    }
}

/// Parses a command line, the program's name first.
///
/// # Errors
/// The refusal to show instead.
pub(crate) fn parse(line: impl IntoIterator<Item = OsString>) -> Result<Cli, Refusal> {
    let line: Vec<OsString> = line.into_iter().map(no_option).collect();
    if let Some(cli) = parse_query(&line) {
        return Ok(cli);
    }
    Cli::try_parse_from(&line).map_err(|error| refuse(error, &line))
}

/// Parses a line that begins with `query`, the command whose start is waited for most, without the definitions of all others. `None`
/// for another line, and for one that gives help or a refusal, which the definitions of all commands word.
fn parse_query(line: &[OsString]) -> Option<Cli> {
    line.get(1).filter(|word| *word == "query")?;
    let parsed = QueryLine::try_parse_from(line).ok()?;
    let QueryCommand::Query(query) = parsed.command;
    Some(Cli {
        global: parsed.global,
        command: Command::Query(query),
    })
}

// The part of `Cli` that a query needs; comments of documentation would be texts of help here.
#[derive(Debug, Parser)]
#[command(name = "weir")]
struct QueryLine {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: QueryCommand,
}

#[derive(Debug, Subcommand)]
enum QueryCommand {
    Query(Query),
}

/// The notes about old names of options and numbers without a unit, which still work.
pub(crate) fn outdated(line: &[OsString]) -> Vec<String> {
    let words: Vec<&str> = line.iter().filter_map(|word| word.to_str()).collect();
    let command = words.get(1).copied().unwrap_or_default();
    let mut notes = Vec::new();
    for (number, word) in words.iter().enumerate() {
        let (flag, value) = match word.split_once('=') {
            Some((flag, value)) => (flag, Some(value)),
            None => (*word, words.get(number + 1).copied()),
        };
        for (of, old, new) in RENAMED {
            if *of == command && *old == flag {
                notes.push(format!("{old} is called {new} now"));
            }
        }
        for (of, with_unit, unit) in UNITS {
            if *of == command
                && *with_unit == flag
                && let Some(value) = value.filter(|value| value.parse::<u64>().is_ok())
            {
                notes.push(format!(
                    "a number without a unit is taken as {value}{unit}: write {flag} {value}{unit}"
                ));
            }
        }
    }
    notes
}

/// Options that were called otherwise: the command, the old name and the new one.
const RENAMED: &[(&str, &str, &str)] = &[("clf", "--form", "--format"), ("h248", "--html", "-o")];

/// Times that once had no unit: the command, the option, and the unit of a number alone.
const UNITS: &[(&str, &str, &str)] = &[
    ("clf", "--fsync", "ms"),
    ("clf", "--rotate-every", "s"),
    ("h248", "--time", "us"),
];

/// Whether the line is `weir --version` and no more.
pub(crate) fn asks_for_version(line: &[OsString]) -> bool {
    line.len() == 2 && (line[1] == "--version" || line[1] == "-V")
}

/// Writes the name of the program and its version, as the parser of the line does.
///
/// # Errors
/// The errors of the output.
pub(crate) fn write_version(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "weir {VERSION}")
}

/// Whether the line is `weir --version --verbose`, in any order.
pub(crate) fn asks_for_build(line: &[OsString]) -> bool {
    let words: Vec<&str> = line
        .iter()
        .skip(1)
        .filter_map(|word| word.to_str())
        .collect();
    let is = |of: &[&str]| words.iter().any(|word| of.contains(word));
    words.len() == 2 && is(&["--version", "-V"]) && is(&["--verbose", "-v"])
}

/// Writes what the program was made of: version, commit, features, target.
///
/// # Errors
/// The errors of the output.
pub(crate) fn write_build(out: &mut dyn Write) -> io::Result<()> {
    let features: Vec<&str> = [
        ("cluster", cfg!(feature = "cluster")),
        ("remote", weir_engine::READS_REMOTE),
        ("serve", cfg!(feature = "serve")),
        ("zlib-ng", cfg!(feature = "zlib-ng")),
    ]
    .into_iter()
    .filter_map(|(name, is_on)| is_on.then_some(name))
    .collect();
    let features = match features.is_empty() {
        true => "none".to_owned(),
        false => features.join(", "),
    };
    writeln!(out, "weir {}", env!("CARGO_PKG_VERSION"))?;
    writeln!(out, "commit: {}", env!("WEIR_COMMIT"))?;
    writeln!(out, "features: {features}")?;
    writeln!(out, "target: {}", env!("WEIR_TARGET"))?;
    writeln!(out, "profile: {}", env!("WEIR_PROFILE"))
}

/// Writes the completion script for a shell.
///
/// # Errors
/// The errors of the output.
pub(crate) fn write_completions(shell: Shell, out: &mut dyn Write) -> io::Result<()> {
    // The generator panics when it cannot write, so it writes to memory.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "weir", &mut script);
    out.write_all(&script)
}

/// Writes the manual page of the program.
///
/// # Errors
/// The errors of the output.
pub(crate) fn write_man(out: &mut dyn Write) -> io::Result<()> {
    clap_mangen::Man::new(Cli::command()).render(out)
}

/// The manual pages of the program and of all its commands, by the names of their files.
///
/// # Errors
/// When a page cannot be made.
pub(crate) fn man_pages() -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    man_page(command, &mut pages)?;
    Ok(pages)
}

fn man_page(command: clap::Command, pages: &mut Vec<(String, Vec<u8>)>) -> io::Result<()> {
    for below in command
        .get_subcommands()
        .filter(|below| !below.is_hide_set())
    {
        man_page(below.clone(), pages)?;
    }
    let man = clap_mangen::Man::new(command);
    let mut page = Vec::new();
    man.render(&mut page)?;
    pages.push((man.get_filename(), page));
    Ok(())
}

/// The text of `weir --version`, with the build profile: a debug program runs several times more slowly than a release program.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("WEIR_PROFILE"), ")");

const TOP_EXAMPLES: &str = "\
Examples:
  weir demo
      sample captures and a tour of queries over them
  weir query \"SELECT count(*), sum(frame.len) FROM 'trace.pcap'\"
      packets and bytes of a capture
  weir fields vlan
      columns that have to do with VLANs

Exit status: 0 success; 1 success, but damage was found (all good data was delivered); 2 usage,
names, SQL or environment: nothing was run; 3 failure while running.";

const FUNCTIONS_EXAMPLES: &str = "\
Examples:
  weir functions                    every function
  weir functions address            of addresses";

const TABLES_EXAMPLES: &str = "\
Examples:
  weir tables                       every table
  weir tables dns                   what captures have of DNS";

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  weir completions bash > ~/.local/share/bash-completion/completions/weir
  weir completions zsh > ~/.zfunc/_weir
  weir completions fish > ~/.config/fish/completions/weir.fish";

const MAN_EXAMPLES: &str = "\
Examples:
  weir man | man -l -
  weir man ~/.local/share/man/man1";

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroUsize;
    use std::path::Path;
    use std::time::Duration;

    use clap::ValueEnum as _;
    use weir_output::Format;

    use crate::args::{Hdlc, RowLimit};
    use crate::message::ColorChoice;

    fn parse_line(line: &str) -> Result<Cli, Refusal> {
        // Words are separated by blanks, and `_` stands for a blank within a word.
        let words = line.split(' ').map(|word| word.replace('_', " ").into());
        parse(std::iter::once(OsString::from("weir")).chain(words))
    }

    fn query(line: &str) -> Query {
        match parse_line(line).unwrap().command {
            Command::Query(query) => query,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_definitions_hold_together() {
        Cli::command().debug_assert();
        assert_eq!(RowLimit::default(), query("query x").output.rows);
    }

    #[test]
    fn commands_in_examples_fit_into_the_width_of_help() {
        let mut commands = vec![Cli::command()];
        while let Some(command) = commands.pop() {
            let examples = command.get_after_help().map(ToString::to_string);
            for line in examples.iter().flat_map(|examples| examples.lines()) {
                // A command that is folded without a backslash is two commands to a shell.
                let folded = line.starts_with("  weir ") || line.starts_with("    ");
                assert!(!folded || line.chars().count() <= 100, "{line}");
            }
            commands.extend(command.get_subcommands().cloned());
        }
    }

    #[test]
    fn queries_are_parsed_as_by_the_definitions_of_all_commands() {
        for line in [
            "query x",
            "query -q --color never x y",
            "query --format csv --threads 2 -o a.csv --overwrite -- x",
            "query --file q.sql --stats",
            "query",
            "query x --file q.sql",
            "query x --nothing",
            "query --help",
            "query --version",
            "-q query x",
            "fields x",
        ] {
            let words = line.split(' ').map(OsString::from);
            let words: Vec<OsString> = std::iter::once("weir".into()).chain(words).collect();
            let whole = Cli::try_parse_from(&words).ok();
            let is_query = words[1] == "query";
            let parsed = parse_query(&words).map(|cli| format!("{cli:?}"));
            let expected = whole.map(|cli| format!("{cli:?}")).filter(|_| is_query);
            assert_eq!(parsed, expected, "{line}");
        }
    }

    #[test]
    fn a_query_takes_statements_and_says_where_the_rows_go() {
        let plain = query("query SELECT_1 SELECT_2");
        assert_eq!(plain.sql, ["SELECT 1", "SELECT 2"]);
        assert_eq!(
            (
                plain.resources.threads,
                plain.resources.memory_limit,
                plain.merge
            ),
            (None, None, false)
        );
        assert_eq!(plain.hdlc, Hdlc::Guess);

        let full = query(
            "query -f q.sql --format jsonl -o a.csv --threads 4 --memory-limit 1.5g --merge \
             --rows all --all-columns --hdlc frame-relay --stats --no-progress --color never -q"
                .trim_start(),
        );
        assert_eq!(full.file.as_deref(), Some(Path::new("q.sql")));
        assert_eq!(full.output.format, Some(Format::Ndjson));
        assert_eq!(full.resources.threads.map(NonZeroUsize::get), Some(4));
        assert_eq!(full.resources.memory_limit, Some(3 << 29));
        assert_eq!(full.output.rows, RowLimit(None));
        assert_eq!(full.hdlc, Hdlc::FrameRelay);
        assert!(full.merge && full.stats && full.no_progress && full.output.all_columns);
    }

    #[test]
    fn the_format_comes_from_the_flag_then_the_file_then_the_terminal() {
        for (line, terminal, expected) in [
            ("query x", true, Format::Table),
            ("query x", false, Format::Csv),
            ("query x --format json", true, Format::Json),
            ("query x -o a.parquet", true, Format::Parquet),
            ("query x -o a.parquet --format arrow", true, Format::Arrow),
            ("query x -o a", true, Format::Csv),
            ("query x -o -", true, Format::Table),
        ] {
            let output = query(line).output;
            let file = output.file(0, 1).unwrap();
            let options = output.options(file, terminal, ColorChoice::Never);
            assert_eq!(options.format, expected, "{line}");
            assert_eq!(options.terminal, terminal && file.is_none(), "{line}");
        }
        let colour = |line: &str, color| query(line).output.options(None, false, color).colour;
        assert!(colour("query x", ColorChoice::Always));
        assert!(!colour("query x", ColorChoice::Auto));
    }

    #[test]
    fn files_are_one_for_all_statements_or_one_for_each() {
        let one = query("query x -o a.csv").output;
        assert_eq!(one.file(7, 8).unwrap(), Some(Path::new("a.csv")));
        let two = query("query x -o a.csv -o b.csv").output;
        assert_eq!(two.file(1, 2).unwrap(), Some(Path::new("b.csv")));
        let Err(Refusal::Usage { message, hints }) = two.file(0, 3) else {
            panic!("three statements and two files");
        };
        assert_eq!(message, "2 output files for 3 statements");
        assert_eq!(
            hints,
            ["give one '-o FILE' for all statements, or one for each"]
        );
    }

    #[test]
    fn rows_are_not_written_under_the_name_of_a_capture() {
        let Err(Refusal::Usage { message, hints }) = query("query x -o a.pcap").output.file(0, 1)
        else {
            panic!("a.pcap");
        };
        assert_eq!(
            message,
            "rows are not packets: 'a.pcap' would not be a capture"
        );
        assert!(hints[0].starts_with("COPY ("), "{hints:?}");
        let meant = query("query x --format csv -o a.pcap").output;
        assert_eq!(meant.file(0, 1).unwrap(), Some(Path::new("a.pcap")));
    }

    #[test]
    fn a_live_question_says_where_and_how_long() {
        let line =
            "live -i lo SELECT_1 -w a.pcap -p -s 96 --buffer 64m --duration 1m -c 5 --every 2s";
        let Command::Live(live) = parse_line(line).unwrap().command else {
            panic!("{line}");
        };
        assert_eq!(live.source.capture.interface.as_deref(), Some("lo"));
        assert_eq!(live.sql.as_deref(), Some("SELECT 1"));
        assert_eq!(live.write.as_deref(), Some(Path::new("a.pcap")));
        assert!(live.source.capture.promiscuous && !live.list_interfaces);
        assert_eq!(
            (
                live.source.capture.snaplen,
                live.source.capture.buffer,
                live.count
            ),
            (96, 64 << 20, Some(5))
        );
        assert_eq!(live.source.capture.duration, Some(Duration::from_secs(60)));
        assert_eq!(live.every, Some(Duration::from_secs(2)));
        assert!(parse_line("live -i lo x --snaplen 0").is_err());
    }

    #[test]
    fn sql_may_begin_with_a_comment() {
        let words = [
            "weir",
            "query",
            "-- how many\nSELECT 1",
            "--\nSELECT 2",
            "--stats",
        ];
        let line = parse(words.map(OsString::from)).unwrap();
        let Command::Query(query) = line.command else {
            panic!("a query");
        };
        assert_eq!(query.sql, [" -- how many\nSELECT 1", " --\nSELECT 2"]);
        assert!(query.stats);
    }

    #[test]
    fn a_line_that_does_not_parse_gets_a_hint() {
        for (line, message, hint) in [
            (
                "SELECT_1_FROM_'x.pcap'",
                "expected a command, found SQL",
                "weir query \"SELECT 1 FROM 'x.pcap'\"",
            ),
            (
                "explain_select_1",
                "expected a command, found SQL",
                "weir query 'explain select 1'",
            ),
            (
                "qeury x",
                "unrecognized subcommand 'qeury'",
                "did you mean 'query'?",
            ),
            (
                "--format csv SELECT_1",
                "unexpected argument '--format' found",
                "options stand behind the command: weir query --format",
            ),
            (
                "-o x.csv query SELECT_1",
                "unexpected argument '-o' found",
                "options stand behind the command: weir query -o",
            ),
            (
                "query x --thread 4",
                "unexpected argument '--thread' found",
                "did you mean '--threads'?",
            ),
            (
                "query x --format jsn",
                "invalid value 'jsn' for '--format <FORMAT>'\n  [possible values: table, csv, tsv, \
                 json, ndjson, markdown, line, parquet, arrow, arrows]",
                "did you mean 'json'?",
            ),
            (
                "query x --memory-limit 2x",
                "invalid value '2x' for '--memory-limit <SIZE>': expected a size such as 512m, 2g \
                 or 1GiB",
                "'weir query --help' shows how it is used, with examples",
            ),
            (
                "query x --rows many",
                "invalid value 'many' for '--rows <N>': expected a number of rows, or 'all'",
                "'weir query --help' shows how it is used, with examples",
            ),
            (
                "query x --threads 0",
                "invalid value '0' for '--threads <N>': expected a whole number above 0",
                "'weir query --help' shows how it is used, with examples",
            ),
            (
                "query x --threads 99999999999999999999999",
                "invalid value '99999999999999999999999' for '--threads <N>': expected a smaller \
                 number",
                "'weir query --help' shows how it is used, with examples",
            ),
            (
                "carve x.pcap --flow x -o y.pcap",
                "invalid value 'x' for '--flow <ID>': expected a whole number such as 10",
                "'weir carve --help' shows how it is used, with examples",
            ),
            (
                "query",
                "the following required arguments were not provided:\n  <SQL>...",
                "'weir query --help' shows how it is used, with examples",
            ),
        ] {
            match parse_line(line) {
                Err(Refusal::Usage {
                    message: shown,
                    hints,
                }) => {
                    assert_eq!(shown, message, "{line}");
                    assert_eq!(hints.first().map(String::as_str), Some(hint), "{line}");
                }
                other => panic!("{line}: {other:?}"),
            }
        }
    }

    #[test]
    fn the_build_is_shown_where_version_and_verbose_stand_together() {
        let asks = |line: &str| {
            let words = line.split_whitespace().map(OsString::from);
            asks_for_build(&words.collect::<Vec<_>>())
        };
        for line in [
            "weir --version --verbose",
            "weir -v -V",
            "weir --verbose -V",
        ] {
            assert!(asks(line), "{line}");
        }
        for line in [
            "weir --version",
            "weir --verbose",
            "weir query -v -V",
            "weir",
        ] {
            assert!(!asks(line), "{line}");
        }
        let mut build = Vec::new();
        write_build(&mut build).unwrap();
        let build = String::from_utf8(build).unwrap();
        for part in [
            "weir ",
            "\ncommit: ",
            "\nfeatures: ",
            "\ntarget: ",
            "\nprofile: ",
        ] {
            assert!(build.contains(part), "{build}");
        }
    }

    #[test]
    fn the_version_is_that_of_the_parser() {
        let line = ["weir", "--version"].map(OsString::from);
        assert!(asks_for_version(&line) && asks_for_version(&["weir", "-V"].map(OsString::from)));
        assert!(!asks_for_version(
            &["weir", "query", "-V"].map(OsString::from)
        ));
        let mut written = Vec::new();
        write_version(&mut written).unwrap();
        let parsed = Cli::try_parse_from(line).unwrap_err().to_string();
        assert_eq!(String::from_utf8(written).unwrap(), parsed);
    }

    #[test]
    fn a_file_in_place_of_a_command_is_understood() {
        let file = std::env::current_exe().unwrap();
        let file = file.to_str().unwrap();
        let expected = format!("weir query \"SELECT * FROM '{file}' LIMIT 10\"");
        assert_eq!(refused::query_hint(file), Some(("a file", expected)));
        assert_eq!(refused::query_hint("selection"), None);
        assert_eq!(refused::query_hint(""), None);
    }

    #[test]
    fn help_names_examples_and_succeeds() {
        for (line, wanted) in [
            ("--help", "weir demo"),
            ("-h", "Examples:"),
            ("query --help", "Top talkers"),
            ("query --help", "By default the name of the output file"),
            ("query -h", "--memory-limit <SIZE>"),
            ("fields --help", "weir fields frame"),
            ("demo --help", "--no-tour"),
            ("completions --help", "bash-completion"),
            ("man --help", "man1"),
            ("--version", env!("CARGO_PKG_VERSION")),
        ] {
            let Err(Refusal::Shown(shown)) = parse_line(line) else {
                panic!("{line}");
            };
            assert_eq!(shown.exit_code(), 0);
            let text = shown.render().to_string();
            assert!(text.contains(wanted), "{line}: {text}");
        }
        let Err(Refusal::Shown(shown)) = parse([OsString::from("weir")]) else {
            panic!("no command");
        };
        assert_eq!(shown.exit_code(), 2);
    }

    #[test]
    fn completions_and_manual_pages_know_the_commands() {
        for shell in Shell::value_variants() {
            let mut script = Vec::new();
            write_completions(*shell, &mut script).unwrap();
            let script = String::from_utf8(script).unwrap();
            assert!(script.contains("memory-limit"), "{shell}");
        }
        let mut page = Vec::new();
        write_man(&mut page).unwrap();
        assert!(String::from_utf8(page).unwrap().contains("weir\\-query(1)"));
        let pages = man_pages().unwrap();
        for (name, wanted) in [
            ("weir.1", "SQL over network captures"),
            ("weir-query.1", "Top talkers"),
            ("weir-clf-convert.1", "rfc6873"),
        ] {
            let (_, page) = pages.iter().find(|(page, _)| page == name).unwrap();
            let page = String::from_utf8(page.clone()).unwrap();
            assert!(page.contains(wanted), "{name}");
        }
    }
}
