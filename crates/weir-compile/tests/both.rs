//! Both ways to run a program agree, and nothing is accepted that may leave its bounds.

use weir_compile::{
    Builder, Bytes, Exit, Fault, Operation, Program, Register, Relation, Runner, SpaceId,
    Terminator, arbitrary_program,
};
use weir_testkit::Rng;

#[test]
fn random_programs_do_the_same_interpreted_and_compiled() {
    let mut rng = Rng::new(15);
    let (mut accepted, mut refused) = (0, 0);
    // Under valgrind, fewer.
    let cases = std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|cases| cases.parse::<usize>().ok());
    let programs = cases.map_or(PROGRAMS, |cases| cases * 10);
    for _ in 0..programs {
        let len = 8 + rng.below(160) as usize;
        let bytes: Vec<u8> = (0..len).map(|_| rng.below(256) as u8).collect();
        let Ok(program) = arbitrary_program::from_bytes(&bytes) else {
            refused += 1;
            continue;
        };
        accepted += 1;
        for len in [0, 1, 7, 64, 333] {
            let window: Vec<u8> = (0..len).map(|_| rng.below(256) as u8).collect();
            let records = 1 + rng.below(40);
            if let Err(difference) = arbitrary_program::compare(program.clone(), &window, records) {
                panic!("{bytes:?} over {window:?}: {difference}");
            }
        }
    }
    assert!(
        accepted > programs / 2,
        "{accepted} accepted, {refused} refused"
    );
    assert!(
        refused > 0 || programs < PROGRAMS,
        "an access that is one byte short was never tried"
    );
}

#[test]
fn every_operation_and_relation_does_the_same_at_the_ends_of_its_range() {
    let numbers = [
        0,
        1,
        2,
        63,
        64,
        65,
        u64::MAX,
        u64::MAX - 1,
        i64::MAX as u64,
        1 << 63,
        0x1234_5678_9abc_def0,
    ];
    let mut builder = Builder::new(2 + NUMBERS_WORDS);
    let [left, right] = [0, 1].map(|word| builder.load(Register::AT, word * 8, Bytes::Eight));
    // The window has no 16 bytes that are known of yet.
    let _ = (left, right);
    assert_eq!(builder_error(builder), Fault::Bounds);

    let mut builder = Builder::new(2 + NUMBERS_WORDS);
    let cut = builder.label();
    builder.require_bytes(Register::AT, 16, Register::WINDOW_LEN, cut);
    let [left, right] = [0, 8].map(|offset| builder.load(Register::AT, offset, Bytes::Eight));
    let mut word = 2;
    let mut put = |builder: &mut Builder, value| {
        builder.put(value, SpaceId::STATE, None, word);
        word += 1;
    };
    let divides = |operation| {
        matches!(
            operation,
            Operation::Divide
                | Operation::Remainder
                | Operation::DivideSigned
                | Operation::RemainderSigned
        )
    };
    for operation in Operation::ALL {
        let computed = match divides(operation) {
            true => builder.compute(operation, left, 7),
            false => builder.compute(operation, left, right),
        };
        put(&mut builder, computed);
    }
    for relation in Relation::ALL {
        let selected = builder.select((relation, left, right), 1, 0);
        put(&mut builder, selected);
    }
    let end = builder.compute(Operation::Add, Register::AT, 16);
    builder.set(Register::AT, end);
    builder.end(Terminator::Next);
    builder.write(cut);
    builder.end(Terminator::Leave(0));
    let mut runner = Runner::interpreted(builder.finish().unwrap());
    for is_compiled in [false, true] {
        if is_compiled {
            runner.compile().unwrap();
        }
        for left in numbers {
            for right in numbers {
                let window = [left.to_be_bytes(), right.to_be_bytes()].concat();
                let mut state = [0; 2 + NUMBERS_WORDS as usize];
                let run = runner.run(&window, 0, 9, &mut [&mut state]);
                assert_eq!((run.at, run.records, run.exit), (16, 1, Exit::Left(0)));
                let mut found = state[2..].iter();
                for operation in Operation::ALL {
                    let right = if divides(operation) { 7 } else { right };
                    let expected = operation.apply(left, right);
                    assert_eq!(
                        found.next(),
                        Some(&expected),
                        "{left} {operation:?} {right}"
                    );
                }
                for relation in Relation::ALL {
                    let expected = u64::from(relation.holds(left, right));
                    assert_eq!(found.next(), Some(&expected), "{left} {relation:?} {right}");
                }
            }
        }
    }
}

