//! Documents, by one thread or several.

use std::mem::take;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use super::batch::{Batch, Ids, List, Number};
use super::gathered::{Encoded, Gathered, Part};
use super::{Encoder, Special};
use crate::count::{decode, Blocks, CountError, Errors, TICK};
use crate::scan::{scan, Sink};

/// Bytes of text that a thread takes at once: a millisecond or two, and few enough for their ids
/// to be in its cache.
const SHARE: usize = 1 << 19;

/// Bytes of text that are worth a thread's cache of pre-tokens.
const LEAST: usize = 1 << 21;

/// What is wanted of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Its ids.
    Ids,
    /// How many there are.
    Number,
}

/// How to encode documents.
#[derive(Clone, Copy, Debug)]
pub struct Options<'o> {
    /// The special tokens that are looked for.
    pub special: &'o Special,
    /// What to do with bytes that are not UTF-8.
    pub errors: Errors,
    /// Whether ids are kept.
    pub output: Output,
    /// How many threads may work; 0 is 1.
    pub threads: usize,
}

/// Room for the ids of nearly any text of so many bytes: what is not used takes no memory, and to
/// make more took a quarter of the time on code.
fn room_for(bytes: usize) -> usize {
    bytes / 2
}

/// Document `i` is `data[offsets[i]..offsets[i + 1]]`.
#[derive(Clone, Copy)]
pub(super) struct Documents<'d> {
    pub(super) data: &'d [u8],
    pub(super) offsets: &'d [usize],
}

/// What one thread encodes in one go.
struct Share {
    /// Those that end in it.
    documents: Range<usize>,
    /// From a document's begin, or a cut in one, to another such place.
    bytes: Range<usize>,
}

type Tick<'t> = &'t mut dyn FnMut(usize) -> ControlFlow<()>;

