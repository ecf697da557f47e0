//! Reads expressions: precedence climbing, straight into postfix operations.

use super::error::{At, Checked, ErrorKind, FaultAt};
use super::source::Text;

/// One operation on the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Const(i64),
    Field(u16),
    RecordLen,
    Negate,
    Not,
    /// Turns every number but zero into one.
    Truth,
    /// The left side of `&&`: continues when it is not zero, and jumps otherwise.
    UnlessZero(u16),
    /// The left side of `||`: continues when it is zero, and jumps otherwise.
    IfZero(u16),
    Binary(Binary),
}

/// An operator between two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binary {
    Equal,
    Unequal,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    BitOr,
    BitXor,
    BitAnd,
    ShiftLeft,
    ShiftRight,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// The fields that an expression may name.
pub(super) trait FieldNames {
    /// The field with this name.
    fn field(&self, name: &str, at: At) -> Checked<u16>;
    /// The number that a field's enumeration calls `name`.
    fn named_value(&self, field: u16, name: &str, at: At) -> Checked<i64>;
}

/// Numbers that wait for their operator, at most. Expressions that need more are refused.
pub(super) const STACK_MAX: usize = 16;
/// Operations in one expression, at most.
pub(super) const OPERATIONS_MAX: usize = 256;
/// Parentheses and signs inside each other, at most.
pub(super) const NESTING_MAX: usize = 32;

