//! Why a text is no SQL, and what to write.
//!
//! The parser reports the place where it stopped, which is rarely that of the mistake: `ip.addr == 10.0.0.0/8` stops at
//! `.0`. The mistake is looked for in the text, and one that is not recognised gets no hint: a hint about another
//! mistake does more harm than good.

use datafusion::sql::sqlparser::keywords::ALL_KEYWORDS;
use regex::Regex;
use weir_functions::similar::similar;
use weir_packet::Address;
use weir_tables::{DisplayFilter, Network};

/// The hint for a text that the parser refused with this message.
pub(crate) fn hint(sql: &str, message: &str) -> Option<String> {
    if message.starts_with("Unterminated string literal") {
        return Some("a text ends with '; write a ' within it twice: 'it''s'".to_owned());
    }
    if message.starts_with("Unterminated") {
        return None;
    }
    if message.contains("BETWEEN SYMMETRIC") {
        return Some("name its sides in a query of FROM: SELECT … AS a, … AS b".to_owned());
    }
    if message.contains("found: EXCLUDE") {
        return Some(
            "a window frame has no EXCLUDE; sum(a) OVER (…) - a leaves out the row itself"
                .to_owned(),
        );
    }
    if message.contains("Expected: MATCH_CONDITION") {
        return Some(
            "there is no ASOF JOIN: JOIN … ON a.time BETWEEN b.time - INTERVAL '1 second' AND b.time, and QUALIFY row_number()"
                .to_owned(),
        );
    }
    let code = without_texts(sql);
    if message.contains("Expected: ), found: ")
        && let Some(hint) = grouping(&code)
    {
        return Some(hint);
    }
    let words: Vec<&str> = code
        .split(SEPARATORS)
        .filter(|word| !word.is_empty())
        .collect();
    let is_word = |wanted: &str| words.iter().any(|word| word.eq_ignore_ascii_case(wanted));
    first_word(sql, &words)
        .or_else(|| tcpdump(&code))
        .or_else(|| bare_address(&words))
        .or_else(|| infix(&code, &words))
        .or_else(|| {
            let networks = code.contains("<<=") || code.contains(">>=");
            networks.then(|| {
                "whether an address lies in a network is cidr_match(ip.src, '10.0.0.0/8')"
                    .to_owned()
            })
        })
        .or_else(|| bare_path(&words))
        .or_else(|| misspelt(&words))
        .or_else(|| {
            let set = code.contains('{');
            set.then(|| "write a set in parentheses: tcp.port IN (80, 443)".to_owned())
        })
        .or_else(|| parentheses(&code))
        .or_else(|| half_clause(&words))
        .or_else(|| {
            let not = code
                .char_indices()
                .any(|(at, letter)| letter == '!' && !code[at + 1..].starts_with(['=', '~']));
            not.then(|| "write NOT (…) to negate a condition".to_owned())
        })
        .or_else(|| order(&words))
        .or_else(|| without_comma(&code))
        .or_else(|| ends_early(message, &words))
        .or_else(|| {
            let compares = code.contains(['=', '<', '>']);
            (is_word("from") && compares && !is_word("where") && !is_word("join")).then(|| {
                "write conditions after WHERE: FROM 'trace.pcap' WHERE tcp.port = 443".to_owned()
            })
        })
}

/// The separators between the words of a statement, except characters of addresses, paths and names of columns.
const SEPARATORS: [char; 17] = [
    ' ', '\t', '\n', '\r', '(', ')', ',', ';', '=', '<', '>', '!', '{', '}', '|', '&', '"',
];

/// The statement with spaces for what stands in quotes, and for comments.
fn without_texts(sql: &str) -> String {
    let mut code = String::with_capacity(sql.len());
    let mut letters = sql.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\'' | '"' => {
                code.push(' ');
                while let Some(within) = letters.next() {
                    code.push(' ');
                    if within == letter {
                        if letters.peek() != Some(&letter) {
                            break;
                        }
                        letters.next();
                        code.push(' ');
                    }
                }
            }
            '-' if letters.peek() == Some(&'-') => {
                code.push(' ');
                while letters.next_if(|letter| *letter != '\n').is_some() {
                    code.push(' ');
                }
            }
            letter => code.push(letter),
        }
    }
    code
}

