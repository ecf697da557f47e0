//! Which permessage-deflate settings fit this WebSocket traffic?

pub mod exact;
mod setting;

pub use setting::{CELLS, Cells, Setting};
