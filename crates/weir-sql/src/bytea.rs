//! Bytes that are written as text, as PostgreSQL reads its type BYTEA: `'\x6162'`, and `'a\000b'` in the escape format.
//!
//! DataFusion's cast of a text gives the bytes of its UTF-8. So `'\x6162'::bytea` were six bytes, and a client that writes bytes as
//! PostgreSQL shows them found nothing. A cast of what is no literal keeps DataFusion's meaning.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    CastKind, DataType, Expr, TypedString, Value, ValueWithSpan, VisitorMut,
};
use weir_functions::{Error, ErrorKind};

use crate::reworded::cast;
use crate::statement::Statement;

/// The bytes that PostgreSQL reads in a text; `None` where it reads none.
#[must_use]
pub fn bytes_of_text(text: &str) -> Option<Vec<u8>> {
    match text.strip_prefix("\\x") {
        Some(digits) => pairs(digits),
        None => escaped(text.as_bytes()),
    }
}

/// Pairs of digits, with white space between pairs.
fn pairs(digits: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(digits.len() / 2);
    let mut letters = digits.chars();
    while let Some(letter) = letters.next() {
        if matches!(letter, ' ' | '\n' | '\t' | '\r') {
            continue;
        }
        let (high, low) = (letter.to_digit(16)?, letters.next()?.to_digit(16)?);
        bytes.push(u8::try_from((high << 4) | low).ok()?);
    }
    Some(bytes)
}

/// Bytes that stand for themselves, `\\`, and three octal digits behind a backslash.
fn escaped(mut text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    loop {
        text = match text {
            [] => return Some(bytes),
            [b'\\', b'\\', rest @ ..] => {
                bytes.push(b'\\');
                rest
            }
            [
                b'\\',
                high @ b'0'..=b'3',
                middle @ b'0'..=b'7',
                low @ b'0'..=b'7',
                rest @ ..,
            ] => {
                bytes.push(((high - b'0') << 6) | ((middle - b'0') << 3) | (low - b'0'));
                rest
            }
            [b'\\', ..] => return None,
            [byte, rest @ ..] => {
                bytes.push(*byte);
                rest
            }
        };
    }
}

/// Puts the bytes of literals that are cast to BYTEA in their places.
///
/// # Errors
/// When a literal has none.
pub fn reword(statement: &mut Statement) -> Result<(), Error> {
    let mut literals = Literals { refusal: None };
    statement.visit_mut(&mut literals);
    match literals.refusal {
        Some(refusal) => Err(refusal),
        None => Ok(()),
    }
}

struct Literals {
    refusal: Option<Error>,
}

impl VisitorMut for Literals {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let bytes = match &*expr {
            Expr::Cast {
                kind,
                expr: inner,
                data_type: DataType::Bytea,
                array: false,
                ..
            } => {
                let Some(text) = literal(inner) else {
                    return ControlFlow::Continue(());
                };
                match (bytes_of_text(text), kind) {
                    (None, CastKind::TryCast | CastKind::SafeCast) => None,
                    (None, CastKind::Cast | CastKind::DoubleColon) => return self.refuse(text),
                    (bytes, _) => bytes,
                }
            }
            Expr::TypedString(TypedString {
                data_type: DataType::Bytea,
                value,
                ..
            }) => {
                let Some(text) = text(value) else {
                    return ControlFlow::Continue(());
                };
                match bytes_of_text(text) {
                    None => return self.refuse(text),
                    bytes => bytes,
                }
            }
            _ => return ControlFlow::Continue(()),
        };
        *expr = match bytes {
            Some(bytes) => Expr::Value(Value::HexStringLiteral(hex::encode(bytes)).into()),
            None => null(),
        };
        ControlFlow::Continue(())
    }
}

impl Literals {
    fn refuse(&mut self, text: &str) -> ControlFlow<()> {
        let shown: String = text.chars().take(SHOWN_CHARACTERS).collect();
        let dots = if shown.len() < text.len() { "…" } else { "" };
        let message = format!("'{shown}{dots}' is not a literal of bytes");
        let error = Error::new(ErrorKind::Plan, message);
        self.refusal = Some(error.with_hint(
            "bytes are pairs of hexadecimal digits behind \\x, '\\x0d0a', or text in which \\\\ is a backslash and \\015 a byte in octal digits",
        ));
        ControlFlow::Break(())
    }
}

/// The text of a literal, also in parentheses.
fn literal(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Nested(inner) => literal(inner),
        Expr::Value(value) => text(value),
        _ => None,
    }
}

fn text(value: &ValueWithSpan) -> Option<&str> {
    match &value.value {
        Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) => Some(text),
        Value::DollarQuotedString(quoted) => Some(&quoted.value),
        _ => None,
    }
}

/// NULL with the type of bytes.
fn null() -> Expr {
    cast(Expr::Value(Value::Null.into()), DataType::Bytea)
}

/// Characters of a literal that a message shows.
const SHOWN_CHARACTERS: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    /// The answers of PostgreSQL 15 to `SELECT '…'::bytea`.
    #[test]
    fn texts_are_read_as_postgresql_reads_them() {
        for (text, expected) in [
            ("", Some(&b""[..])),
            ("\\x", Some(b"")),
            ("\\x6162", Some(b"ab")),
            ("\\x 61 62\n", Some(b"ab")),
            ("\\xDeadBEEF", Some(b"\xde\xad\xbe\xef")),
            ("\\x616", None),
            ("\\x6 1", None),
            ("\\x6g", None),
            ("\\X6162", None),
            ("ab", Some(b"ab")),
            ("ä", Some("ä".as_bytes())),
            ("a\\\\b", Some(b"a\\b")),
            ("a\\000b", Some(b"a\0b")),
            ("\\377", Some(b"\xff")),
            ("\\400", None),
            ("\\38", None),
            ("a\\", None),
            ("a\\b", None),
        ] {
            assert_eq!(bytes_of_text(text).as_deref(), expected, "{text:?}");
        }
    }

    fn reworded(written: &str) -> Result<String, Error> {
        let mut statement = Statement::parse(&format!("SELECT {written} AS a"))?.remove(0);
        reword(&mut statement)?;
        Ok(statement.inner.to_string())
    }

    #[test]
    fn literals_that_are_cast_to_bytea_are_bytes() {
        for (written, expected) in [
            (r"'\x6162'::bytea", "X'6162'"),
            (r"CAST(('\x6162') AS BYTEA)", "X'6162'"),
            (r"bytea '\x6162'", "X'6162'"),
            (r"E'\\x6162'::bytea", "X'6162'"),
            (r"TRY_CAST('\x6' AS BYTEA)", "CAST(NULL AS BYTEA)"),
            ("b::bytea", "b::BYTEA"),
            (r"'\x6162'::varbinary", r"'\x6162'::VARBINARY"),
        ] {
            let text = reworded(written).unwrap();
            assert_eq!(text, format!("SELECT {expected} AS a"));
        }
        let refusal = reworded(r"'\x616'::bytea").unwrap_err();
        assert_eq!(refusal.to_string(), r"'\x616' is not a literal of bytes");
        assert!(refusal.hint().is_some());
    }
}