/// `CUBE ((a) + 1, b)`: parentheses that an element begins with are a list of columns for the parser.
fn grouping(code: &str) -> Option<String> {
    let pattern = Regex::new(r"(?i)\b(cube|rollup|grouping\s+sets)\s*\(").ok()?;
    pattern.captures_iter(code).find_map(|found| {
        let word = found.get(1)?.as_str().to_uppercase();
        let mut rest = code.get(found.get(0)?.end()..)?.trim_start();
        while let Some(inner) = rest.strip_prefix('(') {
            let end = closing(inner)?;
            let is_query = inner
                .trim_start()
                .get(..6)
                .is_some_and(|first| first.eq_ignore_ascii_case("select"));
            let behind = inner.get(end + 1..)?.trim_start();
            if is_query || !behind.starts_with([',', ')']) {
                return Some(format!(
                    "put an expression that begins with a parenthesis into another one: {word} (((a) + 1), b)"
                ));
            }
            rest = behind.strip_prefix(',')?.trim_start();
        }
        None
    })
}

/// The place of the parenthesis that closes one that is open in front of the text.
fn closing(text: &str) -> Option<usize> {
    let mut open = 1_usize;
    text.char_indices().find_map(|(at, letter)| {
        match letter {
            '(' => open += 1,
            ')' => open -= 1,
            _ => {}
        }
        (open == 0).then_some(at)
    })
}

/// Three names in a row where columns stand: the second would be the name of the first, and the third is too many.
fn without_comma(code: &str) -> Option<String> {
    let columns: Vec<&str> = code
        .split_whitespace()
        .skip_while(|word| !word.eq_ignore_ascii_case("select"))
        .skip(1)
        .take_while(|word| !word.eq_ignore_ascii_case("from"))
        .collect();
    let is_name = |word: &&str| {
        let is_keyword = ALL_KEYWORDS
            .binary_search(&word.to_uppercase().as_str())
            .is_ok();
        let are_letters = |letter: char| letter.is_alphanumeric() || "._".contains(letter);
        word.chars().all(are_letters) && !is_keyword
    };
    (columns.len() >= 3 && columns.iter().take(3).all(is_name))
        .then(|| "separate columns by commas: SELECT ip.src, ip.dst".to_owned())
}

/// A statement that ends behind a word that something follows.
fn ends_early(message: &str, words: &[&str]) -> Option<String> {
    let last = words.last().filter(|_| message.contains("found: EOF"))?;
    let last = last.to_ascii_uppercase();
    match last.as_str() {
        "FROM" | "JOIN" => Some(format!(
            "a file or a table follows {last}: {last} 'trace.pcap'"
        )),
        "SELECT" | "WHERE" | "AND" | "OR" | "NOT" | "BY" | "ON" | "HAVING" | "IN" | "LIKE"
        | "BETWEEN" | "LIMIT" | "AS" | "TO" | "WITH" => Some(format!(
            "the statement ends after {last}, and something is missing"
        )),
        _ => None,
    }
}

/// A statement that begins with no word that statements begin with.
fn first_word(sql: &str, words: &[&str]) -> Option<String> {
    // The mistake may be in any of several statements.
    let begins = without_texts(sql);
    let firsts = begins.split(';').filter_map(|statement| {
        let statement =
            statement.trim_start_matches(|letter: char| letter.is_whitespace() || letter == '(');
        statement
            .split(SEPARATORS)
            .next()
            .filter(|word| !word.is_empty())
    });
    let unknown = firsts.into_iter().find(|word| {
        !BEGINNINGS
            .iter()
            .any(|known| known.eq_ignore_ascii_case(word))
    })?;
    if unknown.eq_ignore_ascii_case("summarize") {
        return Some(
            "SUMMARIZE is not supported: use SELECT count(x), min(x), max(x), approx_distinct(x) FROM 'trace.pcap'"
                .to_owned(),
        );
    }
    if let [known, ..] = similar(unknown, BEGINNINGS.iter().copied()).as_slice() {
        return Some(format!("did you mean {}?", known.to_uppercase()));
    }
    if words.len() > 1 && DisplayFilter::new(sql).is_ok() {
        return Some(format!(
            "this is a display filter: use weir filter '{sql}' FILE, or SELECT * FROM 'trace.pcap' WHERE display_filter({})",
            crate::quote_literal(sql)
        ));
    }
    Some(
        "a statement begins with SELECT, FROM, WITH, COPY, EXPLAIN, DESCRIBE, SHOW, CREATE, SET or PREPARE"
            .to_owned(),
    )
}

