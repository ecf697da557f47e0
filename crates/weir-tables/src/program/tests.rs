//! A program selects and adds the same values as the decoder, record by record, in whatever way it is run.

mod together;

use std::io::Cursor;
use std::sync::Arc;

use weir_capture::{ReadOptions, Reader};
use weir_packet::{Decoder, Field, Frame, Kind, LinkType, Needs, Options};
use weir_testkit::{Rng, trace};

use super::*;
use crate::{
    Branch, Calculation, Column, Constant, Counters, Expression, Function, Network, Operator,
    Origin, Predicate, Row, Scan, ScanOptions, SharedScan, Table, WantedRows,
};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Decoded,
    Interpreted,
    Compiled,
    /// The program is compiled for the blocks that a few records enter.
    Narrowed,
}

/// The result of aggregates over a capture.
#[derive(Debug, PartialEq)]
struct Outcome {
    groups: Vec<Vec<(Vec<u64>, Vec<u64>)>>,
    records: u64,
    taken: u64,
    end: Result<(), String>,
}

/// Reads a capture in one way; returns also the number of records that a program skipped. `None` when there is no
/// program.
fn read(
    capture: &[u8],
    new: impl Fn() -> Vec<Aggregate>,
    way: Way,
    buffer_bytes: usize,
) -> Option<(Outcome, u64)> {
    let mut aggregates = new();
    let mut options = ReadOptions::default();
    options.buffer_bytes = buffer_bytes;
    let mut reader = Reader::with_options(Cursor::new(capture), &options).ok()?;
    let mut decoder = Decoder::new(Options::default(), [Needs::All]);
    let mut program: Option<Questions> = None;
    let mut made_for = None;
    let (mut records, mut taken, mut by_program) = (0, 0, 0);
    let end = loop {
        if way != Way::Decoded {
            if program.is_none()
                && let Some((framing, link_type)) = Records::framing(&reader)
            {
                let mut made =
                    Questions::new(&aggregates, framing, link_type, None, &Options::default())?;
                match way {
                    Way::Compiled => made.compile().unwrap(),
                    Way::Narrowed => made.compile_behind(40),
                    Way::Decoded | Way::Interpreted => {}
                }
                program = Some(made);
                made_for = Some((framing, link_type));
            }
            if let Some(program) = &mut program
                && Records::framing(&reader) == made_for
            {
                let (window, number, ports) = Records::window(&reader);
                // The runs have odd lengths, too.
                let most = 1 + number * 7 % 1000;
                let passed = program.run(&mut aggregates, window, number, ports, most);
                assert!(passed.taken <= passed.records && passed.records <= most);
                Records::pass_records(&mut reader, passed.bytes, passed.records);
                records += passed.records;
                taken += passed.taken;
                by_program += passed.records;
                if passed.records == most {
                    continue;
                }
            }
        }
        match reader.next() {
            Ok(Some(record)) => {
                let mut frame = Frame::new(LinkType(record.link_type), record.data);
                frame.number = record.number;
                frame.time_ns = record.time_ns;
                frame.wire_len = record.wire_len;
                let packet = decoder.decode(frame);
                let row = Row::new("x", &packet);
                let mut is_taken = false;
                for aggregate in &mut aggregates {
                    is_taken |= aggregate.push(&row);
                }
                records += 1;
                taken += u64::from(is_taken);
            }
            Ok(None) => break Ok(()),
            Err(error) => break Err(error.to_string()),
        }
    };
    if way != Way::Decoded && program.is_none() {
        return None;
    }
    let groups = aggregates
        .iter_mut()
        .map(Aggregate::groups_as_words)
        .collect();
    let outcome = Outcome {
        groups,
        records,
        taken,
        end,
    };
    Some((outcome, by_program))
}

fn field(column: &Column) -> Option<&'static Field> {
    match column.origin {
        Origin::Packet(field, _) => Some(field),
        _ => None,
    }
}

/// A generator of queries that a program may support, and a few that it does not.
struct Questioner {
    rng: Rng,
    numbers: Vec<Column>,
    addresses: Vec<Column>,
}

