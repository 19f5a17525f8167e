import Foundation
import TestKit
import Testing

@testable import changebot

/// The findings of `doctor` about the files of webhooks, downloads and `emit`.
@Suite struct DoctorFilesTests {
    /// A folder with a rule file, and the files that it names.
    private struct TestBed {
        let folder: String

        func write(_ name: String, _ text: String, mode: mode_t = 0o600) throws {
            try Data(text.utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
            chmod("\(folder)/\(name)", mode)
        }

        /// - Parameters:
        ///   - actions: In the flow style of YAML.
        ///   - top: More keys of the rule file.
        func findings(_ actions: String..., top: String = "") throws -> [Finding] {
            let rules = actions.enumerated().map { index, action in
                "  - { name: r\(index), when: { type: t\(index) }, then: [\(action)] }\n"
            }
            try write("r.yaml", "version: 1\n\(top)rules:\n\(rules.joined())")
            let check = RulesCheck([folder + "/r.yaml"])
            #expect(check.rules.first?.level == .ok, "\(check.rules)")
            return check.files
        }
    }

    private func withTestBed(_ body: (TestBed) throws -> Void) async throws {
        try await withDirectory { try body(TestBed(folder: $0)) }
    }

    private static let certificate = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n"
    private static let key = "-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----\n"
    private static let secureKey =
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMAA=\n-----END ENCRYPTED PRIVATE KEY-----\n"

    @Test func rulesWithoutFilesNeedNoCheck() async throws {
        try await withTestBed { bed in
            let found = try bed.findings(#"webhook: { url: "https://h/x" }"#, #"emit: { file: "-", line: { a: 1 } }"#)
            #expect(found.map(\.level) == [.skipped])
        }
    }

    @Test func usableFilesPass() async throws {
        try await withTestBed { bed in
            try bed.write("token", "t0ken\n")
            try bed.write("ca.pem", Self.certificate, mode: 0o644)
            try bed.write("both.pem", Self.certificate + Self.key)
            let found = try bed.findings(
                #"webhook: { url: "https://h/x", token_file: token, ca_file: ca.pem, certificate_file: both.pem }"#,
                #"emit: { file: out.ndjson, line: { a: 1 } }"#)
            #expect(found == [.ok("3 files of webhooks and downloads can be read, 1 file of 'emit' can be written")])
            // Nothing is created.
            #expect(!FileManager.default.fileExists(atPath: bed.folder + "/out.ndjson"))
        }
    }

    /// A run would stop at the first one.
    @Test func eachUnusableFileIsListed() async throws {
        try await withTestBed { bed in
            try bed.write("empty", "\n")
            try bed.write("plain", "no base64!")
            try bed.write("ca.pem", "0\u{82}")
            let found = try bed.findings(
                #"webhook: { url: "https://h/x", token_file: empty, secret_files: [plain], ca_file: ca.pem }"#,
                #"attach: { name: a, url: "https://g/x", types: [image/png], token_file: none }"#,
                #"emit: { file: none/out.ndjson, line: { a: 1 } }"#)
            #expect(found.map(\.level) == [.error, .error, .error, .error, .error], "\(found)")
            for (finding, part) in zip(
                found,
                ["/plain of a rule must", "/empty of a rule is empty", "/none of a rule", "/ca.pem", "no folder"])
            {
                #expect(finding.text.contains(part) && finding.remedy != nil, "\(finding)")
            }
        }
    }

    @Test(
        arguments: [
            ("", "there is no certificate in"), (certificate, "there is no private key in"),
            (certificate + secureKey, "is encrypted"), (certificate + key, nil),
        ] as [(String, String?)])
    func botCertificatesAreChecked(content: String, problem: String?) async throws {
        try await withTestBed { bed in
            try bed.write("own.pem", content)
            let found = try bed.findings(#"webhook: { url: "https://h/x", certificate_file: own.pem }"#)
            #expect(found.map(\.level) == [problem == nil ? .ok : .error])
            if let problem { #expect(found.first?.text.contains(problem) == true, "\(found)") }
        }
    }

    @Test func worldReadableSecretsAreWarnedOf() async throws {
        try await withTestBed { bed in
            try bed.write("pass word", "hunter22", mode: 0o644)
            try bed.write("cert.pem", Self.certificate, mode: 0o644)
            try bed.write("key.pem", Self.key, mode: 0o644)
            let found = try bed.findings(
                #"webhook: { url: "https://h/x", user: amy, password_file: pass word, certificate_file: cert.pem, "#
                    + "key_file: key.pem }")
            #expect(found.map(\.level) == [.warning, .warning, .ok])
            #expect(found[0].text.contains("/pass word, the file with the password"))
            #expect(found[0].remedy == "chmod 600 '\(bed.folder)/pass word'")
            #expect(found[1].text.contains("/key.pem, the file with the private key"))
            #expect(!"\(found)".contains("hunter22"))
        }
    }

    @Test func unwritableFilesOfEmitAreListed() async throws {
        try await withTestBed { bed in
            try FileManager.default.createDirectory(atPath: bed.folder + "/folder", withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(
                atPath: bed.folder + "/link", withDestinationPath: bed.folder + "/none")
            try bed.write("there", "1\n")
            func emit(_ file: String, _ more: String = "") -> String {
                "emit: { file: \(file), \(more) line: { a: 1 } }"
            }
            // Root may write everywhere, except there.
            let found = try bed.findings(
                emit("folder"), emit("link"), emit("/dev/null"), emit("/proc/none"),
                emit("/proc/version", "rotate: { every: day },"), emit("there"),
                emit("./there", "rotate: { every: day },"))
            let texts = found.map(\.text).joined(separator: "\n")
            #expect(found.allSatisfy { $0.level == .error && $0.remedy != nil }, "\(found)")
            #expect(found.count == 6, "\(texts)")
            for part in [
                "/folder, a file of 'emit': Is a directory", "/link, a file of 'emit': it is a link", "it is a pipe",
                "can't open /proc/none", "/proc/version", "differently",
            ] {
                #expect(texts.contains(part), "\(texts)")
            }
        }
    }

    @Test func scheduledRulesAreChecked() async throws {
        try await withTestBed { bed in
            let found = try bed.findings(
                #"webhook: { url: "https://h/x", token_file: none }"#, #"emit: { file: none/a, line: { a: 1 } }"#,
                top: "every: \"0 3 * * *\"\n")
            #expect(found.map(\.level) == [.error, .error], "\(found)")
        }
    }
}
