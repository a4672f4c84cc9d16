//! Flow control: bytes on their way to a page would otherwise pile up there.
//!
//! A browser accepts bytes on a WebSocket as fast as they arrive, and cannot hold them back. So
//! each side counts: it sends at most [`WINDOW`] bytes of binary messages beyond those that the
//! other side has reported as taken. The reports are text messages, each with the number of bytes
//! taken since the last report, as a decimal number. The page's half of this is in
//! `crates/web/js/post.js`.

/// The bytes that may be on their way, or wait at the other side to be read.
pub(crate) const WINDOW: usize = 4 << 20;

/// The number of bytes that are taken before the other side gets a report.
const STEP: usize = 256 << 10;

/// The digits of the largest number in a report.
const MAX_DIGITS: usize = 7;
const _: () = assert!(WINDOW < 10_usize.pow(MAX_DIGITS as u32));

/// The counts of one side.
#[derive(Debug)]
pub(crate) struct Credit {
    /// The bytes that this side may still send.
    to_send: usize,
    /// The bytes that the other side may still send.
    to_receive: usize,
    /// The bytes that were taken and not reported yet.
    untold: usize,
}

impl Credit {
    pub(crate) fn new() -> Self {
        Self {
            to_send: WINDOW,
            to_receive: WINDOW,
            untold: 0,
        }
    }

    /// Returns the bytes that may be sent now.
    pub(crate) fn to_send(&self) -> usize {
        self.to_send
    }

    pub(crate) fn sent(&mut self, count: usize) {
        debug_assert!(count <= self.to_send, "nothing is sent beyond the window");
        self.to_send -= count;
    }

    /// Reads the other side's report of taken bytes.
    pub(crate) fn granted(&mut self, text: &str) -> Result<(), &'static str> {
        let is_number = (1..=MAX_DIGITS).contains(&text.len());
        let is_number = is_number && text.bytes().all(|byte| byte.is_ascii_digit());
        let count: usize = match text.parse() {
            Ok(count @ 1..) if is_number => count,
            _ => return Err("a message of text that is no number of bytes"),
        };
        if count > WINDOW - self.to_send {
            return Err("the peer says that it took more than was sent to it");
        }
        self.to_send += count;
        Ok(())
    }

    /// Counts received bytes.
    pub(crate) fn received(&mut self, count: usize) -> Result<(), &'static str> {
        let left = self.to_receive.checked_sub(count);
        self.to_receive = left.ok_or("the peer sent more than this side had room for")?;
        Ok(())
    }

    /// Counts received bytes that were taken.
    pub(crate) fn taken(&mut self, count: usize) {
        self.untold += count;
    }

    /// Returns the number of bytes to report to the other side, if it is time to.
    pub(crate) fn take_untold(&mut self) -> Option<usize> {
        if self.untold < STEP {
            return None;
        }
        self.to_receive += self.untold;
        Some(std::mem::take(&mut self.untold))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_is_what_the_other_side_has_room_for() {
        let (mut here, mut there) = (Credit::new(), Credit::new());
        here.sent(WINDOW);
        assert_eq!(here.to_send(), 0);
        there.received(WINDOW).unwrap();
        assert!(there.received(1).is_err());
        there.taken(STEP - 1);
        assert_eq!(there.take_untold(), None);
        there.taken(1);
        let told = there.take_untold().unwrap();
        assert_eq!((told, there.take_untold()), (STEP, None));
        here.granted(&told.to_string()).unwrap();
        assert_eq!(here.to_send(), STEP);
        there.received(STEP).unwrap();
        assert!(there.received(1).is_err());
    }

    #[test]
    fn a_grant_is_a_number_of_bytes_that_were_sent() {
        let mut credit = Credit::new();
        credit.sent(100);
        for text in [
            "", "0", "-1", "+1", " 1", "1.0", "101", "00000001", "99999999",
        ] {
            assert!(credit.granted(text).is_err(), "{text:?}");
        }
        credit.granted("60").unwrap();
        credit.granted("40").unwrap();
        assert!(credit.granted("1").is_err());
        assert_eq!(credit.to_send(), WINDOW);
    }
}