impl Questioner {
    fn new(seed: u64) -> Self {
        let table = Table::packets();
        let of_frame = ["frame.len", "frame.time", "frame.number"];
        let is_plain = |column: &&Column| {
            of_frame.contains(&&*column.name)
                || field(column).is_some_and(|field| !field.locations.is_empty())
        };
        let columns = table.columns().iter().filter(is_plain);
        let (addresses, numbers) = columns
            .filter(|column| !matches!(column.kind, Kind::Bytes | Kind::Text | Kind::F64))
            .cloned()
            .partition(|column| column.kind == Kind::Address);
        Self {
            rng: Rng::new(seed),
            numbers,
            addresses,
        }
    }

    fn below(&mut self, end: usize) -> usize {
        self.rng.below(end as u64) as usize
    }

    /// Returns mostly a column that is frequent in traffic.
    fn number(&mut self) -> Column {
        const COMMON: &[&str] = &[
            "frame.len",
            "frame.time",
            "frame.number",
            "ip.proto",
            "ip.version",
            "ip.len",
            "ip.ttl",
            "tcp.srcport",
            "tcp.dstport",
            "udp.dstport",
            "port.src",
            "port.dst",
            "vlan.id",
            "erf.flags",
            "erf.flags.cap",
            "erf.mchdlc.cn",
            "fr.control",
            "fr.nlpid",
            "tcp.flags.syn",
            "udp.length",
            "ipv6.nxt",
            "eth.type",
            "erf.rlen",
        ];
        if self.below(4) > 0 {
            let name = COMMON[self.below(COMMON.len())];
            if let Some(column) = self.numbers.iter().find(|column| &*column.name == name) {
                return column.clone();
            }
        }
        let index = self.below(self.numbers.len());
        self.numbers[index].clone()
    }

    fn address(&mut self) -> Column {
        let name = ["ip.src", "ip.dst"][self.below(2)];
        let found = self.addresses.iter().find(|column| &*column.name == name);
        found.unwrap().clone()
    }

    fn constant(&mut self) -> i128 {
        const COMMON: &[i128] = &[
            0, 1, 2, 3, 4, 5, 6, 17, 40, 53, 58, 64, 80, 100, 128, 204, 443, 500, 1500, 2048,
            65_535,
        ];
        COMMON[self.below(COMMON.len())]
    }

    fn operator(&mut self) -> Operator {
        use Operator::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
        [Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual][self.below(6)]
    }

    /// Returns an integer computed of a column, when it is one.
    fn computed(&mut self) -> Expression {
        let column = self.number();
        if column.kind == Kind::Time {
            let size = 1 + self.rng.below(5_000_000_000) as i64;
            let of = Expression::Column(column);
            return of
                .calculate(Calculation::Floor, Expression::Constant(size))
                .unwrap();
        }
        let signed = self.below(3) > 0;
        let mut expression = Expression::Integer {
            signed,
            of: Box::new(Expression::Column(column)),
        };
        for _ in 0..self.below(3) {
            use Calculation::{Add, And, Divide, ExclusiveOr, Floor, Multiply, Or, Remainder};
            use Calculation::{ShiftLeft, ShiftRight, Subtract};
            let (calculation, constant) = match self.below(11) {
                0 => (Add, self.below(1000) as i64 - 500),
                1 => (Subtract, self.below(1000) as i64),
                2 => (Multiply, self.below(7) as i64 - 3),
                3 => (Divide, 1 + self.below(9) as i64),
                4 => (Remainder, 1 + self.below(9) as i64),
                5 => (And, self.below(64) as i64),
                6 => (Or, self.below(64) as i64),
                7 => (ExclusiveOr, -1),
                8 => (ShiftLeft, self.below(64) as i64),
                9 => (ShiftRight, self.below(64) as i64),
                _ => (Floor, 1 + self.below(100) as i64),
            };
            let next = expression
                .clone()
                .calculate(calculation, Expression::Constant(constant));
            expression = next.unwrap_or(expression);
        }
        expression
    }

    fn predicate(&mut self) -> Predicate {
        match self.below(8) {
            0 => Predicate::Or((0..2 + self.below(2)).map(|_| self.comparison()).collect()),
            _ => self.comparison(),
        }
    }

