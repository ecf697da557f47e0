//! Walking over a message without knowing its types.

/// Receives the parts of a message in order, to show it as a tree, as JSON or in a column.
///
/// [`Message::visit`](crate::Message::visit) calls it. Records and fields bear the names of ASN.1
/// and of this crate's structs; components without a value are left out.
pub trait Visitor {
    /// A record such as `TransactionRequest` begins: its fields follow.
    fn begin_record(&mut self, name: &'static str);
    /// The value that follows is the field of this name.
    fn field(&mut self, name: &'static str);
    /// The record ends.
    fn end_record(&mut self);
    /// A list begins: its elements follow.
    fn begin_list(&mut self);
    /// The list ends.
    fn end_list(&mut self);
    /// The value that follows is this alternative of a choice.
    fn alternative(&mut self, name: &'static str);
    /// A number.
    fn unsigned(&mut self, value: u32);
    /// A truth value.
    fn boolean(&mut self, value: bool);
    /// A word of the protocol, such as `sendRecv`.
    fn word(&mut self, word: &'static str);
    /// A text: names, values, addresses. Mostly ASCII, but any octets may come.
    fn text(&mut self, octets: &[u8]);
}
