//! Compiles questions about records of a buffer to machine code.
//!
//! A question becomes a [`Program`]: a graph of blocks that is run once a record, over 64-bit registers, a
//! window of bytes and some spaces of words. It is checked when it is made, and then run by a [`Runner`] in
//! one of two ways of one meaning: by an interpreter, which defines it, or as machine code that Cranelift
//! makes.
//!
//! ```
//! use weir_compile::{Builder, Bytes, Exit, Operation, Register, Relation, Runner, Terminator};
//!
//! // Records of one byte of length and so many bytes: how many are there, and how long are they together?
//! let mut builder = Builder::new(4);
//! let (count, sum) = (builder.carry(2), builder.carry(3));
//! let cut = builder.label();
//! builder.require_bytes(Register::AT, 1, Register::WINDOW_LEN, cut);
//! let len = builder.load(Register::AT, 0, Bytes::One);
//! let data = builder.compute(Operation::Add, Register::AT, 1);
//! let end = builder.reach(data, len, Register::WINDOW_LEN, cut);
//! builder.update(Operation::Add, count, 1);
//! builder.update(Operation::Add, sum, len);
//! builder.set(Register::AT, end);
//! builder.end(Terminator::Next);
//! builder.write(cut);
//! builder.end(Terminator::Leave(1));
//!
//! let mut runner = Runner::interpreted(builder.finish()?);
//! runner.compile()?;
//! let mut state = [0; 4];
//! let run = runner.run(&[2, 7, 7, 0, 1, 7, 3, 7], 0, 1000, &mut [&mut state]);
//! assert_eq!((run.at, run.exit, &state[2..]), (6, Exit::Left(1), &[3, 3][..]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! It does not know what a capture, a packet, a column or a group is: `weir-tables` writes the programs.
//! `native.rs` alone has `unsafe` code.

#[doc(hidden)]
pub mod arbitrary_program;
mod builder;
mod check;
mod interpret;
mod masked;
mod narrowed;
mod native;
mod program;
mod run;
mod state;
mod stride;

pub use builder::Builder;
pub use check::Fault;
pub use native::CompileError;
pub use program::{
    Bytes, Instruction, Label, Operand, Operation, Program, Register, Relation, SpaceId, Terminator,
};
pub use run::{Exit, Run, Runner};