    fn comparison(&mut self) -> Predicate {
        let column = self.number();
        match self.below(10) {
            2.. if column.kind == Kind::Bool => match self.below(2) {
                0 => Predicate::IsTrue(column),
                _ => Predicate::Not(Box::new(Predicate::IsTrue(column))),
            },
            0 => Predicate::IsNull(column),
            1 | 2 => Predicate::Not(Box::new(Predicate::IsNull(column))),
            3 => {
                let constants = (0..3).map(|_| Constant::Integer(self.constant()));
                Predicate::In(column, constants.collect())
            }
            4 => {
                let network = ["10.0.0.0/8", "10.0.0.0/30", "0.0.0.0/0", "192.168.1.1"];
                let network = Network::parse(network[self.below(4)]).unwrap();
                Predicate::Within(self.address(), network)
            }
            5 => {
                let expression = self.computed();
                let constant = self.constant() as i64;
                Predicate::Calculated(expression, self.operator(), constant)
            }
            _ => Predicate::Compare(column, self.operator(), Constant::Integer(self.constant())),
        }
    }

    fn conditions(&mut self) -> Option<Predicate> {
        match self.below(4) {
            0 => None,
            1 => Some(self.predicate()),
            many => Some(Predicate::And(
                (0..many).map(|_| self.predicate()).collect(),
            )),
        }
    }

    fn function(&mut self, kind: Kind) -> Function {
        use Function::{
            Average, BitAnd, BitExclusiveOr, BitOr, BoolAnd, BoolOr, Count, First, Last, Maximum,
            Minimum, Sum, SumFloat,
        };
        let all = [
            Count,
            Sum,
            Sum,
            Minimum,
            Maximum,
            BitAnd,
            BitOr,
            BitExclusiveOr,
            BoolAnd,
            BoolOr,
            Average,
            First,
            Last,
            SumFloat,
        ];
        loop {
            let function = all[self.below(all.len())].clone();
            if function.takes(kind) {
                return function;
            }
        }
    }

    /// Branches and functions of an aggregate.
    fn aggregate(&mut self) -> (Vec<Branch>, Vec<Function>) {
        let keys: Vec<Expression> = (0..self.below(4))
            .map(|_| match self.below(6) {
                0 => Expression::Column(self.address()),
                1 => self.computed(),
                _ => Expression::Column(self.number()),
            })
            .collect();
        let mut functions = vec![Function::CountRows];
        let mut arguments = vec![None];
        for _ in 0..self.below(4) {
            let argument = match self.below(2) {
                0 => self.computed(),
                _ => Expression::Column(self.number()),
            };
            functions.push(self.function(argument.kind()));
            arguments.push(Some(argument));
        }
        let branches = [1, 1, 1, 2, 3][self.below(5)];
        let branches = (0..branches).map(|_| Branch {
            predicate: self.conditions(),
            keys: keys.clone(),
            filters: vec![None; arguments.len()],
            arguments: arguments.clone(),
        });
        (branches.collect(), functions)
    }
}

/// A capture with changed bytes, none of them before `from`.
fn damaged(capture: &[u8], from: usize, rng: &mut Rng) -> Vec<u8> {
    let mut damaged = capture.to_vec();
    for _ in 0..capture.len() / 700 {
        let at = from + rng.below((capture.len() - from) as u64) as usize;
        damaged[at] = rng.below(256) as u8;
    }
    damaged.truncate(capture.len() - rng.below(200) as usize);
    damaged
}

/// The same pcap with numbers in the other byte order, and of another resolution or link type.
fn rewritten(pcap: &[u8], magic: u32, link_type: u32, cut: usize, prefix: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let number = |at: usize| u32::from_le_bytes(pcap[at..at + 4].try_into().unwrap());
    out.extend(magic.to_be_bytes());
    out.extend([0, 2, 0, 4]);
    out.extend([0; 8]);
    out.extend(262_144_u32.to_be_bytes());
    out.extend(link_type.to_be_bytes());
    let mut at = 24;
    while at + 16 <= pcap.len() {
        let captured = number(at + 8) as usize;
        let data = &pcap[at + 16..at + 16 + captured];
        let data = [prefix, data.get(cut..).unwrap_or_default()].concat();
        out.extend(number(at).to_be_bytes());
        out.extend(number(at + 4).to_be_bytes());
        out.extend((data.len() as u32).to_be_bytes());
        out.extend((number(at + 12) + prefix.len() as u32).to_be_bytes());
        out.extend(data);
        at += 16 + captured;
    }
    out
}

