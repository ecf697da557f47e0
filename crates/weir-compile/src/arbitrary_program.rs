//! Programs that any bytes make, for tests and fuzzing: most are accepted, some are not.

use std::sync::Arc;

use crate::{
    Builder, Bytes, Fault, Label, Operand, Operation, Program, Register, Relation, SpaceId,
    Terminator,
};

/// Words of the state of such a program.
pub const STATE_WORDS: u64 = 40;
/// Words of the space beside it.
pub const SPACE_WORDS: u64 = 32;

struct Generator<'b> {
    bytes: &'b [u8],
    builder: Builder,
    registers: Vec<Register>,
    places: Vec<Register>,
    space: SpaceId,
    constants: SpaceId,
    leave: Label,
    next: Label,
}

/// The program that these bytes make.
///
/// # Errors
/// When they make none.
pub fn from_bytes(bytes: &[u8]) -> Result<Program, Fault> {
    let mut builder = Builder::new(STATE_WORDS);
    let space = builder.space(SPACE_WORDS);
    let constants = builder.constants(
        (0..16_u64)
            .map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15))
            .collect::<Arc<[u64]>>(),
    );
    let registers = vec![builder.carry(2), builder.carry(3)];
    let (leave, next) = (builder.label(), builder.label());
    let mut generator = Generator {
        bytes,
        builder,
        registers,
        places: vec![Register::AT, Register::WINDOW_LEN],
        space,
        constants,
        leave,
        next,
    };
    while !generator.bytes.is_empty() {
        generator.fragment();
    }
    let Generator {
        mut builder,
        places,
        ..
    } = generator;
    // A record is of 1 to 16 bytes, or ends at some place.
    let step = u64::from(bytes.first().copied().unwrap_or(0) % 16) + 1;
    match places.last() {
        Some(place) if step.is_multiple_of(2) && *place != Register::WINDOW_LEN => {
            let end = builder.copy(*place);
            builder.set(Register::AT, end);
            builder.jump(next);
        }
        _ => builder.jump(next),
    }
    builder.write(next);
    // Half of those that are so long are all of one length, as far as that can be known beforehand.
    let is_fixed = bytes.first().is_some_and(|first| first & 16 != 0);
    let at = match is_fixed {
        true => {
            builder.require_bytes(Register::AT, step as u32, Register::WINDOW_LEN, leave);
            builder.compute(Operation::Add, Register::AT, step)
        }
        false => {
            let step = builder.copy(step);
            builder.reach(Register::AT, step, Register::WINDOW_LEN, leave)
        }
    };
    builder.set(Register::AT, at);
    builder.end(Terminator::Next);
    builder.write(leave);
    builder.end(Terminator::Leave(7));
    builder.finish()
}

