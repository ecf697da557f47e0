//! Patterns of SIMILAR TO and of LIKE with an escape character, and replacements of `regexp_replace`, as DataFusion has them.

use std::iter::Peekable;
use std::str::Chars;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Value,
    ValueWithSpan,
};
use weir_functions::replacement::{REGEXP_REPLACEMENT, is_plain};

use crate::names::call;

/// Puts a regular expression in the place of SIMILAR TO, which DataFusion takes for one, and backslashes in the place
/// of other escape characters of LIKE, which DataFusion does not support. Patterns that are not literals are left
/// unchanged.
///
/// The replacement of `regexp_replace` is PostgreSQL's: see [`weir_functions::replacement`].
pub(crate) fn reword(expr: &mut Expr) {
    match expr {
        Expr::SimilarTo {
            negated,
            expr: text,
            pattern,
            escape_char,
        } => {
            let Some(escape) = escape_of(escape_char.as_ref()) else {
                return;
            };
            let Some(written) = literal_mut(pattern) else {
                return;
            };
            *written = regex_of(written, escape);
            let op = match negated {
                true => BinaryOperator::PGRegexNotMatch,
                false => BinaryOperator::PGRegexMatch,
            };
            let none = || Box::new(Expr::Value(Value::Null.into()));
            *expr = Expr::BinaryOp {
                left: std::mem::replace(text, none()),
                op,
                right: std::mem::replace(pattern, none()),
            };
        }
        Expr::Like {
            pattern,
            escape_char,
            ..
        }
        | Expr::ILike {
            pattern,
            escape_char,
            ..
        } if escape_char.is_some() => {
            let escape = escape_of(escape_char.as_ref());
            if let (Some(escape), Some(written)) = (escape, literal_mut(pattern))
                && escape != Some('\\')
                && let Some(escaped) = backslashed(written, escape)
            {
                *written = escaped;
                *escape_char = None;
            }
        }
        Expr::Function(function) => reword_replacement(function),
        _ => {}
    }
}

/// Marks the third argument of `regexp_replace` as one in PostgreSQL's notation. Statements are written out and read again, so that
/// one may be marked already.
fn reword_replacement(function: &mut Function) {
    if !function
        .name
        .to_string()
        .eq_ignore_ascii_case("regexp_replace")
    {
        return;
    }
    let FunctionArguments::List(list) = &mut function.args else {
        return;
    };
    let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(replacement))) = list.args.get_mut(2)
    else {
        return;
    };
    let is_the_same = match &*replacement {
        Expr::Value(written) => match &written.value {
            Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) => is_plain(text),
            // The types of parameters are those of what they are compared with or passed to.
            _ => true,
        },
        Expr::Function(marked) => marked.name.to_string() == REGEXP_REPLACEMENT,
        _ => false,
    };
    if !is_the_same {
        let null = Expr::Value(Value::Null.into());
        let written = std::mem::replace(replacement, null);
        *replacement = call(REGEXP_REPLACEMENT, vec![written]);
    }
}

/// The escape character: the backslash without ESCAPE, none with an empty text; `None` for what is neither a character nor empty.
fn escape_of(escape: Option<&ValueWithSpan>) -> Option<Option<char>> {
    let Some(escape) = escape else {
        return Some(Some('\\'));
    };
    let Value::SingleQuotedString(escape) = &escape.value else {
        return None;
    };
    let mut chars = escape.chars();
    let first = chars.next();
    chars.next().is_none().then_some(first)
}

fn literal_mut(pattern: &mut Expr) -> Option<&mut String> {
    match pattern {
        Expr::Value(ValueWithSpan {
            value: Value::SingleQuotedString(text),
            ..
        }) => Some(text),
        _ => None,
    }
}

/// The pattern of LIKE with backslashes; `None` where the escape character is its last.
fn backslashed(pattern: &str, escape: Option<char>) -> Option<String> {
    let mut escaped = String::with_capacity(pattern.len());
    let mut chars = pattern.chars();
    while let Some(next) = chars.next() {
        let (literal, is_escaped) = match Some(next) == escape {
            true => (chars.next()?, true),
            false => (next, false),
        };
        if literal == '\\' || (is_escaped && matches!(literal, '%' | '_')) {
            escaped.push('\\');
        }
        escaped.push(literal);
    }
    Some(escaped)
}

