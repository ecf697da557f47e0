//! Aggregates of queries that share a reading, in one program: those beyond the number that may have places, too.

use super::*;

fn together_give_what_the_decoder_gives(
    (name, capture): (&str, &[u8]),
    drawn: &[(Vec<Branch>, Vec<Function>)],
    buffer_bytes: usize,
) -> Option<u64> {
    let new = || -> Vec<Aggregate> {
        let made = drawn.iter();
        made.filter_map(|(branches, functions)| Aggregate::new(branches.clone(), functions))
            .collect()
    };
    let (decoded, _) = read(capture, new, Way::Decoded, buffer_bytes)?;
    let (interpreted, by_program) = read(capture, new, Way::Interpreted, buffer_bytes)?;
    let compiled = read(capture, new, Way::Compiled, buffer_bytes).unwrap();
    let narrowed = read(capture, new, Way::Narrowed, buffer_bytes).unwrap();
    for found in [interpreted, compiled.0, narrowed.0] {
        let differ = differ(&decoded, &found);
        assert!(decoded == found, "{name}: {drawn:?}\n{differ}");
    }
    Some(by_program)
}

#[test]
fn many_aggregates_drawn_at_random_are_those_of_the_decoder() {
    let captures = captures();
    let mut questioner = Questioner::new(27);
    let mut expressed = 0;
    for round in 0..ROUNDS / 6 {
        let mut drawn = Vec::new();
        while drawn.len() < 3 + round % 6 {
            let (branches, functions) = questioner.aggregate();
            let framing = ProgramFraming::Capture(RecordFraming::Erf);
            let options = Options::default();
            let alone = Aggregate::new(branches.clone(), &functions);
            let program =
                alone.and_then(|it| Questions::new(&[it], framing, LinkType::ERF, None, &options));
            drawn.extend(program.map(|_| (branches, functions)));
        }
        let (name, capture) = &captures[questioner.below(captures.len())];
        let buffer_bytes = [5003, 65_536][round % 2];
        let found = together_give_what_the_decoder_gives((name, capture), &drawn, buffer_bytes);
        expressed += usize::from(found.is_some());
    }
    assert!(expressed > 10, "{expressed} lists of aggregates");
}

/// Six have places, and rows of the others wait.
#[test]
fn aggregates_beyond_those_with_places_are_those_of_the_decoder() {
    let table = Table::packets();
    let value =
        |name: &str| Expression::Column(table.columns()[table.position(name).unwrap()].clone());
    let numbers = (0..3000).chain(0..3000).chain((0..3000).map(|n| n % 7 * n));
    let capture = datagrams(numbers);
    let keys = [
        vec!["ip.src"],
        vec!["ip.ttl"],
        vec!["udp.srcport", "ip.dst"],
        vec![],
        vec!["ip.dst"],
        vec!["udp.srcport"],
        vec!["ip.src", "ip.dst"],
        // The same again, which has no place any more.
        vec!["ip.src"],
        vec!["udp.srcport"],
        vec!["ip.len", "ip.src", "udp.dstport"],
        // There is no such field in these packets.
        vec!["vlan.id"],
    ];
    for many in 1..=keys.len() {
        let drawn: Vec<_> = keys[..many]
            .iter()
            .enumerate()
            .map(|(index, keys)| {
                let number = table.columns()[table.position("udp.srcport").unwrap()].clone();
                let constant = Constant::Integer(index as i128 * 400);
                let more = Predicate::Compare(number, Operator::GreaterOrEqual, constant);
                let branch = Branch {
                    predicate: (index % 3 != 0).then_some(more),
                    keys: keys.iter().map(|name| value(name)).collect(),
                    arguments: vec![None, Some(value("udp.srcport"))],
                    filters: vec![None, None],
                };
                (vec![branch], vec![Function::CountRows, Function::Maximum])
            })
            .collect();
        let placed = drawn.iter().filter(|(branches, functions)| {
            let aggregate = Aggregate::new(branches.clone(), functions).unwrap();
            let mode = Aggregate::output(&aggregate).mode;
            mode.place_bits().is_some()
        });
        assert_eq!(placed.count(), many - usize::from(many > 3));
        let found = together_give_what_the_decoder_gives(("datagrams", &capture), &drawn, 65_536);
        // Records that the end of a buffer truncates are decoded.
        let by_program = found.unwrap();
        assert!(by_program * 100 > 9000 * 99, "{many}: {by_program}");
    }
}
