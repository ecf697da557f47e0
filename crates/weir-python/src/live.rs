//! Packets as they cross an interface, as a table.

use std::fmt;
use std::io::{self, Read};
use std::sync::{Arc, Mutex};

use pyo3::prelude::*;
use weir_live::{Instruction, Interface};
use weir_packet::LinkType;
use weir_tables::{Feed, Predicate, Stop, bpf};

use crate::answer::lock;
use crate::error::{ErrorClass, failure};

/// The interfaces of this machine.
#[pyfunction]
pub(crate) fn interfaces() -> PyResult<Vec<String>> {
    weir_live::interfaces().map_err(|error| refused(&error))
}

/// Opens an interface, which takes the privilege to do so; packets come once a query reads them.
pub(crate) fn feed(name: &str, stop: &Stop) -> PyResult<Arc<dyn Feed>> {
    let options = weir_live::CaptureOptions::default();
    let interface = Interface::open(name, &options).map_err(|error| refused(&error))?;
    Ok(Arc::new(InterfaceFeed {
        name: name.to_owned(),
        interface: Mutex::new(Some(interface)),
        stop: stop.clone(),
    }))
}

fn refused(error: &weir_live::Error) -> PyErr {
    failure(ErrorClass::Source, &error.to_string(), error.hint())
}

/// An interface as the engine sees it.
struct InterfaceFeed {
    name: String,
    /// The interface; `None` once it is started.
    interface: Mutex<Option<Interface>>,
    stop: Stop,
}

impl Feed for InterfaceFeed {
    fn name(&self) -> &str {
        &self.name
    }

    fn start(&self, wanted: Option<&Predicate>) -> io::Result<Box<dyn Read + Send>> {
        let interface = lock(&self.interface).take();
        let interface = interface.ok_or_else(|| {
            io::Error::other("packets of an interface can be read only once in a statement")
        })?;
        let filter = wanted
            .and_then(|wanted| bpf::compile(wanted, LinkType(interface.link_type())))
            .unwrap_or_default();
        let filter: Vec<Instruction> = filter
            .iter()
            .map(|from| Instruction {
                code: from.code,
                jump_true: from.jump_true,
                jump_false: from.jump_false,
                constant: from.constant,
            })
            .collect();
        let stop = Arc::clone(self.stop.flag());
        let packets = interface.start(&filter, stop).map_err(io::Error::other)?;
        Ok(Box::new(packets))
    }
}

impl fmt::Debug for InterfaceFeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "interface {}", self.name)
    }
}
