//! About how much there is to compile of regular expressions: `'x' ~ '\w{299}'` takes 0.2 s and 10 MiB, and a statement has room for
//! thousands of them.
//!
//! Compiling stops at 10 MiB of one program, and nothing adds up those of a statement: they are compiled while it is planned,
//! where it is not ended. The text of a pattern is looked through once, without a tree of it: in one of the size of a statement
//! each `\w` would take some KiB.

use datafusion::logical_expr::{BinaryExpr, Cast, Expr, Like, Operator, TryCast};

/// The weight of the pattern that an expression compiles, some microseconds of compiling for a thousand; 0 where it compiles none.
pub(crate) fn weight(expr: &Expr) -> usize {
    let (pattern, of_text): (_, fn(&str) -> usize) = match expr {
        Expr::BinaryExpr(BinaryExpr { op, right, .. }) if is_match(*op) => (right, of_pattern),
        Expr::BinaryExpr(BinaryExpr { op, right, .. }) if is_like(*op) => (right, of_like),
        Expr::Like(Like { pattern, .. }) => (pattern, of_like),
        Expr::SimilarTo(Like { pattern, .. }) => (pattern, of_pattern),
        Expr::ScalarFunction(call) if call.name().starts_with("regexp_") => {
            return call
                .args
                .get(1)
                .map_or(0, |pattern| of_expression(pattern, of_pattern));
        }
        _ => return 0,
    };
    of_expression(pattern, of_text)
}

fn of_expression(pattern: &Expr, of_text: fn(&str) -> usize) -> usize {
    match uncast(pattern) {
        Expr::Literal(value, _) => value.try_as_str().flatten().map_or(0, of_text),
        pattern if pattern.column_refs().is_empty() => UNKNOWN_WEIGHT,
        // Patterns of rows are compiled while the statement runs.
        _ => 0,
    }
}

fn uncast(expr: &Expr) -> &Expr {
    match expr {
        Expr::Cast(Cast { expr, .. }) | Expr::TryCast(TryCast { expr, .. }) => uncast(expr),
        expr => expr,
    }
}

const fn is_match(operator: Operator) -> bool {
    matches!(
        operator,
        Operator::RegexMatch
            | Operator::RegexIMatch
            | Operator::RegexNotMatch
            | Operator::RegexNotIMatch
    )
}

const fn is_like(operator: Operator) -> bool {
    matches!(
        operator,
        Operator::LikeMatch
            | Operator::ILikeMatch
            | Operator::NotLikeMatch
            | Operator::NotILikeMatch
    )
}

/// The weight of a pattern of LIKE, which is compiled as a regular expression where wildcards stand within it.
pub fn of_like(pattern: &str) -> usize {
    let within = pattern.strip_prefix('%').unwrap_or(pattern);
    let within = within.strip_suffix('%').unwrap_or(within);
    if !within.contains(['%', '_', '\\']) {
        return 0;
    }
    let weights = within.chars().map(|letter| match letter {
        '%' | '_' => DOT_WEIGHT,
        other => other.len_utf8(),
    });
    weights.fold(0, usize::saturating_add)
}

/// The weight of a pattern: of its characters and classes, each as often as it is repeated by number.
pub fn of_pattern(pattern: &str) -> usize {
    let mut sums = Sums::default();
    let mut letters = pattern.chars().peekable();
    let mut classes = 0_usize;
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => {
                let escaped = letters.next();
                if matches!(escaped, Some('p' | 'P')) {
                    letters.next_if(|letter| *letter != '{');
                }
                let is_class = escaped.is_some_and(|letter| "wWdDsSbBpP".contains(letter));
                sums.add(if is_class { CLASS_WEIGHT } else { 1 });
            }
            '[' => {
                sums.open();
                classes += 1;
                letters.next_if_eq(&'^');
                // A bracket that comes first is a member.
                if letters.next_if_eq(&']').is_some() {
                    sums.add(1);
                }
            }
            ']' if classes > 0 => {
                sums.close();
                classes -= 1;
            }
            '(' if classes == 0 => sums.open(),
            ')' if classes == 0 => sums.close(),
            '{' if classes == 0 => {
                let inner = std::iter::from_fn(|| letters.next_if(|letter| *letter != '}'));
                sums.repeat(times(&inner.collect::<String>()));
                letters.next_if_eq(&'}');
            }
            '*' | '+' | '?' if classes == 0 => {}
            '.' if classes == 0 => sums.add(DOT_WEIGHT),
            other => sums.add(other.len_utf8()),
        }
    }
    let verbose = if is_verbose(pattern) {
        UNKNOWN_WEIGHT
    } else {
        0
    };
    sums.all().saturating_add(verbose)
}

