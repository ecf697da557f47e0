//! A comparison with other compressors than stock zlib: other builds, dictionaries, zstd, brotli.
//!
//! permessage-deflate allows only stock zlib, zlib-rs and libdeflate; preset dictionaries, zstd and brotli need
//! control of both ends. The first half of the messages fills windows and
//! trains dictionaries, the second half is measured.
//!
//! zlib-ng is here with the feature of that name: its bindings build it with CMake, which many machines lack.
//! zlib-rs is a port of it, with its hash tables and its levels.

use std::io::Write as _;
use std::time::Instant;

use brotli::CompressorWriter;
use flate2::{Compress, Compression, FlushCompress};
use libdeflater::{CompressionLvl, Compressor};
use weir_ws::{DeflateOptions, Deflater, Setting, ZlibBuild, bytes_text, connection_memory};
use weir_zlib::Deflate;
use zstd::zstd_safe::zstd_sys::ZSTD_EndDirective;
use zstd::zstd_safe::{CCtx, CParameter, DCtx, InBuffer, OutBuffer};

use super::print::{Sections, TextTable};
use weir_output::grouped;

/// The sizes of a trained dictionary, and of a dictionary made of earlier messages.
const TRAINED_BYTES: usize = 16 << 10;
const PRESET_BYTES: usize = 32 << 10;

/// Something that compresses a message into the buffer; false when it cannot.
type Run<'r> = Box<dyn FnMut(&[u8], &mut Vec<u8>) -> bool + 'r>;

struct Codec<'r> {
    name: &'static str,
    run: Run<'r>,
    /// Bytes of both directions at one end, where they are known.
    memory: Option<u64>,
    needs_warmth: bool,
}

/// A table of the codecs.
pub(super) fn compare(messages: &[&[u8]], sections: &mut Sections) {
    let (first, second) = messages.split_at(messages.len() / 2);
    let bytes: u64 = second.iter().map(|message| message.len() as u64).sum();
    if bytes == 0 || first.is_empty() {
        sections.line("Codecs: too few messages to compare");
        return;
    }
    let mut table = TextTable::new(&["codec", "ratio", "µs per message", "memory per connection"]);
    for mut codec in codecs(first) {
        let mut out = Vec::new();
        let mut sent = 0;
        let mut fine = true;
        if codec.needs_warmth {
            for message in first {
                out.clear();
                fine &= (codec.run)(message, &mut out);
            }
        }
        let begun = Instant::now();
        for message in second {
            out.clear();
            fine &= (codec.run)(message, &mut out);
            sent += out.len() as u64;
        }
        let micros = begun.elapsed().as_secs_f64() * 1e6 / second.len() as f64;
        if fine {
            table.row(vec![
                codec.name.to_owned(),
                format!("{:.4}", sent as f64 / bytes as f64),
                format!("{micros:.1}"),
                codec
                    .memory
                    .map_or_else(|| "not known".to_owned(), bytes_text),
            ]);
        }
    }
    let title = format!(
        "Other codecs, on {} messages after as many before",
        grouped(second.len() as u64)
    );
    sections.table(title, table);
    if cfg!(not(feature = "zlib-ng")) {
        sections.note("zlib-ng is not built in: cargo build --release -p weir-cli --features zlib-ng, with CMake, adds it");
    }
    sections.note("preset dictionaries, zstd and brotli are not permessage-deflate: they need software of your own at both ends");
}

fn codecs<'m>(first: &[&'m [u8]]) -> Vec<Codec<'m>> {
    let zlib = Setting::ZLIB;
    let memory = |build| Some(connection_memory(zlib, zlib, build).total());
    let mut all = Vec::new();
    let mut add = |name, run: Option<Run<'m>>, memory, needs_warmth| {
        all.extend(run.map(|run| Codec {
            name,
            run,
            memory,
            needs_warmth,
        }));
    };
    add(
        "zlib 15/8 level 6, takeover",
        stock(true),
        memory(ZlibBuild::STOCK),
        true,
    );
    add(
        "zlib 15/8 level 6, no takeover",
        stock(false),
        Some(0),
        false,
    );
    for (name, level) in [
        ("libdeflate level 6, no takeover", 6),
        ("libdeflate level 12, no takeover", 12),
    ] {
        add(name, one_shot(level), Some(0), false);
    }
    for (name, level) in [
        ("zlib-rs level 1, takeover", 1),
        ("zlib-rs level 6, takeover", 6),
    ] {
        add(
            name,
            Some(rust(level)),
            memory(ZlibBuild::NEXT_GENERATION),
            true,
        );
    }
    #[cfg(feature = "zlib-ng")]
    for (name, level) in [
        ("zlib-ng level 1, takeover", 1),
        ("zlib-ng level 6, takeover", 6),
    ] {
        if let Some((run, bytes)) = next_generation(level) {
            add(name, Some(run), Some(bytes), true);
        }
    }
    let preset = last_bytes(first, PRESET_BYTES);
    add(
        "zlib-rs level 6, no takeover, preset dictionary of 32 KiB",
        Some(with_preset(preset)),
        Some(0),
        false,
    );
    for (name, level) in [("zstd level 1, stream", 1), ("zstd level 3, stream", 3)] {
        if let Some((run, bytes)) = zstd_stream(level) {
            add(name, Some(run), Some(bytes), true);
        }
    }
    for (name, quality) in [
        ("brotli quality 1, stream", 1),
        ("brotli quality 5, stream", 5),
    ] {
        add(name, Some(brotli_stream(quality)), None, true);
    }
    add(
        "zstd level 3, trained dictionary of 16 KiB, no window",
        trained(first),
        Some(0),
        false,
    );
    all
}

