//! Parses the tokens of a filter to its tree.

use crate::token::{Token, TokenKind, tokens};
use crate::{
    ArithmeticOperator, ComparisonOperator, DEPTH_MAX, Error, Filter, Operand, OperandKind,
    Quantifier, Range, RangeEnd, capture_filter,
};

/// Reads a display filter.
///
/// # Errors
/// When the text is not a display filter: what is wrong, and where.
pub fn parse(text: &str) -> Result<Filter, Error> {
    parsed(text).map_err(|error| match capture_filter::hint(text, error.start) {
        Some(hint) => error.with_hint(hint),
        None => error,
    })
}

fn parsed(text: &str) -> Result<Filter, Error> {
    let tokens = tokens(text)?;
    let mut parser = Parser {
        tokens,
        at: 0,
        depth: 0,
    };
    if parser.peek().kind == TokenKind::End {
        return Err(Error::new("an empty filter", 0, text.len()));
    }
    let filter = parser.any_of()?;
    let rest = parser.peek();
    if rest.kind != TokenKind::End {
        return Err(parser.unexpected("the end, or and, or"));
    }
    Ok(filter)
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
}

const END: &Token = &Token {
    kind: TokenKind::End,
    start: 0,
    end: 0,
};

impl Parser {
    fn peek(&self) -> &Token {
        self.tokens
            .get(self.at)
            .or(self.tokens.last())
            .unwrap_or(END)
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at = self.at.saturating_add(1);
        token
    }

