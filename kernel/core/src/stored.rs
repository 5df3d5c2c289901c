//! Ids as files of tokens have them: little-endian, of two or four bytes, and where documents end.

/// Bytes of an id as it comes.
const ID: usize = size_of::<u32>();

/// Ids that are looked through together for separators.
const STRETCH: usize = 64;

/// Bytes of an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// Two, for ids below 65,536.
    Two,
    /// Four.
    Four,
}

/// Why ids cannot be stored.
#[derive(Debug, PartialEq, Eq)]
pub enum StoredError {
    /// This id needs more bytes.
    Wide(u32),
    /// Ends that descend, or lie behind the last id.
    Ends,
}

/// Ids that are ready to be written.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// The ids, separators included.
    pub bytes: Vec<u8>,
    /// For each document that ends the number of ids up to its end.
    pub ends: Vec<u64>,
}

impl Stored {
    fn push(&mut self, ids: &[u8], width: Width) -> Result<(), StoredError> {
        let each = ids
            .chunks_exact(ID)
            .map(|id| u32::from_ne_bytes([id[0], id[1], id[2], id[3]]));
        let start = self.bytes.len();
        // Room first, then plain loops: these are made into vectors' work, `extend` is not.
        match width {
            Width::Four => {
                self.bytes.resize(start + each.len() * 4, 0);
                for (place, id) in self.bytes[start..].chunks_exact_mut(4).zip(each) {
                    place.copy_from_slice(&id.to_le_bytes());
                }
            }
            Width::Two => {
                self.bytes.resize(start + each.len() * 2, 0);
                let mut all = 0;
                for (place, id) in self.bytes[start..].chunks_exact_mut(2).zip(each.clone()) {
                    all |= id;
                    #[allow(clippy::cast_possible_truncation, reason = "looked at below")]
                    place.copy_from_slice(&(id as u16).to_le_bytes());
                }
                if all >> 16 != 0 {
                    let first = each.clone().find(|id| id >> 16 != 0);
                    return Err(StoredError::Wide(first.unwrap_or_default()));
                }
            }
        }
        Ok(())
    }
}

/// Whole documents, each followed by `separator`, if there is one.
///
/// # Errors
/// An id or `separator` is too wide; `ends` make no sense.
///
/// # Arguments
/// * `ids` - native integers of 32 bits.
/// * `ends` - for each document the number of ids up to its end: native integers of 64 bits.
pub fn documents(
    ids: &[u8],
    ends: &[u8],
    width: Width,
    separator: Option<u32>,
) -> Result<Stored, StoredError> {
    let count = ends.len() / size_of::<u64>();
    let size = match width {
        Width::Two => 2,
        Width::Four => 4,
    };
    let mut found = Stored {
        bytes: Vec::with_capacity((ids.len() / size_of::<u32>() + count) * size),
        ends: Vec::with_capacity(count),
    };
    let mut start = 0;
    for end in ends.chunks_exact(size_of::<u64>()) {
        let end: [u8; 8] = end.try_into().map_err(|_| StoredError::Ends)?;
        let end = usize::try_from(u64::from_ne_bytes(end)).map_err(|_| StoredError::Ends)?;
        let last = end.checked_mul(size_of::<u32>()).ok_or(StoredError::Ends)?;
        found.push(ids.get(start..last).ok_or(StoredError::Ends)?, width)?;
        if let Some(separator) = separator {
            found.push(&separator.to_ne_bytes(), width)?;
        }
        found.ends.push((found.bytes.len() / size) as u64);
        start = last;
    }
    Ok(found)
}

/// A text, in which each `separator` ends a document.
///
/// # Errors
/// An id is too wide.
///
/// # Arguments
/// * `ids` - native integers of 32 bits.
pub fn text(ids: &[u8], width: Width, separator: Option<u32>) -> Result<Stored, StoredError> {
    let mut found = Stored::default();
    found.push(ids, width)?;
    if let Some(separator) = separator {
        let mark = separator.to_ne_bytes();
        for (part, first) in ids.chunks(STRETCH * ID).zip((1..).step_by(STRETCH)) {
            let each = part.chunks_exact(ID).map(|id| id == mark);
            // Few have one: whether a stretch does is found without a branch for each id.
            if each.clone().fold(false, |any, is| any | is) {
                let places = each.zip(first..).filter(|(is, _)| *is);
                found.ends.extend(places.map(|(_, end)| end));
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(each: &[u32]) -> Vec<u8> {
        each.iter().flat_map(|id| id.to_ne_bytes()).collect()
    }

    fn ends(each: &[u64]) -> Vec<u8> {
        each.iter().flat_map(|end| end.to_ne_bytes()).collect()
    }

    fn stored(bytes: &[u8], ends: &[u64]) -> Stored {
        Stored {
            bytes: bytes.to_vec(),
            ends: ends.to_vec(),
        }
    }

    #[test]
    fn documents_are_followed_by_separators() {
        let found = documents(&ids(&[1, 258, 3]), &ends(&[2, 2, 3]), Width::Two, Some(9));
        let bytes = [1, 0, 2, 1, 9, 0, 9, 0, 3, 0, 9, 0];
        assert_eq!(found, Ok(stored(&bytes, &[3, 4, 6])));
        let found = documents(&ids(&[1, 258]), &ends(&[2]), Width::Four, None);
        assert_eq!(found, Ok(stored(&[1, 0, 0, 0, 2, 1, 0, 0], &[2])));
    }

    #[test]
    fn a_text_ends_documents_with_separators() {
        let found = text(&ids(&[9, 1, 9, 2]), Width::Two, Some(9));
        assert_eq!(found, Ok(stored(&[9, 0, 1, 0, 9, 0, 2, 0], &[1, 3])));
        assert_eq!(text(&ids(&[9]), Width::Two, None), Ok(stored(&[9, 0], &[])));
        assert_eq!(text(&[], Width::Two, Some(0)), Ok(stored(&[], &[])));
        let mut long = [0; 3 * STRETCH];
        for at in [0, STRETCH - 1, STRETCH, 3 * STRETCH - 1] {
            long[at] = 9;
        }
        let last = STRETCH as u64;
        let found = text(&ids(&long), Width::Four, Some(9)).map(|found| found.ends);
        assert_eq!(found, Ok(vec![1, last, last + 1, 3 * last]));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let wide = Err(StoredError::Wide(65_536));
        assert_eq!(text(&ids(&[1, 65_536]), Width::Two, None), wide);
        assert_eq!(documents(&[], &ends(&[0]), Width::Two, Some(65_536)), wide);
        for odd in [&[2, 1][..], &[4], &[u64::MAX]] {
            let found = documents(&ids(&[1, 2, 3]), &ends(odd), Width::Two, None);
            assert_eq!(found, Err(StoredError::Ends));
        }
    }
}
