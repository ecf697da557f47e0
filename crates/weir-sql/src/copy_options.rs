//! `COPY … TO 'x' (FORMAT parquet, PARTITION_BY (day), HEADER false)`: options as PostgreSQL and DuckDB write them, in the
//! words of DataFusion's parser: `STORED AS`, `PARTITIONED BY` and `OPTIONS`.

use datafusion::sql::sqlparser::tokenizer::{Span, Token, TokenWithSpan, Word};
use weir_functions::{Error, ErrorKind};

/// Writes the options behind the target of each COPY as the parser takes them.
///
/// # Errors
/// When an option has no value that it could have.
pub(crate) fn with_copy_options(tokens: Vec<TokenWithSpan>) -> Result<Vec<TokenWithSpan>, Error> {
    let mut result = Vec::new();
    let mut rest = tokens.as_slice();
    while let Some(OptionsPlace { begin, end }) = OptionsPlace::find(rest) {
        let (front, behind) = rest.split_at(end);
        let (front, given) = front.split_at(begin);
        result.extend_from_slice(front);
        let is_word = |token: &&TokenWithSpan| !matches!(token.token, Token::Whitespace(_));
        let target = front.iter().rev().find(is_word);
        result.extend(clauses(given, target)?);
        // The options of the next statement of the text follow.
        rest = behind;
    }
    if result.is_empty() {
        return Ok(tokens);
    }
    result.extend_from_slice(rest);
    Ok(result)
}

/// Makes one name of a dotted one in `PARTITIONED BY (ip.src)`, where the parser takes single words.
pub(crate) fn with_partition_names(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut result: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    // The number of words that the clause begins with, up to here: PARTITIONED, BY, a bracket.
    let mut begun = 0;
    for token in tokens {
        begun = match (&token.token, begun) {
            (Token::Whitespace(_), so_far) => so_far,
            (Token::RParen, 3) => 0,
            (_, 3) => 3,
            (Token::LParen, 2) => 3,
            _ if is_word(&token, &["PARTITIONED"]) => 1,
            (_, 1) if is_word(&token, &["BY"]) => 2,
            _ => 0,
        };
        let name = match (result.as_slice(), &token.token) {
            ([.., first, dot], Token::Word(last)) if begun == 3 && dot.token == Token::Period => {
                joined(first, last)
            }
            _ => None,
        };
        match name {
            Some(name) => {
                result.truncate(result.len().saturating_sub(2));
                result.push(TokenWithSpan::new(name, token.span));
            }
            None => result.push(token),
        }
    }
    result
}

/// One name of two parts.
fn joined(first: &TokenWithSpan, last: &Word) -> Option<Token> {
    let Token::Word(first) = &first.token else {
        return None;
    };
    let part = |word: &Word| match word.quote_style {
        Some(_) => word.value.clone(),
        None => word.value.to_lowercase(),
    };
    let name = format!("{}.{}", part(first), part(last));
    Some(Token::make_word(&name, Some('"')))
}

/// The beginning of the options, with WITH or the parenthesis, and their end.
struct OptionsPlace {
    begin: usize,
    end: usize,
}

impl OptionsPlace {
    fn find(tokens: &[TokenWithSpan]) -> Option<Self> {
        let mut words = tokens
            .iter()
            .enumerate()
            .filter(|(_, token)| !matches!(token.token, Token::Whitespace(_)))
            .peekable();
        let (mut is_begin, mut is_copy, mut depth) = (true, false, 0_usize);
        while let Some((_, token)) = words.next() {
            match &token.token {
                Token::SemiColon => (is_begin, is_copy, depth) = (true, false, 0),
                Token::LParen => depth += 1,
                Token::RParen => depth = depth.saturating_sub(1),
                // The statement of an EXPLAIN may be a COPY.
                _ if is_begin && is_word(token, &["EXPLAIN", "ANALYZE", "VERBOSE"]) => {}
                _ if is_begin => (is_begin, is_copy) = (false, is_word(token, &["COPY"])),
                _ if is_copy && depth == 0 && is_word(token, &["TO"]) => {
                    let is_target = |token: &Token| matches!(token, Token::SingleQuotedString(_));
                    if words
                        .next_if(|(_, token)| is_target(&token.token))
                        .is_none()
                    {
                        continue;
                    }
                    let with = words.next_if(|(_, token)| is_word(token, &["WITH"]));
                    let Some((open, _)) = words.next_if(|(_, token)| token.token == Token::LParen)
                    else {
                        continue;
                    };
                    let mut open_now = 1_usize;
                    for (end, token) in words.by_ref() {
                        match token.token {
                            Token::LParen => open_now += 1,
                            Token::RParen => open_now -= 1,
                            _ => {}
                        }
                        if open_now == 0 {
                            let begin = with.map_or(open, |(with, _)| with);
                            return Some(Self {
                                begin,
                                end: end + 1,
                            });
                        }
                    }
                }
                _ => {}
            }
        }
        None
    }
}