const BEGINNINGS: &[&str] = &[
    "select",
    "from",
    "with",
    "values",
    "table",
    "copy",
    "explain",
    "describe",
    "desc",
    "show",
    "create",
    "drop",
    "set",
    "reset",
    "prepare",
    "execute",
    "deallocate",
    "insert",
    "update",
    "delete",
    "alter",
    "begin",
    "start",
    "commit",
    "rollback",
    "truncate",
    "use",
    "analyze",
    "call",
    "declare",
    "grant",
    "revoke",
    "merge",
    "load",
    "install",
    "attach",
    "detach",
    "pragma",
    "vacuum",
    "export",
    "import",
    "kill",
    "cache",
    "unload",
    "comment",
    "assert",
    "close",
    "fetch",
    "savepoint",
    "release",
    "discard",
    "listen",
    "notify",
    "lock",
    "unlock",
    "msck",
    "optimize",
    "raiserror",
    "print",
    "return",
    "if",
    "while",
    "case",
    "end",
    "open",
    "deny",
    "rename",
    "replace",
    "flush",
    "reindex",
    "off",
    "on",
    "vacuum",
    "waitfor",
    "throw",
];

/// `host 10.0.0.1`, `tcp port 80`: the language of tcpdump.
fn tcpdump(code: &str) -> Option<String> {
    let pattern = Regex::new(
        r"(?i)\b(?:(src|dst|tcp|udp|sctp)\s+)?(host|net|port)\s+([0-9][0-9a-f.:/]*)(?:\s|$|\))",
    );
    let found = pattern.ok()?.captures(code)?;
    let part = |number| found.get(number).map(|part| part.as_str());
    let before = part(1).map(str::to_ascii_lowercase);
    let side = before.as_deref().unwrap_or("any");
    let (kind, value) = (part(2)?.to_ascii_lowercase(), part(3)?);
    let meant = match (kind.as_str(), before.as_deref()) {
        ("port", Some(protocol @ ("tcp" | "udp" | "sctp"))) => format!("{protocol}.port = {value}"),
        ("port", _) => format!("port.{side} = {value}"),
        ("host", _) => format!("addr.{side} = '{value}'"),
        _ => format!("cidr_match(addr.{side}, '{value}')"),
    };
    Some(format!(
        "this is tcpdump's filter language: in SQL write {meant}"
    ))
}

/// An address or a network without quotes.
fn bare_address(words: &[&str]) -> Option<String> {
    words.iter().enumerate().find_map(|(at, word)| {
        let looks = word.matches('.').count() == 3 || word.matches(':').count() >= 2;
        if !looks {
            return None;
        }
        let before = at.checked_sub(1).and_then(|before| words.get(before));
        let column = before
            .filter(|before| before.contains('.') && before.parse::<f64>().is_err())
            .copied()
            .unwrap_or("ip.addr");
        if word.contains('/') && Network::parse(word).is_some() {
            return Some(format!(
                "test whether an address lies in a network with cidr_match({column}, '{word}')"
            ));
        }
        word.parse::<Address>()
            .is_ok()
            .then(|| format!("write an address in single quotes: {column} = '{word}'"))
    })
}

/// `contains` and `matches` of display filters stand between what they ask.
fn infix(code: &str, words: &[&str]) -> Option<String> {
    let at = words.iter().position(|word| {
        ["contains", "matches"]
            .iter()
            .any(|known| known.eq_ignore_ascii_case(word))
    })?;
    let word = words.get(at)?;
    // A function of this name is not a mistake.
    let behind = code.get(code.find(word)? + word.len()..)?.trim_start();
    if behind.starts_with('(') {
        return None;
    }
    let of = at
        .checked_sub(1)
        .and_then(|before| words.get(before))
        .copied()?;
    let function = match word.eq_ignore_ascii_case("contains") {
        true => "contains",
        false => "regexp_like",
    };
    Some(match of.contains('.') {
        true => format!(
            "write {function}({of}, 'text'); display_filter('{of} {word} \"text\"') is Wireshark's own language"
        ),
        false => format!(
            "write display_filter('{of} {word} \"text\"'), or {function}(tcp.payload, 'text')"
        ),
    })
}