impl Documents<'_> {
    pub(super) fn encode(
        self,
        encoder: &Encoder,
        options: &Options<'_>,
        tick: Tick<'_>,
    ) -> Result<Encoded, CountError> {
        let [first, .., last] = *self.offsets else {
            return Ok(Encoded::default());
        };
        if options.threads < 2 || last - first < LEAST {
            let all = Share {
                documents: 0..self.offsets.len() - 1,
                bytes: first..last,
            };
            let mut part = self.encode_share(&all, encoder, options, Vec::new(), tick)?;
            let ids = take(&mut part.ids);
            return Ok(Encoded::of(vec![part], ids));
        }
        let shares = self.shares(options.special);
        self.encode_shares(&shares, encoder, options, tick)
    }

    /// How many bytes they have.
    fn bytes(self) -> usize {
        self.offsets.last().map_or(0, |end| end - self.offsets[0])
    }

    /// Divides the documents into shares of about as many bytes; long documents too, where the
    /// rule allows a cut.
    fn shares(self, special: &Special) -> Vec<Share> {
        let last = self.offsets.len() - 1;
        let mut shares = Vec::new();
        let (mut from, mut first) = (self.offsets[0], 0);
        let mut share = |documents: Range<usize>, to: usize, from: &mut usize| {
            let bytes = *from..to;
            shares.push(Share { documents, bytes });
            *from = to;
        };
        for document in 0..last {
            let (start, end) = (self.offsets[document], self.offsets[document + 1]);
            while end - from > 2 * SHARE {
                let text = &self.data[start..end];
                let at = from.max(start) - start + SHARE;
                let Some(cut) = special.cutter.first(text, at, text.len()) else {
                    break;
                };
                share(first..document, start + cut, &mut from);
                first = document;
            }
            if end - from >= SHARE {
                share(first..document + 1, end, &mut from);
                first = document + 1;
            }
        }
        share(first..last, self.offsets[last], &mut from);
        shares
    }

    /// Encodes shares in threads, of which this is one.
    fn encode_shares(
        self,
        shares: &[Share],
        encoder: &Encoder,
        options: &Options<'_>,
        tick: Tick<'_>,
    ) -> Result<Encoded, CountError> {
        let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        let (done, started) = (AtomicUsize::new(0), self.offsets[0]);
        let work = |gathered: &Gathered<'_>, tick: Tick<'_>| {
            let mut memory = Vec::new();
            while !stop.load(Ordering::Relaxed) {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(share) = shares.get(at) else { break };
                let result = self.encode_share(share, encoder, options, memory, tick);
                // Shares before this one were begun before it, and go on to their ends: so the
                // first error of all is brought.
                stop.fetch_or(result.is_err(), Ordering::Relaxed);
                done.fetch_add(share.bytes.len(), Ordering::Relaxed);
                memory = gathered.bring(at, result);
            }
        };
        let room = match options.output {
            Output::Ids => room_for(self.bytes()),
            Output::Number => 0,
        };
        let threads = options.threads.min(shares.len());
        Gathered::all(shares.len(), room, |gathered| {
            thread::scope(|scope| {
                for _ in 1..threads {
                    scope.spawn(|| work(gathered, &mut |_| ControlFlow::Continue(())));
                }
                work(gathered, &mut |_| {
                    tick(started + done.load(Ordering::Relaxed))
                });
            });
        })
    }

    /// Encodes a share; the ids are in the memory that is given.
    fn encode_share(
        self,
        share: &Share,
        encoder: &Encoder,
        options: &Options<'_>,
        memory: Vec<u32>,
        tick: Tick<'_>,
    ) -> Result<Part, CountError> {
        match options.output {
            Output::Ids => {
                let list = List::new(memory, room_for(share.bytes.len()));
                let (list, part) = self.write(share, encoder, options, list, tick)?;
                Ok(Part {
                    ids: list.ids,
                    ..part
                })
            }
            Output::Number => {
                let number = Number::default();
                Ok(self.write(share, encoder, options, number, tick)?.1)
            }
        }
    }

    /// Encodes a share into `ids`; what is returned beside has none.
    fn write<I: Ids>(
        self,
        share: &Share,
        encoder: &Encoder,
        options: &Options<'_>,
        ids: I,
        tick: Tick<'_>,
    ) -> Result<(I, Part), CountError> {
        encoder.at_desk(self.bytes() / options.threads.max(1), |desk| {
            let mut writer = Writer {
                encoder,
                options,
                batch: Batch::new(&encoder.vocabulary, desk, ids),
                told: share.bytes.start,
                replaced: 0,
                tick,
            };
            let mut part = Part::default();
            part.ends.reserve(share.documents.len());
            let mut from = share.bytes.start;
            for document in share.documents.clone() {
                let end = self.offsets[document + 1];
                writer.text(&self.data[from..end], from)?;
                part.ends.push(writer.batch.ids.taken());
                from = end;
            }
            writer.text(&self.data[from..share.bytes.end], from)?;
            part.total = writer.batch.ids.taken();
            part.replaced = writer.replaced;
            Ok((writer.batch.ids, part))
        })
    }
}

/// Encodes texts one after the other, and tells how far it is.
struct Writer<'w, I> {
    encoder: &'w Encoder,
    options: &'w Options<'w>,
    batch: Batch<'w, I>,
    told: usize,
    replaced: u64,
    tick: Tick<'w>,
}

impl<I: Ids> Writer<'_, I> {
    /// Encodes a text that starts at the offset `at`.
    fn text(&mut self, text: &[u8], at: usize) -> Result<(), CountError> {
        let mut start = 0;
        while let Some((end, next, id)) = self.options.special.find(text, start) {
            self.piece(&text[start..end], at + start)?;
            self.batch.ids.many(&[id]);
            start = next;
        }
        self.piece(&text[start..], at + start)
    }

    /// Encodes what lies between special tokens.
    fn piece(&mut self, piece: &[u8], at: usize) -> Result<(), CountError> {
        let Some(pattern) = self.encoder.pattern else {
            if !piece.is_empty() {
                self.batch.pretoken(piece, 0, piece.len());
                self.batch.flush(piece);
            }
            return self.tell(at + piece.len());
        };
        for (offset, block) in Blocks::new(piece, pattern) {
            let (text, replaced) = decode(block, at + offset, self.options.errors)?;
            self.replaced += replaced;
            scan(pattern, &text, &mut self.batch);
            self.batch.flush(text.as_bytes());
            self.tell(at + offset + block.len())?;
        }
        Ok(())
    }

    /// Calls the tick where enough was done since it was called.
    fn tell(&mut self, done: usize) -> Result<(), CountError> {
        if done - self.told < TICK {
            return Ok(());
        }
        self.told = done;
        match (self.tick)(done) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(CountError::Cancelled),
        }
    }
}
