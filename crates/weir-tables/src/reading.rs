//! Reads sources: opens and decodes them, and passes the rows on.

use std::cell::Cell;
use std::sync::Arc;

use arrow::error::ArrowError;
use weir_capture::{Certificate, Format, Merge, Reader, Record, WriteError};
use weir_layout::{Layout, Row as LayoutRow, Start};
use weir_packet::{Decoder, Frame, LinkType, Needs, Options as DecodeOptions, Reason};

use crate::counters::MERGE_WINDOW_BYTES;
use crate::program::{COMPILED_BYTES_MIN, Passed, ProgramFraming, Records, SAMPLE_RECORDS};
use crate::records::{RawRecord, RecordReader};
use crate::row::Times;
use crate::source::{Bytes, Cause};
use crate::{
    CaptureTee, Column, Compile, Counters, Origin, Parts, Predicate, Row, ScanOptions, Source,
    SourceError, Totals, kept,
};

/// The destination of rows.
pub(crate) trait Sink {
    /// Adds a row; returns false when the row is dropped.
    fn push(&mut self, row: &Row<'_>) -> bool;

    /// Returns whether no more rows are wanted for now.
    fn is_full(&self) -> bool;

    /// Adds the rows that are still open after the end of all sources; returns false when there are no more.
    fn finish(&mut self) -> bool {
        false
    }

    /// The predicate without which rows are dropped in any case.
    fn wanted(&self) -> Option<Predicate> {
        None
    }

    /// Returns whether its conditions and columns may be compiled, as far as is known before records are read.
    fn may_run_program(&self) -> bool {
        false
    }

    /// Prepares a program for [`Sink::run_program`] over records with this framing.
    fn prepare_program(
        &mut self,
        _records: (ProgramFraming, LinkType),
        _layout: Option<&Layout>,
        _options: &DecodeOptions,
        _compile: Compile,
    ) -> Prepared {
        Prepared::Unasked
    }

    /// Runs the program over records from the beginning of a window, up to one that has to be decoded.
    fn run_program(&mut self, _window: &[u8], _number: u64, _ports: u8, _most: u64) -> Passed {
        Passed::default()
    }
}

/// Whether a sink has a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prepared {
    /// The sink has a program, which is compiled or will be soon.
    Ready,
    /// The sink needs more than programs can do.
    Unasked,
    /// The sink would have a program if the system gave memory for machine code.
    Refused,
}

/// The state of the program of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compiling {
    /// No program is made.
    Never,
    /// The program is made after this number of records, which are decoded: a small source ends before that.
    Behind(u64),
    /// The program is for records with this framing.
    Ready((ProgramFraming, LinkType)),
}

/// Reads sources into a sink.
pub(crate) struct Reading<S> {
    sources: std::vec::IntoIter<Source>,
    merge: bool,
    read_ahead: bool,
    input: Option<Input>,
    /// The source that was read last, which a growing source continues.
    ended: Option<Input>,
    gather: Gather<S>,
    errors: Vec<SourceError>,
    /// Whether standard input is all there is to read: a file would have been recognised as a capture before.
    is_stdin_alone: bool,
    /// The reason why standard input is no capture, so that there is no result.
    refused: Option<SourceError>,
    counters: Vec<Arc<Counters>>,
    /// The values that were added to the counters.
    published: Totals,
    /// The columns of a record layout that are read.
    layout_columns: Vec<usize>,
    /// Whether the source has no data for now.
    paused: bool,
    /// The number of growing sources that were stopped within a record.
    cut_growing: usize,
    /// The number of growing sources whose writers began anew.
    renewed: usize,
}

/// The current input.
enum Input {
    Capture(Source, CaptureFile, Box<Reader<Bytes>>),
    Records(Source, String, Box<RecordReader>, LayoutRow),
    Merge(Vec<Source>, Vec<CaptureFile>, Merge<Bytes>),
}

