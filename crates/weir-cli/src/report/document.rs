//! Answers with headings, in the formats of documents.

use std::collections::VecDeque;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, SchemaRef};
use weir_engine::Statement;
use weir_page::{Bar, Bars, Page};

use super::{DocumentFormat, Heading};
use crate::args::Global;
use crate::failure::{Failure, printed};
use crate::session::{Heed, Session};
use crate::target::Target;
use crate::watch::Refresh;
use weir_output::{self as output, Format, OutputOptions, Writer, grouped, text};

/// Answers with a heading each.
pub(crate) struct Document {
    title: String,
    sections: Vec<PageSection>,
}

struct PageSection {
    heading: Heading,
    schema: SchemaRef,
    rows: Vec<RecordBatch>,
    /// Rows that the answer had.
    count: u64,
}

impl Document {
    /// Answers statements, those that follow each other and read the same in one reading.
    ///
    /// # Errors
    /// When one cannot be answered.
    pub(crate) fn answered(
        title: &str,
        session: &Session,
        statements: Vec<(Heading, Statement)>,
    ) -> Result<Self, Failure> {
        let mut sections = Vec::new();
        let (mut headings, mut waiting) = (VecDeque::new(), VecDeque::new());
        for (heading, statement) in statements {
            headings.push_back((heading, statement.gives_rows()));
            waiting.push_back(statement);
        }
        let mut planned = VecDeque::new();
        while let Some((heading, gives_rows)) = headings.pop_front() {
            if planned.is_empty() {
                planned = session.plan_next(&mut waiting)?;
            }
            let Some(next) = planned.pop_front().filter(|_| gives_rows) else {
                continue;
            };
            let mut section = PageSection {
                heading,
                schema: next.schema(),
                rows: Vec::new(),
                count: 0,
            };
            let mut kept = 0;
            let heed = Heed {
                each: &mut |batch| {
                    let room = ROWS_MAX - kept;
                    let rows = batch.num_rows().min(room);
                    kept += rows;
                    if rows > 0 {
                        section.rows.push(batch.slice(0, rows));
                    }
                },
                interrupts: None,
            };
            // The rows are listened to; as a text they are of no use.
            let options = OutputOptions::plain(Format::Csv);
            let out = Box::new(io::sink());
            let refresh = Refresh::default();
            let answered = session.answer_heeding(next, &options, out, refresh, heed)?;
            section.count = answered.rows;
            sections.push(section);
        }
        Ok(Self {
            title: title.to_owned(),
            sections,
        })
    }

    /// Leaves out sections without rows; gives their headings.
    pub(crate) fn without_empty(&mut self) -> Vec<String> {
        let empty = self.sections.iter().filter(|section| section.count == 0);
        let titles = empty.map(|section| section.heading.title.clone()).collect();
        self.sections.retain(|section| section.count > 0);
        titles
    }

