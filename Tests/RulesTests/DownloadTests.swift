import Foundation
import Locking
import LosslessJSON
import TestKit
import Testing

@testable import Rules

/// Attachments from URLs: the requests of a decision, and the use of the answers.
@Suite(.limitedParallelism) struct DownloadTests {
    /// Answers requests, and records them.
    private final class Server: Sendable {
        private let asked = Locked<[DownloadRequest]>([])
        private let answer: @Sendable (DownloadRequest) -> DownloadAnswer

        init(_ answer: @escaping @Sendable (DownloadRequest) -> DownloadAnswer) { self.answer = answer }

        var requests: [DownloadRequest] { asked.withLock { $0 } }

        var downloader: Downloader { Downloader(answer: { request, _, _ in self.answer(request) }) }

        func decide(_ rules: RuleSet, _ documents: String...) async throws -> [Decision] {
            let inputs = try documents.map { DecisionInput(try JSONText($0)) }
            return await rules.makeDecider().decide(
                on: inputs, now: 0,
                downloader: Downloader(answer: { request, _, _ in
                    self.asked.withLock { $0.append(request) }
                    return self.answer(request)
                }))
        }
    }

    private static let hello = AttachmentContent(Array("hello\n".utf8))
    private static let stub =
        #"{"content_type":"image/png","digest":"sha1-9XLTlvrpIGYocU+yzgD3LpTyJY8=","length":6,"stub":true}"#

    private static func rules(_ attach: String, when: String = "{}") throws -> RuleSet {
        try ruleSet(lines: "name: a, when: \(when), then: [attach: {name: image, \(attach)}]")
    }