    /// Takes one of these signs or words, and returns it.
    fn take(&mut self, known: &[&'static str]) -> Option<&'static str> {
        let found = match &self.peek().kind {
            TokenKind::Sign(sign) => known.iter().find(|known| *known == sign),
            TokenKind::Word(word) => known.iter().find(|known| known.eq_ignore_ascii_case(word)),
            _ => None,
        }?;
        self.at = self.at.saturating_add(1);
        Some(found)
    }

    fn expect(&mut self, sign: &'static str) -> Result<(), Error> {
        match self.take(&[sign]) {
            Some(_) => Ok(()),
            None => Err(self.unexpected(&format!("'{sign}'"))),
        }
    }

    fn unexpected(&self, wanted: &str) -> Error {
        let token = self.peek();
        let found = match &token.kind {
            TokenKind::End => "the end".to_owned(),
            TokenKind::Sign(sign) => format!("'{sign}'"),
            TokenKind::Word(word) => word.clone(),
            TokenKind::Text(_) => "a text".to_owned(),
            TokenKind::Character(_) => "a character".to_owned(),
        };
        Error::new(
            format!("expected {wanted}, found {found}"),
            token.start,
            token.end,
        )
    }

    /// One level deeper, until `work` is done.
    fn deeper<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        if self.depth >= DEPTH_MAX {
            let token = self.peek();
            return Err(Error::new(
                format!("more than {DEPTH_MAX} levels of parentheses"),
                token.start,
                token.end,
            ));
        }
        self.depth += 1;
        let outcome = work(self);
        self.depth -= 1;
        outcome
    }

    fn any_of(&mut self) -> Result<Filter, Error> {
        let mut parts = vec![self.all_of()?];
        while self.take(&["or", "||"]).is_some() {
            parts.push(self.all_of()?);
        }
        if matches!(self.peek().kind, TokenKind::Sign("^^")) || self.is_word("xor") {
            return Err(self
                .unexpected("and, or")
                .with_hint("write (a and not b) or (not a and b)"));
        }
        Ok(one_or(parts, Filter::Or))
    }

    fn all_of(&mut self) -> Result<Filter, Error> {
        let mut parts = vec![self.negated()?];
        while self.take(&["and", "&&"]).is_some() {
            parts.push(self.negated()?);
        }
        Ok(one_or(parts, Filter::And))
    }

    fn negated(&mut self) -> Result<Filter, Error> {
        if self.take(&["not", "!"]).is_some() {
            let inner = self.deeper(Self::negated)?;
            return Ok(Filter::Not(Box::new(inner)));
        }
        if matches!(self.peek().kind, TokenKind::Sign("(")) {
            // A condition, unless it is a calculation such as (tcp.flags & 2) == 2.
            if !self.is_calculation() {
                self.at += 1;
                let inner = self.deeper(Self::any_of)?;
                self.expect(")")?;
                return Ok(inner);
            }
        }
        self.test()
    }

    /// Whether the parentheses that open here hold a number that is calculated: no relation stands in them, and
    /// what follows them makes a value of them.
    fn is_calculation(&self) -> bool {
        let mut open = 0_usize;
        for (at, token) in self.tokens.iter().enumerate().skip(self.at) {
            match &token.kind {
                TokenKind::Sign("(") => open += 1,
                TokenKind::Sign(")") => {
                    open = open.saturating_sub(1);
                    if open == 0 {
                        return self
                            .tokens
                            .get(at + 1)
                            .is_some_and(|next| match &next.kind {
                                TokenKind::Sign("&" | "+" | "-" | "*" | "/" | "%") => true,
                                TokenKind::Word(word) => {
                                    word.eq_ignore_ascii_case("bitwise_and")
                                        || is_relation(&next.kind)
                                }
                                _ => is_relation(&next.kind),
                            });
                    }
                }
                TokenKind::Sign("&&" | "||" | "!") | TokenKind::End => return false,
                TokenKind::Word(word) if ["and", "or", "not"].contains(&word.as_str()) => {
                    return false;
                }
                kind if is_relation(kind) => return false,
                _ => {}
            }
        }
        false
    }

    fn is_word(&self, wanted: &str) -> bool {
        matches!(&self.peek().kind, TokenKind::Word(word) if word.eq_ignore_ascii_case(wanted))
    }

    /// A comparison, a set, or a name alone.
    fn test(&mut self) -> Result<Filter, Error> {
        let followed_by_name = matches!(
            self.tokens.get(self.at + 1).map(|token| &token.kind),
            Some(TokenKind::Word(word)) if relation(&word.to_ascii_lowercase()).is_none() && !word.eq_ignore_ascii_case("in")
        );
        let quantifier = match followed_by_name {
            true => self.take(&["any", "all"]).map(|word| match word {
                "all" => Quantifier::All,
                _ => Quantifier::Any,
            }),
            false => None,
        };
        let left = self.operand()?;
        let is_not = self.is_word("not") || self.peek().kind == TokenKind::Sign("!");
        let is_not_in = is_not
            && matches!(
                self.tokens.get(self.at + 1).map(|token| &token.kind),
                Some(TokenKind::Word(word)) if word.eq_ignore_ascii_case("in")
            );
        if is_not_in {
            self.at += 1;
        }
        if self.take(&["in"]).is_some() {
            let set = self.set()?;
            let within = Filter::In {
                // Of values that are all outside of a set, none is in it.
                quantifier: quantifier.filter(|_| !is_not_in).unwrap_or(Quantifier::Any),
                operand: left,
                set,
            };
            return Ok(match is_not_in {
                true => Filter::Not(Box::new(within)),
                false => within,
            });
        }
        let Some((relation, usual)) = self.relation() else {
            return Ok(Filter::Exists(left));
        };
        let right = self.operand()?;
        // a < b < c is a < b and b < c.
        let mut chain = vec![Filter::Compare {
            quantifier: quantifier.unwrap_or(usual),
            left,
            relation,
            right: right.clone(),
        }];
        let mut before = right;
        while let Some((relation, usual)) = self.relation() {
            let right = self.operand()?;
            chain.push(Filter::Compare {
                quantifier: quantifier.unwrap_or(usual),
                left: before,
                relation,
                right: right.clone(),
            });
            before = right;
        }
        Ok(one_or(chain, Filter::And))
    }

    fn relation(&mut self) -> Option<(ComparisonOperator, Quantifier)> {
        let found = match &self.peek().kind {
            TokenKind::Sign(sign) => relation(sign),
            TokenKind::Word(word) => relation(&word.to_ascii_lowercase()),
            _ => None,
        };
        if found.is_some() {
            self.at = self.at.saturating_add(1);
        }
        found
    }

    /// `{1, 2, 5..9}`.
    fn set(&mut self) -> Result<Vec<(Operand, Option<Operand>)>, Error> {
        if self.take(&["{"]).is_none() {
            return Err(self
                .unexpected("'{'")
                .with_hint("a set is written in {80, 443, 8000..8080}"));
        }
        if matches!(self.peek().kind, TokenKind::Sign("}")) {
            return Err(self
                .unexpected("a value in the set")
                .with_hint("a set is written in {80, 443, 8000..8080}"));
        }
        let mut set = Vec::new();
        while self.take(&["}"]).is_none() {
            let first = self.operand()?;
            not_a_range(&first)?;
            let last = match self.take(&[".."]) {
                Some(_) => Some(self.operand()?),
                None => None,
            };
            set.push((first, last));
            // Commas were not needed once.
            if self.take(&[","]).is_none() && matches!(self.peek().kind, TokenKind::End) {
                return Err(self.unexpected("'}'"));
            }
        }
        Ok(set)
    }

    /// A value, where `&` binds less than `+` and `-`, and these less than `*`, `/` and `%`.
    fn operand(&mut self) -> Result<Operand, Error> {
        let mut left = self.sum()?;
        while self.take(&["&", "bitwise_and"]).is_some() {
            left = calculated(ArithmeticOperator::And, left, self.sum()?);
        }
        Ok(left)
    }

    fn sum(&mut self) -> Result<Operand, Error> {
        let mut left = self.product()?;
        loop {
            let calculation = match self.take(&["+", "-"]) {
                Some("+") => ArithmeticOperator::Add,
                Some(_) => ArithmeticOperator::Subtract,
                None => return Ok(left),
            };
            left = calculated(calculation, left, self.product()?);
        }
    }

    fn product(&mut self) -> Result<Operand, Error> {
        let mut left = self.value()?;
        loop {
            let calculation = match self.take(&["*", "/", "%"]) {
                Some("*") => ArithmeticOperator::Multiply,
                Some("/") => ArithmeticOperator::Divide,
                Some(_) => ArithmeticOperator::Remainder,
                None => return Ok(left),
            };
            left = calculated(calculation, left, self.value()?);
        }
    }

    fn value(&mut self) -> Result<Operand, Error> {
        let start = self.peek().start;
        if self.take(&["-"]).is_some() {
            // The negation of a value is 0 minus the value.
            let nothing = Operand {
                kind: OperandKind::Word("0".to_owned()),
                start,
                end: start,
            };
            let value = self.deeper(Self::value)?;
            return Ok(calculated(ArithmeticOperator::Subtract, nothing, value));
        }
        if self.take(&["+"]).is_some() {
            return self.deeper(Self::value);
        }
        // Wireshark groups calculations by braces.
        for (open, close) in [("(", ")"), ("{", "}")] {
            if self.take(&[open]).is_some() {
                let inner = self.deeper(Self::operand)?;
                self.expect(close)?;
                return self.sliced(inner);
            }
        }
        let token = self.peek().clone();
        let kind = match token.kind {
            TokenKind::Word(word) => {
                if is_reserved(&word) {
                    return Err(self.unexpected("a field or a value"));
                }
                self.at += 1;
                let word = without_dot(word);
                if matches!(self.peek().kind, TokenKind::Sign("(")) {
                    self.at += 1;
                    let arguments = self.deeper(Self::arguments)?;
                    OperandKind::Call(word, arguments)
                } else if self.take(&["#"]).is_some() {
                    OperandKind::Layer(word, self.layers()?)
                } else {
                    OperandKind::Word(word)
                }
            }
            TokenKind::Text(text) => {
                self.at += 1;
                OperandKind::Text(text)
            }
            TokenKind::Character(byte) => {
                self.at += 1;
                OperandKind::Character(byte)
            }
            TokenKind::Sign(_) | TokenKind::End => {
                return Err(self.unexpected("a field or a value"));
            }
        };
        let end = self.before().unwrap_or(token.end);
        self.sliced(Operand {
            kind,
            start: token.start,
            end,
        })
    }

    /// The end of the word before this position.
    fn before(&self) -> Option<usize> {
        let at = self.at.checked_sub(1)?;
        self.tokens.get(at).map(|token| token.end)
    }

    /// The numbers behind `#`, of headers of a kind: `2`, `[1-2,-1]`.
    fn layers(&mut self) -> Result<Vec<Range>, Error> {
        if self.take(&["["]).is_some() {
            return self.ranges();
        }
        let first = self.layer()?;
        let end = RangeEnd::Length(1);
        Ok(vec![Range { first, end }])
    }

    /// The number behind `#`: which header of its kind.
    fn layer(&mut self) -> Result<i32, Error> {
        match self.next() {
            Token {
                kind: TokenKind::Word(number),
                start,
                end,
            } => number
                .parse()
                .ok()
                .filter(|number| *number > 0)
                .ok_or_else(|| {
                    Error::new("the number of a header starts at 1", start, end)
                        .with_hint("ip.src#2 is ip.src of the second IP header")
                }),
            other => Err(Error::new(
                "a header number follows #",
                other.start,
                other.end,
            )),
        }
    }

    fn arguments(&mut self) -> Result<Vec<Operand>, Error> {
        let mut arguments = Vec::new();
        if self.take(&[")"]).is_some() {
            return Ok(arguments);
        }
        loop {
            arguments.push(self.operand()?);
            if self.take(&[","]).is_some() {
                continue;
            }
            self.expect(")")?;
            return Ok(arguments);
        }
    }

    fn sliced(&mut self, operand: Operand) -> Result<Operand, Error> {
        let mut operand = operand;
        let mut slices = 0;
        while self.take(&["["]).is_some() {
            slices += 1;
            if slices > DEPTH_MAX {
                return Err(self.unexpected("fewer nested slices"));
            }
            let ranges = self.ranges()?;
            let end = self.before().unwrap_or(operand.end);
            operand = Operand {
                start: operand.start,
                end,
                kind: OperandKind::Slice(Box::new(operand), ranges),
            };
        }
        Ok(operand)
    }

    /// The ranges up to the bracket that closes.
    fn ranges(&mut self) -> Result<Vec<Range>, Error> {
        let mut ranges = Vec::new();
        loop {
            ranges.push(self.range()?);
            if self.take(&[","]).is_none() {
                self.expect("]")?;
                return Ok(ranges);
            }
        }
    }

    /// `2`, `2:3` (three bytes from the second), `2-4`, `:3`, `2:`, `-2`. The words of it hold its colons and
    /// some of its hyphens.
    fn range(&mut self) -> Result<Range, Error> {
        let start = self.peek().start;
        let mut text = String::new();
        let mut end = start;
        while let Token {
            kind: TokenKind::Word(_) | TokenKind::Sign("-"),
            ..
        } = self.peek()
        {
            let token = self.next();
            end = token.end;
            match token.kind {
                TokenKind::Word(word) => text.push_str(&word),
                _ => text.push('-'),
            }
        }
        // A colon in front of all is no word.
        read_range(&text).ok_or_else(|| {
            Error::new(
                "a slice is [2], [2:3], [2-4], [:3] or [2:]",
                start,
                end.max(start),
            )
            .with_hint("[2:3] is three bytes from the third on; [2-4] the third to the fifth byte")
        })
    }
}

/// The name of a field without the dot in front of it, by which Wireshark tells it from a value: `.tcp.port`.
fn without_dot(word: String) -> String {
    match word.strip_prefix('.') {
        Some(name) if name.starts_with(|first: char| first.is_ascii_alphabetic()) => {
            name.to_owned()
        }
        _ => word,
    }
}

/// Refuses `1-5` in a set, which is a difference, and was meant as a range.
fn not_a_range(operand: &Operand) -> Result<(), Error> {
    let OperandKind::Calculated(ArithmeticOperator::Subtract, left, right) = &operand.kind else {
        return Ok(());
    };
    let is_number = |side: &Operand| matches!(&side.kind, OperandKind::Word(word) if word.starts_with(|c: char| c.is_ascii_digit()));
    // A difference that is meant has spaces around its sign.
    if !is_number(left) || !is_number(right) || left.end + 1 != right.start {
        return Ok(());
    }
    let error = Error::new(
        "a range in a set is written with two dots",
        operand.start,
        operand.end,
    );
    Err(error.with_hint("tcp.port in {80, 8000..8080}"))
}

fn read_range(text: &str) -> Option<Range> {
    if let Some((first, length)) = text.split_once(':') {
        let first = if first.is_empty() { 0 } else { offset(first)? };
        let end = match length {
            "" => RangeEnd::Open,
            length => {
                let length = u32::try_from(offset(length)?).ok();
                RangeEnd::Length(length.filter(|length| *length > 0)?)
            }
        };
        return Some(Range { first, end });
    }
    let body = text.strip_prefix('-').unwrap_or(text);
    let sign = text.len() - body.len();
    if let Some(hyphen) = body.find('-') {
        let hyphen = hyphen + sign;
        let first = offset(text.get(..hyphen)?)?;
        let last = offset(text.get(hyphen + 1..)?)?;
        // The first of both is not behind the last one, and both count from the same side.
        if (first < 0) != (last < 0) || first > last {
            return None;
        }
        return Some(Range {
            first,
            end: RangeEnd::Last(last),
        });
    }
    let first = offset(text)?;
    Some(Range {
        first,
        end: RangeEnd::Length(1),
    })
}

/// Reads an offset as Wireshark does: in hexadecimal behind `0x`, in octal behind another `0`, otherwise in decimal.
fn offset(text: &str) -> Option<i32> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text),
    };
    let (radix, digits) = match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        Some(digits) => (16, digits),
        None if digits.len() > 1 && digits.starts_with('0') => (8, digits),
        None => (10, digits),
    };
    // No number begins with a second sign.
    if !digits.starts_with(|first: char| first.is_ascii_hexdigit()) {
        return None;
    }
    i32::from_str_radix(digits, radix).ok()?.checked_mul(sign)
}

