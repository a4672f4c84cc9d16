//! The flow of secrets through a kernel's registers.
//!
//! Instructions are processed in their order in the code. The state of a register at a jump's
//! target is assumed to be that of the line before or, if that line jumps away, that at the earlier
//! jumps to the target. A secret is
//! - a value that is moved from a vector or mask register to a general one, or to the flags;
//! - a value that is loaded from a slot, that is by an address that contains a masked number times
//!   sixteen; and eight bytes loaded by an address of two registers, from any array (slot numbers
//!   have four);
//! - one byte that is tested in memory, unless it is a field of the kernel or on the stack;
//! - a value that is loaded from the stack where a vector was stored since the last jump or call,
//!   except for four bytes, because vectors also copy gates there.
//!
//! If requested, a byte may be part of an address: then it is a byte of the tables, which are
//! public.

use std::collections::{HashMap, HashSet};

use super::instruction::{ARGUMENT, Instruction, Memory, Operand};

/// The permitted uses of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Secrecy {
    /// Any use.
    #[default]
    Public,
    /// No jumps, and addresses only if requested: a byte of an array.
    Byte,
    /// Neither jumps nor addresses.
    Secret,
}

/// The contents of general registers.
#[derive(Clone, Copy, Default)]
struct Registers {
    secrecy: [Secrecy; 16],
    /// Whether a register has a slot's number.
    numbers: [bool; 16],
    /// Whether a register has the place of a block, or its distance from the first one.
    places: [bool; 16],
}

impl Registers {
    /// Combines this state with another; the more secret one wins.
    fn or(&mut self, other: &Self) {
        for (register, secrecy) in self.secrecy.iter_mut().enumerate() {
            *secrecy = (*secrecy).max(other.secrecy[register]);
            self.numbers[register] |= other.numbers[register];
            self.places[register] |= other.places[register];
        }
    }
}

/// The values that count as secret.
pub(super) struct Flow {
    /// The most secret value that may be part of an address.
    address: Secrecy,
    registers: Registers,
    /// The contents of registers at jumps to later places, by the place.
    jumps: HashMap<String, Registers>,
    /// Whether the line before jumps away.
    is_left: bool,
    flags: Secrecy,
    /// Secret bytes of the stack, by their distance from the stack pointer.
    stack: HashSet<i64>,
}

impl Flow {
    /// Returns a state without secrets.
    pub(super) fn new(byte_addresses: bool) -> Self {
        Self {
            address: if byte_addresses {
                Secrecy::Byte
            } else {
                Secrecy::Public
            },
            registers: Registers::default(),
            jumps: HashMap::new(),
            is_left: false,
            flags: Secrecy::Public,
            stack: HashSet::new(),
        }
    }