/// The packets of a pcap with its last byte first as pcapng: of two interfaces with another unit of time and one of
/// another link type, with options, and blocks that are no packets between them.
fn as_pcapng(pcap: &[u8], is_big: bool, rng: &mut Rng) -> Vec<u8> {
    let number = |at: usize| u32::from_le_bytes(pcap[at..at + 4].try_into().unwrap());
    let word = |value: u32| match is_big {
        true => value.to_be_bytes(),
        false => value.to_le_bytes(),
    };
    let block = |kind: u32, body: &[u8]| {
        let len = word(body.len() as u32 + 12);
        [&word(kind)[..], &len, body, &len].concat()
    };
    let short = |value: u16| match is_big {
        true => value.to_be_bytes(),
        false => value.to_le_bytes(),
    };
    let interface = |link_type: u16, resolution: u8| {
        let resolution = [&short(9)[..], &short(1), &[resolution, 0, 0, 0], &[0; 4]].concat();
        block(
            1,
            &[&short(link_type)[..], &[0, 0], &word(262_144), &resolution].concat(),
        )
    };
    let magic = word(0x1a2b_3c4d);
    let version = [short(1), short(0)].concat();
    let mut out = block(0x0a0d_0d0a, &[&magic[..], &version, &[0xff; 8]].concat());
    out.extend(interface(1, 6));
    out.extend(interface(1, 9));
    out.extend(interface(101, 6));
    out.extend(interface(1, 6));
    let mut at = 24;
    while at < pcap.len() {
        let captured = number(at + 8) as usize;
        let mut data = pcap[at + 16..at + 16 + captured].to_vec();
        let us = u64::from(number(at)) * 1_000_000 + u64::from(number(at + 4));
        let (interface, ticks) = match rng.below(20) {
            0 => (1, us * 1000),
            1 => (2, us),
            2..6 => (3, us),
            _ => (0, us),
        };
        if rng.below(40) == 0 {
            // A statistics block, or one of an unassigned type.
            out.extend(block([5, 0x7777][rng.below(2) as usize], &[0; 12]));
        }
        let head = [
            word(interface),
            word((ticks >> 32) as u32),
            word(ticks as u32),
            word(captured as u32),
            word(number(at + 12)),
        ];
        data.resize(captured.next_multiple_of(4), 0);
        if rng.below(8) == 0 {
            data.extend([&short(2)[..], &short(4), &[0, 0, 0, 1], &[0; 4]].concat());
        }
        out.extend(block(6, &[head.as_flattened(), &data].concat()));
        at += 16 + captured;
    }
    out
}

fn captures() -> Vec<(String, Vec<u8>)> {
    let mut rng = Rng::new(99);
    let (mut ethernet, mut relay) = (Vec::new(), Vec::new());
    trace::ethernet_pcap(&mut ethernet, 5, 120_000).unwrap();
    trace::frame_relay_erf(&mut relay, 6, 120_000).unwrap();
    let mut captures = vec![
        (
            "big-endian, nanoseconds".into(),
            rewritten(&ethernet, 0xa1b2_3c4d, 1, 0, &[]),
        ),
        (
            "raw IP".into(),
            rewritten(&ethernet, 0xa1b2_c3d4, 101, 14, &[]),
        ),
        (
            "Linux cooked".into(),
            rewritten(
                &ethernet,
                0xa1b2_c3d4,
                113,
                12,
                &[0, 0, 0, 1, 0, 6, 2, 2, 2, 2, 2, 2, 0, 0],
            ),
        ),
        ("damaged Ethernet".into(), damaged(&ethernet, 24, &mut rng)),
        (
            "damaged frame relay".into(),
            damaged(&relay, 2000, &mut rng),
        ),
    ];
    let (little, big) = (
        as_pcapng(&ethernet, false, &mut rng),
        as_pcapng(&ethernet, true, &mut rng),
    );
    captures.push(("damaged pcapng".into(), damaged(&little, 200, &mut rng)));
    let half = [&little[..], &big].concat();
    captures.push(("pcapng of two sections".into(), half));
    captures.push(("pcapng".into(), little));
    captures.push(("Ethernet".into(), ethernet));
    captures.push(("frame relay".into(), relay));
    let listed = weir_testkit::captures::listed("captures");
    if listed.is_empty() {
        weir_testkit::missing(
            "captures",
            "programs take up what the decoder gives of them",
        );
    }
    for file in listed {
        let bytes = std::fs::read(&file.path).unwrap();
        if bytes.len() < 400_000 {
            captures.push((file.name, bytes));
        }
    }
    captures
}

