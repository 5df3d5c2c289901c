//! Where documents lie in a buffer, in Arrow's layout: document `i` is
//! `data[offsets[i]..offsets[i + 1]]`.

use std::fmt;

/// Offsets that cannot be those of documents. See [`offsets`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffsetsError {
    /// They have neither 4 nor 8 bytes each.
    Width(usize),
    /// They are not a whole number of integers.
    Length {
        /// Bytes of all.
        bytes: usize,
        /// Bytes of each.
        width: usize,
    },
    /// One is less than the one before, or than 0.
    Descending {
        /// Which.
        index: usize,
        /// Its value.
        offset: i64,
    },
    /// The last lies outside the data.
    Outside {
        /// Its value.
        offset: usize,
        /// Bytes of the data.
        data: usize,
    },
}

impl fmt::Display for OffsetsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Width(width) => write!(f, "an offset has 4 or 8 bytes, not {width}"),
            Self::Length { bytes, width } => {
                write!(f, "{bytes} bytes are no offsets of {width} bytes each")
            }
            Self::Descending { index, offset } => {
                write!(f, "offset {index} is {offset}, less than what is before it")
            }
            Self::Outside { offset, data } => {
                write!(
                    f,
                    "the last offset is {offset}, but the data has {data} bytes"
                )
            }
        }
    }
}

impl std::error::Error for OffsetsError {}

/// Reads native signed integers of `width` bytes, 4 or 8, that ascend from 0 or more to at most
/// `end`. None at all are fine: Arrow allows them for no documents.
///
/// # Errors
/// [`OffsetsError`] for any others.
///
/// ```
/// use bpefleet_core::offsets::{offsets, OffsetsError};
///
/// let bytes = [[2_i32, 5, 5].map(i32::to_ne_bytes)].concat().concat();
/// assert_eq!(offsets(&bytes, 4, 5), Ok(vec![2, 5, 5]));
/// assert_eq!(offsets(&bytes, 4, 4), Err(OffsetsError::Outside { offset: 5, data: 4 }));
/// assert!(offsets(&bytes, 8, 5).is_err());
/// ```
pub fn offsets(bytes: &[u8], width: usize, end: usize) -> Result<Vec<usize>, OffsetsError> {
    let offsets = match width {
        4 => ascending(bytes, |bytes| i32::from_ne_bytes(bytes).into()),
        8 => ascending(bytes, i64::from_ne_bytes),
        _ => Err(OffsetsError::Width(width)),
    }?;
    match offsets.last() {
        Some(&offset) if offset > end => Err(OffsetsError::Outside { offset, data: end }),
        _ => Ok(offsets),
    }
}

fn ascending<const WIDTH: usize>(
    bytes: &[u8],
    read: impl Fn([u8; WIDTH]) -> i64,
) -> Result<Vec<usize>, OffsetsError> {
    if bytes.len() % WIDTH != 0 {
        let (bytes, width) = (bytes.len(), WIDTH);
        return Err(OffsetsError::Length { bytes, width });
    }
    let mut before = 0;
    let mut next = |(index, bytes): (usize, &[u8])| {
        let mut word = [0; WIDTH];
        word.copy_from_slice(bytes);
        let offset = read(word);
        match usize::try_from(offset) {
            Ok(place) if place >= before => {
                before = place;
                Ok(place)
            }
            _ => Err(OffsetsError::Descending { index, offset }),
        }
    };
    let words = bytes.chunks_exact(WIDTH).enumerate();
    words.map(&mut next).collect()
}
