//! What `regexp_replace` puts in the place of a match, in PostgreSQL's notation.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, LargeStringArray, StringArray, StringViewArray};
use arrow::datatypes::DataType;
use datafusion::common::utils::take_function_args;
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use crate::computed::computed;

/// `regexp_replacement(text)`: the third argument of `regexp_replace` as DataFusion's function takes it, which knows neither `\&` nor
/// `\\`, and gives `$1` the meaning that PostgreSQL gives `\1`.
pub const REGEXP_REPLACEMENT: &str = "regexp_replacement";

pub(crate) fn regexp_replacement() -> ScalarUDF {
    ScalarUDF::from(RegexpReplacement {
        signature: Signature::any(1, Volatility::Immutable),
    })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct RegexpReplacement {
    signature: Signature,
}

impl ScalarUDFImpl for RegexpReplacement {
    fn name(&self) -> &'static str {
        REGEXP_REPLACEMENT
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let [kind] = take_function_args(self.name(), types)?;
        Ok(kind.clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        computed(&args, |arrays| {
            let [texts] = take_function_args(self.name(), arrays)?;
            let replacements: ArrayRef = match texts.data_type() {
                DataType::Utf8 => {
                    let texts = texts.as_string::<i32>().iter();
                    let all: StringArray = texts.map(|text| text.map(rewritten)).collect();
                    Arc::new(all)
                }
                DataType::LargeUtf8 => {
                    let texts = texts.as_string::<i64>().iter();
                    let all: LargeStringArray = texts.map(|text| text.map(rewritten)).collect();
                    Arc::new(all)
                }
                DataType::Utf8View => {
                    let texts = texts.as_string_view().iter();
                    let all: StringViewArray = texts.map(|text| text.map(rewritten)).collect();
                    Arc::new(all)
                }
                // `regexp_replace` says what it takes.
                _ => ArrayRef::clone(texts),
            };
            Ok(replacements)
        })
    }
}

/// Whether a text is the same in both notations.
#[must_use]
pub fn is_plain(text: &str) -> bool {
    !text.contains(['\\', '$'])
}

/// `\&` is the match, `\1` to `\9` are its groups, of one digit each, `\\` is a backslash, and all else stands for itself. `\0` is the
/// match, too, as in DuckDB.
fn rewritten(text: &str) -> String {
    let mut rewritten = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(next) = rest.next() {
        match (next, rest.peek().copied()) {
            ('$', _) => rewritten.push_str("$$"),
            ('\\', Some('&')) => {
                rest.next();
                rewritten.push_str("${0}");
            }
            ('\\', Some(digit @ '0'..='9')) => {
                rest.next();
                rewritten.push_str("${");
                rewritten.push(digit);
                rewritten.push('}');
            }
            ('\\', following) => {
                if following == Some('\\') {
                    rest.next();
                }
                // A group without a name is nothing: DataFusion takes a backslash in front of a digit for a group.
                rewritten.push_str("\\${}");
            }
            _ => rewritten.push(next),
        }
    }
    rewritten
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The outcomes are those of PostgreSQL 15.
    #[test]
    fn replacements_are_those_of_postgresql() {
        let regex = regex::Regex::new("(b)(c)").unwrap();
        for (replacement, expected) in [
            ("<\\&>", "a<bc>d"),
            ("\\2\\1", "acbd"),
            ("\\12", "ab2d"),
            ("\\3", "ad"),
            ("$1", "a$1d"),
            ("${1}$$", "a${1}$$d"),
            ("\\\\1", "a\\1d"),
            ("\\\\\\1", "a\\bd"),
            ("\\x\\", "a\\x\\d"),
        ] {
            let replaced = regex.replace("abcd", rewritten(replacement));
            assert_eq!(replaced, expected, "{replacement}");
            assert!(!is_plain(replacement));
        }
        assert!(is_plain("a{1}"));
    }
}
