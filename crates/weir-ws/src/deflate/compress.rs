//! Compressing messages as a sender does.

use flate2::{Compress, Compression, FlushCompress};

/// The parameters of one sender's compressor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeflateOptions {
    /// Keep the window from message to message.
    pub takeover: bool,
    /// Logarithm of the window, 8 to 15. 8 is deflated with 9, whose distances stay below 256.
    pub window_bits: u8,
    /// 0 to 9.
    pub level: u8,
}

impl Default for DeflateOptions {
    fn default() -> Self {
        Self {
            takeover: true,
            window_bits: 15,
            level: 6,
        }
    }
}

/// Compresses the messages of one direction (with zlib-rs, whose sizes differ a little from stock
/// zlib's: for these see [`exact`](crate::exact)).
///
/// ```
/// use weir_ws::{DeflateOptions, Deflater};
///
/// let mut deflater = Deflater::new(DeflateOptions::default());
/// let mut payload = Vec::new();
/// deflater.message(b"Hello", &mut payload);
/// assert_eq!(payload, [0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00]);
/// ```
#[derive(Debug)]
pub struct Deflater {
    options: DeflateOptions,
    stream: Compress,
    used: bool,
}

impl Deflater {
    /// A compressor with an empty window; values out of range are replaced by the nearest.
    #[must_use]
    pub fn new(options: DeflateOptions) -> Self {
        let options = DeflateOptions {
            window_bits: options.window_bits.clamp(9, 15),
            level: options.level.min(9),
            ..options
        };
        Self {
            stream: Compress::new_with_window_bits(
                Compression::new(options.level.into()),
                false,
                options.window_bits,
            ),
            options,
            used: false,
        }
    }

    /// Appends the payload of one message, to be sent with RSV1 set.
    pub fn message(&mut self, message: &[u8], out: &mut Vec<u8>) {
        if message.is_empty() {
            // RFC 7692 section 7.2.3.6; zlib refuses to flush twice without input.
            out.push(0);
            return;
        }
        if self.used && !self.options.takeover {
            self.stream.reset();
        }
        self.used = true;
        let begin = out.len();
        let mut rest = message;
        loop {
            out.reserve(rest.len() / 2 + 64);
            let before = self.stream.total_in();
            // Only a wrong flush after the end of a stream is an error, and no stream is ended.
            let status = self.stream.compress_vec(rest, out, FlushCompress::Sync);
            let taken = (self.stream.total_in() - before) as usize;
            rest = rest.get(taken..).unwrap_or_default();
            if status.is_err() || (rest.is_empty() && out.len() < out.capacity()) {
                break;
            }
        }
        if out[begin..].ends_with(&[0, 0, 0xff, 0xff]) {
            out.truncate(out.len() - 4);
        }
    }
}