fn stock<'r>(takeover: bool) -> Option<Run<'r>> {
    let mut deflate = Deflate::new(6, 15, 8, 0)?;
    Some(Box::new(move |message, out| {
        if !takeover {
            deflate.reset();
        }
        deflate.message(message, out);
        true
    }))
}

fn rust<'r>(level: u8) -> Run<'r> {
    let mut deflater = Deflater::new(DeflateOptions {
        level,
        ..DeflateOptions::default()
    });
    Box::new(move |message, out| {
        deflater.message(message, out);
        true
    })
}

/// zlib-ng with the window and the memLevel of zlib's defaults; its memory as it was counted, with that of zlib's
/// inflater, which zlib-ng's resembles.
#[cfg(feature = "zlib-ng")]
fn next_generation<'r>(level: u8) -> Option<(Run<'r>, u64)> {
    let mut deflate = weir_zlib::NextGeneration::new(level, 15, 8)?;
    let (_, inflate) = weir_ws::inflate_bytes(15, ZlibBuild::NEXT_GENERATION);
    let bytes = deflate.allocated().bytes as u64 + inflate;
    let run: Run<'r> = Box::new(move |message, out| {
        deflate.message(message, out);
        true
    });
    Some((run, bytes))
}

/// Each message by itself, as a stream of its own; RFC 7692 section 7.2.3.4 has a sender add one zero
/// byte to a final block.
fn one_shot<'r>(level: i32) -> Option<Run<'r>> {
    let mut compressor = Compressor::new(CompressionLvl::new(level).ok()?);
    Some(Box::new(move |message, out| {
        let begin = out.len();
        out.resize(
            begin + compressor.deflate_compress_bound(message.len()) + 1,
            0,
        );
        let Ok(written) = compressor.deflate_compress(message, &mut out[begin..]) else {
            return false;
        };
        out.truncate(begin + written);
        out.push(0);
        true
    }))
}

/// Each message by itself, after the dictionary.
fn with_preset<'r>(dictionary: Vec<u8>) -> Run<'r> {
    let mut stream = Compress::new_with_window_bits(Compression::new(6), false, 15);
    Box::new(move |message, out| {
        stream.reset();
        if stream.set_dictionary(&dictionary).is_err() {
            return false;
        }
        out.reserve(message.len() + message.len() / 8 + 64);
        let fine = stream
            .compress_vec(message, out, FlushCompress::Sync)
            .is_ok();
        if out.ends_with(&[0, 0, 0xff, 0xff]) {
            out.truncate(out.len() - 4);
        }
        fine && stream.total_in() == message.len() as u64
    })
}

/// The last bytes of the messages.
fn last_bytes(messages: &[&[u8]], most: usize) -> Vec<u8> {
    let all = messages.concat();
    all.get(all.len().saturating_sub(most)..)
        .unwrap_or_default()
        .to_vec()
}

/// One frame without end, flushed after each message; its memory with a decoder's is that of a stream
/// with a window of 32 KiB, as zlib's.
fn zstd_stream<'r>(level: i32) -> Option<(Run<'r>, u64)> {
    let mut context = CCtx::try_create()?;
    context
        .set_parameter(CParameter::CompressionLevel(level))
        .ok()?;
    context.set_parameter(CParameter::WindowLog(15)).ok()?;
    // The context allocates its memory with the first message, so its size is known after one.
    let mut out = Vec::with_capacity(1024);
    flush(&mut context, b"a first message", &mut out).then_some(())?;
    let mut decoder = DCtx::try_create()?;
    let mut back = Vec::with_capacity(1024);
    let mut output = OutBuffer::around(&mut back);
    decoder
        .decompress_stream(&mut output, &mut InBuffer::around(&out))
        .ok()?;
    let bytes = context.sizeof() + decoder.sizeof();
    let run: Run<'r> = Box::new(move |message, out| flush(&mut context, message, out));
    Some((run, bytes as u64))
}

