//! Does a message keep to the standard, and where does it not?

use std::fmt;

use crate::{
    Arena, BinaryOptions, DecodeOptions, DigitMap, Encoding, ErlOptions, Error, ErrorKind, Message,
    PackageSet, TextOptions, Visitor, decode_as, detect, encode_erl,
    error::Failure,
    message::{MessageBody, Transaction},
    packages,
};

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// The message is legal, but perhaps not what was meant, or not understood everywhere.
    Warning,
    /// The message breaks the standard.
    Error,
}

/// Something about a message that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The severity.
    pub severity: Severity,
    /// The finding with its place: line and column or offset, and the path of the element.
    pub text: String,
    /// Line of a text, from 1.
    pub line: Option<usize>,
    /// Column of a text in octets, from 1.
    pub column: Option<usize>,
    /// Offset in octets from the start of the message, where it is known.
    pub offset: Option<usize>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Finding {
    fn of(error: &Error) -> Self {
        Self {
            severity: Severity::Error,
            text: error.to_string(),
            line: error.line(),
            column: error.column(),
            offset: Some(error.offset()),
        }
    }

    fn unplaced(severity: Severity, text: String) -> Self {
        Self {
            severity,
            text,
            line: None,
            column: None,
            offset: None,
        }
    }
}

/// Checks a message whose encoding is found by content: strict syntax; elements that its version
/// does not have; numbers of transactions given twice; digit maps that do not parse; codes of errors and
/// reasons of service changes; packages that are not known (a warning).
///
/// Syntax that does not decode strictly ends the check, unless lenient reading understands the rest.
#[must_use]
pub fn check(input: &[u8]) -> Vec<Finding> {
    check_with(input, BinaryOptions::default())
}

/// [`check`] with packages of the user, or names that are not mapped.
#[must_use]
pub fn check_with(input: &[u8], binary: BinaryOptions) -> Vec<Finding> {
    let Some(encoding) = detect(input) else {
        let failure = Failure::new(ErrorKind::UnknownEncoding, 0, "a Megaco message");
        return vec![Finding::of(&Error::from_failure(failure, input, false))];
    };
    let arena = Arena::new();
    let strict = DecodeOptions {
        text: TextOptions::strict(),
        binary,
        ..DecodeOptions::default()
    };
    let lenient = DecodeOptions {
        binary,
        ..DecodeOptions::default()
    };
    let mut findings = Vec::new();
    let message = match decode_as(encoding, input, &arena, &strict) {
        Ok(message) => Some(message),
        Err(error) => {
            findings.push(Finding::of(&error));
            decode_as(encoding, input, &arena, &lenient).ok()
        }
    };
    if let Some(message) = message {
        values(&message, encoding, binary, &mut findings);
    }
    findings
}

/// Checks values that the syntax does not restrict.
fn values(
    message: &Message<'_>,
    encoding: Encoding,
    binary: BinaryOptions,
    findings: &mut Vec<Finding>,
) {
    let mut say = |severity, text| findings.push(Finding::unplaced(severity, text));
    if !(1..=3).contains(&message.version) {
        let text = format!("version {} of the protocol is not known", message.version);
        say(Severity::Error, text);
    }
    // Erlang's records are those of each version: additions of later versions have no place in them.
    if encoding != Encoding::Erl {
        let (options, mut out) = (BinaryOptions::default(), Vec::new());
        if let Err(error) = encode_erl(message, options, ErlOptions::default(), &mut out) {
            let text = format!("{} in version {}", error.expected(), message.version);
            say(Severity::Error, text);
        }
    }
    if let MessageBody::Transactions(transactions) = message.body {
        let mut seen = Vec::new();
        for transaction in transactions {
            if let Transaction::Request(request) = transaction {
                if seen.contains(&request.id) {
                    let text = format!("transaction {} is requested twice", request.id);
                    say(Severity::Error, text);
                }
                seen.push(request.id);
            }
        }
    }
    let count = message.extensions.len();
    if count > 0 {
        say(
            Severity::Warning,
            format!("{count} extensions that this program does not know"),
        );
    }
    let mut names = NameCheck {
        say: &mut say,
        records: Vec::new(),
        field: "",
        unknown: Vec::new(),
        packages: binary.packages,
    };
    message.visit(&mut names);
}

/// Checks names and values during the traversal of a message.
struct NameCheck<'s> {
    say: &'s mut dyn FnMut(Severity, String),
    records: Vec<&'static str>,
    field: &'static str,
    packages: Option<&'static PackageSet>,
    /// Packages that were named already.
    unknown: Vec<Vec<u8>>,
}

