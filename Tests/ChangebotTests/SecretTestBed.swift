import Foundation
import GatewayClient
import TestKit
import Testing

/// A gateway that requires a password, a bot that has it, and a search in everything that the bot writes.
struct SecretTestBed {
    /// The source of the bot's password.
    enum Source: CaseIterable {
        case environment, file, addressInEnvironment, addressInArguments, session
    }

    /// With characters that are special in addresses, in JSON and in shells.
    static let password = #"c0rr3ct:h@rse/"batt&ry%41 st+ple"#
    static let user = "amy"

    /// The folder for everything that the bot creates.
    let folder: String
    /// The folder for files that the bot only reads.
    let inputs: String

    var state: String { folder + "/state" }

    static func with(_ body: (SecretTestBed) async throws -> Void) async throws {
        try await Program.withDirectory { directory in
            let bed = SecretTestBed(folder: directory + "/bot", inputs: directory + "/inputs")
            for path in [bed.folder, bed.inputs] {
                try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            }
            try bed.input("password", password + "\n")
            try bed.input(
                "rules.yaml",
                """
                version: 1
                rules:
                  - { name: done, when: { type: task, done: { $exists: false } }, then: [{ merge: { done: true } }] }
                  - { name: broken, when: { type: broken }, then: [{ patch: [{ op: remove, path: /none }] }] }
                """)
            try await body(bed)
        }
    }

    func input(_ name: String, _ text: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: inputs + "/" + name))
    }

    /// Runs a gateway with one user; `body` also gets a client for a phone.
    ///
    /// - Parameter faults: The gateway's faults, as JSON objects separated by commas.
    func withGateway(
        faults: String = "", _ body: (_ url: String, _ phone: Gateway) async throws -> Void
    ) async throws {
        let users = Self.users(password: Self.password.replacingOccurrences(of: "\"", with: "\\\""))
        try await Program.withGateway(users: users, faults: #"{"faults":[\#(faults)]}"#) { url in
            var settings = GatewaySettings()
            settings.credentials = .basic(user: Self.user, password: Self.password)
            let phone = Gateway(try GatewayURL(url), settings: settings)
            try await body(url, phone)
            await phone.shutdown()
        }
    }

    /// The configuration for `changebot gateway --config`: one user.
    ///
    /// - Parameter password: As written in JSON.
    static func users(password: String) -> String {
        #"{"databases":{"todo":{"users":{"\#(user)":{"password":"\#(password)","admin_channels":["*"]}}}}}"#
    }

    /// The command line and the environment of `changebot run`.
    func run(_ url: String, from source: Source, _ more: [String] = []) -> ([String], [String: String]) {
        var arguments = ["run", "--rules", inputs + "/rules.yaml", "--state", state, "--log-level", "trace"]
        arguments += ["--summary", folder + "/summary.json"] + more
        var environment = ["HOME": folder, "CHANGEBOT_GATEWAY": url, "CHANGEBOT_USER": Self.user]
        let allowed = CharacterSet.alphanumerics
        let encoded = Self.password.addingPercentEncoding(withAllowedCharacters: allowed) ?? ""
        let address = url.replacingOccurrences(of: "://", with: "://\(Self.user):\(encoded)@")
        switch source {
        case .environment: environment["CHANGEBOT_PASSWORD"] = Self.password
        case .file: environment["CHANGEBOT_PASSWORD_FILE"] = inputs + "/password"
        case .addressInEnvironment:
            environment["CHANGEBOT_GATEWAY"] = address
            environment["CHANGEBOT_USER"] = ""
        case .addressInArguments:
            arguments += ["--gateway", address]
            environment["CHANGEBOT_USER"] = ""
        case .session:
            environment["CHANGEBOT_PASSWORD"] = Self.password
            arguments += ["--auth", "session"]
        }
        return (arguments, environment)
    }

    /// Runs the bot to its end, and searches what it writes.
    func runOnce(_ url: String, from source: Source, _ more: [String] = []) async throws -> Program.Result {
        let (arguments, environment) = run(url, from: source, ["--once"] + more)
        let result = try await Program.run(arguments, environment: environment)
        expectNoSecret(in: Data(result.output.utf8), "stdout, \(source)")
        expectNoSecret(in: Data(result.errors.utf8), "stderr, \(source)")
        try expectNoSecretInFiles()
        return result
    }

    /// Searches every file that the bot has created.
    func expectNoSecretInFiles() throws {
        let names = try FileManager.default.subpathsOfDirectory(atPath: folder)
        #expect(names.contains { $0.hasSuffix("summary.json") })
        for name in names {
            guard let content = FileManager.default.contents(atPath: folder + "/" + name) else { continue }
            expectNoSecret(in: content, Comment(rawValue: name))
        }
    }

    func expectNoSecret(in content: Data, _ comment: Comment) {
        for form in Self.forms where content.range(of: Data(form.utf8)) != nil {
            Issue.record("\(comment) holds \(form)")
        }
    }

    /// The password in the forms in which it may occur: plain, in an address, in JSON, in base64 at any offset; and the
    /// cookie of its session.
    static let forms: [String] = {
        let encoded = [CharacterSet.alphanumerics, .urlPasswordAllowed, .urlQueryAllowed].compactMap {
            password.addingPercentEncoding(withAllowedCharacters: $0)
        }
        let inBase64 = (0..<3).map { shift in
            let text = Data(repeating: 0x3A, count: shift) + Data(password.utf8)
            // Base64 characters that neighbouring bytes influence are left out.
            return String(text.base64EncodedString().dropFirst(shift == 0 ? 0 : 4).prefix(password.utf8.count))
        }
        return [password, password.replacingOccurrences(of: "\"", with: "\\\"")] + encoded + inBase64
            + ["SyncGatewaySession="]
    }()
}
