import Foundation
import GatewayClient
import LosslessJSON
import RulePlay
import TestKit
import Testing

@testable import changebot

/// `rules play`, as a user starts it, without a browser.
@Suite(.limitedParallelism) struct RulesPlayCommandTests {
    private static let rules = """
        version: 1
        rules:
          - { name: stamp, when: { type: task, done: { $exists: false } }, then: [{ merge: { done: true } }] }

        """

    private func with(_ arguments: [String], _ body: (Playground, String) async throws -> Void) async throws {
        try await Program.withDirectory { folder in
            try Data(Self.rules.utf8).write(to: URL(fileURLWithPath: folder + "/r.yaml"))
            try Data("{\"_id\":\"a\",\"type\":\"task\"}\nbroken\n{\"_id\":\"b\"}\n".utf8)
                .write(to: URL(fileURLWithPath: folder + "/d.ndjson"))
            let playground = try await Playground.start(
                arguments.map { $0.replacing("FOLDER", with: folder) }, in: folder)
            try await body(playground, folder)
            #expect(await playground.process.stop() == 0)
        }
    }

    @Test func addressIsPrintedAndFilesAreServed() async throws {
        try await with(["FOLDER", "FOLDER/r.yaml", "FOLDER/new.yaml", "--input", "FOLDER/d.ndjson"]) {
            playground, folder in
            #expect(playground.url.wholeMatch(of: /http:\/\/127\.0\.0\.1:[0-9]+\/#[0-9a-f]{32}/) != nil)
            let opened = try JSONText(try await playground.ask("open", #"{"file":0}"#).body).root
            #expect(opened["files"]?.elements.compactMap(\.string) == [folder + "/r.yaml", folder + "/new.yaml"])
            #expect(opened["samples"]?.integer == 2)
            // Regression: only stderr told of documents that can't be read.
            #expect(opened["unreadableDocumentCount"]?.integer == 1)
            let unreadable = opened["unreadableDocuments"]?.element(0)?.string ?? ""
            #expect(
                unreadable.hasPrefix(folder + "/d.ndjson:2:1: not JSON: ") && unreadable.contains("; "), "\(unreadable)"
            )
            let errors = try String(contentsOfFile: folder + "/play-errors", encoding: .utf8)
            #expect(errors.contains("d.ndjson:2:1"), "\(errors)")
        }
    }

    /// Regression: the second one was taken for the first.
    @Test func filesWithNamesThatOnlyLookAlikeAreDistinct() async throws {
        try await Program.withDirectory { folder in
            let paths = ["caf\u{E9}.yaml", "cafe\u{301}.yaml"].map { folder + "/" + $0 }
            let files = try PlayFile.all(paths.flatMap { [$0, $0] })
            #expect(files.map { Array($0.path.utf8) } == paths.map { Array($0.utf8) })
        }
    }

    @Test func savedFileKeepsItsModeAndItsLink() async throws {
        try await Program.withDirectory { folder in
            let (file, link) = (folder + "/r.yaml", folder + "/link.yaml")
            try Data(Self.rules.utf8).write(to: URL(fileURLWithPath: file))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "r.yaml")
            let playground = try await Playground.start([link], in: folder)
            let opened = try JSONText(try await playground.ask("open", #"{"file":0}"#).body).root
            let version = opened["fileVersion"]?.string ?? ""
            let saved = try await playground.ask(
                "save", #"{"file":0,"text":"version: 1\n","fileVersion":"\#(version)"}"#)
            #expect(saved.status == 200)
            #expect(try String(contentsOfFile: file, encoding: .utf8) == "version: 1\n")
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == "r.yaml")
            let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            #expect(await playground.process.stop() == 0)
        }
    }

    /// Other users can see the arguments of a process, so they do not contain the secret.
    @Test func browserGetsTheAddressInAPrivateFile() async throws {
        try await Program.withDirectory { folder in
            let program = folder + "/xdg-open"
            let script =
                "#!/bin/sh\nstat -c %a \"$1\" \"${1%/*}\" > \(folder)/seen\ncat \"$1\" >> \(folder)/seen\n"
                + "echo \"$1\" >> \(folder)/seen\nmv \(folder)/seen \(folder)/opened\n"
            try Data(script.utf8).write(to: URL(fileURLWithPath: program))
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program)
            let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
            let playground = try await Playground.start(
                [folder + "/new.yaml"], in: folder, opens: true,
                environment: ["DISPLAY": ":77", "PATH": folder + ":" + path])
            let opened = folder + "/opened"
            try await playground.process.waitUntil { FileManager.default.fileExists(atPath: opened) }
            let lines = try String(contentsOfFile: opened, encoding: .utf8).split(separator: "\n")
            #expect(lines[1] == "700" && lines[2].contains("url=" + playground.url + "\""))
            let file = String(lines.last ?? "")
            #expect(!file.contains("#") && FileManager.default.fileExists(atPath: file))
            #expect(await playground.process.stop() == 0)
            #expect(!FileManager.default.fileExists(atPath: file))
        }
    }

    /// Regression: the text got a rule whose picture does not exist.
    @Test func recipeOfAMissingPictureNamesThoseThatExist() async throws {
        try await with(["FOLDER/r.yaml"]) { playground, folder in
            try Data("x".utf8).write(to: URL(fileURLWithPath: folder + "/mine.png"))
            let choices = try await playground.ask("choices", #"{"file":0,"name":"attach-picture"}"#).body
            #expect(choices.contains(#""picture":["mine.png","apple.png","coffee.png","potatoes.png"]"#), "\(choices)")
            for (picture, status) in [("none.png", 422), ("mine.png", 200), ("coffee.png", 200)] {
                let body = #"{"file":0,"text":"","name":"attach-picture","values":{"picture":"\#(picture)"}}"#
                let answer = try await playground.ask("recipe", body)
                #expect(answer.status == status)
                #expect((status == 200) != answer.body.contains("or choose one of mine.png"), "\(answer.body)")
            }
            #expect(FileManager.default.fileExists(atPath: folder + "/coffee.png"))
        }
    }

    /// Regression: a write-protected file was replaced.
    @Test(.enabled(if: getuid() != 0)) func protectedFileIsNotReplaced() async throws {
        try await Program.withDirectory { folder in
            let file = folder + "/r.yaml"
            try Data(Self.rules.utf8).write(to: URL(fileURLWithPath: file))
            try FileManager.default.setAttributes([.posixPermissions: 0o444], ofItemAtPath: file)
            let error = #expect(throws: CommandError.self) { try OutputFile.writeUnlessProtected([], to: file) }
            #expect(error?.description == "\(file) is write-protected; run chmod u+w \(file)")
        }
    }

    @Test func portInUseIsNamed() async throws {
        try await with(["FOLDER/r.yaml"]) { playground, folder in
            let port = try #require(playground.url.firstMatch(of: /127\.0\.0\.1:[0-9]+/)?.output)
            let second = try await Program.run([
                "rules", "play", folder + "/r.yaml", "--no-open", "--listen", String(port),
            ])
            #expect(second.code == 69)
            #expect(second.errors.contains("can't listen on \(port): ") && second.errors.contains("0 picks a free one"))
        }
    }

    @Test(
        arguments: [
            (["--listen", "0.0.0.0:0"], 64, "listens on this machine only"),
            (["--listen", "x"], 64, "write HOST:PORT"),
            (["--input", "none.ndjson"], 66, "none.ndjson"),
            (["--gateway", "embedded:none.sqlite"], 66, "there is no file"),
        ] as [([String], Int32, String)]) func wrongOptionIsExplained(
            _ options: [String], _ code: Int32, _ part: String
        ) async throws
    {
        try await Program.withDirectory { folder in
            let result = try await Program.run(["rules", "play", folder + "/new.yaml", "--no-open"] + options)
            #expect(result.code == code && result.errors.contains(part), "\(result.errors)")
        }
    }

    @Test(arguments: [("new.txt", "ends with .yaml"), ("none/new.yaml", "new.yaml"), ("empty", "has no rule files")])
    func wrongPathIsExplained(_ path: String, _ part: String) async throws {
        try await Program.withDirectory { folder in
            try FileManager.default.createDirectory(atPath: folder + "/empty", withIntermediateDirectories: false)
            let result = try await Program.run(["rules", "play", folder + "/" + path, "--no-open"])
            #expect(result.code == 66 && result.errors.contains(part), "\(result.errors)")
        }
    }

    /// Regression: such documents were skipped silently.
    @Test func unreadableDocumentsOfAGatewayAreNamed() async throws {
        let rows = [
            #"{"id":"a","key":"a","value":{"rev":"1-a"},"doc":{"_id":"a","_rev":"1-a","type":"task"}}"#,
            #"{"id":"b","key":"b","value":{"rev":"1-b"},"error":"forbidden","reason":"no channel"}"#,
            #"{"id":"c","key":"c","value":{"rev":"1-c"},"doc":{"_id":"c","_rev":"1-c","type":ta}}"#,
            #"{"id":"d","key":"d","value":{"rev":"1-d"},"doc":{"_id":"d","_rev":"1-d","type":"list"}}"#,
        ]
        let server = try TestServer { connection in
            try connection.serve { request in
                let isFirst = !request.target.contains("startkey")
                let (status, body) =
                    switch request.target.prefix(while: { $0 != "?" }) {
                    case "/": (200, #"{"couchdb":"Welcome","version":"3.5.0"}"#)
                    case "/todo/": (200, #"{"db_name":"todo","update_seq":"7-g1","doc_count":4,"props":{}}"#)
                    case "/todo/_all_docs":
                        (
                            200,
                            #"{"total_rows":4,"offset":0,"rows":["# + "\n"
                                + (isFirst ? rows : [rows[3]]).joined(separator: ",\n") + "\n]}\n"
                        )
                    case "/todo/_find": (403, #"{"error":"forbidden","reason":"no queries"}"#)
                    default: (404, #"{"error":"not_found","reason":"missing"}"#)
                    }
                try connection.answer(
                    status, headers: ["Content-Type: application/json", "Server: CouchDB/3.5.0 (Erlang OTP/25)"],
                    body: body)
            }
        }
        defer { server.stop() }
        try await with(["FOLDER/r.yaml", "--gateway", server.url("/todo")]) { playground, _ in
            let answer = try await playground.ask("pick", #"{"selector":"{\"type\":\"task\"}"}"#)
            #expect(answer.body.contains(#""added":1"#), "\(answer.body)")
            #expect(answer.body.contains(#""unreadableDocumentCount":2"#), "\(answer.body)")
            #expect(
                answer.body.contains(#"'b': no channel""#)
                    && answer.body.contains("'c': the gateway sent invalid JSON: "))
        }
    }

    @Test func documentsOfAGatewayAreReadAndNeverWritten() async throws {
        let documents = [#"{"_id":"a","type":"task"}"#, #"{"_id":"b","type":"list"}"#]
        try await CommandTestBed.with(documents, rules: "[]") { bed in
            let before = try await bed.document("a")?.bytes
            try Data(Self.rules.utf8).write(to: URL(fileURLWithPath: bed.folder + "/r.yaml"))
            let playground = try await Playground.start([bed.folder + "/r.yaml", "--gateway", bed.url], in: bed.folder)
            let picked = try await playground.ask("pick", #"{"selector":"{\"type\":\"task\"}"}"#)
            #expect(picked.body.contains(#""added":1"#), "\(picked.body)")
            let wrong = try await playground.ask("pick", #"{"selector":"{\"$no\":1}"}"#)
            #expect(wrong.status == 502 && wrong.body.contains("selector:1:2"), "\(wrong.body)")
            let evaluated = try await playground.ask(
                "evaluate", #"{"page":"p","file":0,"text":\#(Self.rules.jsonString),"visible":[0],"counts":true}"#)
            #expect(evaluated.body.contains(#""changed":1"#), "\(evaluated.body)")
            #expect(try await bed.document("a")?.bytes == before)
            #expect(await playground.process.stop() == 0)
        }
    }
}