fn one_or(mut parts: Vec<Filter>, of: impl FnOnce(Vec<Filter>) -> Filter) -> Filter {
    match parts.len() {
        1 => parts.remove(0),
        _ => of(parts),
    }
}

fn calculated(calculation: ArithmeticOperator, left: Operand, right: Operand) -> Operand {
    Operand {
        start: left.start,
        end: right.end,
        kind: OperandKind::Calculated(calculation, Box::new(left), Box::new(right)),
    }
}

/// A relation, and its quantifier where the filter has neither `any` nor `all` in front.
fn relation(sign: &str) -> Option<(ComparisonOperator, Quantifier)> {
    use Quantifier::{All, Any};
    Some(match sign {
        "==" | "eq" | "any_eq" | "=" => (ComparisonOperator::Equal, Any),
        "===" | "all_eq" => (ComparisonOperator::Equal, All),
        "!=" | "ne" | "all_ne" => (ComparisonOperator::NotEqual, All),
        "!==" | "~=" | "any_ne" => (ComparisonOperator::NotEqual, Any),
        ">" | "gt" => (ComparisonOperator::Greater, Any),
        ">=" | "ge" => (ComparisonOperator::GreaterOrEqual, Any),
        "<" | "lt" => (ComparisonOperator::Less, Any),
        "<=" | "le" => (ComparisonOperator::LessOrEqual, Any),
        "contains" => (ComparisonOperator::Contains, Any),
        "~" | "matches" => (ComparisonOperator::Matches, Any),
        _ => return None,
    })
}

