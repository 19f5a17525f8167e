import Foundation
import GatewayClient
import TestKit
import Testing

@Suite(.limitedParallelism) struct GatewayCommandTests {
    private static let users =
        #"{"databases":{"todo":{"guest":{"disabled":true},"users":{"amy":{"password":"secret","admin_channels":["*"]}}}}}"#

    @Test func configurationDefinesUsers() async throws {
        try await Program.withDirectory { folder in
            try Data(Self.users.utf8).write(to: URL(fileURLWithPath: folder + "/users.json"))
            let process = try ChildProcess([
                Program.path, "gateway", "--listen", "127.0.0.1:0", "--config", folder + "/users.json",
            ])
            defer { process.kill() }
            let url = try #require(await process.readLine()?.split(separator: " ").last.map(String.init))
            let run = [
                "run", "--once", "--gateway", url, "--rules", Program.pictureRules, "--state", folder + "/state",
            ]
            #expect(try await Program.run(run).code == 77)
            let amy = ["CHANGEBOT_USER": "amy", "CHANGEBOT_PASSWORD": "secret"]
            #expect(try await Program.run(run, environment: amy).code == 0)
            let wrong = try await Program.run(
                run, environment: ["CHANGEBOT_USER": "amy", "CHANGEBOT_PASSWORD": "guessed"])
            #expect(wrong.code == 77 && !wrong.errors.contains("guessed"))
        }
    }

    @Test(arguments: [
        (#"{"databases":{"todo":{"import_filter":"function(d){}"}}}"#, ":1:39: \"import_filter\" functions are not"),
        ("{\"databases\":{\"todo\":{\"sync\":\n `function(d) {\n let a; }`}}}", ":2:2: \"sync\" is not a function"),
        ("{", ":1:2: "),
        (#"{"databases":{"todo":{"scopes":{"a b":{"collections":{"c":{}}}}}}}"#, ":1:55: scopes and collections have"),
    ])
    func invalidConfigurationIsRefused(text: String, message: String) async throws {
        try await Program.withDirectory { folder in
            try Data(text.utf8).write(to: URL(fileURLWithPath: folder + "/users.json"))
            let result = try await Program.run(["gateway", "--config", folder + "/users.json"])
            #expect(result.code == 78)
            #expect(result.errors.hasPrefix(folder + "/users.json" + message), "\(result.errors)")
        }
        #expect(try await Program.run(["gateway", "--config", "/none.json"]).code == 66)
    }

    private static let faults = """
        seed: 3
        faults:
          - { name: lost answers, on: _bulk_docs, drop: after, times: 1 }
          - on: _bulk_docs
            status: { code: 503, retry_after: 0 }
            after: 1 # the one above
            times: 1
          - { on: _changes, slice: 5 }
          - duplicate: 1
          - reorder: 3
          - { on: _changes, cut: 200, times: 1 }
        """

    /// The bot continues through all faults, and the gateway counts them.
    @Test func gatewayInjectsRequestedFaults() async throws {
        try await Program.withDirectory { folder in
            try Data(Self.faults.utf8).write(to: URL(fileURLWithPath: folder + "/faults.yaml"))
            let process = try ChildProcess(
                [Program.path, "gateway", "--listen", "127.0.0.1:0", "--faults", folder + "/faults.yaml"],
                errors: folder + "/log")
            let url = try #require(await process.readLine()?.split(separator: " ").last.map(String.init))
            let phone = Gateway(try GatewayURL(url))
            for (id, name) in [("t1", "apple"), ("t2", "coffee"), ("t3", "potatoes"), ("t4", "tea")] {
                let body = Array(#"{"type":"task","task":"\#(name)","createdAt":"2026-11-20T10:00:00Z"}"#.utf8)
                _ = try await phone.put(DocumentID(id), body: body)
            }
            let result = try await Program.run([
                "run", "--once", "--gateway", url, "--rules", Program.pictureRules, "--state", folder + "/state",
            ])
            #expect(result.code == 0, "\(result.errors)")
            for id in ["t1", "t2", "t3"] {
                #expect(try await phone.attachment("image", of: DocumentID(id))?.isEmpty == false)
            }
            process.signal(SIGTERM)
            #expect(await process.wait() == 0)
            let log = try String(contentsOfFile: folder + "/log", encoding: .utf8)
            let beginning = #"warning fault enabled fault="lost answers" what="dropped after"#
            #expect(log.contains(beginning), "\(log)")
            #expect(log.contains(#"notice faults injected fault="lost answers" times=1"#), "\(log)")
            #expect(log.contains("fault=cut times=1") && log.contains("fault=status times=1"), "\(log)")
        }
    }

    @Test(arguments: [
        (
            "json", #"{"faults":[{"on":"_changes","lantency":"1s"}]}"#,
            ":1:29: unknown member \"lantency\"; known are name"
        ),
        ("json", "{\n", ":2:1: "),
        ("yaml", "faults:\n- on: \"ä\"\n  hang: true\n", ":2:7: \"on\" must be any or one of"),
        ("yaml", "faults:\n- hang: true\n  lantency: 1s", ":3:3: unknown member \"lantency\""),
        ("yaml", "faults:\n- on: _changes", ":2:3: the fault's effect is missing"),
        ("yaml", "faults: [\n", ":2:"),
        ("yaml", "# none\n", ":1:1: the file is empty; a faults file has 'faults:' with a list of faults\n"),
    ])
    func invalidFaultsAreRefused(kind: String, text: String, message: String) async throws {
        try await Program.withDirectory { folder in
            let file = folder + "/faults." + kind
            try Data(text.utf8).write(to: URL(fileURLWithPath: file))
            let result = try await Program.run(["gateway", "--faults", file])
            #expect(result.code == 65)
            #expect(result.errors.hasPrefix(file + message), "\(result.errors)")
        }
        #expect(try await Program.run(["gateway", "--faults", "/none.json"]).code == 66)
    }

    @Test func allErrorsOfAFaultsFileAreReported() async throws {
        try await Program.withDirectory { folder in
            let file = folder + "/faults.yaml"
            let text = "faults:\n- on: _changs\n  hang: true\n  share: 2\n- status: 99\n- latency: soon\n"
            try Data(text.utf8).write(to: URL(fileURLWithPath: file))
            let result = try await Program.run(["gateway", "--faults", file])
            #expect(result.code == 65)
            let places = result.errors.split(separator: "\n").map { line in
                line.dropFirst(file.count + 1).split(separator: ":").prefix(2).joined(separator: ":")
            }
            #expect(places == ["2:7", "4:10", "5:11", "6:12"], "\(result.errors)")
        }
    }
}
