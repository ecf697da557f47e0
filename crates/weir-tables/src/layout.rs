//! Shim until the layout decoder is there.
#![allow(missing_docs, unused)]
use weir_packet::{Kind, Value};
pub struct Layout;
pub struct LayoutColumn { pub name: String, pub kind: Kind, pub doc: String }
impl Layout {
    pub fn columns(&self) -> &[LayoutColumn] { &[] }
    pub fn has_payload(&self) -> bool { false }
}
pub struct View<'a>(&'a [u8]);
impl<'a> View<'a> {
    pub fn value(&self, index: usize) -> Option<Value<'a>> { None }
}
impl Layout { pub fn parse(_: &str, _: &mut dyn FnMut(&str) -> Result<String, String>) -> Result<Self, LayoutError> { Err(LayoutError) } }
#[derive(Debug)]
pub struct LayoutError;
impl LayoutError { pub fn hint(&self) -> Option<&str> { None } }
impl std::fmt::Display for LayoutError { fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str("no layouts") } }