/// The columns of a capture's file in its rows.
struct CaptureFile {
    path: String,
    /// Whether the format has interfaces.
    has_interfaces: bool,
    /// The times to which times of its records are relative.
    times: Box<Cell<Times>>,
}

impl CaptureFile {
    fn new(source: &Source, reader: &Reader<Bytes>) -> Self {
        Self {
            path: source.shown().into_owned(),
            has_interfaces: reader.format() != Format::Pcap,
            times: Box::default(),
        }
    }
}

/// Decodes records and passes them on.
struct Gather<S> {
    decoder: Decoder,
    /// Whether columns of packets are read, and not only those of the capture's records.
    needs_headers: bool,
    /// The state of the program of the sink.
    compiling: Compiling,
    /// The number of programs that may still be made because the framing of a file's records changes.
    programs_left: u32,
    compile: Compile,
    /// The number of bytes of the sources so far, including the current one.
    source_bytes: u64,
    options: DecodeOptions,
    order: Option<Order>,
    output: Output<S>,
}

/// The sink of decoded rows, and their number: apart from the decoder, from which rows borrow.
struct Output<S> {
    sink: S,
    tee: Option<CaptureTee>,
    totals: Totals,
}

/// Checks that times do not decrease.
#[derive(Default)]
struct Order {
    last_ns: Option<i64>,
    broken_at: Option<u64>,
}

impl<S: Sink> Reading<S> {
    pub(crate) fn new(
        sink: S,
        needs: &[Needs],
        columns: &[Column],
        sources: Vec<Source>,
        options: ScanOptions,
    ) -> Self {
        let needs_headers = needs.iter().any(|need| *need != Needs::Record);
        let layout_columns = columns.iter().filter_map(|column| match column.origin {
            Origin::Layout(index) => Some(index),
            _ => None,
        });
        Self {
            is_stdin_alone: matches!(sources.as_slice(), [source] if source.is_stdin()),
            refused: None,
            sources: sources.into_iter(),
            merge: options.merge,
            read_ahead: options.read_ahead,
            input: None,
            ended: None,
            published: Totals::default(),
            layout_columns: layout_columns.collect(),
            gather: Gather {
                decoder: Decoder::new(options.decode.clone(), needs.iter().copied()),
                needs_headers,
                compiling: Compiling::Never,
                programs_left: PROGRAMS_MAX,
                compile: options.compile,
                source_bytes: 0,
                options: options.decode,
                order: options.sorted.then(Order::default),
                output: Output {
                    sink,
                    tee: options.tee,
                    totals: Totals::default(),
                },
            },
            errors: Vec::new(),
            counters: Vec::new(),
            paused: false,
            cut_growing: 0,
            renewed: 0,
        }
    }

    /// Reads until the sink is full, for [`STEP_RECORDS`] at most; returns false at the end of all sources.
    pub(crate) fn step(&mut self) -> Result<bool, ArrowError> {
        self.paused = false;
        if self.gather.output.is_satisfied() {
            self.input = None;
            self.sources = Vec::new().into_iter();
        }
        let Some(input) = &mut self.input else {
            let opened = self.open_next();
            if let Some(error) = self.refused.take() {
                return Err(ArrowError::ExternalError(Box::new(error)));
            }
            return Ok(opened || self.gather.output.sink.finish());
        };
        let outcome = match input {
            Input::Capture(source, file, reader) => self
                .gather
                .fill_from_capture(file, reader)
                .map_err(|error| source.error(Cause::Capture(error))),
            Input::Records(source, file, reader, row) => self
                .gather
                .fill_from_records(source, file, reader, row)
                .map_err(|cause| source.error(cause)),
            Input::Merge(sources, files, merge) => self
                .gather
                .fill_from_merge(files, merge)
                .map_err(|error| sources[error.file].error(Cause::Capture(error.error))),
        };
        self.publish();
        self.gather.check_order()?;
        match outcome {
            Ok(Fill::More) => {}
            Ok(Fill::End) => {
                self.ended = self.input.take();
                self.read_anew();
            }
            Err(error) if error.is_pause() => {
                self.paused = true;
                if let Some(tee) = &self.gather.output.tee {
                    tee.flush().map_err(keeping_failed)?;
                }
            }
            // The program that writes the file has not written all of the record yet, which is no damage.
            Err(error) if self.is_stopped_growing(&error) => self.cut_growing += 1,
            // The reader returns what is left, and then its end.
            Err(error) => self.errors.push(error),
        }
        Ok(true)
    }

