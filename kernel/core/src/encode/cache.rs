//! Pre-tokens whose ids are known already.
//!
//! Text repeats itself: with a cache of whole pre-tokens, one in a hundred of English is merged.
//! A bucket is a cache line with two entries; a key belongs in one of two neighbouring buckets.
//! An entry holds up to three ids itself; more, and the bytes of a long pre-token, lie in arenas.
//!
//! Memory is bounded. The table grows up to [`MOST_BUCKETS`]; from then on what is new takes the
//! place of what is there. Full arenas empty the cache: what is frequent is soon back.

use super::key::{Key, LONGEST};
use super::tokens::Tokens;
use crate::prefetch::{prefer_large, prefetch};

/// Ids in an entry.
pub(super) const INLINE: u32 = 3;

/// Ids that are copied at once, however many of them there are. As many zeros end the arena.
pub(super) const STORED: usize = 16;

/// Bytes of the longest pre-token that is kept.
pub(super) const LONGEST_KEPT: usize = 256;

const FEWEST_BUCKETS: usize = 1 << 10;
/// 32 MiB of buckets.
const MOST_BUCKETS: usize = 1 << 19;
/// 8 MiB of ids.
const MOST_IDS: usize = 1 << 21;
/// 4 MiB of bytes.
const MOST_BYTES: usize = 1 << 22;

/// Of a pre-token; of nothing where the key is that of nothing.
#[derive(Clone, Copy, Default)]
#[repr(C, align(32))]
pub(super) struct Entry {
    key: Key,
    /// The ids, if there are at most [`INLINE`]; else where they begin in the arena, and where the
    /// bytes do.
    pub(super) words: [u32; 3],
    /// How many ids; with [`FAR`], if they are in the arena.
    number: u32,
}

/// Entries whose buckets are fetched meanwhile.
const AHEAD: usize = 16;

const FAR: u32 = 1 << 31;

/// Instead of a number of ids: they are not known yet.
const AWAITED: u32 = 1 << 30;

impl Entry {
    /// How many ids there are if they are all here, more than [`INLINE`] if not.
    #[inline]
    pub(super) fn inline(&self) -> u32 {
        self.number
    }

    /// If its ids are not known yet: the number that was given for them.
    pub(super) fn awaited(&self) -> Option<usize> {
        (self.number == AWAITED).then_some(self.words[0] as usize)
    }

    /// Its ids with one more word, which is not.
    #[inline]
    pub(super) fn four(&self) -> [u32; 4] {
        let [a, b, c] = self.words;
        [a, b, c, 0]
    }
}

#[derive(Clone, Copy, Default)]
#[repr(C, align(64))]
struct Bucket([Entry; 2]);

/// See the module.
pub(super) struct Cache {
    buckets: Vec<Bucket>,
    /// Brings a hash down to a bucket.
    shift: u32,
    used: usize,
    /// Which of two entries goes next.
    turn: usize,
    ids: Vec<u32>,
    bytes: Vec<u8>,
}

impl Cache {
    /// A cache that begins with tokens, all that are their own keys, for a text of so many bytes.
    pub(super) fn new(tokens: &Tokens, text: usize) -> Self {
        let most = tokens.len() + different(text);
        let number = (most / 5 * 4).next_power_of_two();
        let (buckets, shift) = vacant(number.clamp(FEWEST_BUCKETS, most_buckets(tokens)));
        let mut cache = Self {
            buckets,
            shift,
            used: 0,
            turn: 0,
            ids: Vec::new(),
            bytes: Vec::new(),
        };
        cache.fill(tokens);
        cache
    }

    /// Whether a pre-token that is not there is no token.
    pub(super) fn tells(pretoken: &[u8]) -> bool {
        pretoken.len() <= LONGEST
    }

    /// The first bucket of a key; it is fetched meanwhile.
    #[inline]
    pub(super) fn fetch(&self, key: Key) -> u32 {
        let home = self.home(key);
        prefetch(&self.buckets, home);
        #[allow(clippy::cast_possible_truncation, reason = "buckets are far fewer")]
        {
            home as u32
        }
    }

