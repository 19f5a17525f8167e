import Foundation
import LosslessJSON
import TestKit
import Testing

@testable import RulePlay

/// What the page adds to the text and to the documents.
@Suite(.limitedParallelism) struct ChangeTests {
    private struct Failure: Error, CustomStringConvertible {
        var description: String { "GET http://127.0.0.1:1/todo/_all_docs: no connection" }
    }

    @Test func documentOfAFileBecomesATest() async throws {
        try await PlayTestBed.with { bed in
            bed.samples.add(Sample(try JSONText(#"{"_id":"a","type":"task","n":1.50}"#), origin: "test"))
            let body = #"{"file":0,"text":\#(("# mine\n" + PlayTestBed.rules).json),"number":0,"name":"it \"works\""}"#
            let (status, answer) = try await bed.ask("test", body)
            let text = try #require(answer["text"]?.string)
            #expect(status == 200 && text.hasPrefix("# mine\n" + PlayTestBed.rules))
            #expect(text.contains("given: { _id: a, type: task, n: 1.50 }"))
            let lines = try await bed.evaluate(text)
            #expect(lines["tests"]?.element(0)?["passed"]?.bool == true, "\(text)")
            #expect(lines["tests"]?.element(0)?["name"]?.string == "it \"works\"")
            #expect(bed.text == PlayTestBed.rules)
        }
    }

    @Test func textWithErrorsGetsNoTest() async throws {
        try await PlayTestBed.with { bed in
            bed.samples.add(Sample(try JSONText("{}"), origin: "test"))
            let (status, answer) = try await bed.ask("test", #"{"file":0,"text":"version: 2","number":0}"#)
            #expect(status == 422 && answer["error"]?.string?.contains("correct them first") == true)
            #expect(try await bed.ask("test", #"{"file":0,"text":"version: 1","number":9}"#).status == 404)
        }
    }

    @Test func refusalOfATestSaysWhatToDo() async throws {
        try await PlayTestBed.with { bed in
            bed.samples.add(Sample(try JSONText("{}"), origin: "test"))
            let text = PlayTestBed.rules + "tests: []\n"
            let answer = try await bed.ask("test", #"{"file":0,"text":\#(text.json),"number":0}"#).answer
            #expect(answer["error"]?.string?.hasSuffix("one '- ' for each test; write it without brackets") == true)
        }
    }

    @Test func largeDocumentBecomesNoTest() async throws {
        try await PlayTestBed.with { bed in
            let long = String(repeating: "x", count: 100_000)
            bed.samples.add(Sample(try JSONText(#"{"_id":"a","long":"\#(long)"}"#), origin: "test"))
            let (status, answer) = try await bed.ask(
                "test", #"{"file":0,"text":\#(PlayTestBed.rules.json),"number":0}"#)
            #expect(status == 422 && answer["error"]?.string?.contains("too large for a test") == true)
        }
    }

    /// Regression: all of them were called too large, or the file was blamed.
    @Test(arguments: [
        (#"{"a":"\ud800"}"#, "", "a test can't contain the document: line 1, column 6: half of a surrogate pair"),
        (
            #"{"a":1,"a":2}"#, "",
            "a test can't contain the document: line 1, column 8: the key 'a' appears twice; remove"
        ),
        ("{}", #"{"a":1,"a":2}"#, "a test can't contain the earlier document: line 1, column 8: the key 'a'"),
        (
            #"{"a":"# + String(repeating: "[", count: 248) + String(repeating: "]", count: 248) + "}", "",
            "nested too deeply"
        ),
    ]) func documentThatFitsInNoTestIsExplained(_ document: String, _ before: String, _ reason: String) async throws {
        try await PlayTestBed.with { bed in
            let before = before.isEmpty ? nil : try JSONText(before)
            bed.samples.add(Sample(try JSONText(document), before: before, origin: "test"))
            let (status, answer) = try await bed.ask(
                "test", #"{"file":0,"text":\#(PlayTestBed.rules.json),"number":0}"#)
            #expect(status == 422)
            #expect(answer["error"]?.string?.contains(reason) == true, "\(answer["error"]?.string ?? "")")
        }
    }

    /// Regression: a part of the earlier document was shown to be edited, so that it could not be saved.
    @Test func longDocumentsAreNotEdited() async throws {
        let long = try JSONText(#"{"a":"\#(String(repeating: "x", count: 1_500_000))"}"#)
        let short = try JSONText("{}")
        try await PlayTestBed.with { bed in
            for (document, before) in [(short, long), (long, nil), (long, short), (short, short)] {
                bed.samples.add(Sample(document, before: before, origin: "test"))
            }
            for (number, isWhole) in [false, false, false, true].enumerated() {
                let answer = try await bed.ask("sample", #"{"number":\#(number)}"#).answer
                #expect(answer["isWhole"]?.bool == isWhole)
                #expect((answer["length"]?.integer ?? 0) > 1_000_000 || isWhole)
            }
        }
    }

    private func withRecipe(_ body: (PlayTestBed) async throws -> Void) async throws {
        let recipe = PlayRecipe(
            name: "stamp", title: "stamp it",
            parameters: [
                .init(
                    name: "member", value: "m", explanation: "the member",
                    choices: { [$0.split(separator: "/").last.map(String.init) ?? "", "n"] },
                    refusal: { value, _ in value == "bad" ? "write another" : nil })
            ],
            text: { values, _ in
                let member = values["member"] ?? "m"
                return """
                    version: 1
                    rules:
                      - name: set-\(member)
                        when: { \(member): { $exists: false } }
                        then: [{ merge: { \(member): 1 } }]
                    tests:
                      - name: it is set
                        given: { _id: of-recipe }
                        expect: { fired: [set-\(member)] }

                    """
            }, addFiles: { _, _ in ["picture.png"] })
        try await PlayTestBed.with(change: { $0.recipes = [recipe] }, body)
    }

    @Test func recipeIsAddedToTheText() async throws {
        try await withRecipe { bed in
            let body = #"{"file":0,"text":\#(PlayTestBed.rules.json),"name":"stamp","values":{"member":"x"}}"#
            let (status, answer) = try await bed.ask("recipe", body)
            let text = try #require(answer["text"]?.string)
            #expect(status == 200 && text.hasPrefix(PlayTestBed.rules))
            #expect(answer["files"]?.json == #"["picture.png"]"#)
            let lines = try await bed.evaluate(text, #""visible":[]"#)
            #expect(lines["tests"]?.element(0)?["passed"]?.bool == true, "\(text)")
            #expect(bed.samples.count == 1 && bed.samples[0]?.id == "of-recipe")
            #expect(answer["addedSamples"]?.integer == 1)
            // The same documents are not added again.
            _ = try await bed.ask("recipe", body)
            #expect(bed.samples.count == 1)
        }
    }

    /// Regression: the documents of the example stayed, although no rule was for them any more.
    @Test func documentsOfTheExampleCanBeRemoved() async throws {
        try await PlayTestBed.with(nil) { bed in
            _ = try await bed.ask("open", #"{"file":0}"#)
            let count = bed.samples.count
            #expect(bed.samples.all.allSatisfy { $0.origin.hasPrefix("example: ") })
            _ = try await bed.ask("change", #"{"number":1,"text":"{\"_id\":\"mine\"}"}"#)
            _ = try await bed.ask("change", #"{"text":"{\"_id\":\"typed\"}"}"#)
            let answer = try await bed.ask("clear", #"{"onlyExamples":true}"#).answer
            #expect(answer["removed"]?.integer == count - 1 && answer["total"]?.integer == 2)
            #expect(bed.samples.all.map(\.id) == ["mine", "typed"])
        }
    }

    @Test func recipeReplacesAnEmptyText() async throws {
        try await withRecipe { bed in
            let (_, answer) = try await bed.ask("recipe", ##"{"file":0,"text":"# only a comment\n","name":"stamp"}"##)
            #expect(answer["text"]?.string?.hasPrefix("version: 1\n") == true)
        }
    }

    /// Regression: documents of several recipes looked alike, because they have the same ids.
    @Test func documentsOfARecipeAreGrouped() async throws {
        try await withRecipe { bed in
            var text = PlayTestBed.rules
            for values in ["", #","values":{"member":"x"}"#] {
                let body = #"{"file":0,"text":\#(text.json),"name":"stamp"\#(values)}"#
                text = try #require(try await bed.ask("recipe", body).answer["text"]?.string)
            }
            bed.samples.add(Sample(try JSONText(#"{"_id":"z"}"#), origin: "test"))
            let listed = try await bed.ask("samples", "{}").answer["samples"]?.elements.compactMap {
                $0["group"]?.string
            }
            #expect(listed == ["Recipe stamp", ""])
            _ = try await bed.ask("change", #"{"text":"{}"}"#)
            #expect(bed.samples[2]?.group == "Typed")
            _ = try await bed.ask("change", #"{"number":0,"text":"{\"a\":1}"}"#)
            #expect(bed.samples[0]?.group == "Recipe stamp")
            let body = #"{"file":0,"text":\#(text.json),"name":"stamp","values":{"member":"y"}}"#
            _ = try await bed.ask("recipe", body)
            #expect(bed.samples[3]?.group == "Recipe stamp (member: y)")
        }
    }

    @Test func valuesAreSuggested() async throws {
        try await withRecipe { bed in
            let choices = try await bed.ask("choices", #"{"file":0,"name":"stamp"}"#).answer
            #expect(choices["choices"]?.json == #"{"member":["r.yaml","n"]}"#)
            #expect(try await bed.ask("choices", #"{"file":0,"name":"none"}"#).status == 404)
        }
    }

    @Test(arguments: [
        (#"{"file":0,"text":"","name":"none"}"#, 404),
        (#"{"file":0,"text":"","name":"stamp","values":{"member":"bad"}}"#, 422),
        (#"{"file":0,"text":"rules: [","name":"stamp"}"#, 422),
        (#"{"file":0,"text":"rules: [{ a: 1 }]","name":"stamp"}"#, 422),
    ]) func recipeThatDoesNotFitIsRefused(_ body: String, _ status: Int) async throws {
        try await withRecipe { bed in
            let answer = try await bed.ask("recipe", body)
            #expect(answer.status == status && answer.answer["error"]?.string?.isEmpty == false)
        }
    }

    @Test(arguments: [("", 422), ("[]", 422), ("{", 422), ("{} {}", 422), ("7", 422), (#"{"a":1}"#, 200)])
    func typedDocumentIsChecked(_ text: String, _ status: Int) async throws {
        try await PlayTestBed.with { bed in
            let answer = try await bed.ask("change", #"{"text":\#(text.json)}"#)
            #expect(answer.status == status)
            if status == 422 { #expect(answer.answer["error"]?.string?.contains("the document") == true) }
            #expect(try await bed.ask("change", #"{"number":5,"text":"{}"}"#).status == 404)
        }
    }

    @Test func documentsAreListedInParts() async throws {
        try await PlayTestBed.with { bed in
            for number in 0..<250 { bed.samples.add(Sample(try JSONText(#"{"_id":"\#(number)"}"#), origin: "test")) }
            let answer = try await bed.ask("samples", #"{"from":200}"#).answer
            #expect(answer["total"]?.integer == 250 && answer["samples"]?.childCount == 50)
            #expect(try await bed.ask("samples", #"{"from":-5}"#).answer["from"]?.integer == 0)
            #expect(try await bed.ask("samples", #"{"from":9999}"#).answer["samples"]?.json == "[]")
            #expect(try await bed.ask("clear", "{}").answer["total"]?.integer == 0)
            #expect(bed.samples.count == 0)
        }
    }

    @Test func documentsOfTheGatewayAreAdded() async throws {
        let pick: PlaySettings.Picking = { selector, limit in
            if selector != "{}" { throw Failure() }
            var picked = PickedDocuments(
                try (0..<min(limit, 500)).map { try JSONText(#"{"_id":"\#($0)","_rev":"1-a"}"#) })
            picked.leaveOut("x", "forbidden")
            return picked
        }
        let change: (inout PlaySettings) -> Void = { $0.gateway = ("http://gateway/todo", pick) }
        try await PlayTestBed.with(change: change) { bed in
            let answer = try await bed.ask("pick", #"{"selector":"{}","limit":9999}"#).answer
            #expect(answer["added"]?.integer == 200 && answer["total"]?.integer == 200)
            // Regression: such documents were skipped silently.
            #expect(answer["unreadableDocumentCount"]?.integer == 1)
            #expect(answer["unreadableDocuments"]?.json == #"["'x': forbidden"]"#)
            let again = try await bed.ask("pick", #"{"selector":"{}"}"#).answer
            #expect(again["added"]?.integer == 0 && again["known"]?.integer == 200)
            // The gateway has gone away: the documents stay.
            let failed = try await bed.ask("pick", #"{"selector":""}"#)
            #expect(failed.status == 502)
            #expect(failed.answer["error"]?.string == "GET http://127.0.0.1:1/todo/_all_docs: no connection")
            #expect(bed.samples.count == 200)
        }
    }

    @Test func withoutGatewayNothingIsRead() async throws {
        try await PlayTestBed.with { bed in
            let refused = try await bed.ask("pick", #"{"selector":"{}"}"#)
            #expect(refused.status == 404)
            let opened = try await bed.ask("open", #"{"file":0}"#)
            #expect(opened.answer["gateway"]?.kind == .null)
        }
    }

    @Test func storeHasLimits() throws {
        let store = SampleStore()
        for _ in 0..<SampleStore.countLimit { #expect(store.add(Sample(try JSONText("{}"), origin: ""))) }
        #expect(!store.add(Sample(try JSONText("{}"), origin: "")))
        store.remove()
        let large = try JSONText(#"{"a":"\#(String(repeating: "x", count: 100 << 20))"}"#)
        #expect(store.add(Sample(large, origin: "")) && store.add(Sample(large, origin: "")))
        #expect(!store.add(Sample(large, origin: "")))
        #expect(!store.replace(0, with: Sample(large, before: large, origin: "")))
        #expect(store.replace(0, with: Sample(try JSONText("{}"), origin: "")) && store.add(Sample(large, origin: "")))
    }
}
