//! Numbers of records: fields, and the results of operations on them.

use weir_bytes::{Bits, Endian};
use weir_compile::{Bytes, Operation, Register, Relation};

use super::lower::{Lowering, Path};
use super::plan::{From, PlannedValue};
use crate::Calculation;

impl Lowering<'_> {
    /// Loads some bits at a place, as far as their bytes are known to exist.
    pub(super) fn bits(&mut self, at: Register, bits: &Bits) -> Register {
        let is_little = bits.endian() == Endian::Little;
        let offset = bits.offset();
        let b = &mut self.builder;
        // The word, the number of its loaded bytes, and the number of bytes below it.
        let (word, bytes, below) = match bits.bytes() {
            1 => (b.load(at, offset, Bytes::One), 1, 0),
            2 => (b.load_in_order(at, offset, Bytes::Two, is_little), 2, 0),
            3 if offset > 0 => {
                let word = b.load_in_order(at, offset - 1, Bytes::Four, is_little);
                (word, 4, u32::from(is_little))
            }
            3 => {
                let (high_at, low_at) = if is_little { (1, 0) } else { (0, 2) };
                let high = b.load_in_order(at, offset + high_at, Bytes::Two, is_little);
                let low = b.load(at, offset + low_at, Bytes::One);
                let high = b.compute(Operation::ShiftLeft, high, 8);
                (b.compute(Operation::Or, high, low), 3, 0)
            }
            4 => (b.load_in_order(at, offset, Bytes::Four, is_little), 4, 0),
            // `ProgramPlan` allows no others, and shapes have none.
            _ => (b.load_in_order(at, offset, Bytes::Eight, is_little), 8, 0),
        };
        let shift = bits.shift() + 8 * below;
        let word = match shift {
            0 => word,
            shift => b.compute(Operation::ShiftRight, word, u64::from(shift)),
        };
        match shift + bits.width() < bytes * 8 {
            true => b.compute(Operation::And, word, bits.mask()),
            false => word,
        }
    }

    /// The number of the current record; `None` where it has none.
    pub(super) fn value(&mut self, value: &PlannedValue, path: &Path) -> Option<Register> {
        let mut number = match value.from {
            From::Field(field) => {
                let location = path.fields[field]?;
                let location = self.plan.fields[field]
                    .locations
                    .get(usize::from(location))?;
                let start = self.start(location.layer);
                let bits = location.at.bits()?;
                self.bits(start, &bits)
            }
            From::Record(bits) => self.bits(Register::AT, &bits),
            From::Number => self.number?,
            From::Len => self.wire_len()?,
            From::Time => self.time()?,
        };
        if value.is_flag {
            number = self.builder.select((Relation::NotEqual, number, 0), 1, 0);
        }
        for step in &value.steps {
            number = self.calculate(step.calculation, number, step.constant, step.signed);
        }
        Some(number)
    }

    fn calculate(
        &mut self,
        calculation: Calculation,
        left: Register,
        constant: u64,
        signed: bool,
    ) -> Register {
        let b = &mut self.builder;
        let divisor = match signed {
            true => (constant as i64).max(1) as u64,
            false => constant.max(1),
        };
        let (operation, constant) = match calculation {
            Calculation::Add => (Operation::Add, constant),
            Calculation::Subtract => (Operation::Subtract, constant),
            Calculation::Multiply => (Operation::Multiply, constant),
            Calculation::And => (Operation::And, constant),
            Calculation::Or => (Operation::Or, constant),
            Calculation::ExclusiveOr => (Operation::ExclusiveOr, constant),
            Calculation::ShiftLeft => (Operation::ShiftLeft, constant),
            Calculation::ShiftRight if signed => (Operation::ShiftRightSigned, constant),
            Calculation::ShiftRight => (Operation::ShiftRight, constant),
            Calculation::Divide if signed => (Operation::DivideSigned, divisor),
            Calculation::Divide => (Operation::Divide, divisor),
            Calculation::Remainder if signed => (Operation::RemainderSigned, divisor),
            Calculation::Remainder => (Operation::Remainder, divisor),
            Calculation::Floor => {
                let rest = match signed {
                    true => {
                        let rest = b.compute(Operation::RemainderSigned, left, divisor);
                        let positive = b.compute(Operation::Add, rest, divisor);
                        b.select((Relation::Greater, rest, i64::MAX as u64), positive, rest)
                    }
                    false => b.compute(Operation::Remainder, left, divisor),
                };
                return b.compute(Operation::Subtract, left, rest);
            }
        };
        b.compute(operation, left, constant)
    }
}