    /// The sink.
    pub(crate) const fn sink(&self) -> &S {
        &self.gather.output.sink
    }

    /// The sink.
    pub(crate) const fn sink_mut(&mut self) -> &mut S {
        &mut self.gather.output.sink
    }

    /// The sink.
    pub(crate) fn into_sink(self) -> S {
        self.gather.output.sink
    }

    /// Whether the source has no data for now.
    pub(crate) const fn is_paused(&self) -> bool {
        self.paused
    }

    /// Closes the current input.
    pub(crate) fn close(&mut self) {
        self.input = None;
    }

    /// Adds the counts to `counters`, too.
    pub(crate) fn count_in(&mut self, counters: Arc<Counters>) {
        self.counters.push(counters);
    }

    /// The errors since the last call.
    pub(crate) fn take_errors(&mut self) -> Vec<SourceError> {
        std::mem::take(&mut self.errors)
    }

    /// The notes for the closing report.
    pub(crate) fn notes(&self) -> Vec<String> {
        let cut = "the capture ended in the middle of a record, which is left out";
        let renewed =
            "the capture was replaced while it was followed, and read anew from its beginning";
        let notes = [(self.cut_growing, cut), (self.renewed, renewed)].into_iter();
        notes
            .filter(|(count, _)| *count > 0)
            .map(|(_, note)| note.to_owned())
            .collect()
    }

    /// Reads growing sources once more whose writers began anew.
    fn read_anew(&mut self) {
        let read = match &self.ended {
            Some(Input::Capture(source, ..)) => std::slice::from_ref(source),
            Some(Input::Merge(sources, ..)) => sources.as_slice(),
            Some(Input::Records(..)) | None => &[],
        };
        let renewed = read.iter().filter(|source| source.was_renewed());
        let mut sources: Vec<Source> = renewed.cloned().collect();
        self.renewed += sources.len();
        if !sources.is_empty() {
            sources.extend(std::mem::take(&mut self.sources));
            self.sources = sources.into_iter();
        }
    }

    /// Returns whether a growing source was stopped within a record.
    fn is_stopped_growing(&self, error: &SourceError) -> bool {
        let growing = match &self.input {
            Some(Input::Capture(source, ..)) => source.is_growing(),
            Some(Input::Merge(sources, ..)) => sources.iter().any(Source::is_growing),
            Some(Input::Records(..)) | None => false,
        };
        growing && error.is_cut()
    }

    fn publish(&mut self) {
        let totals = std::mem::take(&mut self.gather.output.totals);
        self.published.add(&totals);
        for counters in &self.counters {
            counters.add(&totals);
        }
    }

    /// Opens the next source, or all of them to merge; returns false when there is none left.
    fn open_next(&mut self) -> bool {
        if self.merge {
            return self.open_merge();
        }
        let Some(source) = self.sources.next() else {
            return false;
        };
        // Data from a pipe is processed when it arrives.
        let read_ahead = self.read_ahead && source.len().is_some();
        let opened = match source.layout().cloned() {
            None => source
                .open_capture(1, self.gather.output.sink.wanted().as_ref())
                .map(|reader| match read_ahead {
                    true => reader.reading_ahead(),
                    false => reader,
                })
                .map(|reader| self.of_capture(source, reader)),
            Some(layout) => source.open_bytes().map(|bytes| {
                let reader = RecordReader::new(Arc::clone(&layout), bytes);
                self.of_records(source, &layout, reader)
            }),
        };
        match opened {
            Ok(input) => self.input = Some(input),
            Err(error) if self.is_stdin_alone => self.refused = Some(error),
            Err(error) => self.errors.push(error),
        }
        true
    }

