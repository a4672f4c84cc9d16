//! The first table of AES (FIPS 197; Daemen and Rijmen, "The Design of Rijndael", section 4.2):
//! for each byte the column (2s, s, s, 3s), where s is its image in the S-box.

/// Returns the table's words, from the lowest byte on.
pub(super) fn table() -> Vec<u8> {
    let columns = (0..=255).flat_map(|byte| {
        let s = substitute(byte);
        [times(2, s), s, s, times(3, s)]
    });
    columns.collect()
}

/// Returns the product in AES's field.
const fn times(a: u8, b: u8) -> u8 {
    let (mut product, mut power, mut rest) = (0, a, b);
    while rest > 0 {
        if rest & 1 == 1 {
            product ^= power;
        }
        power = power << 1 ^ if power >> 7 == 1 { 0x1b } else { 0 };
        rest >>= 1;
    }
    product
}

/// Returns a byte's image in the S-box: its inverse in the field, under an affine map.
fn substitute(byte: u8) -> u8 {
    // The inverse of x is x^254.
    let inverse = (0..254).fold(1, |power, _| times(power, byte));
    let bits = [0, 1, 2, 3, 4].map(|by| inverse.rotate_left(by));
    bits.iter().fold(0x63, |sum, bits| sum ^ bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_that_of_the_book() {
        // FIPS 197, figure 7: the images of 0x00, 0x01, 0x53 and 0xff.
        for (byte, image) in [(0x00, 0x63), (0x01, 0x7c), (0x53, 0xed), (0xff, 0x16)] {
            assert_eq!(substitute(byte), image);
        }
        assert_eq!(table()[..4], [0xc6, 0x63, 0x63, 0xa5]);
    }
}
