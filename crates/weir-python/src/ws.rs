//! The study of permessage-deflate for `weir.ws`.

use pyo3::prelude::*;
use weir_ws::{
    Budget, CpuTimes, Direction, InputMessage, Opcode, Study, StudyOptions, StudyResult,
    advice_json, advise, html_report, study_csv, study_json,
};

/// A message: its connection, whether the server sent it if that is known, whether it is text, and its octets.
type MessageTuple = (u64, Option<bool>, bool, Vec<u8>);

fn studied(py: Python<'_>, messages: Vec<MessageTuple>) -> PyResult<StudyResult> {
    let mut study = Study::new(StudyOptions::default());
    for piece in messages.chunks(MESSAGES_AT_ONCE) {
        py.check_signals()?;
        py.detach(|| {
            for (connection, from_server, is_text, octets) in piece {
                let direction = from_server.map(|server| match server {
                    true => Direction::ToClient,
                    false => Direction::ToServer,
                });
                let opcode = match is_text {
                    true => Opcode::Text,
                    false => Opcode::Binary,
                };
                let message = InputMessage::new(*connection, direction, opcode, octets);
                study.message(&message);
            }
        });
    }
    Ok(py.detach(|| study.finish()))
}

/// Sizes with every setting: as JSON and as CSV. CPU times are estimates by the length of messages.
#[pyfunction]
pub(crate) fn ws_study(py: Python<'_>, messages: Vec<MessageTuple>) -> PyResult<(String, String)> {
    let study = studied(py, messages)?;
    let times = times(&study);
    Ok((
        study_json(&study, Some(&times)),
        study_csv(&study, Some(&times)),
    ))
}

fn times(study: &StudyResult) -> CpuTimes {
    let total = study.total(None);
    let messages = total.messages.max(1);
    CpuTimes::estimate(total.bytes as f64 / messages as f64)
}

/// The setting for so many connections in so much memory: as JSON, and as a page.
#[pyfunction]
pub(crate) fn ws_advise(
    py: Python<'_>,
    messages: Vec<MessageTuple>,
    connections: u64,
    memory: u64,
    cores: Option<f64>,
    rate: Option<f64>,
    threshold: u64,
) -> PyResult<(String, String)> {
    let study = studied(py, messages)?;
    let mut budget = Budget::new(connections, memory);
    budget.cores = cores;
    budget.messages_per_second = rate;
    let advice = advise(&study.total(None), &times(&study), &budget);
    Ok((
        advice_json(&advice, threshold),
        html_report("permessage-deflate", &study, &advice),
    ))
}

/// Messages between two looks at signals.
const MESSAGES_AT_ONCE: usize = 1024;
