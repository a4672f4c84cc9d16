//! Arrays of one type.

use core::ops::Index;

use super::{Bus, Handle};
use crate::{Kind, Type};

/// At least one value, all of one type.
#[derive(Clone, Debug)]
pub struct Array<H> {
    items: Vec<H>,
}

impl<H> Array<H> {
    /// Creates an array of `items`.
    ///
    /// # Panics
    ///
    /// If `items` is empty or the types of its values differ.
    pub fn new<'b>(items: Vec<H>) -> Self
    where
        H: Handle<'b>,
    {
        let first = items.first().expect("an array has at least one value").ty();
        assert!(
            items.iter().all(|item| item.ty() == first),
            "types of an array's values"
        );
        Self { items }
    }

    /// Returns the number of values.
    #[expect(clippy::len_without_is_empty, reason = "an array is never empty")]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Iterates over the values, in order.
    pub fn iter(&self) -> core::slice::Iter<'_, H> {
        self.items.iter()
    }
}

impl<H> Index<usize> for Array<H> {
    type Output = H;

    fn index(&self, index: usize) -> &H {
        &self.items[index]
    }
}

impl<'a, H> IntoIterator for &'a Array<H> {
    type Item = &'a H;
    type IntoIter = core::slice::Iter<'a, H>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}

impl<'b, H: Handle<'b>> Handle<'b> for Array<H> {
    fn ty(&self) -> Type {
        self.items[0].ty().array(self.len())
    }

    fn to_bus(&self) -> Bus<'b> {
        let buses: Vec<Bus<'b>> = self.items.iter().map(H::to_bus).collect();
        Bus::from_bits(buses[0].builder(), buses.iter().flat_map(Bus::bits))
    }

    fn from_bus(ty: &Type, bus: Bus<'b>) -> Option<Self> {
        let Kind::Array(of, _) = ty.kind() else {
            return None;
        };
        if ty.width() != bus.width() {
            return None;
        }
        let starts = (0..bus.width()).step_by(of.width());
        let items = starts.map(|start| H::from_bus(of, bus.slice(start..start + of.width())));
        Some(Self {
            items: items.collect::<Option<_>>()?,
        })
    }
}
