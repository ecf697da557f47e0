//! A program as machine code. The only code with `unsafe` of this crate: it calls what it made, and frees the
//! memory that it lies in.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I16, I32, I64};
use cranelift_codegen::ir::{
    self, AbiParam, AliasRegionData, InstBuilder, MemFlagsData, UserFuncName, Value,
};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Variable};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{Linkage, Module, default_libcall_names};

use crate::masked::{Loaded, MaskedTest, Sources};
use crate::program::{
    Bytes, Instruction, Label, Operand, Operation, Program, Register, Relation, Space, SpaceId,
    Terminator,
};
use crate::state::{AT_WORD, LEFT_WORD, PAUSED};
use crate::stride::Stride;

/// The code of a program, which is freed with it. Its memory is written first, and then made executable and no
/// longer writable.
pub(crate) struct Native {
    entry: EntryParameters,
    /// Owns the memory that `entry` lies in; `None` only while it is dropped.
    module: Mutex<Option<JITModule>>,
}

/// The window, its length, and the spaces of the program.
type EntryParameters = unsafe extern "C" fn(*const u8, u64, *const RawSpace) -> u64;

/// A space as the code sees it.
#[repr(C)]
#[derive(Clone, Copy)]
struct RawSpace {
    words: *mut u64,
    len: u64,
}

/// The reason why there is no machine code.
#[derive(Debug)]
pub struct CompileError {
    reason: String,
}

impl CompileError {
    /// The error with this reason.
    pub fn new(reason: impl fmt::Display) -> Self {
        Self {
            reason: reason.to_string(),
        }
    }
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for CompileError {}

impl fmt::Debug for Native {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Native").finish_non_exhaustive()
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        let module = self
            .module
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(module) = module.take() {
            free(module);
        }
    }
}

/// Frees the memory of a module, none of whose functions is called any more.
#[allow(unsafe_code)]
fn free(module: JITModule) {
    // SAFETY: a module comes here when it could not be finished, before a caller had a function of it, or
    // from the `Native` that alone has its function and is being dropped, so that none of its code runs.
    unsafe { module.free_memory() }
}

impl Native {
    /// Compiles a program.
    #[allow(unsafe_code)]
    pub(crate) fn new(program: &Program) -> Result<Self, CompileError> {
        if size_of::<usize>() != size_of::<u64>() || cfg!(target_endian = "big") {
            return Err(CompileError::new("not supported on this kind of machine"));
        }
        let mut flags = settings::builder();
        for (name, value) in [
            ("opt_level", "speed"),
            (
                "enable_verifier",
                if cfg!(debug_assertions) {
                    "true"
                } else {
                    "false"
                },
            ),
            ("use_colocated_libcalls", "false"),
            ("is_pic", "false"),
            ("unwind_info", "false"),
        ] {
            flags.set(name, value).map_err(CompileError::new)?;
        }
        let isa = cranelift_native::builder().map_err(CompileError::new)?;
        let isa = isa
            .finish(settings::Flags::new(flags))
            .map_err(CompileError::new)?;
        let mut module = JITModule::new(JITBuilder::with_isa(isa, default_libcall_names()));
        match define(&mut module, program) {
            Ok(function) => {
                let code = module.get_finalized_function(function);
                // SAFETY: the code is that of a function with this signature, which `define` gave it.
                let entry = unsafe { std::mem::transmute::<*const u8, EntryParameters>(code) };
                Ok(Self {
                    entry,
                    module: Mutex::new(Some(module)),
                })
            }
            Err(refusal) => {
                free(module);
                Err(refusal)
            }
        }
    }

