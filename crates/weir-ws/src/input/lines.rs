//! One line, one message.

use super::{Each, InputMessage, InputOptions, InputReport};

#[derive(Debug)]
pub(super) struct Lines {
    options: InputOptions,
    /// The beginning of a line that is not whole yet.
    begun: Vec<u8>,
    too_long: bool,
}

impl Lines {
    pub(super) fn new(options: InputOptions) -> Self {
        Self {
            options,
            begun: Vec::new(),
            too_long: false,
        }
    }

    pub(super) fn feed(&mut self, bytes: &[u8], report: &mut InputReport, each: &mut Each<'_>) {
        let mut rest = bytes;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let (line, after) = rest.split_at(end);
            rest = after.get(1..).unwrap_or_default();
            if self.begun.is_empty() && !self.too_long {
                self.line(line, report, each);
            } else {
                self.keep(line);
                self.whole(report, each);
            }
        }
        self.keep(rest);
    }

    pub(super) fn finish(&mut self, report: &mut InputReport, each: &mut Each<'_>) {
        if !self.begun.is_empty() || self.too_long {
            self.whole(report, each);
        }
    }

    fn keep(&mut self, part: &[u8]) {
        // One more for a carriage return.
        if self.begun.len() + part.len() > self.options.message_bytes_max.saturating_add(1) {
            self.too_long = true;
            self.begun = Vec::new();
        }
        if !self.too_long {
            self.begun.extend_from_slice(part);
        }
    }

    fn whole(&mut self, report: &mut InputReport, each: &mut Each<'_>) {
        if std::mem::take(&mut self.too_long) {
            report.too_long += 1;
            return;
        }
        let line = std::mem::take(&mut self.begun);
        self.line(&line, report, each);
        self.begun = line;
        self.begun.clear();
    }

    fn line(&self, line: &[u8], report: &mut InputReport, each: &mut Each<'_>) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() > self.options.message_bytes_max {
            report.too_long += 1;
            return;
        }
        report.messages += 1;
        each(&InputMessage::text(line));
    }
}
