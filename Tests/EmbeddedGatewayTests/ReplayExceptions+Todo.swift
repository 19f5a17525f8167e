extension ReplayExceptions {
    /// The database `todo` of Sync Gateway 4.1.1. Its sync function routes documents, grants channels and refuses
    /// writes.
    static let todo = ReplayExceptions(
        reasons: Dictionary(
            uniqueKeysWithValues: (ruled + probes).map { ($0, "the sync function decides what is seen") }))

    private static let probes = ["(last_seq probe)"] + (2...9).map { "(last_seq probe) #\($0)" }

    private static let ruled = [
        "DELETE no rev", "GET deleted", "GET deleted open_revs", "GET deleted rev", "POST bychannel", "POST changes",
        "POST changes since string", "POST doc_ids", "POST since compound string", "all_docs",
        "all_docs include_docs keys", "bulk_get Accept multipart + gzip parts", "bulk_get multipart", "bychannel",
        "bychannel two", "changes active_only since 0 limit", "changes after recreate", "changes descending",
        "changes include_docs", "changes limit", "changes limit 0", "changes limit bad", "changes mod",
        "changes since int mid", "changes user1", "changes with a tombstone",
        "changes with a tombstone include_docs", "continuous POST", "continuous timeout=2000", "doc_ids", "get doc",
        "get open_revs", "get open_revs all", "get open_revs json", "get t1", "include_docs _user entry",
        "limit cuts in the backfill", "local not in changes", "longpoll data already there", "longpoll gzip",
        "longpoll two docs in one bulk", "longpoll user2 while admin changes admin_channels",
        "longpoll user2 while invited to user1.L1", "longpoll wakes on a doc", "make user1 a moderator",
        "moderator doc by non admin (403)", "normal gzip", "put for other owner (403 wrong user)",
        "put task without access (403)", "put without type (403)", "same with revocations=true", "since compound",
        "since compound quoted", "since compound, limit 2", "user1 after role grant", "user2 after invite since 0",
        "user2 after invite since old", "user2 after losing access, revocations=true", "user2 list invite doc",
        "user2 session shows channels", "user2 since before the grant",
        "user2 since before the grant, after it was taken back", "version_type cv",
    ]
}
