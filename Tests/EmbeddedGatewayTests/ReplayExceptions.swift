/// Recorded exchanges of the database `open` that the embedded gateway does not repeat, each with the reason.
enum ReplayExceptions {
    /// Sequences that the real gateway used in exchanges that are not repeated, by the exchange's name: they are passed
    /// over, so that later sequences are the recorded ones.
    static let sequences: [String: Int] = [
        "admin PUT user ra in open": 6,  // its own is the last; the others were reserved and never used
        "short password": 8,  // users made, disabled and deleted in the exchanges before
        "PUT multipart/related, follows with digest": 1,
        "gzip PUT": 1,
        "gzip _bulk_docs": 2,
    ]

    /// By the exchange's name.
    static let reasons: [String: String] = [
        "db info open guest": "instance_start_time is another",
        "get att doc attachments=true": "multipart answers are not there: JSON",
        "get att meta": "the key of the content is the real gateway's own",
        "get gz att": "the content was unpacked when it was recorded",
        "get gz att accept": "the content was unpacked when it was recorded",
        "get att png": "the content that was sent is recorded in base64",
        "get multipart result": "the document was sent as multipart",
    ]

    /// Features that are not there; exchanges whose path or head has the mark are not repeated.
    static let absent: [(mark: String, reason: String)] = [
        ("_bulk_get", "multipart answers"), ("multipart/", "multipart bodies"),
        ("Content-Encoding", "compressed bodies"),
    ]

    /// From here on bodies were cut when they were recorded, and the database goes offline.
    static let end = "doc of 1 MiB"
}
