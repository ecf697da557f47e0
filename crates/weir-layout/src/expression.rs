//! Expressions over fields that were read before: parsed once into postfix operations, evaluated
//! over 64-bit signed numbers with checked arithmetic and without allocation.

use super::parser::{Binary, Op, STACK_MAX};

/// An expression ready to be evaluated. The frequent small forms have an arm of their own.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expr {
    /// Always this number.
    Const(i64),
    /// The value of a field.
    Field(u16),
    /// A field compared with a number.
    Compare {
        field: u16,
        test: Binary,
        value: i64,
    },
    /// Anything else.
    Program(Box<[Op]>),
}

/// The reason why an expression has no value for a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EvalError {
    /// A field that it needs is absent from the record, or holds no number.
    Absent,
    /// A field that it needs lies behind the end of the bytes; this many would be needed.
    Cut(usize),
    /// The result does not fit 64 bits, or a division by zero.
    Arithmetic,
}

/// The values that expressions read.
pub(super) trait FieldScope {
    /// The value of a field that was read before.
    fn field(&self, field: u16) -> Result<i64, EvalError>;
    /// Length of the record in bytes.
    fn record_len(&self) -> i64;
}

impl Expr {
    /// Picks the arm for `ops`, which [`parse`](super::parser::parse) made.
    pub(super) fn from_ops(ops: &[Op]) -> Result<Self, EvalError> {
        Ok(match *ops {
            [Op::Const(value)] => Self::Const(value),
            [Op::Field(field)] => Self::Field(field),
            [Op::Field(field), Op::Const(value), Op::Binary(test)] if test.is_comparison() => {
                Self::Compare { field, test, value }
            }
            _ if ops
                .iter()
                .any(|op| matches!(op, Op::Field(_) | Op::RecordLen)) =>
            {
                Self::Program(ops.into())
            }
            _ => Self::Const(run(ops, &Nothing)?),
        })
    }

    /// The fields that the expression looks at.
    pub(super) fn fields(&self) -> impl Iterator<Item = u16> {
        let (one, ops): (_, &[Op]) = match self {
            Self::Const(_) => (None, &[]),
            Self::Field(field) | Self::Compare { field, .. } => (Some(*field), &[]),
            Self::Program(ops) => (None, ops),
        };
        one.into_iter().chain(ops.iter().filter_map(|op| match op {
            Op::Field(field) => Some(*field),
            _ => None,
        }))
    }

    /// Returns true when the expression uses the length of the record.
    pub(super) fn needs_record_len(&self) -> bool {
        matches!(self, Self::Program(ops) if ops.contains(&Op::RecordLen))
    }

    #[inline]
    pub(super) fn evaluate(&self, scope: &impl FieldScope) -> Result<i64, EvalError> {
        match self {
            Self::Const(value) => Ok(*value),
            Self::Field(field) => scope.field(*field),
            Self::Compare { field, test, value } => test.apply(scope.field(*field)?, *value),
            Self::Program(ops) => run(ops, scope),
        }
    }

    /// Evaluates the expression as a condition: absent fields make it false.
    #[inline]
    pub(super) fn holds(&self, scope: &impl FieldScope) -> Result<bool, EvalError> {
        match self.evaluate(scope) {
            Ok(value) => Ok(value != 0),
            Err(EvalError::Absent) => Ok(false),
            Err(trouble) => Err(trouble),
        }
    }
}

/// The scope of an expression without fields.
struct Nothing;

impl FieldScope for Nothing {
    fn field(&self, _: u16) -> Result<i64, EvalError> {
        Err(EvalError::Absent)
    }

    fn record_len(&self) -> i64 {
        0
    }
}

fn run(ops: &[Op], scope: &impl FieldScope) -> Result<i64, EvalError> {
    let mut stack = Stack {
        values: [0; STACK_MAX],
        len: 0,
    };
    let mut at = 0;
    while let Some(op) = ops.get(at) {
        at += 1;
        match *op {
            Op::Const(value) => stack.push(value)?,
            Op::Field(field) => stack.push(scope.field(field)?)?,
            Op::RecordLen => stack.push(scope.record_len())?,
            Op::Negate => {
                let value = stack.pop()?;
                stack.push(value.checked_neg().ok_or(EvalError::Arithmetic)?)?;
            }
            Op::Not => {
                let value = stack.pop()?;
                stack.push(i64::from(value == 0))?;
            }
            Op::Truth => {
                let value = stack.pop()?;
                stack.push(i64::from(value != 0))?;
            }
            // Both leave the deciding value for `Truth`, or drop it and go on to the other side.
            Op::UnlessZero(target) => {
                let value = stack.pop()?;
                if value == 0 {
                    stack.push(value)?;
                    at = usize::from(target);
                }
            }
            Op::IfZero(target) => {
                let value = stack.pop()?;
                if value != 0 {
                    stack.push(value)?;
                    at = usize::from(target);
                }
            }
            Op::Binary(binary) => {
                let right = stack.pop()?;
                let left = stack.pop()?;
                stack.push(binary.apply(left, right)?)?;
            }
        }
    }
    stack.pop()
}

