import Locking
import TestKit

/// A CouchDB with 1,200 documents that answers only which index a query would use, and creates indexes.
struct FakeCouchDB {
    /// The index for every query; nil: there is none.
    var index: String?
    /// This path is refused with 401.
    var refused: String?

    var isPartitioned = false

    private static let headers = ["Content-Type: application/json", "Server: CouchDB/3.5.0 (Erlang OTP/25)"]

    /// - Returns: The server, and the bodies of the requests that created an index.
    func start() throws -> (server: TestServer, createdIndexes: Locked<[String]>) {
        let createdIndexes = Locked<[String]>([])
        let server = try TestServer { [self] connection in
            try connection.serve { request in
                let path = String(request.target.prefix { $0 != "?" })
                let (status, body) = path == refused ? Self.refusal : answer(to: path)
                if path == "/todo/_index", status == 200 {
                    createdIndexes.withLock { $0.append(String(decoding: request.body, as: UTF8.self)) }
                }
                try connection.answer(status, headers: Self.headers, body: body)
            }
        }
        return (server, createdIndexes)
    }

    private static let refusal = (401, #"{"error":"unauthorized","reason":"You are not a db or server admin."}"#)

    private func answer(to path: String) -> (Int, String) {
        switch path {
        case "/todo/":
            (
                200,
                #"{"db_name":"todo","update_seq":"7-g1","doc_count":1200,"instance_start_time":"1","props":{\#(isPartitioned ? "\"partitioned\":true" : "")}}"#
            )
        case "/todo/_explain":
            (
                200,
                #"{"dbname":"todo","index":{"ddoc":null,"name":"\#(index ?? "_all_docs")","type":"json","def":{"fields":[{"type":"asc"}]}}}"#
            )
        case "/todo/_index": (200, #"{"result":"created","id":"_design/x","name":"x"}"#)
        default: (404, #"{"error":"not_found","reason":"missing"}"#)
        }
    }
}
