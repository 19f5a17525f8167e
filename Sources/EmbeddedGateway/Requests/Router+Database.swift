internal import Encodings
internal import Glibc
internal import HTTPServing
internal import LosslessJSON

/// The answer to `GET /`, with the start time.
struct Greeting: Sendable {
    /// A random id of this run of the gateway.
    let node = (0..<16).map { _ in UInt8.random(in: .min ... .max) }.hex
    /// Microseconds since 1970.
    let time: Int = {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return now.tv_sec * 1_000_000 + now.tv_nsec / 1_000
    }()

    /// The `Server` field, whose beginning tells clients the dialect.
    static let product = "Couchbase Sync Gateway/4.1.1 (changebot embedded)"

    func answer() -> Answer {
        var body = JSONWriter()
        body.object { body in
            body.member("couchdb", string: "Welcome")
            body.name("vendor")
            body.object { vendor in
                vendor.member("name", string: "Couchbase Sync Gateway")
                vendor.member("version", string: "4.1")
            }
            body.member("version", string: Self.product)
            body.member("persistent_config", bool: false)
            body.member("node_uid", string: node)
        }
        return .json(body.bytes)
    }
}

extension Router {
    /// `GET /DB/`.
    func databaseInformation() async throws -> Answer {
        databaseInformation(sequence: try store.lastSequence(), state: "Online")
    }

    func databaseInformation(sequence: Int, state: String) -> Answer {
        var body = JSONWriter()
        body.object { body in
            body.member("db_name", string: database)
            body.member("update_seq", integer: sequence)
            body.member("committed_update_seq", integer: sequence)
            // Changes each time the feeds have ended. Clients can't rely on anything else.
            body.member("instance_start_time", integer: started.time + store.signal.endings)
            body.member("compact_running", bool: false)
            body.member("purge_seq", integer: 0)
            body.member("disk_format_version", integer: 0)
            body.member("state", string: state)
        }
        return .json(body.bytes)
    }

    /// `POST /DB/_ensure_full_commit`: does nothing, because every acknowledged write is in the file.
    ///
    /// The time is the text `0`, unlike Sync Gateway's number. With a peer that answers a number, CouchDB's replicator
    /// saves no checkpoint; it reads `0` as an unknown time.
    ///
    /// - Note: Source: `do_checkpoint` in CouchDB 3.5's `couch_replicator_scheduler_job.erl`.
    func ensureFullCommit(_ request: Request) throws(RequestError) -> Answer {
        guard request.method == "POST" else { throw RequestError.methodNotAllowed("POST") }
        var body = JSONWriter()
        body.object { body in
            body.member("instance_start_time", string: "0")
            body.member("ok", bool: true)
        }
        return .json(body.bytes, status: 201)
    }
}
