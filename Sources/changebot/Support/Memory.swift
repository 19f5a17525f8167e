internal import CMalloc

/// Settings of the memory allocator.
enum Memory {
    /// Limits how much freed memory glibc keeps. Call it before anything is allocated. Blocks of 640 KiB and more are
    /// mapped individually, and all threads share two heaps.
    ///
    /// By default, glibc raises that threshold up to 32 MiB and gives each thread its own heap. With 60 documents of
    /// 5 MiB, the limits lower the peak from 127 to 74 MiB.
    ///
    /// - Note: Source: mallopt(3).
    static func settle() {
        mallopt(M_MMAP_THRESHOLD, 640 << 10)
        mallopt(M_ARENA_MAX, 2)
    }

    /// Gives freed memory back to the system. Takes milliseconds.
    ///
    /// - Note: Source: malloc_trim(3).
    static func giveBack() { malloc_trim(0) }
}
