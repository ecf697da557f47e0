//! Windows that leave while records still come give what DataFusion's own operators give of whole
//! files, on queries made at random.

use weir_engine::Options;
use weir_testkit::Rng;

use crate::samples;
use crate::slt::Runner;

const OFFICE: &str = "'demo/office.pcapng'";
/// The same records as a stream; none of them is late.
const STREAM: &str = "packets('demo/office.pcapng', lateness => INTERVAL '2 seconds')";

const KEYS: &[&str] = &[
    "addr.src",
    "proto",
    "port.dst",
    "frame.len / 100",
    "vlan.id",
];

const AGGREGATES: &[&str] = &[
    "count(*)",
    "sum(frame.len)",
    "min(frame.number)",
    "max(frame.number)",
    "avg(ip.ttl)",
    "count(DISTINCT addr.dst)",
    "max(addr.src)",
    "approx_distinct(port.src)",
    "median(frame.len)",
    "max(frame.layers)",
    "count(*) FILTER (WHERE frame.len > 100)",
    "sum(ip.len) FILTER (WHERE tcp.flags.ack)",
];

const CONDITIONS: &[&str] = &[
    "true",
    "proto = 'udp'",
    "frame.len > 80 AND ip.ttl < 65",
    "frame.number % 3 = 1",
    "frame.layers LIKE '%tcp%'",
];

fn runner() -> Runner {
    samples::enter();
    let mut options = Options::default();
    options.threads = Some(2);
    let runner = Runner::new(&options);
    // Many small batches, so that there is much to come when windows are over.
    runner
        .rows("SET datafusion.execution.batch_size = 100")
        .unwrap();
    runner
}

fn sorted(runner: &Runner, sql: &str) -> Vec<String> {
    let mut rows = match runner.rows(sql) {
        Ok(rows) => rows.rows,
        Err(error) => panic!("{error}: {sql}"),
    };
    rows.sort();
    rows
}

fn plan(runner: &Runner, sql: &str) -> String {
    runner
        .rows(&format!("EXPLAIN {sql}"))
        .unwrap()
        .rows
        .join("\n")
}

fn pick<'m>(from: &[&'m str], random: &mut Rng) -> &'m str {
    from[random.below(from.len() as u64) as usize]
}

