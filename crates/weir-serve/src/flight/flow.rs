//! Rows on their way to the client.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use arrow_flight::FlightData;
use arrow_flight::encode::FlightDataEncoderBuilder;
use arrow_flight::error::FlightError;
use futures::{Stream, StreamExt, stream};
use tonic::metadata::{AsciiMetadataValue, MetadataMap};
use tonic::{Code, Status};
use weir_engine::Statement;

use super::prepared::ParameterRows;
use super::status::{refused, shortened};
use crate::deadline::Deadline;
use crate::error::{Failure, FailureKind};
use crate::session::{Answer, Report, Session};

/// The response of a call.
pub(super) type FlightStream = Pin<Box<dyn Stream<Item = Result<FlightData, Status>> + Send>>;

/// The answers of a statement, one for each row of values, behind each other.
pub(super) struct Flow {
    session: Session,
    /// The statement, for further rows of values.
    statement: Option<Statement>,
    rows: Arc<ParameterRows>,
    /// The place of the row of values that comes next.
    next_row: usize,
    name: Option<String>,
    deadline: Deadline,
    answer: Option<Answer>,
    schema: SchemaRef,
    /// Notices, which are sent at the end.
    notes: Arc<Mutex<Vec<(&'static str, String)>>>,
}

impl Flow {
    /// Starts a statement with the first row of values: its columns are known when this is done.
    pub(super) async fn start(
        session: Session,
        statement: Statement,
        rows: Arc<ParameterRows>,
        name: Option<String>,
        deadline: Deadline,
    ) -> Result<Self, Failure> {
        let (bound, statement) = match rows.len() {
            1 => (statement.bind(rows.get(0))?, None),
            _ => (statement.clone().bind(rows.get(0))?, Some(statement)),
        };
        // The columns of all rows of values are those of values that are not NULL.
        let schema = match (&statement, rows.typed()) {
            (Some(statement), Some(typed)) => {
                let described = session.describe(statement.clone().bind(&typed)?);
                let described = deadline.within(described).await??;
                Some(plain_schema(&described.schema))
            }
            _ => None,
        };
        let started = session.start_named(bound, name.clone());
        let answer = deadline.within(started).await??;
        let found = plain_schema(&answer.schema);
        let schema = schema.unwrap_or_else(|| Arc::clone(&found));
        check_columns(&found, &schema)?;
        Ok(Self {
            schema,
            session,
            statement,
            rows,
            next_row: 1,
            name,
            deadline,
            answer: Some(answer),
            notes: Arc::default(),
        })
    }

    /// The next rows; `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<RecordBatch>, Failure> {
        while let Some(answer) = &mut self.answer {
            if let Some(batch) = self.deadline.within(answer.next()).await?? {
                return plain(&batch, &self.schema).map(Some);
            }
            let report = answer.report();
            self.note(report);
            // The name is free again after the end.
            self.answer = None;
            if let Some(statement) = &self.statement
                && self.next_row < self.rows.len()
            {
                let values = self.rows.get(self.next_row);
                self.next_row += 1;
                let _load = self.session.load_bound("", values).await?;
                let bound = statement.clone().bind(values)?;
                let started = self.session.start_named(bound, self.name.clone());
                let answer = self.deadline.within(started).await??;
                check_columns(&plain_schema(&answer.schema), &self.schema)?;
                self.answer = Some(answer);
            }
        }
        Ok(None)
    }

    /// Keeps the notices about an answer that has ended.
    fn note(&self, report: Report) {
        let damage = report.damage.into_iter().map(|text| (DAMAGE, text));
        let notes = report.notes.into_iter().map(|text| (NOTE, text));
        let mut all = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend(damage.chain(notes));
    }