/// Reads `text`, which stands at the key with the path `element`.
pub(super) fn parse(text: &Text, element: &str, names: &impl FieldNames) -> Checked<Vec<Op>> {
    let mut parser = Parser {
        text,
        element,
        names,
        ops: Vec::new(),
        next: ExpressionToken::End,
        start: 0,
        end: 0,
        nesting: 0,
    };
    parser.advance()?;
    let operand = parser.binary(0)?;
    parser.no_text(&operand)?;
    if parser.next != ExpressionToken::End {
        return Err(parser.unexpected("an operator or the end"));
    }
    if depth(&parser.ops) > STACK_MAX {
        return Err(parser.limit(format!("at most {STACK_MAX} operands on the stack")));
    }
    Ok(parser.ops)
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum ExpressionToken<'t> {
    End,
    Number(i64),
    Name(&'t str),
    Quoted(&'t str),
    Symbol(&'static str),
    /// Bytes that begin no token.
    Unknown,
}

/// The last operand.
#[derive(Clone, Debug)]
enum Operand {
    Field(u16),
    /// A text at an offset, whose number is known when it is compared with a field; the operation
    /// with this index awaits it.
    Text(String, usize, usize),
    Other,
}

struct Parser<'t, N> {
    text: &'t Text,
    element: &'t str,
    names: &'t N,
    ops: Vec<Op>,
    next: ExpressionToken<'t>,
    /// The position of `next` in the text.
    start: usize,
    end: usize,
    nesting: usize,
}

// Longer symbols stand before their beginnings.
const SYMBOLS: &[&str] = &[
    "==", "!=", "<=", ">=", "<<", ">>", "&&", "||", "<", ">", "+", "-", "*", "/", "%", "&", "|",
    "^", "!", "(", ")",
];

impl<'t, N: FieldNames> Parser<'t, N> {
    fn advance(&mut self) -> Checked<()> {
        let text = self.text.text.as_str();
        let rest = text.get(self.end..).unwrap_or_default();
        let trimmed = rest.trim_start();
        self.start = self.end + (rest.len() - trimmed.len());
        let Some(first) = trimmed.chars().next() else {
            self.end = self.start;
            self.next = ExpressionToken::End;
            return Ok(());
        };
        let word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '.';
        let (token, len) = if word(first) {
            let len = trimmed
                .find(|letter| !word(letter))
                .unwrap_or(trimmed.len());
            let name = trimmed.get(..len).unwrap_or_default();
            if first.is_ascii_digit() {
                (
                    number(name).map_or(ExpressionToken::Unknown, ExpressionToken::Number),
                    len,
                )
            } else {
                (ExpressionToken::Name(name), len)
            }
        } else if first == '\'' {
            let inside = trimmed.get(1..).unwrap_or_default();
            match inside.find('\'') {
                Some(len) => (
                    ExpressionToken::Quoted(inside.get(..len).unwrap_or_default()),
                    len + 2,
                ),
                None => {
                    let found = "a text without its closing quote";
                    return Err(self.fault(ErrorKind::Expression, self.start, "'", found.into()));
                }
            }
        } else {
            match SYMBOLS.iter().find(|symbol| trimmed.starts_with(**symbol)) {
                Some(symbol) => (ExpressionToken::Symbol(symbol), symbol.len()),
                None => (ExpressionToken::Unknown, first.len_utf8()),
            }
        };
        self.end = self.start + len;
        self.next = token;
        if token == ExpressionToken::Unknown {
            return Err(self.unexpected("a number, a field or an operator"));
        }
        Ok(())
    }

    /// Reads operators that bind at least as tightly as `least`.
    fn binary(&mut self, least: u8) -> Checked<Operand> {
        let mut left = self.unary()?;
        while let ExpressionToken::Symbol(symbol) = self.next {
            let Some((level, operator)) = operator(symbol) else {
                break;
            };
            if level < least {
                break;
            }
            self.advance()?;
            let Operator::Binary(binary) = operator else {
                self.no_text(&left)?;
                self.lazy(operator, level)?;
                left = Operand::Other;
                continue;
            };
            let right = self.binary(level + 1)?;
            if matches!(binary, Binary::Equal | Binary::Unequal) {
                self.name_value(&left, &right)?;
            } else {
                self.no_text(&left)?;
                self.no_text(&right)?;
            }
            self.emit(Op::Binary(binary))?;
            left = Operand::Other;
            // `1 < a < 3` would compare a truth value with 3.
            if binary.is_comparison()
                && let ExpressionToken::Symbol(symbol) = self.next
                && self::operator(symbol).is_some_and(|(next, _)| next == level)
            {
                return Err(self.unexpected("one comparison; join several with &&"));
            }
        }
        Ok(left)
    }

    /// The right side of `&&` and `||`, evaluated only when the left side leaves it open.
    fn lazy(&mut self, operator: Operator, level: u8) -> Checked<()> {
        let jump = self.ops.len();
        self.emit(Op::Not)?; // replaced below, when the target is known
        let right = self.binary(level + 1)?;
        self.no_text(&right)?;
        let target = u16::try_from(self.ops.len()).unwrap_or(u16::MAX);
        if let Some(op) = self.ops.get_mut(jump) {
            *op = match operator {
                Operator::And => Op::UnlessZero(target),
                _ => Op::IfZero(target),
            };
        }
        self.emit(Op::Truth)
    }

    fn unary(&mut self) -> Checked<Operand> {
        self.nesting += 1;
        if self.nesting > NESTING_MAX {
            return Err(self.limit(format!(
                "at most {NESTING_MAX} nested parentheses and signs"
            )));
        }
        let operand = match self.next {
            ExpressionToken::Symbol(symbol @ ("-" | "!")) => {
                self.advance()?;
                let operand = self.unary()?;
                self.no_text(&operand)?;
                self.emit(if symbol == "-" { Op::Negate } else { Op::Not })?;
                Operand::Other
            }
            ExpressionToken::Symbol("(") => {
                self.advance()?;
                let operand = self.binary(0)?;
                if self.next != ExpressionToken::Symbol(")") {
                    return Err(self.unexpected("`)`"));
                }
                self.advance()?;
                operand
            }
            ExpressionToken::Number(value) => {
                self.emit(Op::Const(value))?;
                self.advance()?;
                Operand::Other
            }
            ExpressionToken::Name("record.length") => {
                self.emit(Op::RecordLen)?;
                self.advance()?;
                Operand::Other
            }
            ExpressionToken::Name(name) => {
                let at = self.text.at(self.start);
                let field = self.names.field(name, at).map_err(|mut fault| {
                    self.element.clone_into(&mut fault.element);
                    fault
                })?;
                self.emit(Op::Field(field))?;
                self.advance()?;
                Operand::Field(field)
            }
            ExpressionToken::Quoted(text) => {
                let operand = Operand::Text(text.to_owned(), self.start, self.ops.len());
                self.emit(Op::Const(0))?; // replaced when the comparison is known
                self.advance()?;
                operand
            }
            _ => return Err(self.unexpected("a number, a field or `(`")),
        };
        self.nesting -= 1;
        Ok(operand)
    }

    /// Replaces the text of a comparison by its number.
    fn name_value(&mut self, left: &Operand, right: &Operand) -> Checked<()> {
        let (field, text, start, index) = match (left, right) {
            (Operand::Field(field), Operand::Text(text, start, index))
            | (Operand::Text(text, start, index), Operand::Field(field)) => {
                (*field, text, *start, *index)
            }
            _ => {
                self.no_text(left)?;
                return self.no_text(right);
            }
        };
        let at = self.text.at(start);
        let value = self
            .names
            .named_value(field, text, at)
            .map_err(|mut fault| {
                self.element.clone_into(&mut fault.element);
                fault
            })?;
        if let Some(op) = self.ops.get_mut(index) {
            *op = Op::Const(value);
        }
        Ok(())
    }

    fn no_text(&self, operand: &Operand) -> Checked<()> {
        match operand {
            Operand::Text(text, start, _) => Err(self.fault(
                ErrorKind::Expression,
                *start,
                "a text only with == or != and a field with an enum",
                format!("'{text}'"),
            )),
            _ => Ok(()),
        }
    }

    fn emit(&mut self, op: Op) -> Checked<()> {
        if self.ops.len() >= OPERATIONS_MAX {
            return Err(self.limit(format!("at most {OPERATIONS_MAX} operations")));
        }
        self.ops.push(op);
        Ok(())
    }

    fn unexpected(&self, expected: &str) -> Box<FaultAt> {
        let found = match self.next {
            ExpressionToken::End => "the end".to_owned(),
            _ => {
                let token = self.text.text.get(self.start..self.end).unwrap_or_default();
                format!("`{token}`")
            }
        };
        self.fault(ErrorKind::Expression, self.start, expected, found)
    }

    fn limit(&self, expected: String) -> Box<FaultAt> {
        self.fault(ErrorKind::Limit, self.start, expected, "more".to_owned())
    }

    fn fault(
        &self,
        kind: ErrorKind,
        offset: usize,
        expected: impl Into<String>,
        found: String,
    ) -> Box<FaultAt> {
        FaultAt::new(kind, self.text.at(offset), self.element, expected, found)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Operator {
    Or,
    And,
    Binary(Binary),
}

/// The precedence of an operator, and the operator. Unlike in C, `&`, `^` and `|` bind more tightly than comparisons, so that
/// `flags & 2 == 2` tests the bit.
fn operator(symbol: &str) -> Option<(u8, Operator)> {
    Some(match symbol {
        "||" => (0, Operator::Or),
        "&&" => (1, Operator::And),
        "==" => (2, Operator::Binary(Binary::Equal)),
        "!=" => (2, Operator::Binary(Binary::Unequal)),
        "<" => (2, Operator::Binary(Binary::Less)),
        "<=" => (2, Operator::Binary(Binary::LessEqual)),
        ">" => (2, Operator::Binary(Binary::Greater)),
        ">=" => (2, Operator::Binary(Binary::GreaterEqual)),
        "|" => (3, Operator::Binary(Binary::BitOr)),
        "^" => (4, Operator::Binary(Binary::BitXor)),
        "&" => (5, Operator::Binary(Binary::BitAnd)),
        "<<" => (6, Operator::Binary(Binary::ShiftLeft)),
        ">>" => (6, Operator::Binary(Binary::ShiftRight)),
        "+" => (7, Operator::Binary(Binary::Add)),
        "-" => (7, Operator::Binary(Binary::Subtract)),
        "*" => (8, Operator::Binary(Binary::Multiply)),
        "/" => (8, Operator::Binary(Binary::Divide)),
        "%" => (8, Operator::Binary(Binary::Remainder)),
        _ => return None,
    })
}

/// Reads `12`, `1_000`, `0xff` and `0b101`.
pub(super) fn number(text: &str) -> Option<i64> {
    let (digits, radix) = if let Some(digits) = text.strip_prefix("0x") {
        (digits, 16)
    } else if let Some(digits) = text.strip_prefix("0b") {
        (digits, 2)
    } else {
        (text, 10)
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    i64::from_str_radix(&digits.replace('_', ""), radix).ok()
}

/// Numbers on the stack at once, at most. The left side of a jump is dropped where its right side
/// begins, so that straight-line counting gives the most.
fn depth(ops: &[Op]) -> usize {
    let mut now = 0_usize;
    let mut most = 0;
    for op in ops {
        match op {
            Op::Const(_) | Op::Field(_) | Op::RecordLen => now += 1,
            Op::Binary(_) | Op::UnlessZero(_) | Op::IfZero(_) => now = now.saturating_sub(1),
            Op::Negate | Op::Not | Op::Truth => {}
        }
        most = most.max(now);
    }
    most
}
