//! Makes self-contained HTML pages of reports.
//!
//! ```
//! use weir_page::{Page, Point};
//!
//! let mut page = Page::new("ratios", "Ratio against size");
//! page.paragraph("3 < 4, & so on");
//! page.table(&["name", "messages"], &[["chat".to_owned(), "17".to_owned()]]);
//! page.scatter(&[Point { x: 1.0, y: 0.5, ..Point::default() }], "KiB", "ratio");
//! let html = page.finish();
//! assert!(html.contains("<p>3 &lt; 4, &amp; so on</p>"));
//! assert!(html.contains("</svg>"));
//! ```
//!
//! A [`Page`] is one file: its style and its pictures (SVG) stand in it, it runs no script and loads nothing, and a
//! policy in its head (Content Security Policy Level 3) has the browser hold it to that. It follows the reader's choice
//! of dark and light, fits a phone, and prints.
//!
//! Every text that is given to it is foreign and escaped ([`Escaped`]); what is put into it as it is says so in its name
//! ([`Page::put`]). This crate knows nothing of what reports are about, and needs only the standard library.

pub mod chart;
mod control;
mod escaped;
mod page;
mod plot;

pub use control::is_control;
pub use escaped::Escaped;
pub use page::Page;
pub use plot::{Bar, Bars, Point};
