//! `COPY (…) TO 'x.pcap'`: the packets of a query become a capture again.
//!
//! The query's tables of packets get one more column, which holds each record whole, and the query is
//! reduced to that column: what else `SELECT *` would decode is never asked for.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryViewArray, RecordBatch, UInt64Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::Column;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use datafusion::sql::parser::CopyToSource;
use weir_capture::{WriteError, Writer};
use weir_tables::{RECORD_COLUMN, kept_record};

use crate::answer::Answer;
use crate::error::{Error, ErrorKind};
use crate::statement::Statement;

/// Where the packets of a query go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CaptureCopy {
    path: PathBuf,
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Pcap,
    Pcapng,
}

impl Format {
    fn of(word: &str) -> Option<Self> {
        match word.to_ascii_lowercase().as_str() {
            "pcap" => Some(Self::Pcap),
            "pcapng" => Some(Self::Pcapng),
            _ => None,
        }
    }
}

impl CaptureCopy {
    /// Whether the statement copies into a capture: what it says after STORED AS decides, or else the
    /// end of the file's name.
    ///
    /// # Errors
    /// When it asks of a capture what only other files have.
    pub(crate) fn of(statement: &Statement) -> Result<Option<Self>, Error> {
        let Some(copy) = statement.copy() else {
            return Ok(None);
        };
        let path = Path::new(&copy.target);
        let extension = path.extension().and_then(|extension| extension.to_str());
        let Some(format) = copy.stored_as.as_deref().or(extension).and_then(Format::of) else {
            return Ok(None);
        };
        let unfit = |what: &str| {
            Err(Error::new(
                ErrorKind::Plan,
                format!("a capture has no {what}"),
            ))
        };
        if !copy.partitioned_by.is_empty() {
            return unfit("partitions: leave PARTITIONED BY out");
        }
        if !copy.options.is_empty() {
            return unfit("options: leave OPTIONS out");
        }
        if matches!(copy.source, CopyToSource::Relation(_)) {
            return Err(Error::new(
                ErrorKind::Plan,
                "a query is copied into a capture, not a table",
            )
            .with_hint("COPY (SELECT * FROM 'a.pcap' WHERE …) TO 'x.pcap'"));
        }
        Ok(Some(Self {
            path: path.to_owned(),
            format,
        }))
    }

    /// Writes the records that `answer` gives; the number of them is the answer.
    pub(crate) async fn run(self, mut answer: Answer) -> Result<RecordBatch, Error> {
        let mut file = NewFile::create(&self.path).map_err(|error| self.failed(error.into()))?;
        let mut writer = match self.format {
            Format::Pcap => Writer::pcap(&mut file.file),
            Format::Pcapng => Writer::pcapng(&mut file.file),
        };
        while let Some(batch) = answer.next().await? {
            let records = batch.columns().first().and_then(as_bytes);
            for packed in records.into_iter().flatten().flatten() {
                let record = kept_record(packed)
                    .ok_or_else(|| Error::new(ErrorKind::Run, "a record is not whole any more"))?;
                writer.write(&record).map_err(|error| self.failed(error))?;
            }
        }
        let written = writer.records();
        writer.finish().map_err(|error| self.failed(error))?;
        file.keep().map_err(|error| self.failed(error.into()))?;
        let count: ArrayRef = Arc::new(UInt64Array::from(vec![written]));
        RecordBatch::try_new(count_schema(), vec![count])
            .map_err(|error| Error::from_datafusion(ErrorKind::Run, error.into(), &[]))
    }

    fn failed(&self, error: WriteError) -> Error {
        let kind = match error {
            WriteError::Io(_) => ErrorKind::Source,
            _ => ErrorKind::Run,
        };
        let message = Error::new(kind, format!("{}: {error}", self.path.display()));
        match error.hint() {
            Some(hint) => message.with_hint(hint),
            None => message,
        }
    }
}

fn as_bytes(column: &ArrayRef) -> Option<&BinaryViewArray> {
    column.as_any().downcast_ref()
}

/// What a `COPY` answers, as DataFusion's own do.
pub(crate) fn count_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new(
        "count",
        DataType::UInt64,
        false,
    )]))
}

/// Reduces the query to its records.
///
/// # Errors
/// When its rows have none, or several.
pub(crate) fn records_only(plan: LogicalPlan) -> Result<LogicalPlan, Error> {
    match plan {
        LogicalPlan::Explain(mut explain) => {
            explain.plan = Arc::new(records_only(explain.plan.as_ref().clone())?);
            return Ok(LogicalPlan::Explain(explain));
        }
        LogicalPlan::Analyze(mut analyze) => {
            analyze.input = Arc::new(records_only(analyze.input.as_ref().clone())?);
            return Ok(LogicalPlan::Analyze(analyze));
        }
        _ => {}
    }
    let columns: Vec<Column> = plan
        .schema()
        .columns()
        .into_iter()
        .filter(|column| column.name == RECORD_COLUMN)
        .collect();
    let column = match columns.as_slice() {
        [column] => Expr::Column(column.clone()),
        [] => {
            return Err(Error::new(
                ErrorKind::Plan,
                "there are no packets in the rows of the query to write as a capture",
            )
            .with_hint(
                "SELECT * keeps them: COPY (SELECT * FROM 'a.pcap' WHERE …) TO 'x.pcap'; groups have none",
            ));
        }
        several => {
            return Err(Error::new(
                ErrorKind::Plan,
                format!("each row of the query has {} packets", several.len()),
            )
            .with_hint("say whose: COPY (SELECT a.* FROM 'a.pcap' AS a JOIN …) TO 'x.pcap'"));
        }
    };
    LogicalPlanBuilder::from(plan)
        .project([column])
        .and_then(LogicalPlanBuilder::build)
        .map_err(|error| Error::from_datafusion(ErrorKind::Plan, error, &[]))
}

/// A file that takes its name when it is whole: until then, what had the name stays, and may be what
/// the query reads. A device or a pipe is written as it is.
struct NewFile {
    file: File,
    /// The name it has, and the one that it takes; `None` when there is nothing to do.
    rename: Option<(PathBuf, PathBuf)>,
}

impl NewFile {
    fn create(path: &Path) -> std::io::Result<Self> {
        if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
            let file = File::options().write(true).open(path)?;
            return Ok(Self { file, rename: None });
        }
        let mut name = path.file_name().map(OsString::from).unwrap_or_default();
        name.push(format!(".{}.part", std::process::id()));
        let part = path.with_file_name(name);
        Ok(Self {
            file: File::create(&part)?,
            rename: Some((part, path.to_owned())),
        })
    }

    fn keep(mut self) -> std::io::Result<()> {
        self.file.flush()?;
        if let Some((part, path)) = &self.rename {
            fs::rename(part, path)?;
        }
        self.rename = None;
        Ok(())
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some((part, _)) = &self.rename {
            // It is of no use to anyone; that it cannot be removed is not what went wrong.
            let _ = fs::remove_file(part);
        }
    }
}
