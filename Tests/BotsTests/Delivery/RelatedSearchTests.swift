import GatewayClient
import LosslessJSON
import Testing

@testable import Delivery
@testable import Rules

/// What a search through all documents finds, and how the result is divided.
@Suite struct RelatedSearchTests {
    private func query(_ limit: Int, source: DocumentID = "l1") throws -> RelatedQuery {
        let errors = SourceErrors(path: "")
        let node = try #require(JSONSource.read(Array(#"{"type":"task"}"#.utf8), errors: errors))
        let selector = try #require(SelectorReader.read(node, errors: errors))
        return RelatedQuery(
            selector: RelatedSelector(selector: selector, json: node.json), limit: limit, source: source)
    }

    private func text(_ result: [RelatedDocuments]) -> [String] {
        result.map { documents in
            switch documents {
            case .found(let ids): ids.map(\.text).joined(separator: " ")
            case .tooMany: "too many"
            }
        }
    }

    @Test func sourceAndDesignDocumentsAreNotRelated() throws {
        var request = SearchRequest(0, [try query(5)])
        for id in ["t1", "l1", "_design/app", "t2"] { request.note(DocumentID(id), for: 0) }
        #expect(text(request.result) == ["t1 t2"])
    }

    @Test func tooManyRelatedDocumentsAreRefused() throws {
        var request = SearchRequest(0, [try query(2), try query(3)])
        for id in ["a", "b", "c"] {
            request.note(DocumentID(id), for: 0)
            request.note(DocumentID(id), for: 1)
        }
        #expect(text(request.result) == ["too many", "a b c"])
    }

    /// The last queries wait for another search, so that the first ones fit in memory.
    @Test func answerIsLimitedByBytes() throws {
        var request = SearchRequest(0, try (0..<4).map { _ in try query(100) })
        for number in 0..<5 {
            for index in 0..<4 { request.note(DocumentID("d\(number)"), for: index, idLimit: 11) }
        }
        #expect(text(request.result) == ["d0 d1 d2 d3 d4", "d0 d1 d2 d3 d4"])
        var single = SearchRequest(0, [try query(100)])
        for number in 0..<50 { single.note(DocumentID("d\(number)"), for: 0, idLimit: 11) }
        #expect(single.result.count == 1)
    }

    @Test func pageHasEachDocumentOnce() {
        var pages = RelatedPages([["a", "b"], [], ["b", "c", "d"], ["a"]], size: 3)
        var shown: [String] = []
        while let page = pages.next() {
            shown.append(page.map { "\($0.place.id):\($0.orders)" }.joined(separator: " "))
        }
        #expect(shown == ["a:[0] b:[0, 2] c:[2]", "d:[2] a:[3]"])
    }
}
