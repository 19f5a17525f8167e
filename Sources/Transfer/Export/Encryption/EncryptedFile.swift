internal import LosslessJSON

/// The encrypted file of an export, as its manifest describes it.
package struct EncryptedFile: Sendable, Equatable {
    let program: ExportEncryption.Program
    let recipients: [String]
    let byteCount: Int
    /// In lowercase hexadecimal.
    let sha256: String

    init(program: ExportEncryption.Program, recipients: [String], byteCount: Int, sha256: String) {
        (self.program, self.recipients, self.byteCount, self.sha256) = (program, recipients, byteCount, sha256)
    }

    /// Nil if this is not the description of an encrypted file.
    init?(_ value: JSONValue) {
        guard let program = value["program"]?.string.flatMap(ExportEncryption.Program.init(rawValue:)),
            let byteCount = value["bytes"]?.count, let sha256 = value["sha256"]?.string
        else { return nil }
        self.init(
            program: program, recipients: value["recipients"]?.elements.compactMap(\.string) ?? [],
            byteCount: byteCount, sha256: sha256)
    }

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("program", string: program.rawValue)
            writer.name("recipients")
            writer.array { writer in for recipient in recipients { writer.string(recipient) } }
            writer.member("bytes", integer: byteCount)
            writer.member("sha256", string: sha256)
        }
    }
}
