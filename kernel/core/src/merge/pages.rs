//! Asking the system for large pages.
//!
//! The arena and the postings are read at random, and with pages of 4 KiB most reads miss the
//! table of translated addresses as well. Large pages take 13 % off the merge loop for 17
//! million slots and 8 % for 4 million.

/// Suggests large pages for what lies in `items`; best called before anything is written there.
/// Where there is no such thing, this does nothing.
pub(super) fn prefer_large<T>(items: &mut [T]) {
    #[cfg(target_os = "linux")]
    {
        use std::ffi::{c_int, c_void};

        extern "C" {
            /// madvise(2).
            fn madvise(start: *mut c_void, length: usize, advice: c_int) -> c_int;
        }
        const MADV_HUGEPAGE: c_int = 14;
        /// At least the page size anywhere; the start must be a multiple of it.
        const PAGE: usize = 1 << 16;

        let start = items.as_mut_ptr().cast::<u8>();
        let skip = start.align_offset(PAGE);
        let length = size_of_val(items);
        if skip < length {
            // SAFETY: the range lies within `items`, and this advice changes how memory is
            // mapped, never what it holds. Refusal is harmless, so the result is not looked at.
            unsafe {
                madvise(
                    start.wrapping_add(skip).cast(),
                    length - skip,
                    MADV_HUGEPAGE,
                )
            };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = items;
}