fn is_relation(kind: &TokenKind) -> bool {
    match kind {
        TokenKind::Sign(sign) => relation(sign).is_some(),
        TokenKind::Word(word) => {
            let word = word.to_ascii_lowercase();
            word == "in" || relation(&word).is_some()
        }
        _ => false,
    }
}

fn is_reserved(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    relation(&word).is_some()
        || ["and", "bitwise_and", "or", "in", "not", "xor"].contains(&word.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A filter in a form in which one sees what binds to what.
    fn shown(filter: &Filter) -> String {
        let join = |parts: &[Filter], word: &str| {
            let parts: Vec<String> = parts.iter().map(shown).collect();
            format!("({})", parts.join(word))
        };
        match filter {
            Filter::And(parts) => join(parts, " & "),
            Filter::Or(parts) => join(parts, " | "),
            Filter::Not(inner) => format!("!{}", shown(inner)),
            Filter::Exists(operand) => value(operand),
            Filter::Compare {
                quantifier,
                left,
                relation,
                right,
            } => format!(
                "{quantifier:?}.{relation:?}[{} {}]",
                value(left),
                value(right)
            ),
            Filter::In {
                quantifier,
                operand,
                set,
            } => {
                let set = set.iter().map(|(first, last)| match last {
                    Some(last) => format!("{}..{}", value(first), value(last)),
                    None => value(first),
                });
                format!(
                    "{quantifier:?}.In[{} {{{}}}]",
                    value(operand),
                    set.collect::<Vec<_>>().join(",")
                )
            }
        }
    }

    fn value(operand: &Operand) -> String {
        match &operand.kind {
            OperandKind::Word(word) => word.clone(),
            OperandKind::Layer(word, ranges) => format!("{word}#[{}]", shown_ranges(ranges)),
            OperandKind::Text(text) => format!("{:?}", String::from_utf8_lossy(text)),
            OperandKind::Character(byte) => format!("'{}'", char::from(*byte)),
            OperandKind::Slice(of, ranges) => format!("{}[{}]", value(of), shown_ranges(ranges)),
            OperandKind::Call(name, arguments) => {
                let arguments: Vec<String> = arguments.iter().map(value).collect();
                format!("{name}({})", arguments.join(","))
            }
            OperandKind::Calculated(calculation, left, right) => {
                format!("{calculation:?}({},{})", value(left), value(right))
            }
        }
    }

    fn shown_ranges(ranges: &[Range]) -> String {
        let ranges = ranges.iter().map(|range| match range.end {
            RangeEnd::Length(length) => format!("{}:{length}", range.first),
            RangeEnd::Last(last) => format!("{}-{last}", range.first),
            RangeEnd::Open => format!("{}:", range.first),
        });
        ranges.collect::<Vec<_>>().join(",")
    }

    #[test]
    fn filters_are_read_as_wireshark_reads_them() {
        for (text, tree) in [
            ("tcp", "tcp"),
            (
                "tcp.port == 443 && ip.addr == 10.0.0.0/8 and not dns",
                "(Any.Equal[tcp.port 443] & Any.Equal[ip.addr 10.0.0.0/8] & !dns)",
            ),
            ("a || b && c", "(a | (b & c))"),
            ("(a or b) and c", "((a | b) & c)"),
            ("!a and b", "(!a & b)"),
            ("!(a and b)", "!(a & b)"),
            ("ip.addr != 1.2.3.4", "All.NotEqual[ip.addr 1.2.3.4]"),
            ("ip.addr ~= 1.2.3.4", "Any.NotEqual[ip.addr 1.2.3.4]"),
            ("ip.addr === 1.2.3.4", "All.Equal[ip.addr 1.2.3.4]"),
            ("all ip.addr > 1.2.3.4", "All.Greater[ip.addr 1.2.3.4]"),
            (
                "tcp.port in {80, 443, 8000..8080}",
                "Any.In[tcp.port {80,443,8000..8080}]",
            ),
            ("tcp.port in {80 443}", "Any.In[tcp.port {80,443}]"),
            ("tcp.port not in {80}", "!Any.In[tcp.port {80}]"),
            (
                "ip.src in {10.0.0.0 .. 10.0.0.9}",
                "Any.In[ip.src {10.0.0.0..10.0.0.9}]",
            ),
            (
                "eth.src[0:3] == 00:06:5b",
                "Any.Equal[eth.src[0:3] 00:06:5b]",
            ),
            ("eth.src[1-2] == 00-06", "Any.Equal[eth.src[1-2] 00-06]"),
            ("eth.src[:4] eq 0:1", "Any.Equal[eth.src[0:4] 0:1]"),
            ("eth.src[4:]==1", "Any.Equal[eth.src[4:] 1]"),
            ("frame[-4:2] == 1", "Any.Equal[frame[-4:2] 1]"),
            ("frame[-2] == 1", "Any.Equal[frame[-2:1] 1]"),
            ("frame[0,2-3,5:] == 1", "Any.Equal[frame[0:1,2-3,5:] 1]"),
            ("frame[0xe:0x2] == 45:00", "Any.Equal[frame[14:2] 45:00]"),
            ("frame[010-0X0b] == 1", "Any.Equal[frame[8-11] 1]"),
            (".tcp.port == +5060", "Any.Equal[tcp.port 5060]"),
            ("a - +b in {5 - 1}", "Any.In[Subtract(a,b) {Subtract(5,1)}]"),
            (
                "frame.time > 2026-11-03",
                "Any.Greater[frame.time 2026-11-03]",
            ),
            ("a == 2026-11", "Any.Equal[a Subtract(2026,11)]"),
            ("tcp.flags & 0x12", "And(tcp.flags,0x12)"),
            ("tcp.flags bitwise_and 0x12", "And(tcp.flags,0x12)"),
            (
                "(tcp.flags & 0x12) == 0x12",
                "Any.Equal[And(tcp.flags,0x12) 0x12]",
            ),
            ("ip.len - 20 > 5", "Any.Greater[Subtract(ip.len,20) 5]"),
            ("a & 3 + 1 == 4", "Any.Equal[And(a,Add(3,1)) 4]"),
            ("a - 1 & 7", "And(Subtract(a,1),7)"),
            ("{a & 3} + 1 == {b}", "Any.Equal[Add(And(a,3),1) b]"),
            (
                "a in {{b + 1} * 2, 3}",
                "Any.In[a {Multiply(Add(b,1),2),3}]",
            ),
            ("len(udp.payload) > 5", "Any.Greater[len(udp.payload) 5]"),
            (
                "lower(sip.Method) == \"invite\"",
                "Any.Equal[lower(sip.Method) \"invite\"]",
            ),
            (
                "frame contains \"a\\x41\\\"b\"",
                "Any.Contains[frame \"aA\\\"b\"]",
            ),
            ("frame contains 0d:0a", "Any.Contains[frame 0d:0a]"),
            ("frame contains :0d", "Any.Contains[frame :0d]"),
            ("frame matches r\"a\\d\"", "Any.Matches[frame \"a\\\\d\"]"),
            (
                "frame contains \"\\0\\1\\x1\\'\\\\\"",
                "Any.Contains[frame \"\\0\\u{1}\\u{1}'\\\\\"]",
            ),
            ("frame ~ \"x\"", "Any.Matches[frame \"x\"]"),
            ("ip.src#2 == 1.2.3.4", "Any.Equal[ip.src#[2:1] 1.2.3.4]"),
            ("ip#[2][0] == 45", "Any.Equal[ip#[2:1][0:1] 45]"),
            ("ip#[1-2,-1,3:,-2:2]", "ip#[1-2,-1:1,3:,-2:2]"),
            ("ipv6.addr == ::1", "Any.Equal[ipv6.addr ::1]"),
            ("ipv6.addr == fe80::/10", "Any.Equal[ipv6.addr fe80::/10]"),
            (
                "eth.addr == 00-11-22-33-44-55",
                "Any.Equal[eth.addr 00-11-22-33-44-55]",
            ),
            ("x == -5", "Any.Equal[x -5]"),
            ("-frame.len < -5", "Any.Less[Subtract(0,frame.len) -5]"),
            ("a - -b == 1", "Any.Equal[Subtract(a,Subtract(0,b)) 1]"),
            ("-a * b > 0", "Any.Greater[Multiply(Subtract(0,a),b) 0]"),
            ("-(a + 1) < 0", "Any.Less[Subtract(0,Add(a,1)) 0]"),
            (
                "1 < frame.len < 9",
                "(Any.Less[1 frame.len] & Any.Less[frame.len 9])",
            ),
            ("TCP AND UDP", "(TCP & UDP)"),
            ("a ! in {1} or !a", "(!Any.In[a {1}] | !a)"),
            ("all a not in {1}", "!Any.In[a {1}]"),
            ("not all a in {1}", "!All.In[a {1}]"),
            ("sip.Call-ID == \"x\"", "Any.Equal[sip.Call-ID \"x\"]"),
            ("udp[8] == 'A'", "Any.Equal[udp[8:1] 'A']"),
        ] {
            match parse(text) {
                Ok(filter) => assert_eq!(shown(&filter), tree, "{text}"),
                Err(error) => panic!("{text}: {error} at {}", error.start),
            }
        }
    }

    #[test]
    fn errors_name_their_place() {
        for (text, message, start) in [
            ("", "an empty filter", 0),
            ("tcp and", "expected a field or a value, found the end", 7),
            ("tcp udp", "expected the end, or and, or, found udp", 4),
            ("(tcp", "expected ')', found the end", 4),
            ("{a + 1 == 2", "expected '}', found '=='", 7),
            ("tcp.port in 80", "expected '{', found 80", 12),
            ("tcp.port in {80", "expected '}', found the end", 15),
            (
                "tcp.port in {}",
                "expected a value in the set, found '}'",
                13,
            ),
            ("frame contains \"x", "the text is not closed", 15),
            ("http.host == 'ab'", "single quotes hold one character", 13),
            ("frame contains \"x\\", "the text is not closed", 15),
            ("frame matches \"a\\.b\"", "\\. is not an escape", 16),
            ("frame matches \"\\d+\"", "\\d is not an escape", 15),
            ("frame contains \"\\é\"", "\\é is not an escape", 16),
            ("frame contains \"\\x\"", "\\x is not an escape", 16),
            ("frame contains \"\\u12\"", "\\u12 is not an escape", 16),
            ("frame contains \"\\400\"", "\\400 is not an escape", 16),
            (
                "eth.src[x] == 1",
                "a slice is [2], [2:3], [2-4], [:3] or [2:]",
                8,
            ),
            (
                "tcp.port == ",
                "expected a field or a value, found the end",
                12,
            ),
            ("tcp xor udp", "expected and, or, found xor", 4),
            ("$x", "unexpected character '$'", 0),
            ("ip.src#0 == 1", "the number of a header starts at 1", 7),
            ("ip.src#[2", "expected ']', found the end", 9),
            (
                "ip.src#[2-1] == 1",
                "a slice is [2], [2:3], [2-4], [:3] or [2:]",
                8,
            ),
            (
                "frame[1--1] == 1",
                "a slice is [2], [2:3], [2-4], [:3] or [2:]",
                6,
            ),
            (
                "frame[08] == 1",
                "a slice is [2], [2:3], [2-4], [:3] or [2:]",
                6,
            ),
            (
                "tcp.port in {80, 1-5}",
                "a range in a set is written with two dots",
                17,
            ),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!(
                (error.message.as_str(), error.start),
                (message, start),
                "{text}"
            );
        }
        let error = parse("tcp.port in 80").unwrap_err();
        assert_eq!(
            error.with_caret("tcp.port in 80"),
            "tcp.port in 80\n            ^^"
        );
    }

    #[test]
    fn nesting_has_an_end_and_no_prefix_panics() {
        for text in [
            "(".repeat(5_000),
            "!".repeat(5_000),
            "f(".repeat(5_000),
            "(a&".repeat(200),
            "{".repeat(5_000),
        ] {
            assert!(parse(&text).is_err());
        }
        let text = "!(eth.src[0:3,-2] == \"\\x41\\u00e4\" || tcp.port in {1..2, 'a'}) and é & 3 == f(x, -1)";
        for (end, _) in text.char_indices() {
            let _ = parse(&text[..end]);
        }
    }
}
