//! The system calls of a packet socket, each behind a safe function.

use std::ffi::{CStr, CString};
use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

use libc::{c_int, c_void, socklen_t};

use crate::{Error, Instruction};

/// A raw packet socket (`packet(7)`).
#[derive(Debug)]
pub(super) struct PacketSocket(OwnedFd);

impl PacketSocket {
    /// Opens a socket that receives nothing yet.
    #[allow(unsafe_code)]
    pub(super) fn open() -> io::Result<Self> {
        // SAFETY: takes no pointers.
        let fd = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
        check(fd)?;
        // SAFETY: the descriptor is open, and nothing else owns it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Binds to an interface; with `receives`, for packets of all protocols, otherwise for no packets.
    #[allow(unsafe_code)]
    pub(super) fn bind(&self, index: c_int, receives: bool) -> io::Result<()> {
        let mut address = no_address();
        address.sll_family = libc::AF_PACKET as u16;
        // The protocol is in network byte order.
        address.sll_protocol = match receives {
            true => (libc::ETH_P_ALL as u16).to_be(),
            false => 0,
        };
        address.sll_ifindex = index;
        // SAFETY: the address is a sockaddr_ll of the length that is given, and outlives the call.
        check(unsafe {
            libc::bind(
                self.0.as_raw_fd(),
                (&raw const address).cast(),
                size_of::<libc::sockaddr_ll>() as socklen_t,
            )
        })
    }

    /// The hardware type of the interface, an `ARPHRD_` number.
    #[allow(unsafe_code)]
    pub(super) fn hardware_type(&self) -> io::Result<u16> {
        let mut address = no_address();
        let mut len = size_of::<libc::sockaddr_ll>() as socklen_t;
        // SAFETY: the kernel writes at most `len` bytes, which the address has.
        check(unsafe {
            libc::getsockname(self.0.as_raw_fd(), (&raw mut address).cast(), &raw mut len)
        })?;
        Ok(address.sll_hatype)
    }

    /// Receives packets for other hosts, too, until the socket is closed.
    pub(super) fn be_promiscuous(&self, index: c_int) -> io::Result<()> {
        let request = libc::packet_mreq {
            mr_ifindex: index,
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        self.set(libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &request)
    }

    /// Skips outgoing packets.
    pub(super) fn ignore_outgoing(&self, ignored: bool) -> io::Result<()> {
        let value = c_int::from(ignored);
        self.set(libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &value)
    }

    /// Sets the filter that the kernel runs, and replaces the one before.
    pub(super) fn attach(&self, filter: &[Instruction]) -> io::Result<()> {
        let mut code: Vec<libc::sock_filter> = filter
            .iter()
            .map(|instruction| libc::sock_filter {
                code: instruction.code,
                jt: instruction.jump_true,
                jf: instruction.jump_false,
                k: instruction.constant,
            })
            .collect();
        let program = libc::sock_fprog {
            len: u16::try_from(code.len()).map_err(|_| io::ErrorKind::InvalidInput)?,
            // The kernel copies it during the call, which `code` outlives.
            filter: code.as_mut_ptr(),
        };
        self.set(libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
    }

    /// The packets that were received and dropped since the last call.
    #[allow(unsafe_code)]
    pub(super) fn statistics(&self) -> io::Result<(u32, u32)> {
        let mut statistics = libc::tpacket_stats_v3 {
            tp_packets: 0,
            tp_drops: 0,
            tp_freeze_q_cnt: 0,
        };
        let mut len = size_of::<libc::tpacket_stats_v3>() as socklen_t;
        // SAFETY: the kernel writes at most `len` bytes, which the statistics have.
        check(unsafe {
            libc::getsockopt(
                self.0.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut statistics).cast(),
                &raw mut len,
            )
        })?;
        Ok((statistics.tp_packets, statistics.tp_drops))
    }

    /// Waits until packets have arrived, or for this time.
    #[allow(unsafe_code)]
    pub(super) fn wait(&self, time: Duration) -> io::Result<()> {
        let mut descriptor = libc::pollfd {
            fd: self.0.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        let ms = c_int::try_from(time.as_millis()).unwrap_or(c_int::MAX);
        // SAFETY: the count is that of the array, one pollfd.
        match check(unsafe { libc::poll(&raw mut descriptor, 1, ms) }) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
            _ if descriptor.revents & libc::POLLERR == 0 => Ok(()),
            _ => self.error(),
        }
    }

    /// The error of the socket, such as an interface that was taken down.
    #[allow(unsafe_code)]
    fn error(&self) -> io::Result<()> {
        let mut code: c_int = 0;
        let mut len = size_of::<c_int>() as socklen_t;
        // SAFETY: the kernel writes at most `len` bytes, which the code has.
        check(unsafe {
            libc::getsockopt(
                self.0.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_ERROR,
                (&raw mut code).cast(),
                &raw mut len,
            )
        })?;
        match code {
            0 => Ok(()),
            code => Err(io::Error::from_raw_os_error(code)),
        }
    }

    /// Sets an option to a value of the type that the kernel expects for it.
    #[allow(unsafe_code)]
    pub(super) fn set<T: Copy>(&self, level: c_int, name: c_int, value: &T) -> io::Result<()> {
        // SAFETY: the kernel reads as many bytes as the value has.
        check(unsafe {
            libc::setsockopt(
                self.0.as_raw_fd(),
                level,
                name,
                std::ptr::from_ref(value).cast::<c_void>(),
                size_of::<T>() as socklen_t,
            )
        })
    }

    pub(super) fn as_raw_fd(&self) -> c_int {
        self.0.as_raw_fd()
    }
}

/// The number of the interface with this name.
#[allow(unsafe_code)]
pub(super) fn index_of(name: &str) -> Option<c_int> {
    let name = CString::new(name).ok()?;
    // SAFETY: the name ends with a zero byte and outlives the call.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    c_int::try_from(index).ok().filter(|index| *index > 0)
}

/// Names of the interfaces, in the order of their numbers.
///
/// # Errors
/// The error of the operating system.
#[allow(unsafe_code)]
pub fn interfaces() -> Result<Vec<String>, Error> {
    // SAFETY: takes no pointers.
    let list = unsafe { libc::if_nameindex() };
    if list.is_null() {
        let error = io::Error::last_os_error();
        return Err(Error::system("cannot list the interfaces", error));
    }
    let mut names = Vec::new();
    for place in 0.. {
        // SAFETY: the list has an entry here: no entry before it was the closing one.
        let entry = unsafe { list.add(place).read() };
        if entry.if_index == 0 || entry.if_name.is_null() {
            break;
        }
        // SAFETY: names of entries end with a zero byte and live as long as the list.
        let name = unsafe { CStr::from_ptr(entry.if_name) };
        names.push(name.to_string_lossy().into_owned());
    }
    // SAFETY: it was given by if_nameindex, and nothing of it is used any more.
    unsafe { libc::if_freenameindex(list) };
    Ok(names)
}

#[allow(unsafe_code)]
fn no_address() -> libc::sockaddr_ll {
    let address = MaybeUninit::<libc::sockaddr_ll>::zeroed();
    // SAFETY: it consists of integers, for which zeros are values.
    unsafe { address.assume_init() }
}

fn check(outcome: c_int) -> io::Result<()> {
    match outcome {
        ..0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
