//! Columns whose values are computed when they are needed: lists, and texts that are not in the message itself.

use std::cell::OnceCell;

use weir_packet::{Kind, Value};

use super::extraction::ItemField;

/// The values of a column of lists.
#[derive(Debug)]
pub(super) enum List {
    Texts(Vec<String>),
    Numbers(Vec<u32>),
}

impl List {
    /// Creates an empty list for a column of this kind.
    pub(super) const fn of(kind: Kind) -> Self {
        match kind {
            Kind::Texts => Self::Texts(Vec::new()),
            _ => Self::Numbers(Vec::new()),
        }
    }

    /// Adds a text.
    pub(super) fn text(&mut self, text: impl ToString) {
        if let Self::Texts(texts) = self {
            texts.push(text.to_string());
        }
    }

    /// Adds bytes as a text.
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.text(weir_messages::printable(bytes));
    }

    /// Adds a number.
    pub(super) fn number(&mut self, number: impl Into<u32>) {
        if let Self::Numbers(numbers) = self {
            numbers.push(number.into());
        }
    }

    /// Adds numbers.
    pub(super) fn numbers<N: Into<u32> + Copy>(&mut self, numbers: &[N]) {
        for number in numbers {
            self.number(*number);
        }
    }

    /// The value of the column; NULL when it is empty.
    pub(super) fn value(&self) -> Option<Value<'_>> {
        match self {
            Self::Texts(texts) => Some(Value::Texts(texts)).filter(|_| !texts.is_empty()),
            Self::Numbers(numbers) => Some(Value::Numbers(numbers)).filter(|_| !numbers.is_empty()),
        }
    }
}

/// The function by which a column gets its value from a `T`.
pub(super) enum Say<T> {
    /// The value is in the message.
    Value(for<'i> fn(&'i T) -> Option<Value<'i>>),
    /// A text that is computed.
    Text(fn(&T) -> Option<String>),
    /// A list that is computed.
    List(fn(&T, &mut List)),
}

/// A value that was computed for a row.
#[derive(Debug)]
enum Made {
    Text(Option<String>),
    List(List),
}

/// The values that were computed for the columns of a row, by the numbers of the columns. There is no room for them before the
/// first is needed: most rows need none.
#[derive(Debug)]
pub(super) struct Cache {
    columns: usize,
    made: OnceCell<Box<[OnceCell<Made>]>>,
}

impl Cache {
    /// Creates a cache for a row of `columns` columns.
    pub(super) const fn new(columns: usize) -> Self {
        Self {
            columns,
            made: OnceCell::new(),
        }
    }

    /// The place of the value of a column.
    fn place(&self, index: usize) -> Option<&OnceCell<Made>> {
        let columns = 0..self.columns;
        let made = self
            .made
            .get_or_init(|| columns.map(|_| OnceCell::new()).collect());
        made.get(index)
    }

    /// The value of a column.
    pub(super) fn value<'i, T>(
        &'i self,
        fields: &'static [ItemField<Say<T>>],
        index: usize,
        of: &'i T,
    ) -> Option<Value<'i>> {
        let field = fields.get(index)?;
        let made = match &field.get {
            Say::Value(get) => return get(of),
            Say::Text(make) => self.place(index)?.get_or_init(|| Made::Text(make(of))),
            Say::List(fill) => self.place(index)?.get_or_init(|| {
                let mut list = List::of(field.kind);
                fill(of, &mut list);
                Made::List(list)
            }),
        };
        match made {
            Made::Text(text) => text.as_deref().map(Value::Text),
            Made::List(list) => list.value(),
        }
    }
}
