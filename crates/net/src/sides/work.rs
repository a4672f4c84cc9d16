//! The thread of a side stream, which moves frames between its connection and the channel.

use std::io::{self, IoSlice};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::{Direction, FrameBuffer, Sides, StreamDirection};
use crate::channel::{DIRECT_BYTES, FRAME_BYTES};
use crate::meter::WireCounter;
use crate::tls::TlsStream;
use crate::{CancelHandle, Interrupt, NetError, Wait};

/// The silence after which a thread changes to a cheaper wait.
const QUIET: Duration = Duration::from_secs(1);

/// The bytes of the length before a payload.
const LENGTH_BYTES: usize = 4;

/// Starts using an open stream: the `place`th of its direction.
pub(super) fn begin(
    sides: &Arc<Sides>,
    (way, place): (StreamDirection, usize),
    leaves: bool,
    stream: TlsStream,
) -> io::Result<()> {
    let shared = Arc::clone(sides);
    let work = move || {
        let mut worker = Worker {
            direction: shared.way(way),
            stop: &shared.stop,
            place,
            counted: WireCounter::default(),
            stream,
        };
        worker.count(0);
        let ended = if leaves {
            worker.send()
        } else {
            worker.receive()
        };
        match ended {
            Ok(()) | Err(Interrupt::Cancelled) => {}
            Err(failure) => worker.direction.fail(failure),
        }
    };
    let name = "side stream".to_owned();
    thread::Builder::new().name(name).spawn(work)?;
    sides.way(way).open(place);
    Ok(())
}

struct Worker<'s> {
    direction: &'s Direction,
    stop: &'s CancelHandle,
    place: usize,
    counted: WireCounter,
    stream: TlsStream,
}

impl Worker<'_> {
    /// Counts bytes of payloads that have moved.
    fn count(&mut self, moved: usize) {
        let now = *self.stream.transport().counter();
        let sent = now.sent_bytes - self.counted.sent_bytes;
        let received = now.received_bytes - self.counted.received_bytes;
        self.direction.count(moved, sent, received);
        self.counted = now;
    }

    fn send(&mut self) -> Result<(), Interrupt> {
        while let Some(frame) = self.direction.next_to_leave(self.place, self.stop) {
            self.write(&frame)?;
            self.direction.left(self.place, frame);
        }
        Ok(())
    }

    fn write(&mut self, frame: &FrameBuffer) -> Result<(), Interrupt> {
        let wait = Wait::until(self.stop);
        let length: usize = frame.parts().map(<[u8]>::len).sum();
        let length = (length as u32).to_le_bytes();
        let mut parts: Vec<_> = [&length[..]]
            .into_iter()
            .chain(frame.parts())
            .map(IoSlice::new)
            .collect();
        let (mut rest, mut head) = (&mut parts[..], LENGTH_BYTES);
        IoSlice::advance_slices(&mut rest, 0);
        while !rest.is_empty() {
            let taken = self.stream.write(rest, &wait)?;
            IoSlice::advance_slices(&mut rest, taken);
            let of_head = taken.min(head);
            head -= of_head;
            self.count(taken - of_head);
        }
        self.stream.flush(&wait)?;
        self.count(0);
        Ok(())
    }

    fn receive(&mut self) -> Result<(), Interrupt> {
        while let Some(mut frame) = self.direction.room_to_come(self.place, self.stop) {
            let Some(length) = self.read_length()? else {
                self.direction.ended(self.place);
                return Ok(());
            };
            self.read(&mut frame, length)?;
            self.direction.came(self.place, frame);
        }
        Ok(())
    }

    /// Reads the length of the next payload. Returns nothing at the end of the stream. Refuses
    /// small payloads: they belong to the channel's own stream, and here each would take more
    /// memory than its bytes.
    fn read_length(&mut self) -> Result<Option<usize>, Interrupt> {
        let (mut bytes, mut here) = ([0; LENGTH_BYTES], 0);
        while here < LENGTH_BYTES {
            let wait = Wait::at_most(QUIET, self.stop);
            match self.stream.read(&mut bytes[here..], &wait) {
                Ok(0) if here == 0 => return Ok(None),
                Ok(0) => return Err(Interrupt::Io(io::ErrorKind::ConnectionReset.into())),
                Ok(count) => here += count,
                Err(Interrupt::TimedOut) => self.stream.rest(&Wait::until(self.stop))?,
                Err(other) => return Err(other),
            }
        }
        let announced = u32::from_le_bytes(bytes);
        let length = announced as usize;
        if (DIRECT_BYTES..=FRAME_BYTES).contains(&length) {
            return Ok(Some(length));
        }
        let expected = FRAME_BYTES;
        Err(Interrupt::Failed(Box::new(NetError::WrongFrame {
            announced,
            expected,
        })))
    }

    fn read(&mut self, frame: &mut FrameBuffer, length: usize) -> Result<(), Interrupt> {
        let wait = Wait::until(self.stop);
        let mut rest = frame.room(length);
        while !rest.is_empty() {
            let count = self.stream.read(rest, &wait)?;
            if count == 0 {
                return Err(Interrupt::Io(io::ErrorKind::ConnectionReset.into()));
            }
            rest = &mut rest[count..];
            self.count(count);
        }
        Ok(())
    }
}