    /// Runs the code of this program, which it was made of, with the spaces that it says.
    #[allow(unsafe_code)]
    pub(crate) fn run(&self, program: &Program, window: &[u8], given: &mut [&mut [u64]]) -> u64 {
        let mut spaces = [RawSpace {
            words: std::ptr::null_mut(),
            len: 0,
        }; Program::SPACES_MAX];
        let mut given = given.iter_mut();
        for (raw, space) in spaces.iter_mut().zip(&program.spaces) {
            *raw = match space {
                Space::Given { .. } => match given.next() {
                    Some(words) => RawSpace {
                        words: words.as_mut_ptr(),
                        len: words.len() as u64,
                    },
                    None => continue,
                },
                // Never written: `check` sees to that.
                Space::Constant(words) => RawSpace {
                    words: words.as_ptr().cast_mut(),
                    len: words.len() as u64,
                },
            };
        }
        // SAFETY: the code is that of `program`, which `check` has accepted: every access lies behind a test that it
        // is within its bounds, or in a stretch of records behind the test that `Stride::of` says to be enough for all of
        // them. `Runner::run` has seen to it that the spaces are as large as the program
        // says and that the first record begins in the window. The slices do not overlap, as all that are
        // written are borrowed mutably, and live until it returns. The code calls nothing and does not
        // unwind, and its memory is freed with `self` only.
        unsafe { (self.entry)(window.as_ptr(), window.len() as u64, spaces.as_ptr()) }
    }
}

fn define(
    module: &mut JITModule,
    program: &Program,
) -> Result<cranelift_module::FuncId, CompileError> {
    let mut context = module.make_context();
    let frontend = module.isa().frontend_config();
    let signature = &mut context.func.signature;
    signature.params.extend([AbiParam::new(I64); 3]);
    signature.returns.push(AbiParam::new(I64));
    context.func.name = UserFuncName::user(0, 0);
    let mut functions = FunctionBuilderContext::new();
    {
        let builder = FunctionBuilder::new(&mut context.func, &mut functions);
        let mut writer = Writer::new(builder, program);
        writer.write();
        writer.builder.seal_all_blocks();
        writer.builder.finalize(frontend);
    }
    let function = module
        .declare_function("program", Linkage::Local, &context.func.signature)
        .map_err(CompileError::new)?;
    module
        .define_function(function, &mut context)
        .map_err(CompileError::new)?;
    module.finalize_definitions().map_err(CompileError::new)?;
    Ok(function)
}

/// Writes a program as a function of Cranelift's.
struct Writer<'w> {
    builder: FunctionBuilder<'w>,
    program: &'w Program,
    registers: Vec<Variable>,
    /// Whether one step alone sets each register.
    is_set_once: Vec<bool>,
    /// The bytes of the window that such registers come from.
    sources: Sources<Value>,
    left: Variable,
    /// The beginning of the code of each record.
    head: ir::Block,
    /// The blocks of the program, in the copy of it that is written.
    blocks: Vec<ir::Block>,
    /// The continuation after a record of a stretch, for all of which the program may run; `None` where that has to be tested.
    next: Option<ir::Block>,
    window: Value,
    spaces: Vec<(Value, Value)>,
    /// The flags of accesses to the window and to each space: as memory that does not overlap with the others'.
    flags_window: MemFlagsData,
    flags: Vec<MemFlagsData>,
    /// The block where the state is written and the function returns, with the reason.
    leave: ir::Block,
}

impl<'w> Writer<'w> {
    fn new(mut builder: FunctionBuilder<'w>, program: &'w Program) -> Self {
        let entry = builder.create_block();
        builder.append_block_params_for_function_params(entry);
        builder.switch_to_block(entry);
        let [window, len, spaces] = [0, 1, 2].map(|index| builder.block_params(entry)[index]);
        let mut region = |id: u32| {
            let data = AliasRegionData {
                user_id: id,
                description: "".into(),
            };
            let region = builder.func.dfg.alias_regions.insert(data);
            // Not `aligned`: records begin anywhere.
            MemFlagsData::new()
                .with_notrap()
                .with_alias_region(Some(region))
        };
        let flags_window = region(0);
        let of_spaces = region(1);
        let flags: Vec<_> = (2..).take(program.spaces.len()).map(&mut region).collect();
        let spaces = (0_i32..)
            .zip(&program.spaces)
            .map(|(index, _)| {
                let mut part = |at| {
                    builder
                        .ins()
                        .load(I64, of_spaces, spaces, index * RAW_SPACE_BYTES + at)
                };
                (part(0), part(8))
            })
            .collect();
        let registers: Vec<Variable> = (0..program.registers)
            .map(|_| builder.declare_var(I64))
            .collect();
        let left = builder.declare_var(I64);
        let (head, leave) = (builder.create_block(), builder.create_block());
        builder.append_block_param(leave, I64);
        let mut writer = Self {
            builder,
            program,
            is_set_once: set_once(program),
            sources: Sources::new(registers.len()),
            registers,
            left,
            head,
            blocks: Vec::new(),
            next: None,
            window,
            spaces,
            flags_window,
            flags,
            leave,
        };
        writer.set(Register::WINDOW_LEN, len);
        let at = writer.state(AT_WORD as u32);
        writer.set(Register::AT, at);
        let left = writer.state(LEFT_WORD as u32);
        writer.builder.def_var(writer.left, left);
        for carried in &program.carried {
            let value = writer.state(carried.word);
            writer.set(carried.register, value);
        }
        writer
    }