    /// Writes it to a file, or to standard output.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn write(
        &self,
        format: DocumentFormat,
        path: Option<&Path>,
        global: Global,
    ) -> Result<(), Failure> {
        let terminal = path.is_none() && io::stdout().is_terminal();
        let written = match format {
            DocumentFormat::Text => self.text(terminal, global)?,
            DocumentFormat::Html => self.html()?,
            DocumentFormat::Json => self.json()?,
        };
        match path {
            Some(path) => Target::new(path, global)?.put(written.as_bytes()),
            None => printed(io::stdout().write_all(written.as_bytes())).map(|_| ()),
        }
    }

    fn text(&self, terminal: bool, global: Global) -> Result<String, Failure> {
        let mut written = format!("{}\n", text::escaped(&self.title));
        let colour = terminal && global.color.applies(true);
        let mut options = match terminal {
            true => OutputOptions::terminal(Format::Table, colour),
            false => OutputOptions::plain(Format::Table),
        };
        // A section reports itself what it leaves out.
        options.rows_max = None;
        for section in &self.sections {
            written.push_str(&format!("\n{}\n", text::escaped(&section.heading.title)));
            for line in [section.heading.text.clone(), section.left_out()] {
                if !line.is_empty() {
                    written.push_str(&format!("{}\n", text::escaped(&line)));
                }
            }
            match section.count {
                0 => written.push_str("no rows\n"),
                _ => written.push_str(&section.as_text(&options)?),
            }
        }
        Ok(written)
    }

    fn html(&self) -> Result<String, Failure> {
        let mut page = Page::new(&self.title, &self.title);
        for section in &self.sections {
            page.heading(&section.heading.title);
            for line in [section.heading.text.clone(), section.left_out()] {
                if !line.is_empty() {
                    page.paragraph(&line);
                }
            }
            section.put(&mut page)?;
        }
        Ok(page.finish())
    }

    fn json(&self) -> Result<String, Failure> {
        let mut written = String::from("{\"title\":");
        text::push_json_string(&mut written, &self.title);
        written.push_str(",\"sections\":[");
        for (number, section) in self.sections.iter().enumerate() {
            written.push_str(if number == 0 {
                "\n{\"title\":"
            } else {
                ",\n{\"title\":"
            });
            text::push_json_string(&mut written, &section.heading.title);
            written.push_str(",\"text\":");
            text::push_json_string(&mut written, &section.heading.text);
            written.push_str(&format!(",\"row_count\":{},\"rows\":", section.count));
            let rows = section.as_text(&OutputOptions::plain(Format::Json))?;
            written.push_str(rows.trim_end());
            written.push('}');
        }
        written.push_str("\n]}\n");
        Ok(written)
    }
}

impl PageSection {
    /// The note that rows are left out; empty when all are there.
    fn left_out(&self) -> String {
        let kept = u64::try_from(ROWS_MAX).unwrap_or(u64::MAX);
        match self.count > kept {
            true => format!(
                "The first {} of {} rows.",
                grouped(kept),
                grouped(self.count)
            ),
            false => String::new(),
        }
    }

    fn as_text(&self, options: &OutputOptions) -> Result<String, Failure> {
        let memory = Memory::default();
        let out = Box::new(memory.clone());
        let mut writer = Writer::new(options, Arc::clone(&self.schema), out)?;
        for batch in &self.rows {
            let _ = writer.write(batch)?;
        }
        writer.finish()?;
        let bytes = memory.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn put(&self, page: &mut Page) -> Result<(), Failure> {
        let fields = self.schema.fields();
        let headings: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
        let mut rows = Vec::new();
        for batch in &self.rows {
            rows.extend(output::texts(batch)?);
        }
        if rows.is_empty() {
            page.paragraph("No rows.");
            return Ok(());
        }
        if let ([name, number], true) = (&**fields, (2..=BARS_MAX).contains(&rows.len()))
            && matches!(
                name.data_type(),
                DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8
            )
            && number.data_type().is_numeric()
        {
            let values = rows.iter().filter_map(|row| match row.as_slice() {
                [name, value] => Some((name.as_str(), value.parse().ok()?)),
                _ => None,
            });
            let values: Vec<(&str, f64)> = values.collect();
            // Bars need a value in every row, and none below zero.
            if values.len() == rows.len() && values.iter().all(|(_, value)| *value >= 0.0) {
                let bar = |value| Bar {
                    value,
                    ..Bar::default()
                };
                page.bars(&Bars {
                    title: &format!("{} by {}", number.name(), name.name()),
                    decimals: if number.data_type().is_floating() {
                        2
                    } else {
                        0
                    },
                    groups: values
                        .iter()
                        .map(|(name, value)| (*name, vec![bar(*value)]))
                        .collect(),
                    ..Bars::default()
                });
            }
        }
        page.table(&headings, &rows);
        Ok(())
    }
}

/// An output that is kept.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Rows of a section.
const ROWS_MAX: usize = 10_000;

/// Bars of a picture.
const BARS_MAX: usize = 30;
