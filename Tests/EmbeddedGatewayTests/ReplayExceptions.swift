/// What of a recording the embedded gateway does not repeat, with the reasons.
struct ReplayExceptions {
    /// By the exchange's name.
    var reasons: [String: String]
    /// Sequences that the real gateway used in exchanges that are not repeated, by the name of the next exchange that is:
    /// they are passed over, so that later sequences are the recorded ones.
    var sequences: [String: Int] = [:]
    /// The first exchange of those at the end that are not repeated: the bodies before were cut when they were recorded.
    var end: String?

    /// Exchanges whose body was recorded in base64.
    static let binary: Set<String> = [
        "PUT attachment", "gzip PUT", "gzip _bulk_docs", "gzip POST _changes", "deflate", "gzip truncated",
        "gzip POST bulk_get multipart answer",
    ]

    /// Fields of the head that ask for what is not there.
    static let absent = ["Content-Encoding"]

    /// The database `open` of Sync Gateway 4.1.1.
    static let open = ReplayExceptions(
        reasons: [
            "db info open guest": "instance_start_time is another",
            "short password": "there is no administration: users come from a file",
            "longpoll while the user is deleted": "it had begun before",
            "continuous while the user is disabled": "it had begun before",
            "get gz att": "the content was unpacked when it was recorded",
            "get gz att accept": "the content was unpacked when it was recorded",
        ],
        sequences: [
            "admin PUT user ra in open": 5,  // reserved and never used
            "doc with inline att": 5, "gzip POST bulk_get multipart answer": 3,
        ],
        end: "doc of 1 MiB")

    /// The database `conf` of Sync Gateway 3.3.7, which allows conflicts.
    static let conflicts = ReplayExceptions(reasons: [:])
}