    /// A word of the state.
    fn state(&mut self, word: u32) -> Value {
        let state = SpaceId::STATE.index();
        let (words, _) = self.spaces[state];
        let flags = self.flags[state];
        let offset = (word * WORD_BYTES) as i32;
        self.builder.ins().load(I64, flags, words, offset)
    }

    fn set_state(&mut self, word: u32, value: Value) {
        let state = SpaceId::STATE.index();
        let (words, _) = self.spaces[state];
        let flags = self.flags[state];
        let offset = (word * WORD_BYTES) as i32;
        self.builder.ins().store(flags, value, words, offset);
    }

    fn get(&mut self, register: Register) -> Value {
        self.builder.use_var(self.registers[register.index()])
    }

    fn set(&mut self, register: Register, value: Value) {
        self.builder
            .def_var(self.registers[register.index()], value);
    }

    fn constant(&mut self, constant: u64) -> Value {
        self.builder.ins().iconst(I64, constant as i64)
    }

    fn operand(&mut self, operand: Operand) -> Value {
        match operand {
            Operand::Register(register) => self.get(register),
            Operand::Constant(constant) => self.constant(constant),
        }
    }

    fn block(&self, label: Label) -> ir::Block {
        self.blocks[label.index()]
    }

    fn write(&mut self) {
        let program = self.program;
        self.builder.ins().jump(self.head, &[]);
        self.builder.switch_to_block(self.head);
        if program.steps() <= STRETCH_STEPS_MAX
            && let Some(stride) = Stride::of(program)
        {
            self.stretch(&stride);
        }
        self.record(&[]);
        self.builder.switch_to_block(self.leave);
        let why = self.builder.block_params(self.leave)[0];
        let at = self.get(Register::AT);
        self.set_state(AT_WORD as u32, at);
        let left = self.builder.use_var(self.left);
        self.set_state(LEFT_WORD as u32, left);
        for carried in &program.carried {
            let value = self.get(carried.register);
            self.set_state(carried.word, value);
        }
        self.builder.ins().return_(&[why]);
    }

    /// Writes the program for a stretch of records of one length, if so many follow whole, and may be processed: `stride` proves
    /// that its tests are true then. Otherwise the code continues after that.
    fn stretch(&mut self, stride: &Stride) {
        let (at, end) = (self.get(Register::AT), self.get(Register::WINDOW_LEN));
        let bytes = u64::from(stride.bytes) * STRETCH;
        let room = self.builder.ins().isub(end, at);
        let bytes = self.constant(bytes);
        let has_room = IntCC::SignedGreaterThanOrEqual;
        let has_room = self.builder.ins().icmp(has_room, room, bytes);
        let left = self.builder.use_var(self.left);
        let records = self.constant(STRETCH);
        let ins = self.builder.ins();
        // More of them, so that there is one to go on with.
        let are_left = ins.icmp(IntCC::UnsignedGreaterThan, left, records);
        let both = self.builder.ins().band(has_room, are_left);
        let starts = [(); STRETCH as usize].map(|()| self.builder.create_block());
        let alone = self.builder.create_block();
        self.builder.ins().brif(both, starts[0], &[], alone, &[]);
        let ends = starts.iter().skip(1).chain([&self.head]);
        for (start, end) in starts.iter().zip(ends.copied().collect::<Vec<_>>()) {
            self.builder.switch_to_block(*start);
            self.next = Some(end);
            self.record(&stride.holds);
        }
        self.next = None;
        self.builder.switch_to_block(alone);
    }

