//! What opened payloads are given to.

use weir_flow::{Chunk, Content, Interest, Payload};

/// Takes each opened payload.
pub(super) type OnOpened<'e> = dyn FnMut(&Payload<'_>) -> Interest + 'e;

/// Reports decrypted octets in the place of those that sealed them.
pub(super) fn pass(
    payload: &Payload<'_>,
    chunk: &Chunk<'_>,
    content: Content<'_>,
    offset: u64,
    each: &mut OnOpened<'_>,
) -> Interest {
    let chunk = Chunk {
        content,
        offset,
        // The offset counts other octets than those acknowledged.
        acknowledged: None,
        is_last: false,
        ..*chunk
    };
    each(&payload.with_stream(&chunk))
}
