import Foundation
import Testing

@testable import Rules

/// Warnings of `rules check` about blobs of which a rule changes only one part.
@Suite struct BlobCheckTests {
    private func messages(_ rules: [String]) throws -> [String] {
        let text = "version: 1\nrules:\n" + rules.map { "- {\($0.replacing("FILE", with: #filePath))}\n" }.joined()
        let file = RuleFile(path: "r.yaml", bytes: Array(text.utf8), shared: RuleReading.Shared())
        try #require(file.errors.isEmpty, "\(file.errors)")
        let check = BlobCheck(file.rules)
        return file.rules.flatMap(check.warnings).map(\.description)
    }

    @Test(arguments: [
        ("attach: {name: blob_/image, file: FILE}", "'blob_/image' is the attachment of a blob"),
        ("attach: {name: blob_/photos/0, file: FILE}", "write blob: /photos/0"),
        ("detach: blob_/image", "write blob: /image"), ("detach: {name: blob_/a~1b}", "write blob: /a~1b"),
        ("merge: {image: {'@type': blob, length: 1}}", "'/image' becomes a blob without its attachment"),
        ("merge: {a: {b: {'@type': blob}}}", "write attach: { blob: /a/b, … }"),
        ("patch: [{op: add, path: /image, value: {'@type': blob}}]", "'/image' becomes a blob without"),
        ("merge: {front: null}", "write detach: { blob: /front } before it"),
        ("merge: {front: none}", "this leaves the attachment of the blob '/front'"),
        ("patch: [{op: remove, path: /front}]", "this leaves the attachment"),
        ("patch: [{op: move, from: /front, path: /b}]", "this leaves the attachment"),
        ("related: {selector: {x: 1}, then: [merge: {front: null}]}", "this leaves the attachment"),
        ("related: {selector: {x: 1}, then: [detach: blob_/image]}", "write blob: /image"),
        ("put: {id: x, document: {a: {image: {'@type': blob}}}}", "'/a/image' of the other document becomes a blob"),
        // Members that the text of a program shows.
        ("merge: {jq: '{image: {\"@type\":\"blob\", digest: .d}}'}", "'/image' becomes a blob without its attachment"),
        ("merge: {image: {jq: '{\"@type\": \"blob\"} + .x'}}", "'/image' becomes a blob without its attachment"),
        ("merge: {a: {b: {jq: 'if .c then {\"@type\": \"blob\"} else null end'}}}", "'/a/b' becomes a blob"),
        ("merge: {a: {jq: '{\"@type\": \"blob\", digest: .d}'}}", "'/a' becomes a blob without its attachment"),
        ("merge: {jq: '.image = {\"@type\": \"blob\"}'}", "the program makes a blob without its attachment"),
        ("merge: {jq: '{front: null, n: .n}'}", "write detach: { blob: /front } before it"),
        ("merge: {front: {jq: 'null'}}", "this leaves the attachment of the blob '/front'"),
        ("patch: [{op: add, path: /image, value: {jq: '{\"@type\": \"blob\"}'}}]", "'/image' becomes a blob without"),
        ("patch: [{op: replace, path: /front, value: {jq: '\"none\"'}}]", "this leaves the attachment"),
        ("put: {id: x, document: {jq: '{image: {\"@type\": \"blob\"}}'}}", "the other document gets a blob without"),
    ])
    func ruleThatChangesOnePartIsReported(then: String, message: String) throws {
        let found = try messages([
            "name: other, when: {side: {'@type': blob}}, then: [attach: {blob: front, file: FILE}]",
            "name: a, when: {}, then: [\(then)]",
        ])
        #expect(found.count == 1, "\(found)")
        #expect(found.first?.hasPrefix("r.yaml:4:") == true && found.first?.contains(message) == true, "\(found)")
        #expect(found.first?.hasSuffix("[half-blob]") == true)
    }

    @Test(arguments: ["front.@type: blob", "front: {'@type': {$eq: blob}}", "$and: [{front.@type: blob}]"])
    func selectorCanDeclareABlob(when: String) throws {
        #expect(try messages(["name: a, when: {\(when)}, then: [merge: {front: null}]"]).count == 1)
    }

    @Test(arguments: [
        "attach: {blob: image, file: FILE}", "detach: {blob: image}", "attach: {name: blob_image, file: FILE}",
        "merge: {image: null}", "merge: {image: {'@type': person}}", "merge: {jq: '{image: null}'}",
        "merge: {jq: '{image: (.image + {caption: .c})}'}", "merge: {jq: '{\"@type\": \"person\", n: 1}'}",
        "attach: {blob: image, file: FILE}, merge: {jq: '.image = {\"@type\": \"blob\", caption: 1}'}",
        "merge: {jq: '.a.b'}", "merge: {jq: '{(.name): 1}'}",
        "detach: {blob: image}, merge: {image: null}",
        "put: {id: x, document: {image: {'@type': person}, front: null}}",
        "related: {selector: {x: 1}, then: [attach: {blob: image, file: FILE}]}",
    ])
    func otherActionsAreNotReported(then: String) throws {
        let steps = then.components(separatedBy: ", merge").joined(separator: "}, {merge")
        #expect(try messages(["name: a, when: {}, then: [{\(steps)}]"]) == [])
    }
}
