//! Megaco messages in any encoding, for `weir.h248`.

use std::time::{Duration, Instant};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use weir_h248::study::Study;
use weir_h248::{
    Arena, BinaryOptions, DecodeOptions, EncodeOptions, Encoding, Severity, TextOptions, TextStyle,
    check, decode, decode_as, detect, encode,
};

use crate::error::{ErrorClass, failure};

/// An encoding by its name in commands, and its options.
fn target(name: &str) -> PyResult<(Encoding, EncodeOptions)> {
    let mut options = EncodeOptions::default();
    let encoding = match name {
        "pretty" => Encoding::Pretty,
        "compact" => Encoding::Compact,
        "ber" => Encoding::Ber,
        "per" => Encoding::Per,
        "erl" | "erl-mc" | "erl-z" | "erl-mc-z" => {
            options.erl.megaco_compressed = name.contains("mc");
            options.erl.compressed = name.ends_with('z');
            Encoding::Erl
        }
        other => {
            let message = format!(
                "unknown encoding {other:?}: expected pretty, compact, ber, per, erl, erl-mc, erl-z or erl-mc-z"
            );
            return Err(PyValueError::new_err(message));
        }
    };
    Ok((encoding, options))
}

const fn name_of(encoding: Encoding) -> &'static str {
    match encoding {
        Encoding::Pretty => "pretty",
        Encoding::Compact => "compact",
        Encoding::Ber => "ber",
        Encoding::Per => "per",
        _ => "erl",
    }
}

fn refused(error: &weir_h248::Error) -> PyErr {
    failure(ErrorClass::Decode, &error.to_string(), None)
}

/// The options of decoding: strict or lenient, and names or numbers.
fn reading(strict: bool, native: bool) -> DecodeOptions {
    let mut options = DecodeOptions::default();
    if strict {
        options.text = TextOptions::strict();
    }
    if native {
        options.binary = BinaryOptions::native();
    }
    options
}

/// The encoding that octets begin like.
#[pyfunction]
pub(crate) fn h248_detect(octets: &[u8]) -> Option<&'static str> {
    detect(octets).map(name_of)
}

/// A message in a form for reading: pretty or compact text, JSON, or a tree.
#[pyfunction]
pub(crate) fn h248_show(
    py: Python<'_>,
    octets: Vec<u8>,
    encoding: Option<&str>,
    strict: bool,
    native: bool,
    view: &str,
) -> PyResult<String> {
    let from = encoding.map(target).transpose()?;
    let options = reading(strict, native);
    let shown = py.detach(|| {
        let arena = Arena::new();
        let message = match from {
            Some((encoding, _)) => decode_as(encoding, &octets, &arena, &options)?,
            None => decode(&octets, &arena, &options)?,
        };
        let wanted = match view {
            "json" => return Ok(Some(message.to_json(false))),
            "tree" => return Ok(Some(message.to_tree())),
            "pretty" => Encoding::Pretty,
            "compact" => Encoding::Compact,
            _ => return Ok(None),
        };
        let mut text = Vec::new();
        encode(&message, wanted, &EncodeOptions::default(), &mut text)?;
        Ok(Some(String::from_utf8_lossy(&text).into_owned()))
    });
    let shown = shown.map_err(|error: weir_h248::Error| refused(&error))?;
    shown.ok_or_else(|| {
        let message = format!("unknown view {view:?}: expected pretty, compact, json or tree");
        PyValueError::new_err(message)
    })
}

/// A message in another encoding.
#[pyfunction]
pub(crate) fn h248_convert(
    py: Python<'_>,
    octets: Vec<u8>,
    to: &str,
    encoding: Option<&str>,
    strict: bool,
    native: bool,
    erlang: bool,
) -> PyResult<Vec<u8>> {
    let from = encoding.map(target).transpose()?;
    let (to, mut writing) = target(to)?;
    let options = reading(strict, native);
    writing.binary = options.binary;
    if erlang {
        writing.text = TextStyle::erlang();
    }
    let converted = py.detach(|| {
        let arena = Arena::new();
        let message = match from {
            Some((encoding, _)) => decode_as(encoding, &octets, &arena, &options)?,
            None => decode(&octets, &arena, &options)?,
        };
        let mut out = Vec::new();
        encode(&message, to, &writing, &mut out)?;
        Ok(out)
    });
    converted.map_err(|error: weir_h248::Error| refused(&error))
}

/// The violations of the standard: whether each is an error, its text, and its offset.
#[pyfunction]
pub(crate) fn h248_check(octets: &[u8]) -> Vec<(bool, String, Option<usize>)> {
    let findings = check(octets).into_iter();
    findings
        .map(|finding| {
            let is_error = finding.severity == Severity::Error;
            (is_error, finding.text, finding.offset)
        })
        .collect()
}

/// The study of messages in every encoding: as JSON, as a table, and as an HTML page. A damaged message is an error.
#[pyfunction]
pub(crate) fn h248_compare(
    py: Python<'_>,
    messages: Vec<(String, Vec<u8>)>,
    microseconds: u64,
) -> PyResult<(String, String, String)> {
    let at_least = Duration::from_micros(microseconds.min(1_000_000));
    let mut study = Study::new();
    for (name, octets) in messages {
        py.check_signals()?;
        let studied = py.detach(|| {
            let arena = Arena::new();
            let message = decode(&octets, &arena, &DecodeOptions::default())?;
            study.message(&name, &message, &mut |work| nanoseconds(at_least, work));
            Ok(())
        });
        studied.map_err(|error: weir_h248::Error| {
            failure(ErrorClass::Decode, &format!("{name}: {error}"), None)
        })?;
    }
    Ok((study.to_json(), study.to_table(), study.to_html()))
}

/// Nanoseconds a run of work that may be too short for the clock: the median of some measurements.
fn nanoseconds(at_least: Duration, work: &mut dyn FnMut()) -> f64 {
    let mut measure = |runs: u32| {
        let begun = Instant::now();
        (0..runs).for_each(|_| work());
        begun.elapsed()
    };
    let mut runs = 1_u32;
    while runs < 1 << 24 && measure(runs) < at_least {
        runs = runs.saturating_mul(2);
    }
    let mut times = [Duration::ZERO; MEASUREMENTS];
    times.fill_with(|| measure(runs));
    times.sort_unstable();
    let median = times.get(MEASUREMENTS / 2).copied().unwrap_or_default();
    median.as_nanos() as f64 / f64::from(runs)
}

/// Measurements of the same work.
const MEASUREMENTS: usize = 5;
