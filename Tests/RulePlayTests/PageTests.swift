import Foundation
import HTTPServing
import LosslessJSON
import TestKit
import Testing

@testable import RulePlay

/// What the server answers to anyone, and how.
@Suite struct PageTests {
    private func field(_ name: String, _ answer: Answer) -> String {
        answer.fields.first { $0.isNamed(name) }?.value ?? ""
    }

    @Test func pageRunsOnlyItsOwnScript() async throws {
        try await PlayTestBed.with { bed in
            let answer = await bed.get("/")
            #expect(answer.status == 200)
            let policy = field("Content-Security-Policy", answer)
            #expect(policy.contains("default-src 'none'") && policy.contains("script-src 'sha256-"))
            #expect(!policy.contains("'self' 'sha256-") && !policy.contains("unsafe"))
            #expect(field("X-Content-Type-Options", answer) == "nosniff")
            #expect(field("Cache-Control", answer) == "no-store")
            #expect(field("Cross-Origin-Resource-Policy", answer) == "same-origin")
            #expect(field("X-Frame-Options", answer) == "DENY")
        }
    }

    /// The page has no data before it has shown the token.
    @Test(arguments: ["open", "evaluate", "save", "samples", "pick"]) func dataNeedsTheToken(_ name: String)
        async throws
    {
        try await PlayTestBed.with { bed in
            let request = bed.request(name, "{}")
            let fields = request.fields.filter { !$0.isNamed(RequestGuard.tokenField) }
            let answer = await bed.answers.answer(Request("POST", request.target, fields: fields, body: request.body))
            #expect(answer.status == 401)
        }
    }

    @Test(arguments: [
        ("/api/open", 405), ("/other", 404), ("/editor/lib/codemirror.js", 404), ("/editor/../../../etc/passwd", 404),
        ("/editor/%2e%2e/r.yaml", 404), ("//api/open", 404), ("/r.yaml", 404),
    ]) func nothingElseIsServed(_ path: String, _ status: Int) async throws {
        try await PlayTestBed.with { bed in #expect(await bed.get(path).status == status) }
    }

    @Test func onlyFilesOfTheLibraryAreServed() async throws {
        try await withDirectory { folder in
            for file in EditorLibrary.files + ["secret.js"] { try write(file, in: folder) }
            try await PlayTestBed.with(change: { $0.library = EditorLibrary(folder: folder) }) { bed in
                for file in EditorLibrary.files {
                    let answer = await bed.get("/editor/" + file)
                    #expect(answer.status == 200)
                    #expect(
                        field("Content-Type", answer).hasPrefix(file.hasSuffix("css") ? "text/css" : "text/javascript"))
                }
                for path in ["/editor/secret.js", "/editor/", "/editor/lib/../secret.js", "/editor//lib/codemirror.js"]
                {
                    #expect(await bed.get(path).status == 404, "\(path)")
                }
                #expect(field("Content-Security-Policy", await bed.get("/")).contains("script-src 'self' 'sha256-"))
                let opened = try await bed.ask("open", #"{"file":0}"#)
                #expect(opened.answer["library"]?.childCount == 5)
            }
        }
    }

    /// A library of which a file is missing would not work.
    @Test func incompleteLibraryIsNotUsed() async throws {
        try await withDirectory { folder in
            for file in EditorLibrary.files.dropLast() { try write(file, in: folder) }
            #expect(!EditorLibrary(folder: folder).isInstalled)
        }
    }

    private func write(_ file: String, in folder: String) throws {
        let path = URL(fileURLWithPath: folder + "/" + file)
        try FileManager.default.createDirectory(
            at: path.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data("1".utf8).write(to: path)
    }

    @Test(arguments: ["", "[]", "{", "null", #"{"file":"0"}"#, #"{"file":7}"#, #"{"file":-1}"#])
    func badRequestIsExplained(_ body: String) async throws {
        try await PlayTestBed.with { bed in
            let (status, answer) = try await bed.ask("open", body)
            #expect([400, 404].contains(status))
            #expect(answer["error"]?.string?.isEmpty == false)
        }
    }

    @Test func unknownRequestIsRefused() async throws {
        try await PlayTestBed.with { bed in
            let answer = try await bed.ask("shutdown", "{}")
            #expect(answer.status == 404)
        }
    }
}
