import TestKit
import Testing

@testable import GatewayClient

/// What gateways say when they refuse, and what it is here.
@Suite(.timeLimit(.minutes(5))) struct RefusalTests {
    @Test(arguments: [
        (401, "Unauthorized", "Session Invalid", "unauthorized"),
        (401, "Unauthorized", "Login required", "unauthorized"),
        (401, "unauthorized", "You are not authorized to access this db.", "unauthorized"),
        (403, "Forbidden", "sg missing role", "forbidden"),
        (404, "not_found", "Database does not exist.", "notFound"),
        (404, "not_found", "keyspace todo._default.nope not found", "notFound"),
        (404, "not_found", "Document revision is not accessible", "notFound"),
        (405, "Method Not Allowed", "", "badRequest"),
        (406, "Not Acceptable", "Response is multipart", "badRequest"),
        (409, "conflict", "Cannot modify attachments without a specific rev ID", "conflict"),
        (412, "missing_stub", "Invalid attachment stub in t2 for image", "conflict"),
        (412, "Precondition Failed", "Database already exists", "conflict"),
        (413, "Request Entity Too Large", "Attachment too large", "tooLarge"),
        (415, "Unsupported Media Type", "Unsupported Content-Encoding; use gzip", "badRequest"),
        (400, "illegal_docid", "Only reserved document ids may start with underscore.", "badRequest"),
        (400, "bad_request", "Malformed sequence supplied in 'since' parameter.", "badRequest"),
        (400, "Bad Request", "Filter '_doc_ids' is only valid for feed=normal replications", "badRequest"),
        (500, "Internal Server Error", "Internal error: unexpected EOF", "serverError"),
        (503, "Service Unavailable", "DB is currently under maintenance", "unavailable"),
        (503, "Service Unavailable", "Replication limit exceeded. Try again later.", "unavailable"),
    ])
    func eachHasACodeAndKeepsItsName(status: Int, name: String, reason: String, code: String) async throws {
        let scripted = try ScriptedGateway { connection, _ in
            try connection.answer(
                status, headers: syncGateway, body: #"{"error":"\#(name)","reason":"\#(reason)"}"#)
        }
        let error = await #expect(throws: GatewayError.self) { _ = try await scripted.gateway.databaseInfo() }
        #expect(error?.code.description == code)
        #expect(error?.name == name)
        #expect(error?.status == status)
        #expect(error?.isRetryable == (status >= 500))
    }

    @Test(arguments: [(#"1795208996707529"#, "1795208996707529"), (#""1795208634""#, "1795208634"), ("null", nil)])
    func aDatabaseTellsSinceWhenThereIsOne(json: String, instance: String?) async throws {
        let scripted = try ScriptedGateway { connection, _ in
            try connection.answer(headers: syncGateway, body: #"{"db_name":"todo","instance_start_time":\#(json)}"#)
        }
        #expect(try await scripted.gateway.databaseInfo().instance == instance)
    }
}
