import Foundation
import GatewayClient
import LosslessJSON
import TestKit
import Testing

@Suite(.limitedParallelism) struct ReplicateCommandTests {
    /// A gateway that requires a password, with three documents.
    private func withGateway(_ body: (_ folder: String, _ url: String) async throws -> Void) async throws {
        try await SecretTestBed.with { bed in
            try await bed.withGateway { url, phone in
                for number in 1...3 {
                    try await phone.put(DocumentID("d\(number)"), body: Array(#"{"n":\#(number)}"#.utf8))
                }
                try await body(bed.folder, url)
            }
        }
    }

    private static func login(_ side: String) -> [String: String] {
        ["CHANGEBOT_\(side)_USER": SecretTestBed.user, "CHANGEBOT_\(side)_PASSWORD": SecretTestBed.password]
    }

    private func summary(_ file: String) throws -> JSONValue {
        try JSONText(Array(try Data(contentsOf: URL(fileURLWithPath: file)))).root
    }

    @Test func replicatedFileCanBeQueried() async throws {
        try await withGateway { folder, url in
            let (file, summary) = ("embedded:\(folder)/backup.sqlite", "\(folder)/summary.json")
            let command = ["replicate", url, file, "--summary", summary]
            for written in [3, 0] {
                let result = try await Program.run(command, environment: Self.login("SOURCE"))
                #expect(result.code == 0, "\(result.errors)")
                #expect(result.output.isEmpty)
                #expect(try self.summary(summary)["written"]?.integer == written)
            }
            let export = try await Program.run(["export", "--gateway", file, "--quiet"])
            #expect(export.output.split(separator: "\n").count == 3)
            let back = try await Program.run(["replicate", file, url], environment: Self.login("TARGET"))
            #expect(back.code == 0, "\(back.errors)")
        }
    }

    @Test func conflictsAreResolvedInBothDirections() async throws {
        try await withGateway { folder, url in
            let (file, summary) = ("embedded:\(folder)/copy.sqlite", "\(folder)/summary.json")
            let command = ["replicate", file, url, "--both-ways", "--policy", "winner", "--summary", summary]
            let made = #"{"_id":"d1","_rev":"2-a","_revisions":{"start":2,"ids":["a","b"]},"n":9}"#
            try Data(made.utf8).write(to: URL(fileURLWithPath: "\(folder)/one.ndjson"))
            let load = try await Program.run([
                "import", "\(folder)/one.ndjson", "--gateway", file, "--mode", "restore", "--quiet",
            ])
            #expect(load.code == 0, "\(load.errors)")
            for settled in [1, 0] {
                let result = try await Program.run(command, environment: Self.login("TARGET"))
                #expect(result.code == 0, "\(result.errors)")
                #expect(try self.summary(summary)["settled"]?.integer == settled)
            }
            let export = try await Program.run(["export", "--gateway", file, "--quiet"])
            #expect(export.output.contains(#""n":9"#) && export.output.split(separator: "\n").count == 3)
        }
    }

    /// A password for one server is never sent to another.
    @Test func eachEndHasItsOwnCredentials() async throws {
        try await withGateway { folder, url in
            let file = "embedded:\(folder)/backup.sqlite"
            let login = ["CHANGEBOT_USER": SecretTestBed.user, "CHANGEBOT_PASSWORD": SecretTestBed.password]
            for environment in [[:], login, Self.login("TARGET")] {
                let result = try await Program.run(["replicate", url, file], environment: environment)
                #expect(result.code == 77)
                #expect(result.errors.contains("CHANGEBOT_SOURCE_USER"), "\(result.errors)")
            }
        }
    }

    @Test(
        arguments: [
            (["http://127.0.0.1:1/todo", "http://127.0.0.1:1/todo"], 64, "are the same"),
            (["embedded:a.sqlite", "embedded:./a.sqlite"], 64, "are the same"),
            (["embedded:", "http://127.0.0.1:1/todo"], 64, "embedded:FILE"),
            (["embedded:/none/a.sqlite", "embedded:b.sqlite"], 66, "there is no file"),
            (["http://127.0.0.1:1/todo", "todo"], 64, "TARGET"),
            (["http://127.0.0.1:1/a", "http://127.0.0.1:1/b"], 69, "refused"),
            (["http://h/a", "http://h/b", "--id", "x", "--channels", "y"], 64, "can't be combined"),
            (["http://h/a", "http://h/b", "--id", "x", "--continuous"], 64, "can't be combined"),
            (["http://h/a", "http://h/b", "--both-ways", "--channels", "y"], 64, "can't be combined"),
            (["http://h/a", "http://h/b", "--selector", "{"], 65, "--selector"),
            (["http://h/a", "http://h/b", "--policy", "merge"], 64, "add --both-ways"),
            (["http://h/a", "http://h/b", "--both-ways", "--policy", "x"], 64, "there is no policy 'x'"),
        ] as [([String], Int32, String)])
    func invalidReplicationIsRefused(arguments: [String], code: Int32, words: String) async throws {
        let result = try await Program.run(["replicate"] + arguments)
        #expect(result.code == code, "\(result.errors)")
        #expect(result.errors.contains(words), "\(result.errors)")
    }
}
