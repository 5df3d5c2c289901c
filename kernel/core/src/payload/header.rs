//! The fixed part of a payload.

use xxhash_rust::xxh3::xxh3_64;

use super::cursor::Cursor;
use super::PayloadError;

/// The version of the payload format that is written, and the only one read.
pub const FORMAT_VERSION: u32 = 1;

/// Bytes of a digest.
pub const DIGEST_BYTES: usize = 32;

/// The digest of all that must be equal for counts to be addable; chosen by the caller.
pub type Digest = [u8; DIGEST_BYTES];

const MAGIC: &[u8; 8] = b"bpefleet";

/// Bytes before the body.
pub(super) const HEADER_BYTES: usize = 8 + 4 + 4 + DIGEST_BYTES + 5 * 8;
/// Bytes after the body: the checksum.
pub(super) const TRAILER_BYTES: usize = 8;
/// Where the header has zeros.
pub(super) const PADDING: std::ops::Range<usize> = 12..16;
pub(super) const BELONGS_TO_NOTHING: PayloadError =
    PayloadError::Malformed("bytes that belong to nothing");

/// What a payload says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Info {
    /// The format version.
    pub version: u32,
    /// The caller's digest.
    pub digest: Digest,
    /// The sum of the counts.
    pub pretokens: u64,
    /// Different pre-tokens of 1 to 7 bytes.
    pub short: u64,
    /// Different pre-tokens of 8 to 15 bytes.
    pub mid: u64,
    /// Different longer pre-tokens.
    pub long: u64,
    /// Bytes of the body.
    pub raw_size: u64,
    /// Bytes of all pre-tokens, each as often as it occurs. Known like the following.
    pub text: u64,
    /// The least hashes of its pre-tokens, ascending and up to [`SAMPLE`](super::SAMPLE), from
    /// which one can tell how many different pre-tokens several payloads hold together. `check` and
    /// what folds files into files note them.
    pub least_hashes: Vec<u64>,
}

/// Of a payload without entries.
impl Default for Info {
    fn default() -> Self {
        Self {
            version: FORMAT_VERSION,
            digest: [0; DIGEST_BYTES],
            pretokens: 0,
            short: 0,
            mid: 0,
            long: 0,
            raw_size: 0,
            text: 0,
            least_hashes: Vec::new(),
        }
    }
}

impl Info {
    /// The number of different pre-tokens.
    #[must_use]
    pub fn unique(&self) -> u64 {
        self.short
            .saturating_add(self.mid)
            .saturating_add(self.long)
    }

    /// Refuses another digest.
    pub(super) fn demand(&self, digest: &Digest) -> Result<(), PayloadError> {
        if self.digest == *digest {
            return Ok(());
        }
        let (found, expected) = (self.digest, *digest);
        Err(PayloadError::Digest { found, expected })
    }

    /// Writes the header into the first bytes of `payload` and appends the checksum.
    pub(super) fn write(&self, payload: &mut Vec<u8>) {
        payload[..HEADER_BYTES].copy_from_slice(&self.header());
        let checksum = xxh3_64(payload);
        payload.extend_from_slice(&checksum.to_le_bytes());
    }

    /// The header.
    pub(super) fn header(&self) -> Vec<u8> {
        let mut header = Vec::with_capacity(HEADER_BYTES);
        header.extend_from_slice(MAGIC);
        header.extend_from_slice(&self.version.to_le_bytes());
        header.extend_from_slice(&[0; 4]);
        header.extend_from_slice(&self.digest);
        for number in [
            self.pretokens,
            self.short,
            self.mid,
            self.long,
            self.raw_size,
        ] {
            header.extend_from_slice(&number.to_le_bytes());
        }
        header
    }

    /// Reads the header and checks version, size and checksum.
    pub(super) fn read(payload: &[u8]) -> Result<Self, PayloadError> {
        let truncated = || PayloadError::Truncated {
            size: payload.len(),
        };
        let info = Self::read_header(payload).ok_or_else(truncated)??;
        let (before, checksum) = payload
            .split_last_chunk::<TRAILER_BYTES>()
            .ok_or_else(truncated)?;
        let body = before.len().checked_sub(HEADER_BYTES);
        let body = body.ok_or_else(truncated)? as u64;
        if body < info.raw_size {
            return Err(truncated());
        }
        if u64::from_le_bytes(*checksum) != xxh3_64(before) {
            return Err(PayloadError::Checksum);
        }
        if body > info.raw_size || payload[PADDING] != [0; 4] {
            return Err(BELONGS_TO_NOTHING);
        }
        Ok(info)
    }

    /// Reads the header. `None` when the payload ends before it does.
    pub(super) fn read_header(payload: &[u8]) -> Option<Result<Self, PayloadError>> {
        let mut cursor = Cursor::new(payload);
        if cursor.array::<8>()? != *MAGIC {
            return Some(Err(PayloadError::NotAPayload));
        }
        let version = u32::from_le_bytes(cursor.array()?);
        if version != FORMAT_VERSION {
            return Some(Err(PayloadError::Version { found: version }));
        }
        cursor.array::<4>()?;
        let digest = cursor.array()?;
        let mut number = || cursor.array().map(u64::from_le_bytes);
        Some(Ok(Self {
            version,
            digest,
            pretokens: number()?,
            short: number()?,
            mid: number()?,
            long: number()?,
            raw_size: number()?,
            text: 0,
            least_hashes: Vec::new(),
        }))
    }
}
