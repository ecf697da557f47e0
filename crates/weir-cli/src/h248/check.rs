//! `weir h248 check`.

use std::process::ExitCode;

use clap::Args;
use weir_h248::{BinaryOptions, Finding, PackageSet, Severity, check_with};

use super::args::{InputArgs, packages_of};
use super::context::{Context, exit, print};
use super::input::{self, InputMessage, Next};
use crate::failure::Failure;
use crate::message::counted;

#[derive(Args, Debug)]
#[command(
    about = "Check messages against the standard, and show where they violate it",
    after_help = EXAMPLES
)]
pub(super) struct Check {
    #[command(flatten)]
    input: InputArgs,
    /// Show only errors, no warnings
    #[arg(long)]
    errors_only: bool,
    /// File with packages: names, numbers and types beyond those of H.248.1 Annex E
    #[arg(long, value_name = "FILE", value_parser = packages_of)]
    packages: Option<&'static PackageSet>,
}

/// Prints a line a finding.
pub(super) fn run(args: &Check, context: Context) -> Result<ExitCode, Failure> {
    let (mut errors, mut warnings, mut bad) = (0_u64, 0_u64, 0_u64);
    let mut options = BinaryOptions::default();
    options.packages = args.packages;
    let mut each = |found: InputMessage| {
        let findings = check_with(&found.octets, options);
        let wrong = findings
            .iter()
            .filter(|finding| finding.severity == Severity::Error);
        let wrong = wrong.count() as u64;
        errors = errors.saturating_add(wrong);
        warnings = warnings.saturating_add((findings.len() as u64).saturating_sub(wrong));
        bad = bad.saturating_add(u64::from(wrong > 0));
        let mut out = String::new();
        for finding in findings {
            if finding.severity == Severity::Error || !args.errors_only {
                out.push_str(&line(&found.name, &finding));
            }
        }
        Ok(if print(out.as_bytes())? {
            Next::Go
        } else {
            Next::Stop
        })
    };
    let summary = input::messages(&args.input, context, &mut each)?;
    context.messages.note(&format!(
        "{}, {bad} with errors: {}, {}",
        counted(summary.count, "message"),
        counted(errors, "error"),
        counted(warnings, "warning"),
    ));
    Ok(exit(errors > 0 || summary.damaged))
}

/// `NAME:LINE:COLUMN: error: TEXT`, as editors read it.
fn line(name: &str, finding: &Finding) -> String {
    let place = match (finding.line, finding.column, finding.offset) {
        (Some(line), Some(column), _) => format!(":{line}:{column}"),
        (_, _, Some(offset)) => format!(":@{offset}"),
        _ => String::new(),
    };
    let severity = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    format!("{name}{place}: {severity}: {finding}\n")
}

const EXAMPLES: &str = "\
Examples:
  weir h248 check message.txt
  weir h248 check trace.pcap --errors-only

A finding is a line: NAME:LINE:COLUMN: error: what was expected, and in which element. Offsets of
binary messages are written as @OFFSET.

Exit status: 0 no errors (there may be warnings); 1 errors, or a capture is damaged; 2 usage or
environment; 3 failure while running.";

#[cfg(test)]
mod tests {
    use weir_h248::check;

    use super::*;

    #[test]
    fn a_finding_is_a_line_that_editors_read() {
        let lines: Vec<String> = check(b"!/1[1.2.3.4]\nT=1{C=-{MF=a{M{TS{my/x=1}}}}}")
            .iter()
            .map(|finding| line("m.txt", finding))
            .collect();
        assert_eq!(
            lines,
            [
                "m.txt:1:4: error: expected white space after the version, found `[1.2.3.4]` at \
                 line 1, column 4\n",
                "m.txt: warning: the package my is not known\n",
            ]
        );
        let binary = check(&[0x30, 3, 0xa1, 1, 0]);
        let [finding] = binary.as_slice() else {
            panic!("{binary:?}");
        };
        assert!(line("m", finding).starts_with("m:@"), "{finding}");
    }
}