/// The clauses that options are, behind the target of a COPY.
fn clauses(
    given: &[TokenWithSpan],
    target: Option<&TokenWithSpan>,
) -> Result<Vec<TokenWithSpan>, Error> {
    let words = given
        .iter()
        .filter(|token| !matches!(token.token, Token::Whitespace(_)));
    let words: Vec<&TokenWithSpan> = words.skip_while(|t| t.token != Token::LParen).collect();
    let inner = words.get(1..words.len().saturating_sub(1));
    let options: Vec<&[&TokenWithSpan]> = split(inner.unwrap_or_default()).collect();
    let is_parquet = is_parquet(&options, target);
    let (mut clauses, mut others) = (Vec::new(), Vec::new());
    for option in options {
        let [key, value @ ..] = option else {
            return Err(wrong("an option", "nothing"));
        };
        let name = name_of(key)?;
        let word = |word: &str| TokenWithSpan::new(Token::make_keyword(word), key.span);
        let put = |token: Token| TokenWithSpan::new(token, key.span);
        match (name.as_str(), value) {
            ("format", [format]) => {
                clauses.extend([
                    word("STORED"),
                    word("AS"),
                    put(Token::make_word(&name_of(format)?, None)),
                ]);
            }
            ("partition_by" | "partitioned_by", columns) if !columns.is_empty() => {
                clauses.extend([word("PARTITIONED"), word("BY")]);
                let is_list = columns
                    .first()
                    .is_some_and(|first| first.token == Token::LParen);
                if !is_list {
                    clauses.push(put(Token::LParen));
                }
                clauses.extend(columns.iter().map(|&column| column.clone()));
                if !is_list {
                    clauses.push(put(Token::RParen));
                }
            }
            ("force_quote", [all]) if all.token == Token::Mul => {
                if !others.is_empty() {
                    others.push(put(Token::Comma));
                }
                others.push(put(Token::SingleQuotedString("force_quote".to_owned())));
                others.push(put(Token::SingleQuotedString("*".to_owned())));
            }
            // An option that is only named is set.
            (name, [] | [_]) if !["format", "partition_by", "partitioned_by"].contains(&name) => {
                if !others.is_empty() {
                    others.push(put(Token::Comma));
                }
                others.push(put(Token::SingleQuotedString(ours(name).to_owned())));
                others.push(match value {
                    [value] if is_parquet && ours(name) == "compression" => put(with_level(value)),
                    [value] => (*value).clone(),
                    _ => put(Token::SingleQuotedString("true".to_owned())),
                });
            }
            _ => {
                let found = value.iter().map(|token| token.token.to_string());
                let found: Vec<String> = found.collect();
                return Err(wrong(&format!("one value of {name}"), &found.join(" ")));
            }
        }
    }
    if !others.is_empty() {
        let at = others.first().map_or_else(Span::empty, |first| first.span);
        let put = |token| TokenWithSpan::new(token, at);
        clauses.extend([put(Token::make_keyword("OPTIONS")), put(Token::LParen)]);
        clauses.extend(others);
        clauses.push(put(Token::RParen));
    }
    Ok(clauses)
}

/// Whether the file is of Parquet, by the option of its format or by the end of its name.
fn is_parquet(options: &[&[&TokenWithSpan]], target: Option<&TokenWithSpan>) -> bool {
    let format = options.iter().find_map(|option| match option {
        [key, format] if is_word(key, &["FORMAT"]) => name_of(format).ok(),
        _ => None,
    });
    match (format, target.map(|target| &target.token)) {
        (Some(format), _) => format == "parquet",
        (None, Some(Token::SingleQuotedString(path))) => {
            path.to_ascii_lowercase().ends_with(".parquet")
        }
        (None, _) => false,
    }
}

/// The compression of Parquet with its usual level, of which DataFusion has no default.
fn with_level(value: &TokenWithSpan) -> Token {
    let name = match &value.token {
        Token::Word(word) => word.value.to_ascii_lowercase(),
        Token::SingleQuotedString(text) => text.to_ascii_lowercase(),
        other => return other.clone(),
    };
    let level = match name.as_str() {
        "zstd" => 3,
        "gzip" => 6,
        "brotli" => 1,
        _ => return value.token.clone(),
    };
    Token::SingleQuotedString(format!("{name}({level})"))
}