#[test]
fn programs_take_up_what_the_decoder_gives() {
    let captures = captures();
    let mut questioner = Questioner::new(15);
    let (mut expressed, mut not, mut by_program, mut all) = (0, 0, 0, 0);
    let (mut by_narrowed, mut by_whole) = (0, 0);
    for round in 0..ROUNDS {
        let drawn: Vec<_> = (0..1 + round % 3 / 2)
            .map(|_| questioner.aggregate())
            .collect();
        let new = || -> Vec<Aggregate> {
            let made = drawn.iter();
            made.filter_map(|(branches, functions)| Aggregate::new(branches.clone(), functions))
                .collect()
        };
        if new().is_empty() {
            continue;
        }
        // Every second list is one of generated captures.
        let among = if round % 2 == 0 {
            GENERATED
        } else {
            captures.len()
        };
        let number = questioner.below(among);
        let (name, capture) = &captures[number];
        let buffer_bytes = [4096, 5003, 65_536, 1 << 20][round % 4];
        let one = |way| read(capture, new, way, buffer_bytes);
        let Some((decoded, _)) = one(Way::Decoded) else {
            continue;
        };
        let Some((interpreted, passed)) = one(Way::Interpreted) else {
            not += 1;
            continue;
        };
        expressed += 1;
        if number < GENERATED {
            by_program += passed;
            all += decoded.records;
        }
        assert!(
            decoded == interpreted,
            "interpreted, round {round}: {name}: {drawn:?}\n{}",
            differ(&decoded, &interpreted)
        );
        let (compiled, of_compiled) = one(Way::Compiled).unwrap();
        assert!(
            decoded == compiled,
            "compiled, round {round}: {name}: {drawn:?}\n{}",
            differ(&decoded, &compiled)
        );
        assert_eq!(passed, of_compiled);
        let (narrowed, of_narrowed) = one(Way::Narrowed).unwrap();
        assert!(
            decoded == narrowed,
            "narrowed, round {round}: {name}: {drawn:?}\n{}",
            differ(&decoded, &narrowed)
        );
        assert!(of_narrowed <= passed);
        by_narrowed += of_narrowed;
        by_whole += passed;
    }
    eprintln!("{expressed} questions as programs, {not} not; {by_program} of {all} records");
    assert!(
        expressed > ROUNDS / 4,
        "{expressed} of {ROUNDS} questions became programs, {not} did not"
    );
    assert!(
        by_narrowed * 4 > by_whole * 3,
        "of {by_whole} records, {by_narrowed} went through programs that were narrowed"
    );
    assert!(
        by_program * 2 > all,
        "only {by_program} of {all} records went through programs"
    );
}

/// The interfaces are like the first one; others, and blocks that are not packets, are left to the reader.
#[test]
fn packets_of_pcapng_go_through_programs() {
    let mut rng = Rng::new(3);
    let mut pcap = Vec::new();
    trace::ethernet_pcap(&mut pcap, 5, 400_000).unwrap();
    let new = || {
        let branch = Branch {
            predicate: None,
            keys: vec![],
            arguments: vec![None],
            filters: vec![None],
        };
        vec![Aggregate::new(vec![branch], &[Function::CountRows]).unwrap()]
    };
    for is_big in [false, true] {
        let capture = as_pcapng(&pcap, is_big, &mut rng);
        let (decoded, _) = read(&capture, new, Way::Decoded, 65_536).unwrap();
        let (compiled, passed) = read(&capture, new, Way::Compiled, 65_536).unwrap();
        assert!(decoded == compiled, "{}", differ(&decoded, &compiled));
        assert!(
            passed * 10 > decoded.records * 8,
            "{passed} of {}",
            decoded.records
        );
    }
}