/// A file without quotes.
fn bare_path(words: &[&str]) -> Option<String> {
    let mut pairs = words.windows(2);
    pairs.find_map(|pair| {
        let [before, path] = pair else { return None };
        let opens = ["from", "join", "to"]
            .iter()
            .any(|word| word.eq_ignore_ascii_case(before));
        let is_path = path.contains(['/', '~', '-', '*']) || path.contains(".pcap");
        (opens && is_path).then(|| {
            format!(
                "write file names in single quotes: {} '{path}'",
                before.to_uppercase()
            )
        })
    })
}

/// A word that is nearly one of those that begin a clause.
fn misspelt(words: &[&str]) -> Option<String> {
    words.iter().find_map(|word| {
        let upper = word.to_uppercase();
        let is_keyword = ALL_KEYWORDS.binary_search(&upper.as_str()).is_ok();
        if is_keyword || word.contains('.') || word.len() < 4 {
            return None;
        }
        let near = CLAUSES
            .iter()
            .find(|clause| strsim::damerau_levenshtein(&upper, clause) == 1)?;
        Some(format!("did you mean {near}?"))
    })
}

const CLAUSES: &[&str] = &[
    "FROM", "WHERE", "GROUP", "ORDER", "LIMIT", "HAVING", "QUALIFY", "OFFSET", "UNION", "BETWEEN",
    "DISTINCT", "LIKE", "JOIN",
];

fn parentheses(code: &str) -> Option<String> {
    let count = |letter: char| code.matches(letter).count();
    match count('(').cmp(&count(')')) {
        std::cmp::Ordering::Greater => Some("a ( is not closed".to_owned()),
        std::cmp::Ordering::Less => Some("a ) has no ( before it".to_owned()),
        std::cmp::Ordering::Equal => None,
    }
}

/// Words that stand in twos: `GROUP BY`, `BETWEEN 5 AND 10`.
fn half_clause(words: &[&str]) -> Option<String> {
    let is =
        |word: Option<&&str>, known: &str| word.is_some_and(|it| it.eq_ignore_ascii_case(known));
    for (at, word) in words.iter().enumerate() {
        let word = word.to_ascii_uppercase();
        let next = words.get(at + 1);
        match word.as_str() {
            // SELECT … WITHIN GROUP (ORDER BY …) has no BY.
            "GROUP" | "ORDER" | "PARTITION"
                if next.is_some()
                    && !is(next, "by")
                    && !(at > 0 && is(words.get(at - 1), "within")) =>
            {
                return Some(format!("write {word} BY"));
            }
            "BETWEEN" if next.is_some() && !words.iter().skip(at).any(|it| is(Some(it), "and")) => {
                return Some("BETWEEN takes both ends: BETWEEN 5 AND 10".to_owned());
            }
            _ => {}
        }
    }
    None
}

/// Clauses in another order than SQL has them. Only a statement without queries within it is looked at.
fn order(words: &[&str]) -> Option<String> {
    let clauses: Vec<usize> = words
        .iter()
        .filter_map(|word| {
            ORDER
                .iter()
                .position(|clause| clause.eq_ignore_ascii_case(word))
        })
        .collect();
    let is_one = clauses.iter().filter(|clause| **clause == 0).count() == 1;
    let is_wrong = !clauses.is_sorted();
    (is_one && is_wrong).then(|| {
        "write clauses in this order: SELECT, FROM, WHERE, GROUP BY, HAVING, ORDER BY, LIMIT"
            .to_owned()
    })
}

