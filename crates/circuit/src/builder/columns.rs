//! Sums of many bits of different weights, resolved once.
//!
//! Every product, dot product and count reduces to one problem: add bits of weight ±2^k modulo
//! 2^width. Bits are collected by their place. A full adder of one AND gate turns three bits of one
//! place into one bit of that place and one bit of the next. An AND gate thus removes one bit, and
//! a sum of m bits costs about m AND gates less the width of the sum.
//!
//! A bit of negative weight is its negation with positive weight, less a constant: −x·2^k = ¬x·2^k
//! − 2^k. Constants are added up outside of the circuit. The bits of their sum mostly cost nothing
//! (see `add_column`).

use std::collections::VecDeque;

use super::integer::add_column;
use super::{Bit, Builder, Bus, shallow};

/// A sum under construction, modulo 2^width.
pub(super) struct Columns<'b> {
    builder: &'b Builder,
    columns: Vec<VecDeque<Bit<'b>>>,
    /// The sum of all constants modulo 2^width.
    constant: Vec<bool>,
}

/// The reading of a bus that is added.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// As an unsigned integer.
    Unsigned,
    /// In two's complement.
    Signed,
}

impl<'b> Columns<'b> {
    /// Creates an empty sum of `width` bits.
    pub(super) fn new(builder: &'b Builder, width: usize) -> Self {
        Self {
            builder,
            columns: vec![VecDeque::new(); width],
            constant: vec![false; width],
        }
    }

    /// Returns the number of places.
    pub(super) fn width(&self) -> usize {
        self.columns.len()
    }

    /// Adds `bit`·2^`place`.
    pub(super) fn add_bit(&mut self, place: usize, bit: Bit<'b>) {
        match bit.as_constant() {
            Some(true) => self.add_constant(place),
            Some(false) => {}
            None if place < self.columns.len() => self.columns[place].push_back(bit),
            None => {}
        }
    }

    /// Subtracts `bit`·2^`place`.
    pub(super) fn subtract_bit(&mut self, place: usize, bit: Bit<'b>) {
        self.add_bit(place, !bit);
        self.subtract_constant(place);
    }

    /// Adds `bus`·2^`place`.
    pub(super) fn add(&mut self, place: usize, bus: &Bus<'b>, reading: Reading) {
        self.add_or_subtract(place, bus, reading, false);
    }

    /// Subtracts `bus`·2^`place`.
    pub(super) fn subtract(&mut self, place: usize, bus: &Bus<'b>, reading: Reading) {
        self.add_or_subtract(place, bus, reading, true);
    }

    fn add_or_subtract(&mut self, place: usize, bus: &Bus<'b>, reading: Reading, subtract: bool) {
        let room = self.columns.len().saturating_sub(place);
        for (index, bit) in bus.bits().enumerate().take(room) {
            let is_sign = reading == Reading::Signed && index + 1 == bus.width();
            if subtract != is_sign {
                self.subtract_bit(place + index, bit);
            } else {
                self.add_bit(place + index, bit);
            }
        }
    }

    /// Adds 2^`place`.
    pub(super) fn add_constant(&mut self, place: usize) {
        for bit in self.constant.iter_mut().skip(place) {
            *bit = !*bit;
            if *bit {
                return;
            }
        }
    }

    /// Subtracts 2^`place`.
    pub(super) fn subtract_constant(&mut self, place: usize) {
        for bit in self.constant.iter_mut().skip(place) {
            *bit = !*bit;
            if !*bit {
                return;
            }
        }
    }

    /// Resolves the sum.
    pub(super) fn sum(self) -> Bus<'b> {
        let Self {
            builder,
            columns,
            constant,
        } = self;
        if builder.is_shallow() {
            let one = builder.constant(true);
            let columns = columns.into_iter().zip(constant);
            let columns = columns.map(|(column, constant)| {
                column.into_iter().chain(constant.then_some(one)).collect()
            });
            return shallow::sum_of_columns(builder, columns.collect());
        }
        let width = columns.len();
        let mut carries = VecDeque::new();
        let places = columns.into_iter().zip(constant).enumerate();
        let bits = places.map(|(place, (mut column, constant))| {
            column.append(&mut carries);
            if constant || column.is_empty() {
                column.push_back(builder.constant(constant));
            }
            add_column(&mut column, &mut carries, place + 1 == width)
        });
        Bus::from_bits(builder, bits.collect::<Vec<_>>())
    }
}

/// Returns the number of bits of a number from 0 to `greatest`, at least one.
pub(super) fn bits_for(greatest: usize) -> usize {
    (usize::BITS - greatest.leading_zeros()).max(1) as usize
}