/// The records that a program skips are those for which the predicate is false.
#[test]
fn rows_that_a_program_selects_are_those_of_the_decoder() {
    let mut questioner = Questioner::new(77);
    let folder = tempfile::tempdir().unwrap();
    let captures: Vec<_> = captures().into_iter().take(GENERATED).collect();
    let table = Table::packets();
    let shown = [
        "frame.number",
        "frame.time",
        "ip.src",
        "port.dst",
        "frame.len",
    ];
    let projection: Vec<usize> = shown.map(|name| table.position(name).unwrap()).to_vec();
    let (mut compiled, mut records) = (0, 0);
    for round in 0..ROUNDS / 2 {
        let Some(predicate) = questioner.conditions() else {
            continue;
        };
        let (name, bytes) = &captures[round % GENERATED];
        let path = folder.path().join(format!("{}", round % GENERATED));
        if round < GENERATED || !path.exists() {
            std::fs::write(&path, bytes).unwrap();
        }
        let limit = (round % 5 == 0).then_some(40);
        let read = |compile| {
            let counters = Arc::new(Counters::default());
            let options = ScanOptions {
                compile,
                limit,
                batch_rows: 100,
                ..ScanOptions::default()
            };
            let sources = vec![Source::capture(&path)];
            let scan = Scan::new(
                &table,
                &projection,
                Some(predicate.clone()),
                sources,
                options,
            );
            let mut scan = scan.with_counters(Arc::clone(&counters));
            let mut batches = Vec::new();
            while let Some(batch) = scan.next_batch().unwrap() {
                batches.push(batch);
            }
            let errors: Vec<_> = scan.take_errors().iter().map(ToString::to_string).collect();
            (batches, errors, counters.totals())
        };
        let (expected, damage, of_decoder) = read(Compile::Never);
        let (found, other, of_program) = read(Compile::Always);
        assert!(expected == found, "round {round}: {name}: {predicate:?}");
        assert_eq!(damage, other, "{name}");
        assert_eq!(of_decoder.compiled, 0);
        if limit.is_none() {
            assert_eq!(
                (of_decoder.records, of_decoder.dropped),
                (of_program.records, of_program.dropped),
                "round {round}: {name}: {predicate:?}"
            );
        }
        compiled += of_program.compiled;
        records += of_program.records;
    }
    eprintln!("{compiled} of {records} records went through programs");
    assert!(compiled * 4 > records, "{compiled} of {records}");
}

/// Several queries of rows, and one of groups, share a program that skips the records that none of them selects.
#[test]
fn a_program_selects_for_all_queries_that_share_a_reading() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.pcap");
    let mut pcap = Vec::new();
    trace::ethernet_pcap(&mut pcap, 5, 400_000).unwrap();
    std::fs::write(&path, pcap).unwrap();
    let table = Table::packets();
    let column = |name: &str| table.columns()[table.position(name).unwrap()].clone();
    let is =
        |name, number| Predicate::Compare(column(name), Operator::Equal, Constant::Integer(number));
    let rows = |predicate| WantedRows {
        table: table.clone(),
        projection: vec![table.position("frame.number").unwrap()],
        predicate: Some(predicate),
        limit: None,
    };
    // Long addresses are no plain numbers.
    let other = Constant::Bytes(vec![0; 16]);
    let is_other = Predicate::Compare(column("ipv6.src"), Operator::Equal, other);
    let wanted = [
        rows(is("udp.dstport", 53)),
        // A part of the predicate is plain.
        rows(Predicate::And(vec![is("tcp.dstport", 443), is_other])),
    ];
    let read = |compile| {
        let branch = Branch {
            predicate: Some(is("ip.ttl", 1)),
            keys: vec![],
            arguments: vec![None],
            filters: vec![None],
        };
        let groups = vec![Aggregate::new(vec![branch], &[Function::CountRows]).unwrap()];
        let counters = Arc::new(Counters::default());
        let options = ScanOptions {
            compile,
            ..ScanOptions::default()
        };
        let sources = vec![Source::capture(&path)];
        let scan = SharedScan::new(groups, &wanted, sources, options);
        let mut scan = scan.with_counters(Arc::clone(&counters));
        let mut batches = Vec::new();
        while scan.step().unwrap() {
            for number in 0..wanted.len() {
                batches.extend(scan.take_batch(number, false).unwrap());
            }
        }
        for number in 0..wanted.len() {
            batches.extend(scan.take_batch(number, true).unwrap());
        }
        let groups = scan.groups_mut().iter_mut().map(Aggregate::groups_as_words);
        (batches, groups.collect::<Vec<_>>(), counters.totals())
    };
    let (expected, groups, of_decoder) = read(Compile::Never);
    let (found, same_groups, of_program) = read(Compile::Always);
    assert_eq!(expected, found);
    assert_eq!(groups, same_groups);
    assert_eq!(of_decoder.records, of_program.records);
    assert_eq!(of_decoder.compiled, 0);
    assert!(
        of_program.compiled * 4 > of_program.records,
        "{of_program:?}"
    );
}