fn builder_error(mut builder: Builder) -> Fault {
    builder.end(Terminator::Next);
    match builder.finish() {
        Ok(_) => panic!("it was accepted"),
        Err(fault) => fault,
    }
}

#[test]
fn what_may_leave_its_bounds_is_no_program() {
    type Write = fn(&mut Builder);
    let cases: [(&str, Write, Fault); 8] = [
        (
            "a byte that was not tested",
            |b| {
                b.load(Register::AT, 0, Bytes::One);
            },
            Fault::Bounds,
        ),
        (
            "a byte of no place",
            |b| {
                let number = b.copy(5);
                b.load(number, 0, Bytes::One);
            },
            Fault::Bounds,
        ),
        (
            "a word behind the state",
            |b| {
                b.read(SpaceId::STATE, None, 8);
            },
            Fault::Bounds,
        ),
        (
            "a word at any number",
            |b| {
                let number = b.read(SpaceId::STATE, None, 3);
                b.put(1, SpaceId::STATE, Some(number), 0);
            },
            Fault::Bounds,
        ),
        (
            "a constant that is written",
            |b| {
                let constants = b.constants(vec![1, 2].into());
                b.put(1, constants, None, 0);
            },
            Fault::Bounds,
        ),
        (
            "a place that is only a number",
            |b| {
                let number = b.read(SpaceId::STATE, None, 3);
                b.set(Register::AT, number);
            },
            Fault::Bounds,
        ),
        (
            "a register that is not set",
            |b| {
                let register = b.register();
                b.compute(Operation::Add, register, 1);
            },
            Fault::Register,
        ),
        (
            "a division by 0",
            |b| {
                b.compute(Operation::Divide, Register::AT, 0);
            },
            Fault::Constant,
        ),
    ];
    for (name, write, expected) in cases {
        let mut builder = Builder::new(8);
        write(&mut builder);
        assert_eq!(builder_error(builder), expected, "{name}");
    }
}

#[test]
fn memory_of_machine_code_is_given_back() {
    let mut rng = Rng::new(3);
    let programs: Vec<Program> = std::iter::repeat_with(|| {
        let bytes: Vec<u8> = (0..60).map(|_| rng.below(256) as u8).collect();
        arbitrary_program::from_bytes(&bytes)
    })
    .flatten()
    .take(8)
    .collect();
    let compile_all = |times: usize| {
        for _ in 0..times {
            for program in &programs {
                let mut runner = Runner::interpreted(program.clone());
                runner.compile().unwrap();
            }
        }
    };
    compile_all(2);
    let before = mappings();
    compile_all(20);
    // 160 programs would have left as many mappings.
    assert!(
        mappings() < before + 40,
        "{before} mappings, then {}",
        mappings()
    );
    // Memory is writable or executable, never both.
    let mut runner = Runner::interpreted(programs[0].clone());
    runner.compile().unwrap();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    assert!(maps.lines().any(|line| line.contains(" r-xp ")));
    assert!(!maps.lines().any(|line| line.contains("rwx")), "{maps}");
}

fn mappings() -> usize {
    std::fs::read_to_string("/proc/self/maps").map_or(0, |maps| maps.lines().count())
}

const PROGRAMS: usize = 400;
const NUMBERS_WORDS: u64 = 19 + 6;

