//! The sample captures, the shared cluster, and engines to query them.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use arrow::array::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use weir_cluster::{Client, LocalCluster};
use weir_engine::{Engine, Error, Options};
use weir_testkit::demo::write_demo;

/// A folder with the demo's captures, and with `day`: eight captures of it, some compressed by name only.
pub(crate) fn enter() -> &'static Path {
    static DIR: OnceLock<PathBuf> = OnceLock::new();
    DIR.get_or_init(|| {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cluster-samples");
        if dir.exists() {
            std::fs::remove_dir_all(&dir).unwrap();
        }
        std::fs::create_dir_all(dir.join("day")).unwrap();
        std::env::set_current_dir(&dir).unwrap();
        write_demo(Path::new("demo")).unwrap();
        for number in 0..8 {
            let from = match number % 2 {
                0 => "demo/voip.pcap",
                _ => "demo/office.pcapng",
            };
            std::fs::copy(from, format!("day/{number}.pcap")).unwrap();
        }
        let whole = std::fs::read("demo/voip.pcap").unwrap();
        std::fs::create_dir_all("damaged").unwrap();
        for number in 0..4 {
            let cut = whole.len() - number * 7;
            std::fs::write(format!("damaged/{number}.pcap"), &whole[..cut]).unwrap();
        }
        dir
    })
}

/// A scheduler and two executors of one core each, for all tests.
pub(crate) fn cluster() -> &'static LocalCluster {
    static CLUSTER: OnceLock<LocalCluster> = OnceLock::new();
    CLUSTER.get_or_init(|| {
        let folder = enter().join("work");
        std::fs::create_dir_all(&folder).unwrap();
        LocalCluster::start_below(&folder, 2, None).unwrap()
    })
}

/// The rows of a result as text, with located errors and notes.
#[derive(Debug, Default)]
pub(crate) struct Answered {
    pub(crate) rows: Vec<String>,
    pub(crate) errors: Vec<String>,
    pub(crate) notes: Vec<String>,
    pub(crate) records: u64,
    pub(crate) bytes: u64,
    pub(crate) stopped: u64,
    /// The number of executors that have read a piece.
    pub(crate) readers: u64,
}

impl Answered {
    pub(crate) fn sorted(mut self) -> Self {
        self.rows.sort_unstable();
        self
    }
}

/// An engine, with a cluster or without.
pub(crate) struct Asks {
    runtime: tokio::runtime::Runtime,
    engine: Engine,
    pub(crate) client: Option<Client>,
}

impl Asks {
    pub(crate) fn here() -> Self {
        let mut options = Options::default();
        options.threads = Some(2);
        Self::with(&options, None)
    }

    pub(crate) fn there() -> Self {
        Self::there_with(Options::default())
    }

    /// A runner on the cluster that cuts large captures into pieces of this size.
    pub(crate) fn there_in(piece_bytes: u64) -> Self {
        let client = cluster().client(3).unwrap().with_piece_bytes(piece_bytes);
        let mut options = Options::default();
        options.cluster = Some(Arc::new(client.clone()));
        Self::with(&options, Some(client))
    }

    pub(crate) fn there_with(mut options: Options) -> Self {
        let client = cluster().client(3).unwrap();
        options.cluster = Some(Arc::new(client.clone()));
        Self::with(&options, Some(client))
    }

    /// A runner with this client.
    pub(crate) fn by(client: Client) -> Self {
        let mut options = Options::default();
        options.cluster = Some(Arc::new(client.clone()));
        Self::with(&options, Some(client))
    }

    pub(crate) fn with(options: &Options, client: Option<Client>) -> Self {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(2).thread_stack_size(16 << 20);
        Self {
            runtime: runtime.build().unwrap(),
            engine: Engine::new(options).unwrap(),
            client,
        }
    }

    pub(crate) fn ask(&self, sql: &str) -> Result<Answered, Error> {
        self.ask_after(sql, || {})
    }

    /// Runs [`Self::ask`] until both executors have read a piece: one may still be starting, or be busy with another test.
    pub(crate) fn ask_both(&self, sql: &str) -> Answered {
        for _ in 0..100 {
            let answered = self.ask(sql).unwrap();
            if answered.readers == 2 {
                return answered;
            }
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
        panic!("{sql}: one executor reads all");
    }

    /// Runs [`Self::ask`] with a closure that is called between planning and execution.
    pub(crate) fn ask_after(&self, sql: &str, between: impl Fn()) -> Result<Answered, Error> {
        let before = self.engine.scan_report().counters().totals();
        let mut rows = Vec::new();
        self.runtime.block_on(async {
            for statement in self.engine.parse(sql)? {
                let mut statements = VecDeque::from([statement]);
                for planned in self.engine.plan_next(&mut statements).await? {
                    between();
                    let mut answer = self.engine.start(planned)?;
                    while let Some(batch) = answer.next().await? {
                        rows.extend(rows_of(&batch));
                    }
                }
            }
            Ok::<_, Error>(())
        })?;
        let report = self.engine.scan_report();
        let totals = report.counters().totals().since(&before);
        let mut errors: Vec<_> = report
            .take_errors()
            .iter()
            .map(ToString::to_string)
            .collect();
        errors.sort_unstable();
        Ok(Answered {
            rows,
            errors,
            notes: report.take_notes(),
            records: totals.records,
            bytes: totals.bytes,
            stopped: totals.stopped,
            readers: report.take_readers(),
        })
    }

    /// The plan of a statement.
    pub(crate) fn plan(&self, sql: &str) -> String {
        self.ask(&format!("EXPLAIN {sql}")).unwrap().rows.join("\n")
    }
}

fn rows_of(batch: &RecordBatch) -> Vec<String> {
    let options = FormatOptions::default().with_null("NULL");
    let columns: Vec<_> = batch
        .columns()
        .iter()
        .map(|column| ArrayFormatter::try_new(column, &options).unwrap())
        .collect();
    let row = |row| {
        let values = columns.iter().map(|column| column.value(row).to_string());
        values.collect::<Vec<_>>().join("\t")
    };
    (0..batch.num_rows()).map(row).collect()
}