    /// Follows an instruction. Returns the finding about it, if there is one.
    pub(super) fn step(&mut self, instruction: &Instruction) -> Option<&'static str> {
        let come = self.jumps.remove(&instruction.address);
        if self.is_left {
            self.registers = come.unwrap_or_default();
        }
        self.is_left = ["jmp", "ret"].contains(&instruction.name.as_str());
        if instruction.name.starts_with('j') {
            let jumps = self.jumps.entry(instruction.text.clone()).or_default();
            jumps.or(&self.registers);
        }
        let secret_address = instruction.operands.iter().any(|operand| match operand {
            Operand::Memory(memory) => self.of_address(memory) > self.address,
            _ => false,
        });
        // The result of a `lea` is not used as an address yet.
        if secret_address && instruction.name != "lea" {
            self.follow(instruction);
            self.follow_places(instruction);
            return Some("an address from a secret");
        }
        if instruction.name.starts_with('j') || instruction.name == "call" {
            // Other branches use the stack's places for other values, and called functions write
            // their results there.
            self.stack.clear();
        }
        if self.is_left {
            // The next instruction is reached from elsewhere, with other flags.
            self.flags = Secrecy::Public;
        }
        if instruction.is_conditional_jump() {
            return (self.flags > Secrecy::Public).then_some("a jump on a secret");
        }
        self.follow(instruction);
        self.follow_places(instruction);
        None
    }

    fn of_address(&self, memory: &Memory) -> Secrecy {
        let registers = memory.registers.iter();
        let secrecy = registers.map(|register| self.registers.secrecy[*register]);
        secrecy.max().unwrap_or_default()
    }

    fn is_in_block(&self, memory: &Memory) -> bool {
        memory
            .registers
            .iter()
            .any(|register| self.registers.places[*register])
    }

    /// Records which registers have places of blocks after `instruction`.
    fn follow_places(&mut self, instruction: &Instruction) {
        let Some(Operand::General(target)) = instruction.operands.first() else {
            return;
        };
        let is_place = |operand: &Operand| match operand {
            Operand::General(register) => self.registers.places[*register],
            Operand::Memory(memory) if instruction.name == "lea" => self.is_in_block(memory),
            _ => false,
        };
        let name = instruction.name.as_str();
        let is_number = self.registers.numbers[*target];
        let place = match name {
            "mov" | "lea" => instruction.operands[1..].iter().any(is_place),
            "add" | "or" | "and" | "sub" => instruction.operands.iter().any(is_place),
            "cmp" | "test" => return,
            _ => is_number && instruction.counts_blocks(),
        };
        self.registers.places[*target] = place;
        // A slot's number is masked, and then converted to the slot's distance.
        self.registers.numbers[*target] = match (name, instruction.operands.get(1)) {
            ("and", Some(Operand::General(_))) => true,
            ("mov", Some(Operand::General(source))) => self.registers.numbers[*source],
            _ => false,
        };
    }

    /// Returns the secrecy of an operand's value.
    fn of(&self, operand: &Operand) -> Secrecy {
        match operand {
            Operand::General(register) => self.registers.secrecy[*register],
            Operand::Vector => Secrecy::Secret,
            Operand::Memory(memory) => self.of_memory(memory),
            Operand::Other => Secrecy::Public,
        }
    }

    fn of_memory(&self, memory: &Memory) -> Secrecy {
        if let Some(place) = memory.on_stack() {
            if memory.bytes == 4 {
                return Secrecy::Public;
            }
            let mut bytes = place..place + memory.bytes as i64;
            return if bytes.any(|byte| self.stack.contains(&byte)) {
                Secrecy::Secret
            } else {
                Secrecy::Public
            };
        }
        let is_field = memory.registers == [ARGUMENT];
        let in_array = memory.registers.len() > 1 && !memory.in_stack_array();
        match memory.bytes {
            8 if in_array => Secrecy::Secret,
            _ if self.is_in_block(memory) => Secrecy::Secret,
            1 if !is_field && !memory.in_stack_array() => Secrecy::Byte,
            _ => Secrecy::Public,
        }
    }

    fn follow(&mut self, instruction: &Instruction) {
        let name = instruction.name.as_str();
        let operands = &instruction.operands[..];
        let all = operands.iter().map(|operand| self.of(operand)).max();
        let all = all.unwrap_or_default();
        let tests = [
            "cmp", "test", "bt", "vptest", "ptest", "vtest", "kortest", "ktest",
        ];
        if tests.iter().any(|test| name.starts_with(test)) {
            let of_masks = name.starts_with('k');
            self.flags = if of_masks { Secrecy::Secret } else { all };
            return;
        }
        if ["comis", "ucomis", "vcomis", "vucomis"]
            .iter()
            .any(|test| name.starts_with(test))
        {
            self.flags = Secrecy::Secret;
            return;
        }
        let (Some(target), sources) = (operands.first(), operands.get(1..).unwrap_or_default())
        else {
            return;
        };
        let of_sources = sources.iter().map(|operand| self.of(operand)).max();
        let of_sources = of_sources.unwrap_or_default();
        let moves = name.starts_with("mov") || name == "pop";
        let result = if name == "lea" {
            match &sources[0] {
                Operand::Memory(memory) => self.of_address(memory),
                _ => Secrecy::Public,
            }
        } else if name.starts_with("set") {
            self.flags
        } else if name.starts_with("cmov") {
            all.max(self.flags)
        } else if moves || sources.contains(&Operand::Vector) {
            of_sources
        } else if ["xor", "sub"].contains(&name)
            && operands.len() == 2
            && operands[0] == operands[1]
        {
            self.flags = Secrecy::Public;
            Secrecy::Public
        } else if name == "call" {
            return;
        } else {
            // Arithmetic on general registers and memory sets the flags.
            if !["push", "not"].contains(&name) && *target != Operand::Vector {
                self.flags = all;
            }
            all
        };
        self.write(target, result);
    }

    fn write(&mut self, target: &Operand, secrecy: Secrecy) {
        match target {
            Operand::General(register) => self.registers.secrecy[*register] = secrecy,
            Operand::Memory(memory) => {
                let Some(place) = memory.on_stack() else {
                    return;
                };
                let bytes = place..place + memory.bytes as i64;
                if secrecy == Secrecy::Secret {
                    self.stack.extend(bytes);
                } else {
                    bytes.for_each(|byte| {
                        self.stack.remove(&byte);
                    });
                }
            }
            Operand::Vector | Operand::Other => {}
        }
    }
}
