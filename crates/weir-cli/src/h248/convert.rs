//! `weir h248 convert` and `weir h248 encode`.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use weir_h248::{
    Arena, DecodeOptions, EncodeOptions, Encoding, Error, PackageSet, decode, decode_as, encode,
};

use super::args::{InputArgs, ReadArgs, Target, WriteArgs, packages_of};
use super::context::{Context, exit, print};
use super::decode::report;
use super::input::{self, InputMessage, Next, Summary};
use crate::args::Global;
use crate::failure::Failure;
use crate::refusal::Refusal;
use crate::target::{self, put_one_of_many};

#[derive(Args, Debug)]
#[command(
    about = "Write messages in another encoding",
    after_help = CONVERT_EXAMPLES
)]
pub(super) struct Convert {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    write: WriteArgs,
    /// A file, or a folder for several messages, which is created if it is missing
    #[arg(short, long, value_name = "PATH", help_heading = "Output")]
    output: Option<PathBuf>,
}

#[derive(Args, Debug)]
#[command(
    about = "Write a message given as text in an encoding",
    after_help = ENCODE_EXAMPLES
)]
pub(super) struct Encode {
    #[command(flatten)]
    write: WriteArgs,
    /// File with the text, pretty or compact; '-' for standard input
    #[arg(value_name = "FILE", default_value = "-")]
    file: PathBuf,
    /// Accept only text that follows the standard exactly
    #[arg(long)]
    strict: bool,
    /// File with packages: names, numbers and types beyond those of H.248.1 Annex E
    #[arg(long, value_name = "FILE", value_parser = packages_of)]
    packages: Option<&'static PackageSet>,
    /// A file for the message
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
}

pub(super) fn run_encode(args: &Encode, context: Context) -> Result<ExitCode, Failure> {
    let mut decode_options = DecodeOptions::default();
    if args.strict {
        decode_options.text = weir_h248::TextOptions::strict();
    }
    decode_options.binary.packages = args.packages;
    let input = InputArgs {
        paths: vec![args.file.clone()],
        hex: false,
    };
    let job = Job {
        from: Some(Encoding::Compact),
        decode: decode_options,
        encode: args.write.options(decode_options.binary),
        write: &args.write,
        output: args.output.as_deref(),
    };
    job.run(&input, context).map(exit)
}

pub(super) fn run(args: &Convert, context: Context) -> Result<ExitCode, Failure> {
    let job = Job {
        from: args.read.encoding(),
        decode: args.read.options(),
        encode: args.write.options(args.read.binary()),
        write: &args.write,
        output: args.output.as_deref(),
    };
    job.run(&args.input, context).map(exit)
}

/// The input and output of a conversion.
struct Job<'j> {
    from: Option<Encoding>,
    decode: DecodeOptions,
    encode: EncodeOptions,
    write: &'j WriteArgs,
    output: Option<&'j Path>,
}

/// The destination of the next message.
enum Destination<'j> {
    /// All to standard output.
    Stdout,
    /// One message to a file.
    File(target::Target),
    /// Each to a file of its own.
    Folder(&'j Path, HashSet<PathBuf>),
}