    /// Writes the program once, from here on. Of the tests that end blocks, those that are known to hold are left out.
    fn record(&mut self, holds: &[bool]) {
        let program = self.program;
        let blocks = program.blocks.iter().map(|_| self.builder.create_block());
        self.blocks = blocks.collect();
        self.builder.ins().jump(self.blocks[0], &[]);
        for (index, block) in program.blocks.iter().enumerate() {
            self.builder.switch_to_block(self.blocks[index]);
            for step in &block.steps {
                self.step(step);
            }
            match block.end {
                Terminator::Within { then, .. } if holds.get(index) == Some(&true) => {
                    self.end(&Terminator::Jump(then));
                }
                end => self.end(&end),
            }
        }
    }

    fn step(&mut self, step: &Instruction) {
        match *step {
            Instruction::Set { to, from } => {
                let value = self.operand(from);
                self.set(to, value);
            }
            Instruction::Compute {
                to,
                operation,
                left,
                right,
            } => {
                let value = self.compute(operation, left, right);
                if self.is_set_once[to.index()] {
                    self.sources.compute(to, operation, left, right);
                }
                self.set(to, value);
            }
            Instruction::Select {
                to,
                relation,
                left,
                right,
                then,
                otherwise,
            } => {
                let holds = self.compare(relation, left, right);
                let (then, otherwise) = (self.operand(then), self.operand(otherwise));
                let value = self.builder.ins().select(holds, then, otherwise);
                self.set(to, value);
            }
            Instruction::Load {
                to,
                at,
                offset,
                bytes,
                is_little,
            } => {
                let (value, raw) = self.load(at, offset, bytes, is_little);
                if self.is_set_once[to.index()] {
                    let loaded = Loaded {
                        at: self.get(at),
                        offset,
                        bytes,
                        is_little,
                        raw,
                    };
                    self.sources.load(to, loaded);
                }
                self.set(to, value);
            }
            Instruction::Read {
                to,
                space,
                at,
                offset,
            } => {
                let (address, offset) = self.address(space, at, offset);
                let flags = self.flags[space.index()];
                let value = self.builder.ins().load(I64, flags, address, offset);
                self.set(to, value);
            }
            Instruction::Write {
                from,
                space,
                at,
                offset,
            } => {
                let value = self.operand(from);
                let (address, offset) = self.address(space, at, offset);
                let flags = self.flags[space.index()];
                self.builder.ins().store(flags, value, address, offset);
            }
        }
    }

    /// A number of the window; and what was loaded, the first byte of which is the least significant.
    fn load(&mut self, at: Register, offset: u32, bytes: Bytes, is_little: bool) -> (Value, Value) {
        let at = self.get(at);
        let mut address = self.builder.ins().iadd(self.window, at);
        let offset = i32::try_from(offset).unwrap_or_else(|_| {
            let more = self.builder.ins().iconst(I64, i64::from(offset));
            address = self.builder.ins().iadd(address, more);
            0
        });
        let flags = self.flags_window;
        let ins = self.builder.ins();
        let of = match (bytes, is_little) {
            (Bytes::Two, false) => I16,
            (Bytes::Four, false) => I32,
            (Bytes::Eight, false) => I64,
            (Bytes::One, _) | (_, true) => {
                let value = match bytes {
                    Bytes::One => ins.uload8(I64, flags, address, offset),
                    Bytes::Two => ins.uload16(I64, flags, address, offset),
                    Bytes::Four => ins.uload32(flags, address, offset),
                    Bytes::Eight => ins.load(I64, flags, address, offset),
                };
                return (value, value);
            }
        };
        let raw = ins.load(of, flags, address, offset);
        let value = self.builder.ins().bswap(raw);
        match bytes {
            Bytes::Eight => (value, raw),
            _ => (self.builder.ins().uextend(I64, value), raw),
        }
    }

    /// The address of a word.
    fn address(&mut self, space: SpaceId, at: Option<Register>, offset: u32) -> (Value, i32) {
        let (mut address, _) = self.spaces[space.index()];
        if let Some(at) = at {
            let at = self.get(at);
            let bytes = self.builder.ins().ishl_imm_u(at, WORD_SHIFT);
            address = self.builder.ins().iadd(address, bytes);
        }
        let offset = i64::from(offset) * i64::from(WORD_BYTES);
        match i32::try_from(offset) {
            Ok(offset) => (address, offset),
            Err(_) => {
                let more = self.builder.ins().iconst(I64, offset);
                (self.builder.ins().iadd(address, more), 0)
            }
        }
    }

