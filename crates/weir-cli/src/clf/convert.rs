//! `weir clf convert` and `weir clf anonymize`.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use weir_clf::{Anonymizer, Encoder, Form, Item, Losses, Record, WriteBehind};

use super::args::{Anonymize, Convert};
use super::log::{Damages, reader, report_losses, unreadable, wrote};
use crate::args::Global;
use crate::failure::Failure;
use crate::message::{Messages, counted};
use crate::progress::{Progress, stdout_is_file};
use crate::target::Target;

/// Bytes that are written at a time.
const PIECE_BYTES: usize = 256 << 10;

pub(super) fn convert(
    convert: &Convert,
    global: Global,
    messages: Messages,
) -> Result<ExitCode, Failure> {
    let form = convert.form.form();
    through(
        &convert.input,
        convert.output.as_deref(),
        form,
        (global, messages),
        &mut |record, encoder| {
            encoder.push(record);
        },
    )
}

pub(super) fn anonymize(
    anonymize: &Anonymize,
    global: Global,
    messages: Messages,
) -> Result<ExitCode, Failure> {
    let path = &anonymize.key_file;
    let key = std::fs::read(path).map_err(|error| Failure::file(path, &error))?;
    if key.trim_ascii().len() < 8 {
        let message = format!(
            "{}: a key of fewer than 8 bytes can be guessed",
            path.display()
        );
        let hint = "head -c 32 /dev/urandom > FILE creates one";
        return Err(crate::refusal::Refusal::usage(message, hint).into());
    }
    let mut anonymizer = Anonymizer::new(key.trim_ascii());
    let (input, output) = (&anonymize.input, anonymize.output.as_deref());
    let form = anonymize.form.form();
    let how = (global, messages);
    through(input, output, form, how, &mut |record, encoder| {
        encoder.push(&anonymizer.anonymize(record));
    })
}

/// Reads records, does something with each, writes what came of it.
fn through(
    input: &Path,
    output: Option<&Path>,
    form: Form,
    (global, messages): (Global, Messages),
    each: &mut dyn FnMut(&Record<'_>, &mut Encoder),
) -> Result<ExitCode, Failure> {
    let (progress, passing) = Progress::of_files(global.quiet, [input]);
    let mut reader = reader(input, &passing)?;
    let output = output.filter(|output| output.as_os_str() != "-");
    let target = Target::optional(output, global)?;
    let out: Box<dyn Write + Send> = match &target {
        Some(target) => Box::new(target.clone()),
        None if stdout_is_file() => Box::new(io::stdout()),
        None => Box::new(progress.before(io::stdout())),
    };
    let mut out = WriteBehind::new(out);
    let mut spare = Vec::new();
    let mut encoder = Encoder::new(form);
    let mut damages = Damages::default();
    let mut records = 0_u64;
    while let Some(item) = reader.next().map_err(|error| unreadable(input, &error))? {
        match item {
            Item::Record { record, .. } => {
                each(&record, &mut encoder);
                records = records.saturating_add(1);
                passing.record();
            }
            Item::Damage(damage) => damages.report(input, &damage, messages),
        }
        if encoder.bytes().len() >= PIECE_BYTES {
            let piece = encoder.swap(std::mem::take(&mut spare));
            if !wrote(out.pass(piece).map(|buffer| spare = buffer))? {
                return Ok(ExitCode::SUCCESS);
            }
        }
    }
    wrote(out.finish(encoder.bytes()).map(drop))?;
    if let Some(target) = target {
        target.keep()?;
    }
    progress.finish();
    let mut losses = Losses::default();
    losses.add(&encoder.losses());
    losses.add(reader.losses());
    messages.note(&counted(records, "record"));
    report_losses(&losses, messages);
    Ok(damages.close(messages))
}