/// The sum of each open group, and the weight of what stands last in it.
struct Sums(Vec<(usize, usize)>);

impl Default for Sums {
    fn default() -> Self {
        Self(vec![(0, 0)])
    }
}

impl Sums {
    fn add(&mut self, weight: usize) {
        if let Some((sum, last)) = self.0.last_mut() {
            *sum = sum.saturating_add(weight);
            *last = weight;
        }
    }

    fn open(&mut self) {
        self.0.push((0, 0));
    }

    /// Closes a group, which stands in the one around it as a whole.
    fn close(&mut self) {
        if self.0.len() > 1
            && let Some((sum, _)) = self.0.pop()
        {
            self.add(sum);
        }
    }

    fn repeat(&mut self, times: usize) {
        if let Some((sum, last)) = self.0.last_mut() {
            let repeated = last.saturating_mul(times);
            *sum = sum.saturating_add(repeated.saturating_sub(*last));
            *last = repeated.max(1);
        }
    }

    fn all(&self) -> usize {
        let sums = self.0.iter().map(|(sum, _)| *sum);
        sums.fold(0, usize::saturating_add)
    }
}

/// Whether some flag lets blanks and comments stand between what is repeated and how often.
fn is_verbose(pattern: &str) -> bool {
    let flags = pattern.split("(?").skip(1);
    let mut flags = flags.map(|rest| rest.split([')', ':', '<']).next().unwrap_or_default());
    flags.any(|flags| flags.contains('x'))
}

/// The larger number of `2,5`; 1 for what is no number, such as the name of a class.
fn times(inner: &str) -> usize {
    let numbers = inner
        .split(',')
        .map(|number| number.trim().parse::<usize>());
    numbers.map(|number| number.unwrap_or(1)).max().unwrap_or(1)
}

/// Letters of all scripts: hundreds of ranges.
const CLASS_WEIGHT: usize = 800;
/// All characters in UTF-8.
const DOT_WEIGHT: usize = 10;
/// The weight of a pattern that an expression without columns makes: as much as one has that is just not too large.
const UNKNOWN_WEIGHT: usize = 1 << 18;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_weigh_what_is_repeated_as_often() {
        for (pattern, weight) in [
            ("", 0),
            ("abc", 3),
            (r"\w", 800),
            (r"\w{10}", 8000),
            (r"\w{2,10}", 8000),
            (r"\w{2,}x", 1601),
            (r"(ab{3}){10}", 40),
            (r"(a{1000}){1000}", 1_000_000),
            (r"a{10}{10}", 100),
            (r"a+{10}", 10),
            (r"[a-z]{10}x{3}", 33),
            (r"[]\w]{10}", 8010),
            (r"[^]\w]{10}", 8010),
            (r"[(.{3}]{10}", 50),
            (r"\p{Greek}\{3", 802),
            (r"\pL{10}", 8000),
            ("a.b", 12),
            ("(?:a|bc)", 5),
            ("((((", 0),
            ("))))", 0),
            ("{9}", 0),
            ("a{99999999999999999999999}", 1),
            (r"(?x)a {3}", UNKNOWN_WEIGHT + 5),
        ] {
            assert_eq!(of_pattern(pattern), weight, "{pattern}");
        }
        let nested = format!("{}a{}", "(".repeat(100), "){9}".repeat(100));
        assert_eq!(of_pattern(&nested), usize::MAX);
        for (pattern, weight) in [
            ("", 0),
            ("%", 0),
            ("%abc%", 0),
            ("abc%", 0),
            ("a_c", 12),
            ("%a%b%", 12),
            ("%%a", 11),
            (r"a\%", 2),
            ("%%%%", 20),
        ] {
            assert_eq!(of_like(pattern), weight, "{pattern}");
        }
        assert_eq!(of_like(&"_".repeat(100_000)), 1_000_000);
        // Addresses in digits are light.
        assert!(of_pattern(r"\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}") < 10_000);
    }
}
