import DocumentFlow
import Foundation
import GatewayClient
import Locking
import LosslessJSON
import TestKit
import Testing

@testable import Delivery
@testable import Rules

/// Writers that search at the same time share a pass over all documents.
@Suite(.limitedParallelism) struct SharedSearchTests {
    private func query(_ type: String, limit: Int = 100) throws -> RelatedQuery {
        let errors = SourceErrors(path: "")
        let node = try #require(JSONSource.read(Array(#"{"type":"\#(type)"}"#.utf8), errors: errors))
        let selector = try #require(SelectorReader.read(node, errors: errors))
        return RelatedQuery(
            selector: RelatedSelector(selector: selector, json: node.json), limit: limit, source: "source")
    }

    private func search(_ gateway: Gateway) -> SharedSearch {
        SharedSearch(
            SearchPass(
                gateway: gateway, retries: RetryPolicy.Settings(), pauses: Pauses(), logger: BotTestBed.logger,
                noteRetry: {}))
    }

    private func ids(_ result: [RelatedDocuments]) -> [[String]] {
        result.map { if case .found(let ids) = $0 { ids.map(\.text) } else { ["too many"] } }
    }

    @Test func queriesAreCollectedDuringAPass() async throws {
        // The first page is held back until the others have made their requests.
        let isOpen = Monitor(false)
        let server = try ScriptedServer { request, number in
            guard request.path == "/todo/_all_docs" else { return nil }
            if number == 0 { isOpen.block { $0 } }
            if request.target.contains("startkey") {
                return .init(
                    body: #"{"rows":[{"id":"c","key":"c","value":{"rev":"1-a"},"doc":{"_id":"c","type":"z"}}]}"#)
            }
            let rows = [("a", "x"), ("b", "y"), ("c", "z")].map { id, type in
                #"{"id":"\#(id)","key":"\#(id)","value":{"rev":"1-a"},"doc":{"_id":"\#(id)","type":"\#(type)"}}"#
            }
            return .init(body: #"{"rows":[\#(rows.joined(separator: ","))]}"#)
        }
        let search = search(Gateway(try GatewayURL(server.server.url("/todo"))))
        let (x, y, z, none) = (try query("x"), try query("y"), try query("z"), try query("none"))
        async let first = search.find([x])
        await server.wait(for: 1, of: "/todo/_all_docs")
        async let second = search.find([y, x])
        async let third = search.find([z, none])
        // Both wait for the end of the pass.
        while await search.waitingCount < 2 { try await Task.sleep(for: .milliseconds(5)) }
        isOpen.with { $0 = true }
        #expect(ids(try await first) == [["a"]])
        #expect(ids(try await second) == [["b"], ["a"]])
        #expect(ids(try await third) == [["c"], []])
        let begun = server.requests("/todo/_all_docs").count { !$0.target.contains("startkey") }
        #expect(begun == 2)
    }
}
