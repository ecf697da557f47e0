//! The ring: memory shared with the kernel, which fills one block after the other with packets
//! (`TPACKET_V3`, Documentation/networking/packet_mmap.rst of the kernel).
//!
//! A block belongs to the kernel or to this process, by its status. While it is the process's its bytes do not change,
//! and all that is in it is read as bytes of a slice, with every length checked.

use std::io;
use std::mem::offset_of;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use libc::{sockaddr_ll, tpacket_hdr_variant1, tpacket3_hdr};

use super::socket::PacketSocket;

/// The blocks of packets, and the position of the next packet.
#[derive(Debug)]
pub(super) struct Ring {
    memory: Memory,
    /// The current block.
    block: usize,
    /// The number of its packets that are still to be read.
    packets_left: u32,
    /// The offset of the next packet in it.
    packet_at: usize,
    /// The block belongs to this process, and not to the kernel.
    is_held: bool,
}

/// A packet in the ring.
#[derive(Debug)]
pub(super) struct RingPacket<'a> {
    /// The time in nanoseconds since 1970 UTC.
    pub(super) time_ns: i64,
    /// The length on the wire, without a VLAN tag that was removed.
    pub(super) wire_len: u32,
    /// The outermost VLAN tag, which the kernel removes from the packet: protocol and control.
    pub(super) vlan: Option<(u16, u16)>,
    /// The packet is outgoing.
    pub(super) outgoing: bool,
    pub(super) data: &'a [u8],
}

impl Ring {
    /// A ring of about `bytes`, with at least two blocks.
    pub(super) fn new(socket: &PacketSocket, bytes: usize) -> io::Result<Self> {
        let blocks = (bytes / BLOCK_BYTES).clamp(2, BLOCKS_MAX);
        let version = libc::tpacket_versions::TPACKET_V3 as libc::c_int;
        socket.set(libc::SOL_PACKET, libc::PACKET_VERSION, &version)?;
        // Checked by the clamp: both fit.
        let (block_size, block_count) = (BLOCK_BYTES as u32, blocks as u32);
        let request = libc::tpacket_req3 {
            tp_block_size: block_size,
            tp_block_nr: block_count,
            // Version 3 of the ring does not use it, and the kernel checks it.
            tp_frame_size: FRAME_BYTES,
            tp_frame_nr: block_size / FRAME_BYTES * block_count,
            tp_retire_blk_tov: RETIRE_MS,
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        socket.set(libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        Ok(Self {
            memory: Memory::map(socket, blocks)?,
            block: 0,
            packets_left: 0,
            packet_at: 0,
            is_held: false,
        })
    }

    /// The next packet; `None` when the kernel has returned no more. The packet before it is given back to the kernel.
    pub(super) fn next(&mut self) -> Option<RingPacket<'_>> {
        while self.packets_left == 0 {
            if self.is_held {
                self.memory.give_back(self.block);
                self.is_held = false;
                self.block = (self.block + 1) % self.memory.blocks;
            }
            let block = self.memory.block(self.block)?;
            self.packets_left = u32_at(block, BLOCK_PACKETS_AT)?;
            self.packet_at = u32_at(block, BLOCK_FIRST_AT)? as usize;
            self.is_held = true;
        }
        self.packets_left -= 1;
        let start = self.packet_at;
        let block = self.memory.block(self.block)?;
        let record = block.get(start..)?;
        let step = u32_at(record, offset_of!(tpacket3_hdr, tp_next_offset))?;
        self.packet_at = start.checked_add(step as usize)?;
        packet(record)
    }
}

/// Reads the header of a packet, and its bytes.
fn packet(record: &[u8]) -> Option<RingPacket<'_>> {
    let word = |at| u32_at(record, at);
    let seconds = i64::from(word(offset_of!(tpacket3_hdr, tp_sec))?);
    let nanoseconds = i64::from(word(offset_of!(tpacket3_hdr, tp_nsec))?);
    let captured = word(offset_of!(tpacket3_hdr, tp_snaplen))? as usize;
    let status = word(offset_of!(tpacket3_hdr, tp_status))?;
    let start = usize::from(u16_at(record, offset_of!(tpacket3_hdr, tp_mac))?);
    let variant = offset_of!(tpacket3_hdr, hv1);
    let control = word(variant + offset_of!(tpacket_hdr_variant1, tp_vlan_tci))?;
    let protocol = u16_at(
        record,
        variant + offset_of!(tpacket_hdr_variant1, tp_vlan_tpid),
    )?;
    let kind = record.get(ADDRESS_AT + offset_of!(sockaddr_ll, sll_pkttype))?;
    let is_tagged = status & libc::TP_STATUS_VLAN_VALID != 0;
    let has_protocol = status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
    Some(RingPacket {
        time_ns: seconds * 1_000_000_000 + nanoseconds,
        wire_len: word(offset_of!(tpacket3_hdr, tp_len))?,
        vlan: is_tagged.then_some((
            if has_protocol {
                protocol
            } else {
                VLAN_PROTOCOL
            },
            // The control field has 16 bits of the word.
            control as u16,
        )),
        outgoing: *kind == libc::PACKET_OUTGOING,
        data: record.get(start..start.checked_add(captured)?)?,
    })
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_ne_bytes(*bytes))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u16::from_ne_bytes(*bytes))
}