    /// The entry of a key, if it is in this bucket, its first one: most are.
    #[inline]
    pub(super) fn near(&self, home: u32, key: Key) -> Option<&Entry> {
        find(&self.buckets[home as usize], key)
    }

    /// The entry of a key, wherever it is; it is moved into its first bucket: what is asked for
    /// often is soon found at once.
    pub(super) fn find(&mut self, key: Key) -> Option<Entry> {
        let (home, at) = (self.home(key), self.walk(key));
        let entry = *find(&self.buckets[at], key)?;
        if at != home {
            // All buckets between are full, so what goes the other way is found there, too.
            self.turn ^= 1;
            let place = usize::from(self.buckets[at].0[0].key != key);
            self.buckets[at].0[place] = self.buckets[home].0[self.turn];
            self.buckets[home].0[self.turn] = entry;
        }
        Some(entry)
    }

    /// The bucket where the entry of a key is, or the first one with room for it.
    #[inline]
    fn walk(&self, key: Key) -> usize {
        let mut at = self.home(key);
        loop {
            let bucket = &self.buckets[at];
            if find(bucket, key).is_some() || bucket.0[1].number == 0 {
                return at;
            }
            at = (at + 1) & (self.buckets.len() - 1);
        }
    }

    /// The ids of a pre-token by its entry; `None` if the entry is that of another with its key, or
    /// awaits them.
    pub(super) fn ids<'c>(&'c self, entry: &'c Entry, pretoken: &[u8]) -> Option<&'c [u32]> {
        if entry.number <= INLINE {
            return Some(&entry.words[..entry.number as usize]);
        }
        if entry.number == AWAITED {
            return None;
        }
        let [ids, bytes, _] = entry.words.map(|word| word as usize);
        let (_, short) = entry.key.bytes();
        if short.is_none() && self.bytes.get(bytes..bytes + pretoken.len()) != Some(pretoken) {
            return None;
        }
        self.ids.get(ids..ids + (entry.number ^ FAR) as usize)
    }

    /// The ids that an entry has in the arena, and how many of these there are; `None` if they are
    /// more, or not those of the pre-token.
    #[inline]
    pub(super) fn stored(&self, entry: &Entry, pretoken: &[u8]) -> Option<(&[u32; STORED], u32)> {
        let number = entry.number ^ FAR;
        let [ids, bytes, _] = entry.words.map(|word| word as usize);
        let same = pretoken.len() <= LONGEST
            || self.bytes.get(bytes..bytes + pretoken.len()) == Some(pretoken);
        let ids = self.ids.get(ids..)?.first_chunk()?;
        (same && number as usize <= STORED).then_some((ids, number))
    }

    /// Keeps a place for the ids of a pre-token, which is not there.
    pub(super) fn expect(&mut self, key: Key, which: usize, tokens: &Tokens) {
        #[allow(clippy::cast_possible_truncation, reason = "few are awaited")]
        let words = [which as u32, 0, 0];
        self.put_or_grow(
            Entry {
                key,
                words,
                number: AWAITED,
            },
            tokens,
        );
    }