fn flush(context: &mut CCtx<'_>, message: &[u8], out: &mut Vec<u8>) -> bool {
    out.reserve(message.len() + message.len() / 8 + 256);
    let begin = out.len();
    let mut output = OutBuffer::around_pos(out, begin);
    let mut input = InBuffer::around(message);
    let left = context.compress_stream2(&mut output, &mut input, ZSTD_EndDirective::ZSTD_e_flush);
    left == Ok(0) && input.pos() == message.len()
}

/// One stream without end with a window of 32 KiB, flushed after each message.
fn brotli_stream<'r>(quality: u32) -> Run<'r> {
    let mut writer = CompressorWriter::new(Vec::new(), 4096, quality, 15);
    Box::new(move |message, out| {
        let fine = writer.write_all(message).is_ok() && writer.flush().is_ok();
        out.append(writer.get_mut());
        fine
    })
}

/// Each message as a frame of its own, with a dictionary trained on those before.
fn trained<'r>(first: &[&[u8]]) -> Option<Run<'r>> {
    let dictionary = zstd::dict::from_samples(first, TRAINED_BYTES).ok()?;
    let mut compressor = zstd::bulk::Compressor::with_dictionary(3, &dictionary).ok()?;
    compressor.include_checksum(false).ok()?;
    compressor.include_dictid(false).ok()?;
    compressor.include_contentsize(false).ok()?;
    Some(Box::new(move |message, out| {
        let Ok(frame) = compressor.compress(message) else {
            return false;
        };
        out.extend_from_slice(&frame);
        true
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_libdeflate_makes_is_permessage_deflate() {
        let mut run = one_shot(6).unwrap();
        let mut inflater = weir_ws::Inflater::new(weir_ws::InflateOptions::default());
        for message in [
            &b"one message, one message, one message"[..],
            b"",
            &[7; 5000],
        ] {
            let (mut payload, mut back) = (Vec::new(), Vec::new());
            assert!(run(message, &mut payload));
            inflater.message(&payload, &mut back).unwrap();
            assert_eq!(back, message);
        }
    }

    #[test]
    fn what_brotli_makes_of_each_message_can_be_read_at_once() {
        let mut run = brotli_stream(5);
        let mut reader = brotli::DecompressorWriter::new(Vec::new(), 4096);
        for message in [
            &b"one message, one message, one message"[..],
            b"another message",
        ] {
            let mut payload = Vec::new();
            assert!(run(message, &mut payload));
            reader.write_all(&payload).unwrap();
            assert_eq!(std::mem::take(reader.get_mut()), message);
        }
    }

    #[test]
    fn every_codec_compresses_text_that_comes_back() {
        let texts: Vec<String> = (0..600)
            .map(|n| {
                format!(
                    "{{\"type\":\"tick\",\"number\":{n},\"name\":\"the name of number {}\"}}",
                    n % 7
                )
            })
            .collect();
        let messages: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
        let mut sections = Sections::default();
        compare(&messages, &mut sections);
        let mut text = String::new();
        sections.write(&mut text);
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| line.contains(" level "))
            .collect();
        let built_in = cfg!(feature = "zlib-ng");
        assert_eq!(lines.len(), if built_in { 12 } else { 10 }, "{text}");
        assert_eq!(text.contains("--features zlib-ng"), !built_in, "{text}");
        for name in ["brotli quality 1, stream", "brotli quality 5, stream"] {
            assert!(text.contains(name), "{text}");
        }
        let ratio = |begin: &str| -> f64 {
            let line = lines
                .iter()
                .find(|line| line.trim_start().starts_with(begin))
                .unwrap();
            let words: Vec<&str> = line.split_whitespace().collect();
            words[words.len() - 4].parse().unwrap()
        };
        for name in ["libdeflate level 6, no", "libdeflate level 12, no"] {
            let (found, zlib) = (ratio(name), ratio("zlib 15/8 level 6, no takeover"));
            assert!((found / zlib - 1.0).abs() < 0.1, "{name}: {found}, {zlib}");
        }
        let with = ratio("zlib 15/8 level 6, takeover");
        let without = ratio("zlib 15/8 level 6, no takeover");
        for name in [
            #[cfg(feature = "zlib-ng")]
            "zlib-ng level 6, takeover",
            "zlib-rs level 6, takeover",
            "zlib-rs level 6, no takeover, preset",
            "zstd level 3, stream",
            "zstd level 3, trained",
        ] {
            let found = ratio(name);
            assert!(
                found > 0.02 && found < without,
                "{name}: {found}, {with}, {without}"
            );
        }
    }
}
