import Foundation
import TestKit
import Testing

@testable import changebot

@Suite(.limitedParallelism) struct ExitCodeTests {
    private static let rules = Program.pictureRules
    private static let noGateway = "http://127.0.0.1:1/todo"

    /// Invalid rule files, with the place and the message.
    @Test(arguments: [
        ("version: 1\nrules:\n  - name: a\n    when: {}\n    thn: []\n", "rules.yaml:5:5", "then"),
        ("version: 1\nrules:\n  - name: a\n    when: { x: { $regx: a } }\n    then: []\n", "rules.yaml:4", "$regex"),
        (
            "version: 1\nrules:\n  - name: a\n    when: {}\n    then: [{ attach: { name: i, file: none.png } }]\n",
            "rules.yaml:5", "none.png"
        ),
        ("version: 1\nrules: [\n", "rules.yaml:3:1", "not YAML"),
        ("version: 2\nrules: []\n", "rules.yaml:1", "version"),
    ])
    func invalidRuleFile(yaml: String, place: String, part: String) async throws {
        try await Program.withDirectory { directory in
            let file = directory + "/rules.yaml"
            try Data(yaml.utf8).write(to: URL(fileURLWithPath: file))
            let result = try await Program.run([
                "run", "--gateway", Self.noGateway, "--rules", file, "--once", "--state", directory + "/state",
            ])
            #expect(result.code == 65)
            #expect(result.output.isEmpty)
            #expect(result.errors.contains(place) && result.errors.contains(part), "\(result.errors)")
            #expect(!FileManager.default.fileExists(atPath: directory + "/state"))
        }
    }

    @Test(
        arguments: [
            (["run", "--once"], 64, "no rules given"),
            (["run", "--once", "--rules", rules], 64, "no gateway given"),
            (["run", "--nonsense"], 64, "nonsense"),
            (["nonsense"], 64, "nonsense"),
            (["run", "--once", "--rules", rules, "--gateway", "wss://h/todo"], 64, "https://"),
            (["run", "--once", "--rules", rules, "--gateway", "http://h"], 64, "keyspace"),
            (["run", "--once", "--rules", rules, "--gateway", noGateway, "--name", "../x"], 64, "--name"),
            (["run", "--once", "--rules", rules, "--gateway", noGateway, "--dialect", "x"], 64, "--dialect"),
            (["run", "--once", "--rules", "/nonexistent.yaml", "--gateway", noGateway], 66, "/nonexistent.yaml"),
            (
                ["run", "--once", "--rules", rules, "--gateway", noGateway], 69,
                "127.0.0.1:1: can't connect: Connection refused; check that the gateway is running"
            ),
            (
                ["run", "--once", "--rules", rules, "--gateway", "http://nonexistent.invalid/todo"], 69,
                "nonexistent"
            ),
            (["gateway", "--listen", "nowhere"], 64, "HOST:PORT"),
            (["run", "--once", "--rules", rules, "--gateway", "http://h:99999/todo"], 64, "from 1 to 65535"),
            (["dead-letters", "list", "--since", "-2h"], 64, "how long ago"),
        ] as [([String], Int32, String)])
    func wrongUseAndMissingInputs(arguments: [String], code: Int32, part: String) async throws {
        try await Program.withDirectory { directory in
            let result = try await Program.run(arguments, environment: ["CHANGEBOT_STATE": directory])
            #expect(result.code == code, "\(result.errors)")
            #expect(result.output.isEmpty)
            #expect(result.errors.contains(part), "\(result.errors)")
        }
    }

