import LosslessJSON
import Testing

/// json-patch/json-patch-tests, in the folder `CHANGEBOT_SUITES`.
@Suite(.enabled(if: Suites.folder != nil)) struct PatchSuiteTests {
    private struct Case: CustomTestStringConvertible {
        let number: Int
        let json: JSONValue

        var testDescription: String { "\(number): " + (json["comment"]?.string ?? json["error"]?.string ?? "") }
    }

    /// Includes the cases that the suite disables, because they do not concern permitted differences.
    private static func cases() throws -> [Case] {
        let text = try JSONText(try Suites.read("json-patch/tests.json"))
        return text.root.elements.enumerated().map { Case(number: $0, json: $1) }
    }

    @Test func suitePatchesAreAppliedOrRefused() throws {
        let cases = try Self.cases()
        #expect(cases.count > 90)
        for one in cases {
            let document = try #require(one.json["doc"]?.copied())
            let patch = try #require(one.json["patch"])
            let patched = try? document.applying(JSONPatch(patch))
            if let expected = one.json["expected"] {
                #expect(try #require(patched).root.isEquivalent(to: expected), "\(one.testDescription)")
            } else if one.json["error"] != nil, one.json["disabled"] == nil {
                #expect(patched == nil, "\(one.testDescription)")
            }
        }
    }
}
