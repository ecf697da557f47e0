//! Compares the meaning of SQL with DuckDB: the precedence of operators, and answers over the same rows. The tests are skipped,
//! with a report, without Python's duckdb.

use std::fmt::Write as _;
use std::io::Write;
use std::process::{Command, Stdio};

use weir_testkit::Limited as _;
use weir_testkit::Rng;

use crate::samples;
use crate::slt::Runner;

/// The answers of DuckDB, one a statement: rows, or what was wrong.
fn duckdb(statements: &[String]) -> Option<Vec<Result<Vec<String>, String>>> {
    let script = r"
import sys
try:
    import duckdb
except ImportError:
    sys.exit(7)
connection = duckdb.connect()
def text(value):
    if value is None: return 'NULL'
    if isinstance(value, bool): return str(value).lower()
    if isinstance(value, float): return repr(value)
    return str(value)
for line in sys.stdin:
    try:
        rows = connection.execute(line).fetchall()
        print('R' + '\x1e'.join(' '.join(text(value) for value in row) for row in rows))
    except Exception as error:
        print('E' + str(error).replace('\n', ' '))
";
    let child = Command::new("python3")
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn_limited();
    let Ok(mut child) = child else {
        weir_testkit::missing("duckdb", "there is no python3 to ask DuckDB with");
        return None;
    };
    let text = statements.join("\n") + "\n";
    let mut input = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        // A program that is not installed does not read.
        let _ = input.write_all(text.as_bytes());
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    if output.status.code() == Some(7) {
        weir_testkit::missing(
            "duckdb",
            "what SQL means is not held against DuckDB's (pip install duckdb)",
        );
        return None;
    }
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<_> = text
        .lines()
        .map(|line| match line.split_at(1) {
            ("R", "") => Ok(Vec::new()),
            ("R", rows) => Ok(rows.split('\x1e').map(str::to_owned).collect()),
            (_, error) => Err(error.to_owned()),
        })
        .collect();
    assert_eq!(answers.len(), statements.len());
    Some(answers)
}

/// Rows in an order of their own agree, with numbers as numbers.
fn agree(ours: &[String], theirs: &[String]) -> bool {
    let sorted = |rows: &[String]| {
        let mut rows: Vec<Vec<String>> = rows
            .iter()
            .map(|row| row.split(' ').map(plain).collect())
            .collect();
        rows.sort();
        rows
    };
    let (ours, theirs) = (sorted(ours), sorted(theirs));
    ours.len() == theirs.len()
        && ours.iter().zip(&theirs).all(|(ours, theirs)| {
            ours.len() == theirs.len()
                && ours
                    .iter()
                    .zip(theirs)
                    .all(|(ours, theirs)| same(ours, theirs))
        })
}

/// Numbers with nine digits, by which rows can be sorted that differ in the last.
fn plain(value: &str) -> String {
    match value.parse::<f64>() {
        Ok(number) if number.is_finite() => format!("{number:.8e}"),
        _ => value.to_owned(),
    }
}

fn same(ours: &str, theirs: &str) -> bool {
    match (ours.parse::<f64>(), theirs.parse::<f64>()) {
        (Ok(ours), Ok(theirs)) => (ours - theirs).abs() <= 1e-6 * theirs.abs().max(1e-9),
        _ => ours == theirs,
    }
}

/// An expression as a tree, printed with no more parentheses than PostgreSQL's table of precedence wants.
struct Maker {
    random: Rng,
    /// The number of enclosing operators that may skip the evaluation of this place: an error there can occur in one engine and
    /// not in the other.
    lazy: u32,
}

