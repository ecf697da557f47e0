//! `weir fields`: every column with type, meaning, layer and source.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use clap::Args;
use weir_packet::PROTOCOLS;
use weir_tables::names::{Meaning, Name, advice};
use weir_tables::{Column, EXTRACTIONS, Origin, Table};

use crate::args::{Global, OutputArgs};
use crate::failure::Failure;
use crate::message::Messages;
use crate::refusal::Refusal;
use crate::target::Target;
use weir_output::{OutputOptions, Writer};

/// `weir fields`.
#[derive(Args, Debug)]
#[command(
    about = "List the columns of captures: name, type, meaning, layer, standard",
    after_help = FIELDS_EXAMPLES
)]
pub(crate) struct Fields {
    /// Only columns whose name, meaning or layer contains this text, in upper or lower case
    pub(crate) pattern: Option<String>,
    /// The output options.
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Lists the columns that the pattern lets through.
pub(crate) fn run(
    fields: &Fields,
    global: Global,
    messages: Messages,
) -> Result<ExitCode, Failure> {
    let batch = matching(fields.pattern.as_deref())?;
    listed(&batch, &fields.output, global, messages)
}

/// The columns that a pattern lets through, as rows.
///
/// # Errors
/// When there are none, with what the pattern may mean.
pub(crate) fn matching(pattern: Option<&str>) -> Result<RecordBatch, Failure> {
    let tables = tables();
    let rows: Vec<FieldRow<'_>> = tables
        .iter()
        .flat_map(|(name, table)| {
            let columns = table.columns().iter();
            // Columns of the packet itself are listed under packets.
            let own = columns.filter(|column| {
                table.extraction().is_none() || !matches!(column.origin, Origin::Packet(..))
            });
            own.map(|column| FieldRow::of(name, column))
        })
        .filter(|row| pattern.is_none_or(|pattern| row.contains(pattern)))
        .collect();
    if let (true, Some(pattern)) = (rows.is_empty(), pattern) {
        // Names of other tools are no columns, but mean something.
        let packets = Table::packets();
        let has = |name: &str| packets.position(name).is_some();
        let meaning = Name::meanings(&pattern.to_ascii_lowercase()).find(|name| name.fits(&has));
        let hint = match meaning.map(|name| name.meaning) {
            Some(Meaning::Sides(columns)) => Some(format!(
                "{pattern} is any of {} in a condition, and the list of them elsewhere",
                columns.join(", ")
            )),
            Some(Meaning::Column(column)) => Some(format!("{pattern} is another name of {column}")),
            Some(Meaning::Expression(text)) => Some(format!("{pattern} is {text}")),
            Some(Meaning::Advice(_)) | None => advice(pattern, &has),
        };
        if let Some(hint) = hint {
            let message = format!("no column has '{pattern}' in its name, meaning or layer");
            return Err(Refusal::usage(message, hint).into());
        }
        let columns = tables.iter().flat_map(|(_, table)| table.columns());
        let names = columns.map(|column| &*column.name);
        let near = weir_engine::nearest(pattern, names).join(", ");
        let hint = match near.as_str() {
            "" => "'weir fields' lists all".to_owned(),
            near => format!("similar names: {near}"),
        };
        return Err(Refusal::usage(
            format!("no column has '{pattern}' in its name, meaning or layer"),
            hint,
        )
        .into());
    }
    batch(&rows)
}

/// Writes the requested list.
pub(crate) fn listed(
    batch: &RecordBatch,
    output: &OutputArgs,
    global: Global,
    messages: Messages,
) -> Result<ExitCode, Failure> {
    let file = output.file(0, 1)?;
    if let Some(note) = output.note(file) {
        messages.note(&note);
    }
    let options = output.options(file, io::stdout().is_terminal(), global.color);
    let target = Target::optional(file, global)?;
    let out = Target::writer(target.as_ref());
    write_list(batch, options, (out, target), messages)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a requested list, without a limit on its rows.
pub(crate) fn write_list(
    batch: &RecordBatch,
    mut options: OutputOptions,
    (out, target): (Box<dyn Write + Send>, Option<Target>),
    messages: Messages,
) -> Result<(), Failure> {
    options.rows_max = None;
    let mut writer = Writer::new(&options, batch.schema(), out)?;
    let _ = writer.write(batch)?;
    let notes = writer.finish()?.notes();
    if let Some(target) = target {
        target.keep()?;
    }
    for note in notes {
        messages.note(&note);
    }
    Ok(())
}

/// All tables by name; a layout's own columns stand in the layout.
pub(crate) fn tables() -> Vec<(&'static str, Table)> {
    let extracted = EXTRACTIONS
        .iter()
        .map(|extraction| (extraction.name, Table::extracted(extraction)));
    [("packets", Table::packets()), ("clf", Table::sip_log())]
        .into_iter()
        .chain(extracted)
        .collect()
}

struct FieldRow<'c> {
    name: &'c str,
    table: &'static str,
    kind: &'static str,
    layer: &'static str,
    meaning: &'c str,
    reference: &'c str,
}

impl<'c> FieldRow<'c> {
    fn of(table: &'static str, column: &'c Column) -> Self {
        let layer = column
            .layer()
            .and_then(|layer| PROTOCOLS.get(layer as usize));
        Self {
            name: &column.name,
            table,
            kind: weir_engine::sql_type(column.kind),
            layer: layer.map_or("any", |protocol| protocol.title),
            meaning: &column.doc,
            reference: &column.reference,
        }
    }

    fn contains(&self, pattern: &str) -> bool {
        let pattern = pattern.to_lowercase();
        [self.name, self.table, self.layer, self.meaning]
            .iter()
            .any(|text| text.to_lowercase().contains(&pattern))
    }
}

fn batch(rows: &[FieldRow<'_>]) -> Result<RecordBatch, Failure> {
    let column = |get: fn(&FieldRow<'_>) -> String| -> ArrayRef {
        Arc::new(rows.iter().map(get).map(Some).collect::<StringArray>())
    };
    RecordBatch::try_from_iter([
        ("column", column(|row| row.name.to_owned())),
        ("table", column(|row| row.table.to_owned())),
        ("type", column(|row| row.kind.to_owned())),
        ("layer", column(|row| row.layer.to_owned())),
        ("meaning", column(|row| row.meaning.to_owned())),
        ("reference", column(|row| row.reference.to_owned())),
    ])
    .map_err(|error| Failure::environment(error.to_string()))
}

const FIELDS_EXAMPLES: &str = "\
Examples:
  weir fields                       every column
  weir fields frame                 of the frame, and of frame relay
  weir fields --format csv | grep RFC";