    fn compare(&mut self, relation: Relation, left: Register, right: Operand) -> Value {
        let condition = match relation {
            Relation::Equal => IntCC::Equal,
            Relation::NotEqual => IntCC::NotEqual,
            Relation::Less => IntCC::UnsignedLessThan,
            Relation::LessOrEqual => IntCC::UnsignedLessThanOrEqual,
            Relation::Greater => IntCC::UnsignedGreaterThan,
            Relation::GreaterOrEqual => IntCC::UnsignedGreaterThanOrEqual,
        };
        if let (IntCC::Equal | IntCC::NotEqual, Operand::Constant(constant)) = (condition, right)
            && let Some(tests) = self.sources.tests(left, constant)
        {
            return self.compare_bytes(condition, &tests);
        }
        let left = self.get(left);
        let right = self.operand(right);
        self.builder.ins().icmp(condition, left, right)
    }

    /// Whether all tests hold, or whether one does not.
    fn compare_bytes(&mut self, condition: IntCC, tests: &[MaskedTest<Value>]) -> Value {
        if let [test] = tests {
            let bits = self.masked(test);
            let of = self.builder.func.dfg.value_type(bits);
            let expected = self.builder.ins().iconst(of, test.expected as i64);
            return self.builder.ins().icmp(condition, bits, expected);
        }
        let mut different = self.constant(0);
        for test in tests {
            let bits = self.masked(test);
            let bits = match self.builder.func.dfg.value_type(bits) {
                I64 => bits,
                _ => self.builder.ins().uextend(I64, bits),
            };
            let expected = self.constant(test.expected);
            let difference = self.builder.ins().bxor(bits, expected);
            different = self.builder.ins().bor(different, difference);
        }
        let none = self.constant(0);
        self.builder.ins().icmp(condition, different, none)
    }

    /// The bits that a test looks at.
    fn masked(&mut self, test: &MaskedTest<Value>) -> Value {
        if test.is_of_all_bits() {
            return test.raw;
        }
        let of = self.builder.func.dfg.value_type(test.raw);
        let mask = self.builder.ins().iconst(of, test.mask as i64);
        self.builder.ins().band(test.raw, mask)
    }

    fn compute(&mut self, operation: Operation, left: Register, right: Operand) -> Value {
        let left = self.get(left);
        let right = self.operand(right);
        let ins = self.builder.ins();
        match operation {
            Operation::Add => ins.iadd(left, right),
            Operation::AddSaturating => {
                let sum = ins.iadd(left, right);
                let ins = self.builder.ins();
                let has_wrapped = ins.icmp(IntCC::UnsignedLessThan, sum, left);
                let most = self.constant(u64::MAX);
                self.builder.ins().select(has_wrapped, most, sum)
            }
            Operation::Subtract => ins.isub(left, right),
            Operation::Multiply => ins.imul(left, right),
            Operation::Divide => ins.udiv(left, right),
            Operation::DivideSigned => ins.sdiv(left, right),
            Operation::Remainder => ins.urem(left, right),
            Operation::RemainderSigned => ins.srem(left, right),
            Operation::And => ins.band(left, right),
            Operation::Or => ins.bor(left, right),
            Operation::ExclusiveOr => ins.bxor(left, right),
            // These take the lowest bits of their second number, as the interpreter does.
            Operation::ShiftLeft => ins.ishl(left, right),
            Operation::ShiftRight => ins.ushr(left, right),
            Operation::ShiftRightSigned => ins.sshr(left, right),
            Operation::Minimum => ins.umin(left, right),
            Operation::Maximum => ins.umax(left, right),
            Operation::MinimumSigned => ins.smin(left, right),
            Operation::MaximumSigned => ins.smax(left, right),
        }
    }