impl Maker {
    /// A truth value, with the level of its operator.
    fn truth(&mut self, depth: u64) -> (String, u8) {
        if depth == 0 {
            return (
                pick(&["true", "false", "NULL"], &mut self.random).to_owned(),
                ATOM,
            );
        }
        let below = depth - 1;
        match self.random.below(12) {
            0 | 1 => self.lazily(|maker| maker.binary("OR", OR, below, Self::truth)),
            2..=4 => self.lazily(|maker| maker.binary("AND", AND, below, Self::truth)),
            5 => {
                let inner = self.truth(below);
                (format!("NOT {}", at_least(inner, NOT)), NOT)
            }
            6 => {
                let test = pick(
                    &["IS NULL", "IS NOT NULL", "IS TRUE", "IS NOT FALSE"],
                    &mut self.random,
                );
                let inner = self.truth(below);
                (format!("{} {test}", at_least(inner, IS + 1)), IS)
            }
            7 => {
                let sign = pick(
                    &["IS DISTINCT FROM", "IS NOT DISTINCT FROM"],
                    &mut self.random,
                );
                let (left, right) = match self.random.below(2) {
                    0 => (self.truth(below), self.truth(below)),
                    _ => (self.number(below), self.number(below)),
                };
                let (left, right) = (at_least(left, IS + 1), at_least(right, IS + 1));
                (format!("{left} {sign} {right}"), IS)
            }
            8 | 9 => {
                let sign = pick(&["=", "<>", "<", "<=", ">", ">="], &mut self.random);
                let (left, right) = match self.random.below(3) {
                    0 => (self.truth(below), self.truth(below)),
                    1 => (self.text(below), self.text(below)),
                    _ => (self.number(below), self.number(below)),
                };
                let (left, right) = (at_least(left, COMPARE + 1), at_least(right, COMPARE + 1));
                (format!("{left} {sign} {right}"), COMPARE)
            }
            10 => {
                let not = pick(&["", "NOT "], &mut self.random);
                let value = self.number(below);
                // BETWEEN is two comparisons with AND between them, IN is some with OR.
                let [first, second] = [(); 2].map(|()| self.lazily(|maker| maker.number(below)));
                let [a, b, c] = [value, first, second].map(|it| at_least(it, BETWEEN + 1));
                match self.random.below(2) {
                    0 => (format!("{a} {not}BETWEEN {b} AND {c}"), BETWEEN),
                    _ => (format!("{a} {not}IN ({b}, {c})"), BETWEEN),
                }
            }
            _ => {
                let not = pick(&["", "NOT "], &mut self.random);
                let (left, right) = (self.text(below), self.text(below));
                let (left, right) = (at_least(left, BETWEEN + 1), at_least(right, BETWEEN + 1));
                (format!("{left} {not}LIKE {right}"), BETWEEN)
            }
        }
    }

    fn number(&mut self, depth: u64) -> (String, u8) {
        if depth == 0 {
            return (self.random.below(9).to_string(), ATOM);
        }
        let below = depth - 1;
        match self.random.below(9) {
            0 | 1 => self.binary("+", PLUS, below, Self::number),
            2 => self.binary("-", PLUS, below, Self::number),
            3 => self.binary("*", TIMES, below, Self::number),
            4 => self.division("//", below),
            5 => self.division("%", below),
            6 => {
                let inner = self.number(below);
                (format!("-{}", at_least(inner, SIGN + 1)), SIGN)
            }
            7 => {
                let sign = pick(&["&", "|"], &mut self.random);
                self.binary(sign, OTHER, below, Self::number)
            }
            _ => {
                let sign = pick(&["<<", ">>"], &mut self.random);
                let left = self.random.below(9);
                let right = self.random.below(3);
                (format!("{left} {sign} {right}"), OTHER)
            }
        }
    }

    /// A division, which is not one by zero where one engine would find that out and another would not.
    fn division(&mut self, sign: &str, below: u64) -> (String, u8) {
        if self.lazy == 0 {
            return self.binary(sign, TIMES, below, Self::number);
        }
        let left = at_least(self.number(below), TIMES);
        (format!("{left} {sign} {}", 1 + self.random.below(8)), TIMES)
    }

    /// Makes an expression for a place that may not be evaluated.
    fn lazily<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> T {
        self.lazy += 1;
        let made = make(self);
        self.lazy -= 1;
        made
    }

    fn text(&mut self, depth: u64) -> (String, u8) {
        match depth {
            0 => (
                (pick(&["'a'", "'b'", "'%'", "'ab'"], &mut self.random)).to_owned(),
                ATOM,
            ),
            _ => self.binary("||", OTHER, depth - 1, Self::text),
        }
    }

    fn binary(
        &mut self,
        sign: &str,
        level: u8,
        below: u64,
        side: fn(&mut Self, u64) -> (String, u8),
    ) -> (String, u8) {
        let left = side(self, below);
        let right = side(self, below);
        // Operators of one level are taken from the left.
        let text = format!(
            "{} {sign} {}",
            at_least(left, level),
            at_least(right, level + 1)
        );
        (text, level)
    }
}

