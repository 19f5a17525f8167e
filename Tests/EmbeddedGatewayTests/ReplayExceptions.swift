import Encodings

@testable import EmbeddedGateway

/// The exchanges of a recording that the embedded gateway does not repeat, with the reasons.
struct ReplayExceptions {
    /// By the exchange's name, followed by ` #2` for the second exchange of that name, and so on.
    var reasons: [String: String]
    /// Sequences that the real gateway used in exchanges that are not repeated, by the name of the next exchange that
    /// is: they are passed over, so that later sequences are the recorded ones.
    var sequences: [String: Int] = [:]
    /// Exchanges that began, or reached the document, before another one that was answered earlier.
    var earlier: [String: String] = [:]
    /// Whether the recorded gateway had `_cv`.
    var hasVersions = true

    /// Exchanges whose body was recorded in base64.
    static let binary: Set<String> = [
        "PUT attachment", "gzip PUT", "gzip _bulk_docs", "gzip POST _changes", "deflate", "gzip truncated",
        "gzip POST bulk_get multipart answer",
    ]

    /// Bodies that were too long for the recording.
    static let restored: [String: String] = [
        "bulk of 5000 docs": "{\"docs\": ["
            + (0..<5_000).map { "{\"_id\": \"n\(String(100_000 + $0).dropFirst())\", \"i\": \($0)}" }.joined(
                separator: ", ")
            + "]}",
        "bulk: one small and one of 21 MiB": "{\"docs\": [{\"_id\": \"small_b\"}, {\"_id\": \"big_b\", \"s\": \""
            + String(repeating: "x", count: 21 << 20) + "\"}, {\"_id\": \"small_c\"}]}",
        "attachment of 20 MiB exactly": attached(20 << 20),
        "attachment of 20 MiB + 1": attached((20 << 20) + 1),
        "bulk: attachment of 20 MiB + 1": "{\"docs\": [{\"_id\": \"bigatt3\", "
            + attached((20 << 20) + 1).dropFirst() + ", {\"_id\": \"ok_after\"}]}",
    ]

    private static func attached(_ count: Int) -> String {
        let data = Base64.text([UInt8](repeating: 0x78, count: count))
        return "{\"_attachments\": {\"x\": {\"data\": \"\(data)\"}}}"
    }

    private static let offline = "the database does not go offline"

    /// The database `open` of Sync Gateway 4.1.1.
    static let open = ReplayExceptions(
        reasons: [
            "short password": "there is no administration: users come from a file",
            "changes while offline": offline, "put while offline": offline, "db info while offline": offline,
            "bulk while offline": offline, "continuous while db goes offline": offline,
            "continuous with heartbeat over offline, online and a later write": offline,
            "(last_seq probe) #2": "a document that was too large used a sequence within a batch",
            "(meanwhile) second feed": "feeds are not counted",
            "longpoll during a SIGINT of the server": "the gateway is not stopped",
            "continuous during a SIGINT of the server": "the gateway is not stopped",
        ],
        sequences: [
            "admin PUT user ra in open": 5,  // reserved and never used
            "doc with inline att": 5,
            "bulk: one small and one of 21 MiB": 11,  // documents that were too large used them
            "attachment of 20 MiB exactly": 1,
            "db offline during a longpoll": 8,  // reserved, and gone with the restart
        ],
        earlier: [
            "racer 0": "racer 2", "longpoll while the user is deleted": "(meanwhile) DELETE user",
            "continuous while the user is disabled": "(meanwhile) disable user",
        ])

    /// The database `open` of Sync Gateway 3.3.7.
    static let older: ReplayExceptions = {
        var exceptions = open
        exceptions.hasVersions = false
        exceptions.reasons["changes include_docs shows stubs"] = "3.x shows how attachments are stored"
        exceptions.sequences["bulk: one small and one of 21 MiB"] = 13
        exceptions.sequences["db offline during a longpoll"] = 4
        return exceptions
    }()

    private static let administration = "there is no administration"
    private static let routed = "the sync function decides what is seen"

    /// The collections of a database without a default one, Sync Gateway 4.1.1.
    static let collections = ReplayExceptions(
        reasons: [
            "create_user1": administration, "create_user2": administration, "create_role": administration,
            "all_dbs": administration, "config_masked": administration,
            "user1_wrong_owner": routed, "user1_task_without_role": routed, "user1_changes_lists": routed,
            "user2_changes_lists": routed, "user1_changes_tasks": routed,
        ],
        sequences: ["db_info": 2])

    private static let pending = "no sequence is waited for"
    private static let fromTheGap = "what may have been missing is sent again"

    /// The database `open` of Sync Gateway 4.1.1 while some sequences were missing.
    static let skippedSequences = ReplayExceptions(
        reasons: [
            "changes right after a gap (gap still pending)": pending,
            "longpoll over the gap (max_wait_pending = 2 s here, default 5 s)": pending,
            "since last_seq": fromTheGap, "since last_seq #2": fromTheGap,
            "longpoll since last_seq, doc b4 comes": fromTheGap,
        ],
        sequences: ["put b1": 4])

    /// The database `conf` of Sync Gateway 3.3.7, which allows conflicts.
    static let conflicts = ReplayExceptions(reasons: [:], hasVersions: false)
}