impl Job<'_> {
    /// Converts all input; returns whether a message was damaged.
    fn run(&self, input: &InputArgs, context: Context) -> Result<bool, Failure> {
        let mut sink = self.sink(input, context.global)?;
        let mut written = 0_u64;
        let mut failed = 0_u64;
        let mut left_out = 0_usize;
        let mut each = |found: InputMessage| {
            let octets = match self.convert(&found, &mut left_out) {
                Ok(octets) => octets,
                Err(error) => {
                    failed = failed.saturating_add(1);
                    report(context, &found, &error);
                    return Ok(Next::Go);
                }
            };
            let next = self.put(&mut sink, &found, octets, written, context)?;
            written = written.saturating_add(1);
            Ok(next)
        };
        let Summary { count, damaged } = input::messages(input, context, &mut each)?;
        if count == 0 {
            context.messages.note("no Megaco message was found");
        }
        if left_out > 0 {
            context.messages.warning(&format!(
                "{left_out} extensions were left out, for which the encoding has no place"
            ));
        }
        if let Destination::Folder(folder, _) = &sink {
            let text = format!(
                "{written} of {count} messages written to {}",
                folder.display()
            );
            context.messages.note(&text);
        }
        Ok(damaged || failed > 0)
    }

    /// A folder where there may be several messages, or where one is already.
    fn sink(&self, input: &InputArgs, global: Global) -> Result<Destination<'_>, Failure> {
        let one = match input.paths.as_slice() {
            [path] if path.as_os_str() != "-" => {
                path.is_file() && !matches!(weir_capture::sniff_path(path), Ok(Some(_)))
            }
            [_] => true,
            _ => false,
        };
        Ok(match self.output {
            None => Destination::Stdout,
            Some(output) if output.as_os_str() == "-" => Destination::Stdout,
            Some(output) if one && !output.is_dir() => {
                Destination::File(target::Target::new(output, global)?)
            }
            Some(output) => Destination::Folder(output, HashSet::new()),
        })
    }

    fn convert(&self, found: &InputMessage, left_out: &mut usize) -> Result<Vec<u8>, Error> {
        let arena = Arena::new();
        let message = match self.from {
            Some(encoding) => decode_as(encoding, &found.octets, &arena, &self.decode)?,
            None => decode(&found.octets, &arena, &self.decode)?,
        };
        let mut out = Vec::new();
        let target = self.write.to.encoding();
        encode(&message, target, &self.encode, &mut out)?;
        let fits = message
            .extensions
            .iter()
            .filter(|extension| match extension.content {
                weir_h248::ExtensionContent::Ber(_) => target == Encoding::Ber,
                weir_h248::ExtensionContent::Per { .. } => target == Encoding::Per,
                _ => self.write.to.is_text(),
            });
        *left_out = left_out
            .saturating_add(message.extensions.len())
            .saturating_sub(fits.count());
        if self.write.to_hex {
            out = hex::encode(&out).into_bytes();
            out.push(b'\n');
        }
        Ok(out)
    }

    fn put(
        &self,
        sink: &mut Destination<'_>,
        found: &InputMessage,
        mut octets: Vec<u8>,
        before: u64,
        context: Context,
    ) -> Result<Next, Failure> {
        match sink {
            Destination::File(target) if before == 0 => {
                target.put(&octets)?;
                Ok(Next::Go)
            }
            Destination::Stdout if self.write.to.is_text() || self.write.to_hex || before == 0 => {
                if self.write.to.is_text() && !octets.ends_with(b"\n") {
                    octets.push(b'\n');
                }
                Ok(if print(&octets)? {
                    Next::Go
                } else {
                    Next::Stop
                })
            }
            Destination::File(_) | Destination::Stdout => Err(Refusal::usage(
                "several messages in a binary encoding have no separators between them",
                "'-o FOLDER' writes a file for each, '--to-hex' a line for each",
            )
            .into()),
            Destination::Folder(folder, used) => {
                let path = unused(folder, &found.stem, self.write.to, used);
                if let Some(parent) = path.parent() {
                    fs::create_dir_all(parent).map_err(|error| Failure::file(parent, &error))?;
                }
                put_one_of_many(&path, &octets, context.global)?;
                Ok(Next::Go)
            }
        }
    }
}

/// The path for a message: its own name, or, when two have the same, with a number.
fn unused(folder: &Path, stem: &Path, to: Target, used: &mut HashSet<PathBuf>) -> PathBuf {
    let plain = folder.join(stem);
    let mut number = 1_u32;
    loop {
        let mut name = plain.clone().into_os_string();
        if number > 1 {
            name.push(format!("-{number}"));
        }
        name.push(format!(".{}", to.extension()));
        let path = PathBuf::from(name);
        if used.insert(path.clone()) {
            return path;
        }
        number = number.saturating_add(1);
    }
}

const CONVERT_EXAMPLES: &str = "\
Examples:
  weir h248 convert message.txt --to ber -o message.ber
  weir h248 convert trace.pcap --to pretty
      every message of a capture as text, one after the other
  weir h248 convert messages --to per -o messages.per
      every file of a folder into another folder
  weir h248 convert message.ber --to erl-mc --to-hex

Exit status: 0 success; 1 a message is damaged or has no place in the encoding (the others were
written); 2 usage or environment; 3 failure while running.";

const ENCODE_EXAMPLES: &str = "\
Examples:
  echo '!/1 [10.0.0.1] T=1{C=-{AV=ROOT{AT{M}}}}' | weir h248 encode --to ber --to-hex
  weir h248 encode --to per request.txt -o request.per";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_used_once() {
        let mut used = HashSet::new();
        let mut name = |stem: &str| {
            unused(Path::new("out"), Path::new(stem), Target::Ber, &mut used)
                .display()
                .to_string()
        };
        assert_eq!(name("v1/msg.01"), "out/v1/msg.01.ber");
        assert_eq!(name("a"), "out/a.ber");
        assert_eq!(name("a"), "out/a-2.ber");
        assert_eq!(name("a"), "out/a-3.ber");
    }
}