/// The regular expression of a pattern of SIMILAR TO (SQL:2016, part 2, 8.6), which is about the whole text: `%` and `_` are any
/// characters and any one, and a dot is a dot.
fn regex_of(pattern: &str, escape: Option<char>) -> String {
    let mut regex = String::from("^(?s:");
    let mut chars = pattern.chars().peekable();
    while let Some(next) = chars.next() {
        if Some(next) == escape {
            push_literal(&mut regex, chars.next().unwrap_or(next));
            continue;
        }
        match next {
            '%' => regex.push_str(".*"),
            '_' => regex.push('.'),
            '(' => regex.push_str("(?:"),
            '|' | '*' | '+' | '?' | '{' | '}' | ')' => regex.push(next),
            '[' => push_class(&mut regex, &mut chars, escape),
            _ => push_literal(&mut regex, next),
        }
    }
    regex.push_str(")$");
    regex
}

/// The rest of a class of characters, `[a-c]` or `[^[:digit:]]`, whose bracket was read.
fn push_class(regex: &mut String, chars: &mut Peekable<Chars<'_>>, escape: Option<char>) {
    regex.push('[');
    if chars.next_if_eq(&'^').is_some() {
        regex.push('^');
    }
    if chars.next_if_eq(&']').is_some() {
        regex.push_str("\\]");
    }
    while let Some(next) = chars.next() {
        if Some(next) == escape {
            push_literal(regex, chars.next().unwrap_or(next));
            continue;
        }
        match next {
            ']' => {
                regex.push(']');
                return;
            }
            '[' if chars.peek() == Some(&':') => {
                regex.push('[');
                let mut last = '[';
                for named in chars.by_ref() {
                    regex.push(named);
                    if named == ']' && last == ':' {
                        break;
                    }
                    last = named;
                }
            }
            '[' | '&' | '~' | '\\' => {
                regex.push('\\');
                regex.push(next);
            }
            _ => regex.push(next),
        }
    }
}

fn push_literal(regex: &mut String, literal: char) {
    regex.push_str(&regex::escape(literal.encode_utf8(&mut [0; 4])));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_similar(text: &str, pattern: &str) -> bool {
        let regex = regex_of(pattern, Some('\\'));
        regex::Regex::new(&regex).unwrap().is_match(text)
    }

    /// The examples of PostgreSQL's documentation (9.7.2) are among them.
    #[test]
    fn a_pattern_of_similar_to_is_about_the_whole_text() {
        for (text, pattern, expected) in [
            ("abc", "abc", true),
            ("abc", "a", false),
            ("abc", "%(b|d)%", true),
            ("abc", "(b|c)%", false),
            ("xabcx", "%_b_%", true),
            ("axc", "a.c", false),
            ("a.c", "a.c", true),
            ("aab", "a{2}b", true),
            ("a%", "a\\%", true),
            ("ab", "a\\%", false),
            ("abd", "ab[cd]", true),
            ("abx", "ab[^cd]", true),
            ("ab7", "ab[[:digit:]]", true),
            ("a&", "a[&~]", true),
            ("a]", "a[]]", true),
            ("a$b", "a$b", true),
            ("^a", "^a", true),
            ("a\nb", "a%b", true),
            ("ab", "x|ab", true),
        ] {
            assert_eq!(is_similar(text, pattern), expected, "{text} {pattern}");
        }
    }

    #[test]
    fn an_escape_character_becomes_a_backslash() {
        for (pattern, escape, expected) in [
            ("a!%", Some('!'), Some("a\\%")),
            ("a!!%", Some('!'), Some("a!%")),
            ("a!x", Some('!'), Some("ax")),
            ("a\\%", Some('!'), Some("a\\\\%")),
            ("a\\%", None, Some("a\\\\%")),
            ("a!", Some('!'), None),
        ] {
            let escaped = backslashed(pattern, escape);
            assert_eq!(escaped.as_deref(), expected, "{pattern}");
        }
    }
}
