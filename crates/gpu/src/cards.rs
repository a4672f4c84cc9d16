//! Several cards, side by side.

use core::fmt;
use core::sync::atomic::{AtomicUsize, Ordering};

use tacit_ot::DeviceError;
use tacit_ot::silent::{Device, DeviceHalf, HalfStart};

use crate::{Card, Error};

/// The number of halves of a session.
const DIRECTIONS: usize = 2;

/// The cards of this machine that are used. Each half goes to the next one in turn.
#[derive(Debug)]
pub struct Cards {
    cards: Vec<Card>,
    next: AtomicUsize,
}

impl Cards {
    /// Returns the card of this number, from 0, in the driver's order.
    ///
    /// # Errors
    ///
    /// There is no driver or no such card.
    pub fn one(number: usize) -> Result<Self, Error> {
        Ok(Self::of(vec![Card::open(number)?]))
    }

    /// Returns a card for each direction of a session, or the only one, if there are any: the first
    /// in the driver's order.
    ///
    /// # Errors
    ///
    /// There is a driver, and it fails.
    pub fn first() -> Result<Option<Self>, Error> {
        let count = match Card::count() {
            Ok(0) | Err(Error::NoDriver) => return Ok(None),
            count => count?,
        };
        let cards = (0..count.min(DIRECTIONS))
            .map(Card::open)
            .collect::<Result<_, _>>()?;
        Ok(Some(Self::of(cards)))
    }

    fn of(cards: Vec<Card>) -> Self {
        let next = AtomicUsize::new(0);
        Self { cards, next }
    }

    /// Compiles the kernels for each card, which takes a second the first time.
    ///
    /// # Errors
    ///
    /// There is no compiler, or it or the driver fails.
    pub fn compile(&self) -> Result<(), Error> {
        self.cards.iter().try_for_each(Card::compile)
    }
}

impl fmt::Display for Cards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, card) in self.cards.iter().enumerate() {
            let before = if place > 0 { ", " } else { "" };
            write!(f, "{before}GPU {} ({})", card.number(), card.name())?;
        }
        Ok(())
    }
}

impl Device for Cards {
    fn take_over(&self, half: HalfStart<'_>) -> Result<Box<dyn DeviceHalf>, DeviceError> {
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        self.cards[turn % self.cards.len()].take_over(half)
    }
}
