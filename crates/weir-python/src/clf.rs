//! SIP logs written and converted, for `weir.clf`; they are read as tables.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Mutex;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use weir_clf::{
    Appender, Encoder, Extras, Form, Item, Passage, Reader, Recorder, Segment, Time, Writer,
    WriterOptions,
};
use weir_file::NewFile;
use weir_sip::{Digest, Limits, Message};

use crate::answer::lock;
use crate::error::{ErrorClass, failure};

fn form_of(name: &str) -> PyResult<Form> {
    let known = Form::ALL.into_iter().find(|form| form.name() == name);
    known.ok_or_else(|| {
        let names: Vec<&str> = Form::ALL.iter().map(|form| form.name()).collect();
        PyValueError::new_err(format!(
            "unknown format {name:?}: expected one of {}",
            names.join(", ")
        ))
    })
}

fn failed(path: &std::path::Path, error: &dyn std::fmt::Display) -> PyErr {
    failure(
        ErrorClass::Source,
        &format!("{}: {error}", path.display()),
        None,
    )
}

/// A log that messages are written into.
#[pyclass(module = "weir._weir", frozen)]
pub(crate) struct ClfWriter {
    path: PathBuf,
    log: Mutex<Option<Log>>,
}

struct Log {
    writer: Writer,
    appender: Appender,
    recorder: Recorder,
}

#[pymethods]
impl ClfWriter {
    #[new]
    fn new(
        path: PathBuf,
        form: &str,
        headers: Vec<String>,
        body: bool,
        message: bool,
        index: bool,
    ) -> PyResult<Self> {
        let mut options = WriterOptions::default();
        options.form = form_of(form)?;
        options.index = index;
        let (writer, _) = Writer::open(&path, options).map_err(|error| failed(&path, &error))?;
        let appender = writer.appender();
        let extras = Extras {
            headers,
            body,
            message,
        };
        let log = Log {
            writer,
            appender,
            recorder: Recorder::new(extras),
        };
        Ok(Self {
            path,
            log: Mutex::new(Some(log)),
        })
    }

    /// Appends the record of a SIP message.
    fn write(
        &self,
        octets: &[u8],
        time_ns: u64,
        source: Option<&str>,
        destination: Option<&str>,
    ) -> PyResult<()> {
        let socket = |text: Option<&str>| -> PyResult<Option<SocketAddr>> {
            let parsed = text.map(str::parse).transpose();
            parsed.map_err(|_| PyValueError::new_err("an address and a port: 10.0.0.1:5060"))
        };
        let message = Message::parse(octets, &Limits::default())
            .map_err(|fault| failure(ErrorClass::Decode, &fault.to_string(), None))?;
        let digest = Digest::of(&message);
        let passage = Passage {
            time: Time {
                seconds: time_ns / 1_000_000_000,
                nanoseconds: (time_ns % 1_000_000_000) as u32,
            },
            source: socket(source)?,
            destination: socket(destination)?,
            ..Passage::default()
        };
        let mut log = lock(&self.log);
        let Some(log) = log.as_mut() else {
            return Err(failed(&self.path, &"the log was closed"));
        };
        let record = log.recorder.record(&message, &digest, &passage);
        let written = log.appender.append(&record);
        written.map_err(|error| failed(&self.path, &error))
    }

    /// Writes what is still held back; gives what the form had no place for.
    fn close(&self, py: Python<'_>) -> PyResult<Vec<(String, u64)>> {
        let Some(log) = lock(&self.log).take() else {
            return Ok(Vec::new());
        };
        let Log {
            writer, appender, ..
        } = log;
        let closed = py.detach(move || {
            drop(appender);
            writer.close()
        });
        let summary = closed.map_err(|error| failed(&self.path, &error))?;
        let losses = summary.losses.iter();
        Ok(losses
            .map(|(_, text, count)| (text.to_owned(), count))
            .collect())
    }
}

/// The number of records, the losses of the target form with their counts, and the damaged places.
type Converted = (u64, Vec<(String, u64)>, Vec<(u64, String)>);

/// Writes a log in another form, into a file that takes its name when it is whole.
#[pyfunction]
pub(crate) fn clf_convert(
    py: Python<'_>,
    from: PathBuf,
    to: PathBuf,
    form: &str,
) -> PyResult<Converted> {
    let form = form_of(form)?;
    py.detach(|| {
        let source = Segment::open(&from).map_err(|error| failed(&from, &error))?;
        let mut reader = Reader::new(source.into_reader());
        let mut out = NewFile::create(&to).map_err(|error| failed(&to, &error))?;
        let mut encoder = Encoder::new(form);
        let (mut records, mut damage) = (0_u64, Vec::new());
        loop {
            match reader.next().map_err(|error| failed(&from, &error))? {
                Some(Item::Record { record, .. }) => {
                    records = records.saturating_add(1);
                    encoder.push(&record);
                }
                Some(Item::Damage(place)) if damage.len() < DAMAGE_MAX => {
                    damage.push((place.offset, place.fault.to_string()));
                }
                Some(_) => {}
                None => break,
            }
            if encoder.bytes().len() > PIECE_BYTES {
                let written = out.write_all(encoder.bytes());
                written.map_err(|error| failed(&to, &error))?;
                encoder.clear();
            }
        }
        let written = out.write_all(encoder.bytes());
        written.map_err(|error| failed(&to, &error))?;
        // The new file gets its name when it is complete.
        out.keep().map_err(|error| failed(&to, &error))?;
        let mut losses = encoder.losses();
        losses.add(reader.losses());
        let losses = losses.iter();
        let losses = losses.map(|(_, text, count)| (text.to_owned(), count));
        Ok((records, losses.collect(), damage))
    })
}

/// Bytes that are written at a time.
const PIECE_BYTES: usize = 256 << 10;

/// Damaged places that are reported one by one.
const DAMAGE_MAX: usize = 1000;