/// 10,000 questions of one process: their code is freed with them.
#[cfg(target_os = "linux")]
#[test]
fn code_of_programs_that_are_over_takes_no_memory() {
    // Valgrind keeps what is freed.
    if std::env::var_os("PROPTEST_CASES").is_some() {
        return;
    }
    let program = |n: u64| {
        let mut builder = Builder::new(4);
        let sum = builder.carry(2);
        let cut = builder.label();
        builder.require_bytes(Register::AT, 1, Register::WINDOW_LEN, cut);
        let len = builder.load(Register::AT, 0, Bytes::One);
        let (next, more) = (
            builder.compute(Operation::Add, Register::AT, 1),
            builder.compute(Operation::Add, len, n),
        );
        builder.update(Operation::Add, sum, more);
        builder.set(Register::AT, next);
        builder.end(Terminator::Next);
        builder.write(cut);
        builder.end(Terminator::Leave(0));
        builder.finish().unwrap()
    };
    let asked = |count: u64| {
        for n in 0..count {
            let mut runner = Runner::interpreted(program(n));
            runner.compile().unwrap();
            let mut state = [0; 4];
            runner.run(&[1, 2, 3], 0, 9, &mut [&mut state]);
            assert_eq!(state[2], 6 + 3 * n);
        }
    };
    let resident_kib = || {
        let text = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = text.lines().find(|line| line.starts_with("VmRSS:"));
        let number = line.unwrap().split_whitespace().nth(1).unwrap();
        number.parse::<u64>().unwrap()
    };
    asked(500);
    let before = resident_kib();
    asked(10_000);
    let after = resident_kib();
    // A page of code that is kept by each would be 40 MB.
    assert!(after < before + 8 * 1024, "{before} KiB, then {after}");
}

/// Records of so many bytes: how many there are, and the sum of their second bytes; one that begins with 255 ends the run, and one
/// that begins with 254 is not counted.
fn program_of_length(len: u32) -> Program {
    let mut builder = Builder::new(4);
    let (count, sum) = (builder.carry(2), builder.carry(3));
    let (leave, next) = (builder.label(), builder.label());
    builder.require_bytes(Register::AT, len, Register::WINDOW_LEN, leave);
    let end = builder.compute(Operation::Add, Register::AT, u64::from(len));
    let kind = builder.load(Register::AT, 0, Bytes::One);
    builder.require(Relation::NotEqual, kind, 255, leave);
    builder.require(Relation::NotEqual, kind, 254, next);
    let number = builder.load(Register::AT, 1, Bytes::One);
    builder.update(Operation::Add, count, 1);
    builder.update(Operation::Add, sum, number);
    builder.jump(next);
    builder.write(next);
    builder.set(Register::AT, end);
    builder.end(Terminator::Next);
    builder.write(leave);
    builder.end(Terminator::Leave(3));
    builder.finish().expect("the program is accepted")
}

#[test]
fn records_of_one_length_do_the_same_wherever_the_window_or_the_run_ends() {
    for len in [2, 53, 64] {
        let interpreted = Runner::interpreted(program_of_length(len));
        let mut compiled = Runner::interpreted(program_of_length(len));
        compiled.compile().unwrap();
        let len = len as usize;
        // More than two stretches, cut at each octet.
        for window_len in 0..18 * len {
            let records = window_len / len;
            for left in [None, Some(0), Some(7), Some(8), Some(9), Some(records / 2)] {
                let mut window = vec![7; window_len];
                for (index, record) in window.chunks_exact_mut(len).enumerate() {
                    record[0] = match (index * 7 + window_len) % 3 {
                        _ if left == Some(index) => 255,
                        0 => 254,
                        _ => 0,
                    };
                    record[1] = index as u8;
                }
                for most in [1, 7, 8, 9, 10, 15, 16, 17, 18, 1000] {
                    for at in [0, len, 3] {
                        let run = |runner: &Runner| {
                            let mut state = [0, 0, 5, 6];
                            let run = runner.run(&window, at, most, &mut [&mut state]);
                            (run, state)
                        };
                        let expected = run(&interpreted);
                        let case = format!("{len} {window_len} {left:?} {most} {at}");
                        assert_eq!(run(&compiled), expected, "{case}");
                        let (run, _) = expected;
                        assert_eq!(run.at, at.min(window_len) + run.records as usize * len);
                        if let (Some(left), 0) = (left, at) {
                            assert!(run.records <= left.min(most as usize) as u64, "{case}");
                        }
                    }
                }
            }
        }
    }
}

/// Some bits of a record.
struct BitRange {
    offset: u32,
    bytes: Bytes,
    is_little: bool,
    shift: u64,
    mask: u64,
}

