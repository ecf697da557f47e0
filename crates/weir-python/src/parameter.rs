//! Python's values as parameters of statements.

use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyInt, PyString};
use weir_engine::Parameter;

/// The values of keyword arguments.
pub(crate) fn parameters(given: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<(String, Parameter)>> {
    let mut parameters = Vec::new();
    for (name, value) in given.into_iter().flatten() {
        parameters.push((name.extract()?, parameter(&value, 0)?));
    }
    Ok(parameters)
}

fn parameter(value: &Bound<'_, PyAny>, depth: usize) -> PyResult<Parameter> {
    if value.is_none() {
        return Ok(Parameter::Null);
    }
    // A bool is an int, and numpy's numbers are neither: they say what they are by `item`.
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(Parameter::Boolean(flag.is_true()));
    }
    if value.is_instance_of::<PyInt>() {
        let wide: i128 = value
            .extract()
            .map_err(|_| PyOverflowError::new_err("an integer parameter has 128 bits at most"))?;
        return Ok(Parameter::Integer(wide));
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(Parameter::Float(value.extract()?));
    }
    if value.is_instance_of::<PyString>() {
        return Ok(Parameter::Text(value.extract()?));
    }
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(Parameter::Bytes(bytes.as_bytes().to_vec()));
    }
    if let Ok(bytes) = value.cast::<PyByteArray>() {
        return Ok(Parameter::Bytes(bytes.to_vec()));
    }
    // Instants, decimals, addresses, paths and numpy's values: Python says what they are in SQL.
    let py = value.py();
    let of_parameter = py.import("weir._values")?.getattr("of_parameter")?;
    let (form, plain): (String, Bound<'_, PyAny>) = of_parameter.call1((value,))?.extract()?;
    match form.as_str() {
        "time" => Ok(Parameter::Time(plain.extract()?)),
        "decimal" => Ok(Parameter::Decimal(plain.extract()?)),
        "list" if depth < DEPTH_MAX => {
            let mut items = Vec::new();
            for item in plain.try_iter()? {
                items.push(parameter(&item?, depth + 1)?);
            }
            Ok(Parameter::List(items))
        }
        "plain" if depth < DEPTH_MAX => parameter(&plain, depth + 1),
        _ => Err(PyTypeError::new_err(format!(
            "a parameter of a query cannot be a value of type {}",
            value.get_type().name()?
        ))),
    }
}

/// Lists within lists that a parameter may have.
const DEPTH_MAX: usize = 8;
