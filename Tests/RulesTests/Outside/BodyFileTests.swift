import Foundation
import LosslessJSON
import TestKit
import Testing

@testable import Rules

@Suite(.limitedParallelism) struct BodyFileTests {
    private func withFolder(_ files: [String: String], _ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "bodies-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for (name, text) in files { try Data(text.utf8).write(to: URL(fileURLWithPath: folder + "/" + name)) }
        try await body(folder)
    }

    private func rule(_ webhook: String) -> String {
        "version: 1\nrules:\n- { name: a, when: {}, then: [{ webhook: { url: 'https://h', \(webhook) } }] }\n"
    }

    /// What is sent for a document, or why nothing is: the content type and the body.
    private func sent(_ file: String, _ text: String, _ document: String, more: String = "") async throws -> String {
        var sent = ""
        try await withFolder([file: text]) { folder in
            let set = try ruleSet(rule("body_file: \(file)\(more)"), path: folder + "/r.yaml")
            let decision = try await set.decided(document)
            if let error = decision.error {
                sent = error.reason
                return
            }
            guard case .webhook(let effect)? = decision.outside.first?.kind else { return }
            let content = effect.body.content(nil, setsType: effect.setsType)
            let type = (content.headers + effect.headers).map { "\($0.name): \($0.value)" }
            sent = type.joined() + "\n" + String(decoding: content.bytes ?? [], as: UTF8.self)
        }
        return sent
    }

    private static let document = #"{"_id":"o1","total":1.10,"note":"a \"b\" <c> & 'd'","lines":[1,"x"],"none":null}"#

    @Test(arguments: [
        (
            "o.json", #"{ "id": \(._id), "text": "Order \(._id): \(.note)", "total": \(.total), "lines": \(.lines) }"#,
            "Content-Type: application/json\n"
                + #"{ "id": "o1", "text": "Order o1: a \"b\" <c> & 'd'", "total": 1.1, "lines": [1,"x"] }"#
        ),
        // Without a value there is null, or no text.
        (
            "o.json", #"{"a": \(.none), "b": "<\(.none)>", "c": "\(empty)", "d": \(empty)}"#,
            "Content-Type: application/json\n" + #"{"a": null, "b": "<>", "c": "", "d": null}"#
        ),
        (
            "o.json", #"{"path": "C:\\\\(._id) \"\(._id)\""}"#,
            "Content-Type: application/json\n" + #"{"path": "C:\\\\(._id) \"o1\""}"#
        ),
        (
            "o.xml", "<order id=\"\\(._id)\">\n  <note>\\(.note)</note><n>\\(.lines | length)</n>\n</order>\n",
            "Content-Type: application/xml\n<order id=\"o1\">\n  <note>a &quot;b&quot; &lt;c&gt; &amp; &#39;d&#39;</note><n>2</n>\n</order>\n"
        ),
        ("o.HTML", "<p>\\(.lines)</p>", "Content-Type: text/html; charset=utf-8\n<p>[1,&quot;x&quot;]</p>"),
        (
            "o.txt", #"\(._id | ascii_upcase) costs \("\(.total)" + (" EUR" | tostring)) \\(not) \n"#,
            "Content-Type: text/plain; charset=utf-8\n" + #"O1 costs 1.1 EUR \(not) \n"#
        ),
        ("o.txt", "fixed", "Content-Type: text/plain; charset=utf-8\nfixed"),
    ])
    func programsAreFilledInAsTheEndingSays(file: String, text: String, expected: String) async throws {
        #expect(try await sent(file, text, Self.document) == expected)
    }

    @Test func ruleMaySetTheContentType() async throws {
        let sent = try await sent(
            "o.form", #"id=\(._id | @uri)"#, Self.document,
            more: ", headers: { Content-Type: application/x-www-form-urlencoded }")
        #expect(sent == "Content-Type: application/x-www-form-urlencoded\nid=o1")
    }

    @Test(arguments: [
        (
            "o.xml", #"<a>\(.v)</a>"#,
            "body_file: a program gives a control character, which XML can't contain; remove it"
        ),
        ("o.txt", #"\(1, 2)"#, "body_file: a program gives 2 values; it must give one"),
        (
            "o.json", #"{"\(.k)": 1, "\(.k)": \(.n)}"#,
            "body_file: the body is not JSON: "
        ),
    ])
    func unsendableBodyIsADeadLetter(file: String, text: String, reason: String) async throws {
        let found = try await sent(file, text, "{\"_id\":\"o\",\"v\":\"\\u0001\",\"k\":\"a\"}")
        if reason.hasSuffix(": ") {
            // An object may have the same name twice: only a text that is no JSON is refused.
            #expect(found.contains(#"{"a": 1, "a": null}"#), "\(found)")
        } else {
            #expect(found == reason)
        }
    }

    @Test(arguments: [
        ("o.xml", "<a>\n  \\(.a | )</a>", "r.yaml:3:73: o.xml:2:10: not a jq program: "),
        ("o.json", #"{"a": \(.a) "b": 1}"#, "r.yaml:3:73: body_file: 'o.json' is not JSON around its programs: "),
        ("o.json", "{", "r.yaml:3:73: body_file: 'o.json' is not JSON: "),
        ("other", "", "r.yaml:3:73: body_file: '"),
    ])
    func mistakesAreFoundWhenRulesAreRead(file: String, text: String, message: String) async throws {
        try await withFolder([file: text]) { folder in
            let name = file == "other" ? "none.txt" : file
            let found = errors(rule("body_file: \(name)"), path: folder + "/r.yaml")
            #expect(found.count == 1 && found.allSatisfy { $0.hasPrefix(folder + "/" + message) }, "\(found)")
        }
    }

    @Test func bodyAndItsFileExcludeEachOther() {
        let found = errors(rule("body: document, body_file: x.txt"), path: "r.yaml")
        #expect(found.count == 1)
        #expect(found.first?.contains("'body' and 'body_file' both say what to send; remove one") == true)
        #expect(
            errors(rule("body_file: x.txt, event: {type: a}")).contains {
                $0.contains("'body_file' ") || $0.contains("body_file:")
            })
    }

    /// A bot with another text makes other decisions.
    @Test func fileIsPartOfTheHash() async throws {
        var hashes: Set<String> = []
        for text in ["a", "b"] {
            try await withFolder(["o.txt": text]) { folder in
                let files = RuleFileSet.self
                try Data(rule("body_file: o.txt").utf8).write(to: URL(fileURLWithPath: folder + "/r.yaml"))
                let set = try files.load(paths: [folder + "/r.yaml"])
                hashes.insert(try set.ruleSet().hash)
                #expect(set.attached.files == [folder + "/o.txt"])
                #expect(set.attached.attachedFiles.isEmpty)
            }
        }
        #expect(hashes.count == 2)
    }
}
