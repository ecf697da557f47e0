//! The options of a search.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::segment::open_file;

/// The options of a search.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SearchOptions {
    /// The number of threads; 0, the default, is one for each core.
    pub threads: usize,
    /// Whether sidecars are read. True by default.
    pub index: bool,
    /// Whether sidecars are loaded into memory, for many searches. Costs some 2.3 % of the log.
    pub resident: bool,
    /// The function that opens segments and sidecars: a program may refuse some files once they are open. By default files are
    /// opened as the system does.
    pub opener: fn(&Path) -> io::Result<File>,
}

impl Default for SearchOptions {
    fn default() -> Self {
        Self {
            threads: 0,
            index: true,
            resident: false,
            opener: open_file,
        }
    }
}