impl NameCheck<'_> {
    fn package(&mut self, name: &[u8]) {
        let Some(slash) = name.iter().position(|octet| *octet == b'/') else {
            return;
        };
        let package = name.get(..slash).unwrap_or_default();
        let number =
            packages::package_number(package).or_else(|| self.packages?.package_number(package));
        if number.is_none() && !self.unknown.iter().any(|known| known == package) {
            self.unknown.push(package.to_vec());
            let text = format!("the package {} is not known", package.escape_ascii());
            (self.say)(Severity::Warning, text);
        }
    }

    fn reason(&mut self, reason: &[u8]) {
        let digits = reason.iter().take_while(|octet| octet.is_ascii_digit());
        let well = digits.count() == 3 && matches!(reason.get(3), None | Some(b' '));
        if !well {
            let text = format!(
                "the reason \"{}\" is not a code of three digits and a text",
                reason.escape_ascii()
            );
            (self.say)(Severity::Error, text);
        }
    }
}

impl Visitor for NameCheck<'_> {
    fn begin_record(&mut self, name: &'static str) {
        self.records.push(name);
        self.field = "";
    }
    fn field(&mut self, name: &'static str) {
        self.field = name;
    }
    fn end_record(&mut self) {
        self.records.pop();
        self.field = "";
    }
    fn begin_list(&mut self) {}
    fn end_list(&mut self) {}
    fn alternative(&mut self, _: &'static str) {}
    fn unsigned(&mut self, value: u32) {
        if self.records.last() == Some(&"ErrorDescriptor")
            && self.field == "code"
            && !(400..600).contains(&value)
        {
            let text = format!("the error code {value} is not one from 400 to 599");
            (self.say)(Severity::Error, text);
        }
    }
    fn boolean(&mut self, _: bool) {}
    fn word(&mut self, _: &'static str) {}
    fn text(&mut self, octets: &[u8]) {
        match (self.records.last().copied(), self.field) {
            (Some(_), "name") => self.package(octets),
            (Some("DigitMapValue"), "body") if DigitMap::parse(octets).is_none() => {
                let text = format!(
                    "the digit map {} does not follow the grammar of digit maps",
                    octets.escape_ascii()
                );
                (self.say)(Severity::Error, text);
            }
            (Some("ServiceChangeParm"), "reason") => self.reason(octets),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_say_what_and_where() {
        use Severity::{Error, Warning};
        for (text, expected) in [
            ("!/1 [1.2.3.4]\nT=1{C=-{MF=a{E=1{al/of}}}}", &[][..]),
            (
                "!/1 [1.2.3.4]\nT=1{C=-{MF=a{E=1{al/of}}}",
                &[(
                    Error,
                    "expected `,` or `}`, found the end at line 2, column 26 in Transaction",
                )],
            ),
            (
                "!/1[1.2.3.4]\nT=1{C=-{MF=a}}",
                &[(
                    Error,
                    "expected white space after the version, found `[1.2.3.4]` at line 1, column 4",
                )],
            ),
            (
                "!/1 [1.2.3.4]\nT=1{C=-{MF=a{E=1{my/of,my/on}}}}T=1{C=-{MF=b{M{TS{your/x=1}}}}}",
                &[
                    (Error, "transaction 1 is requested twice"),
                    (Warning, "the package my is not known"),
                    (Warning, "the package your is not known"),
                ],
            ),
            (
                "!/1 [1.2.3.4]\nT=1{C=-{MF=a{E=1{al/of{RSE}}}}}",
                &[(Error, "a component of a later version in version 1")],
            ),
            (
                "!/2 [1.2.3.4]\nT=1{C=-{MF=a{DM=x{(1|%)}},SC=b{SV{MT=RS,RE=\"cold\"}}}}",
                &[
                    (
                        Error,
                        "the digit map (1|%) does not follow the grammar of digit maps",
                    ),
                    (
                        Error,
                        "the reason \"cold\" is not a code of three digits and a text",
                    ),
                ],
            ),
            (
                "!/7 [1.2.3.4]\nER=77{}",
                &[
                    (Error, "version 7 of the protocol is not known"),
                    (Error, "the error code 77 is not one from 400 to 599"),
                ],
            ),
            (
                "hello",
                &[(
                    Error,
                    "expected a Megaco message, found `68 65 6c 6c 6f` at offset 0",
                )],
            ),
        ] {
            let found = check(text.as_bytes());
            let found: Vec<(Severity, &str)> = found
                .iter()
                .map(|finding| (finding.severity, finding.text.as_str()))
                .collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