fn at_least((text, level): (String, u8), wanted: u8) -> String {
    match level >= wanted {
        true => text,
        false => format!("({text})"),
    }
}

const OR: u8 = 1;
const AND: u8 = 2;
const NOT: u8 = 3;
const IS: u8 = 4;
const COMPARE: u8 = 5;
const BETWEEN: u8 = 6;
const OTHER: u8 = 7;
const PLUS: u8 = 8;
const TIMES: u8 = 9;
const SIGN: u8 = 11;
const ATOM: u8 = 20;

/// `a IS DISTINCT FROM b AND c`, `a = b LIKE c`, `a || b = c` and others were read otherwise.
#[test]
fn operators_bind_as_in_duckdb() {
    samples::enter();
    let mut maker = Maker {
        random: Rng::new(14),
        lazy: 0,
    };
    let expressions: Vec<String> = (0..3_000)
        .map(|index| match index % 4 {
            0 => maker.number(3).0,
            1 => maker.truth(2).0,
            _ => maker.truth(3).0,
        })
        .collect();
    let statements: Vec<String> = expressions
        .iter()
        .map(|it| format!("SELECT {it}"))
        .collect();
    let Some(theirs) = duckdb(&statements) else {
        return;
    };
    let runner = Runner::new(&weir_engine::Options::default());
    let mut compared = 0;
    let mut wrong = String::new();
    for (sql, theirs) in statements.iter().zip(theirs) {
        // A division by zero, or a shift of what is negative.
        let Ok(theirs) = theirs else { continue };
        compared += 1;
        match runner.rows(sql) {
            Ok(ours) if agree(&ours.rows, &theirs) => {}
            Ok(ours) => {
                let _ = writeln!(wrong, "{sql}: {:?}, DuckDB {theirs:?}", ours.rows);
            }
            Err(error) => {
                let _ = writeln!(wrong, "{sql}: {error}, DuckDB {theirs:?}");
            }
        }
    }
    println!("{compared} of {} expressions compared", statements.len());
    assert!(wrong.is_empty(), "{wrong}");
    assert!(compared >= 2_000, "{compared}");
}

/// DuckDB passes over a place of a list that fails when another place decides, as SQL allows; weir evaluates all of a list
/// of constants. The statements above leave such places out.
#[test]
fn a_list_with_a_division_by_zero_fails_here_and_is_passed_over_by_duckdb() {
    samples::enter();
    let sql = "SELECT 5 % 3 // (2 - 5) NOT IN (1 // 8 % -0, 0 >> 0)";
    let Some(theirs) = duckdb(&[sql.to_owned()]) else {
        return;
    };
    assert_eq!(theirs, [Ok(vec!["false".to_owned()])]);
    let runner = Runner::new(&weir_engine::Options::default());
    let ours = runner.rows(sql).map(|ours| ours.rows);
    let refused = ours.unwrap_err().to_string();
    assert!(refused.contains("division by zero"), "{refused}");
}

/// A predicate over a subquery of the table u, for a row of the table t. Some columns of both have NULLs.
fn subquery_predicate(random: &mut Rng) -> String {
    let not = pick(&["", "NOT "], random);
    let value = pick(&["t.a", "t.b", "t.a + 1", "2", "NULL"], random);
    let rows = pick(
        &[
            "u",
            "u WHERE y > 1",
            "u WHERE y > 7",
            "u WHERE x = t.a",
            "u WHERE x = t.b AND y > 1",
            "u WHERE x IS NOT NULL",
        ],
        random,
    );
    match random.below(3) {
        0 => format!("{not}EXISTS (SELECT 1 FROM {rows})"),
        1 => format!("{value} {not}IN (SELECT y FROM {rows})"),
        _ => format!("{value} {not}IN (SELECT x FROM {rows})"),
    }
}

