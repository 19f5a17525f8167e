import Foundation
import TestKit

/// A Sync Gateway with an empty database, and possible faults on the way to it.
struct FakeGateway {
    /// The `Date` header of its answers; nil: none.
    var date: String?
    /// The time after which it cuts waiting requests; nil: it answers them in time.
    var cutsAfter: Duration?
    /// Paths that contain this are refused with 403.
    var refused: String?

    private static let headers = ["Content-Type: application/json", "Server: Couchbase Sync Gateway/4.1.1 CE"]

    func start() throws -> TestServer {
        try TestServer { [self] connection in
            try connection.serve { request in
                let headers = Self.headers + (date.map { ["Date: \($0)"] } ?? [])
                if let refused, request.target.contains(refused) {
                    return try connection.answer(
                        403, headers: headers, body: #"{"error":"forbidden","reason":"a proxy forbids it"}"#)
                }
                if request.target.contains("feed=longpoll") {
                    guard let cutsAfter else {
                        Thread.sleep(forTimeInterval: 1)
                        return try connection.answer(headers: headers, body: #"{"results":[],"last_seq":"7"}"#)
                    }
                    Thread.sleep(forTimeInterval: cutsAfter / .seconds(1))
                    throw Cut()
                }
                let (status, body) = Self.answer(to: request)
                try connection.answer(status, headers: headers, body: body)
            }
        }
    }

    private struct Cut: Error {}

    private static func answer(to request: TestRequest) -> (Int, String) {
        switch (request.method, String(request.target.prefix { $0 != "?" })) {
        case (_, "/"):
            (
                200,
                #"{"couchdb":"Welcome","vendor":{"name":"Couchbase Sync Gateway"},"version":"Couchbase Sync Gateway/4.1.1 CE"}"#
            )
        case (_, "/todo/"): (200, #"{"db_name":"todo","update_seq":7,"state":"Online"}"#)
        case (_, "/todo/_changes"): (200, #"{"results":[],"last_seq":"7"}"#)
        case (_, "/todo/_all_docs"): (200, #"{"rows":[],"total_rows":0}"#)
        case (_, "/todo/_bulk_docs"): (201, "[]")
        case (_, "/todo/_session"): (200, #"{"ok":true,"userCtx":{"channels":{"!":1,"groceries":2},"name":"amy"}}"#)
        case ("PUT", _): (201, #"{"id":"_local/x","ok":true,"rev":"0-1"}"#)
        case ("GET", let path) where path.contains("_local/"): (200, #"{"_id":"_local/x","_rev":"0-1"}"#)
        case ("DELETE", _): (200, "")
        default: (404, #"{"error":"not_found","reason":"unknown URL"}"#)
        }
    }
}
