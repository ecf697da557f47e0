//! `weir report`: the queries of a file, answered as one document.
//!
//! A [`Document`] has a section for each answer; it becomes text, a page of HTML that needs nothing else, or JSON.

mod document;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use weir_engine::{Parameter, tokens};

use crate::args::{Global, Zone};
use crate::failure::Failure;
use crate::message::Messages;
use crate::refusal::Refusal;
use crate::session::Session;
use crate::shell::pieces;

pub(crate) use document::Document;

/// `weir report`.
#[derive(Args, Debug)]
#[command(
    about = "Write the answers to the queries of a file as one document",
    long_about = "Write the answers to the queries of a file as one document: text, an HTML page, or JSON.\n\n\
        Each query with rows is a section. The first line of the comment before the query is the heading, and \
        the other lines follow it. $day in a query is the value of --param day=…. An HTML page also draws two \
        columns, a text and a number, as bars.",
    after_help = EXAMPLES
)]
pub(crate) struct Report {
    /// Statements of SQL, '-' for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The value of a parameter; may be repeated
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = parse_parameter)]
    parameters: Vec<(String, Parameter)>,
    /// The heading of the document [default: the name of the file]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    #[command(flatten)]
    output: DocumentArgs,
}

/// The destination and the format of a document.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Output")]
pub(crate) struct DocumentArgs {
    /// Format of the document [default: by the name of -o, or text]
    #[arg(long, value_name = "FORMAT")]
    format: Option<DocumentFormat>,
    /// Write to a file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) zone: Zone,
}

/// The formats of documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DocumentFormat {
    /// Headings and tables
    Text,
    /// One page that needs no other file and runs no script
    Html,
    /// One object: the title, and the sections with their rows
    Json,
}

impl DocumentArgs {
    /// The format of the document.
    ///
    /// # Errors
    /// When the name of the file is that of another format.
    pub(crate) fn format(&self) -> Result<DocumentFormat, Refusal> {
        if let Some(format) = self.format {
            return Ok(format);
        }
        let extension = self.path().and_then(Path::extension);
        match extension.and_then(|extension| extension.to_str()) {
            Some("html" | "htm") => Ok(DocumentFormat::Html),
            Some("json") => Ok(DocumentFormat::Json),
            None | Some("txt" | "text") => Ok(DocumentFormat::Text),
            Some(other) => Err(Refusal::usage(
                format!("expected a document of text, HTML or JSON, found the ending .{other}"),
                "name it x.html, x.txt or x.json, or use --format",
            )),
        }
    }

    /// The file; `None` for standard output.
    pub(crate) fn path(&self) -> Option<&Path> {
        let path = self.output.as_deref();
        path.filter(|path| path.as_os_str() != "-")
    }
}

/// Answers the queries.
pub(crate) fn run(
    report: &Report,
    global: Global,
    messages: Messages,
) -> Result<ExitCode, Failure> {
    let format = report.output.format()?;
    let mut options = weir_engine::Options::default();
    options.time_zone = report.output.zone.time_zone.clone();
    let session = Session::new(&options, messages, !global.quiet)?;
    if report.file.as_os_str() == "-" {
        session.take_stdin();
    }
    let text = crate::query::read_sql(&report.file)?;
    let name = report.file.display().to_string();
    let mut statements = Vec::new();
    let mut used = vec![false; report.parameters.len()];
    for (number, piece) in pieces(&text).into_iter().enumerate() {
        let heading = Heading::of(&piece.text, number + 1);
        let at = |failure: Failure| failure.at(&format!("{name}, line {}", piece.line));
        let mut values = Vec::new();
        for ((parameter, value), used) in report.parameters.iter().zip(&mut used) {
            if names_parameter(&piece.text, parameter) {
                *used = true;
                values.push((parameter.clone(), value.clone()));
            }
        }
        for statement in session.parse(&piece.text).map_err(at)? {
            let statement = statement.bind(&values);
            let statement = statement.map_err(|error| at(error.into()))?;
            statements.push((heading.clone(), statement));
        }
    }
    if let Some(((unused, _), _)) = report
        .parameters
        .iter()
        .zip(&used)
        .find(|(_, used)| !**used)
    {
        return Err(Refusal::usage(
            format!("no query of {name} has the parameter ${unused}"),
            format!("write ${unused} in a query in place of the value, without quotes"),
        )
        .into());
    }
    if statements.is_empty() {
        return Err(Refusal::usage(format!("{name} has no query"), "write: SELECT …;").into());
    }
    let stem = report.file.file_stem().and_then(|stem| stem.to_str());
    let title = report.title.as_deref().or(stem).unwrap_or("report");
    let document = Document::answered(title, &session, statements)?;
    document.write(format, report.output.path(), global)?;
    Ok(session.close(false))
}