fn subquery_condition(random: &mut Rng, depth: u64) -> String {
    if depth == 0 {
        return match random.below(4) {
            0 => "t.a > 1".to_owned(),
            _ => subquery_predicate(random),
        };
    }
    let (left, right) = (
        subquery_condition(random, depth - 1),
        subquery_condition(random, depth - 1),
    );
    match random.below(6) {
        0 => format!("({left} OR {right})"),
        1 => format!("({left} AND {right})"),
        2 => format!("NOT ({left})"),
        3 => format!("({left}) IS NULL"),
        4 => format!("CASE WHEN {left} THEN {right} ELSE {left} END"),
        _ => format!("({left}) = ({right})"),
    }
}

/// IN and EXISTS had no plan outside of WHERE, and under NOT, OR and IS NULL they were false where they are NULL.
#[test]
fn predicates_over_subqueries_are_those_of_duckdb() {
    samples::enter();
    let mut random = Rng::new(61);
    let statements: Vec<String> = (0..400)
        .map(|index| {
            let depth = random.below(3);
            let condition = subquery_condition(&mut random, depth);
            let query = match index % 4 {
                0 => format!("SELECT t.a, t.b, {condition} AS c FROM t"),
                1 => format!("SELECT {condition} AS c, count(*) FROM t GROUP BY 1"),
                2 => format!("SELECT count(*) FILTER (WHERE {condition}), count(t.b) FROM t"),
                _ => format!("SELECT t.a, t.b FROM t WHERE {condition}"),
            };
            format!(
                "WITH t(a, b) AS (VALUES (1, 1), (2, NULL), (3, 2), (NULL, 4), (5, 3)), \
                 u(x, y) AS (VALUES (1, 2), (2, 3), (NULL, 1), (5, 5), (1, 1)) {query}"
            )
        })
        .collect();
    let Some(theirs) = duckdb(&statements) else {
        return;
    };
    let runner = Runner::new(&weir_engine::Options::default());
    let mut wrong = String::new();
    for (sql, theirs) in statements.iter().zip(theirs) {
        let theirs = theirs.unwrap_or_else(|error| panic!("{sql}: {error}"));
        match runner.rows(sql) {
            Ok(ours) if agree(&ours.rows, &theirs) => {}
            Ok(ours) => {
                let _ = writeln!(wrong, "{sql}: {:?}, DuckDB {theirs:?}", ours.rows);
            }
            Err(error) => {
                let _ = writeln!(wrong, "{sql}: {error}, DuckDB {theirs:?}");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// The columns that both have, and how weir writes them into the file that DuckDB reads.
const COLUMNS: &[&str] = &[
    "frame.number",
    "frame.len",
    "frame.cap_len",
    "ip.len",
    "ip.ttl",
    "ip.id",
    "ip.proto",
    "port.src",
    "port.dst",
    "tcp.window_size_value",
];
const TEXTS: &[&str] = &["proto", "ip.src", "ip.dst"];

fn pick<'l>(list: &[&'l str], random: &mut Rng) -> &'l str {
    list[random.below(list.len() as u64) as usize]
}

fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}

fn number(random: &mut Rng, depth: u64) -> String {
    if depth == 0 {
        return quoted(pick(COLUMNS, random));
    }
    let left = number(random, depth - 1);
    let constant = 1 + random.below(40);
    match random.below(8) {
        0 => format!("({left} + {})", number(random, depth - 1)),
        1 => format!("({left} - {})", number(random, depth - 1)),
        2 => format!("({left} * {constant})"),
        3 => format!("({left} // {constant})"),
        4 => format!("({left} % {constant})"),
        5 => format!("({left} & {constant})"),
        6 => format!("({left} - {constant})"),
        _ => left,
    }
}

fn condition(random: &mut Rng, depth: u64) -> String {
    if depth > 0 {
        let (left, right) = (condition(random, depth - 1), condition(random, depth - 1));
        return match random.below(4) {
            0 => format!("{left} OR {right}"),
            1 => format!("{left} AND {right}"),
            2 => format!("NOT ({left}) AND {right}"),
            _ => left,
        };
    }
    let column = quoted(pick(COLUMNS, random));
    let text = quoted(pick(TEXTS, random));
    let value = random.below(200);
    match random.below(10) {
        0 => format!("{column} > {value}"),
        1 => format!("{column} <= {}", value * 7),
        2 => format!("{column} IN ({value}, 53, 64, 60, 80)"),
        3 => format!("{column} BETWEEN {value} AND {}", value + 300),
        4 => format!("{column} IS NULL"),
        5 => format!("{text} IS NOT NULL"),
        6 => format!("{text} IS DISTINCT FROM \"ip.dst\""),
        7 => format!("{} > {value}", number(random, 1)),
        8 => "\"proto\" IN ('tcp', 'icmp')".to_owned(),
        _ => format!("{column} IS DISTINCT FROM 64 AND {column} <> {value}"),
    }
}