    /// Opens a part of a file.
    pub(crate) fn begin_part(&mut self, parts: &Parts, number: usize) {
        let source = parts.source().clone();
        let opened = match source.layout().cloned() {
            None => parts
                .open_capture(number)
                .map(|reader| reader.map(|reader| self.of_capture(source, reader))),
            Some(layout) => parts
                .open_records(number)
                .map(|reader| reader.map(|reader| self.of_records(source, &layout, reader))),
        };
        match opened {
            Ok(input) => self.input = input,
            Err(error) => self.errors.push(error),
        }
    }

    /// Returns whether `next`, which has read part `number` of a file, began where this one ended; this one then
    /// continues where `next` ended.
    pub(crate) fn follow(&mut self, next: &mut Self, parts: &Parts, number: usize) -> bool {
        let follows = match (&self.ended, &mut next.ended) {
            (Some(Input::Capture(_, _, before)), Some(Input::Capture(_, _, reader))) => {
                parts.follows(before, number, reader)
            }
            // Parts of records of a fixed length begin at fixed offsets.
            (Some(Input::Records(..)), Some(Input::Records(..))) => true,
            _ => false,
        };
        if follows {
            self.ended = next.ended.take();
        }
        follows
    }

    /// The certificate of part `number` of a capture, which was read to its end.
    pub(crate) fn certificate(&self, parts: &Parts, number: usize) -> Option<Certificate> {
        match &self.ended {
            Some(Input::Capture(_, _, reader)) => parts.certificate(number, reader),
            _ => None,
        }
    }

    /// Reads on through part `number`, which `vain` has read from a wrong position.
    pub(crate) fn read_on(&mut self, vain: &Self, parts: &Parts, number: usize) {
        for counters in &vain.counters {
            counters.take_back(&vain.published);
        }
        self.input = self.ended.take();
        if let Some(Input::Capture(_, _, reader)) = &mut self.input {
            parts.read_on(reader, number);
        }
    }

    fn of_capture(&mut self, source: Source, reader: Reader<Bytes>) -> Input {
        self.prepare(source.len());
        let file = CaptureFile::new(&source, &reader);
        Input::Capture(source, file, Box::new(reader))
    }

    fn of_records(&mut self, source: Source, layout: &Layout, reader: RecordReader) -> Input {
        self.prepare(source.len());
        let file = source.shown().into_owned();
        let row = layout.row_for(&self.layout_columns, self.gather.needs_headers);
        Input::Records(source, file, Box::new(reader), row)
    }

    /// Determines whether a program may process records of a source of `len` bytes, as far as that is known.
    fn prepare(&mut self, len: Option<u64>) {
        let gather = &mut self.gather;
        // A check of the order and a copy of the records need each single record, which a program does not return.
        let may_run = gather.order.is_none()
            && gather.output.tee.is_none()
            && gather.output.sink.may_run_program();
        let source_bytes = gather.source_bytes.saturating_add(len.unwrap_or_default());
        gather.source_bytes = source_bytes;
        gather.programs_left = PROGRAMS_MAX;
        gather.compiling = match gather.compile {
            Compile::Large | Compile::Always if !may_run => Compiling::Never,
            Compile::Always => Compiling::Behind(0),
            Compile::Large if source_bytes >= COMPILED_BYTES_MIN => Compiling::Behind(0),
            // The length of a pipe is not known.
            Compile::Large if len.is_none() => Compiling::Behind(COMPILED_RECORDS_MIN),
            Compile::Large | Compile::Never => Compiling::Never,
        };
    }

