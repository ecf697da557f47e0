//! What do captures say to a Python program?
//!
//! The native half of the package `weir` (`python/weir`), as the module `weir._weir`: statements planned and read
//! (`engine`, `answer`), their rows in Arrow's C data interface or as Python's values (`value`), values for their
//! parameters (`parameter`), and the libraries beside SQL (`h248`, `sip`, `ws`, `clf`). The Python half is the
//! interface for users, with its types and its documentation.
//!
//! `offered` makes a query a table of datafusion-python's sessions.
//!
//! While something is read the interpreter is free for other threads, and a signal ends it within a tenth of a
//! second (`runtime`). A process that was forked has its own threads and refuses what its parent began.
//!
//! This crate deliberately has no `unsafe` code of its own: batches leave as capsules that PyO3 makes of Arrow's
//! structures, and come in by arrow-pyarrow; tables leave as datafusion-ffi makes them.

mod answer;
mod batch;
mod chart;
mod clf;
mod demo;
mod engine;
mod error;
mod fields;
mod h248;
mod live;
mod offered;
mod parameter;
mod runtime;
mod sip;
mod value;
mod ws;

/// The module `weir._weir`.
#[pyo3::pymodule(gil_used = true)]
mod _weir {
    #[pymodule_export]
    use crate::answer::Answer;
    #[pymodule_export]
    use crate::batch::Batch;
    #[pymodule_export]
    use crate::chart::{chart_choose, chart_is_amount, chart_slots};
    #[pymodule_export]
    use crate::clf::{ClfWriter, clf_convert};
    #[pymodule_export]
    use crate::demo::demo;
    #[pymodule_export]
    use crate::engine::Engine;
    #[pymodule_export]
    use crate::fields::{fields, tables};
    #[pymodule_export]
    use crate::h248::{h248_check, h248_compare, h248_convert, h248_detect, h248_show};
    #[pymodule_export]
    use crate::live::interfaces;
    #[pymodule_export]
    use crate::offered::datafusion_version;
    #[pymodule_export]
    use crate::sip::{sip_ladder, sip_parse};
    #[pymodule_export]
    use crate::ws::{ws_advise, ws_study};

    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
