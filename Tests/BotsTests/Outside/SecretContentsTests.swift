import DocumentFlow
import Foundation
import Glibc
import Logging
import TestKit
import Testing

@testable import Outside
@testable import Rules

@Suite struct SecretContentsTests {
    private func write(_ text: String, _ path: String) throws {
        try Data(text.utf8).write(to: URL(filePath: path))
    }

    /// Makes a file with the content `one`.
    private func file(in folder: String, _ kind: SecretFile.Kind, mode: mode_t) throws -> SecretFile {
        let file = SecretFile(folder + "/file", kind)
        try write("one", file.path)
        chmod(file.path, mode)
        return file
    }

    @Test func missingOrDamagedFileKeepsItsContentAndIsLoggedOnce() async throws {
        try await withDirectory { folder in
            let lines = LoggedLines()
            let file = try file(in: folder, .token, mode: 0o600)
            let contents = SecretContents(lines.logger)
            try contents.check(OutsideFiles(secrets: [file], certificates: []), warns: true)
            #expect(contents.text(file) == "one")
            #expect(lines.all.isEmpty)
            unlink(file.path)
            #expect(contents.text(file) == "one")
            #expect(contents.text(file) == "one")
            try write(" ", file.path)
            #expect(contents.text(file) == "one")
            #expect(
                lines.all.map(\.message) == [
                    "a changed secret file of a rule is unusable; its earlier content is used"
                ])
            let reason = lines.all.first.map { "\($0.metadata["reason"] ?? "")" } ?? ""
            #expect(reason.contains("there is no such file; create it"))
            // Once it has been usable again, the next failure is logged.
            try write("another", file.path)
            #expect(contents.text(file) == "another")
            unlink(file.path)
            #expect(contents.text(file) == "another")
            #expect(lines.all.count == 2)
        }
    }

    @Test func worldReadableFileIsLoggedOnce() async throws {
        try await withDirectory { folder in
            let lines = LoggedLines()
            let files = OutsideFiles(secrets: [try file(in: folder, .password, mode: 0o644)], certificates: [])
            let contents = SecretContents(lines.logger)
            for _ in 0..<2 { try contents.check(files, warns: true) }
            #expect(lines.all.count == 1)
            // Regression: it ended with FILE.
            let end = "this file with a password: run chmod o-r \(folder)/file"
            #expect(lines.all.first?.message.hasSuffix(end) == true, "\(lines.all)")
        }
    }

    @Test func unusableFileIsNamedWithTheRemedy() async throws {
        try await withDirectory { folder in
            let path = folder + "/secret"
            let contents = SecretContents(LoggedLines().logger)
            func reason(_ files: OutsideFiles) -> String? {
                do throws(RunError) { try contents.check(files, warns: false) } catch {
                    return error.code == .badConfiguration ? error.description : nil
                }
                return nil
            }
            let secret = OutsideFiles(secrets: [SecretFile(path, .secret)], certificates: [])
            #expect(reason(secret)?.hasPrefix("can't read the secret file \(path) of a rule: there is no such") == true)
            try write("no base64!", path)
            #expect(reason(secret)?.contains("must contain whsec_ and base64; create one with") == true)
            #expect(reason(secret)?.contains("no base64") == false)
            try write("-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n", path)
            let key = CertificateFile(path, .own(key: folder + "/key"))
            #expect(
                reason(OutsideFiles(secrets: [], certificates: [key]))
                    == "can't read \(folder)/key, a certificate or key file of a rule; correct the path in the rule file, "
                    + "or the permissions")
            try write("-----BEGIN RSA PRIVATE KEY-----\nMAA=\n-----END RSA PRIVATE KEY-----\n", folder + "/key")
            #expect(reason(OutsideFiles(secrets: [], certificates: [key])) == nil)
            #expect(
                reason(OutsideFiles(secrets: [], certificates: [CertificateFile(folder + "/key", .authorities)]))?
                    .contains("it must be a PEM file, with lines '-----BEGIN CERTIFICATE-----'") == true)
        }
    }
}