    fn open_merge(&mut self) -> bool {
        let mut sources = Vec::new();
        let mut readers = Vec::new();
        let count = self.sources.len();
        for source in self.sources.by_ref() {
            match source.open_capture(count, None) {
                Ok(reader) => {
                    sources.push(source);
                    readers.push(reader);
                }
                Err(error) if self.is_stdin_alone => self.refused = Some(error),
                Err(error) => self.errors.push(error),
            }
        }
        if readers.is_empty() {
            return false;
        }
        let files = sources.iter().zip(&readers);
        let files = files
            .map(|(source, reader)| CaptureFile::new(source, reader))
            .collect();
        let merge = Merge::new(readers).with_window(MERGE_WINDOW_BYTES);
        self.input = Some(Input::Merge(sources, files, merge));
        true
    }
}

/// The totals that merging has read of its captures.
fn read_so_far(merge: &Merge<Bytes>) -> Totals {
    let mut totals = Totals {
        late: merge.late(),
        ..Totals::default()
    };
    for reader in merge.readers() {
        totals.bytes += reader.bytes_read();
        totals.source_bytes += reader.source_bytes();
        totals.times_beyond += reader.times_beyond();
    }
    totals
}

/// The end of a step that fills the batch.
enum Fill {
    /// There may be more to read.
    More,
    /// The source is at its end.
    End,
}

impl<S: Sink> Gather<S> {
    /// Reads until the batch is full, for [`STEP_RECORDS`] at most.
    fn fill_from_capture(
        &mut self,
        file: &CaptureFile,
        reader: &mut Reader<Bytes>,
    ) -> Result<Fill, weir_capture::Error> {
        let (bytes, source_bytes) = (reader.bytes_read(), reader.source_bytes());
        let times_beyond = reader.times_beyond();
        let mut outcome = Ok(Fill::More);
        let mut left = STEP_RECORDS;
        while left > 0 {
            if self.output.sink.is_full() || self.output.is_satisfied() {
                break;
            }
            left = left.saturating_sub(self.run_program(reader, None, left));
            if self.output.is_satisfied() {
                break;
            }
            left = left.saturating_sub(1);
            match reader.next() {
                Ok(Some(record)) => self.decode_record(file, &record),
                Ok(None) => {
                    outcome = Ok(Fill::End);
                    break;
                }
                Err(error) => {
                    outcome = Err(error);
                    break;
                }
            }
        }
        self.output.totals.bytes += reader.bytes_read().saturating_sub(bytes);
        self.output.totals.source_bytes += reader.source_bytes().saturating_sub(source_bytes);
        self.output.totals.times_beyond += reader.times_beyond().saturating_sub(times_beyond);
        outcome
    }

    fn fill_from_merge(
        &mut self,
        files: &[CaptureFile],
        merge: &mut Merge<Bytes>,
    ) -> Result<Fill, weir_capture::FileError> {
        let before = read_so_far(merge);
        let mut outcome = Ok(Fill::More);
        for _ in 0..STEP_RECORDS {
            if self.output.sink.is_full() {
                break;
            }
            match merge.next() {
                Ok(Some((file, record))) => {
                    if let Some(file) = files.get(file) {
                        self.decode_record(file, &record);
                    }
                }
                Ok(None) => {
                    outcome = Ok(Fill::End);
                    break;
                }
                Err(error) => {
                    outcome = Err(error);
                    break;
                }
            }
        }
        self.output.totals.add(&read_so_far(merge).since(&before));
        outcome
    }

    /// Fails when rows that must be in the order of time are not.
    fn check_order(&self) -> Result<(), ArrowError> {
        match self.order.as_ref().and_then(|order| order.broken_at) {
            None => Ok(()),
            Some(number) => Err(ArrowError::ComputeError(format!(
                "record {number} is earlier than the one before it, or has no time: read without sorted => true"
            ))),
        }
    }