    /// The rows as messages, at whose end stands what was found damaged, and what else is to be known of them.
    pub(super) fn stream(self) -> FlightStream {
        let schema = Arc::clone(&self.schema);
        let notes = Arc::clone(&self.notes);
        let batches = stream::try_unfold(self, |mut flow| async move {
            match flow.next().await {
                Ok(Some(batch)) => Ok(Some((batch, flow))),
                Ok(None) => Ok(None),
                Err(failure) => Err(FlightError::Tonic(Box::new(refused(&failure)))),
            }
        });
        let status = stream::once(async move {
            let notes = notes.lock().unwrap_or_else(PoisonError::into_inner);
            closing(&notes)
        });
        let status = status.filter_map(async |status| status.map(Err));
        Box::pin(messages(schema, batches).chain(status))
    }
}

/// Checks that the columns of an answer are those of the others. One of NULLs alone is of every type.
fn check_columns(found: &Schema, wanted: &Schema) -> Result<(), Failure> {
    let mut pairs = found.fields().iter().zip(wanted.fields());
    let is_same = |(found, wanted): (&FieldRef, &FieldRef)| {
        found.name() == wanted.name() && is_of(found.data_type(), wanted.data_type())
    };
    if found.fields().len() == wanted.fields().len() && pairs.all(is_same) {
        return Ok(());
    }
    let message = "the columns differ from one row of values to the other";
    Err(Failure::new(FailureKind::Plan, message)
        .with_hint("give the parameters types: CAST($1 AS BIGINT)"))
}

/// Whether values of a type are also of another one: NULLs are of all.
fn is_of(found: &DataType, wanted: &DataType) -> bool {
    match (found, wanted) {
        (DataType::Null, _) => true,
        (DataType::List(found), DataType::List(wanted)) => {
            is_of(found.data_type(), wanted.data_type())
        }
        _ => found == wanted,
    }
}

/// The rows of one batch as messages.
pub(super) fn whole(batch: RecordBatch) -> FlightStream {
    let schema = batch.schema();
    Box::pin(messages(schema, stream::iter([Ok(batch)])))
}

/// The rows of batches, which are made as they are sent.
pub(super) fn each(
    schema: SchemaRef,
    batches: impl Stream<Item = Result<RecordBatch, FlightError>> + Send + 'static,
) -> FlightStream {
    Box::pin(messages(schema, batches))
}

/// The answer of what has no rows.
pub(super) fn nothing() -> FlightStream {
    Box::pin(messages(Arc::new(Schema::empty()), stream::empty()))
}

fn messages(
    schema: SchemaRef,
    batches: impl Stream<Item = Result<RecordBatch, FlightError>> + Send + 'static,
) -> impl Stream<Item = Result<FlightData, Status>> + Send {
    let encoder = FlightDataEncoderBuilder::new().with_schema(schema);
    encoder
        .build(batches)
        .map(|message| message.map_err(Status::from))
}