    /// Answers that a gateway, or another server at its address, may give to the first request.
    @Test(
        arguments: [
            (401, [], #"{"error":"Unauthorized","reason":"Invalid login"}"#, 77, "database"),
            (
                401, ["WWW-Authenticate: Basic realm=\"administrator\""],
                #"{"error":"unauthorized","reason":"Name or password is incorrect."}"#, 77, "incorrect"
            ),
            (403, [], #"{"error":"forbidden","reason":"no"}"#, 77, "no"),
            (404, [], #"{"error":"not_found","reason":"Database does not exist."}"#, 66, "does not exist"),
            (200, ["Content-Type: text/html"], "<html>Welcome</html>", 76, "HTML"),
            (200, [], #"{"hello":"world"}"#, 76, "gateway"),
        ] as [(Int, [String], String, Int32, String)])
    func firstErrorEndsAOneShotRun(
        status: Int, headers: [String], body: String, code: Int32, part: String
    ) async throws {
        let server = try TestServer { connection in
            try connection.serve { _ in try connection.answer(status, headers: headers, body: body) }
        }
        try await Program.withDirectory { directory in
            let summary = directory + "/summary.json"
            let result = try await Program.run(
                [
                    "run", "--once", "--rules", Self.rules, "--gateway", server.url("/todo"), "--state", directory,
                    "--summary", summary,
                ], environment: ["CHANGEBOT_USER": "amy", "CHANGEBOT_PASSWORD": "hunter2"])
            #expect(result.code == code, "\(result.errors)")
            #expect(result.output.isEmpty)
            #expect(result.errors.contains(part), "\(result.errors)")
            #expect(result.errors.split(separator: "\n").count == 1, "\(result.errors)")
            #expect(!result.errors.contains("hunter2"))
            let written = try String(contentsOfFile: summary, encoding: .utf8)
            #expect(written.contains("\"exit\":\(code)"), "\(written)")
        }
    }

    /// Credentials for a gateway with users, and the message about them.
    @Test(
        arguments: [
            ([:], "/todo", 77, "give a user name and password (HTTP 401); no credentials are set: set CHANGEBOT_USER"),
            (["CHANGEBOT_TOKEN": "hunter22"], "/todo", 77, "check the token"),
            (
                ["CHANGEBOT_USER": "amy", "CHANGEBOT_PASSWORD": "hunter22"], "/todo", 77,
                "check the user name and password"
            ),
            ([:], "/other", 77, "or there is no database 'other'"),
            (
                ["CHANGEBOT_USER": "amy", "CHANGEBOT_PASSWORD": "secret"], "/todo/x", 66,
                "if you mean the database 'todo', write http://127.0.0.1:"
            ),
        ] as [([String: String], String, Int32, String)])
    func refusalsAreReported(environment: [String: String], path: String, code: Int32, part: String) async throws {
        try await Program.withDirectory { folder in
            let users =
                #"{"databases":{"todo":{"guest":{"disabled":true},"users":{"amy":{"password":"secret","admin_channels":["*"]}}}}}"#
            try await Program.withGateway(users: users) { url in
                let result = try await Program.run(
                    [
                        "run", "--once", "--rules", Self.rules, "--state", folder + "/state", "--gateway",
                        url.dropLast("/todo".count) + path,
                    ], environment: environment)
                #expect(result.code == code && result.errors.contains(part), "\(result.errors)")
            }
        }
    }

    /// CouchDB's answer to anonymous requests.
    ///
    /// Regression: the message advised to make the user a member of the database.
    @Test func anonymousRequestsToCouchDBNeedCredentials() async throws {
        let server = try TestServer { connection in
            try connection.serve { _ in
                try connection.answer(
                    401, headers: ["Content-Type: application/json", "Server: CouchDB/3.5.0 (Erlang OTP/25)"],
                    body: #"{"error":"unauthorized","reason":"You are not authorized to access this db."}"#)
            }
        }
        try await Program.withDirectory { folder in
            for command in [["run", "--once", "--rules", Self.rules, "--state", folder], ["export"]] {
                let result = try await Program.run(command + ["--gateway", server.url("/todo")])
                #expect(result.code == 77, "\(result.errors)")
                #expect(result.errors.contains("give a user name and password"), "\(result.errors)")
                #expect(result.errors.contains("set CHANGEBOT_USER and CHANGEBOT_PASSWORD"), "\(result.errors)")
                #expect(!result.errors.contains("make the user a member"), "\(result.errors)")
            }
        }
    }

    @Test func uncreatableFolderIsNamed() async throws {
        try await Program.withDirectory { folder in
            let run = ["run", "--once", "--rules", Self.rules, "--gateway", "embedded:\(folder)/g.sqlite"]
            let result = try await Program.run(run + ["--state", "/proc/x/y"])
            #expect(result.code == 73, "\(result.errors)")
            #expect(result.errors.contains("can't create /proc/x: No such file or directory"), "\(result.errors)")
        }
    }

    @Test func contradictoryCredentialsAreWrongUsage() async throws {
        try await Program.withDirectory { state in
            let result = try await Program.run(
                ["run", "--once", "--rules", Self.rules, "--gateway", Self.noGateway, "--state", state],
                environment: ["CHANGEBOT_TOKEN": "secret-token", "CHANGEBOT_USER": "amy"])
            #expect(result.code == 64)
            #expect(!result.errors.contains("secret-token"))
        }
    }

    /// Regression: for a user without a password, the message was the gateway's 401.
    @Test(
        arguments: [
            (["CHANGEBOT_USER": "amy"], 64, "CHANGEBOT_PASSWORD"),
            (["CHANGEBOT_USER": "amy", "CHANGEBOT_PASSWORD": ""], 64, "CHANGEBOT_PASSWORD"),
            (["CHANGEBOT_PASSWORD": "hunter22"], 64, "CHANGEBOT_USER"),
            (["CHANGEBOT_PASSWORD_FILE": "/nonexistent/hunter"], 64, "CHANGEBOT_USER"),
            (["CHANGEBOT_USER": "amy", "CHANGEBOT_PASSWORD_FILE": "/nonexistent/p"], 66, "/nonexistent/p"),
            (["CHANGEBOT_USER": "amy", "CHANGEBOT_PASSWORD_FILE": "/tmp"], 66, "CHANGEBOT_PASSWORD_FILE"),
            (["CHANGEBOT_USER": "amy", "CHANGEBOT_PASSWORD_FILE": "/dev/null"], 66, "/dev/null"),
            (["CHANGEBOT_TOKEN": "hunter22", "CHANGEBOT_PASSWORD": "hunter22"], 64, "CHANGEBOT_TOKEN"),
            (["CHANGEBOT_AUTH": "session"], 64, "--auth session"),
            (["CHANGEBOT_USER": "amy:hunter22", "CHANGEBOT_PASSWORD": "x"], 64, "CHANGEBOT_USER can't contain ':'"),
        ] as [([String: String], Int32, String)])
    func incompleteCredentialsAreRefused(environment: [String: String], code: Int32, part: String) async throws {
        try await Program.withDirectory { state in
            let result = try await Program.run(
                ["run", "--once", "--rules", Self.rules, "--gateway", Self.noGateway, "--state", state],
                environment: environment)
            #expect(result.code == code && result.errors.contains(part), "\(result.errors)")
            #expect(!result.errors.contains("hunter22"))
        }
    }

    @Test(arguments: ["/nonexistent/summary.json", "/tmp"])
    func unwritableSummaryIsReportedFirst(path: String) async throws {
        let server = try TestServer { connection in try connection.serve { _ in try connection.answer(500) } }
        try await Program.withDirectory { directory in
            let result = try await Program.run([
                "run", "--once", "--rules", Self.rules, "--gateway", server.url("/todo"), "--state", directory,
                "--summary", path,
            ])
            #expect(result.code == 73)
            #expect(result.errors.contains(path))
            #expect(server.accepted.count == 0)
        }
    }

    @Test func summaryMayGoToADevice() async throws {
        try await Program.withDirectory { directory in
            let result = try await Program.run([
                "run", "--once", "--rules", Self.rules, "--gateway", "embedded:", "--state", directory, "--quiet",
                "--summary", "/dev/stdout",
            ])
            #expect(result.code == 0)
            #expect(result.output.contains("\"exit\":0"))
        }
    }
}