    fn fill_from_records(
        &mut self,
        source: &Source,
        file: &str,
        reader: &mut RecordReader,
        row: &mut LayoutRow,
    ) -> Result<Fill, Cause> {
        let Some(layout) = source.layout() else {
            return Ok(Fill::End);
        };
        let bytes = reader.bytes_read();
        let mut outcome = Ok(Fill::More);
        let mut left = STEP_RECORDS;
        while left > 0 {
            if self.output.sink.is_full() {
                break;
            }
            left = left.saturating_sub(self.run_program(reader, Some(layout), left));
            left = left.saturating_sub(1);
            match reader.next() {
                Ok(Some(record)) => self.layout_record(file, layout, &record, row),
                Ok(None) => {
                    outcome = reader.take_damage().map_or(Ok(Fill::End), Err);
                    break;
                }
                Err(cause) => {
                    outcome = Err(cause);
                    break;
                }
            }
        }
        let read = reader.bytes_read().saturating_sub(bytes);
        self.output.totals.bytes += read;
        self.output.totals.source_bytes += read;
        outcome
    }

    /// Runs the program over whole records in the buffer; returns the number of its records, of about `most` at most.
    fn run_program(
        &mut self,
        input: &mut impl Records,
        layout: Option<&Layout>,
        most: usize,
    ) -> usize {
        match &mut self.compiling {
            Compiling::Never => return 0,
            Compiling::Behind(0) => self.prepare_program(input, layout),
            // The decoder reads one record.
            Compiling::Behind(records) => *records -= 1,
            Compiling::Ready(records) => {
                if input.framing() != Some(*records) {
                    // Another section of the file has other records.
                    self.compiling = match self.programs_left {
                        0 => Compiling::Never,
                        _ => Compiling::Behind(SAMPLE_RECORDS),
                    };
                    self.programs_left = self.programs_left.saturating_sub(1);
                }
            }
        }
        if !matches!(self.compiling, Compiling::Ready(_)) {
            return 0;
        }
        let (window, number, ports) = input.window();
        let sink = &mut self.output.sink;
        let passed = sink.run_program(window, number, ports, most as u64);
        input.pass_records(passed.bytes, passed.records);
        let totals = &mut self.output.totals;
        totals.records += passed.records;
        totals.dropped += passed.records.saturating_sub(passed.taken);
        totals.compiled += passed.compiled;
        if passed.is_refused {
            totals.compile_refused += 1;
        }
        if passed.is_refused || passed.is_useless {
            self.compiling = Compiling::Never;
        }
        usize::try_from(passed.records).unwrap_or(most)
    }

    /// Makes the program, once the framing of the records is known.
    fn prepare_program(&mut self, input: &impl Records, layout: Option<&Layout>) {
        // Not all formats have a framing before the first record.
        let Some(records) = input.framing() else {
            let (_, number, _) = input.window();
            if number > 1 {
                self.compiling = Compiling::Never;
            }
            return;
        };
        let sink = &mut self.output.sink;
        let prepared = sink.prepare_program(records, layout, &self.options, self.compile);
        self.compiling = match prepared {
            Prepared::Ready => Compiling::Ready(records),
            Prepared::Unasked => Compiling::Never,
            Prepared::Refused => {
                self.output.totals.compile_refused += 1;
                Compiling::Never
            }
        };
    }

    fn layout_record(
        &mut self,
        file: &str,
        layout: &Layout,
        record: &RawRecord<'_>,
        row: &mut LayoutRow,
    ) {
        let view = layout.decode(record.bytes, row);
        let payload = view.payload();
        let data = payload.map_or(record.bytes, |(_, bytes)| bytes);
        let mut frame = Frame::new(LinkType(u32::MAX), data);
        frame.number = record.number;
        frame.time_ns = view.time_ns();
        if let Some(wire_len) = view.wire_len() {
            frame.wire_len = wire_len;
        }
        if let Some(order) = &mut self.order {
            order.watch(&frame);
        }
        let packet = match payload {
            Some((Start::Link(link_type), _)) => {
                frame.link_type = link_type;
                self.decoder.decode(frame)
            }
            Some((Start::Layer(layer), _)) => self.decoder.decode_as(frame, layer),
            None => self.decoder.without_headers(frame),
        };
        let row = Row::new(file, &packet).with_view(&view);
        let stopped = view.stop().is_some();
        self.output.push(&row, stopped);
    }