struct Stack {
    values: [i64; STACK_MAX],
    len: usize,
}

impl Stack {
    // The parser has counted the depth, so neither end is ever passed; if it had miscounted, the
    // expression would give no value rather than panic.
    #[inline]
    fn push(&mut self, value: i64) -> Result<(), EvalError> {
        *self.values.get_mut(self.len).ok_or(EvalError::Arithmetic)? = value;
        self.len += 1;
        Ok(())
    }

    #[inline]
    fn pop(&mut self) -> Result<i64, EvalError> {
        self.len = self.len.checked_sub(1).ok_or(EvalError::Arithmetic)?;
        self.values
            .get(self.len)
            .copied()
            .ok_or(EvalError::Arithmetic)
    }
}

impl Binary {
    #[inline]
    fn apply(self, left: i64, right: i64) -> Result<i64, EvalError> {
        let shift = || u32::try_from(right).ok().filter(|bits| *bits < 64);
        let value = match self {
            Self::Equal => Some(i64::from(left == right)),
            Self::Unequal => Some(i64::from(left != right)),
            Self::Less => Some(i64::from(left < right)),
            Self::LessEqual => Some(i64::from(left <= right)),
            Self::Greater => Some(i64::from(left > right)),
            Self::GreaterEqual => Some(i64::from(left >= right)),
            Self::BitOr => Some(left | right),
            Self::BitXor => Some(left ^ right),
            Self::BitAnd => Some(left & right),
            // A left shift that loses bits is an overflow like that of the product it stands for.
            Self::ShiftLeft => shift().and_then(|bits| {
                let value = left << bits;
                (value >> bits == left).then_some(value)
            }),
            Self::ShiftRight => shift().map(|bits| left >> bits),
            Self::Add => left.checked_add(right),
            Self::Subtract => left.checked_sub(right),
            Self::Multiply => left.checked_mul(right),
            Self::Divide => left.checked_div(right),
            Self::Remainder => left.checked_rem(right),
        };
        value.ok_or(EvalError::Arithmetic)
    }