impl Generator<'_> {
    fn byte(&mut self) -> u8 {
        match self.bytes {
            [first, rest @ ..] => {
                self.bytes = rest;
                *first
            }
            [] => 0,
        }
    }

    fn number(&mut self) -> u64 {
        match self.byte() {
            byte @ 0..128 => byte.into(),
            128..160 => u64::MAX,
            160..176 => i64::MAX as u64,
            176..192 => 1 << 63,
            192..224 => u64::from(self.byte()) << 8 | u64::from(self.byte()),
            _ => u64::from(self.byte()) << (self.byte() & 63),
        }
    }

    fn register(&mut self) -> Register {
        let number = usize::from(self.byte());
        self.registers[number % self.registers.len()]
    }

    fn place(&mut self) -> Register {
        let number = usize::from(self.byte());
        self.places[number % self.places.len()]
    }

    fn operand(&mut self) -> Operand {
        match self.byte() {
            byte if byte % 2 == 0 => Operand::Register(self.register()),
            _ => Operand::Constant(self.number()),
        }
    }

    fn relation(&mut self) -> Relation {
        Relation::ALL[usize::from(self.byte()) % Relation::ALL.len()]
    }

    fn elsewhere(&mut self) -> Label {
        match self.byte() % 2 {
            0 => self.next,
            _ => self.leave,
        }
    }

    fn size(&mut self) -> Bytes {
        [Bytes::One, Bytes::Two, Bytes::Four, Bytes::Eight][usize::from(self.byte()) % 4]
    }

    fn fragment(&mut self) {
        match self.byte() % 16 {
            0 | 1 => self.load(),
            2..=5 => self.compute(),
            6 => self.select(),
            7 | 8 => self.require(),
            9 => self.reach(),
            10 => self.read(),
            11 | 12 => self.put(),
            13 => self.require_words_and_put(),
            14 => self.fork(),
            _ => self.update_carried(),
        }
    }

    fn load(&mut self) {
        let (at, size) = (self.place(), self.size());
        let (offset, order) = (u32::from(self.byte() % 8), self.byte());
        let otherwise = self.elsewhere();
        // Mostly enough, sometimes one byte short.
        let short = u32::from(order > 250);
        let bytes = offset + size.count() as u32 - short;
        self.builder
            .require_bytes(at, bytes, Register::WINDOW_LEN, otherwise);
        let loaded = self
            .builder
            .load_in_order(at, offset, size, order.is_multiple_of(2));
        self.registers.push(loaded);
    }

    fn compute(&mut self) {
        let operation = Operation::ALL[usize::from(self.byte()) % Operation::ALL.len()];
        let (left, right) = (self.register(), self.operand());
        let right = match (operation, right) {
            (
                Operation::Divide
                | Operation::Remainder
                | Operation::DivideSigned
                | Operation::RemainderSigned,
                Operand::Register(_),
            ) => Operand::Constant(3),
            (_, right) => right,
        };
        let computed = self.builder.compute(operation, left, right);
        self.registers.push(computed);
    }

    fn select(&mut self) {
        let (left, relation, right) = (self.register(), self.relation(), self.operand());
        let (then, otherwise) = (self.operand(), self.operand());
        let selected = self
            .builder
            .select((relation, left, right), then, otherwise);
        self.registers.push(selected);
    }

    fn require(&mut self) {
        let (left, relation, right) = (self.register(), self.relation(), self.operand());
        let otherwise = self.elsewhere();
        self.builder.require(relation, left, right, otherwise);
    }

    fn reach(&mut self) {
        let (at, bytes) = (self.place(), self.register());
        let bytes = self.builder.compute(Operation::And, bytes, 31);
        let (end, otherwise) = (self.place(), self.elsewhere());
        let place = self.builder.reach(at, bytes, end, otherwise);
        self.places.push(place);
    }

    fn read(&mut self) {
        let index = self.register();
        let (mask, offset) = ([7, 15, 15, 31][usize::from(self.byte()) % 4], 0);
        let index = self.builder.compute(Operation::And, index, mask);
        let space = if self.byte().is_multiple_of(2) {
            self.space
        } else {
            self.constants
        };
        let read = self.builder.read(space, Some(index), offset);
        self.registers.push(read);
    }

    fn put(&mut self) {
        let (index, from) = (self.register(), self.operand());
        let index = self.builder.compute(Operation::Remainder, index, 16);
        let (space, offset) = match self.byte() % 2 {
            0 => (self.space, 16),
            _ => (SpaceId::STATE, 8),
        };
        self.builder.put(from, space, Some(index), offset);
    }

    fn require_words_and_put(&mut self) {
        let (index, from) = (self.register(), self.operand());
        let index = self.builder.compute(Operation::And, index, 63);
        let otherwise = self.elsewhere();
        self.builder.require_words(index, 2, self.space, otherwise);
        self.builder.put(from, self.space, Some(index), 1);
        let read = self.builder.read(self.space, Some(index), 0);
        self.registers.push(read);
    }

    /// Two ways that meet again.
    fn fork(&mut self) {
        let (then, otherwise, behind) = (
            self.builder.label(),
            self.builder.label(),
            self.builder.label(),
        );
        let (left, relation, right) = (self.register(), self.relation(), self.operand());
        let to = self.builder.register();
        let (one, other) = (self.operand(), self.operand());
        self.builder.branch(relation, left, right, then, otherwise);
        self.builder.write(then);
        self.builder.set(to, one);
        self.builder.jump(behind);
        self.builder.write(otherwise);
        self.builder.set(to, other);
        self.builder.jump(behind);
        self.builder.write(behind);
        self.registers.push(to);
    }

    /// Updates the carried registers.
    fn update_carried(&mut self) {
        let number = usize::from(self.byte() % 2);
        let carried = self.registers[number];
        let right = self.operand();
        self.builder.update(Operation::Add, carried, right);
    }
}

/// Runs a program both ways over a window and tells where they differ.
///
/// # Errors
/// What differs, or why the program could not be compiled.
pub fn compare(program: Program, window: &[u8], records: u64) -> Result<(), String> {
    let outcome = |runner: &crate::Runner| {
        let mut state = vec![0; STATE_WORDS as usize];
        let mut space = (0..SPACE_WORDS).collect::<Vec<u64>>();
        let mut runs = Vec::new();
        let mut at = 0;
        // A run that paused continues where it was.
        for _ in 0..3 {
            let run = runner.run(window, at, records, &mut [&mut state, &mut space]);
            at = run.at;
            runs.push(run);
        }
        (runs, state, space)
    };
    let mut runner = crate::Runner::interpreted(program);
    let interpreted = outcome(&runner);
    runner.compile().map_err(|error| error.to_string())?;
    let compiled = outcome(&runner);
    if interpreted == compiled {
        return Ok(());
    }
    Err(format!(
        "{interpreted:?}\nand compiled\n{compiled:?}\nof\n{}",
        runner.program()
    ))
}