    /// Keeps the ids of a pre-token of at most [`LONGEST_KEPT`] bytes, which is not there or
    /// awaits them.
    pub(super) fn insert(&mut self, key: Key, pretoken: &[u8], ids: &[u32], tokens: &Tokens) {
        if self.ids.len() + ids.len() > MOST_IDS || self.bytes.len() + pretoken.len() > MOST_BYTES {
            self.clear(tokens);
        }
        let (_, short) = key.bytes();
        let mut entry = Entry {
            key,
            ..Entry::default()
        };
        #[allow(
            clippy::cast_possible_truncation,
            reason = "arenas and pre-tokens are small"
        )]
        if short.is_some() && ids.len() <= INLINE as usize {
            entry.words[..ids.len()].copy_from_slice(ids);
            entry.number = ids.len() as u32;
        } else {
            let start = self.ids.len().saturating_sub(STORED);
            entry.words = [start as u32, self.bytes.len() as u32, 0];
            entry.number = ids.len() as u32 | FAR;
            self.ids.truncate(start);
            self.ids.extend_from_slice(ids);
            self.ids.extend_from_slice(&[0; STORED]);
            if short.is_none() {
                self.bytes.extend_from_slice(pretoken);
            }
        }
        self.put_or_grow(entry, tokens);
    }

    /// Bytes held.
    pub(super) fn memory_bytes(&self) -> usize {
        let buckets = self.buckets.capacity() * size_of::<Bucket>();
        buckets + self.ids.capacity() * size_of::<u32>() + self.bytes.capacity()
    }

    #[inline]
    fn home(&self, key: Key) -> usize {
        #[allow(
            clippy::cast_possible_truncation,
            reason = "less than there are buckets"
        )]
        {
            (key.hash() >> self.shift) as usize
        }
    }

    fn put_or_grow(&mut self, entry: Entry, tokens: &Tokens) {
        if self.used >= most_entries(self.buckets.len()) {
            self.make_room(tokens);
        }
        self.put(entry);
    }

    /// In the place of an entry with its key, or where there is room.
    fn put(&mut self, entry: Entry) {
        let at = self.walk(entry.key);
        let [first, second] = &mut self.buckets[at].0;
        let first_is_it = first.number == 0 || first.key == entry.key;
        let place = if first_is_it { first } else { second };
        self.used += usize::from(place.number == 0);
        *place = entry;
    }

    /// Puts in the tokens that are their own keys.
    fn fill(&mut self, tokens: &Tokens) {
        let entries = tokens.iter().filter(|(token, _)| token.len() <= LONGEST);
        let entries = entries.map(|(token, id)| Entry {
            key: Key::short(token, 0, token.len()),
            words: [id, 0, 0],
            number: 1,
        });
        let mut fetched = [Entry::default(); AHEAD];
        for (at, entry) in entries.enumerate() {
            self.fetch(entry.key);
            let before = std::mem::replace(&mut fetched[at % AHEAD], entry);
            if at >= AHEAD {
                self.put(before);
            }
        }
        for entry in fetched.into_iter().filter(|entry| entry.number != 0) {
            self.put(entry);
        }
    }

    /// Room for one more entry.
    #[cold]
    fn make_room(&mut self, tokens: &Tokens) {
        if self.buckets.len() >= most_buckets(tokens) {
            self.clear(tokens);
            return;
        }
        let (buckets, shift) = vacant(2 * self.buckets.len());
        let old = std::mem::replace(&mut self.buckets, buckets);
        self.shift = shift;
        self.used = 0;
        let entries = old.iter().flat_map(|bucket| &bucket.0);
        for entry in entries.filter(|entry| entry.number != 0) {
            self.put(*entry);
        }
    }

    #[cold]
    fn clear(&mut self, tokens: &Tokens) {
        self.buckets.fill(Bucket::default());
        self.used = 0;
        self.ids.clear();
        self.bytes.clear();
        self.fill(tokens);
    }
}

/// How many entries there may be in so many buckets: 5 of 8.
fn most_entries(buckets: usize) -> usize {
    buckets + buckets / 4
}

/// With them, there is room for as many pre-tokens as there are tokens.
fn most_buckets(tokens: &Tokens) -> usize {
    MOST_BUCKETS.max(2 * tokens.len().next_power_of_two())
}

/// Compared without a branch on which of the two it is: that cannot be foreseen.
#[inline]
fn find(bucket: &Bucket, key: Key) -> Option<&Entry> {
    let Bucket([first, second]) = bucket;
    let (is_first, is_second) = (first.key == key, second.key == key);
    let entry = &bucket.0[usize::from(!is_first)];
    (is_first | is_second).then_some(entry)
}

fn vacant(number: usize) -> (Vec<Bucket>, u32) {
    let mut buckets = Vec::with_capacity(number);
    prefer_large(buckets.spare_capacity_mut());
    buckets.resize(number, Bucket::default());
    (buckets, u64::BITS - number.trailing_zeros())
}

/// About how many different pre-tokens a text of so many bytes has, by Heaps' law: so many had
/// 20 MB of English, and more had other text.
fn different(text: usize) -> usize {
    30 * text.isqrt()
}
