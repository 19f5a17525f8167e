import Foundation
import Locking
import TestKit
import Testing

/// Commands whose access tokens come from a token server or a command: their requests, messages and exit codes.
@Suite(.limitedParallelism) struct RenewedTokenTests {
    private static let secret = "cl1ent-s3cret"
    private static let token = "t0ken-value-1"

    /// A gateway that accepts only the token, and has no database.
    private func gateway(_ seen: Monitor<[String]>) throws -> TestServer {
        try TestServer { connection in
            try connection.serve { request in
                seen.with { $0.append(request.values(of: "authorization").joined()) }
                let isRight = request.values(of: "authorization") == ["Bearer \(Self.token)"]
                try connection.answer(
                    isRight ? 404 : 401, headers: ["Content-Type: application/json", "Server: CouchDB/3.5.0"],
                    body: isRight
                        ? #"{"error":"not_found","reason":"no_db_file"}"#
                        : #"{"error":"unauthorized","reason":"You are not authorized"}"#)
            }
        }
    }

    private func tokenServer(_ status: Int, _ body: String, headers: [String] = []) throws -> TestServer {
        try TestServer { connection in
            try connection.serve { _ in try connection.answer(status, headers: headers, body: body) }
        }
    }

    /// Runs a command with client credentials; its output shows no secret.
    private func run(
        _ arguments: [String], _ environment: [String: String]
    ) async throws -> Program.Result {
        var environment = environment
        environment["CHANGEBOT_LOG_LEVEL"] = "trace"
        let result = try await Program.run(arguments, environment: environment)
        for secret in [Self.secret, Self.token, Data("bot:\(Self.secret)".utf8).base64EncodedString()] {
            #expect(!(result.output + result.errors).contains(secret))
        }
        return result
    }

    private func variables(_ tokenURL: String, prefix: String = "") -> [String: String] {
        [
            "CHANGEBOT_\(prefix)TOKEN_URL": tokenURL, "CHANGEBOT_\(prefix)CLIENT_ID": "bot",
            "CHANGEBOT_\(prefix)CLIENT_SECRET": Self.secret,
        ]
    }

    @Test func allCommandsUseTheToken() async throws {
        let seen = Monitor<[String]>([])
        let gateway = try gateway(seen)
        let server = try tokenServer(200, #"{"access_token":"\#(Self.token)","expires_in":60}"#)
        try await Program.withDirectory { folder in
            let rules = ["--rules", Program.pictureRules]
            let state = ["--state", folder + "/state"]
            for command in [
                ["run", "--once"] + rules + state, ["fix"] + rules + state, ["export", "--output", "-"],
                ["rules", "plan", Program.pictureRules, Program.pictureRules],
            ] {
                let count = seen.with { $0.count }
                let result = try await run(
                    command + ["--gateway", gateway.url("/todo")], variables(server.url("/token")))
                #expect(result.code == 66, "\(command): \(result.errors)")
                #expect(seen.with { $0.count } > count, "\(command)")
            }
            let doctor = try await run(
                ["doctor", "--gateway", gateway.url("/todo")] + state, variables(server.url("/t")))
            #expect(doctor.code == 1 && (doctor.output + doctor.errors).contains("with renewed tokens"))
            // Each side has its own.
            let replication = try await run(
                ["replicate", gateway.url("/todo"), "embedded:" + folder + "/copy"],
                variables(server.url("/token"), prefix: "SOURCE_"))
            #expect(replication.code == 66, "\(replication.errors)")
        }
        #expect(Set(seen.with { $0 }).subtracting([""]) == ["Bearer \(Self.token)"])
    }

    @Test(
        arguments: [
            (
                200, "<!DOCTYPE html><p>Sign in", 76,
                "answers with an HTML page (HTTP 200), not with a token; check token_url"
            ),
            (401, #"{"error":"invalid_client"}"#, 77, "check client_id and the client secret, and client_auth"),
            (503, "", 75, "answers HTTP 503; it is asked again later"), (429, "", 75, "answers HTTP 429"),
        ] as [(Int, String, Int32, String)])
    func tokenServerThatFailsIsExplained(status: Int, body: String, code: Int32, message: String) async throws {
        let seen = Monitor<[String]>([])
        let gateway = try gateway(seen)
        let server = try tokenServer(status, body)
        try await Program.withDirectory { folder in
            let result = try await run(
                [
                    "run", "--once", "--rules", Program.pictureRules, "--state", folder, "--gateway",
                    gateway.url("/todo"), "--retry-for", code == 75 ? "1s" : "20s",
                ], variables(server.url("/token")))
            #expect(result.code == code, "\(result.errors)")
            #expect(result.errors.contains(message), "\(result.errors)")
            #expect(result.errors.contains(server.url("/token")))
        }
        #expect(seen.with { $0 }.isEmpty)
        #expect(server.accepted.count <= 5)
    }

    @Test func unreachableTokenServerIsExplained() async throws {
        let gateway = try gateway(Monitor([]))
        let result = try await run(
            ["export", "--output", "-", "--gateway", gateway.url("/todo")], variables("http://127.0.0.1:1/token"))
        #expect(result.code == 69, "\(result.errors)")
        #expect(result.errors.contains("check token_url, and that the server is up"), "\(result.errors)")
    }

    @Test func commandOfAConfigurationFileIsRelativeToIt() async throws {
        let gateway = try gateway(Monitor([]))
        try await Program.withDirectory { folder in
            let script = folder + "/get-token"
            try "#!/bin/sh\necho \(Self.token)\n".write(toFile: script, atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: script)
            try """
            version: 1
            gateway: \(gateway.url("/todo"))
            rules: \(Program.pictureRules)
            state: state
            token_command: [./get-token]
            """.write(toFile: folder + "/bot.yaml", atomically: true, encoding: .utf8)
            let result = try await run(["run", "--once", "--config", folder + "/bot.yaml"], [:])
            #expect(result.code == 66, "\(result.errors)")
            let check = try await run(["config", "check", "--config", folder + "/bot.yaml"], [:])
            #expect(check.code == 0, "\(check.errors)")
        }
    }

    @Test func secretsAreMasked() async throws {
        let result = try await Program.run(["config", "show"], environment: variables("https://id.example/token"))
        #expect(result.output.contains("client_secret") && !result.output.contains(Self.secret), "\(result.output)")
    }
}