    fn decode_record(&mut self, file: &CaptureFile, record: &Record<'_>) {
        let interface = file.has_interfaces.then_some(record.interface);
        let frame = Frame {
            number: record.number,
            time_ns: record.time_ns,
            link_type: LinkType(record.link_type),
            wire_len: record.wire_len,
            interface_id: interface.map(|interface| interface.id),
            interface_name: interface
                .map(|interface| interface.name.as_deref().unwrap_or("unknown")),
            interface_description: interface.and_then(|interface| interface.description.as_deref()),
            comment: record.comment,
            data: record.data,
        };
        if let Some(order) = &mut self.order {
            order.watch(&frame);
        }
        let mut times = file.times.get();
        times.pass(frame.time_ns);
        file.times.set(times);
        self.output.decode(
            &file.path,
            &mut self.decoder,
            self.needs_headers,
            frame,
            &times,
        );
    }
}

impl<S: Sink> Output<S> {
    /// Decodes a packet and passes it on.
    #[inline]
    fn decode(
        &mut self,
        path: &str,
        decoder: &mut Decoder,
        needs_headers: bool,
        frame: Frame<'_>,
        times: &Times,
    ) {
        let packet = match needs_headers {
            true => decoder.decode(frame),
            // This case is worth its line: a count over many small records is all overhead.
            false => decoder.without_headers(frame),
        };
        // A link type without a decoder must not look like packets without IP.
        if needs_headers && packet.stop().is_none() && packet.layers().next().is_none() {
            self.totals.stopped += 1;
            self.totals.unknown_link += 1;
        }
        self.push(&Row::new(path, &packet).with_times(times), false);
    }

    /// Counts a row and passes it on.
    #[inline]
    fn push(&mut self, row: &Row<'_>, stopped: bool) {
        self.totals.records += 1;
        if let Some(stop) = row.packet.stop() {
            self.totals.stopped += 1;
            if matches!(stop.reason, Reason::UnknownLinkType(_)) {
                self.totals.unknown_link += 1;
            }
        } else if stopped {
            self.totals.stopped += 1;
        }
        if !self.sink.push(row) {
            self.totals.dropped += 1;
        } else if let Some(tee) = &self.tee {
            tee.keep(&kept::to_write(row.packet.frame()));
        }
    }

    /// Returns whether the tee has enough records.
    fn is_satisfied(&self) -> bool {
        self.tee.as_ref().is_some_and(CaptureTee::is_full)
    }
}

impl Order {
    fn watch(&mut self, frame: &Frame<'_>) {
        let in_order = frame.time_ns.is_some() && frame.time_ns >= self.last_ns;
        if !in_order && self.broken_at.is_none() {
            self.broken_at = Some(frame.number);
        }
        self.last_ns = frame.time_ns;
    }
}

/// The error of an output that cannot be written, which ends the scan.
fn keeping_failed(error: WriteError) -> ArrowError {
    ArrowError::ComputeError(format!("the packets cannot be stored: {error}"))
}

/// The number of records after which the counters are updated even when no row passes the predicate.
const STEP_RECORDS: usize = 65_536;
/// The number of records after which a source of unknown size is assumed to have more.
const COMPILED_RECORDS_MIN: u64 = 16_384;
/// The maximum number of further programs for a file whose sections have records of different kinds.
const PROGRAMS_MAX: u32 = 16;
