//! The samples that examples and notebooks ask.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use weir_samples::demo::{call_pcap, demo_files};

use crate::error::{ErrorClass, failure};

/// A sample: its name, what is in it, and its bytes.
type DemoSample<'py> = (&'static str, &'static str, Bound<'py, PyBytes>);

/// The samples of `weir demo`, and a call with its voice.
#[pyfunction]
pub(crate) fn demo(py: Python<'_>) -> PyResult<Vec<DemoSample<'_>>> {
    let failed = |error: std::io::Error| failure(ErrorClass::Run, &error.to_string(), None);
    let mut samples: Vec<DemoSample<'_>> = demo_files()
        .map_err(failed)?
        .into_iter()
        .map(|(file, bytes)| (file.file_name, file.what, PyBytes::new(py, &bytes)))
        .collect();
    let (call, _) = call_pcap().map_err(failed)?;
    let what =
        "a call with its audio, one direction of which loses packets for a third of the call";
    samples.push(("call.pcap", what, PyBytes::new(py, &call)));
    Ok(samples)
}