/// Parts between commas that stand in no parentheses.
fn split<'t>(words: &'t [&'t TokenWithSpan]) -> impl Iterator<Item = &'t [&'t TokenWithSpan]> {
    let mut depth = 0_usize;
    words.split(move |token| {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && token.token == Token::Comma
    })
}

fn is_word(token: &TokenWithSpan, wanted: &[&str]) -> bool {
    match &token.token {
        Token::Word(word) if word.quote_style.is_none() => wanted
            .iter()
            .any(|wanted| word.value.eq_ignore_ascii_case(wanted)),
        _ => false,
    }
}

fn name_of(token: &TokenWithSpan) -> Result<String, Error> {
    match &token.token {
        Token::Word(word) => Ok(word.value.to_ascii_lowercase()),
        Token::SingleQuotedString(text) => Ok(text.to_ascii_lowercase()),
        other => Err(wrong(
            "the name of an option or a format",
            &other.to_string(),
        )),
    }
}

/// The name of an option by the name that other systems give it.
fn ours(name: &str) -> &str {
    match name {
        "header" => "has_header",
        "delim" | "sep" => "delimiter",
        "null" | "nullstr" => "null_value",
        "codec" => "compression",
        "row_group_size" => "max_row_group_size",
        "overwrite_or_ignore" => "overwrite",
        other => other,
    }
}

fn wrong(expected: &str, found: &str) -> Error {
    let message = format!("COPY: expected {expected}, found {found}");
    Error::new(ErrorKind::Syntax, message)
        .with_hint("COPY (SELECT …) TO 'folder/' (FORMAT parquet, PARTITION_BY (day))")
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::tokenizer::Tokenizer;

    use super::*;
    use crate::dialect::WeirDialect;

    fn written(sql: &str) -> Result<String, Error> {
        let tokens = Tokenizer::new(&WeirDialect, sql).tokenize_with_location();
        let tokens = with_partition_names(with_copy_options(tokens.unwrap())?).into_iter();
        let words = tokens.filter(|token| !matches!(token.token, Token::Whitespace(_)));
        let words: Vec<String> = words.map(|token| token.token.to_string()).collect();
        Ok(words.join(" "))
    }

    #[test]
    fn options_of_others_are_clauses() {
        for (sql, wanted) in [
            (
                "COPY (SELECT 1) TO 'x' (FORMAT parquet)",
                "COPY ( SELECT 1 ) TO 'x' STORED AS parquet",
            ),
            (
                "explain copy (SELECT 1) to 'x' WITH (PARTITION_BY (a, b), format 'CSV', HEADER false, delim ';')",
                "explain copy ( SELECT 1 ) to 'x' PARTITIONED BY ( a , b ) STORED AS csv OPTIONS ( 'has_header' false , 'delimiter' ';' )",
            ),
            (
                "COPY t TO 'x.csv' (HEADER, FORCE_QUOTE *)",
                "COPY t TO 'x.csv' OPTIONS ( 'has_header' 'true' , 'force_quote' '*' )",
            ),
            (
                "COPY t TO 'x.Parquet' (COMPRESSION zstd, ROW_GROUP_SIZE 9)",
                "COPY t TO 'x.Parquet' OPTIONS ( 'compression' 'zstd(3)' , 'max_row_group_size' 9 )",
            ),
            (
                "COPY t TO 'x' (CODEC 'GZIP', FORMAT parquet)",
                "COPY t TO 'x' STORED AS parquet OPTIONS ( 'compression' 'gzip(6)' )",
            ),
            (
                "COPY t TO 'x.parquet' (FORMAT csv, COMPRESSION zstd)",
                "COPY t TO 'x.parquet' STORED AS csv OPTIONS ( 'compression' zstd )",
            ),
            (
                "COPY t TO 'x' (FORMAT csv, PARTITION_BY (ip.src, \"A\", frame.time))",
                "COPY t TO 'x' STORED AS csv PARTITIONED BY ( \"ip.src\" , \"A\" , \"frame.time\" )",
            ),
            (
                "COPY (SELECT a.b OVER (PARTITION BY (a.c))) TO 'x' STORED AS csv PARTITIONED BY (a.B.c)",
                "COPY ( SELECT a . b OVER ( PARTITION BY ( a . c ) ) ) TO 'x' STORED AS csv PARTITIONED BY ( \"a.b.c\" )",
            ),
            (
                "COPY t TO 'x.pcap' (anonymize 'k', OVERWRITE); COPY t TO 'y' (partition_by a)",
                "COPY t TO 'x.pcap' OPTIONS ( 'anonymize' 'k' , 'overwrite' 'true' ) ; COPY t TO 'y' PARTITIONED BY ( a )",
            ),
        ] {
            assert_eq!(written(sql).unwrap(), wanted);
        }
        for same in [
            "COPY ( SELECT 'TO' , ( 1 ) ) TO 'x.csv' OPTIONS ( header true )",
            "SELECT * FROM f ( 'TO' , ( 1 ) )",
            "COPY ( SELECT 1 ) TO 'x' (",
        ] {
            assert_eq!(written(same).unwrap(), same);
        }
        for wrong in [
            "()",
            "(FORMAT)",
            "(FORMAT a b)",
            "(a b c)",
            "(PARTITION_BY)",
            "(,a)",
            "(1)",
        ] {
            let error = written(&format!("COPY t TO 'x' {wrong}")).unwrap_err();
            assert!(
                error.to_string().starts_with("COPY: expected"),
                "{wrong}: {error}"
            );
        }
    }
}