    pub(super) fn is_comparison(self) -> bool {
        matches!(
            self,
            Self::Equal
                | Self::Unequal
                | Self::Less
                | Self::LessEqual
                | Self::Greater
                | Self::GreaterEqual
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::error::{At, FaultAt};
    use super::super::parser::{FieldNames, parse};
    use super::super::source::Text;
    use super::*;

    /// Fields: `a` = 6, `b` = 0, `gone` is absent, `big` = `i64::MAX`.
    struct Four;

    impl FieldNames for Four {
        fn field(&self, name: &str, at: At) -> Result<u16, Box<FaultAt>> {
            let names = ["a", "b", "gone", "big"];
            names
                .iter()
                .position(|known| *known == name)
                .map(|index| index as u16)
                .ok_or_else(|| FaultAt::name(at, "", "a field", format!("`{name}`")))
        }

        fn named_value(&self, field: u16, name: &str, at: At) -> Result<i64, Box<FaultAt>> {
            match (field, name) {
                (0, "six") => Ok(6),
                _ => Err(FaultAt::name(at, "", "a name", name)),
            }
        }
    }

    impl FieldScope for Four {
        fn field(&self, field: u16) -> Result<i64, EvalError> {
            match field {
                0 => Ok(6),
                1 => Ok(0),
                3 => Ok(i64::MAX),
                _ => Err(EvalError::Absent),
            }
        }

        fn record_len(&self) -> i64 {
            100
        }
    }

    fn value(text: &str) -> Result<i64, EvalError> {
        let ops = parse(&Text::literal(text), "x", &Four).map_err(|fault| panic!("{fault:?}"));
        Expr::from_ops(&ops.unwrap())?.evaluate(&Four)
    }

    #[test]
    fn values() {
        for (text, expected) in [
            ("0x10", Ok(16)),
            ("0b1_01", Ok(5)),
            ("1_000", Ok(1000)),
            ("a * 4 - 20", Ok(4)),
            ("20 - 4 - 3", Ok(13)),
            ("2 + 3 * 4", Ok(14)),
            ("(2 + 3) * 4", Ok(20)),
            ("-a + 1", Ok(-5)),
            ("- -a", Ok(6)),
            ("7 / 2 + 7 % 2", Ok(4)),
            ("1 << 4 | 1", Ok(17)),
            ("a & 2 == 2", Ok(1)),
            ("a ^ 2 | 1", Ok(5)),
            ("(a + 3) / 4 * 4", Ok(8)),
            ("a == 6 && b != 1", Ok(1)),
            ("a == 'six'", Ok(1)),
            ("'six' != a", Ok(0)),
            ("a > 5 || gone == 1", Ok(1)),
            ("b || a", Ok(1)),
            ("b && gone", Ok(0)),
            ("!b", Ok(1)),
            ("!a == 0", Ok(1)),
            ("a && b || a", Ok(1)),
            ("record.length - 4", Ok(96)),
            ("a <= 6", Ok(1)),
            ("a >= 7", Ok(0)),
            ("a < 6", Ok(0)),
            ("gone", Err(EvalError::Absent)),
            ("gone && b", Err(EvalError::Absent)),
            ("a / b", Err(EvalError::Arithmetic)),
            ("a % b", Err(EvalError::Arithmetic)),
            ("1 / 0", Err(EvalError::Arithmetic)),
            ("big + 1", Err(EvalError::Arithmetic)),
            ("big * 2", Err(EvalError::Arithmetic)),
            ("big << 1", Err(EvalError::Arithmetic)),
            ("1 << 63", Err(EvalError::Arithmetic)),
            ("1 << 64", Err(EvalError::Arithmetic)),
            ("a >> -1", Err(EvalError::Arithmetic)),
            ("-big - 1", Ok(i64::MIN)),
            ("-(-big - 1)", Err(EvalError::Arithmetic)),
            ("(-big - 1) / -1", Err(EvalError::Arithmetic)),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
    }

    #[test]
    fn the_frequent_forms_need_no_program() {
        for (text, expected) in [
            ("2 + 3", Expr::Const(5)),
            ("a", Expr::Field(0)),
            (
                "a == 1",
                Expr::Compare {
                    field: 0,
                    test: Binary::Equal,
                    value: 1,
                },
            ),
        ] {
            let ops = parse(&Text::literal(text), "x", &Four).unwrap();
            assert_eq!(Expr::from_ops(&ops), Ok(expected), "{text}");
        }
    }

    #[test]
    fn faults_say_where() {
        for (text, offset, found) in [
            ("", 0, "the end"),
            ("a +", 3, "the end"),
            ("a b", 2, "`b`"),
            ("(a", 2, "the end"),
            ("a)", 1, "`)`"),
            ("nine + 1", 0, "`nine`"),
            ("1 < a < 3", 6, "`<`"),
            ("a == 1 == 1", 7, "`==`"),
            ("a = 1", 2, "`=`"),
            ("a == 'seven'", 5, "seven"),
            ("b + 'six'", 4, "'six'"),
            ("1 == 'six'", 5, "'six'"),
            ("'six'", 0, "'six'"),
            ("'six", 0, "a text without its closing quote"),
            ("0x", 0, "`0x`"),
            ("12ab", 0, "`12ab`"),
            ("99999999999999999999", 0, "`99999999999999999999`"),
            ("a # 1", 2, "`#`"),
            ("é", 0, "`é`"),
        ] {
            let fault = parse(&Text::literal(text), "x", &Four).unwrap_err();
            assert_eq!(
                (fault.at.offset, fault.found.as_str()),
                (offset, found),
                "{text}"
            );
        }
    }

    #[test]
    fn depth_and_length_are_bounded() {
        let deep = |depth: usize| format!("{}a{}", "(".repeat(depth), ")".repeat(depth));
        assert_eq!(value(&deep(20)), Ok(6));
        for text in [
            deep(100_000),
            "-".repeat(100_000) + "a",
            vec!["a"; 10_000].join(" + "),
            // Each opening parenthesis keeps one more number waiting.
            (0..20).map(|_| "1 + (").collect::<String>() + "a" + &")".repeat(20),
        ] {
            let fault = parse(&Text::literal(&text), "x", &Four).unwrap_err();
            assert_eq!(
                fault.kind,
                super::super::ErrorKind::Limit,
                "{}",
                &text[..20]
            );
        }
    }
}