/// A link type that is not decoded is counted by every way of reading.
#[test]
fn records_of_an_unknown_link_type_are_counted() {
    let mut pcap = Vec::new();
    trace::ethernet_pcap(&mut pcap, 5, 50_000).unwrap();
    pcap[20..24].copy_from_slice(&147_u32.to_le_bytes());
    let table = Table::packets();
    let port = table.columns()[table.position("udp.dstport").unwrap()].clone();
    let is_dns = Predicate::Compare(port, Operator::Equal, Constant::Integer(53));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.pcap");
    std::fs::write(&path, pcap).unwrap();
    for compile in [Compile::Never, Compile::Always] {
        let counters = Arc::new(Counters::default());
        let options = ScanOptions {
            compile,
            ..ScanOptions::default()
        };
        let sources = vec![Source::capture(&path)];
        let scan = Scan::new(&table, &[0], Some(is_dns.clone()), sources, options);
        let mut scan = scan.with_counters(Arc::clone(&counters));
        assert!(scan.next_batch().unwrap().is_none());
        let totals = counters.totals();
        assert!(
            totals.records > 10 && totals.unknown_link == totals.records,
            "{totals:?}"
        );
    }
}

fn differ(expected: &Outcome, found: &Outcome) -> String {
    let groups = expected.groups.iter().zip(&found.groups);
    let first = groups
        .flat_map(|(ours, theirs)| ours.iter().zip(theirs))
        .find(|(ours, theirs)| ours != theirs);
    format!(
        "records {} {}, taken {} {}, groups {:?} {:?}, end {:?} {:?}, first {first:x?}",
        expected.records,
        found.records,
        expected.taken,
        found.taken,
        expected.groups.iter().map(Vec::len).collect::<Vec<_>>(),
        found.groups.iter().map(Vec::len).collect::<Vec<_>>(),
        expected.end,
        found.end,
    )
}

/// Datagrams of pairs of ends, one for each number of `of`, in their order.
fn datagrams(of: impl Iterator<Item = u32>) -> Vec<u8> {
    let mut capture = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 101] {
        capture.extend(word.to_le_bytes());
    }
    for number in of {
        for word in [number, 0, 28, 28] {
            capture.extend(word.to_le_bytes());
        }
        let [a, b, c, d] = number.to_be_bytes();
        capture.extend([0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0]);
        capture.extend([10, b, c, d, 192, c, d, a]);
        capture.extend([c, d, 0, 53, 0, 8, 0, 0]);
    }
    capture
}

#[test]
fn groups_that_are_too_many_for_places_are_those_of_the_decoder() {
    let table = Table::packets();
    let value =
        |name: &str| Expression::Column(table.columns()[table.position(name).unwrap()].clone());
    // Each number recurs, and one of them most often.
    let numbers = (0..40_000)
        .chain(0..40_000)
        .chain((0..40_000).map(|step| step % 3 * step));
    let capture = datagrams(numbers);
    for keys in [
        vec![value("ip.src")],
        vec![value("ip.src"), value("ip.dst"), value("udp.srcport")],
    ] {
        let new = || {
            let branch = Branch {
                predicate: None,
                keys: keys.clone(),
                arguments: vec![None, Some(value("ip.len"))],
                filters: vec![None, None],
            };
            let functions = [Function::CountRows, Function::Maximum];
            let aggregate = Aggregate::new(vec![branch], &functions).unwrap();
            assert_eq!(aggregate.output().mode, Mode::Hashed);
            vec![aggregate]
        };
        let (decoded, _) = read(&capture, new, Way::Decoded, 65_536).unwrap();
        assert!(decoded.groups[0].len() >= 40_000);
        for way in [Way::Interpreted, Way::Compiled, Way::Narrowed] {
            let (found, by_program) = read(&capture, new, way, 65_536).unwrap();
            assert!(decoded == found, "{way:?}\n{}", differ(&decoded, &found));
            // Records that the end of a buffer truncates are decoded.
            assert!(
                by_program * 100 > decoded.records * 99,
                "{way:?}: {by_program}"
            );
        }
    }
}

