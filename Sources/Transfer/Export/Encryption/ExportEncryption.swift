internal import Encodings
package import Revisions

/// How an export is encrypted: by `age` or `gpg`, which must be installed. The program only passes bytes to them.
package struct ExportEncryption: Sendable, Equatable {
    package enum Program: String, Sendable, CaseIterable {
        case age
        case gpg
    }

    package let program: Program
    /// The key of any of them decrypts the export. Never empty.
    package let recipients: [String]

    /// Recipients of `age` are public keys, `age1…` or `ssh-…`. All others are taken for keys of `gpg`: an id, a
    /// fingerprint, or an address.
    ///
    /// - Throws: ``TransferError``: `.usage` for recipients of both kinds, and for texts that are no recipients.
    package init(_ recipients: [String]) throws(TransferError) {
        for recipient in recipients where recipient.isEmpty || recipient.hasPrefix("-") || recipient.contains("\n") {
            throw TransferError(.usage, "--encrypt-to '\(recipient)': expected \(Self.expected)")
        }
        if let secret = recipients.first(where: { $0.uppercased().hasPrefix("AGE-SECRET-KEY-") }) {
            throw TransferError(
                .usage,
                "--encrypt-to '\(secret.prefix(15))…' is a secret key: give the public key, which begins with age1")
        }
        let programs = Set(recipients.map { $0.hasPrefix("age1") || $0.hasPrefix("ssh-") ? Program.age : .gpg })
        guard let program = programs.first, programs.count == 1 else {
            throw TransferError(
                .usage, "--encrypt-to: recipients of age and of gpg can't be combined; choose those of one program")
        }
        (self.program, self.recipients) = (program, recipients)
    }

    private static let expected = "a public key of age (age1…, ssh-…), or the id or address of a key of gpg"

    /// The ending of encrypted files: `.age` or `.gpg`.
    package var ending: String { Self.ending(program) }

    private static func ending(_ program: Program) -> String { "." + program.rawValue }

    /// The program that encrypted a file of this name; nil if it is not encrypted.
    package static func program(ofFileNamed name: String) -> Program? {
        Program.allCases.first { name.hasSuffix(ending($0)) }
    }

    /// The name of a file without the ending of encrypted files.
    package static func plainName(_ name: String) -> String {
        program(ofFileNamed: name).map { String(name.dropLast(ending($0).count)) } ?? name
    }

    /// How to decrypt a file.
    package static func remedy(for path: String) -> String? {
        guard let program = program(ofFileNamed: path) else { return nil }
        let (file, plain) = (path.shellWord, plainName(path).shellWord)
        return switch program {
        case .age: "age --decrypt --identity KEYFILE --output \(plain) \(file)"
        case .gpg: "gpg --decrypt --output \(plain) \(file)"
        }
    }

    /// Starts the program.
    ///
    /// - Throws: ``TransferError``: `.cannotCreate`.
    func start(to output: OpenFile) throws(TransferError) -> OutputFilter {
        let arguments: [String] =
            switch program {
            case .age: ["--encrypt"] + recipients.flatMap { ["--recipient", $0] }
            // The user has chosen the recipients, whether or not the keys are certified.
            case .gpg:
                ["--batch", "--quiet", "--no-tty", "--trust-model", "always", "--encrypt"]
                    + recipients.flatMap { ["--recipient", $0] }
            }
        do throws(TransferError) { return try OutputFilter(program.rawValue, arguments, to: output) } catch {
            guard error.description.hasSuffix("it is not installed") else { throw error }
            throw TransferError(error.code, "\(error.description): apt-get install \(debianPackage)")
        }
    }

    private var debianPackage: String { program == .gpg ? "gnupg" : "age" }
}
