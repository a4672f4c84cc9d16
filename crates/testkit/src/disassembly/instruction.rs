//! Lines of a disassembly.

use core::fmt;

/// The general registers, each with all its names.
const REGISTERS: [&[&str]; 16] = [
    &["rax", "eax", "ax", "al", "ah"],
    &["rbx", "ebx", "bx", "bl", "bh"],
    &["rcx", "ecx", "cx", "cl", "ch"],
    &["rdx", "edx", "dx", "dl", "dh"],
    &["rsi", "esi", "si", "sil"],
    &["rdi", "edi", "di", "dil"],
    &["rbp", "ebp", "bp", "bpl"],
    &["rsp", "esp", "sp", "spl"],
    &["r8", "r8d", "r8w", "r8b"],
    &["r9", "r9d", "r9w", "r9b"],
    &["r10", "r10d", "r10w", "r10b"],
    &["r11", "r11d", "r11w", "r11b"],
    &["r12", "r12d", "r12w", "r12b"],
    &["r13", "r13d", "r13w", "r13b"],
    &["r14", "r14d", "r14w", "r14b"],
    &["r15", "r15d", "r15w", "r15b"],
];
/// The register with a kernel's argument, which points to its fields.
pub(super) const ARGUMENT: usize = 5;
/// The stack pointer.
const STACK: usize = 7;

/// An operand of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Operand {
    /// A general register.
    General(usize),
    /// A vector or mask register.
    Vector,
    /// Memory.
    Memory(Memory),
    /// A constant, or a place in the code.
    Other,
}

/// A place in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Memory {
    /// The number of bytes accessed; 0 if unknown.
    pub(super) bytes: usize,
    /// The registers in the address.
    pub(super) registers: Vec<usize>,
    /// The constant that is added to them.
    pub(super) distance: i64,
}

impl Memory {
    /// Returns its place on the stack, if the stack pointer alone gives it.
    pub(super) fn on_stack(&self) -> Option<i64> {
        (self.registers == [STACK]).then_some(self.distance)
    }

    /// Returns whether it is an array on the stack.
    pub(super) fn in_stack_array(&self) -> bool {
        self.registers.contains(&STACK)
    }
}

/// One instruction.
pub(super) struct Instruction {
    /// Its place in the code.
    pub(super) address: String,
    pub(super) name: String,
    /// Its operands; for a jump, its target.
    pub(super) text: String,
    pub(super) operands: Vec<Operand>,
}

impl Instruction {
    /// Parses the instruction in a line, if the line has one that is not padding.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let (address, rest) = line.trim_start().split_once(":\t")?;
        let rest = rest.split(['#', '<']).next().unwrap_or_default().trim();
        // A padding prefix precedes the name.
        let rest = rest.trim_start_matches("data16 ").trim_start_matches("cs ");
        let (name, text) = rest.split_once(' ').unwrap_or((rest, ""));
        (name != "nop").then(|| Self {
            address: address.to_owned(),
            name: name.to_owned(),
            text: text.trim().to_owned(),
            operands: split(text).into_iter().map(operand).collect(),
        })
    }

    /// Returns whether it converts the number of a block to the block's distance from the first
    /// one, in bytes.
    pub(super) fn counts_blocks(&self) -> bool {
        self.name == "shl" && self.text.ends_with(",0x4")
    }

    pub(super) fn is_conditional_jump(&self) -> bool {
        self.name.starts_with('j') && self.name != "jmp"
    }
}

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} {}", self.address, self.name, self.text)
    }
}

/// Splits operands at commas, except for those in brackets.
fn split(text: &str) -> Vec<&str> {
    let mut depth = 0;
    let parts = text.split(move |c: char| {
        depth += i32::from(c == '[') - i32::from(c == ']');
        c == ',' && depth == 0
    });
    parts
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect()
}

fn operand(text: &str) -> Operand {
    if let Some(register) = register(text) {
        return Operand::General(register);
    }
    if let Some((kind, inside)) = text.split_once('[') {
        return Operand::Memory(memory(kind, inside));
    }
    let word = text.split('{').next().unwrap_or_default();
    let is_mask = word.len() == 2 && word.starts_with('k');
    if is_mask
        || ["xmm", "ymm", "zmm"]
            .iter()
            .any(|name| word.starts_with(name))
    {
        return Operand::Vector;
    }
    Operand::Other
}

fn memory(kind: &str, inside: &str) -> Memory {
    let sizes = [
        ("ZMMWORD", 64),
        ("YMMWORD", 32),
        ("XMMWORD", 16),
        ("QWORD", 8),
        ("DWORD", 4),
        ("WORD", 2),
        ("BYTE", 1),
    ];
    let size = sizes
        .iter()
        .find(|(name, _)| kind.trim_start().starts_with(name));
    let inside = inside.split(']').next().unwrap_or_default();
    let terms = inside.split(['+', '-', '*']);
    let distance = inside.rsplit_once("0x").map_or(0, |(before, digits)| {
        let digits = i64::from_str_radix(digits, 16).unwrap_or(0);
        if before.ends_with('-') {
            -digits
        } else {
            digits
        }
    });
    Memory {
        bytes: size.map_or(0, |(_, bytes)| *bytes),
        registers: terms.filter_map(register).collect(),
        distance,
    }
}

fn register(name: &str) -> Option<usize> {
    REGISTERS.iter().position(|names| names.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_objdump_are_understood() {
        let of = |line| Instruction::parse(line).expect("it is an instruction");
        let load = of("   83a0c:\tmovzx  r12d,BYTE PTR [r12+rdi*1]");
        assert_eq!(load.name, "movzx");
        let memory = Memory {
            bytes: 1,
            registers: vec![12, 5],
            distance: 0,
        };
        assert_eq!(
            load.operands,
            [Operand::General(12), Operand::Memory(memory)]
        );
        let spill = of("  7:\tvmovups YMMWORD PTR [rsp+0x2c0],ymm3");
        let [Operand::Memory(place), Operand::Vector] = &spill.operands[..] else {
            panic!("memory and a vector: {:?}", spill.operands);
        };
        assert_eq!((place.on_stack(), place.bytes), (Some(0x2c0), 32));
        let jump = of("   7daf9:\tje     7ea20 <_ZN13tacit+0x10>");
        assert!(jump.is_conditional_jump());
        assert!(!of("  1:\tjmp    5").is_conditional_jump());
        assert!(Instruction::parse("0000000000088e90 <symbol>:").is_none());
        let masked = of("  9:\tvpblendmq zmm1{k1}{z},zmm2,zmm3");
        assert_eq!(
            masked.operands,
            [Operand::Vector, Operand::Vector, Operand::Vector]
        );
    }
}
