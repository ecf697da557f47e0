//! WebSocket connections out of a capture.

use std::io::Read;

use weir_capture::Reader;
use weir_packet::{Decoder, Needs, Options};
use weir_tables::{Note, WebSocketSight, WebSockets};

use crate::frame::frame_of;

/// Reads a capture, or what crosses an interface, to its end, passes on what is seen of WebSocket connections, and returns notes about
/// limits. `read` is called now and then with the bytes of the source and the records so far.
///
/// # Errors
/// When the capture is damaged; everything before it was passed on.
pub(super) fn read(
    source: impl Read,
    read: &mut dyn FnMut(u64, u64),
    each: &mut dyn FnMut(&WebSocketSight<'_>),
) -> Result<Vec<Note>, weir_capture::Error> {
    let mut sockets = WebSockets::new();
    let mut reader = Reader::new(source)?;
    let mut decoder = Decoder::new(Options::default(), [Needs::All]);
    let mut records = 0u64;
    let outcome = loop {
        if records.is_multiple_of(LOOK_RECORDS) {
            read(reader.source_bytes(), records);
        }
        match reader.next() {
            Ok(Some(record)) => {
                sockets.packet(&decoder.decode(frame_of(&record)), each);
                records += 1;
            }
            Ok(None) => break Ok(()),
            // An interface without packets for a moment pauses the reader.
            Err(error) if error.is_pause() => {}
            Err(error) => break Err(error),
        }
    };
    sockets.finish(each);
    outcome.map(|()| sockets.notes())
}

/// Returns true when a file starts like a capture or like a compressed file; only captures are compressed.
pub(super) fn is_capture(head: &[u8]) -> bool {
    is_compressed(head) || weir_capture::sniff(head).is_some()
}

/// Returns true when a file starts with the magic number of gzip or zstd.
pub(super) fn is_compressed(head: &[u8]) -> bool {
    head.starts_with(&[0x1f, 0x8b]) || head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd])
}

/// Records between two looks at the progress.
const LOOK_RECORDS: u64 = 1024;