impl BitRange {
    fn any(rng: &mut Rng) -> Self {
        let bytes = [Bytes::One, Bytes::Two, Bytes::Four, Bytes::Eight][rng.below(4) as usize];
        Self {
            // Close together, so that some lie in each other.
            offset: rng.below(5) as u32,
            bytes,
            is_little: rng.below(2) == 0,
            shift: [0, 0, 4, 7, 8, 17, 63][rng.below(7) as usize],
            mask: [u64::MAX, 0xff, 0xf0, 1, 0xffff, 0x8001][rng.below(6) as usize],
        }
    }

    /// The number of a record.
    fn of(&self, record: &[u8]) -> u64 {
        let start = self.offset as usize;
        let own = &record[start..start + self.bytes.count() as usize];
        let fold = |number, byte: &u8| number << 8 | u64::from(*byte);
        let number: u64 = match self.is_little {
            true => own.iter().rev().fold(0, fold),
            false => own.iter().fold(0, fold),
        };
        number >> self.shift & self.mask
    }

    fn write(&self, builder: &mut Builder) -> Register {
        let word = builder.load_in_order(Register::AT, self.offset, self.bytes, self.is_little);
        let shifted = match self.shift {
            0 => word,
            shift => builder.compute(Operation::ShiftRight, word, shift),
        };
        match self.mask {
            u64::MAX => shifted,
            mask => builder.compute(Operation::And, shifted, mask),
        }
    }
}

/// Counts the records of 16 bytes of which all fields are these numbers, or of which one is not.
fn program_of_fields(fields: &[(BitRange, u64)], relation: Relation) -> Program {
    let mut builder = Builder::new(3);
    let count = builder.carry(2);
    let (leave, next) = (builder.label(), builder.label());
    builder.require_bytes(Register::AT, 16, Register::WINDOW_LEN, leave);
    let end = builder.compute(Operation::Add, Register::AT, 16);
    if let [(field, number)] = fields {
        let own = field.write(&mut builder);
        builder.require(relation, own, *number, next);
    } else {
        let mut different = None;
        for (field, number) in fields {
            let own = field.write(&mut builder);
            let own = builder.compute(Operation::ExclusiveOr, own, *number);
            different = Some(match different {
                None => own,
                Some(different) => builder.compute(Operation::Or, different, own),
            });
        }
        builder.require(relation, different.expect("a field"), 0, next);
    }
    builder.update(Operation::Add, count, 1);
    builder.jump(next);
    builder.write(next);
    builder.set(Register::AT, end);
    builder.end(Terminator::Next);
    builder.write(leave);
    builder.end(Terminator::Leave(3));
    builder.finish().expect("the program is accepted")
}

#[test]
fn bits_of_fields_are_what_they_are_to_be_in_both_ways() {
    let mut rng = Rng::new(41);
    let (mut all, mut some) = (0, 0);
    let cases = std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|cases| cases.parse::<usize>().ok());
    let programs = cases.map_or(600, |cases| cases * 10);
    for _ in 0..programs {
        // Few bits are set, so that several records are alike.
        let mut window = vec![0_u8; 16 * 40];
        for byte in &mut window {
            *byte = [0, 0, 0, 0x10, 0x81][rng.below(5) as usize];
        }
        let like = 16 * rng.below(40) as usize;
        let fields: Vec<(BitRange, u64)> = (0..1 + rng.below(5))
            .map(|_| {
                let field = BitRange::any(&mut rng);
                let wrong = u64::from(rng.below(12) == 0) << rng.below(64);
                let number = field.of(&window[like..like + 16]) ^ wrong;
                (field, number)
            })
            .collect();
        let relation = [Relation::Equal, Relation::NotEqual][rng.below(2) as usize];
        let naive = window.chunks_exact(16).filter(|record| {
            let is_alike = fields
                .iter()
                .all(|(field, number)| field.of(record) == *number);
            is_alike == (relation == Relation::Equal)
        });
        let naive = naive.count() as u64;
        all += 1;
        some += u64::from(naive > 0 && naive < 40);
        let program = program_of_fields(&fields, relation);
        let mut runner = Runner::interpreted(program);
        for _ in 0..2 {
            let mut state = [0; 3];
            let run = runner.run(&window, 0, 1000, &mut [&mut state]);
            assert_eq!((run.exit, run.records), (Exit::Left(3), 40));
            assert_eq!(state[2], naive);
            runner.compile().unwrap();
        }
    }
    assert!(some > all / 2, "{some} of {all} told records apart");
}
