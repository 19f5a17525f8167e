import Foundation
import HTTPServing
import Locking
import LosslessJSON
import TestKit
import Testing

@testable import RulePlay

/// What a page is told after each change of its text.
@Suite(.limitedParallelism) struct EvaluationTests {
    private func add(_ bed: PlayTestBed, _ documents: String...) throws {
        for text in documents { bed.samples.add(Sample(try JSONText(text), origin: "test")) }
    }

    @Test func errorsComeFirstAndEverythingFollows() async throws {
        try await PlayTestBed.with { bed in
            try add(bed, #"{"_id":"a","type":"task"}"#, #"{"_id":"b"}"#)
            let lines = try await bed.evaluate(PlayTestBed.rules, #""visible":[0,1,7],"selected":0,"counts":true"#)
            #expect(lines.names == ["diagnostics", "results", "detail", "explanation", "tests", "counts", "end"])
            #expect(lines["results"]?.elements.map { $0["fired"]?.json ?? "" } == [#"["stamp"]"#, "[]"])
            #expect(lines["detail"]?["diff"]?.json == #"["+ new"]"#)
            #expect(lines["explanation"]?["rules"]?.element(0)?["outcome"]?.string == "fires")
            #expect(lines["counts"]?["decided"]?.integer == 2)
            #expect(lines["counts"]?["changed"]?.integer == 1)
        }
    }

    @Test func textWithErrorsHasOnlyThese() async throws {
        try await PlayTestBed.with { bed in
            try add(bed, "{}")
            let lines = try await bed.evaluate("version: 1\nrules:\n  - name: a\n    whn: {}\n")
            #expect(lines.names == ["diagnostics", "end"])
            let first = lines["diagnostics"]?.element(0)
            #expect(first?["severity"]?.string == "error")
            #expect(lines["diagnostics"]?.elements.contains { $0["line"]?.integer == 3 } == true)
        }
    }

    /// Columns are counted as JavaScript counts them.
    @Test func placesAreThoseOfTheBrowser() async throws {
        try await PlayTestBed.with { bed in
            let lines = try await bed.evaluate(
                "version: 1\nrules: [{ name: \u{1F34E}, whn: {}, then: [] }]\n", #""visible":[]"#)
            let columns = lines["diagnostics"]?.elements.compactMap { $0["column"]?.integer } ?? []
            #expect(columns.contains(20), "\(columns)")
        }
    }

    /// Regression: names in any other file of the folder were reported.
    @Test func namesMustDifferOnlyFromThoseOfTheGivenFiles() async throws {
        for (given, isReported) in [([], false), (["other.yaml"], true)] as [([String], Bool)] {
            try await PlayTestBed.with(files: given) { bed in
                try Data(PlayTestBed.rules.utf8).write(to: URL(fileURLWithPath: bed.folder + "/other.yaml"))
                let lines = try await bed.evaluate(PlayTestBed.rules)
                #expect(lines.string("diagnostics").contains("another rule is named 'stamp'") == isReported)
            }
        }
    }

    @Test func effectsAreShownAndNotCarriedOut() async throws {
        let rules = """
            version: 1
            rules:
              - name: report
                when: { type: task }
                on: [enter]
                then:
                  - webhook: { url: "http://127.0.0.1:1/hook", body: { id: { jq: ._id } } }
                  - put: { id: { jq: '"copy." + ._id' }, document: { type: copy } }
                  - emit: { file: out.ndjson, line: { a: 1 } }
              - name: remind
                when: { due: { $exists: true } }
                at: .due
                then: [{ merge: { reminded: true } }]
            """
        try await PlayTestBed.with { bed in
            try add(bed, #"{"_id":"a","type":"task","due":"2030-01-01T00:00:00Z"}"#)
            let lines = try await bed.evaluate(rules)
            #expect(lines.string("diagnostics").contains("\"error\"") == false, "\(lines.string("diagnostics"))")
            let actions = lines["detail"]?["effects"]?.elements.compactMap { $0["action"]?.string }
            #expect(actions == ["put", "webhook", "emit", "timer"], "\(lines.string("detail"))")
            let timer = lines["detail"]?["timers"]?.element(0)
            #expect(timer?["at"]?.string == "2030-01-01T00:00:00Z" && timer?["due"]?.bool == false)
            #expect(try FileManager.default.contentsOfDirectory(atPath: bed.folder) == ["r.yaml"])
            let late = try await bed.evaluate(rules, #""visible":[],"selected":0,"now":2000000000"#)
            #expect(late["detail"]?["timers"]?.element(0)?["due"]?.bool == true)
            #expect(late["detail"]?["fired"]?.json == #"["report","remind"]"#)
        }
    }

    @Test func earlierDocumentDecidesWhatHasChanged() async throws {
        let rules = """
            version: 1
            rules:
              - { name: r, when: { done: true }, on: [enter], then: [{ merge: { seen: true } }] }
            """
        try await PlayTestBed.with { bed in
            for before in ["", #"{"_id":"a","done":false}"#, #"{"_id":"a","done":true}"#] {
                let body = #"{"text":"{\"_id\":\"a\",\"done\":true}","before":\#(before.json)}"#
                #expect(try await bed.ask("change", body).status == 200)
            }
            let lines = try await bed.evaluate(rules, #""visible":[0,1,2]"#)
            #expect(lines["results"]?.elements.map { $0["fired"]?.childCount ?? 9 } == [1, 1, 0])
        }
    }

    /// Regression: such texts counted as the same one, and the results of the older one were shown.
    @Test func textsThatOnlyLookAlikeAreDistinct() async throws {
        try await PlayTestBed.with { bed in
            try add(bed, #"{"_id":"a","type":"task"}"#)
            for name in ["cafe\u{301}", "caf\u{E9}"] {
                let lines = try await bed.evaluate(PlayTestBed.rules.replacing("stamp", with: name))
                let fired = try #require(lines["results"]?.element(0)?["fired"]?.element(0)?.string)
                #expect(Array(fired.utf8) == Array(name.utf8))
            }
        }
    }

    /// Regression: any file of this machine was sent to the page as a picture.
    @Test(
        arguments: [
            ([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], "image/png", true),
            ([0xFF, 0xD8, 0xFF, 0xE0], "image/jpeg", true),
            (Array("GIF87a".utf8), "image/gif", true), (Array("GIF89a".utf8), "image/gif", true),
            (Array("RIFF\u{1}\u{2}\u{3}\u{4}WEBPVP8 ".utf8), "image/webp", true), ([], "image/png", false),
            (Array("root:x:0:0:root:/root:/bin/bash\n".utf8), "image/png", false), ([0x89, 0x50], "image/png", false),
            (Array("RIFF\u{1}\u{2}\u{3}\u{4}WAVEfmt ".utf8), "image/webp", false),
            (Array("GIF89a".utf8), "image/png", false), (Array("<svg/>".utf8), "image/svg+xml", false),
        ] as [([UInt8], String, Bool)]) func onlyPicturesAreShown(
            _ content: [UInt8], _ type: String, _ isShown: Bool
        ) async throws
    {
        try await PlayTestBed.with { bed in
            try Data(content).write(to: URL(fileURLWithPath: bed.folder + "/file"))
            try add(bed, #"{"_id":"a","type":"task"}"#)
            let lines = try await bed.evaluate(
                PlayTestBed.rules.replacing(
                    "merge: { done: true }", with: "attach: { name: i, file: file, content_type: \(type) }"))
            let attachment = try #require(lines["detail"]?["attachments"]?.element(0))
            #expect(attachment["length"]?.integer == content.count)
            #expect((attachment["picture"] != nil) == isShown)
        }
    }

    /// Another program's limit ends it. Errors and warnings do not wait for it.
    @Test func programWithoutEndBlocksNothing() async throws {
        let rules = """
            version: 1
            rules:
              - { name: loop, when: { a: 1 }, then: [{ merge: { x: { jq: "[repeat(1)] | length" } } }] }
            """
        try await PlayTestBed.with { bed in
            try add(bed, #"{"_id":"a","a":1}"#)
            let lines = try await bed.evaluate(rules, #""visible":[0]"#)
            #expect(lines.names.first == "diagnostics" && lines.names.last == "end")
            #expect(lines["results"]?.element(0)?["error"]?.string?.contains("loop") == true)
        }
    }

    @Test func newerTextEndsTheOlderEvaluation() async throws {
        try await PlayTestBed.with { bed in
            for number in 0..<1000 { try add(bed, #"{"_id":"\#(number)","type":"task"}"#) }
            let body = #"{"page":"p","file":0,"text":\#(PlayTestBed.rules.json),"visible":[],"counts":true}"#
            guard case .streamed(let older) = await bed.answers.answer(bed.request("evaluate", body)).body,
                case .streamed(let newer) = await bed.answers.answer(bed.request("evaluate", body)).body
            else { throw CancellationError() }
            let sent = Locked<[UInt8]>([])
            try await older { bytes in sent.withLock { $0 += bytes } }
            #expect(sent.withLock { $0 } == [])
            try await newer { bytes in sent.withLock { $0 += bytes } }
            let text = String(decoding: sent.withLock { $0 }, as: UTF8.self)
            #expect(text.contains(#""decided":1000,"#) && text.hasSuffix("{\"end\":true}\n"))
        }
    }

    @Test func otherPagesAreNotDisturbed() {
        let latest = LatestRequests()
        let (first, other) = (latest.begin("a"), latest.begin("b"))
        #expect(latest.isLatest(first, of: "a") && latest.isLatest(other, of: "b"))
        let second = latest.begin("a")
        #expect(!latest.isLatest(first, of: "a") && latest.isLatest(second, of: "a"))
        for number in 0..<100 { _ = latest.begin("page \(number)") }
        #expect(!latest.isLatest(second, of: "a") && latest.isLatest(latest.begin("a"), of: "a"))
    }

    @Test func hostileTextsStayTexts() async throws {
        let hostile = "</script><img src=x onerror=alert(1)>\u{2028}\u{202E}\u{0}"
        try await PlayTestBed.with { bed in
            let document = #"{"_id":\#(hostile.json),"type":"task","\#("<b>")":\#(hostile.json)}"#
            try add(bed, document)
            let lines = try await bed.evaluate(
                "version: 1\nrules: [{ name: \(hostile.json), when: { type: task }, then: [{ merge: { a: 1 } }] }]\n")
            #expect(lines.names.last == "end")
            let listed = try await bed.ask("samples", "{}").answer
            #expect(listed["samples"]?.element(0)?["id"]?.string == hostile)
        }
    }

    /// Regression: the results of all documents waited for the longest one.
    @Test func longDocumentsAreDecidedLast() async throws {
        try await PlayTestBed.with { bed in
            let long = String(repeating: "x", count: Evaluation.longDocument)
            try add(
                bed, #"{"_id":"a","type":"task","long":"\#(long)\#(long)"}"#,
                #"{"_id":"b","type":"task","long":"\#(long)"}"#, #"{"_id":"c","type":"task"}"#)
            let lines = try await bed.evaluate(PlayTestBed.rules, #""visible":[0,1,2],"selected":0,"counts":true"#)
            #expect(
                lines.names == [
                    "diagnostics", "deciding", "results", "tests", "counts", "results", "detail", "counts", "results",
                    "counts", "explanation", "end",
                ])
            #expect(lines.string("deciding") == "[0,1]")
            let numbers = lines.all("results").flatMap { $0.elements.compactMap { $0["number"]?.integer } }
            #expect(numbers == [2, 0, 1])
            #expect(lines.all("counts").compactMap { $0["decided"]?.integer } == [1, 2, 3])
            #expect(lines.all("counts").allSatisfy { $0["total"]?.integer == 3 })
            // The chosen document does not wait for others.
            let short = try await bed.evaluate(PlayTestBed.rules, #""visible":[0,1,2],"selected":2"#)
            #expect(short.names.prefix(5) == ["diagnostics", "deciding", "results", "detail", "explanation"])
        }
    }

    /// Decisions can't be interrupted, so those of an older text must not pile up.
    @Test func longDocumentsOfAnOlderTextAreNotDecided() async throws {
        try await PlayTestBed.with { bed in
            try add(bed, #"{"_id":"a","type":"task","x":"\#(String(repeating: "x", count: Evaluation.longDocument))"}"#)
            let body = #"{"page":"p","file":0,"text":\#(PlayTestBed.rules.json),"visible":[0],"counts":true}"#
            guard case .streamed(let older) = await bed.answers.answer(bed.request("evaluate", body)).body else {
                throw CancellationError()
            }
            let sent = Locked<[UInt8]>([])
            let (answers, request) = (bed.answers, bed.request("evaluate", body))
            try await older { bytes in
                // Another text arrives when the tests of this one are done.
                if bytes.starts(with: Array(#"{"tests""#.utf8)) { _ = await answers.answer(request) }
                sent.withLock { $0 += bytes }
            }
            let text = String(decoding: sent.withLock { $0 }, as: UTF8.self)
            #expect(text.contains(#"{"deciding":[0]}"#) && !text.contains(#"{"results""#))
        }
    }

    /// A rule file of 5 MB, and a document of 20 MB.
    @Test func largeTextsAreAnswered() async throws {
        try await PlayTestBed.with { bed in
            let long = String(repeating: "x", count: 20 << 20)
            bed.samples.add(Sample(try JSONText(#"{"_id":"a","type":"task","long":"\#(long)"}"#), origin: "test"))
            let comment = String(repeating: "# a comment that makes the file long\n", count: 5 << 20 / 37)
            let lines = try await bed.evaluate(comment + PlayTestBed.rules)
            #expect(lines["results"]?.element(0)?["fired"]?.json == #"["stamp"]"#)
            #expect(lines.string("detail").utf8.count < 64 << 10)
            #expect(lines["detail"]?["diff"]?.element(0)?.string?.contains("too many to be compared") == true)
            let shown = try await bed.ask("sample", #"{"number":0}"#).answer
            #expect(shown["isWhole"]?.bool == false && (shown["text"]?.string?.utf8.count ?? 0) < 32 << 10)
            #expect(try await bed.ask("change", #"{"text":"{\"a\":\"\#(long.prefix(5 << 20))\"}"}"#).status == 413)
        }
    }
}
