//! The processor time of each way of a record, for machines on which others work too: the wall clock measures them as
//! well.
//!
//!     cargo bench -p weir-clf --bench clf -- RECORDS cost            (nanoseconds a record, each way in turn)
//!     valgrind --tool=callgrind CLF RECORDS cost "to text" ROUNDS    (the instructions of one way)

use std::fs::{self, File};
use std::hint::black_box;
use std::io::Write;
use std::path::Path;

use weir_clf::{Encoder, Form, Segment, Writer, WriterOptions, index, sidecar_path};

use crate::{Calls, drafts, median, text_line};

type Way<'a> = (&'static str, Box<dyn FnMut() -> [f64; 2] + 'a>);

/// Prints the time of each way, or walks the one that is named.
pub(crate) fn run(calls: &Calls, folder: &Path, name: Option<&str>, rounds: usize) {
    let [text, binary, json] = [Form::Text, Form::Binary, Form::Json].map(|form| {
        let path = folder.join(form.name());
        drafts::write_all(calls, form, &path);
        path
    });
    let log = folder.join("cost.clf");
    let mut ways: Vec<Way<'_>> = vec![
        (
            "records alone",
            Box::new(|| {
                cpu(|| {
                    calls.each(|record| {
                        black_box(record);
                    });
                })
            }),
        ),
        (
            "plain text writer",
            Box::new(|| cpu(|| plain_text(calls, &log))),
        ),
        (
            "format RFC 6873",
            Box::new(|| cpu(|| format(calls, Form::Rfc6873))),
        ),
        (
            "format text",
            Box::new(|| cpu(|| format(calls, Form::Text))),
        ),
        (
            "format binary",
            Box::new(|| cpu(|| format(calls, Form::Binary))),
        ),
        (
            "write",
            Box::new(|| write(calls, &log, Form::Rfc6873, false)),
        ),
        (
            "write with sidecar",
            Box::new(|| write(calls, &log, Form::Rfc6873, true)),
        ),
        (
            "write text",
            Box::new(|| write(calls, &log, Form::Text, false)),
        ),
        (
            "write text with sidecar",
            Box::new(|| write(calls, &log, Form::Text, true)),
        ),
        (
            "to text",
            Box::new(|| cpu(|| _ = drafts::convert_file(&binary, Form::Text, &log))),
        ),
        (
            "to text, careful",
            Box::new(|| cpu(|| _ = drafts::careful(&binary, &log))),
        ),
        (
            "format JSON",
            Box::new(|| cpu(|| format(calls, Form::Json))),
        ),
        (
            "to binary",
            Box::new(|| cpu(|| _ = drafts::convert_file(&text, Form::Binary, &log))),
        ),
        (
            "from JSON",
            Box::new(|| cpu(|| _ = drafts::convert_file(&json, Form::Binary, &log))),
        ),
    ];
    if name == Some("index") {
        write(calls, &log, Form::Rfc6873, false);
        ways.push((
            "index",
            Box::new(|| {
                cpu(|| {
                    index(&Segment::open(&log).unwrap()).unwrap();
                })
            }),
        ));
    }
    if let Some(name) = name {
        let (_, way) = ways.iter_mut().find(|(way, _)| *way == name).unwrap();
        for _ in 0..rounds {
            way();
        }
        return;
    }
    let mut all = vec![(Vec::new(), Vec::new()); ways.len()];
    for _ in 0..rounds {
        for ((here, elsewhere), (_, way)) in all.iter_mut().zip(&mut ways) {
            let [one, other] = way();
            here.push(one);
            elsewhere.push(other);
        }
    }
    let count = calls.ends.len() as f64;
    println!("nanoseconds of processor time a record: in the thread that makes records, in others");
    for ((here, elsewhere), (name, _)) in all.into_iter().zip(&ways) {
        println!(
            "{name:<26}{:6.0}{:6.0}",
            median(here) / count,
            median(elsewhere) / count
        );
    }
}

/// Returns the nanoseconds that this thread and the others of the process have run.
fn ran() -> [f64; 2] {
    // The system updates the figure of a running thread when it yields.
    std::thread::yield_now();
    let of = |path: &Path| {
        let text = fs::read_to_string(path).unwrap_or_default();
        let first = text.split(' ').next().and_then(|word| word.parse().ok());
        first.unwrap_or(0.0)
    };
    let here = of(Path::new("/proc/thread-self/schedstat"));
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    let all: f64 = tasks
        .flatten()
        .map(|task| of(&task.path().join("schedstat")))
        .sum();
    [here, all - here]
}

fn cpu(work: impl FnOnce()) -> [f64; 2] {
    let before = ran();
    work();
    let after = ran();
    [after[0] - before[0], after[1] - before[1]]
}

fn plain_text(calls: &Calls, path: &Path) {
    let _ = fs::remove_file(path);
    let mut second = (0, String::new());
    let mut buffer = Vec::with_capacity(2 << 20);
    let mut file = File::create(path).unwrap();
    calls.each(|record| {
        text_line(record, &mut second, &mut buffer);
        if buffer.len() >= 1 << 20 {
            file.write_all(&buffer).unwrap();
            buffer.clear();
        }
    });
    file.write_all(&buffer).unwrap();
}

fn format(calls: &Calls, form: Form) {
    let mut encoder = Encoder::new(form);
    calls.each(|record| {
        encoder.push(&drafts::request(record));
        if encoder.bytes().len() > 64 << 10 {
            black_box(encoder.bytes());
            encoder.clear();
        }
    });
}

fn write(calls: &Calls, path: &Path, form: Form, index: bool) -> [f64; 2] {
    let _ = fs::remove_file(path);
    let _ = fs::remove_file(sidecar_path(path));
    let mut options = WriterOptions::default();
    (options.form, options.index) = (form, index);
    let (writer, _) = Writer::open(path, options).unwrap();
    let mut appender = writer.appender();
    let ran = cpu(|| {
        calls.each(|record| appender.append(&drafts::request(record)).unwrap());
        appender.commit().unwrap();
    });
    drop(appender);
    writer.close().unwrap();
    ran
}