/// The heading of a section.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Heading {
    pub(crate) title: String,
    pub(crate) text: String,
}

impl Heading {
    /// A heading without more.
    pub(crate) fn plain(title: &str) -> Self {
        Self {
            title: title.to_owned(),
            text: String::new(),
        }
    }

    /// The heading in the comment before a statement.
    fn of(statement: &str, number: usize) -> Self {
        let comments = statement.lines().map(str::trim);
        let comments = comments.map_while(|line| line.strip_prefix("--"));
        let lines: Vec<&str> = comments
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .collect();
        match lines.split_first() {
            Some((title, rest)) => Self {
                title: (*title).to_owned(),
                text: rest.join(" "),
            },
            None => Self::plain(&format!("Query {number}")),
        }
    }
}

/// Whether a statement has a placeholder for the parameter.
fn names_parameter(statement: &str, name: &str) -> bool {
    tokens(statement).iter().any(|token| {
        let word = statement.get(token.range.clone()).unwrap_or_default();
        word.strip_prefix('$') == Some(name)
    })
}

fn parse_parameter(text: &str) -> Result<(String, Parameter), String> {
    let Some((name, value)) = text.split_once('=') else {
        return Err("expected NAME=VALUE".to_owned());
    };
    let is_name = |one: char| one.is_ascii_alphanumeric() || one == '_';
    if name.is_empty() || !name.chars().all(is_name) {
        return Err(format!("'{name}' is not the name of a parameter"));
    }
    let is_quoted = value.len() > 1 && value.starts_with('\'') && value.ends_with('\'');
    let digits = value.strip_prefix('-').unwrap_or(value);
    let is_number = digits.starts_with(|one: char| one.is_ascii_digit())
        && digits.chars().all(|one| one.is_ascii_digit() || one == '.');
    let value = match value {
        _ if is_quoted => {
            let inner = value.get(1..value.len() - 1).unwrap_or_default();
            Parameter::Text(inner.replace("''", "'"))
        }
        "true" => Parameter::Boolean(true),
        "false" => Parameter::Boolean(false),
        _ => match (value.parse(), value.parse()) {
            (Ok(whole), _) => Parameter::Integer(whole),
            (_, Ok(number)) if is_number => Parameter::Float(number),
            // The column beside it shows whether it is an address, a time or a text.
            _ => Parameter::Text(value.to_owned()),
        },
    };
    Ok((name.to_owned(), value))
}

const EXAMPLES: &str = "\
Examples:
  weir report calls.sql --param day=2026-11-22 -o report.html
  With this in calls.sql:
    -- Calls by state
    -- Of one day, as all proxies saw them.
    SELECT call.state, count(*) AS calls FROM calls('day/*.pcap')
    WHERE call.first >= $day GROUP BY 1 ORDER BY 2 DESC;";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_what_they_look_like() {
        for (text, expected) in [
            ("n=5", Parameter::Integer(5)),
            ("n=-1.5", Parameter::Float(-1.5)),
            ("n='5'", Parameter::Text("5".to_owned())),
            ("n=10.0.0.1", Parameter::Text("10.0.0.1".to_owned())),
            ("n=inf", Parameter::Text("inf".to_owned())),
            ("n=true", Parameter::Boolean(true)),
            ("n=a=b", Parameter::Text("a=b".to_owned())),
            ("n=", Parameter::Text(String::new())),
        ] {
            assert_eq!(
                parse_parameter(text).unwrap(),
                ("n".to_owned(), expected),
                "{text}"
            );
        }
        assert!(parse_parameter("n").is_err() && parse_parameter("a b=1").is_err());
    }

    #[test]
    fn comments_in_front_are_headings() {
        let heading = Heading::of("-- Calls\n-- of a day,\n  --by state\nSELECT 1 -- no", 1);
        assert_eq!(
            (heading.title.as_str(), heading.text.as_str()),
            ("Calls", "of a day, by state")
        );
        assert_eq!(Heading::of("SELECT 1", 3), Heading::plain("Query 3"));
        assert!(
            names_parameter("SELECT $day", "day")
                && !names_parameter("SELECT '$day', $days", "day")
        );
    }
}