#[test]
fn questions_of_the_benchmarks_are_programs_of_a_reasonable_size() {
    let table = Table::packets();
    let column = |name: &str| table.columns()[table.position(name).unwrap()].clone();
    let value = |name| Expression::Column(column(name));
    let is =
        |name, number| Predicate::Compare(column(name), Operator::Equal, Constant::Integer(number));
    let pcap = ProgramFraming::Capture(RecordFraming::Pcap {
        header_len: 16,
        is_little_endian: true,
        captured_len_at: 8,
        wire_len_at: 12,
        smaller_is_captured: false,
        fraction_ns: 1000,
        captured_len_max: 262_144,
    });
    let erf = ProgramFraming::Capture(RecordFraming::Erf);
    let has_ports = Predicate::Not(Box::new(Predicate::IsNull(column("port.src"))));
    let of_ipv4 = || vec![is("fr.control", 3), is("ip.version", 4)];
    let cases = [
        ("count", pcap, LinkType::ETHERNET, None, vec![]),
        (
            "filter",
            pcap,
            LinkType::ETHERNET,
            Some(is("udp.dstport", 53)),
            vec![],
        ),
        (
            "group",
            pcap,
            LinkType::ETHERNET,
            Some(has_ports.clone()),
            vec![value("port.src"), value("port.dst")],
        ),
        (
            "frame2",
            erf,
            LinkType::ERF,
            Some(is("erf.flags", 0)),
            vec![],
        ),
        (
            "frame5",
            erf,
            LinkType::ERF,
            Some(Predicate::And([of_ipv4(), vec![has_ports]].concat())),
            vec![value("port.src"), value("port.dst")],
        ),
        (
            "frame6",
            erf,
            LinkType::ERF,
            Some(Predicate::And(of_ipv4())),
            vec![value("erf.flags.cap"), value("erf.mchdlc.cn")],
        ),
    ];
    let aggregate = |predicate: &Option<Predicate>, keys: &[Expression]| {
        let len = Expression::Integer {
            signed: false,
            of: Box::new(value("frame.len")),
        };
        let branch = Branch {
            predicate: predicate.clone(),
            keys: keys.to_vec(),
            arguments: vec![None, Some(len)],
            filters: vec![None, None],
        };
        Aggregate::new(vec![branch], &[Function::CountRows, Function::Sum]).unwrap()
    };
    let steps = |name: &str, aggregates: &[Aggregate], framing, link_type| {
        let program = Questions::new(aggregates, framing, link_type, None, &Options::default());
        let mut program = program.unwrap_or_else(|| panic!("{name} is no program"));
        let began = std::time::Instant::now();
        program.compile().unwrap();
        eprintln!("{name}: {} steps, {:?}", program.steps(), began.elapsed());
        program.steps()
    };
    for (name, framing, link_type, predicate, keys) in &cases {
        let steps = steps(name, &[aggregate(predicate, keys)], *framing, *link_type);
        assert!(steps < 750, "{name}: {steps} steps");
    }
    // Queries that share a scan are one program, however many of them have groups with places.
    let grouped = cases.iter().filter(|(_, framing, ..)| *framing == erf);
    let mut together: Vec<_> = grouped
        .map(|(.., predicate, keys)| aggregate(predicate, keys))
        .collect();
    together.extend(["ip.src", "ip.dst"].map(|name| aggregate(&None, &[value(name)])));
    steps("shared", &together, erf, LinkType::ERF);
}

const ROUNDS: usize = 600;
/// The number of captures that are generated.
const GENERATED: usize = 10;