/// The mapping.
#[derive(Debug)]
struct Memory {
    start: NonNull<u8>,
    blocks: usize,
}

// SAFETY: the mapping belongs to this value alone, whichever thread has it.
#[allow(unsafe_code)]
unsafe impl Send for Memory {}

impl Memory {
    #[allow(unsafe_code)]
    fn map(socket: &PacketSocket, blocks: usize) -> io::Result<Self> {
        // SAFETY: a new mapping, which overlaps nothing that is there; the kernel has just made a ring
        // of this size for the socket.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                blocks * BLOCK_BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                socket.as_raw_fd(),
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, blocks })
    }

    /// The bytes of a block; `None` while it is the kernel's.
    #[allow(unsafe_code)]
    fn block(&self, number: usize) -> Option<&[u8]> {
        let status = self.status(number).load(Ordering::Acquire);
        if status & libc::TP_STATUS_USER == 0 {
            return None;
        }
        debug_assert!(number < self.blocks);
        // SAFETY: the block is within the mapping, which lives as long as `self`. It is ours, so the
        // kernel does not write to it until it is given back, for which the slice has to have gone.
        Some(unsafe {
            std::slice::from_raw_parts(self.start.as_ptr().add(number * BLOCK_BYTES), BLOCK_BYTES)
        })
    }

    /// Returns a block to the kernel.
    fn give_back(&mut self, number: usize) {
        self.status(number)
            .store(libc::TP_STATUS_KERNEL, Ordering::Release);
    }

    #[allow(unsafe_code)]
    fn status(&self, number: usize) -> &AtomicU32 {
        let number = number.min(self.blocks - 1);
        // SAFETY: the word lies within the mapping, which lives as long as `self`, is aligned as blocks
        // are to pages, and is written by the kernel and here alone, each in one piece.
        unsafe {
            let word = self
                .start
                .as_ptr()
                .add(number * BLOCK_BYTES + BLOCK_STATUS_AT);
            AtomicU32::from_ptr(word.cast())
        }
    }
}

impl Drop for Memory {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and no slice of it is left.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.blocks * BLOCK_BYTES) };
    }
}

/// Longer than any packet that is captured, with its header; a multiple of the page.
///
/// A block that waits for its reader counts whole, however little is in it when it is handed over. Of
/// blocks twice as long there would be half as many, which a reader on a busy machine uses up in a second.
const BLOCK_BYTES: usize = 512 << 10;
/// The maximum number of blocks: 4 GiB of packets.
const BLOCKS_MAX: usize = 8192;
const FRAME_BYTES: u32 = 2048;
/// The time in milliseconds after which the kernel returns a block that is not full.
pub(super) const RETIRE_MS: u32 = 40;

/// Offsets of `tpacket_hdr_v1` in a block, behind version and offset of `tpacket_block_desc`.
const BLOCK_STATUS_AT: usize = 8 + offset_of!(libc::tpacket_hdr_v1, block_status);
const BLOCK_PACKETS_AT: usize = 8 + offset_of!(libc::tpacket_hdr_v1, num_pkts);
const BLOCK_FIRST_AT: usize = 8 + offset_of!(libc::tpacket_hdr_v1, offset_to_first_pkt);
/// The offset of the address, which is aligned behind the header.
const ADDRESS_AT: usize = size_of::<tpacket3_hdr>().next_multiple_of(libc::TPACKET_ALIGNMENT);
/// The protocol of a tag of which the kernel has the control field only: 802.1Q.
const VLAN_PROTOCOL: u16 = 0x8100;