fn query(random: &mut Rng) -> String {
    let condition = match random.below(4) {
        0 => String::new(),
        depth => format!(" WHERE {}", condition(random, depth - 1)),
    };
    if random.below(4) == 0 {
        let columns = [
            number(random, 1),
            number(random, 2),
            quoted(pick(TEXTS, random)),
        ];
        return format!("SELECT {} FROM TABLE{condition}", columns.join(", "));
    }
    let keys: Vec<String> = (0..random.below(3))
        .map(|_| match random.below(3) {
            0 => quoted(pick(TEXTS, random)),
            depth => number(random, depth - 1),
        })
        .collect();
    let mut outputs = keys.clone();
    for _ in 0..1 + random.below(3) {
        let value = number(random, 1);
        outputs.push(match random.below(9) {
            0 => "count(*)".to_owned(),
            1 => format!("sum({value})"),
            2 => format!("min({value})"),
            3 => format!("max({value})"),
            4 => format!("avg({value})"),
            5 => format!("count(DISTINCT {value})"),
            6 => format!("sum({value}) / count(*)"),
            7 => format!(
                "count({value}) FILTER (WHERE {})",
                self::condition(random, 0)
            ),
            _ => format!("count(*) / (1 + max({value}) // 100000000)"),
        });
    }
    // Columns of one name are refused here, and taken by DuckDB.
    let outputs = outputs.iter().enumerate();
    let outputs: Vec<String> = outputs
        .map(|(place, output)| format!("{output} AS c{place}"))
        .collect();
    let mut sql = format!("SELECT {} FROM TABLE{condition}", outputs.join(", "));
    if !keys.is_empty() {
        let places: Vec<String> = (1..=keys.len()).map(|place| place.to_string()).collect();
        let _ = write!(sql, " GROUP BY {}", places.join(", "));
        if random.below(3) == 0 {
            sql += " HAVING count(*) > 2";
        }
    }
    sql
}

/// A query of one or two columns with few different rows, some of them NULL, or of others by set operations.
fn set(random: &mut Rng, depth: u64) -> String {
    if depth == 0 {
        return match random.below(3) {
            0 => {
                let condition = condition(random, 0);
                format!(
                    "SELECT CAST(\"frame.len\" % 3 AS VARCHAR) AS a, CAST(\"ip.ttl\" % 3 AS VARCHAR) AS b \
                     FROM TABLE WHERE {condition}"
                )
            }
            _ => {
                let value = |random: &mut Rng| match random.below(3) {
                    0 => "CAST(NULL AS VARCHAR)".to_owned(),
                    number => format!("'{number}'"),
                };
                let rows: Vec<String> = (0..1 + random.below(9))
                    .map(|_| format!("({}, {})", value(random), value(random)))
                    .collect();
                format!("SELECT a, b FROM (VALUES {}) AS v(a, b)", rows.join(", "))
            }
        };
    }
    let operator = pick(&["INTERSECT", "EXCEPT", "UNION"], random);
    let all = pick(&["ALL", "ALL", "ALL", ""], random);
    let other = random.below(depth);
    let (left, right) = (set(random, depth - 1), set(random, other));
    match random.below(4) {
        0 => format!("SELECT * FROM (({left}) {operator} {all} ({right})) AS s"),
        1 => format!(
            "WITH w AS (({left}) {operator} {all} ({right})) SELECT b AS a, a AS b FROM w WHERE a IS DISTINCT FROM '2'"
        ),
        _ => format!("({left}) {operator} {all} ({right})"),
    }
}

