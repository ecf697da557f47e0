//! The framing of records, as data.

/// The framing of the records of a capture, as data, from which a loop over records can be compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordFraming {
    /// A header with seconds and their fraction in its first eight bytes, then the data.
    Pcap {
        /// Bytes of the header.
        header_len: u32,
        /// Numbers are little-endian.
        is_little_endian: bool,
        /// The offset in the header of the captured length, 32 bits.
        captured_len_at: u32,
        /// The offset of the length on the wire.
        wire_len_at: u32,
        /// The lengths stand in either order: the smaller one is the captured length.
        smaller_is_captured: bool,
        /// Nanoseconds in one unit of the fraction.
        fraction_ns: u32,
        /// A larger captured length is damage.
        captured_len_max: u32,
    },
    /// ERF: the header is part of the data, and holds the length of both in the big-endian 16-bit number at offset 10.
    Erf,
    /// pcapng: enhanced packet blocks of the interfaces that [`Reader::ports`](crate::Reader::ports) has a bit for. All
    /// other blocks are left to the reader.
    Pcapng {
        /// Numbers are little-endian.
        is_little_endian: bool,
        /// A larger captured length is damage.
        captured_len_max: u32,
        /// The maximum number of bytes of options together with the padding of the data.
        options_bytes_max: u32,
        /// Nanoseconds in one unit of time, which counts from 1970; not 0.
        tick_ns: u64,
    },
}
