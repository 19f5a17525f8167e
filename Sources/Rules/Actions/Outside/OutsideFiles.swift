/// The files of rules with credentials and certificates. Loading the rules does not read them: a rule's author need not
/// have the secrets.
package struct OutsideFiles: Sendable {
    /// Each file once, in the order of the rules.
    package private(set) var secrets: [SecretFile] = []
    /// Each file once, in the order of the rules.
    package private(set) var certificates: [CertificateFile] = []

    /// The files that only the bot should be able to read, and what each contains, for messages.
    package var confidential: [(path: String, what: String)] {
        secrets.map { ($0.path, $0.kind.rawValue) }
            + certificates.compactMap { file in
                if case .own(let key) = file.kind { (key, "private key") } else { nil }
            }
    }

    init() {}

    init(secrets: [SecretFile], certificates: [CertificateFile]) {
        (self.secrets, self.certificates) = (secrets, certificates)
    }

    /// Adds the files that are not yet included.
    mutating func add(_ other: OutsideFiles) {
        secrets += other.secrets.filter { !secrets.contains($0) }
        certificates += other.certificates.filter { !certificates.contains($0) }
    }
}

/// A file with a secret.
package struct SecretFile: Sendable, Hashable {
    /// What the file holds. The raw values appear in messages.
    package enum Kind: String, Sendable {
        /// `whsec_` and base64, for signatures by the Standard Webhooks scheme.
        case secret
        /// Any text, whose bytes are the key of a signature in a header.
        case signingSecret = "signing secret"
        /// A bearer token.
        case token
        case password
        /// The value of a header.
        case header
    }

    package let path: String
    package let kind: Kind

    /// - Parameter path: Relative to the working folder.
    package init(_ path: String, _ kind: Kind) { (self.path, self.kind) = (path, kind) }
}

/// A PEM file with certificates.
package struct CertificateFile: Sendable, Hashable {
    /// What the file is for.
    package enum Kind: Sendable, Hashable {
        /// The authorities to trust instead of the system's: `ca_file`.
        case authorities
        /// The bot's own certificate: `certificate_file`.
        ///
        /// - Parameter key: The file with its key, which may be the same.
        case own(key: String)
    }

    package let path: String
    package let kind: Kind

    init(_ path: String, _ kind: Kind) { (self.path, self.kind) = (path, kind) }

    /// The file and, if there is one, the file of its key.
    package var paths: [String] {
        if case .own(let key) = kind, key != path { [path, key] } else { [path] }
    }
}

extension Rule {
    /// The files of its webhooks and downloads.
    var outsideFiles: OutsideFiles { then.reduce(into: OutsideFiles()) { $0.add($1.action.outsideFiles) } }
}

extension RuleSet {
    /// The files of all webhooks and downloads.
    package var outsideFiles: OutsideFiles { rules.reduce(into: OutsideFiles()) { $0.add($1.outsideFiles) } }
}

extension RuleFileSet {
    /// The files of all webhooks and downloads.
    package var outsideFiles: OutsideFiles {
        files.flatMap(\.rules).reduce(into: OutsideFiles()) { $0.add($1.outsideFiles) }
    }
}