/// Some of a list, each once.
fn some(from: &[&'static str], least: u64, random: &mut Rng) -> Vec<&'static str> {
    let mut chosen = Vec::new();
    for _ in 0..least + random.below(3) {
        let one = pick(from, random);
        if !chosen.contains(&one) {
            chosen.push(one);
        }
    }
    chosen
}

/// Columns and their places, to select and group by.
fn question(
    window: &str,
    keys: &[&str],
    aggregates: &[&str],
    from: &str,
    condition: &str,
) -> String {
    let outputs = std::iter::once(window).chain(keys.iter().copied());
    let outputs = outputs.chain(aggregates.iter().copied()).enumerate();
    let outputs: Vec<String> = outputs
        .map(|(index, output)| format!("{output} AS c{index}"))
        .collect();
    let places: Vec<String> = (1..=1 + keys.len())
        .map(|place| place.to_string())
        .collect();
    format!(
        "SELECT {} FROM {from} WHERE {condition} GROUP BY {}",
        outputs.join(", "),
        places.join(", ")
    )
}

#[test]
fn tumbling_windows_of_a_stream_are_those_of_the_file() {
    let runner = runner();
    let mut random = Rng::new(31);
    for round in 0..40 {
        let (keys, aggregates) = (some(KEYS, 0, &mut random), some(AGGREGATES, 1, &mut random));
        let condition = pick(CONDITIONS, &mut random);
        let ms = 1 + random.below(100_000);
        let window = format!("tumble(frame.time, INTERVAL '{ms} milliseconds')");
        let binned =
            format!("date_bin(INTERVAL '{ms} milliseconds', frame.time, TIMESTAMP '1970-01-01')");
        let stream = question(&window, &keys, &aggregates, STREAM, condition);
        let file = question(&window, &keys, &aggregates, OFFICE, condition);
        let binned = question(&binned, &keys, &aggregates, OFFICE, condition);
        let expected = sorted(&runner, &binned);
        assert_eq!(sorted(&runner, &stream), expected, "{stream}");
        assert_eq!(sorted(&runner, &file), expected, "{file}");
        if round == 0 {
            assert!(
                plan(&runner, &stream).contains("WindowAggregate"),
                "{stream}"
            );
            assert!(!plan(&runner, &file).contains("WindowAggregate"), "{file}");
            assert!(!expected.is_empty());
        }
    }
}

/// A row is in the windows that begin at the multiples of the slide up to it: a join with these
/// multiples says the same.
#[test]
fn hopping_windows_are_those_of_a_join_with_their_starts() {
    let runner = runner();
    let mut random = Rng::new(32);
    for _ in 0..25 {
        let slide = 100 + random.below(200);
        let size = slide + random.below(4 * slide);
        let (keys, aggregates) = (some(KEYS, 0, &mut random), some(AGGREGATES, 1, &mut random));
        let condition = pick(CONDITIONS, &mut random);
        let window = format!("hop(frame.number, {size}, {slide})");
        let stream = question(&window, &keys, &aggregates, STREAM, condition);
        let file = question(&window, &keys, &aggregates, OFFICE, condition);
        let starts = format!(
            "(SELECT value * {slide} + 1 AS start FROM generate_series(-5, 200) AS s(value)) AS w"
        );
        let within =
            format!("frame.number >= start AND frame.number < start + {size} AND {condition}");
        let from = format!("{OFFICE}, {starts}");
        let joined = question("start", &keys, &aggregates, &from, &within);
        let expected = sorted(&runner, &joined);
        assert!(!expected.is_empty(), "{joined}");
        assert_eq!(sorted(&runner, &stream), expected, "{stream}");
        assert_eq!(sorted(&runner, &file), expected, "{file}");
    }
}

/// A session begins where the row before of its key is further back than the gap.
#[test]
fn sessions_are_those_that_window_functions_find() {
    let runner = runner();
    let mut random = Rng::new(33);
    for _ in 0..25 {
        let ms = 1 + random.below(20_000);
        let key = pick(KEYS, &mut random);
        let condition = pick(CONDITIONS, &mut random);
        let outputs = "count(*), sum(length), min(number), max(number), count(DISTINCT other)";
        let columns = format!(
            "{key} AS key, frame.time AS time, frame.len AS length, frame.number AS number, addr.dst AS other"
        );
        let expected = format!(
            "SELECT key, min(time), {outputs} FROM (
                SELECT *, sum(CASE WHEN time - before <= INTERVAL '{ms} milliseconds' THEN 0 ELSE 1 END)
                    OVER (PARTITION BY key ORDER BY time, number) AS part
                FROM (SELECT *, lag(time) OVER (PARTITION BY key ORDER BY time, number) AS before
                    FROM (SELECT {columns} FROM {OFFICE} WHERE {condition})))
            GROUP BY key, part"
        );
        let expected = sorted(&runner, &expected);
        for from in [OFFICE, STREAM] {
            let sql = format!(
                "SELECT key, session(time, INTERVAL '{ms} milliseconds'), {outputs}
                FROM (SELECT {columns} FROM {from} WHERE {condition}) GROUP BY 1, 2"
            );
            assert_eq!(sorted(&runner, &sql), expected, "{sql}");
        }
    }
}

/// A window begins behind the row that closed the one before.
#[test]
fn closed_windows_are_those_that_window_functions_find() {
    let runner = runner();
    let mut random = Rng::new(34);
    for _ in 0..25 {
        let key = pick(KEYS, &mut random);
        let closing = pick(&CONDITIONS[1..], &mut random);
        let outputs = "count(*), sum(length), min(number), max(number)";
        let columns = format!(
            "{key} AS key, {closing} AS closing, frame.len AS length, frame.number AS number"
        );
        let expected = format!(
            "SELECT key, {outputs} FROM (
                SELECT *, coalesce(sum(CASE WHEN closing THEN 1 ELSE 0 END) OVER (PARTITION BY key
                    ORDER BY number ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS part
                FROM (SELECT {columns} FROM {OFFICE}))
            GROUP BY key, part"
        );
        let expected = sorted(&runner, &expected);
        let sql = format!(
            "SELECT key, count, sum, min, max FROM (
                SELECT key, closed_by(closing) AS window, count(*) AS count, sum(length) AS sum,
                    min(number) AS min, max(number) AS max
                FROM (SELECT {columns} FROM {OFFICE}) GROUP BY key, window)"
        );
        assert_eq!(sorted(&runner, &sql), expected, "{sql}");
    }
}

#[test]
fn joins_that_forget_find_what_joins_of_whole_files_find() {
    let runner = runner();
    let mut random = Rng::new(35);
    let joins = [
        "JOIN",
        "LEFT JOIN",
        "RIGHT JOIN",
        "FULL JOIN",
        "LEFT SEMI JOIN",
        "LEFT ANTI JOIN",
        "RIGHT SEMI JOIN",
        "RIGHT ANTI JOIN",
    ];
    for round in 0..32 {
        let join = joins[round % joins.len()];
        let ms = random.below(3_000);
        let back = random.below(500);
        let range = match random.below(3) {
            0 => format!("a.time BETWEEN q.time AND q.time + INTERVAL '{ms} milliseconds'"),
            1 => format!(
                "a.time - q.time < INTERVAL '{ms} milliseconds' AND q.time - INTERVAL '{back} milliseconds' <= a.time"
            ),
            _ => format!(
                "q.time > a.time - INTERVAL '{ms} milliseconds' AND q.time <= a.time AND a.number <> q.number"
            ),
        };
        let key = pick(&["addr.src", "port.src", "frame.len"], &mut random);
        let part = 1 + random.below(4_000);
        let conditions = [pick(CONDITIONS, &mut random), pick(CONDITIONS, &mut random)];
        let side = |from: &str, condition: &str| {
            format!(
                "(SELECT frame.time AS time, frame.number AS number, {key} AS key FROM {from}
                WHERE {condition} AND frame.number BETWEEN {part} AND {part} + 1500)"
            )
        };
        let outputs = match join {
            join if join.starts_with("LEFT SEMI") || join.starts_with("LEFT ANTI") => "q.number",
            join if join.starts_with("RIGHT SEMI") || join.starts_with("RIGHT ANTI") => "a.number",
            _ => "q.number, a.number, a.key",
        };
        let sql = |from: &str| {
            let (q, a) = (side(from, conditions[0]), side(from, conditions[1]));
            format!("SELECT {outputs} FROM {q} q {join} {a} a ON q.key = a.key AND {range}")
        };
        let (stream, file) = (sql(STREAM), sql(OFFICE));
        assert_eq!(sorted(&runner, &stream), sorted(&runner, &file), "{stream}");
        assert!(plan(&runner, &stream).contains("IntervalJoin"), "{stream}");
        assert!(!plan(&runner, &file).contains("IntervalJoin"), "{file}");
    }
}