/// The end of an answer with notices: gRPC has its place in the trailers.
fn closing(notes: &[(&'static str, String)]) -> Option<Status> {
    if notes.is_empty() {
        return None;
    }
    let mut metadata = MetadataMap::new();
    let more = notes.len().saturating_sub(NOTES_MAX);
    let last = (more > 0).then(|| (NOTE, format!("and {more} more of this kind")));
    for (key, text) in notes.iter().take(NOTES_MAX).chain(&last) {
        if let Ok(value) = AsciiMetadataValue::try_from(written(text)) {
            metadata.append(*key, value);
        }
    }
    Some(Status::with_metadata(Code::Ok, "", metadata))
}

/// A text as it stands in a header: `%` and two digits for each byte that is no plain letter.
fn written(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for byte in shortened(text.to_owned()).bytes() {
        match byte {
            b' '..=b'~' if byte != b'%' => written.push(char::from(byte)),
            _ => written.push_str(&format!("%{byte:02X}")),
        }
    }
    written
}

/// The columns as they are sent. Views would include all of their buffers; some clients support neither dictionaries nor views. All
/// columns are nullable, as the schemas before and after binding may differ in that.
pub(super) fn plain_schema(schema: &Schema) -> SchemaRef {
    let fields = schema.fields().iter().map(plain_field).collect::<Fields>();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

fn plain_field(field: &FieldRef) -> FieldRef {
    let kind = plain_type(field.data_type());
    let plain = Field::new(field.name(), kind, true);
    Arc::new(plain.with_metadata(field.metadata().clone()))
}

/// The type that stands for another one.
pub(super) fn plain_type(kind: &DataType) -> DataType {
    match kind {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::Dictionary(_, of) => plain_type(of),
        DataType::RunEndEncoded(_, of) => plain_type(of.data_type()),
        DataType::List(of)
        | DataType::LargeList(of)
        | DataType::ListView(of)
        | DataType::LargeListView(of) => DataType::List(plain_field(of)),
        DataType::FixedSizeList(of, size) => DataType::FixedSizeList(plain_field(of), *size),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(plain_field).collect()),
        other => other.clone(),
    }
}

fn plain(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, Failure> {
    let failed = |error: arrow::error::ArrowError| {
        Failure::new(FailureKind::Run, format!("{error}: in the answer"))
    };
    let columns = batch.columns().iter().zip(schema.fields());
    let columns = columns.map(
        |(column, field)| match column.data_type() == field.data_type() {
            true => Ok(Arc::clone(column)),
            false => cast(column, field.data_type()),
        },
    );
    let columns = columns.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options).map_err(failed)
}

/// The metadata key of damage that was found.
const DAMAGE: &str = "weir-damage";
/// The metadata key of notes.
const NOTE: &str = "weir-note";
/// Notes that an answer ends with; the rest is counted.
const NOTES_MAX: usize = 10;

#[cfg(test)]
mod tests {
    use arrow::array::{Array, AsArray, DictionaryArray, ListArray, StringViewArray};
    use arrow::datatypes::{Int8Type, Int64Type};

    use super::*;

    #[test]
    fn views_and_dictionaries_become_plain() {
        let texts: DictionaryArray<Int8Type> = [Some("a"), None, Some("b")].into_iter().collect();
        let views = StringViewArray::from(vec![Some("x"), None, Some("a text that is not short")]);
        let list = [Some(vec![Some(1)]), None, Some(vec![None])];
        let lists = ListArray::from_iter_primitive::<Int64Type, _, _>(list);
        let batch = RecordBatch::try_from_iter_with_nullable([
            ("d", Arc::new(texts) as _, true),
            ("v", Arc::new(views) as _, true),
            ("l", Arc::new(lists) as _, true),
        ]);
        let batch = batch.unwrap();
        let schema = plain_schema(&batch.schema());
        let plain = plain(&batch, &schema).unwrap();
        let texts = |column: usize| {
            let texts = plain.column(column).as_string::<i32>();
            texts
                .iter()
                .map(|text| text.map(str::to_owned))
                .collect::<Vec<_>>()
        };
        assert_eq!(texts(0), [Some("a".to_owned()), None, Some("b".to_owned())]);
        assert_eq!(texts(1)[2].as_deref(), Some("a text that is not short"));
        assert!(plain.column(2).is_null(1) && !plain.column(2).is_null(2));
        assert_eq!(plain_schema(&schema), schema);
    }

    #[test]
    fn notes_at_the_end_fit_into_a_header() {
        assert!(closing(&[]).is_none());
        let many: Vec<_> = (0..20).map(|n| (DAMAGE, format!("é {n}%\n"))).collect();
        let status = closing(&many).unwrap();
        assert_eq!(status.code(), Code::Ok);
        let metadata = status.metadata();
        let first = metadata.get(DAMAGE).unwrap().to_str().unwrap();
        assert_eq!(first, "%C3%A9 0%25%0A");
        assert_eq!(metadata.get_all(DAMAGE).iter().count(), NOTES_MAX);
        assert_eq!(metadata.get(NOTE).unwrap(), "and 10 more of this kind");
    }
}