const ORDER: &[&str] = &[
    "select", "from", "where", "group", "having", "order", "limit",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::Statement;

    /// Each of these had the hint that file names stand in single quotes.
    #[test]
    fn each_mistake_has_the_hint_for_its_own_cause() {
        for (sql, part) in [
            (
                "SELECT 1 FROM t GROUP BY CUBE ((a), (a)::varchar, b)",
                "into another one: CUBE (((a) + 1), b)",
            ),
            (
                "SELECT 1 FROM t GROUP BY rollup((SELECT 1), b)",
                "into another one: ROLLUP (((a) + 1), b)",
            ),
            ("SELCT 1", "did you mean SELECT?"),
            ("SELECT 1; SELEC 2", "did you mean SELECT?"),
            ("SUMMARIZE 'x.pcap'", "SUMMARIZE is not supported"),
            (
                "SELECT 1 FROM a ASOF JOIN b ON a.t >= b.t",
                "there is no ASOF JOIN",
            ),
            (
                "tcp.port == 443 && ip",
                "weir filter 'tcp.port == 443 && ip'",
            ),
            ("GIVE me packets", "a statement begins with SELECT"),
            ("SELECT 1 FROM", "a file or a table follows FROM"),
            ("SELECT a = 1 FROM 'x' WHERE", "ends after WHERE"),
            (
                "SELECT 1 FROM 'x' WHERE ip.addr == 10.0.0.0/8",
                "cidr_match(ip.addr, '10.0.0.0/8')",
            ),
            (
                "SELECT 1 FROM 'x' WHERE ip.src = 10.0.0.1",
                "ip.src = '10.0.0.1'",
            ),
            (
                "SELECT 1 FROM 'x' WHERE ipv6.dst == 2001:db8::/32",
                "cidr_match(ipv6.dst, '2001:db8::/32')",
            ),
            (
                "SELECT 1 FROM 'x' WHERE eth.src = 00:11:22:33:44:55",
                "eth.src = '00:11:22:33:44:55'",
            ),
            (
                "SELECT 1 FROM 'x' WHERE ip.src <<= '10.0.0.0/8'",
                "cidr_match(ip.src, '10.0.0.0/8')",
            ),
            ("SELECT 1 FROM 'x' GROUP ip.src", "write GROUP BY"),
            ("SELECT 1 FROM 'x' ORDER frame.len", "write ORDER BY"),
            (
                "SELECT 1 FROM 'x' WHERE frame.len BETWEEN 5 10",
                "BETWEEN 5 AND 10",
            ),
            (
                "SELECT ip.src ip.dst frame.len FROM 'x'",
                "separate columns by commas: SELECT ip.src, ip.dst",
            ),
            ("SELECT 1 FROM 'x' WHERE port 53", "port.any = 53"),
            ("SELECT 1 FROM 'x' WHERE tcp port 80", "tcp.port = 80"),
            (
                "SELECT 1 FROM 'x' WHERE src host 10.1.0.5",
                "addr.src = '10.1.0.5'",
            ),
            (
                "SELECT 1 FROM 'x' WHERE net 10.0.0.0/8",
                "cidr_match(addr.any, '10.0.0.0/8')",
            ),
            (
                "SELECT 1 FROM 'x' WHERE frame contains 'x'",
                "display_filter('frame contains \"text\"')",
            ),
            (
                "SELECT 1 FROM 'x' WHERE tcp.payload contains 'x'",
                "contains(tcp.payload, 'text')",
            ),
            (
                "SELECT 1 FROM demo/office.pcapng",
                "FROM 'demo/office.pcapng'",
            ),
            ("SELECT 1 FROM ./a-b.pcap WHERE x = 1", "FROM './a-b.pcap'"),
            ("SELECT 1 FROM 'x' WHRE tcp.port = 1", "did you mean WHERE?"),
            ("SELECT 1 FORM 'x'", "did you mean FROM?"),
            (
                "SELECT 1 FROM 'x' WHERE tcp.port in {80, 443}",
                "IN (80, 443)",
            ),
            ("SELECT (1 FROM 'x'", "a ( is not closed"),
            ("SELECT 1) FROM 'x'", "a ) has no ("),
            (
                "SELECT 1 FROM 'x' WHERE !tcp.flags.syn AND !(a = 1)",
                "NOT (…)",
            ),
            (
                "SELECT 1 FROM 'x' LIMIT 3 WHERE tcp.port = 1",
                "write clauses in this order",
            ),
            (
                "SELECT 1 FROM 'x' tcp.port = 1",
                "write conditions after WHERE",
            ),
            ("SELECT 'it's' FROM x", "write a ' within it twice"),
        ] {
            let Err(error) = Statement::parse(sql) else {
                panic!("{sql} is SQL");
            };
            let hint = error.hint().unwrap_or_default();
            assert!(hint.contains(part), "{sql}: {error}: {hint}");
        }
    }

    #[test]
    fn what_is_not_recognised_has_no_hint() {
        for sql in ["SELECT FROM WHERE", "SELECT 1 +", "SELECT 1 FROM t a b c"] {
            if let Err(error) = Statement::parse(sql) {
                assert_eq!(error.hint(), None, "{sql}: {error}");
            }
        }
    }

    #[test]
    fn keywords_are_sorted_for_the_search() {
        assert!(ALL_KEYWORDS.is_sorted());
    }
}