    fn end(&mut self, end: &Terminator) {
        match *end {
            Terminator::Jump(to) => {
                let to = self.block(to);
                self.builder.ins().jump(to, &[]);
            }
            Terminator::If {
                relation,
                left,
                right,
                then,
                otherwise,
            } => {
                let holds = self.compare(relation, left, right);
                self.branch(holds, then, otherwise);
            }
            Terminator::Within {
                at,
                bytes,
                end,
                then,
                otherwise,
            } => {
                let (at, end) = (self.get(at), self.get(end));
                let fits = self.fits(at, bytes, end);
                self.branch(fits, then, otherwise);
            }
            Terminator::Reach {
                to,
                at,
                bytes,
                end,
                then,
                otherwise,
            } => {
                let (at, bytes, end) = (self.get(at), self.get(bytes), self.get(end));
                let reached = self.builder.ins().iadd(at, bytes);
                let fits = self
                    .builder
                    .ins()
                    .icmp(IntCC::UnsignedLessThanOrEqual, reached, end);
                // The register keeps its number on the other way.
                let on = self.builder.create_block();
                let otherwise = self.block(otherwise);
                self.builder.ins().brif(fits, on, &[], otherwise, &[]);
                self.builder.switch_to_block(on);
                self.set(to, reached);
                let then = self.block(then);
                self.builder.ins().jump(then, &[]);
            }
            Terminator::WithinSpace {
                at,
                words,
                space,
                then,
                otherwise,
            } => {
                let at = self.get(at);
                let (_, len) = self.spaces[space.index()];
                let fits = self.fits(at, words, len);
                self.branch(fits, then, otherwise);
            }
            Terminator::Next => self.next_record(),
            Terminator::Leave(why) => {
                let why = self.constant(why.into());
                let leave = self.leave;
                self.builder.ins().jump(leave, &[why.into()]);
            }
        }
    }

    /// Whether so many bytes or words lie between two places.
    fn fits(&mut self, at: Value, count: u32, end: Value) -> Value {
        // Both are far below 2^63, so that their difference keeps its sign.
        let room = self.builder.ins().isub(end, at);
        let count = self.constant(count.into());
        self.builder
            .ins()
            .icmp(IntCC::SignedGreaterThanOrEqual, room, count)
    }

    /// Begins again with the next record, if the program may run for another.
    fn next_record(&mut self) {
        let left = self.builder.use_var(self.left);
        let one = self.constant(1);
        let left = self.builder.ins().isub(left, one);
        self.builder.def_var(self.left, left);
        if let Some(next) = self.next {
            self.builder.ins().jump(next, &[]);
            return;
        }
        // A block of its own, lest each record has to say why the program may be left behind it.
        let pause = self.builder.create_block();
        self.builder.ins().brif(left, self.head, &[], pause, &[]);
        self.builder.switch_to_block(pause);
        let paused = self.constant(PAUSED);
        let leave = self.leave;
        self.builder.ins().jump(leave, &[paused.into()]);
    }

    fn branch(&mut self, condition: Value, then: Label, otherwise: Label) {
        let (then, otherwise) = (self.block(then), self.block(otherwise));
        self.builder
            .ins()
            .brif(condition, then, &[], otherwise, &[]);
    }
}

/// Whether one step alone sets each register: its value is then the same wherever it may be read.
fn set_once(program: &Program) -> Vec<bool> {
    let mut times = vec![0_u32; usize::from(program.registers)];
    let mut set = |register: Register| times[register.index()] += 1;
    [Register::AT, Register::WINDOW_LEN]
        .into_iter()
        .for_each(&mut set);
    program
        .carried
        .iter()
        .for_each(|carried| set(carried.register));
    for block in &program.blocks {
        for step in &block.steps {
            match *step {
                Instruction::Set { to, .. }
                | Instruction::Compute { to, .. }
                | Instruction::Select { to, .. }
                | Instruction::Load { to, .. }
                | Instruction::Read { to, .. } => set(to),
                Instruction::Write { .. } => {}
            }
        }
        if let Terminator::Reach { to, .. } = block.end {
            set(to);
        }
    }
    times.iter().map(|times| *times == 1).collect()
}

const RAW_SPACE_BYTES: i32 = size_of::<RawSpace>() as i32;
const WORD_BYTES: u32 = 8;
const WORD_SHIFT: i64 = 3;
/// Records of a stretch.
const STRETCH: u64 = 8;
/// A program that is larger is written once: the code would be large, and the tests are not what it costs.
const STRETCH_STEPS_MAX: usize = 64;