    @Test func contentIsAttached() async throws {
        let server = Server { _ in .content(Self.hello, contentType: "image/png") }
        let decision = try await server.decide(try Self.rules("url: 'https://Example.org/a.png?x=1'"), #"{"x":1}"#)[0]
        #expect(decision.error == nil)
        #expect(decision.document.string == #"{"x":1,"_attachments":{"image":\#(Self.stub)}}"#)
        #expect(
            String(decoding: decision.bodySegments().joined(), as: UTF8.self)
                == #"{"x":1,"_attachments":{"image":{"content_type":"image/png","data":"aGVsbG8K"}}}"#)
        // Not again in the second pass.
        #expect(server.requests.map(\.url) == ["https://example.org/a.png?x=1"])
        #expect(server.requests.map(\.place) == ["https://example.org/a.png"])
        #expect(server.requests.first?.lengthLimit == 5 << 20)
        #expect(server.requests.first?.types == ["image/*"])
    }

    @Test(arguments: [
        ("path: {jq: '\"/p/\" + .n + \".png\"'}", #"{"n":"7"}"#, "https://h/p/7.png"),
        ("path: /fixed", #"{}"#, "https://h/fixed"), ("content_type: image/gif", "{}", "https://h/x"),
    ])
    func requestedURLComesFromTheRule(keys: String, document: String, url: String) async throws {
        let server = Server { _ in .content(Self.hello, contentType: "image/png") }
        let decision = try await server.decide(try Self.rules("url: 'https://h/x', \(keys)"), document)[0]
        #expect(decision.error == nil)
        #expect(server.requests.map(\.url) == [url])
        let type = decision.attachments["image"]?.contentType
        #expect(type == (keys.hasPrefix("content_type") ? "image/gif" : "image/png"))
    }

    @Test func pathProgramWithoutOutputAttachesNothing() async throws {
        let server = Server { _ in .failed(reason: "asked") }
        let decision = try await server.decide(try Self.rules("url: 'https://h', path: {jq: .path}"), "{}")[0]
        #expect(decision.error == nil)
        #expect(!decision.isChanged)
        #expect(server.requests.isEmpty)
    }

    @Test(arguments: [
        (#"{"path":"//evil.org/x"}"#, nil), (#"{"path":"@evil.org/"}"#, "the path must begin with '/'"),
        (#"{"path":"/a/../b"}"#, "the path can't contain the segments '.' and '..'"),
        (#"{"path":"/a b"}"#, "the path can't contain the character ' '"),
        (#"{"path":"/a\r\nHost: x"}"#, "the path can't contain the character"),
    ])
    func documentCannotChooseTheHost(document: String, error: String?) async throws {
        let server = Server { _ in .content(Self.hello, contentType: "image/png") }
        let decision = try await server.decide(try Self.rules("url: 'https://h', path: {jq: .path}"), document)[0]
        #expect(server.requests.allSatisfy { $0.origin == "https://h" })
        if let error {
            #expect(decision.error?.description.contains(error) == true, "\(decision.error as Any)")
        } else {
            #expect(decision.error == nil)
        }
    }

    @Test func requestNamesTheExistingAttachment() async throws {
        let server = Server { _ in .unchanged }
        let document = #"{"_attachments":{"image":\#(Self.stub)}}"#
        let decision = try await server.decide(try Self.rules("url: 'https://h/x'"), document)[0]
        #expect(decision.fired == [0])
        #expect(!decision.isChanged)
        #expect(
            server.requests.first?.existing
                == DownloadRequest.Existing(
                    digest: "sha1-9XLTlvrpIGYocU+yzgD3LpTyJY8=", length: 6, contentType: "image/png"))
    }

    @Test func sameContentIsNotAttachedAgain() async throws {
        let server = Server { _ in .content(Self.hello, contentType: "image/png") }
        let document = #"{"_attachments":{"image":\#(Self.stub)}}"#
        let decision = try await server.decide(try Self.rules("url: 'https://h/x'"), document)[0]
        #expect(!decision.isChanged)
        #expect(decision.attachments.isEmpty)
    }

    @Test func failureIsAnErrorOfItsDocument() async throws {
        let server = Server { request in
            request.path == "/bad"
                ? .failed(reason: "https://h/bad is gone") : .content(Self.hello, contentType: "image/png")
        }
        let rules = try Self.rules("url: 'https://h', path: {jq: .p}")
        let decisions = try await server.decide(rules, #"{"p":"/bad"}"#, #"{"p":"/good"}"#)
        #expect(decisions[0].error?.description == "rule 'a': attach: https://h/bad is gone")
        #expect(decisions[0].error?.wait == nil)
        #expect(decisions[1].isChanged)
    }

    @Test func skippableRuleIsSkippedOnlyAfterAPermanentFailure() async throws {
        let rules = try ruleSet(
            lines: "name: a, on_error: skip, when: {}, then: [attach: {name: i, url: 'https://h/'}]")
        let failed = try await Server { _ in .failed(reason: "gone") }.decide(rules, "{}")[0]
        #expect(failed.error == nil)
        #expect(failed.skipped.map(\.reason) == ["attach: gone"])
        let waits = try await Server { _ in .later(reason: "down", wait: .seconds(3)) }.decide(rules, "{}")[0]
        #expect(waits.error?.wait == .seconds(3))
        #expect(waits.skipped.isEmpty)
    }

    @Test func eachElementGetsItsAttachment() async throws {
        let rules = try ruleSet(
            lines: "name: a, when: {}, then: [{for_each: '.lines[]', attach: {name: {jq: $item.sku}, "
                + "url: 'https://h', path: {jq: '\"/\" + $item.sku'}}}]")
        let server = Server { .content(AttachmentContent(Array($0.path.utf8)), contentType: "image/png") }
        let decision = try await server.decide(rules, #"{"lines":[{"sku":"a"},{"sku":"b"}]}"#)[0]
        #expect(decision.error == nil)
        #expect(decision.attachments.keys.sorted() == ["a", "b"])
        #expect(server.requests.map(\.path).sorted() == ["/a", "/b"])
    }

    /// 40 pictures of 1 MiB are not in memory at once.
    @Test func downloadedBytesOfABatchAreBounded() async throws {
        let server = Server { request in
            .content(
                AttachmentContent([UInt8](repeating: request.path.utf8.last ?? 0, count: 1 << 20)),
                contentType: "image/png")
        }
        let rules = try Self.rules("url: 'https://h', path: {jq: '\"/\" + (.n|tostring)'}")
        let inputs = try (0..<40).map { DecisionInput(try JSONText(#"{"n":\#($0)}"#)) }
        let decisions = await rules.makeDecider().decide(on: inputs, now: 0, downloader: server.downloader)
        let decided = decisions.filter(\.isChanged)
        #expect(!decided.isEmpty && decided.count < 20)
        #expect(decisions.filter { !$0.isChanged }.allSatisfy { $0.error?.wait == .zero })
    }

    @Test func sameURLIsRequestedOnce() async throws {
        let server = Server { _ in .content(Self.hello, contentType: "image/png") }
        let decisions = try await server.decide(try Self.rules("url: 'https://h/x'"), "{}", #"{"a":1}"#, #"{"b":1}"#)
        let areChanged = decisions.map(\.isChanged)
        #expect(areChanged == [true, true, true])
        #expect(server.requests.count == 1)
    }

    @Test func previewShowsTheURL() async throws {
        let rules = try Self.rules("url: 'https://h/x.png?k=v'", when: "{_attachments.image: {$exists: false}}")
        let input = try JSONText(#"{"_id":"t"}"#)
        let decision = try #require(await rules.makeDecider().decide(on: [DecisionInput(input)], now: 0).first)
        #expect(decision.error == nil)
        #expect(decision.attachments["image"]?.isDownloaded == false)
        let line = String(decoding: DecisionReport(input, decision, names: rules.names).line(), as: UTF8.self)
        #expect(line.contains(#""attachments":["image"]"#))
        #expect(line.contains(#""effects":[{"action":"attach","name":"image","url":"https://h/x.png?k=v"}]"#))
    }

    @Test func ruleFileTestCanExpectAURL() async throws {
        let yaml = """
            version: 1
            rules: [{name: a, when: {}, then: [{attach: {name: i, url: 'https://h/a.png'}}]}]
            tests:
              - {name: t, given: {_id: x}, expect: {attachments: {i: {url: 'https://h/a.png', content_type: image/png}}}}
              - {name: u, given: {_id: x}, expect: {attachments: {i: {url: 'https://h/b.png'}}}}
            """
        let shared = RuleReading.Shared()
        let file = RuleFile(path: "r.yaml", bytes: Array(yaml.utf8), shared: shared)
        #expect(file.errors == [] && shared.programs.compile() == [])
        let files = RuleFileSet(files: [file], programs: shared.programs.all, attached: shared.attachments.paths)
        #expect(await files.runTests(now: 0).map(\.hasPassed) == [true, false])
    }

    @Test(arguments: [
        ("image/png", true), ("IMAGE/PNG", true), ("image/png; q=1", true), ("text/html", false), ("imagex/png", false),
    ])
    func mediaTypePatternsAreMatched(type: String, isPermitted: Bool) async throws {
        let server = Server { _ in .unchanged }
        _ = try await server.decide(try Self.rules("url: 'https://h/x'"), "{}")
        #expect(server.requests.first?.permits(type) == isPermitted)
    }

    @Test(arguments: [
        ("url: 'ftp://h/x'", "'url' must begin with https:// or http://; write https://HOST/PATH"),
        (
            "url: {jq: .url}",
            "'url' can't be computed: a document must not choose the server; write out the scheme, host and port, "
                + "and compute the rest with path: { jq: … }"
        ),
        ("url: 'https://h', file: a.png", "'file' and 'url' are two sources of one attachment; remove one"),
        ("file: a.png, max_size: 1MB", "'max_size' is for 'url' only; write url: https://…, or remove it"),
        (
            "url: 'https://h', max_size: 21MB",
            "'max_size' is at most 20MB: Sync Gateway accepts no larger attachments; lower it"
        ),
        ("url: 'https://h', max_size: big", "'max_size' must be a size such as 5MB or 100MB; correct it"),
        ("url: 'https://h', timeout: 6m", "'timeout' is at most 5m; lower it"),
        ("url: 'https://h', timeout: 5", "'timeout' must be a time with its unit, such as 30s or 5m; correct it"),
        (
            "url: 'https://h', types: [png]",
            "'types' must be a list of media types: types: [image/png, image/*]; correct it"
        ),
        (
            "url: 'https://h', types: []",
            "'types' must be a list of media types: types: [image/png, image/*]; correct it"
        ),
        ("url: 'https://h', folder: a", "'folder' is for 'file' only; remove it, or replace 'url' with file: PATH"),
        (
            "url: 'https://h', token_file: t, token_command: a",
            "'token_file' and 'token_command' are two ways to log in; remove one"
        ),
        ("file: a.png, token_url: 'https://i'", "'token_url' is for 'url' only; write url: https://…, or remove it"),
        ("url: 'http://h', ca_file: a", "'ca_file' has no meaning with http://; write https://"),
    ])
    func invalidDownloadsAreRefused(keys: String, message: String) {
        let found = errors("version: 1\nrules:\n- {name: a, when: {}, then: [attach: {name: i, \(keys)}]}\n")
        #expect(found.contains { $0.hasSuffix(": " + message) }, "\(found)")
    }

    @Test func mappingWithADownloadIsRefused() {
        let found = errors(
            "version: 1\nkind: mapping\nrules: [{name: a, when: {}, then: [attach: {name: i, url: 'https://h'}]}]\n")
        #expect(found.count == 1)
        #expect(found.first?.contains("a mapping can't download; use 'file'") == true)
    }

    @Test func pathsAreRelativeToTheRuleFile() throws {
        let rules = try ruleSet(
            "version: 1\nrules: [{name: a, when: {}, then: [attach: {name: i, url: 'https://h', token_file: t}]}]\n",
            path: "rules/r.yaml")
        #expect(
            rules.downloadSources == [
                DownloadSource(origin: "https://h", tokenFile: "rules/t", tokens: nil, caFile: nil)
            ])
    }
}