/// INTERSECT ALL gave every row of the left side that is on the right at all, and EXCEPT ALL none of them.
#[test]
fn copies_are_counted_as_in_duckdb() {
    let folder = samples::enter();
    let mut options = weir_engine::Options::default();
    options.threads = Some(2);
    let runner = Runner::new(&options);
    let numbers = COLUMNS
        .iter()
        .map(|name| format!("CAST(\"{name}\" AS BIGINT) AS \"{name}\""));
    let columns: Vec<String> = numbers
        .chain(TEXTS.iter().map(|name| quoted(name)))
        .collect();
    let columns = columns.join(", ");
    let copy = format!("COPY (SELECT {columns} FROM 'demo/voip.pcap') TO 'copies.parquet'");
    runner.rows(&copy).unwrap();
    let mut random = Rng::new(7);
    let queries: Vec<String> = (0..60)
        .map(|index| set(&mut random, 1 + index % 3))
        .collect();
    let file = format!("'{}'", folder.join("copies.parquet").display());
    let statements = queries.iter().map(|sql| sql.replace("TABLE", &file));
    let Some(theirs) = duckdb(&statements.collect::<Vec<_>>()) else {
        return;
    };
    let mut wrong = String::new();
    for (sql, theirs) in queries.iter().zip(theirs) {
        let sql = sql.replace("TABLE", "'demo/voip.pcap'");
        let theirs = theirs.unwrap();
        match runner.rows(&sql) {
            Ok(ours) if agree(&ours.rows, &theirs) => {}
            Ok(ours) => {
                let _ = writeln!(wrong, "{sql}\n  {:?}\n  {theirs:?}", ours.rows);
            }
            Err(error) => {
                let _ = writeln!(wrong, "{sql}\n  {error}");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// 1,000 queries made at random, over generated captures, in four settings.
#[test]
fn queries_give_what_duckdb_gives() {
    let folder = samples::enter();
    let runner = |threads, unfused, memory_limit_bytes| {
        let mut options = weir_engine::Options::default();
        options.threads = Some(threads);
        options.unfused = unfused;
        options.memory_limit_bytes = memory_limit_bytes;
        Runner::new(&options)
    };
    let settings = [
        runner(1, false, None),
        runner(2, false, None),
        runner(2, true, None),
        runner(2, false, Some(64 << 20)),
    ];
    let captures = ["demo/office.pcapng", "net.pcap", "demo/voip.pcap"];
    for (index, capture) in captures.iter().enumerate() {
        let numbers = COLUMNS
            .iter()
            .map(|name| format!("CAST(\"{name}\" AS BIGINT) AS \"{name}\""));
        let texts = TEXTS.iter().map(|name| quoted(name));
        let columns: Vec<String> = numbers.chain(texts).collect();
        let columns = columns.join(", ");
        let copy = format!("COPY (SELECT {columns} FROM '{capture}') TO 'duckdb{index}.parquet'");
        settings[0].rows(&copy).unwrap();
    }
    let mut random = Rng::new(41);
    let queries: Vec<(usize, String)> = (0..1_000)
        .map(|index| {
            (
                if index % 4 == 0 { 1 + index / 4 % 2 } else { 0 },
                query(&mut random),
            )
        })
        .collect();
    let statements = queries.iter().map(|(table, sql)| {
        let file = folder.join(format!("duckdb{table}.parquet"));
        sql.replace("TABLE", &format!("'{}'", file.display()))
    });
    let Some(theirs) = duckdb(&statements.collect::<Vec<_>>()) else {
        return;
    };
    let mut wrong = String::new();
    let mut compared = 0;
    for ((table, sql), theirs) in queries.iter().zip(theirs) {
        let sql = sql.replace("TABLE", &format!("'{}'", captures[*table]));
        let theirs = match theirs {
            Ok(theirs) => theirs,
            Err(error) => panic!("DuckDB: {error}: {sql}"),
        };
        for (number, setting) in settings.iter().enumerate() {
            compared += 1;
            match setting.rows(&sql) {
                Ok(ours) if agree(&ours.rows, &theirs) => {}
                Ok(ours) => {
                    let (ours, theirs) = (ours.rows.iter().take(3), theirs.iter().take(3));
                    let (ours, theirs): (Vec<_>, Vec<_>) = (ours.collect(), theirs.collect());
                    let _ = writeln!(wrong, "setting {number}: {sql}\n  {ours:?}\n  {theirs:?}");
                }
                Err(error) => {
                    let _ = writeln!(wrong, "setting {number}: {sql}\n  {error}");
                }
            }
        }
    }
    println!("{compared} answers compared");
    assert!(wrong.is_empty(), "{wrong}");
}
