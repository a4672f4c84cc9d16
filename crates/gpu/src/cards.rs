//! The choice of cards, and the cards side by side.

use core::fmt;
use core::str::FromStr;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use tacit_ot::DeviceError;
use tacit_ot::silent::{Device, DeviceHalf, HalfStart};

use crate::{Card, Error};

/// The number of halves of a session.
const DIRECTIONS: usize = 2;

/// The fewest OTs for which a card is taken without being asked for: to compile its kernels takes a
/// second, in which threads make some millions of OTs.
const WORTH_OTS: u64 = 1 << 24;

/// The choice of the cards that make OTs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// None.
    Never,
    /// For work that is worth it, one for each direction of a session, or the only one: the first
    /// in the driver's order, if there are any that work.
    #[default]
    Auto,
    /// The one of this number, from 0, in the driver's order.
    Number(usize),
}

/// A text is no [`Choice`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected never, auto, or the number of a GPU, the first of which is 0")]
pub struct NotAChoice;

impl FromStr for Choice {
    type Err = NotAChoice;

    fn from_str(text: &str) -> Result<Self, NotAChoice> {
        match text {
            "never" => Ok(Self::Never),
            "auto" => Ok(Self::Auto),
            _ => text.parse().map(Self::Number).map_err(|_| NotAChoice),
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Never => f.write_str("never"),
            Self::Auto => f.write_str("auto"),
            Self::Number(number) => write!(f, "{number}"),
        }
    }
}

/// The result of the choice of a card, for the user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Notice {
    /// They make OTs.
    #[error("OTs are made on {0}")]
    Used(String),
    /// Threads make OTs, although there is a card.
    #[error("the GPU is not used, and threads make the OTs: {0}")]
    NotUsed(Error),
}

impl Choice {
    /// Returns a device of the chosen cards, which looks for cards when OTs are to be made, or now
    /// if one is named. Calls `tell` when it uses them, and once for a reason why it does not.
    ///
    /// # Errors
    ///
    /// The card that is named cannot be used.
    pub fn device(
        self,
        tell: impl Fn(&Notice) + Send + Sync + 'static,
    ) -> Result<Option<Arc<dyn Device>>, Error> {
        let cards = match self {
            Self::Never => return Ok(None),
            Self::Auto => OnceLock::new(),
            Self::Number(number) => {
                let cards = compiled(vec![Card::open(number)?])?;
                tell(&Notice::Used(names(&cards)));
                OnceLock::from(cards)
            }
        };
        Ok(Some(Arc::new(Cards {
            is_named: self != Self::Auto,
            cards,
            next: AtomicUsize::new(0),
            is_told: AtomicBool::new(false),
            tell: Box::new(tell),
        })))
    }
}

/// The cards of this machine that are used. Each half goes to the next one in turn.
struct Cards {
    is_named: bool,
    /// Empty if none can be used.
    cards: OnceLock<Vec<Card>>,
    next: AtomicUsize,
    /// Whether a reason was told why threads make OTs.
    is_told: AtomicBool,
    tell: Box<dyn Fn(&Notice) + Send + Sync>,
}

/// Compiles the kernels for all cards, which takes a second the first time.
fn compiled(cards: Vec<Card>) -> Result<Vec<Card>, Error> {
    cards.iter().try_for_each(Card::compile)?;
    Ok(cards)
}

/// Returns a card for each direction of a session, or the only one, if there are any.
fn first() -> Result<Vec<Card>, Error> {
    let count = match Card::count() {
        Err(Error::NoDriver) => 0,
        count => count?,
    };
    let cards = (0..count.min(DIRECTIONS)).map(Card::open);
    compiled(cards.collect::<Result<_, _>>()?)
}

fn names(cards: &[Card]) -> String {
    let names: Vec<_> = cards.iter().map(ToString::to_string).collect();
    names.join(", ")
}

impl Cards {
    fn cards(&self) -> &[Card] {
        self.cards.get_or_init(|| {
            let cards = first().unwrap_or_else(|error| {
                self.refuse(error);
                Vec::new()
            });
            if !cards.is_empty() {
                (self.tell)(&Notice::Used(names(&cards)));
            }
            cards
        })
    }

    fn refuse(&self, error: Error) {
        if !self.is_told.swap(true, Ordering::Relaxed) {
            (self.tell)(&Notice::NotUsed(error));
        }
    }
}

impl Device for Cards {
    fn is_for(&self, ots: u64) -> bool {
        (self.is_named || ots >= WORTH_OTS) && !self.cards().is_empty()
    }

    fn take_over(&self, half: HalfStart<'_>) -> Result<Box<dyn DeviceHalf>, DeviceError> {
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        let cards = self.cards();
        let card = cards.get(turn % cards.len().max(1));
        // Without a card it is for no session.
        let card = card.ok_or(DeviceError::OutOfMemory {
            needed_bytes: 0,
            free_bytes: 0,
        })?;
        card.take_over(half).inspect_err(|error| {
            if let DeviceError::OutOfMemory { .. } = error {
                self.refuse(Error::OutOfMemory {
                    card: card.to_string(),
                    reason: *error,
                });
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_read() {
        for (text, choice) in [
            ("never", Choice::Never),
            ("auto", Choice::Auto),
            ("3", Choice::Number(3)),
        ] {
            assert_eq!(text.parse(), Ok(choice));
            assert_eq!(choice.to_string(), text);
        }
        for wrong in ["", "-1", "all", "1.5"] {
            assert_eq!(wrong.parse::<Choice>(), Err(NotAChoice), "{wrong}");
        }
    }

    #[test]
    fn few_ots_and_a_card_that_is_not_there_take_no_card() {
        let tell = |_: &Notice| ();
        assert!(matches!(Choice::Never.device(tell), Ok(None)));
        assert!(Choice::Number(usize::MAX).device(tell).is_err());
        let few = |_: &Notice| panic!("no card is looked for");
        let device = Choice::Auto.device(few).unwrap().unwrap();
        assert!(!device.is_for(WORTH_OTS - 1));
    }
}
