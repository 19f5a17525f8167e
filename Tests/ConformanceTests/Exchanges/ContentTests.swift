import LosslessJSON
import TestKit
import Testing

/// The content of documents: numbers, texts, depth, size.
@Suite(.limitedParallelism) struct ContentTests {
    @Test func numbersKeepTheirSpellingOrTheDialects() async throws {
        try await Workspace.with { workspace in
            let id = workspace.id("numbers")
            try await workspace.put(id, #"{"a":1.10,"b":1e5,"c":12345678901234567890123,"d":9007199254740993}"#)
            let reply = try await workspace.send("GET", workspace.path(id))
            let spellings = ["a", "b", "c"].map { reply[$0]?.spelling }
            #expect(spellings == KnownDifferences.numbers[workspace.kind])
            #expect(reply["d"]?.spelling == "9007199254740993")
        }
    }

    @Test(.servers("not recorded") { KnownDifferences.duplicateMember[$0.kind] != nil })
    func lastOfTwoEqualMembersWins() async throws {
        try await Workspace.with { workspace in
            let expected = try #require(KnownDifferences.duplicateMember[workspace.kind])
            let id = workspace.id("twice")
            try await workspace.put(id, #"{"dup":1,"dup":2}"#)
            #expect(try await workspace.send("GET", workspace.path(id))["dup"]?.spelling == expected)
        }
    }

    @Test(arguments: [
        #""é 😀 ☃""#, #""\u00e9 \ud83d\ude00""#, #""a\"b\\c\/d""#, #""\b\f\n\r\t""#, #""\u2028<&>""#, #""""#,
    ]) func stringsKeepTheirMeaning(_ text: String) async throws {
        try await Workspace.with { workspace in
            let id = workspace.id("text")
            try await workspace.put(id, #"{"text":\#(text),\#(text.dropLast())x":1}"#)
            let expected = try JSONText(text).root.string
            let reply = try await workspace.send("GET", workspace.path(id))
            #expect(reply["text"]?.string == expected)
            #expect(reply[(expected ?? "") + "x"]?.integer == 1)
        }
    }

    @Test func emptyContainersAndNullsStay() async throws {
        try await Workspace.with { workspace in
            let id = workspace.id("empty")
            try await workspace.put(id, #"{"o":{},"a":[],"n":null,"":"nameless","l":[null,[],{}]}"#)
            let reply = try await workspace.send("GET", workspace.path(id))
            #expect(["o", "a", "n", "l"].map { reply[$0]?.spelling } == ["{}", "[]", "null", "[null,[],{}]"])
            #expect(reply[""]?.string == "nameless")
        }
    }

    @Test func documentsMayBeDeep() async throws {
        try await Workspace.with { workspace in
            let id = workspace.id("deep")
            let value = String(repeating: "[", count: 200) + String(repeating: "]", count: 200)
            try await workspace.put(id, "{\"v\":\(value)}")
            #expect(try await workspace.send("GET", workspace.path(id))["v"]?.spelling == value)
        }
    }

    @Test func documentOfThreeMebibytesIsComplete() async throws {
        try await Workspace.with { workspace in
            let id = workspace.id("big")
            let parts = (0..<3072).map { "\"\($0)\(String(repeating: "x", count: 1024))\"" }.joined(separator: ",")
            try await workspace.put(id, "{\"v\":[\(parts)]}")
            let reply = try await workspace.send("GET", workspace.path(id))
            #expect(reply["v"]?.spelling == "[\(parts)]")
            let page = try await workspace.changes("include_docs=true", until: [id])
            #expect(page.row(id)?.document?["v"]?.bytes.count == parts.utf8.count + 2)
        }
    }

    /// - Note: Source: recorded; Sync Gateway accepts documents of less than 20 MiB, CouchDB of 8,000,000 bytes.
    @Test(.servers("not recorded") { KnownDifferences.hugeDocument[$0.kind] != nil })
    func hugeDocumentIsRefused() async throws {
        try await Workspace.with { workspace in
            let expected = try #require(KnownDifferences.hugeDocument[workspace.kind])
            let filling = [UInt8](repeating: UInt8(ascii: "x"), count: 21 << 20)
            let body = "{\"s\":\"".bytes + filling + "\"}".bytes
            let path = workspace.path(workspace.id("huge"))
            let reply = try await workspace.send("PUT", path, bytes: body)
            #expect(reply.outcome.fits(expected), "\(reply.outcome) instead of \(expected)")
            #expect(try await workspace.send("GET", path).status == 404)
        }
    }
}
